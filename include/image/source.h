/*
 * source.h - an image of any format: files stored in blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source implements one format: it adds the names and locates each file in
 * the image.  All formats share the code for duplicates, reading order,
 * threads, buffers, digests and rows (image_walk()).  A new format therefore
 * needs only a folder next to squashfs/ with the functions of struct
 * image_source, and a row in the tool's list of sources.
 *
 * A file consists of blocks of block_B bytes, the last one possibly shorter, or
 * of a tail in a fragment block shared with other files, or of both.  A block
 * with no stored data is a hole.
 *
 * Unless stated otherwise, only one thread at a time may call these functions.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_H
#define COLDPRESS_IMAGE_SOURCE_H

#include "image/verity.h"
#include "walk/walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_NONE UINT32_MAX		/* no fragment block */

/* How an image stores a block: its size, 0 for a hole, and flags. */
typedef uint32_t image_word;
#define IMAGE_RAW (UINT32_C(1) << 31)	/* stored uncompressed */
#define IMAGE_BAD (UINT32_C(1) << 30)	/* the size word is invalid */

static inline size_t
image_stored_B(image_word w)
{
	return w & ~(IMAGE_RAW | IMAGE_BAD);
}

/* A memory budget: the bytes left, and the bytes used by the image. */
struct image_memory {
	uint64_t *left, taken;
};

struct image_dir {
	const uint8_t *name;		/* owned by the source; not
					 * NUL-terminated */
	uint16_t name_len;
	uint32_t parent;		/* index of the parent; the root, 0, is
					 * its own parent */
	uint64_t ref;			/* the source's handle of the inode */
	const char *damage;		/* reason, or NULL */
	bool lost;			/* the listing is incomplete */
};

/* Anything other than a directory. */
struct image_file {
	/* The following are set by the source. */
	const uint8_t *name;		/* not NUL-terminated */
	uint64_t ref;			/* the source's handle of the inode */
	uint64_t size;			/* size of the data; 0 except for
					 * regular files */
	uint64_t start;			/* position of the file's first block */
	const uint8_t *map;		/* used by the source to locate
					 * blocks */
	uint32_t dir;			/* index */
	uint32_t blocks;
	uint32_t fragment, tail_at;	/* index or IMAGE_NONE; offset in it */
	uint32_t hardlink_of;		/* index of a file with the same inode,
					 * or 0 */
	uint16_t name_len;
	uint8_t type;			/* enum walk_type */
	uint8_t flaw;			/* flaw for image_source.flaw(), or 0 */
	bool unreadable;		/* the file's data is not read */
	/* The following are set by the walk. */
	bool skip;			/* the file was not requested */
	bool is_duplicate;		/* has the same data as an earlier
					 * file */
	uint32_t next_duplicate;	/* file with the same data, or 0 */
	struct image_stream *stream;	/* the stream that hashes the file */
};

struct image {
	const struct image_source *source;
	int fd;
	uint64_t offset;		/* offset of the image in fd */
	uint64_t length;		/* size of the image in fd */
	uint32_t block_B;
	uint32_t fragment_count;
	struct image_memory *memory;	/* budget for names and tables; NULL:
					 * unlimited */
	const uint8_t *verity_root;	/* root hash that all data must match,
					 * or NULL */
	struct verity *verity;		/* opened by the source, closed by
					 * image_close() */
	void *own;			/* the source's private state */
	struct image_dir *dir;		/* directories, the root first */
	size_t dir_count, dir_cap;
	struct image_file *file;	/* files; the first entry is unused */
	size_t file_count, file_cap;
};

/* Reports damage outside files: its position in the image, and the reason. */
typedef int image_report_fn(void *arg, uint64_t at, const char *reason);

struct image_source {
	const char *name;		/* name of the format */

