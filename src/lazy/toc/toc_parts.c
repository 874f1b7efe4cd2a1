/*
 * toc_parts.c - decoding a frame stored in parts that decompressors skip
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "toc_parts.h"

#include "base/sys.h"
#include "lazy/toc/toc_wrapping.h"

#include <errno.h>
#include <string.h>

int
toc_parts_open(struct toc_parts *p, int window_log)
{
	int rc = digest_algo_open(&p->sha256, "sha256");

	if (rc == 0)
		rc = digest_new(&p->digest, p->sha256);
	if (rc == 0)
		rc = digest_start(p->digest);
	p->decoder = ZSTD_createDCtx();
	if (p->decoder == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
	    p->decoder, ZSTD_d_windowLogMax, window_log)))
		return -ENOMEM;
	return rc;
}

void
toc_parts_close(struct toc_parts *p)
{
	ZSTD_freeDCtx(p->decoder);
	digest_free(p->digest);
	digest_algo_close(p->sha256);
	sys_free(p->bytes);
}

/*
 * Reads some bytes, and points *data at them.  Returns the number read, or
 * -errno.
 */
static ssize_t
read_some(struct toc_parts *p, const uint8_t **data)
{
	ssize_t n = p->left == 0 ? 0 : p->next(p->arg, data);
	int rc = 0;

	if (n <= 0 || (uint64_t)n > p->left)
		return n < 0 ? n : -EBADMSG;
	p->left -= (uint64_t)n;
	rc = digest_add(p->digest, *data, (size_t)n);
	return rc == 0 ? n : rc;
}

/* Unwraps the next part and passes it to the decoder. */
static int
unwrap(struct toc_parts *p)
{
	for (;;) {
		size_t rest = p->end - p->at, used, n;
		const uint8_t *data;
		ssize_t more;

		used = rest == 0 ? 0 : toc_wrapping_unwrap(p->wrapping,
		    p->bytes + p->at, rest, &data, &n);
		if (used > 0) {
			p->at += used;
			p->in = (ZSTD_inBuffer){ data, n, 0 };
			return 0;
		}
		if (rest > p->wrapping->max + 2 * TOC_WRAPPING_AROUND)
			return -EBADMSG;
		more = read_some(p, &data);
		if (more < 0)
			return (int)more;
		if (rest > 0)
			memmove(p->bytes, p->bytes + p->at, rest);
		if (p->cap < rest + (size_t)more) {
			uint8_t *bytes = sys_realloc(p->bytes, rest +
			    (size_t)more);

			if (bytes == NULL)
				return -ENOMEM;
			p->bytes = bytes;
			p->cap = rest + (size_t)more;
		}
		memcpy(p->bytes + rest, data, (size_t)more);
		p->at = 0;
		p->end = rest + (size_t)more;
	}
}

int
toc_parts_read(struct toc_parts *p, void *buf, size_t len)
{
	ZSTD_outBuffer out = { buf, len, 0 };
	int rc = 0;

	while (rc == 0 && out.pos < len) {
		size_t before = out.pos;

		if (ZSTD_isError(ZSTD_decompressStream(p->decoder, &out,
		    &p->in)))
			return -EBADMSG;
		if (out.pos == before && p->in.pos == p->in.size)
			rc = unwrap(p);
	}
	return rc;
}

int
toc_parts_end(struct toc_parts *p, const uint8_t digest[LAYER_DIGEST])
{
	uint8_t sum[DIGEST_MAX];
	const uint8_t *data;
	ssize_t n = 0;
	int rc;

	while (p->left > 0 && n >= 0)
		n = read_some(p, &data);
	if (n < 0)
		return (int)n;
	rc = digest_end(p->digest, sum);
	return rc == 0 && memcmp(sum, digest, LAYER_DIGEST) != 0 ? -EBADMSG :
	    rc;
}
