/*
 * deflate_check.h - the checksums of gzip and zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_CHECK_H
#define COLDPRESS_DEFLATE_CHECK_H

#include "pipeline/pipeline.h"

#include <sys/types.h>

struct deflate_check {
	uint32_t start;			/* check of empty data */
	sink_check_fn *add;
	/*
	 * returns the combined check of two runs of bytes, the second len bytes
	 * long
	 */
	uint32_t (*combine)(uint32_t a, uint32_t b, off_t len);
};

/* The checks used by gzip and zip, and by zlib. */
extern const struct deflate_check check_crc32, check_adler32;

#endif
