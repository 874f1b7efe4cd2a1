/*
 * cas_work.c - compressing an archive's files and writing the objects
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cas_impl.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>

static int
worker_open(void *job, void **ctx)
{
	const struct cas_cut *k = job;
	struct cas_writer *w = NULL;
	int rc = cas_writer_open(&w, k->c);

	*ctx = w;
	return rc;
}

static void
worker_close(void *ctx)
{
	cas_writer_close(ctx);
}

static int
work(void *job, void *ctx, struct slot *s)
{
	const struct cas_cut *k = job;
	struct cas_batch *b = &k->c->batches[s->seq % k->c->slots];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < b->count; i++) {
		struct cas_piece *p = &b->pieces[i];

		rc = cas_write(ctx, s->in.data + p->at, p->len, &p->object);
	}
	return rc;
}

/*
 * Slots arrive in order, so the objects are in the order of the units that the
 * reader added.
 */
static int
join(void *job, struct slot *s, struct sink *sink)
{
	struct cas_cut *k = job;
	struct cas_layer *l = k->layer;
	struct cas_batch *b = &k->c->batches[s->seq % k->c->slots];
	int rc = 0;

	(void)sink;
	for (size_t i = 0; rc == 0 && i < b->count; i++) {
		void *objects = l->objects;

		rc = array_grow(&objects, l->object_count, &l->object_cap,
		    sizeof(*l->objects));
		l->objects = objects;
		if (rc == 0)
			l->objects[l->object_count++] = b->pieces[i].object;
	}
	return rc;
}

int
cas_run(struct cas_cut *cut)
{
	static const struct pipeline_ops ops = {
		.fill = cas_cut_fill, .worker_open = worker_open,
		.worker_close = worker_close, .work = work, .join = join,
	};
	const struct cas *c = cut->c;
	struct pipeline_params params = { .threads = c->o->threads,
		.slots = (unsigned)c->slots, .out_fd = -1,
		.progress = c->o->progress };
	struct pipeline_stats stats = { 0 };

	return pipeline_run(&ops, cut, NULL, &params, &stats);
}
