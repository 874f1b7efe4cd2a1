/*
 * zstd_decode.h - decompressing a Zstandard stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * zstd_cut.c is the reader, zstd_decode.c the workers, zstd_join.c the joiner.
 */
#ifndef COLDPRESS_ZSTD_DECODE_H
#define COLDPRESS_ZSTD_DECODE_H

#include "format/codec.h"
#include "format/cutter.h"
#include "format/serial.h"
#include "zstd_scan.h"

#include <stdatomic.h>
#include <xxhash.h>

/* The type of a piece: unzstd_notes.kind. */
enum { PIECE_PLAIN, PIECE_FRAMES, PIECE_JOB };

/* Decompressing Zstandard. */
struct unzstd_notes {
	int kind;		/* fill: PIECE_* */
	size_t skip;		/* fill, a frame's first job: size of the
				 * header */
	size_t used;		/* fill: bytes of `in` that the frames or the
				 * job occupy, including skip */
	uint64_t most;		/* fill: size of `out`; for a job, the
				 * maximum */
	bool final;		/* fill, a job: the last job of its frame */
	bool checksum;		/* fill, a job: its frame has a checksum */
	uint8_t window;		/* fill, a job: the window descriptor in its
				   frame's header */
	bool ok;		/* work: `out` contains the content */
};
SLOT_NOTES(unzstd_notes)

/* Used only by the reader. */
struct zstd_cutter {
	struct zstd_scan scan;
	struct carry carry;
	size_t unit_max;		/* maximum input or output of a unit */
	uint64_t window_max;
	uint64_t beyond;		/* memory needed in addition to a
					 * window */
	struct codec_notes *notes;
	bool serial;			/* cut all frames anywhere */
	bool plain;			/* inside a frame that may be cut
					 * anywhere */
	bool jobs;			/* inside a frame of jobs */
	bool hopeless;			/* no valid frame follows */
	/*
	 * The joiner could not use a job, and decodes the rest of its frame
	 * itself.
	 */
	atomic_bool distrust;
};

/* Accepted input bytes, and the size of their output. */
struct zstd_kept {
	struct buf in;
	size_t skip;			/* header before the first block */
	uint64_t made;
};

struct unzstd_job {
	struct zstd_cutter cutter;

	/* Used only by the joiner. */
	struct serial serial;
	/* In a frame of jobs: */
	bool open;			/* begun but not ended */
	bool resumed;			/* decoded serially from now on */
	bool body_ended;		/* only its checksum is missing */
	struct zstd_header header;
	XXH64_state_t *hash;
	uint64_t made;
	uint64_t drop;			/* output that has already been
					 * written */
	struct zstd_kept kept[2];	/* the older and the newer job */
	uint8_t check[ZSTD_CHECKSUM];
	size_t check_len;
};

/* Implements pipeline_ops.fill; job is a struct unzstd_job. */
int zstd_cut(void *job, struct input *in, struct slot *s);

/*
 * Implements pipeline_ops.join.  A job has note.ok set if s->out is known to be
 * correct.
 */
int zstd_join(void *job, struct slot *s, struct sink *out);

#endif
