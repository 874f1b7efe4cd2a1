/*
 * cas_cut.c - cutting an archive's files into objects
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader of the pipeline also builds the layer's index; workers compress
 * the pieces and write the objects.  All chunks of zeros in a layer share one
 * object, so a large hole needs little space.
 */
#include "cas_impl.h"

#include "base/array.h"
#include "lazy/pack/pack_tree.h"

#include <errno.h>

enum { BATCH = 1 << 20 };		/* bytes of small files */

/*
 * On success, clears the clause that the index writes in advance for -ENOMEM.
 */
static int
indexed(struct cas_cut *k, int rc)
{
	if (rc == 0)
		*k->c->why = '\0';
	return rc;
}

/* Adds a run for the next n bytes of the file, stored in a unit. */
static int
add_run(struct cas_cut *k, size_t unit, size_t n)
{
	const struct layer_run run = { .offset = k->content.at, .length = n,
		.unit = (uint32_t)unit };
	struct lazy_index *x = &k->layer->l.index;

	if (x->run_count >= LAYER_ENTRIES_MAX)
		return layer_refuse(k->c->why, -EFBIG, "the files have more "
		    "than %d pieces", LAYER_ENTRIES_MAX);
	return indexed(k, index_run(x, &run, k->c->why));
}

/* Reads the next piece of the file, as a new object unless it is zeros. */
static int
cut_piece(struct cas_cut *k, struct slot *s, struct cas_batch *b)
{
	struct lazy_index *x = &k->layer->l.index;
	uint64_t chunk = k->c->o->chunk;
	size_t n = (size_t)(k->left < chunk ? k->left : chunk);
	const struct layer_unit unit = { .content = n };
	bool zeros = k->several && n == chunk &&
	    tar_content_hole(&k->content) >= n;
	void *pieces = b->pieces;
	int rc;

	k->full = s->in.len > 0 && s->in.len + n > BATCH;
	if (k->full)
		return 0;
	if (zeros && k->zeros > 0) {
		rc = add_run(k, k->zeros - 1, n);
		tar_content_skip(&k->content, n);
		k->left -= n;
		return rc;
	}
	rc = array_grow(&pieces, b->count, &b->cap, sizeof(*b->pieces));
	b->pieces = pieces;
	if (rc == 0)
		rc = buf_reserve(&s->in, s->in.len + n);
	if (rc != 0)
		return rc;
	b->pieces[b->count++] = (struct cas_piece){ .at = s->in.len, .len = n,
		.object = { .suffix = k->several ? CAS_CHUNK_OBJECT : '\0' } };
	rc = indexed(k, index_unit(x, &unit, k->c->why));
	if (rc == 0)
		rc = add_run(k, x->unit_count - 1, n);
	if (rc == 0)
		rc = tar_content_read(&k->content, s->in.data + s->in.len, n);
	s->in.len += n;
	if (zeros)
		k->zeros = x->unit_count;
	k->left -= n;
	return rc;
}

/* Adds the next entry to the index. */
static int
next_entry(struct cas_cut *k)
{
	struct tar_entry *e = &k->e;
	struct layer_entry x;
	int rc = tar_next(k->tar, e);

	k->ended = rc == 0;
	if (rc <= 0)
		return rc;
	rc = pack_check_entry(e, k->c->why);
	if (rc != 0)
		return rc;
	if (e->mtime > k->c->newest)
		k->c->newest = e->mtime;
	x = (struct layer_entry){ .type = e->type, .path = e->path,
		.link = e->link, .uname = "", .gname = "", .mode = e->mode,
		.major = e->major, .minor = e->minor, .uid = e->uid,
		.gid = e->gid, .mtime = e->mtime, .mtime_ns = e->mtime_ns,
		.size = e->size, .xattrs = e->xattrs,
		.xattr_count = e->xattr_count };
	rc = indexed(k, index_entry(&k->layer->l.index, &x, k->c->why));
	if (rc != 0 || e->type != TAR_FILE)
		return rc;
	k->content = (struct tar_content){ .tar = k->tar, .e = e };
	k->left = e->size;
	k->several = k->left > k->c->o->chunk;
	return 0;
}

static int
fill_batch(void *job, struct input *in, struct slot *s)
{
	struct cas_cut *k = job;
	struct cas_batch *b = &k->c->batches[s->seq % k->c->slots];
	int rc = 0;

	b->count = 0;
	s->in.len = 0;
	k->full = false;
	while (rc == 0 && !k->ended && !k->full)
		rc = k->left > 0 ? cut_piece(k, s, b) : next_entry(k);
	in->bytes = tar_offset(k->tar);
	s->last = k->ended;
	return rc;
}

static int
open_writer(void *job, void **ctx)
{
	const struct cas_cut *k = job;
	struct cas_writer *w = NULL;
	int rc = cas_writer_open(&w, k->c);

	*ctx = w;
	return rc;
}

static void
close_writer(void *ctx)
{
	cas_writer_close(ctx);
}

static int
write_objects(void *job, void *ctx, struct slot *s)
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
keep_objects(void *job, struct slot *s, struct sink *sink)
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
		.fill = fill_batch, .worker_open = open_writer,
		.worker_close = close_writer, .work = write_objects,
		.join = keep_objects,
	};
	const struct cas *c = cut->c;
	struct pipeline_params params = { .threads = c->o->threads,
		.slots = (unsigned)c->slots, .out_fd = -1,
		.progress = c->o->progress };
	struct pipeline_stats stats = { 0 };

	return pipeline_run(&ops, cut, NULL, &params, &stats);
}
