/*
 * fuzz_lzma_encode.c - liblzma reads our LZMA2, which is within its bound
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte chooses the dictionary, the largest of which is searched in
 * another way than the others, and the parse; the second how the search ends; the
 * third the properties and how much of the rest, unfolded, is the history of the
 * block.
 */
#include "engine/lzma/lzma_encode.h"

#include "unfold.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROOM = 128 << 10, HEAD = 3 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct lzma2_params p;
	lzma_options_lzma lzma = { .dict_size = 0 };
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &lzma },
	    { LZMA_VLI_UNKNOWN, NULL } };
	struct lzma2_encoder *e;
	uint8_t *in = malloc(ROOM), *copy, *out, *back;
	size_t n, at = 0, got = 0, before;
	ssize_t made = -1;

	if (in == NULL)
		abort();
	if (len < HEAD) {
		free(in);
		return 0;
	}
	n = unfold(data + HEAD, len - HEAD, in, ROOM);
	p = (struct lzma2_params){
		.dict_B = 4096U << data[0] % 8, .nice = 8 + data[1] % 128 * 2,
		.depth = 1 + data[1] / 16, .lc = data[2] % 5,
		.lp = data[2] / 5 % 5, .pb = data[2] / 25 % 5,
		.fast = data[0] / 8 % 2 != 0 };
	if (p.lc + p.lp > 4)
		p.lp = 4 - p.lc;
	/* exactly as long as they should be */
	copy = malloc(n + 1);
	out = malloc(lzma2_bound(n));
	back = malloc(n + 1);
	e = lzma2_encoder_new(&p);
	if (copy == NULL || out == NULL || back == NULL || e == NULL)
		abort();
	memcpy(copy + 1, in, n);
	before = n * (data[2] / 125) / 3;
	if (before > p.dict_B)
		before = p.dict_B;
	if (before == 0)
		made = lzma2_encode(e, copy + 1, n, out, lzma2_bound(n));
	else if (lzma2_begin(e, copy + 1, before, n) == 0)
		made = lzma2_finish(e, out, lzma2_bound(n - before));
	if (made <= 0)
		abort();
	lzma.dict_size = p.dict_B;
	lzma.preset_dict = copy + 1;
	lzma.preset_dict_size = (uint32_t)before;
	if (lzma_raw_buffer_decode(filters, NULL, out, &at, (size_t)made, back,
	    &got, n + 1) != LZMA_OK || at != (size_t)made ||
	    got != n - before || memcmp(back, in + before, got) != 0)
		abort();
	lzma2_encoder_free(e);
	free(copy);
	free(out);
	free(back);
	free(in);
	return 0;
}
