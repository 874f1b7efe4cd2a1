/*
 * data.h - the data of a squashfs image: blocks and fragment blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are read from a source one after another, and are cut into units:
 * blocks of large files, and fragment blocks shared by small files, following
 * the rules of mksquashfs (a file smaller than a block becomes a fragment; the
 * tail of a larger file does so on request).  Files with identical content are
 * stored
 * once, blocks of zeros not at all.  One thread reads, the others compress, and
 * units are written in order, so the output does not depend on the number of
 * threads.
 *
 * In exact mode, files are duplicates if their blocks are equal, and all blocks
 * of zeros are equal, even if their lengths differ.  Two files that end in
 * zeros may therefore share blocks although their sizes differ.
 *
 * Where tails become fragments, the blocks of a file and its tail are compared
 * with those of other files separately.  In exact mode, what can be a duplicate
 * is compared only if mksquashfs would do so, and its tail then precedes its
 * blocks.  There are two differences, which only affect this order: mksquashfs
 * also compares files whose first blocks are compressed to the same size, and
 * it writes the blocks of a file that exceeds its memory first.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_DATA_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_DATA_H

#include "base/progress.h"
#include "image/squashfs/write/codec.h"
#include "image/squashfs/write/tree.h"
#include "pipeline/pipeline.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Blocks that need not be compressed.  find() returns whether there is one with
 * this content; read() reads its stored bytes, and returns 0 or -errno.  Both
 * are thread-safe.
 */
struct sqw_known {
	bool (*find)(const void *arg, const uint8_t *data, size_t len,
	    uint64_t *at, uint32_t *word);
	int (*read)(const void *arg, uint64_t at, uint8_t *out, size_t len);
	const void *arg;
};

struct sqw_file {
	uint32_t id;			/* id of its node */
	uint64_t size;			/* bytes, at least 1 */
	bool alone;			/* shares no data with other files */
	bool dense;			/* not sparse on disk */
	bool raw;			/* its blocks are not compressed */
};

/*
 * The source of files.  Its functions are called from one thread; errors are
 * -errno.
 */
struct sqw_source {
	/*
	 * Stores the next file in *f.  Returns 1; 0 at the end; 2, without a
	 * file, if later files must not share a fragment block with earlier
	 * files; or -errno.
	 */
	int (*next)(void *arg, struct sqw_file *f);
	/*
	 * Reads the next len bytes of the current file, with holes as zeros; a
	 * short file is an error.  Returns 0 or -errno; -ECANCELED means that
	 * the file is to be omitted, although some of its blocks may already be
	 * in the image.
	 */
	int (*read)(void *arg, void *buf, size_t len);
	/*
	 * Skips a hole at the current offset, in whole blocks or to the end of
	 * the file; see sqw_hole_blocks().  Returns the number of bytes
	 * skipped, 0 if there is no hole, or -errno as read() does.  NULL if
	 * the source has no information about holes.
	 */
	int64_t (*skip)(void *arg);
	/* Seeks to the start of the file.  NULL if the source cannot seek. */
	int (*rewind)(void *arg);
	void *arg;
};

/*
 * Returns how many bytes of a hole are in whole blocks.  The last block of the
 * file counts as whole; `left` is the number of bytes left in the file.
 */
static inline uint64_t
sqw_hole_blocks(uint64_t hole, uint64_t left, uint32_t block)
{
	return hole >= left ? left : hole - hole % block;
}

/*
 * Files that are in the image already, with their positions in sqw_data.of:
 * later files can share their data.  next() stores the next one of this size in
 * *f and returns 1, or returns 0; each is given once.  read() reads its next
 * block, or its tail, and returns 0 or -errno, after which the file is not
 * compared.  Both are called from one thread.
 */
struct sqw_older {
	int (*next)(void *arg, uint64_t size, struct sqw_file *f);
	int (*read)(void *arg, void *buf, size_t len);
	void *arg;
};

struct sqw_data_options {
	const struct sqw_method *method;
	int level;
	uint32_t block;
	uint32_t dictionary;		/* for xz; 0: as large as a block */
	unsigned threads;
	bool no_duplicates;		/* store duplicates again */
	bool no_fragments;
	bool tails;			/* the rest of a large file becomes a
					 * fragment */
	bool no_sparse;			/* store zeros as any other data */
	bool raw_data, raw_fragments;	/* do not compress them */
	bool no_probe;			/* also compress data that hardly
					 * shrinks in a quick test */
	bool gensquashfs;		/* compress blocks as it does, with the
					 * libraries */
	bool exact;			/* produce the same bytes as mksquashfs
					 * 4.5.1 */
	const struct sqw_known *known;	/* blocks to copy; NULL: none */
	const struct sqw_older *older;	/* NULL: none */
	uint64_t memory;		/* limit on the lists of blocks, in
					 * bytes; 0: none */
	int tmpdir;			/* directory for data that cannot be
					 * read again */
};

/* Returns whose compressed bytes are to be produced. */
static inline enum sqw_maker
sqw_maker(const struct sqw_data_options *o)
{
	return o->gensquashfs ? SQW_GENSQUASHFS : o->exact ? SQW_MKSQUASHFS :
	    SQW_OURS;
}

/* The result. */
struct sqw_data {
	uint32_t *sizes;		/* size words of all units */
	uint64_t *starts;		/* offsets in the image */
	uint32_t *fragment;		/* index of a fragment block, or
					 * SQUASHFS_NONE */
	size_t units, cap, fragment_cap;
	struct sqw_position *of;		/* data of each id */
	size_t ids;
	uint32_t fragments;
	uint64_t end;			/* end of the last unit */
	uint64_t in_B, raw_B, blocks, duplicates, duplicate_B;
	uint64_t copied;		/* blocks copied from an older image */
	struct pipeline_stats stats;
	uint64_t hash_ns;		/* time that the reader spent hashing */
	uint64_t raw_blocks;		/* blocks stored uncompressed */
};

/*
 * Reads all files of source and writes their units to fd at its current offset,
 * `at` bytes into the image.  d must be zeroed beforehand, and freed even on
 * failure.  Returns 0, -ENOMEM, -EOVERFLOW (too many blocks for an image or for
 * o->memory), or -errno from the source or from writing.
 */
int sqw_data_write(struct sqw_data *d, const struct sqw_source *source,
    const struct sqw_data_options *o, int fd, uint64_t at,
    struct progress *progress);
void sqw_data_free(struct sqw_data *d);

/*
 * Units and fragment blocks of d whose data is still in another file, not in
 * the image.
 */
struct sqw_waiting {
	size_t units;			/* index of the first unit in d */
	uint32_t fragments;
	uint64_t length;		/* length of that file */
	int fd;
};

/*
 * Appends their data to fd, which is positioned at d->end, and numbers the
 * units as if they had been added last.  Returns 0, -ENOMEM or -errno.
 */
int sqw_data_append(struct sqw_data *d, const struct sqw_waiting *w, int fd);

#endif
