/*
 * deflate_strong.c - our own deflate encoder: parsing and writing blocks
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_strong.h"

#include "base/sys.h"
#include "deflate_lazy.h"
#include "deflate_parse.h"
#include "engine/deflate/deflate_blocks.h"

#include <errno.h>

/*
 * Sequences are written as soon as this many have accumulated, which bounds
 * memory use.
 */
enum { SEQUENCES = 32768 };

struct deflate_strong {
	const struct deflate_effort *effort;
	union {
		struct deflate_parse parse;
		struct deflate_lazy lazy;
	};
	struct deflate_blocks blocks;
	struct deflate_seq seqs[SEQUENCES];
};

/* The effort for levels 3 to 9. */
static const struct deflate_effort efforts[] = {
	{ 3, 2, 258, 32, 8 },
	{ 4, 2, 258, 32, 16 },
	{ 6, 3, 258, 66, 32 },
	{ 8, 4, 258, 130, 64 },
	{ 24, 12, 16, 130, 64 },
	{ 64, 32, 16, 258, 258 },
	{ 220, 80, 16, 258, 258 },
};

int
deflate_strong_open(struct deflate_strong **out, int level)
{
	struct deflate_strong *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->effort = &efforts[level - DEFLATE_STRONG_MIN];
	*out = s;
	return 0;
}

void
deflate_strong_close(struct deflate_strong *s)
{
	sys_free(s);
}

size_t
deflate_strong_memory(void)
{
	return sizeof(struct deflate_strong);
}

size_t
deflate_strong_bound(size_t len)
{
	/* each batch of sequences begins a new stored block */
	return deflate_blocks_bound(len) + (len / (3 * SEQUENCES) + 1) * 5;
}

ssize_t
deflate_strong_run(struct deflate_strong *s, const uint8_t *in, size_t len,
    bool last, uint8_t *out, size_t cap)
{
	size_t n;

	if (len > UINT32_MAX)
		return -ENOBUFS;
	s->blocks.search = DEFLATE_THOROUGH;
	deflate_blocks_begin(&s->blocks, out, cap);
	deflate_parse_begin(&s->parse, s->effort, in, (uint32_t)len);
	for (;;) {
		const uint8_t *at = in + s->parse.pos;
		int rc;

		n = deflate_parse_run(&s->parse, s->seqs, SEQUENCES);
		if (n == 0)
			break;
		rc = deflate_blocks_add(&s->blocks, at, s->seqs, n);
		if (rc != 0)
			return rc;
	}
	return deflate_blocks_end(&s->blocks, last);
}

ssize_t
deflate_strong_run_binary(struct deflate_strong *s, const uint8_t *in,
    size_t len, bool last, uint8_t *out, size_t cap)
{
	size_t from = 0, n;

	s->blocks.search = DEFLATE_QUICK;
	deflate_blocks_begin(&s->blocks, out, cap);
	deflate_lazy_begin(&s->lazy, in, len);
	while ((n = deflate_lazy_find(&s->lazy, s->seqs, SEQUENCES)) > 0) {
		int rc = deflate_blocks_add(&s->blocks, in + from, s->seqs, n);

		if (rc != 0)
			return rc;
		from = s->lazy.pos;
	}
	return deflate_blocks_end(&s->blocks, last);
}
