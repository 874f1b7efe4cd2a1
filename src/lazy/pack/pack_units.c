/*
 * pack_units.c - hashing, compressing and indexing the units of a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* The data kept for each slot */

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

/* The workers */

struct unit_worker {
	const struct pack_format *format;
	void *encoder;
	struct digest *digests[2];
};

void
pack_worker_close(void *ctx)
{
	struct unit_worker *w = ctx;

	if (w->encoder != NULL)
		w->format->encoder_close(w->encoder);
	digest_free(w->digests[0]);
	digest_free(w->digests[1]);
	sys_free(w);
}

int
pack_worker_open(void *job, void **ctx)
{
	const struct pack *p = job;
	struct unit_worker *w = sys_calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	w->format = p->format;
	rc = w->format->encoder_open(&w->encoder, p->level);
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = digest_new(&w->digests[i], p->sha256);
	if (rc != 0)
		pack_worker_close(w);
	else
		*ctx = w;
	return rc;
}

/* Hashes up to two pieces together. */
static int
hash_pieces(struct unit_worker *w, const uint8_t *data,
    struct pack_piece *pieces, size_t count)
{
	struct digest_piece d[2];
	uint8_t digest[DIGEST_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		d[i] = (struct digest_piece){ w->digests[i],
			data + pieces[i].at, pieces[i].len };
		rc = digest_start(w->digests[i]);
	}
	if (rc == 0)
		rc = digest_add_some(d, count, true);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = digest_end(w->digests[i], digest);
		memcpy(pieces[i].digest, digest, LAYER_DIGEST);
	}
	return rc;
}

static int
encode_unit(struct unit_worker *w, struct slot *s, struct pack_unit *u)
{
	size_t bound = w->format->bound(u->len);
	ssize_t n;
	int rc = buf_reserve(&s->out, s->out.len + bound);

	if (rc != 0)
		return rc;
	n = w->format->encode(w->encoder, s->in.data + u->at, u->len,
	    s->out.data + s->out.len, bound);
	if (n < 0)
		return (int)n;
	u->made = (size_t)n;
	s->out.len += u->made;
	return 0;
}

int
pack_work(void *job, void *ctx, struct slot *s)
{
	const struct pack *p = job;
	struct pack_batch *b = &p->batches[s->seq % p->slots];
	struct unit_worker *w = ctx;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < b->piece_count; i += 2)
		rc = hash_pieces(w, s->in.data, b->pieces + i,
		    b->piece_count - i < 2 ? 1 : 2);
	for (size_t i = 0; rc == 0 && i < b->unit_count; i++)
		if (b->units[i].len > 0)
			rc = encode_unit(w, s, &b->units[i]);
	return rc;
}

/* The joiner, which learns the offsets */

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
