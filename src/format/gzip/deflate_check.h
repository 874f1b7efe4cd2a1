/*
 * deflate_check.h - the check values of what is in a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_CHECK_H
#define COLDPRESS_DEFLATE_CHECK_H

#include "pipeline/pipeline.h"

#include <sys/types.h>

struct deflate_check {
	uint32_t start;			/* of no bytes */
	sink_check_fn *add;
	/* of two runs of bytes, the second of len */
	uint32_t (*combine)(uint32_t a, uint32_t b, off_t len);
};

/* gzip's and zip's; zlib's. */
extern const struct deflate_check check_crc32, check_adler32;

#endif
