/*
 * reader.h - the names, inodes and data of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For tools that need more of an image than a walk of its files: owners,
 * modes, link targets, extended attributes, single blocks.  No number of the
 * image is trusted: each is checked, in 64 bits, against the length of what it
 * points into.  Source of the format: image/squashfs/format.h.
 *
 * After sqr_open() an image does not change: any number of threads may read
 * it, each with a decoder of its own.
 */
#ifndef COLDPRESS_SQUASHFS_READER_H
#define COLDPRESS_SQUASHFS_READER_H

#include "image/squashfs/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQR_SETTINGS_MAX = 64 };

struct sqr_image;

/* What the super block says, and the compressor's options behind it. */
struct sqr_facts {
	int compressor;			/* enum squashfs_compressor */
	uint32_t block;			/* bytes */
	uint16_t flags;			/* enum squashfs_flag */
	uint32_t inodes, fragments, ids;
	uint64_t used_B;		/* length of the image, unpadded */
	uint32_t mtime;			/* seconds since 1970 */
	bool exports, xattrs;		/* whether it has these tables */
	uint8_t settings[SQR_SETTINGS_MAX];
	size_t settings_B;		/* 0: defaults */
};

/*
 * Whether fd is an image, or a program with one behind it (an AppImage): 1
 * and its first byte in *offset, 0, or -errno of reading.
 */
int sqr_find(int fd, uint64_t *offset);

/*
 * Something for which Linux would not mount the image, at byte `at` of it;
 * why is a clause that lasts until the call returns.
 */
typedef void sqr_tell_fn(void *arg, uint64_t at, const char *why);

/*
 * Reads tables and names of the image at byte `offset` of fd, which stays
 * open and the caller's, with so many threads, in at most `memory` bytes for
 * tables and names.  0; -EBADMSG or -ENOTSUP, with a clause in *why;
 * -EDQUOT: it takes more memory; -ENOMEM or -errno of reading.
 */
int sqr_open(struct sqr_image **m, int fd, uint64_t offset, unsigned threads,
    uint64_t memory, sqr_tell_fn *tell, void *arg, const char **why);
void sqr_close(struct sqr_image *m);	/* m may be NULL */

const struct sqr_facts *sqr_facts(const struct sqr_image *m);

/*
 * Names have numbers from 0, the root, on: depth first, the names of a
 * directory in the order of their bytes.
 */
size_t sqr_count(const struct sqr_image *m);

struct sqr_entry {
	const char *name;		/* not terminated; the image's */
	size_t name_len;		/* 0: the root */
	size_t parent;			/* number; the root is its own */
	size_t first;			/* number of its inode's first name */
	uint16_t mode;			/* as st_mode; 0: no inode */
	bool has_owner;			/* uid and gid are known */
	uint32_t uid, gid, mtime, links;
	uint32_t rdev;			/* of a device, as the format has it */
	uint32_t xattr;			/* or SQUASHFS_NONE */
	uint64_t size;			/* of a file, listing or target */
	const char *target;		/* of a link, size bytes; the image's */
	/* a file's data */
	uint64_t start;			/* of its first block in the image */
	const uint8_t *sizes;		/* le32 size words of its blocks */
	uint32_t blocks;
	uint32_t fragment, tail_at;	/* SQUASHFS_NONE: no tail */
	/* NULL, or a clause: what is wrong with the inode or listing */
	const char *why;
	bool lost;			/* then its data cannot be read */
};

void sqr_get(const struct sqr_image *m, size_t number, struct sqr_entry *e);

/* The number of the first name behind all that is below a directory. */
size_t sqr_end(const struct sqr_image *m, size_t number);

/*
 * The path from the root, without a leading slash, at *path of *cap bytes,
 * which grows as needed and is the caller's, for sys_free().  0 or -ENOMEM.
 */
int sqr_path(const struct sqr_image *m, size_t number, char **path,
    size_t *cap);

/*
 * Hands over the attributes of a set, with full names.  0, -EBADMSG (the
 * table is damaged), -ENOMEM, or what fn returned if that is not 0.
 */
typedef int sqr_xattr_fn(void *arg, const char *name, const void *value,
    size_t len);
int sqr_xattrs(const struct sqr_image *m, uint32_t index, sqr_xattr_fn *fn,
    void *arg);

/* Bytes of block k of a file once unpacked; of its tail; bytes stored. */
uint32_t sqr_block_len(const struct sqr_image *m, const struct sqr_entry *e,
    uint32_t k);
uint32_t sqr_tail_len(const struct sqr_image *m, const struct sqr_entry *e);
uint64_t sqr_stored(const struct sqr_entry *e);
uint32_t sqr_word(const struct sqr_entry *e, uint32_t k);

/* Bytes in the image of the block whose size word that is; 0: a hole. */
static inline uint32_t
sqr_word_len(uint32_t word)
{
	return word & (SQUASHFS_BLOCK_RAW - 1);
}

/* Where a fragment block is, number below facts->fragments. */
void sqr_fragment(const struct sqr_image *m, uint32_t number, uint64_t *at,
    uint32_t *word);

/* Unpacks blocks; one thread's. */
struct sqr_decoder;

int sqr_decoder_open(struct sqr_decoder **d, const struct sqr_image *m);
void sqr_decoder_close(struct sqr_decoder *d);	/* d may be NULL */

/*
 * Unpacks the block at byte `at` of the image to out, which has room for
 * want bytes, and is to become exactly those; want 0: room for a block, any
 * number of bytes.  The number, or -errno, with a clause in *why.
 */
int64_t sqr_unpack(struct sqr_decoder *d, uint64_t at, uint32_t word,
    size_t want, uint8_t *out, const char **why);

#endif
