/*
 * pack_path.c - rejecting paths that escape the layer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers handle ".."  differently: the stargz project's reader removes it,
 * containers/storage rejects the archive, and our reader rejects the index.
 * All of them interpret an absolute path relative to the layer's root.
 */
#include "pack_impl.h"

#include "base/path.h"
#include "format.h"

#include <errno.h>

int
pack_check_path(const struct tar_entry *e, char why[LAYER_WHY])
{
	if (path_has_parent(e->path))
		return layer_refuse(why, -EINVAL, "the path %.160s contains "
		    ".., which may lead out of the layer", e->path);
	if (e->type == TAR_HARDLINK && path_has_parent(e->link))
		return layer_refuse(why, -EINVAL, "%.90s is a hard link to "
		    "%.90s, whose .. may lead out of the layer", e->path,
		    e->link);
	return 0;
}
