/*
 * pack_batch.c - the data kept for each slot while a layer is packed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>

void
pack_batch_clear(struct pack_batch *b)
{
	b->unit_count = b->piece_count = b->item_count = 0;
	strbuf_clear(&b->text);
}

void
pack_batch_free(struct pack_batch *b)
{
	sys_free(b->units);
	sys_free(b->pieces);
	sys_free(b->items);
	strbuf_free(&b->text);
}

int
pack_batch_unit(struct pack_batch *b, size_t at)
{
	void *p = b->units;
	int rc = array_grow(&p, b->unit_count, &b->unit_cap,
	    sizeof(*b->units));

	b->units = p;
	if (rc == 0)
		b->units[b->unit_count++] = (struct pack_unit){ .at = at };
	return rc;
}

int
pack_batch_piece(struct pack_batch *b, const struct pack_piece *piece)
{
	void *p = b->pieces;
	int rc = array_grow(&p, b->piece_count, &b->piece_cap,
	    sizeof(*b->pieces));

	b->pieces = p;
	if (rc == 0)
		b->pieces[b->piece_count++] = *piece;
	return rc;
}

struct pack_item *
pack_batch_item(struct pack_batch *b)
{
	void *p = b->items;
	int rc = array_grow(&p, b->item_count, &b->item_cap,
	    sizeof(*b->items));

	b->items = p;
	if (rc != 0)
		return NULL;
	b->items[b->item_count] = (struct pack_item){ .last = true };
	return &b->items[b->item_count++];
}
