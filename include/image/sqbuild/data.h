/*
 * data.h - the data of a squashfs image: blocks and fragment blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files come one after the other from a source, and are cut into units: blocks
 * of large files, and fragment blocks shared by small ones, following
 * mksquashfs's rules (a file smaller than a block becomes a fragment, the tail
 * of a larger one does not).  Files with identical content are stored once,
 * blocks of zeros not at all.  One thread reads, the others compress, and units
 * are written in order, so the bytes do not depend on the number of threads.
 *
 * In exact mode, files are duplicates if their blocks are equal, and all blocks
 * of zeros are equal, whatever their length: two files that end in zeros may
 * share blocks although their sizes differ.
 */
#ifndef COLDPRESS_SQBUILD_DATA_H
#define COLDPRESS_SQBUILD_DATA_H

#include "base/progress.h"
#include "image/sqbuild/codec.h"
#include "image/sqwrite/tree.h"
#include "pipeline/pipeline.h"

#include <stdbool.h>
#include <stdint.h>

struct sqb_file {
	uint32_t id;			/* id of its node */
	uint64_t size;			/* bytes, at least 1 */
	bool alone;			/* shares no data with others */
	bool dense;			/* not sparse on disk */
};

/* The source of files.  One thread calls it; errors are -errno. */
struct sqb_source {
	/*
	 * Stores the next file in *f.  Returns 1; 0 at the end; 2, without a
	 * file, if later files must not share a fragment block with earlier
	 * ones; or -errno.
	 */
	int (*next)(void *arg, struct sqb_file *f);
	/*
	 * Reads the current file's next len bytes, with holes as zeros; a short
	 * file is an error.  Returns 0 or -errno; -ECANCELED means to leave the
	 * file out, although some of its blocks may already be in the image,
	 * and continue with the next one.
	 */
	int (*read)(void *arg, void *buf, size_t len);
	/*
	 * Skips a hole at the current offset, in whole blocks or to the end of
	 * the file; see sqb_hole_blocks().  Returns the number of bytes
	 * skipped, 0 if there is no hole, or -errno as read() does.  NULL if
	 * the source does not know where the holes are.
	 */
	int64_t (*skip)(void *arg);
	/* Seeks to the file's first byte; NULL if the source cannot seek. */
	int (*rewind)(void *arg);
	void *arg;
};

/*
 * Returns how much of a hole consists of whole blocks.  The last block counts
 * as whole; `left` is the number of bytes left in the file.
 */
static inline uint64_t
sqb_hole_blocks(uint64_t hole, uint64_t left, uint32_t block)
{
	return hole >= left ? left : hole - hole % block;
}

struct sqb_data_options {
	const struct sqb_method *method;
	int level;
	uint32_t block;
	unsigned threads;
	bool no_duplicates;		/* store duplicates again */
	bool no_fragments;
	bool raw_data, raw_fragments;	/* do not compress them */
	bool no_probe;			/* also compress data that hardly
					 * shrinks */
	bool exact;			/* produce mksquashfs 4.5.1's bytes */
	uint64_t memory;		/* limit on the lists of blocks, in
					 * bytes; 0: none */
	int tmpdir;			/* directory for data that cannot be
					 * read again */
};

/* The result. */
struct sqb_data {
	uint32_t *sizes;		/* size words of all units */
	uint64_t *starts;		/* offsets in the image */
	uint32_t *fragment;		/* index of a fragment block, or
					 * SQUASHFS_NONE */
	size_t units, cap, fragment_cap;
	struct sqw_data *of;		/* data of each id */
	size_t ids;
	uint32_t fragments;
	uint64_t end;			/* end of the last unit */
	uint64_t in_B, raw_B, blocks, duplicates, duplicate_B;
	struct pipeline_stats stats;
	uint64_t hash_ns;		/* time that the reader spent hashing */
	uint64_t raw_blocks;		/* blocks stored uncompressed */
};

/*
 * Reads all files of source and writes their units to fd at its current offset,
 * `at` bytes into the image.  d must be zeroed beforehand, and freed even on
 * failure.  Returns 0, -ENOMEM, -EOVERFLOW (more blocks than an image or
 * o->memory can hold), or -errno from the source or from writing.
 */
int sqb_data_write(struct sqb_data *d, const struct sqb_source *source,
    const struct sqb_data_options *o, int fd, uint64_t at,
    struct progress *progress);
void sqb_data_free(struct sqb_data *d);

/* Units and fragment blocks of d whose data is still in another file. */
struct sqb_waiting {
	size_t units;			/* index of the first of each in d */
	uint32_t fragments;
	uint64_t length;		/* length of that file */
	int fd;
};

/*
 * Appends their data to fd, which is positioned at d->end, and numbers it as if
 * it had come last.  Returns 0, -ENOMEM or -errno.
 */
int sqb_data_append(struct sqb_data *d, const struct sqb_waiting *w, int fd);

#endif
