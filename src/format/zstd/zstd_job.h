/*
 * zstd_job.h - parts of a frame that stand alone
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A frame of ours is a row of jobs.  A job is a whole number of blocks that
 * refer to nothing before it, so each can be decoded without the others:
 *
 *	header  00 00 00  00 00 00  blocks of job 0
 *	        00 00 00 ...  00 00 00  00 00 00  blocks of job 1
 *	        ...  blocks of the last job  checksum
 *
 * Empty raw blocks (00 00 00) mark where a job begins; every decoder passes
 * over them.  At least two precede each job, where a decoder that wants the
 * job alone can put a header of six bytes; between two jobs there are at
 * least three.  More of them, zstd_job_marks(), tell how much is in the job
 * before them.  Nobody needs to believe that: it is for finding a byte in a
 * file, not for decoding one.
 *
 * The marks are a guess, since any frame may hold such blocks.  Why a job
 * that zstd_job_alone() accepts, and that libzstd then decodes as a frame of
 * its own, has exactly the bytes that it has within its frame:
 *
 * A block is decoded from four things besides its own bytes: the last
 * Huffman table, the last three FSE tables, the last three offsets, and the
 * bytes before it (RFC 8878, 3.1.1.3 and 3.1.1.5).  By induction over the
 * job's blocks each of them is the job's own:
 *
 * - Tables: a block that uses one (treeless literals, repeat mode) before a
 *   block of the job has set it is refused, here and by libzstd.
 * - Offsets: a sequence with a value above 3 sets one; one of 1 to 3 uses
 *   one.  All sequences are read from the job's first on, and one that uses
 *   an offset which no sequence of the job has set is refused.  libzstd
 *   would take 1, 4 or 8 for it, so this is the only check there is.  Once
 *   all three are set and all tables too, nothing older can come back.
 * - Bytes: the job is decoded to the beginning of a buffer, without a
 *   dictionary.  A match that begins before it is beyond the buffer, which
 *   libzstd refuses, as it must for the sake of memory.
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
	ZSTD_JOB_HEAD = 6,	/* magic, flags of 0, window */
	ZSTD_JOB_LEAD = 2,	/* marks before a job */
};

/* Marks behind a job of len bytes, those before the next not counted. */
unsigned zstd_job_marks(uint64_t len);

/* What so many of them say: bytes, or 0 if nothing. */
uint64_t zstd_job_len(unsigned marks);

/* A header for blocks of such a window (the header's byte for it). */
void zstd_job_head(uint8_t head[ZSTD_JOB_HEAD], uint8_t window);

/* Whether the blocks in the len bytes at p refer to nothing before them. */
bool zstd_job_alone(const uint8_t *p, size_t len);

/* The header of the last block; NULL if there is none at the end. */
uint8_t *zstd_last_block(uint8_t *p, size_t len);

/*
 * Makes the blocks that libzstd made, from byte `from` of b on, stand alone:
 * where a sequence repeats one of the offsets 1, 4, 8 that every frame begins
 * with, it is written out.  b->cap should be some 256 KiB more than b->len; a
 * block is smaller than most bytes.  0; -ENOMEM; -ENOBUFS or -EBADMSG: it
 * cannot be done, and b holds nothing of use.
 */
int zstd_job_settle(struct buf *b, size_t from, size_t most);

#endif
