/*
 * zstd_decode.h - a Zstandard stream being decompressed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * zstd_cut.c is what the reader does, zstd_decode.c the workers,
 * zstd_join.c the joiner.
 */
#ifndef COLDPRESS_ZSTD_DECODE_H
#define COLDPRESS_ZSTD_DECODE_H

#include "format/carry.h"
#include "format/codec.h"
#include "format/serial.h"
#include "zstd_scan.h"

#include <stdatomic.h>
#include <xxhash.h>

/* What a piece is: unzstd_notes.kind. */
enum { PIECE_PLAIN, PIECE_FRAMES, PIECE_JOB };

enum { CHECKSUM_LEN = 4 };	/* behind the last job of a frame */

/* The reader's. */
struct zstd_cutter {
	struct zstd_scan scan;
	struct carry carry;
	size_t unit_max;		/* most input or output of a unit */
	uint64_t window_max;
	uint64_t beyond;		/* memory needed besides a window */
	struct codec_notes *notes;
	bool serial;			/* cut everything anywhere */
	bool plain;			/* within a frame that is cut anywhere */
	bool jobs;			/* within a frame of jobs */
	bool hopeless;			/* no frame where one should be */
	/* The joiner could not use a job: the rest of its frame is its own. */
	atomic_bool distrust;
};

/* The next piece into s.  0 or -errno. */
int zstd_cut(struct zstd_cutter *c, struct input *in, struct slot *s);

/* Bytes of input that were accepted, and how much came of them. */
struct zstd_kept {
	struct buf in;
	size_t skip;			/* header before the first block */
	uint64_t made;
};

/* The joiner's. */
struct zstd_joiner {
	struct serial serial;
	struct zstd_cutter *cutter;
	/* Of a frame of jobs: */
	bool open;			/* it has begun and not ended */
	bool resumed;			/* it is decoded here from now on */
	bool body_ended;		/* by now only its checksum is missing */
	struct zstd_header header;
	XXH64_state_t *hash;
	uint64_t made;
	uint64_t drop;			/* output that has been written before */
	struct zstd_kept kept[2];	/* the older one, the newer one */
	uint8_t check[CHECKSUM_LEN];
	size_t check_len;
};

extern const struct stream_ops zstd_stream;

/* Job pieces have their ok if s->out is known to be right.  0 or -errno. */
int zstd_join(struct zstd_joiner *j, struct slot *s, struct sink *out);

#endif
