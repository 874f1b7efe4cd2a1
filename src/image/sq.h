/*
 * sq.h - what the parts of the squashfs reader share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQ_H
#define COLDPRESS_SQ_H

#include "squashfs.h"

#include <stdatomic.h>
#include <sys/types.h>

/* sq_codec.c: a compressor of blocks, by its number in the superblock. */
struct sq_codec {
	const char *name;
	/* A context is for one thread.  0 or -ENOMEM. */
	int (*open)(void **ctx);
	/* The unpacked size, at most cap, or -EBADMSG or -ENOMEM. */
	ssize_t (*unpack)(void *ctx, const uint8_t *src, size_t len,
	    uint8_t *dst, size_t cap);
	void (*close)(void *ctx);
};

/* NULL if there is none; *why tells. */
const struct sq_codec *sq_codec_find(unsigned number, const char **why);

/* The version of the lz4 compressor's blocks that is known. */
enum { SQ_LZ4_VERSION = 1 };

/* sq_meta.c: metadata blocks that follow each other, unpacked into one. */
struct sq_meta_block {
	uint32_t at;			/* of its header, from the start */
	uint32_t pos;			/* of its first byte in data */
	uint16_t len;			/* unpacked */
	bool bad;
};

struct sq_meta {
	uint64_t start;			/* in the image */
	uint8_t *packed;		/* until it is unpacked */
	uint64_t packed_len;
	uint8_t *data;
	uint64_t len;
	struct sq_meta_block *blocks;
	size_t count, cap;
	bool any_bad;
};

struct squashfs {
	int fd;
	uint64_t offset;		/* of the image in fd */
	uint64_t length;		/* of the image */
	struct squashfs_super super;
	const struct sq_codec *codec;
	struct sq_meta inodes, dirs, fragments, ids, exports, xattr_sets,
	    xattrs;
	atomic_ullong read_B;		/* for metadata */
};

/* Damage on its way to the caller. */
struct sq_report {
	squashfs_damage_fn *fn;
	void *arg;
};

void sq_report(const struct sq_report *r, uint64_t offset,
    const char *reason);

/*
 * len bytes at offset of the image: 0, -EBADMSG if it ends before, or
 * -errno.
 */
int sq_read(const struct squashfs *q, void *buf, size_t len, uint64_t offset);

/*
 * Reads the packed blocks from start up to end, each of which follows the
 * one before, or (sq_meta_indexed) the count bytes whose blocks begin where
 * the array at index says.  Blocks out of reach are reported and left out.
 * 0, -EFBIG, -ENOMEM or -errno.
 */
int sq_meta_chain(struct squashfs *q, struct sq_meta *m, uint64_t start,
    uint64_t end, const struct sq_report *r);
int sq_meta_indexed(struct squashfs *q, struct sq_meta *m, uint64_t index,
    uint64_t bytes, const struct sq_report *r);

/* Unpacks all of these with so many threads.  0 or -ENOMEM. */
int sq_meta_unpack(struct squashfs *q, struct sq_meta *const *metas,
    size_t count, unsigned threads, const struct sq_report *r);

void sq_meta_free(struct sq_meta *m);

/*
 * The place in data of a byte of the block whose header is at "at" from the
 * start, or UINT64_MAX.
 */
uint64_t sq_meta_pos(const struct sq_meta *m, uint64_t at, uint32_t offset);

/* len bytes there, or NULL if they are not all known. */
const uint8_t *sq_meta_get(const struct sq_meta *m, uint64_t pos,
    uint64_t len);

/* sq_table.c: id, fragment, export and xattr tables. */
int sq_tables_read(struct squashfs *q, const struct sq_report *r);

/* The lowest place in the image of any of their blocks, from above. */
uint64_t sq_tables_start(struct squashfs *q, uint64_t above);

#endif
