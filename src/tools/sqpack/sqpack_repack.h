/*
 * sqpack_repack.h - declarations shared by the repacking code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_REPACK_H
#define COLDPRESS_SQPACK_REPACK_H

#include "sqpack_read.h"

#include "image/squashfs/write/repack.h"

/* A set of extended attributes: its indices in the old and the new image. */
struct repack_set {
	uint32_t old, made;
	size_t name;			/* first name with this set */
};

struct repack {
	struct sqpack *p;
	struct sqpack_image i;
	uint32_t *ids;			/* ids by number in the old image */
	struct repack_set *sets;	/* sets by old index */
	size_t set_count;
	struct sqw_old *old;		/* distinct blocks, in order */
	size_t count, units;
};

/*
 * Reports why the image is rejected.  path is the name concerned, or "".
 * Returns -EBADMSG.
 */
int repack_refuse(struct repack *r, const char *path, const char *why);

/* Reports that there is not enough memory.  Returns -ENOMEM. */
int repack_no_memory(struct repack *r);

/*
 * Opens p->o.source and copies its tree, with all contents of its inodes except
 * data.  r must be closed even after an error.  Returns 0, or -errno after
 * reporting the error.
 */
int repack_open_tree(struct repack *r, struct sqpack *p);
void repack_close_tree(struct repack *r);

/* Adds all sets in order.  Returns 0, or -errno after reporting the error. */
int repack_take_xattrs(struct repack *r);

/* Returns the new index of a set; SQUASHFS_NONE remains SQUASHFS_NONE. */
uint32_t repack_set(const struct repack *r, uint32_t old);

/*
 * Counts blocks and units.  Returns 0, or -EBADMSG after reporting that their
 * lists exceed the memory limit.
 */
int repack_count(struct repack *r);

/* Fills in r->old.  Returns 0, or -errno after reporting the error. */
int repack_list(struct repack *r);

/*
 * Records the positions of the new blocks in p->data.  Returns 0, or -errno
 * after reporting the error.
 */
int repack_give(struct repack *r);

#endif
