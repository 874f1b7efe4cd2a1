/*
 * gzip_mark.c - the empty deflate blocks that mark pzc's gzip files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1951, 3.2.3 to 3.2.6; the layout is in gzip.h.
 */
#include "format/gzip/gzip.h"

#include <string.h>

enum {
	LEAST_LOG = 16,		/* log2 of the smallest size in a mark, 64
				 * KiB */
	MOST = 30 - LEAST_LOG,
	STORED_LEN = 5,
	FIXED = 2, FIXED_BITS = 10,
	SYNC_LEN = 4,
};

/* A deflate stream being written: the bits of an incomplete byte. */
struct writer {
	uint8_t *p;
	unsigned bits, count;
};

static void
put_stored(struct writer *w)
{
	/* three zero bits may require another byte */
	for (unsigned end = w->count + 3; end > 0; end -= end < 8 ? end : 8) {
		*w->p++ = (uint8_t)w->bits;
		w->bits >>= 8;
	}
	w->count = 0;
	memcpy(w->p, "\0\0\xff\xff", SYNC_LEN);
	w->p += SYNC_LEN;
}

static void
put_fixed(struct writer *w)
{
	w->bits |= (unsigned)FIXED << w->count;
	for (w->count += FIXED_BITS; w->count >= 8; w->count -= 8) {
		*w->p++ = (uint8_t)w->bits;
		w->bits >>= 8;
	}
}

static size_t
write_mark(enum gzip_sizes sizes, unsigned n, uint8_t *p)
{
	struct writer w = { .p = p };

	for (unsigned i = 0; i < (unsigned)sizes; i++)
		put_stored(&w);
	for (unsigned i = 0; i < n; i++)
		put_fixed(&w);
	put_stored(&w);
	return (size_t)(w.p - p);
}

size_t
gzip_mark_write(enum gzip_sizes sizes, size_t block, uint8_t *p)
{
	unsigned n = 1;

	while (n < MOST && block > (size_t)1 << (LEAST_LOG + n))
		n++;
	return write_mark(sizes, n, p);
}

/* Sets the range of sizes that a mark represents. */
static void
set_sizes(struct gzip_header *h, enum gzip_sizes sizes, unsigned n)
{
	uint32_t half = n == 1 ? 0 : UINT32_C(1) << (LEAST_LOG + n - 1);

	h->sizes = sizes;
	h->block_max = UINT32_C(1) << (LEAST_LOG + n);
	h->block_min = sizes == GZIP_EQUAL ? half + 1 :
	    sizes == GZIP_QUARTER ? half / 4 : 0;
}

void
gzip_mark_parse(struct gzip_header *h, const uint8_t *p, size_t len)
{
	uint8_t mark[GZIP_MARK_MAX];

	if (len < STORED_LEN || memcmp(p, "\0\0\0\xff\xff", STORED_LEN) != 0)
		return;
	for (unsigned s = GZIP_EQUAL; s <= GZIP_ANY; s++)
		for (unsigned n = 1; n <= MOST; n++) {
			size_t need = write_mark(s, n, mark);

			if (need > len || memcmp(p, mark, need) != 0)
				continue;
			h->mark = need;
			set_sizes(h, s, n);
			return;
		}
}
