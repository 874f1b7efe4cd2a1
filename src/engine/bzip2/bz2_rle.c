/*
 * bz2_rle.c - RLE1, the run-length code before the sort
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Four equal bytes are followed by the number, 0..251, of further equal bytes.
 * RLE1 protected Seward's implementation from slow sorts, and leaves data
 * without runs unchanged.
 */
#include "bz2_impl.h"

#include <errno.h>

enum {
	SLACK = 19,		/* bzip2 leaves this much of a block free */
	LANES = 16
};

typedef uint8_t bytes_v __attribute__((vector_size(LANES)));
typedef uint64_t words_v __attribute__((vector_size(LANES)));

static size_t
first_run(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i + 3 < len; i++)
		if (p[i] == p[i + 1] && p[i] == p[i + 2] && p[i] == p[i + 3])
			return i;
	return len;
}

size_t
bz2_find_run(const uint8_t *p, size_t len)
{
	size_t i = 0;

	for (; len - i >= LANES + 3; i += LANES) {
		bytes_v a, b, c, d;
		words_v same;

		memcpy(&a, p + i, LANES);
		memcpy(&b, p + i + 1, LANES);
		memcpy(&c, p + i + 2, LANES);
		memcpy(&d, p + i + 3, LANES);
		same = (words_v)((a == b) & (b == c) & (c == d));
		if ((same[0] | same[1]) != 0)
			return i + first_run(p + i, LANES + 3);
	}
	return i + first_run(p + i, len - i);
}

size_t
bz2_rle_cap(int level)
{
	return (size_t)level * BZ2_BLOCK_UNIT - SLACK;
}

void
bz2_rle_start(struct bz2_rle *r, int level, uint8_t *block)
{
	r->block = block;
	r->len = 0;
	r->limit = bz2_rle_cap(level);
	r->base = 0;
	r->run = 0;
}

/*
 * Returns whether the block is full: a new run would not fit, and no count is
 * pending.
 */
bool
bz2_rle_full(const struct bz2_rle *r)
{
	return r->run < BZ2_RUN_PLAIN && r->len >= r->limit - BZ2_RUN_PLAIN;
}

/* Returns the number of equal bytes at the end of p[0..len), up to three. */
static unsigned
tail_run(const uint8_t *p, size_t len)
{
	unsigned run = 0;

	while (run < len && run < BZ2_RUN_PLAIN - 1 &&
	    p[len - 1 - run] == p[len - 1])
		run++;
	return run;
}

static void
end_run(struct bz2_rle *r)
{
	if (r->run >= BZ2_RUN_PLAIN) {
		r->block[r->len++] = (uint8_t)(r->run - BZ2_RUN_PLAIN);
		r->base = r->len;
	}
	r->run = 0;
}

/*
 * Consumes bytes that continue the run at the end of the block.  Returns their
 * number.
 */
static size_t
extend_run(struct bz2_rle *r, const uint8_t *in, size_t len)
{
	uint8_t byte = r->block[r->len - 1];
	size_t i = 0;

	while (i < len && in[i] == byte && r->run < BZ2_RUN_MAX &&
	    !bz2_rle_full(r)) {
		if (r->run < BZ2_RUN_PLAIN)
			r->block[r->len++] = byte;
		r->run++;
		i++;
	}
	return i;
}

size_t
bz2_rle_fill(struct bz2_rle *r, const uint8_t *in, size_t len)
{
	size_t i = 0, n;

	while (i < len && !bz2_rle_full(r)) {
		if (r->run > 0)
			i += extend_run(r, in + i, len - i);
		if (i == len || bz2_rle_full(r))
			break;
		end_run(r);
		if (bz2_rle_full(r))
			break;
		/* the bytes before the next run of four */
		n = r->limit - BZ2_RUN_PLAIN - r->len;
		n = bz2_find_run(in + i, len - i < n ? len - i : n);
		memcpy(r->block + r->len, in + i, n);
		i += n;
		r->len += n;
		r->run = tail_run(r->block + r->base, r->len - r->base);
		if (i < len && !bz2_rle_full(r)) {
			/*
			 * in is now at a run of four, or at the last bytes
			 * before the limit
			 */
			end_run(r);
			r->block[r->len++] = in[i++];
			r->run = 1;
		}
	}
	return i;
}

size_t
bz2_rle_end(struct bz2_rle *r)
{
	end_run(r);
	return r->len;
}

void
bz2_unrle_start(struct bz2_unrle *u, const uint8_t *block, size_t len)
{
	u->block = block;
	u->len = len;
	u->pos = 0;
	u->run = 0;
	u->owed = 0;
}

ssize_t
bz2_unrle_read(struct bz2_unrle *u, uint8_t *out, size_t cap)
{
	size_t done = 0;

	while (done < cap && (u->owed > 0 || u->pos < u->len)) {
		const uint8_t *p = u->block + u->pos;
		size_t n = cap - done, at;

		if (u->owed > 0) {
			n = u->owed < n ? u->owed : n;
			memset(out + done, p[-2], n);
			u->owed -= (unsigned)n;
			done += n;
			continue;
		}
		if (u->run == BZ2_RUN_PLAIN) {
			u->owed = *p;
			u->pos++;
			u->run = 0;
			continue;
		}
		/* the bytes up to the next count */
		n = u->len - u->pos < n ? u->len - u->pos : n;
		p -= u->run;
		at = bz2_find_run(p, u->run + n);
		if (at < u->run + n) {
			n = at + BZ2_RUN_PLAIN - u->run;
			memcpy(out + done, p + u->run, n);
			u->run = BZ2_RUN_PLAIN;
		} else {
			memcpy(out + done, p + u->run, n);
			u->run = tail_run(p, u->run + n);
		}
		u->pos += n;
		done += n;
	}
	return done == 0 && u->run == BZ2_RUN_PLAIN ? -EBADMSG : (ssize_t)done;
}
