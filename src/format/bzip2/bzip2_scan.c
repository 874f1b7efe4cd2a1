/*
 * bzip2_scan.c - cutting any .bz2 file at possible block starts
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bzip2_codec.h"

#include <string.h>

/* Ends the piece before bit `end` of s->in; the rest is carried over. */
static int
cut(struct bzip2_reader *r, struct slot *s, uint64_t base, uint64_t end)
{
	size_t from = (size_t)(end / 8);
	int rc = carry_cut(&r->carry, s, (size_t)((end + 7) / 8), from);

	r->carry_at = base + 8 * (uint64_t)from;
	r->next = base + end;
	bunzip2_notes(s)->end = r->next;
	return rc;
}

/*
 * Guesses the level from the header after the trailer at `bit`, or from the
 * first header.
 */
static void
guess_level(struct bzip2_reader *r, const struct slot *s, uint64_t bit)
{
	uint64_t at = (bit + 7) / 8;

	if (at + 4 <= s->in.len && memcmp(s->in.data + at, "BZh", 3) == 0)
		r->guess = s->in.data[at + 3] - '0';
}

/*
 * Searches from *from onward.  Returns 1 and the position, 0 at the end of the
 * input, or -errno.
 */
static int
find_end(struct bzip2_reader *r, struct input *in, struct slot *s,
    uint64_t from, uint64_t *end)
{
	for (;;) {
		uint64_t bits = 8 * (uint64_t)s->in.len;
		ssize_t n;

		if (from + BZ2_MAGIC_BITS <= bits &&
		    bz2_scan_next(&r->scan, s->in.data, s->in.len, from,
		    end) != 0)
			return 1;
		if (bits >= from + BZ2_MAGIC_BITS)
			from = bits - BZ2_MAGIC_BITS + 1;
		if (s->in.len > BZIP2_PIECE_MAX) {
			*end = bits / 8 * 8 - 64;
			return 1;
		}
		n = carry_more(in, s, BZIP2_READ);
		if (n <= 0)
			return (int)n;
	}
}

int
bzip2_scan(struct bzip2_reader *r, struct input *in, struct slot *s)
{
	struct bunzip2_notes *note = bunzip2_notes(s);
	uint64_t base = r->carry_at, end;
	int rc = carry_begin(&r->carry, s);

	if (rc != 0)
		return rc;
	note->begin = r->next;
	rc = find_end(r, in, s, r->next - base + 1, &end);
	if (rc < 0)
		return rc;
	if (note->begin == 0)
		guess_level(r, s, 0);
	else if (bz2_magic_at(s->in.data, s->in.len, note->begin - base) ==
	    BZ2_AT_END)
		guess_level(r, s, note->begin - base + BZ2_TRAILER_BITS);
	note->level = r->guess;
	if (rc == 1)
		return cut(r, s, base, end);
	note->end = base + 8 * (uint64_t)s->in.len;
	s->last = true;
	return 0;
}
