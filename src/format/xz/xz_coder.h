/*
 * xz_coder.h - what the coders of xz and lzma share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_CODER_H
#define COLDPRESS_XZ_CODER_H

#include "format/codec.h"
#include "format/serial.h"

#include <lzma.h>

struct xz_job {
	lzma_stream strm;
	struct codec_notes *notes;
	const uint8_t *piece;	/* that next_in is in */
	uint64_t beside;	/* memory that is not liblzma's, decoding */
	bool ended;
};

/* A job without a coder yet.  0 or -ENOMEM. */
int xz_job_new(struct xz_job **j, struct codec_notes *notes);

/* Frees what xz_job_new() made, which may be NULL. */
void xz_job_close(void *job);

/*
 * What liblzma said when it was to open j's coder: 0 and *job, or j is closed
 * and the call returns -errno.
 */
int xz_job_started(void **job, struct xz_job *j, lzma_ret r);

/* pipeline_ops.join of all four coders. */
int xz_join(void *job, struct slot *s, struct sink *out);
#define XZ_OPS { .fill = serial_fill, .join = xz_join }

/*
 * How much memory decoding takes, our own included, that liblzma has refused
 * for its limit; 0: it is not known.
 */
uint64_t xz_refused_need(const struct xz_job *j);

extern const struct coder xz_encoder, xz_decoder, lzma_encoder, lzma_decoder;

#endif
