/*
 * convert.h - one stream through one coder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_CONVERT_H
#define COLDPRESS_CONVERT_H

#include "format/codec.h"

#include <stdbool.h>
#include <stdint.h>

struct convert {
	const struct codec *codec;	/* NULL, decompressing: copy */
	const struct coder *coder;	/* in place of the codec's, or NULL */
	bool decompress;
	struct codec_options options;
	uint64_t memory;		/* the most bytes to use; 0: any */
	struct pipeline_window window;	/* of the output */
	struct progress *progress;	/* of the input; NULL: none */
};

struct convert_result {
	struct pipeline_stats stats;
	struct codec_notes notes;
	unsigned threads;		/* that worked */
	uint64_t memory;		/* planned, in bytes */
	const char *why;		/* a sentence, for -ENOTSUP, -EFBIG; it
					   may be in text */
	char text[128];
};

/*
 * What the coder needs with c->options.threads, in bytes.  0, or as
 * coder.plan().
 */
int convert_plan(const struct convert *c, struct plan *p, uint64_t *bytes,
    const char **why);

/*
 * Reads in to its end and writes out_fd (-1: nothing is written).  Under a
 * memory limit there are as many threads, and then as many slots, as fit in
 * it; where one of each does not, -EFBIG and a sentence that names the need.
 * 0 or -errno; r is always filled in.  Thread-safe.
 */
int convert_run(const struct convert *c, struct input *in, int out_fd,
    struct convert_result *r);

/*
 * What a -errno of the above means to whoever gave the input: the end of a
 * sentence, which is static or strerror's.  -EFBIG is the caller's to explain.
 */
const char *convert_reason(int rc);

#endif
