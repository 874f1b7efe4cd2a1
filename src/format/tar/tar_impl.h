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

/* The contents of pax records; strings point into the records' text. */
struct tar_pax {
	struct tar_text text;
	size_t parsed;			/* bytes parsed so far */
	uintptr_t base;			/* address of the text at that time */
	const char *path, *link, *uname, *gname;	/* NULL: absent */
	const char *sparse_name;
	struct tar_xattr *records;	/* all records */
	size_t record_count, record_cap;
	struct tar_xattr *xattrs;
	size_t xattr_count, xattr_cap;
	struct tar_extent *extents;	/* GNU.sparse 0.0 and 0.1 */
	size_t extent_count, extent_cap;
	bool half;		/* the length of the last extent is missing */
	bool has_uid, has_gid, has_size, has_mtime;
	bool sparse;		/* there are GNU.sparse records */
	uint64_t uid, gid, size, realsize;
	int64_t mtime;
	uint32_t mtime_ns;
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
	struct tar_extent *extents;
	size_t extent_count, extent_cap;
	struct tar_xattr *xattrs;	/* global and local */
	size_t xattr_count, xattr_cap;
};

/* Records the reason for rc.  Returns rc. */
int tar_fail(struct tar *t, int rc, const char *why);

/*
 * Reads the next header into t->block, past the rest of the previous entry.
 * Returns 1, 0 at the end of the archive, or -errno.
 */
int tar_header_next(struct tar *t);

/*
 * Reads exactly TAR_BLOCK bytes into t->block.  Returns 1, 0 at the end of
 * input, or -errno.
 */
int tar_block(struct tar *t);

/*
 * Makes room for len bytes and a terminating NUL, leaving the contents
 * undefined.  Returns 0 or -ENOMEM.
 */
int tar_text_reserve(struct tar_text *text, size_t len);
int tar_text_set(struct tar_text *text, const char *s, size_t len);

/*
 * Parses a number in a header's field: octal between blanks, or base-256 with
 * the first bit set.  Returns 0 or -EBADMSG.
 */
int tar_number(const uint8_t *field, size_t len, int64_t *value);

/*
 * Returns whether the checksum of the header is correct, summed as signed or
 * unsigned chars.
 */
bool tar_checksum_ok(const uint8_t *block);

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

/*
 * Appends an extent to the entry's list.  Returns 0, -EFBIG, -EBADMSG or
 * -ENOMEM.
 */
int tar_extent_add(struct tar *t, uint64_t offset, uint64_t length);

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
