/*
 * imgsrc_repack.h - declarations shared by the repacking code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_REPACK_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_REPACK_H

#include "image/source/imgsrc.h"
#include "image/squashfs/write/repack.h"

/* A set of extended attributes: its indices in the old and the new image. */
struct imgsrc_repack_set {
	uint32_t old, made;
	size_t name;			/* first name with this set */
};

struct imgsrc_repack {
	struct imgsrc_image *to;
	struct sq_file f;
	bool copies;			/* blocks are not compressed again */
	const struct sq_image *m;	/* f.image */
	uint32_t *ids;			/* ids by number in the old image */
	struct imgsrc_repack_set *sets;	/* sets by old index */
	size_t set_count;
	struct sqw_old *old;		/* distinct blocks, in order */
	size_t count, units;
};

/*
 * Reports why the image is rejected.  path is the name concerned, or "".
 * Returns -EBADMSG.
 */
int imgsrc_repack_refuse(struct imgsrc_repack *r, const char *path,
    const char *why);

/* Returns the path of a name, or "" if there is not enough memory. */
const char *imgsrc_repack_path(struct imgsrc_repack *r, size_t number);

/*
 * Opens to->o.path and copies its tree, with all contents of its inodes except
 * data.  r must be closed even after an error.  Returns 0, or -errno after
 * reporting the error.
 */
int imgsrc_repack_open_tree(struct imgsrc_repack *r, struct imgsrc_image *to);
void imgsrc_repack_close_tree(struct imgsrc_repack *r);

#endif
