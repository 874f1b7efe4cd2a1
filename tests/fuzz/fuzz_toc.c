/*
 * fuzz_toc.c - arbitrary bytes as a table of contents: the result is consistent
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte is the length of the pieces in which the rest is read.
 */
#include "index_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { END = 1 << 20 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct layer l = { .size = END };
	struct toc *t = l.state = calloc(1, sizeof(*t));
	struct toc_reader *r;
	char why[LAYER_WHY] = "";
	size_t step;
	int rc = 0;

	if (t == NULL || toc_reader_open(&r, t, &l.index, true) != 0)
		abort();
	step = size == 0 ? 1 : 1 + data[0];
	for (size_t at = 1; rc == 0 && at < size; at += step)
		rc = toc_reader_add(r, data + at, size - at < step ?
		    size - at : step, why);
	if (rc == 0)
		rc = toc_reader_end(r, END, why);
	if (rc != 0 && *why == '\0')
		abort();
	if (rc == 0) {
		index_finish(&l.index);
		index_check(&l);
	}
	toc_reader_close(r);
	toc_close(&l);
	index_free(&l.index);
	return 0;
}
