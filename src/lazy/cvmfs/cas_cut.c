/*
 * cas_cut.c - cutting an archive's files into objects
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the reader of the pipeline, which also builds the layer's index.  All
 * chunks of zeros in a layer share one object, so a large hole needs little
 * space.
 */
#include "cas_impl.h"

#include "base/array.h"
#include "base/sys.h"
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

static struct cas_piece *
add_piece(struct cas_batch *b)
{
	void *pieces = b->pieces;
	int rc = array_grow(&pieces, b->count, &b->cap, sizeof(*b->pieces));

	b->pieces = pieces;
	return rc == 0 ? &b->pieces[b->count++] : NULL;
}

/* Reads n bytes of the file as a new object. */
static int
cut(struct cas_cut *k, struct slot *s, struct cas_batch *b, size_t n)
{
	const struct layer_unit unit = { .content = n };
	struct cas_piece *piece = add_piece(b);
	int rc = piece == NULL ? -ENOMEM :
	    buf_reserve(&s->in, s->in.len + n);

	if (rc != 0)
		return rc;
	*piece = (struct cas_piece){ .at = s->in.len, .len = n,
		.object = { .suffix = k->several ? CAS_CHUNK_OBJECT : '\0' } };
	rc = indexed(k, index_unit(&k->layer->l.index, &unit, k->c->why));
	if (rc == 0)
		rc = add_run(k, k->layer->l.index.unit_count - 1, n);
	if (rc == 0)
		rc = tar_content_read(&k->content, s->in.data + s->in.len, n);
	s->in.len += n;
	return rc;
}

static int
take_piece(struct cas_cut *k, struct slot *s, struct cas_batch *b)
{
	uint64_t chunk = k->c->o->chunk;
	size_t n = (size_t)(k->left < chunk ? k->left : chunk);
	bool zeros = k->several && n == chunk &&
	    tar_content_hole(&k->content) >= n;
	int rc;

	k->full = s->in.len > 0 && s->in.len + n > BATCH;
	if (k->full)
		return 0;
	if (zeros && k->zeros > 0) {
		rc = add_run(k, k->zeros - 1, n);
		tar_content_skip(&k->content, n);
	} else {
		rc = cut(k, s, b, n);
	}
	if (zeros && k->zeros == 0)
		k->zeros = k->layer->l.index.unit_count;
	k->left -= n;
	return rc;
}

/* Adds the entry to the index. */
static int
add_entry(struct cas_cut *k)
{
	const struct tar_entry *e = &k->e;
	const struct layer_entry x = { .type = e->type, .path = e->path,
		.link = e->link, .uname = "", .gname = "", .mode = e->mode,
		.major = e->major, .minor = e->minor, .uid = e->uid,
		.gid = e->gid, .mtime = e->mtime, .mtime_ns = e->mtime_ns,
		.size = e->size, .xattrs = e->xattrs,
		.xattr_count = e->xattr_count };
	int rc = pack_check_entry(e, k->c->why);

	if (rc != 0)
		return rc;
	if (e->mtime > k->c->newest)
		k->c->newest = e->mtime;
	return indexed(k, index_entry(&k->layer->l.index, &x, k->c->why));
}

static int
take_entry(struct cas_cut *k)
{
	int rc = tar_next(k->tar, &k->e);

	k->ended = rc == 0;
	if (rc <= 0)
		return rc;
	rc = add_entry(k);
	if (rc != 0 || k->e.type != TAR_FILE)
		return rc;
	k->content = (struct tar_content){ .tar = k->tar, .e = &k->e };
	k->left = k->e.size;
	k->several = k->left > k->c->o->chunk;
	return 0;
}

int
cas_cut_fill(void *job, struct input *in, struct slot *s)
{
	struct cas_cut *k = job;
	struct cas_batch *b = &k->c->batches[s->seq % k->c->slots];
	int rc = 0;

	b->count = 0;
	s->in.len = 0;
	k->full = false;
	while (rc == 0 && !k->ended && !k->full)
		rc = k->left > 0 ? take_piece(k, s, b) : take_entry(k);
	in->bytes = tar_offset(k->tar);
	s->last = k->ended;
	return rc;
}
