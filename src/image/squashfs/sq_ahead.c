/*
 * sq_ahead.c - what will be read next, asked of the kernel in large pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel's own reading ahead does not see through files that are read in
 * turn by several threads.
 */
#include "sq_walk.h"

#include "base/bytes.h"

#include <fcntl.h>

enum {
	GAP_B = 64 << 10,		/* read, to make one piece of two */
	REQUEST_B = 512 << 10
};

/* A part of the image. */
struct part {
	uint64_t from, to;
};

static struct part
part_of(const struct sq_image *m, const struct sq_unit *u)
{
	uint32_t word = 0;

	if (u->block == SQ_UNIT_FRAGMENT)
		word = m->fragments[u->index].size;
	else if (u->block != SQ_UNIT_HOLES)
		word = load_le32(m->file[u->index].sizes +
		    4 * (size_t)u->block);
	return (struct part){ u->at, u->at + (word & (SQ_STORED - 1)) };
}

/* Of more than the largest request to the disk, the kernel reads only that. */
static void
ask(const struct sq_super *s, const struct part *p)
{
	for (uint64_t at = p->from; at < p->to && at < s->length;
	    at += REQUEST_B)
		posix_fadvise(s->fd, (off_t)(s->offset + at),
		    p->to - at < REQUEST_B ? (off_t)(p->to - at) : REQUEST_B,
		    POSIX_FADV_WILLNEED);
}

/* Makes p longer, or asks for it and begins another. */
static void
add_units(struct sq_walk *w, struct part *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct part next = part_of(w->image, &w->plan.units[i]);

		if (next.from >= p->to && next.from - p->to <= GAP_B) {
			p->to = next.to;
			continue;
		}
		ask(&w->image->super, p);
		*p = next;
	}
}

void
sq_ahead_units(struct sq_walk *w, size_t from, size_t to)
{
	struct part p = { 0, 0 };

	add_units(w, &p, from, to);
	ask(&w->image->super, &p);
}

void
sq_ahead_items(struct sq_walk *w, size_t from, size_t to)
{
	struct part p = { 0, 0 };

	for (size_t i = from; i < to; i++) {
		const struct sq_item *item = &w->plan.items[i];

		add_units(w, &p, item->first, item->first +
		    sq_deal_beginning(w, item));
	}
	ask(&w->image->super, &p);
}
