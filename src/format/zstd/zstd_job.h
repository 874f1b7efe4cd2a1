/*
 * zstd_job.h - the independent jobs that make up a frame
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame written by pzc is a series of jobs.  A job is a whole number of
 * blocks that do not refer to data before the job, so each job can be decoded
 * independently:
 *
 * 	header  00 00 00  00 00 00  blocks of job 0
 * 	        00 00 00 ...  00 00 00  00 00 00  blocks of job 1
 * 	        ...  blocks of the last job  checksum
 *
 * Empty raw blocks (00 00 00) mark where a job begins; every decoder skips
 * them.  At least two precede each job; a decoder that needs only this job can
 * replace them with a six-byte header.  Between two jobs there are at least
 * three.  The number of marks that follow a job, zstd_job_marks(), encodes its
 * size.  Decoding does not rely on that size, which is only used to locate a
 * byte in a file.
 *
 * The marks are not proof, because any frame may contain such blocks.  A job
 * that zstd_job_alone() accepts, and that libzstd then decodes as a separate
 * frame, decodes to exactly the same bytes as within its frame, for the
 * following reason.
 *
 * Decoding a block depends on four things besides its own bytes: the last
 * Huffman table, the last three FSE tables, the last three offsets, and the
 * bytes before it (RFC 8878, 3.1.1.3 and 3.1.1.5).  By induction over the job's
 * blocks each of them comes from the job itself:
 *
 * - Tables: a block that uses one (treeless literals, repeat mode) before a
 *   block of the job has set it is rejected, here and by libzstd.
 * - Offsets: an offset value above 3 sets a repeat offset; 1 to 3 use one.
 *   All sequences are read, starting with the job's first, and one that uses
 *   an offset set by no sequence in the job is rejected.  libzstd would use 1,
 *   4 or 8, so this is the only check.  Once all three offsets and all tables
 *   are set, nothing older can come back.
 * - Bytes: the job is decoded to the beginning of a buffer, without a
 *   dictionary.  A match that begins before it is outside the buffer, which
 *   libzstd rejects, as it must for memory safety.
 *
 * Thread-safe.
 */
#ifndef COLDPRESS_ZSTD_JOB_H
#define COLDPRESS_ZSTD_JOB_H

#include "pipeline/pipeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ZSTD_JOB_HEAD = 6,	/* magic number, zero flags, window */
	ZSTD_JOB_LEAD = 2,	/* marks before a job */
};

/*
 * Returns the number of marks after a job of len bytes, not counting the next
 * job's own.
 */
unsigned zstd_job_marks(uint64_t len);

/*
 * Returns the size that this number of marks encodes, or 0 if it encodes none.
 */
uint64_t zstd_job_len(unsigned marks);

/*
 * Builds a header for blocks with the given window (encoded as in a frame
 * header).
 */
void zstd_job_head(uint8_t head[ZSTD_JOB_HEAD], uint8_t window);

/*
 * Returns whether the blocks in the len bytes at p do not refer to any data
 * before them.
 */
bool zstd_job_alone(const uint8_t *p, size_t len);

/*
 * Returns the header of the last block, or NULL if the data does not end with
 * one.
 */
uint8_t *zstd_last_block(uint8_t *p, size_t len);

/*
 * Makes the blocks that libzstd produced, starting at byte `from` of b,
 * independent: a sequence that repeats one of the offsets 1, 4 and 8, with
 * which every frame begins, gets an explicit offset.  b->cap should be about
 * 256 KiB more than b->len; a block is smaller than `most` bytes.  Returns 0;
 * -ENOMEM; or -ENOBUFS or -EBADMSG if this is impossible, in which case the
 * contents of b are undefined.
 */
int zstd_job_settle(struct buf *b, size_t from, size_t most);

#endif
