/*
 * pack_join.c - recording the positions of units in a layer, and indexing them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

/* Adds the entries of a batch whose first unit is at `at` in the layer. */
static int
index_batch(struct pack *p, const struct pack_batch *b, uint64_t at)
{
	size_t unit = 0, pieces = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < b->item_count; i++) {
		const struct pack_item *item = &b->items[i];
		const struct pack_piece *piece = NULL;
		struct pack_place place = { 0 };

		if (item->has_piece) {
			piece = &b->pieces[pieces++];
			for (; unit < piece->unit; unit++)
				at += b->units[unit].made;
			place.offset = at;
			if (!p->format->in_archive)
				place.end = at + b->units[unit].made;
			place.inner = piece->at - b->units[unit].at;
		}
		/* a batch may have neither pieces nor text */
		rc = pack_toc_add(&p->toc, item->text_len == 0 ? NULL :
		    b->text.data + item->text, item, piece, &place);
	}
	return rc;
}

int
pack_join(void *job, struct slot *s, struct sink *sink)
{
	struct pack *p = job;
	struct pack_batch *b = &p->batches[s->seq % p->slots];
	int rc = index_batch(p, b, p->out.at);

	for (size_t i = 0; i < b->unit_count; i++)
		p->r->units += b->units[i].len > 0;
	if (rc == 0)
		rc = digest_add(p->out.digest, s->out.data, s->out.len);
	p->out.at += s->out.len;
	return rc != 0 || s->out.len == 0 ? rc : sink_slot(sink, s);
}
