/*
 * fuzz_compact.c - any bytes as a compact index: the result is consistent
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The bytes are the decompressed content.  If they are accepted, every unit is
 * verified once, with digests that cannot match.
 */
#include "lazy/toc/toc_compact.h"
#include "index_check.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { END = 1 << 20, UNITS = 32, CONTENT_MAX = 1 << 20 };

struct input_bytes {
	const uint8_t *data;
	size_t left;
	char *why;
};

static int
read_bytes(void *arg, void *buf, size_t len)
{
	struct input_bytes *in = arg;

	if (len > in->left)
		return layer_refuse(in->why, -EBADMSG, "it ends too early");
	if (len > 0)
		memcpy(buf, in->data, len);
	in->data += len;
	in->left -= len;
	return 0;
}

/* Verifies a unit of zeros. */
static void
verify(const struct layer *l, uint32_t unit, struct digest *d)
{
	struct layer_range r[LAYER_RANGES_MAX];
	size_t count = toc_ranges(l, unit, r);
	uint64_t content = l->index.units[unit].content;
	uint8_t *zeros;
	const char *why = NULL;

	if (content > CONTENT_MAX)
		return;
	zeros = calloc(1, content + 1);
	r[1].buf = calloc(1, r[1].length + 1);
	if (count != 2 || zeros == NULL || r[1].buf == NULL)
		abort();
	if (toc_verify(l, unit, d, r, zeros, &why) == 0 || why == NULL)
		abort();
	free(r[1].buf);
	free(zeros);
}

static void
verify_units(const struct layer *l)
{
	struct digest_algo *sha256;
	struct digest *d;

	if (digest_algo_open(&sha256, "sha256") != 0 ||
	    digest_new(&d, sha256) != 0)
		abort();
	for (uint32_t i = 0; i < l->index.unit_count && i < UNITS; i++)
		verify(l, i, d);
	digest_free(d);
	digest_algo_close(sha256);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[LAYER_WHY] = "";
	struct layer l = { .size = END, .format = &format_zstd_chunked };
	struct input_bytes in = { data, size, why };
	const struct toc_compact_source source = { read_bytes, &in };
	int rc = toc_compact_read(&l, &source, why);

	if (rc != 0 && *why == '\0')
		abort();
	if (rc == 0) {
		index_finish(&l.index);
		index_check(&l);
		verify_units(&l);
	}
	toc_close(&l);
	index_free(&l.index);
	return 0;
}
