/*
 * xz_coder.h - declarations shared by the coders of xz and lzma
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
	const uint8_t *piece;	/* the piece that contains next_in */
	uint64_t beside;	/* memory used outside liblzma, when decoding */
	bool ended;
};

/* Creates a job without a coder.  Returns 0 or -ENOMEM. */
int xz_job_new(struct xz_job **j, struct codec_notes *notes);

/* Frees a job created by xz_job_new(), or does nothing if it is NULL. */
void xz_job_close(void *job);

/*
 * Handles liblzma's result from opening j's coder.  Sets *job and returns 0, or
 * closes j and returns -errno.
 */
int xz_job_started(void **job, struct xz_job *j, lzma_ret r);

/* Implements pipeline_ops.join for all four coders. */
int xz_join(void *job, struct slot *s, struct sink *out);
#define XZ_OPS { .fill = serial_fill, .join = xz_join }

/*
 * Returns the memory needed for decoding, including our own, after liblzma has
 * reached its limit; 0 if unknown.
 */
uint64_t xz_refused_need(const struct xz_job *j);

extern const struct coder xz_encoder, xz_decoder, lzma_encoder, lzma_decoder;

#endif
