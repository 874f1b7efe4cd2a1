/*
 * fuzz_deflate_blocks.c - any sequences become valid deflate data
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../deflate_made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct deflate_blocks b;
	static struct made m;
	struct made_source s = { data, size, 0 };
	unsigned shape = made_random(&s) & 0xff, how = made_random(&s) & 0xff;
	size_t len = (made_random(&s) & 0xff) << 10 | (made_random(&s) & 0xff);
	size_t room;
	uint8_t *out;
	ssize_t n;

	made_make(&m, &s, shape, len);
	room = deflate_blocks_bound(m.len);
	if (how & 2)
		room = room * (how >> 2) / 64;
	out = malloc(room + 1);
	if (out == NULL)
		abort();
	b.search = how & 1 ? DEFLATE_FASTEST : how & 4 ? DEFLATE_QUICK :
	    DEFLATE_THOROUGH;
	deflate_blocks_begin(&b, out, room);
	n = deflate_blocks_add(&b, m.data, m.seqs, m.nseqs);
	if (n == 0)
		n = deflate_blocks_end(&b, true);
	if (n < 0 ? !(how & 2) : !made_inflates(&m, out, (size_t)n))
		abort();
	free(out);
	return 0;
}
