/*
 * reader.h - the names, inodes and data of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For tools that need more from an image than a walk of its files provides:
 * owners, modes, link targets, extended attributes, individual blocks.  No
 * number in the image is trusted: each is checked, in 64 bits, against the size
 * of the structure that it refers to.  Source of the format:
 * image/squashfs/format.h.
 *
 * After sq_open() an image does not change: any number of threads may read it,
 * each with its own decoder.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_READ_READER_H
#define COLDPRESS_IMAGE_SQUASHFS_READ_READER_H

#include "image/squashfs/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQ_SETTINGS_MAX = 64 };

struct sq_image;

/* The contents of the superblock, and of the compressor options after it. */
struct sq_facts {
	int compressor;			/* enum squashfs_compressor */
	uint32_t block;			/* bytes */
	uint16_t flags;			/* enum squashfs_flag */
	uint32_t inodes, fragments, ids;
	uint64_t used_B;		/* length of the image, unpadded */
	uint32_t mtime;			/* seconds since 1970 */
	bool exports, xattrs;		/* the image has these tables */
	uint32_t xattrs_unused;		/* field of the table of attributes
					 * that mksquashfs 4.4 leaves
					 * undefined; mostly 0 */
	uint8_t settings[SQ_SETTINGS_MAX];
	size_t settings_B;		/* 0: defaults */
};

/*
 * Finds the image in fd, which may be the whole file, follow an executable (as
 * in an AppImage) or be a partition of a SIF file.  Returns 1 and sets *offset, 0 if there is no image, or
 * -errno from a read.
 */
int sq_find(int fd, uint64_t *offset);

/*
 * Reports a reason why Linux would not mount the image.  `at` is a byte offset
 * in the image, and `why` is valid until the call returns.
 */
typedef void sq_tell_fn(void *arg, uint64_t at, const char *why);

/*
 * Reads the tables and names of the image at byte `offset` of fd, which must
 * remain open and is not closed, with the given number of threads and at most
 * `memory` bytes for tables and names.  Returns 0; -EBADMSG or -ENOTSUP, with
 * the reason in *why; -EDQUOT if it needs more memory; -ENOMEM; or -errno from
 * a read.
 */
int sq_open(struct sq_image **m, int fd, uint64_t offset, unsigned threads,
    uint64_t memory, sq_tell_fn *tell, void *arg, const char **why);
void sq_close(struct sq_image *m);	/* m may be NULL */

/* Returns the number of bytes of `memory` not used by tables and names. */
uint64_t sq_memory_left(const struct sq_image *m);

const struct sq_facts *sq_facts(const struct sq_image *m);

/*
 * Returns the number of names.  They are numbered from 0, the root, depth
 * first, each directory in byte order.
 */
size_t sq_count(const struct sq_image *m);

struct sq_entry {
	const char *name;		/* not NUL-terminated; belongs to the
					 * image */
	size_t name_len;		/* 0: the root */
	size_t parent;			/* number of the parent; the root is its
					 * own parent */
	size_t first;			/* number of the inode's first name */
	uint16_t mode;			/* mode as in st_mode; 0: no inode */
	bool has_owner;			/* uid and gid are known */
	uint32_t uid, gid, mtime, links;
	uint32_t rdev;			/* device number as stored in the
					 * image */
	uint32_t xattr;			/* index of the attribute set, or
					 * SQUASHFS_NONE */
	uint64_t size;			/* size of a file, listing or target */
	const char *target;		/* target of a link, size bytes;
					 * belongs to the image */
	/* the data of a file */
	uint64_t start;			/* offset of the file's first block in
					 * the image */
	const uint8_t *sizes;		/* le32 size words of the file's
					 * blocks */
	uint32_t blocks;
	uint32_t fragment, tail_at;	/* SQUASHFS_NONE: no tail */
	/* reason why the inode or the listing is invalid, or NULL */
	const char *why;
	bool lost;			/* the file's data cannot be read */
	bool dense;			/* its holes are not counted as such */
};

void sq_get(const struct sq_image *m, size_t number, struct sq_entry *e);

/* Returns the number of the first name after a directory's subtree. */
size_t sq_end(const struct sq_image *m, size_t number);