	/*
	 * Adds all names of the image at m->offset in m->fd, using the given
	 * number of threads; sets length, block_B, fragment_count and own.  The
	 * image must be read only with pread(2).  Files are added by
	 * image_add_file(), directories by image_add_dir(), parents first,
	 * beginning with the root.  Damaged files are added with a flaw;
	 * damaged tables are reported.  Returns 0, the result of report, or an
	 * error as walk_source.walk() does, with *why set in the same cases.
	 * The image must be closed even after an error.
	 */
	int (*open)(struct image *m, unsigned threads, image_report_fn *report,
	    void *arg, const char **why);
	void (*close)(struct image *m);

	/* Returns a static string that describes a file's flaw. */
	const char *(*flaw)(unsigned flaw);

	/* Returns the position of an inode in the image, for reports. */
	uint64_t (*where)(const struct image *m, uint64_t ref);

	/*
	 * Returns how block k of f is stored.  *at is the end of the previous
	 * block, initially f->start, and is changed if blocks are not
	 * contiguous.  Thread-safe.
	 */
	image_word (*block)(const struct image *m, const struct image_file *f,
	    uint32_t k, uint64_t *at);

	/* Returns how a fragment block is stored; sets *at.  Thread-safe. */
	image_word (*fragment)(const struct image *m, uint32_t index,
	    uint64_t *at);

	/*
	 * Opens a block decoder for one thread.  Returns 0, -ENOTSUP or
	 * -ENOMEM.  decode() returns the number of bytes produced, at most cap,
	 * or -EBADMSG or -ENOMEM.
	 */
	int (*decoder_open)(const struct image *m, void **decoder);
	void (*decoder_close)(void *decoder);		/* may be NULL */
	int64_t (*unpack)(void *decoder, const uint8_t *in, size_t len,
	    uint8_t *out, size_t cap);
};

/*
 * These functions account for memory.  image_take() is called before an
 * allocation and returns 0 or -EDQUOT; image_give() is called after memory has
 * been freed.
 */
int image_take(struct image_memory *m, uint64_t bytes);

void image_give(struct image_memory *m, uint64_t bytes);

/* Returns whether an error means that memory or the budget is exhausted. */
static inline bool
image_no_memory(int rc)
{
	return rc == -ENOMEM || rc == -EDQUOT;
}

/* Returns 0, -EFBIG, -EDQUOT or -ENOMEM. */
int image_add_dir(struct image *m, const struct image_dir *d);
int image_add_file(struct image *m, const struct image_file *f);

/*
 * Opens the image at offset in fd, which is not closed.  verity_root is as in
 * walk_options.  Returns the result of image_source.open(); the image must be
 * closed even after an error.
 */
int image_open(struct image *m, const struct image_source *source, int fd,
    uint64_t offset, struct image_memory *memory, const uint8_t *verity_root,
    unsigned threads, image_report_fn *report, void *arg, const char **why);
void image_close(struct image *m);

/*
 * Reads exactly len bytes at pos.  Returns 0, -ENODATA (the image is too short),
 * -EBADMSG (they do not match the hash tree) or -errno.
 */
int image_read(const struct image *m, uint64_t pos, void *buf, size_t len);

/* A buffer for one stored block, for one thread. */
struct image_packed {
	uint8_t *data;
	uint64_t read_B;		/* total bytes read */
};

/*
 * Reads the block with this size word at `at` and unpacks it to out, to exactly
 * `want` bytes or, if want is 0, up to a full block.  Returns the number of
 * bytes, or -errno with the reason in *why.
 */
int64_t image_unpack(const struct image *m, void *decoder,
    struct image_packed *packed, uint64_t at, image_word word, size_t want,
    uint8_t *out, const char **why);

/* Implements walk_source.walk() for images in the format of source. */
int image_walk(const struct image_source *source, int fd, uint64_t offset,
    const struct walk_options *o, struct walk_result *r, const char **why);

/*
 * These functions return the unpacked size of data block k of f, and of its
 * tail.
 */
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
