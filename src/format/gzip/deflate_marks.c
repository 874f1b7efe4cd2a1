/*
 * deflate_marks.c - telling where the members and blocks of a stream begin
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_marks.h"

#include <string.h>

enum { PLACES_MORE = 64, PLACES_MOST = 1 << 14 };

struct place {
	uint32_t place, bit, out;
};

/* Returns where number n is stored in s->in. */
static size_t
place_at(const struct slot *s, unsigned n)
{
	return s->in.len + CARRY_SPARE + n * sizeof(struct place);
}

static struct place
get_place(const struct slot *s, unsigned n)
{
	struct place p;

	memcpy(&p, s->in.data + place_at(s, n), sizeof(p));
	return p;
}

int
deflate_marks_note(struct slot *s, enum deflate_place place, uint64_t bit,
    size_t out)
{
	unsigned *n = &inflate_notes(s)->places;
	const struct place p = { place, (uint32_t)bit, (uint32_t)out };
	uint32_t before = *n == 0 ? 0 : get_place(s, *n - 1).out;
	int rc = 0;

	if (place == PLACE_BLOCK && p.out == before)
		return 0;
	if (place_at(s, *n + 1) > s->in.cap)
		rc = buf_reserve(&s->in, place_at(s, 2 * *n + PLACES_MORE));
	if (rc == 0)
		memcpy(s->in.data + place_at(s, (*n)++), &p, sizeof(p));
	return rc;
}

bool
deflate_marks_full(struct slot *s)
{
	return inflate_notes(s)->places >= PLACES_MOST;
}

int
deflate_marks_noted(struct deflate_marks *m, struct slot *s, uint64_t at,
    uint64_t plain)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < inflate_notes(s)->places; i++) {
		struct place p = get_place(s, i);

		if (p.place == PLACE_BEGIN)
			rc = deflate_marks_begin(m, at + p.bit / 8,
			    plain + p.out);
		else if (p.place == PLACE_END)
			rc = deflate_marks_end(m, at + p.bit / 8,
			    plain + p.out);
		else
			rc = deflate_marks_block(m, 8 * at + p.bit,
			    plain + p.out);
	}
	return rc;
}

int
deflate_marks_begin(struct deflate_marks *m, uint64_t at, uint64_t plain)
{
	if (m->to == NULL)
		return 0;
	m->due = plain + m->to->spacing;
	return m->to->begin(m->to->arg, at, plain);
}

int
deflate_marks_block(struct deflate_marks *m, uint64_t bit, uint64_t plain)
{
	if (m->to == NULL || plain < m->due)
		return 0;
	m->due = plain + m->to->spacing;
	return m->to->block(m->to->arg, bit, plain);
}

int
deflate_marks_end(struct deflate_marks *m, uint64_t at, uint64_t plain)
{
	return m->to == NULL ? 0 : m->to->end(m->to->arg, at, plain);
}

size_t
deflate_marks_left(const struct deflate_marks *m, uint64_t plain)
{
	uint64_t left = plain < m->due ? m->due - plain : 0;

	return m->to == NULL || left > SIZE_MAX ? SIZE_MAX : (size_t)left;
}