/*
 * Writes the path from the root, without a leading slash, to *path, a buffer of
 * *cap bytes that grows as needed and that the caller frees with sys_free().
 * Returns 0 or -ENOMEM.
 */
int sq_path(const struct sq_image *m, size_t number, char **path,
    size_t *cap);

/*
 * Passes each attribute of a set to fn, with its full name.  Returns 0,
 * -EBADMSG (the table is damaged), -ENOMEM, or any other result of fn.
 */
typedef int sq_xattr_fn(void *arg, const char *name, const void *value,
    size_t len);
int sq_xattrs(const struct sq_image *m, uint32_t index, sq_xattr_fn *fn,
    void *arg);

/*
 * These functions return the unpacked size of block k of a file, the unpacked
 * size of its tail, the total stored size of its blocks, and the size word of
 * block k.
 */
uint32_t sq_block_len(const struct sq_image *m, const struct sq_entry *e,
    uint32_t k);
uint32_t sq_tail_len(const struct sq_image *m, const struct sq_entry *e);
uint64_t sq_stored(const struct sq_entry *e);
uint32_t sq_word(const struct sq_entry *e, uint32_t k);

/* Returns the stored size of a block with the given size word; 0 for a hole. */
static inline uint32_t
sq_word_len(uint32_t word)
{
	return word & (SQUASHFS_BLOCK_RAW - 1);
}

/* Locates a fragment block; number must be less than facts->fragments. */
void sq_fragment(const struct sq_image *m, uint32_t number, uint64_t *at,
    uint32_t *word);

/* A decoder of blocks, for one thread. */
struct sq_decoder;

int sq_decoder_open(struct sq_decoder **d, const struct sq_image *m);
void sq_decoder_close(struct sq_decoder *d);	/* d may be NULL */

/*
 * Unpacks the block at byte `at` of the image to out.  If want is not 0, the
 * block must unpack to exactly `want` bytes; otherwise out must have room for a
 * full block, and any size is accepted.  Returns the size, or -errno with the
 * reason in *why.
 */
int64_t sq_unpack(struct sq_decoder *d, uint64_t at, uint32_t word,
    size_t want, uint8_t *out, const char **why);

/* An image and the file it is in. */
struct sq_file {
	int fd;
	uint64_t offset;		/* of the image in the file */
	struct sq_image *image;
	bool refused;			/* Linux would not mount it, or not
					 * open or find all of its names */
	char *path;			/* buffer */
	size_t path_cap;
};

struct sq_file_options {
	const char *path;
	bool has_offset;		/* otherwise the image is searched */
	uint64_t offset;
	unsigned threads;
	uint64_t memory;		/* limit for tables and names, in
					 * bytes */
	bool may_be_streamed;		/* a superblock at the end is fine */
	/*
	 * Reports damage to tables, inodes or listings, whose place is an
	 * offset or a name; the strings are valid until the call returns.
	 * NULL: does nothing.
	 */
	void (*report)(void *arg, const char *place, const char *why);
	void *arg;
};

/*
 * Opens the image in a file and reports all damage to it, whichever names will
 * be used, so that no task succeeds with an image with which another fails.
 * Such damage is not an error.  The file must be closed even after an error.
 * Returns 0, or -errno with the reason in *why.
 */
int sq_file_open(struct sq_file *f, const struct sq_file_options *o,
    const char **why);
void sq_file_close(struct sq_file *f);

/*
 * Returns the path of a name, valid until the next call, which only one thread
 * at a time may make; NULL if there is not enough memory.
 */
const char *sq_file_path(struct sq_file *f, size_t number);

/*
 * Reads up to size bytes of the padding after the image.  Returns the number
 * read, or -errno.
 */
int sq_file_padding(const struct sq_file *f, char *padding, size_t size);

/* Returns the name of an enum squashfs_compressor. */
const char *sq_compressor_name(int compressor);

/*
 * Determines whether a kernel can mount the image, according to its
 * configuration file, its version or, if kernel is NULL, the running kernel.
 * Returns 1 (yes), 0 (no), -1 (unknown), or -errno if the file cannot be read.
 * Sets why to the reason.
 */
int sq_can_mount(const struct sq_file *f, const char *kernel, char *why,
    size_t size);

#endif
