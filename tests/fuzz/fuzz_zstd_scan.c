/*
 * fuzz_zstd_scan.c - frames have the same length as in libzstd
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the pieces.  The scan checks less than libzstd does,
 * but a frame that libzstd can also measure must have the same length here.
 *
 * Blocks reported as independent must be independent: after other blocks, which
 * leave their tables and offsets, they must produce the same output as without
 * them.  Settled blocks must be independent, and produce the same output as
 * before.
 */
#include "../../src/format/zstd/zstd_block.h"
#include "../../src/format/zstd/zstd_job.h"
#include "../../src/format/zstd/zstd_scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Returns the length of the first frame, 0 if it is incomplete, or -1 if there
 * is none.
 */
static int64_t
scan(const uint8_t *data, size_t size, size_t piece)
{
	struct zstd_scan z;
	size_t at = 0;
	bool ended = false;

	memset(&z, 0, sizeof(z));
	while (!ended && at < size) {
		size_t n = piece < size - at ? piece : size - at;
		uint8_t *copy = malloc(n);
		int64_t used;

		if (copy == NULL)
			abort();
		memcpy(copy, data + at, n);
		used = zstd_scan(&z, copy, n, &ended);
		free(copy);
		if (used < 0)
			return -1;
		if (used > (int64_t)n || (!ended && used < (int64_t)n))
			abort();
		at += (size_t)used;
	}
	return ended ? (int64_t)at : 0;
}

enum { WINDOW = 8 << 3, ROOM = 256 << 10, OUT = 4 << 20 };

/*
 * Decodes blocks as a frame, after `before` if it is not NULL.  Returns a size
 * or an error.
 */
static size_t
unpack(const struct buf *before, const uint8_t *p, size_t len, uint8_t *out)
{
	size_t n = before == NULL ? 0 : before->len, got;
	uint8_t *frame = malloc(ZSTD_JOB_HEAD + n + len);

	if (frame == NULL)
		abort();
	zstd_job_head(frame, WINDOW);
	if (n > 0)
		memcpy(frame + ZSTD_JOB_HEAD, before->data, n);
	memcpy(frame + ZSTD_JOB_HEAD + n, p, len);
	got = ZSTD_decompress(out, OUT, frame, ZSTD_JOB_HEAD + n + len);
	free(frame);
	return got;
}

/* Makes blocks that leave different states; none of them ends the frame. */
static struct buf
others(size_t *made)
{
	struct buf b = { .cap = 1 << 16 };
	char text[20000];
	uint8_t *last;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = "some words, and others of them"[(i * i >> 5) % 30];
	b.data = malloc(b.cap);
	if (b.data == NULL)
		abort();
	b.len = ZSTD_compress(b.data, b.cap, text, sizeof(text), 19);
	if (ZSTD_isError(b.len))
		abort();
	*made = sizeof(text);
	/* a header with a two-byte size and no window */
	b.len -= 7;
	memmove(b.data, b.data + 7, b.len);
	last = zstd_last_block(b.data, b.len);
	if (last == NULL)
		abort();
	*last &= 0xfe;
	return b;
}

static void
check_alone(const uint8_t *p, size_t len)
{
	uint8_t *a = malloc(OUT), *b = malloc(OUT);
	size_t made, n, m;
	struct buf o;

	if (a == NULL || b == NULL)
		abort();
	if (zstd_job_alone(p, len) &&
	    !ZSTD_isError(n = unpack(NULL, p, len, a)) && n < OUT / 2) {
		o = others(&made);
		m = unpack(&o, p, len, b);
		if (ZSTD_isError(m) || m != made + n ||
		    memcmp(b + made, a, n) != 0)
			abort();
		free(o.data);
	}
	free(a);
	free(b);
}

static void
check_settled(const uint8_t *p, size_t len)
{
	struct buf b = { .len = len, .cap = len + ROOM };
	uint8_t *was = malloc(OUT), *is = malloc(OUT);
	size_t n, m;

	b.data = malloc(b.cap);
	if (b.data == NULL || was == NULL || is == NULL)
		abort();
	memcpy(b.data, p, len);
	n = unpack(NULL, p, len, was);
	if (zstd_job_settle(&b, 0, ZSTD_BLOCK_MAX) == 0 && !ZSTD_isError(n)) {
		m = unpack(NULL, b.data, b.len, is);
		if (m != n || memcmp(was, is, n) != 0 ||
		    !zstd_job_alone(b.data, b.len))
			abort();
	}
	free(b.data);
	free(was);
	free(is);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t whole;
	size_t n;

	if (size < 2)
		return 0;
	whole = scan(data + 1, size - 1, size);
	if (scan(data + 1, size - 1, 1 + data[0]) != whole)
		abort();
	n = ZSTD_findFrameCompressedSize(data + 1, size - 1);
	/* libzstd may also read frames from older versions */
	if (!ZSTD_isError(n) && whole != -1 && whole != (int64_t)n)
		abort();
	check_alone(data + 1, size - 1);
	check_settled(data + 1, size - 1);
	/* the data that follows a frame's header */
	if (size > 1 + ZSTD_JOB_HEAD) {
		check_alone(data + 1 + ZSTD_JOB_HEAD, size - 1 -
		    ZSTD_JOB_HEAD);
		check_settled(data + 1 + ZSTD_JOB_HEAD, size - 1 -
		    ZSTD_JOB_HEAD);
	}
	return 0;
}
