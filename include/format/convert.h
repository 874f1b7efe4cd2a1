/*
 * convert.h - running one stream through one coder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_CONVERT_H
#define COLDPRESS_CONVERT_H

#include "format/codec.h"

#include <stdbool.h>
#include <stdint.h>

struct convert {
	const struct codec *codec;	/* NULL when decompressing: copy */
	const struct coder *coder;	/* overrides the codec's coder; may be
					 * NULL */
	bool decompress;
	struct codec_options options;
	uint64_t memory;		/* maximum bytes to use; 0: unlimited */
	struct pipeline_window window;	/* part of the output to write */
	/* takes the output, in place of out_fd: see pipeline.h; or NULL */
	int (*write)(void *arg, const uint8_t *data, size_t len);
	void *write_arg;
	bool sparse;			/* zeros in the output become holes; see
					 * pipeline.h */
	struct progress *progress;	/* shows progress through the input; may
					 * be NULL */
};

struct convert_result {
	struct pipeline_stats stats;
	struct codec_notes notes;
	unsigned threads;		/* number of worker threads */
	uint64_t memory;		/* planned, in bytes */
	const char *why;		/* reason for -ENOTSUP or -EFBIG; may
					 * point to text */
	char text[128];
};

/*
 * Computes how many bytes of memory the coder needs with c->options.threads.
 * Returns 0, or an error of coder.plan().
 */
int convert_plan(const struct convert *c, struct memory_plan *p,
    uint64_t *bytes, const char **why);

/*
 * Reads `in` to its end and writes to out_fd (-1: discards the output).  Under
 * a memory limit, uses as many threads, and then as many slots, as fit.  If not
 * even one of each fits, returns -EFBIG, and r->why states the amount needed.
 * Returns 0 or -errno; r is always filled in.  Thread-safe.
 */
int convert_run(const struct convert *c, struct input *in, int out_fd,
    struct convert_result *r);

/*
 * Returns a phrase that tells the user why convert_run() returned -errno; for
 * -EFBIG, use r->why instead.  The string is static or from strerror().
 */
const char *convert_reason(int rc);

#endif
