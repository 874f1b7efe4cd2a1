/*
 * sq_walk.c - squashfs as a walk source
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

static int
walk(int fd, uint64_t offset, const struct walk_options *o,
    struct walk_result *r, const char **why)
{
	return image_walk(&sq_image_source, fd, offset, o, r, why);
}

const struct walk_source walk_squashfs = { .name = "squashfs",
    .probe = sq_probe, .find = sq_find_appended, .walk = walk };
