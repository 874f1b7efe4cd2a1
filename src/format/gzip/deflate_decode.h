/*
 * deflate_decode.h - a gzip, zlib or zip stream being decompressed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * deflate_scan.c is what the reader does, inflate_work.c
 * the workers, inflate_join.c the joiner; deflate_decode.c puts them together.
 */
#ifndef COLDPRESS_DEFLATE_DECODE_H
#define COLDPRESS_DEFLATE_DECODE_H

#include "deflate_unwrap.h"
#include "engine/deflate/inflater.h"
#include "format/carry.h"
#include "format/codec.h"
#include "pipeline/pipeline.h"

#include <stdatomic.h>

/* What a piece is thought to be: inflate_notes.kind. */
enum { PIECE_PLAIN, PIECE_SYNC, PIECE_MEMBERS };

enum {
	PLAIN_LEN = 512 << 10,	/* bytes of input in a plain piece */
	READ_LEN = 64 << 10,	/* read at a time while looking for an end */
	UNMARKED_OUT = 1 << 20,	/* most output of a piece of unknown size */
	MEMBERS_OUT = 2 << 20,	/* most output of a piece of members */
	MEMBER_MAX = 4 << 20,
	MEMBER_LEAST = 1 << 20	/* MEMBER_MAX under a memory limit */
};

/*
 * Wrong guesses are paid from what was decoded: a worker's failed try adds
 * the most it can have cost to the debt, what is decoded takes it away.
 * Beyond the limit nothing is tried, so all tries together cost at most the
 * limit more than decoding itself, whatever the input.
 */
enum { DEBT_MOST = 8 << 20 };

struct deflate_reader {
	int mode;		/* PIECE_* */
	bool begun;
	size_t block;		/* output of a unit as marked, or 0 */
	size_t block_max;	/* units that are marked as larger, and */
	size_t member_max;	/* members that are longer, go serially */
	size_t since_sync;	/* input without a sync point */
	struct carry carry;
	atomic_llong *debt;	/* of wrong guesses, in bytes */
};

struct inflate_job {
	struct deflate_reader reader;
	const struct deflate_unwrap *wrap;
	struct codec_notes *notes;
	atomic_llong debt;		/* of wrong guesses, in bytes */

	/* the joiner's */
	int state;
	struct buf held;		/* a header or trailer so far */
	uint32_t check;
	uint64_t total;			/* output of this member */
	struct inflater *inflater;
	bool inflating;			/* within a block, by inflater */
	bool checking;			/* the sink has the check */
	bool any;			/* a member has ended */
	bool copy_rest;
	struct deflate_head head;	/* of this member */
};

extern const struct coder gzip_decoder, gzip_part_decoder, zlib_decoder,
    zip_decoder;

/* The next piece into s, and what it is thought to be.  0 or -errno. */
int deflate_scan(struct deflate_reader *r, struct input *in, struct slot *s);

/*
 * The bytes that a slot takes for units as a stream's header h has them, under
 * a memory limit.
 */
struct gzip_header;
size_t deflate_slot_bytes(const struct gzip_header *h);

/* What a worker makes of a piece of this kind at most, in bytes. */
size_t inflate_most(const struct inflate_job *j, int kind);

/* Of pipeline_ops; job is a struct inflate_job. */
int inflate_worker_open(void *job, void **ctx);
void inflate_worker_close(void *ctx);
int inflate_work(void *job, void *ctx, struct slot *s);
int inflate_join(void *job, struct slot *s, struct sink *out);

#endif
