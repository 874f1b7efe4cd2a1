/*
 * pack_units.c - hashing, compressing and indexing the units of a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

struct unit_worker {
	const struct pack_format *format;
	void *encoder;
	struct digest *digests[2];
};

static void
unit_worker_close(void *ctx)
{
	struct unit_worker *w = ctx;

	if (w->encoder != NULL)
		w->format->encoder_close(w->encoder);
	digest_free(w->digests[0]);
	digest_free(w->digests[1]);
	sys_free(w);
}

static int
unit_worker_open(void *job, void **ctx)
{
	const struct pack *p = job;
	struct unit_worker *w = sys_calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	w->format = p->format;
	rc = w->format->encoder_open(&w->encoder, p->level);
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = digest_new_sha256(&w->digests[i]);
	if (rc != 0)
		unit_worker_close(w);
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
work_units(void *job, void *ctx, struct slot *s)
{
	const struct pack *p = job;
	struct pack_batch *b = &p->batches[s->seq % p->slots];
	struct unit_worker *w = ctx;
	int rc;

	for (size_t i = 0; i < b->piece_count; i += 2) {
		rc = hash_pieces(w, s->in.data, b->pieces + i,
		    b->piece_count - i < 2 ? 1 : 2);
		if (rc != 0)
			return rc;
	}
	for (size_t i = 0; i < b->unit_count; i++) {
		struct pack_unit *u = &b->units[i];
		size_t bound = p->format->bound(u->len);
		ssize_t n;

		if (u->len == 0)
			continue;
		rc = buf_reserve(&s->out, s->out.len + bound);
		if (rc != 0)
			return rc;
		n = p->format->encode(w->encoder, s->in.data + u->at, u->len,
		    s->out.data + s->out.len, bound);
		if (n < 0)
			return (int)n;
		u->made = (size_t)n;
		s->out.len += u->made;
	}
	return 0;
}

/* Learns the offsets, and adds the entries to the table of contents. */
static int
join_units(void *job, struct slot *s, struct sink *sink)
{
	struct pack *p = job;
	struct pack_batch *b = &p->batches[s->seq % p->slots];
	uint64_t at = p->out.at;
	size_t unit = 0, pieces = 0;
	int rc;

	for (size_t i = 0; i < b->item_count; i++) {
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
		if (rc != 0)
			return rc;
	}
	for (size_t i = 0; i < b->unit_count; i++)
		p->r->units += b->units[i].len > 0;
	rc = digest_add(p->out.digest, s->out.data, s->out.len);
	p->out.at += s->out.len;
	return rc != 0 || s->out.len == 0 ? rc : sink_slot(sink, s);
}

int
pack_units(struct pack *p)
{
	static const struct pipeline_ops ops = {
		.fill = pack_cut_fill, .worker_open = unit_worker_open,
		.worker_close = unit_worker_close, .work = work_units,
		.join = join_units,
	};

	return pack_run(p, &ops, p);
}
