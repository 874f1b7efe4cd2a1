/*
 * pack_work.c - compressing a layer's units and hashing their pieces
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

struct worker {
	const struct pack_format *format;
	void *encoder;
	struct digest *digests[2];
};

void
pack_worker_close(void *ctx)
{
	struct worker *w = ctx;

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
	struct worker *w = sys_calloc(1, sizeof(*w));
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
hash(struct worker *w, const uint8_t *data, struct pack_piece *pieces,
    size_t count)
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
encode(struct worker *w, struct slot *s, struct pack_unit *u)
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
	struct worker *w = ctx;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < b->piece_count; i += 2)
		rc = hash(w, s->in.data, b->pieces + i,
		    b->piece_count - i < 2 ? 1 : 2);
	for (size_t i = 0; rc == 0 && i < b->unit_count; i++)
		if (b->units[i].len > 0)
			rc = encode(w, s, &b->units[i]);
	return rc;
}
