/*
 * source.h - an image: files in blocks, whatever the format
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source reads one format: it enters the names and says how each file lies
 * in the image.  Everything else is done here for all formats: duplicates,
 * the order of reading, threads, buffers, digests and rows (image_walk()).
 * So a new format is a folder beside squashfs/ with the functions of struct
 * image_source, and a row where the tool lists its sources.
 *
 * A file is blocks of block_B bytes, the last as long as what is left, or a
 * tail that stands in a fragment block with those of other files, or both.
 * A block of which the image stores nothing is a hole.
 *
 * Unless said otherwise a call is for one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_H
#define COLDPRESS_IMAGE_SOURCE_H

#include "walk/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_NONE UINT32_MAX		/* no fragment block */

/* How an image stores a block: bytes, 0 for a hole, and how. */
typedef uint32_t image_word;
#define IMAGE_RAW (UINT32_C(1) << 31)	/* as it is, not compressed */
#define IMAGE_BAD (UINT32_C(1) << 30)	/* what is said of it cannot be */

static inline size_t
image_stored_B(image_word w)
{
	return w & ~(IMAGE_RAW | IMAGE_BAD);
}

/* Bytes of memory: what others have left, and what the image has of it. */
struct image_memory {
	uint64_t *left, taken;
};

struct image_dir {
	const uint8_t *name;		/* the source's; not ended by a NUL */
	uint16_t name_len;
	uint32_t parent;		/* index; the root, 0, is its own */
	uint64_t ref;			/* the source's word for its inode */
	const char *damage;		/* a clause, or NULL */
	bool lost;			/* its list ends early */
};

/* Anything that is not a directory. */
struct image_file {
	/* The source's. */
	const uint8_t *name;		/* not ended by a NUL */
	uint64_t ref;			/* the source's word for its inode */
	uint64_t size;			/* bytes of data; 0 unless a file */
	uint64_t start;			/* where its first block is */
	const uint8_t *map;		/* by which the source finds blocks */
	uint32_t dir;			/* index */
	uint32_t blocks;
	uint32_t fragment, tail_at;	/* index or IMAGE_NONE; byte in it */
	uint32_t hardlink_of;		/* index of the same inode's, or 0 */
	uint16_t name_len;
	uint8_t type;			/* enum walk_type */
	uint8_t flaw;			/* of image_source.flaw(), or 0 */
	bool unreadable;		/* so that its data is not read */
	/* The walk's. */
	bool skip;			/* not asked for */
	bool is_duplicate;		/* of the data of an earlier file */
	uint32_t next_duplicate;	/* file with the same data, or 0 */
	struct image_stream *stream;	/* that hashes it */
};

struct image {
	const struct image_source *source;
	int fd;
	uint64_t offset;		/* of the image in fd */
	uint64_t length;		/* bytes; of what fd has of it */
	uint32_t block_B;
	uint32_t fragment_count;
	struct image_memory *memory;	/* that names and tables take; NULL:
					   any */
	void *own;			/* the source's */
	struct image_dir *dir;		/* the first is the root */
	size_t dir_count, dir_cap;
	struct image_file *file;	/* the first is no file */
	size_t file_count, file_cap;
};

/* Damage outside of files: where in the image, and a clause. */
typedef int image_report_fn(void *arg, uint64_t at, const char *reason);

struct image_source {
	const char *name;		/* of the format */

	/*
	 * Enters all names of the image at m->offset of m->fd, which is read
	 * by pread(2) alone, with so many threads; sets length, block_B,
	 * fragment_count and own.  Files are entered by image_add_file(),
	 * directories by image_add_dir(), parents first, the root as the first
	 * of all.  Files that are damaged have a flaw, and are entered all the
	 * same; damaged tables are reported.  0, what report returned, or as
	 * walk_source.walk(), *why too.  It is closed in any case.
	 */
	int (*open)(struct image *m, unsigned threads, image_report_fn *report,
	    void *arg, const char **why);
	void (*close)(struct image *m);

	/* What is wrong with a file of that flaw: a clause, static. */
	const char *(*flaw)(unsigned flaw);

	/* Where in the image an inode is, for reports. */
	uint64_t (*where)(const struct image *m, uint64_t ref);

	/*
	 * How block k of f is stored.  *at is where the block before it ended,
	 * at first f->start; it is set where blocks do not simply follow each
	 * other.  Thread-safe.
	 */
	image_word (*block)(const struct image *m, const struct image_file *f,
	    uint32_t k, uint64_t *at);

	/* The same of a fragment block, with *at set.  Thread-safe. */
	image_word (*fragment)(const struct image *m, uint32_t index,
	    uint64_t *at);

	/*
	 * What unpacks blocks, for one thread.  0, -ENOTSUP or -ENOMEM; and
	 * the bytes made of at most cap, -EBADMSG or -ENOMEM.
	 */
	int (*decoder_open)(const struct image *m, void **decoder);
	void (*decoder_close)(void *decoder);		/* may be NULL */
	int64_t (*unpack)(void *decoder, const uint8_t *in, size_t len,
	    uint8_t *out, size_t cap);
};

/* Before so much memory is taken, and after it was freed.  0 or -EDQUOT. */
int image_take(struct image_memory *m, uint64_t bytes);
void image_give(struct image_memory *m, uint64_t bytes);

/* 0, -EFBIG, -EDQUOT or -ENOMEM. */
int image_add_dir(struct image *m, const struct image_dir *d);
int image_add_file(struct image *m, const struct image_file *f);

/*
 * Opens the image at offset of fd, which stays the caller's.  As
 * image_source.open(); to be closed in any case.
 */
int image_open(struct image *m, const struct image_source *source, int fd,
    uint64_t offset, struct image_memory *memory, unsigned threads,
    image_report_fn *report, void *arg, const char **why);
void image_close(struct image *m);

/* Exactly len bytes at pos: 0, -ENODATA (it ends before) or -errno. */
int image_read(const struct image *m, uint64_t pos, void *buf, size_t len);

/* For one thread: room for a block as it is stored. */
struct image_packed {
	uint8_t *data;
	uint64_t read_B;		/* counts what was read */
};

/*
 * Reads and unpacks the block of that word at `at` to out, into exactly want
 * bytes; want 0: a block's room, any number.  The number, or -errno and in
 * *why a clause.
 */
int64_t image_unpack(const struct image *m, void *decoder,
    struct image_packed *packed, uint64_t at, image_word word, size_t want,
    uint8_t *out, const char **why);

/* As walk_source.walk(), of the image that source reads. */
int image_walk(const struct image_source *source, int fd, uint64_t offset,
    const struct walk_options *o, struct walk_result *r, const char **why);

/* Bytes of the data block k of f, unpacked; and of its tail. */
static inline size_t
image_block_len(const struct image *m, const struct image_file *f, uint32_t k)
{
	uint64_t left = f->size - (uint64_t)k * m->block_B;

	return left < m->block_B ? (size_t)left : m->block_B;
}

static inline size_t
image_tail_len(const struct image *m, const struct image_file *f)
{
	return f->fragment == IMAGE_NONE ? 0 :
	    (size_t)(f->size - (uint64_t)f->blocks * m->block_B);
}

#endif
