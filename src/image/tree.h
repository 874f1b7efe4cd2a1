/*
 * tree.h - the paths of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_TREE_H
#define COLDPRESS_IMAGE_TREE_H

#include "image/source.h"

enum { IMAGE_PATH_MAX = 64 << 10 };

/*
 * Returns a path from the root, at the end of buf, which has IMAGE_PATH_MAX
 * bytes; NULL if it is too long.  The directory must not be the root.
 */
const char *image_file_path(const struct image *m, uint32_t file, char *buf);
const char *image_dir_path(const struct image *m, size_t dir, char *buf);

#endif
