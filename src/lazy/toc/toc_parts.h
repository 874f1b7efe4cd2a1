/*
 * toc_parts.h - decoding a frame stored in parts that decompressors skip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The trace and the compact index are zstd frames, cut into parts that the
 * format's wrapping (toc_wrapping.h) holds.  Bytes are decoded as they arrive; the
 * digest of the stored bytes is verified at the end.
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_PARTS_H
#define COLDPRESS_LAZY_TOC_TOC_PARTS_H

#include "engine/digest/digest.h"
#include "lazy/layer.h"

#include <sys/types.h>
#include <zstd.h>

struct toc_wrapping;

/* The caller sets the first four members, and zeroes the others. */
struct toc_parts {
	const struct toc_wrapping *wrapping;
	/*
	 * Points *data at the next stored bytes, which are valid until the next
	 * call.  Returns their number, 0 at the end, or -errno.
	 */
	ssize_t (*next)(void *arg, const uint8_t **data);
	void *arg;
	uint64_t left;			/* stored bytes not yet read */
	/* private */
	struct digest *digest;		/* digest of the bytes read */
	uint8_t *bytes;			/* bytes read but not unwrapped */
	size_t at, end, cap;
	ZSTD_DCtx *decoder;
	ZSTD_inBuffer in;
};

/* Returns 0 or -errno; toc_parts_close() must be called in any case. */
int toc_parts_open(struct toc_parts *p, int window_log);
void toc_parts_close(struct toc_parts *p);

/*
 * Decodes exactly len bytes.  Returns 0, -EBADMSG, -ENOMEM, or next's -errno.
 */
int toc_parts_read(struct toc_parts *p, void *buf, size_t len);

/*
 * Reads the remaining stored bytes, and verifies the digest of all of them.
 * Returns 0 or -errno as above.
 */
int toc_parts_end(struct toc_parts *p, const uint8_t digest[LAYER_DIGEST]);

#endif
