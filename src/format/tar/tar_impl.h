/*
 * tar_impl.h - declarations shared by the parts of the tar reader
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TAR_IMPL_H
#define COLDPRESS_TAR_IMPL_H

#include "format/tar/tar.h"

#include <stdbool.h>

/* NUL-terminated text of bounded length. */
struct tar_text {
	char *data;
	size_t len, cap;
};

struct tar_extents {
	struct tar_extent *at;
	size_t count, cap;
};

struct tar_xattrs {
	struct tar_xattr *at;
	size_t count, cap;
};

/* The contents of pax records; strings point into the records' text. */
struct tar_pax {
	struct tar_text text;
	size_t parsed;			/* bytes parsed so far */
	uintptr_t base;			/* address of the text at that time */
	const char *path, *link, *uname, *gname;	/* NULL: absent */
	const char *sparse_name;
	struct tar_xattrs records, xattrs;	/* all, and the attributes */
	struct tar_extents extents;	/* GNU.sparse 0.0 and 0.1 */
	bool half;		/* the length of the last extent is missing */
	bool has_uid, has_gid, has_size;
	struct tar_time mtime, atime, ctime;
	bool sparse;		/* there are GNU.sparse records */
	uint64_t uid, gid, size, realsize;
	unsigned sparse_major, sparse_minor;
};

struct tar {
	struct tar_source source;
	uint64_t offset;		/* bytes read so far */
	uint64_t left;			/* entry data bytes left */
	uint64_t padding;		/* padding after the data, and data to
					 * be skipped */
	unsigned pad;			/* how much of that only completes a
					 * block, at the end */
	bool ended;
	const char *why, *flaw;
	uint8_t block[TAR_BLOCK];
	struct tar_pax global, local;
	struct tar_text long_path, long_link;	/* GNU tar's long names; len
						 * 0: none */
	struct tar_text path, link, uname, gname;
	struct tar_extents extents;
	struct tar_xattrs xattrs;	/* global and local */
};

/* Records the reason for rc.  Returns rc. */
int tar_fail(struct tar *t, int rc, const char *why);

/*
 * Reads exactly TAR_BLOCK bytes into t->block.  Returns 1, 0 at the end of
 * input, or -errno.
 */
int tar_block(struct tar *t);

/*
 * Parses a number in a header's field: octal between blanks, or base-256 with
 * the first bit set.  Returns 0 or -EBADMSG.
 */
int tar_number(const uint8_t *field, size_t len, int64_t *value);

/*
 * Parses the records of p->text into p, later ones overriding earlier ones.
 * The text may have grown since the last call.  Returns 0 or -errno.
 */
int tar_pax_parse(struct tar *t, struct tar_pax *p);

/* Discards the records, but keeps the memory. */
void tar_pax_reset(struct tar_pax *p);
void tar_pax_free(struct tar_pax *p);

/* Parses s, which must consist of decimal digits.  Returns 0 or -EBADMSG. */
int tar_decimal(const char *s, uint64_t *value);

/* These functions append to a list.  They return 0, -EFBIG or -ENOMEM. */
int tar_xattr_add(struct tar_xattrs *list, const struct tar_xattr *x);
int tar_extent_add(struct tar *t, struct tar_extents *list,
    struct tar_extent x);

/*
 * Reads the map in the old GNU header and the blocks after it.  Returns 0 or
 * -errno.
 */
int tar_sparse_old(struct tar *t, uint64_t *realsize);

/*
 * Reads the map that precedes the data in GNU.sparse 1.0.  Returns 0 or -errno.
 */
int tar_sparse_map(struct tar *t);

/*
 * Checks that the extents are in ascending order, are within size and contain
 * `stored` bytes in total.  Removes empty extents.  Returns 0 or -EBADMSG.
 */
int tar_sparse_check(struct tar *t, uint64_t size, uint64_t stored);

#endif
