/*
 * deflate_wrap.h - what stands around a deflate stream, when compressing
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to src/codec.
 */
#ifndef COLDPRESS_DEFLATE_WRAP_H
#define COLDPRESS_DEFLATE_WRAP_H

#include "codec.h"
#include "cutter.h"
#include "deflate_engine.h"
#include "gzip.h"

struct deflate_job;

struct deflate_wrap {
	/* of a block; of two runs of bytes, the second of len */
	uint32_t check_start;
	uint32_t (*check)(const uint8_t *p, size_t len);
	uint32_t (*combine)(uint32_t a, uint32_t b, off_t len);
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
	uint64_t body_at;	/* where the deflate stream begins */
};

uint32_t deflate_crc32(const uint8_t *p, size_t len);
uint32_t deflate_combine_crc32(uint32_t a, uint32_t b, off_t len);

int deflate_plan(const struct codec_options *o, struct plan *p,
    const char **why);
int deflate_open(void **job, const struct codec_options *o,
    const struct plan *p, const struct deflate_wrap *wrap);
void deflate_close(void *job);
int deflate_fill(void *job, struct input *in, struct slot *s);
int deflate_worker_open(void *job, void **ctx);
void deflate_worker_close(void *ctx);
int deflate_work(void *job, void *ctx, struct slot *s);
int deflate_join(void *job, struct slot *s, struct sink *out);

extern const struct coder gzip_encoder, gzip_member_encoder, zlib_encoder,
    zip_encoder;

#endif
