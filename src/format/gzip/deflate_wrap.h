/*
 * deflate_wrap.h - writing the header and trailer around a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_WRAP_H
#define COLDPRESS_DEFLATE_WRAP_H

#include "deflate_check.h"
#include "format/gzip/deflate_engine.h"
#include "format/codec.h"
#include "format/cutter.h"
#include "format/gzip/gzip.h"

struct deflate_job;

struct deflate_wrap {
	const struct deflate_check *check;
	/* only_block: nothing follows the first block */
	int (*head)(struct deflate_job *j, bool only_block, struct sink *out);
	int (*tail)(struct deflate_job *j, struct sink *out);
};

struct deflate_job {
	struct cutter cut;
	const struct codec_options *options;
	const struct deflate_wrap *wrap;
	bool begun;
	uint32_t check;
	uint64_t total;		/* uncompressed bytes so far */
	uint64_t body_at;	/* offset of the deflate stream */
};

int deflate_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why);
int deflate_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, const struct deflate_wrap *wrap);
void deflate_close(void *job);
int deflate_fill(void *job, struct input *in, struct slot *s);
int deflate_worker_open(void *job, void **ctx);
void deflate_worker_close(void *ctx);
int deflate_work(void *job, void *ctx, struct slot *s);
int deflate_join(void *job, struct slot *s, struct sink *out);

/*
 * Initializes one of the encoders below with its open, work and join functions.
 */
#define DEFLATE_ENCODER(open_it, work_it, join_it) {			\
	.plan = deflate_plan, .open = open_it, .close = deflate_close,	\
	.ops = { .fill = deflate_fill, .work = work_it, .join = join_it, \
	    .worker_open = deflate_worker_open,				\
	    .worker_close = deflate_worker_close } }

extern const struct coder gzip_encoder, zlib_encoder, zip_encoder;

#endif
