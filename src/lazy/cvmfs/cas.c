/*
 * cas.c - writing a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A pipeline reads each archive, and also builds the layer's index; it cuts the
 * files into pieces, in batches, which its workers compress (RFC 1950) and
 * write as objects.  All chunks of zeros in a layer share one object, so a
 * large hole needs little space.  Objects are written under their final names,
 * because the repository directory itself gets its name only when it is
 * complete.
 *
 * Finally the layers are merged, and the objects that the tree does not use are
 * removed; cas_catalog.c writes the catalogs, and cas_manifest.c the manifest.
 */
#include "cas_impl.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "base/utc.h"
#include "format/gzip/deflate_engine.h"
#include "format/tar/tar_archive.h"
#include "format/tar/tar.h"
#include "lazy/pack/pack_tree.h"
#include "pipeline/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ZLIB_HEADER = 2, ZLIB_TRAILER = 4,
	BLOCK = 4 << 20,		/* bytes compressed at a time */
	BATCH = 1 << 20			/* bytes of small files */
};

/* Consecutive bytes of a file that become one object. */
struct cas_piece {
	size_t at, len;			/* in slot.in */
	struct cas_object object;	/* the result */
};

struct cas_batch {
	struct cas_piece *pieces;
	size_t count, cap;
};

/* The state of the pipeline's reader */
struct cas_cut {
	struct cas *c;
	struct cas_layer *layer;
	struct tar *tar;
	struct tar_entry e;
	struct tar_content content;	/* of the current file: */
	uint64_t left;			/* bytes not yet cut */
	size_t zeros;			/* unit of zeros plus 1, or 0 */
	bool several;			/* the file has several pieces */
	bool ended, full;
};

/* Objects */

struct cas_writer {
	const struct cas *c;
	struct deflate_engine *engine;
	struct digest *digest;
	struct buf out;
};

void
cas_object_path(char path[CAS_PATH], const uint8_t hash[CAS_HASH], char suffix)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, CAS_HASH);
	snprintf(path, CAS_PATH, "data/%.2s/%s%c", hex, hex + 2, suffix);
}

int
cas_store(struct cas_writer *w, const void *packed, size_t len,
    struct cas_object *object)
{
	char path[CAS_PATH];
	uint8_t sum[DIGEST_MAX];
	int fd, end, rc = digest_once(w->digest, packed, len, sum);

	if (rc != 0)
		return rc;
	memcpy(object->hash, sum, CAS_HASH);
	object->stored = len;
	cas_object_path(path, object->hash, object->suffix);
	fd = sys_openat(w->c->tree.dir, path, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	rc = fdio_write(fd, packed, len);
	end = sys_close(fd);
	return rc != 0 ? rc : end;
}

int
cas_write(struct cas_writer *w, const void *data, size_t len,
    struct cas_object *object)
{
	/* 32 KiB window, default level */
	static const uint8_t header[ZLIB_HEADER] = { 0x78, 0x9c };
	uint32_t adler = libdeflate_adler32(1, data, len);
	const uint8_t *from = data;
	struct buf *out = &w->out;
	bool last = false;
	int rc = buf_reserve(out, ZLIB_HEADER);

	if (rc != 0)
		return rc;
	memcpy(out->data, header, ZLIB_HEADER);
	out->len = ZLIB_HEADER;
	while (!last) {
		size_t n = len < BLOCK ? len : BLOCK;
		size_t bound = deflate_engine_bound(n);
		ssize_t made;

		last = n == len;
		rc = buf_reserve(out, out->len + bound + ZLIB_TRAILER);
		if (rc != 0)
			return rc;
		made = deflate_engine_run(w->engine, from, n, last,
		    out->data + out->len, bound);
		if (made < 0)
			return (int)made;
		out->len += (size_t)made;
		from += n;
		len -= n;
	}
	store_be32(out->data + out->len, adler);
	out->len += ZLIB_TRAILER;
	return cas_store(w, out->data, out->len, object);
}

/* Archives */

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
	return index_run(x, &run, k->c->why);
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
	rc = index_unit(x, &unit, k->c->why);
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

static int
fill_batch(void *job, struct input *in, struct slot *s)
{
	struct cas_cut *k = job;
	struct cas *c = k->c;
	struct cas_batch *b = &c->batches[s->seq % c->slots];
	struct tar_entry *e = &k->e;
	int rc = 0;

	b->count = 0;
	s->in.len = 0;
	k->full = false;
	while (rc == 0 && !k->ended && !k->full) {
		struct layer_entry x;

		if (k->left > 0) {
			rc = cut_piece(k, s, b);
			continue;
		}
		rc = tar_next(k->tar, e);
		k->ended = rc == 0;
		if (rc <= 0)
			break;
		rc = pack_check_entry(e, c->why);
		if (rc != 0)
			break;
		if (e->mtime > c->newest)
			c->newest = e->mtime;
		x = (struct layer_entry){ .type = e->type, .path = e->path,
			.link = e->link, .uname = "", .gname = "",
			.mode = e->mode, .major = e->major, .minor = e->minor,
			.uid = e->uid, .gid = e->gid, .mtime = e->mtime,
			.mtime_ns = e->mtime_ns, .size = e->size,
			.xattrs = e->xattrs, .xattr_count = e->xattr_count };
		rc = index_entry(&k->layer->l.index, &x, c->why);
		if (rc != 0 || e->type != TAR_FILE)
			continue;
		k->content = (struct tar_content){ .tar = k->tar, .e = e };
		k->left = e->size;
		k->several = k->left > c->o->chunk;
	}
	in->bytes = tar_offset(k->tar);
	s->last = k->ended;
	return rc;
}

static void
close_writer(void *writer)
{
	struct cas_writer *w = writer;

	if (w == NULL)
		return;
	if (w->engine != NULL)
		deflate_engine_close(w->engine);
	digest_free(w->digest);
	sys_free(w->out.data);
	sys_free(w);
}

static int
open_writer(void *job, void **ctx)
{
	const struct cas_cut *k = job;
	struct cas_writer *w = sys_calloc(1, sizeof(*w));
	int rc = -ENOMEM;

	*ctx = w;
	if (w == NULL)
		return rc;
	w->c = k->c;
	rc = deflate_engine_open_steady(&w->engine, k->c->o->level);
	if (rc == 0)
		rc = digest_new(&w->digest, k->c->sha1);
	if (rc != 0) {
		close_writer(w);
		*ctx = NULL;
	}
	return rc;
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

/* Opening */

/* Describes an error in why, unless a clause is already there. */
static int
explain(int rc, char why[LAYER_WHY])
{
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", strerror(-rc));
	return rc;
}

int
cas_open(struct cas **out, const struct cas_options *o, const char *path,
    char why[LAYER_WHY])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	struct cas *c = sys_calloc(1, sizeof(*c));
	struct cas_cut none = { .c = c };
	void *writer = NULL;
	char data[CAS_PATH];
	int rc = -ENOMEM;

	*why = '\0';
	if (c == NULL)
		return explain(rc, why);
	*c = (struct cas){ .o = o, .tree = OUTPUT_TREE_NONE, .why = why,
		.before = { .dir = -1 } };
	if (*o->name == '\0' || o->name[strspn(o->name, allowed)] != '\0') {
		rc = layer_refuse(why, -EINVAL, "%.120s is not a repository "
		    "name: only letters, digits, \".\", \"-\" and \"_\" are "
		    "allowed", o->name);
		goto fail;
	}
	/* clients append a domain to a name without one */
	if (strchr(o->name, '.') == NULL) {
		rc = layer_refuse(why, -EINVAL, "%.120s is not a repository "
		    "name: CVMFS clients expect a domain, as in "
		    "%.80s.example.org", o->name, o->name);
		goto fail;
	}
	rc = cas_signer_open(&c->signer, o, why);
	if (rc != 0)
		goto fail;
	c->slots = pipeline_slots(o->threads);
	c->batches = sys_calloc(c->slots, sizeof(*c->batches));
	if (c->batches == NULL) {
		rc = -ENOMEM;
		goto fail;
	}
	rc = digest_algo_open(&c->sha1, "sha1");
	if (rc == 0)
		rc = digest_algo_open(&c->md5, "md5");
	if (rc == 0 && o->update != NULL)
		rc = cas_before_open(c, why);
	if (rc == 0)
		rc = output_tree_create(&c->tree, path);
	/* create all 256 object directories, as CVMFS does */
	if (rc == 0)
		rc = sys_mkdirat(c->tree.dir, "data", 0755);
	for (unsigned i = 0; rc == 0 && i < 256; i++) {
		snprintf(data, sizeof(data), "data/%02x", i);
		rc = sys_mkdirat(c->tree.dir, data, 0755);
	}
	if (rc == 0)
		rc = open_writer(&none, &writer);
	c->writer = writer;
	if (rc == 0)
		rc = cas_write(c->writer, "", 0, &c->empty);
	if (rc != 0)
		goto fail;
	*out = c;
	return 0;
fail:
	cas_close(c);
	return explain(rc, why);
}

void
cas_close(struct cas *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->layer_count; i++) {
		index_free(&c->layers[i]->l.index);
		sys_free(c->layers[i]->objects);
		sys_free(c->layers[i]);
	}
	for (size_t i = 0; c->batches != NULL && i < c->slots; i++)
		sys_free(c->batches[i].pieces);
	sys_free(c->layers);
	sys_free(c->batches);
	close_writer(c->writer);
	cas_signer_close(c->signer);
	digest_algo_close(c->sha1);
	digest_algo_close(c->md5);
	if (c->before.dir >= 0)
		sys_close(c->before.dir);
	sys_free(c->lost_path);
	output_tree_abort(&c->tree);
	sys_free(c);
}

/* Layers */

int
cas_add(struct cas *c, int in, char why[LAYER_WHY])
{
	const struct tar_archive_options o = { .threads = c->o->threads,
		.refuse_empty = c->o->refuse_empty };
	struct cas_layer *layer = sys_calloc(1, sizeof(*layer));
	static const struct pipeline_ops ops = {
		.fill = fill_batch, .worker_open = open_writer,
		.worker_close = close_writer, .work = write_objects,
		.join = keep_objects,
	};
	struct pipeline_params params = { .threads = c->o->threads,
		.slots = (unsigned)c->slots, .out_fd = -1,
		.progress = c->o->progress };
	struct pipeline_stats stats = { 0 };
	struct cas_cut cut = { .c = c, .layer = layer };
	void *layers = c->layers;
	struct tar_archive a;
	int rc = layer == NULL ? -ENOMEM : array_grow(&layers, c->layer_count,
	    &c->layer_cap, sizeof(struct cas_layer *));

	*why = '\0';
	c->why = why;
	c->layers = layers;
	if (rc != 0) {
		sys_free(layer);
		return explain(rc, why);
	}
	c->layers[c->layer_count++] = layer;
	rc = tar_archive_open(&a, in, &o);
	if (rc == 0) {
		cut.tar = a.tar;
		rc = pipeline_run(&ops, &cut, NULL, &params, &stats);
	}
	if (rc == 0)
		rc = tar_archive_end(&a);
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", tar_archive_why(&a, rc));
	if (rc == 0 && tar_flaw(a.tar) != NULL)
		snprintf(why, LAYER_WHY, "%s", tar_flaw(a.tar));
	tar_archive_close(&a);
	index_finish(&layer->l.index);
	return explain(rc, why);
}

/* The end */

static int
by_hash(const void *a, const void *b)
{
	const struct cas_object *x = *(struct cas_object *const *)a;
	const struct cas_object *y = *(struct cas_object *const *)b;
	int order = memcmp(x->hash, y->hash, CAS_HASH);

	return order != 0 ? order : x->suffix - y->suffix;
}

/*
 * Removes the objects that the tree does not use, and counts the others.
 * live[i] tells whether the tree uses object i of all layers, of which layer k
 * has those from first[k] on.
 */
static int
sweep_objects(struct cas *c, const struct merge *tree)
{
	size_t *first = sys_calloc(c->layer_count + 1, sizeof(*first));
	size_t nodes = merge_count(tree), n = 0, distinct = 0;
	char path[CAS_PATH];
	const struct cas_object **all = NULL;
	bool *live = NULL;
	int rc = -ENOMEM;

	if (first == NULL)
		return rc;
	for (size_t i = 0; i < c->layer_count; i++)
		first[i + 1] = first[i] + c->layers[i]->object_count;
	all = sys_calloc(first[c->layer_count] + 1, sizeof(*all));
	live = sys_calloc(first[c->layer_count] + 1, sizeof(*live));
	if (all == NULL || live == NULL)
		goto out;
	for (size_t i = 0; i < nodes; i++) {
		const struct merge_node *node = merge_node(tree, (uint32_t)i);
		const struct layer_entry *e = node->entry;

		if (merge_type(node) != TAR_FILE || node->inode != i)
			continue;
		c->r->files_B += e->size;
		c->r->chunks += e->run_count > 1 ? e->run_count : 0;
		for (size_t k = 0; k < e->run_count; k++)
			live[first[node->layer] + e->runs[k].unit] = true;
	}
	/* the live objects, sorted and without duplicates */
	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++)
			if (live[first[i] + k])
				all[n++] = &c->layers[i]->objects[k];
	qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 0; i < n; i++)
		if (distinct == 0 || by_hash(&all[distinct - 1], &all[i]) != 0)
			all[distinct++] = all[i];
	for (size_t i = 0; i < distinct; i++)
		c->r->objects_B += all[i]->stored;
	c->r->objects += distinct;
	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++) {
			const struct cas_object *o = &c->layers[i]->objects[k];

			if (live[first[i] + k] || bsearch(&o, all, distinct,
			    sizeof(*all), by_hash) != NULL)
				continue;
			cas_object_path(path, o->hash, o->suffix);
			rc = sys_unlinkat(c->tree.dir, path, 0);
			/* several units may share an object */
			if (rc != 0 && rc != -ENOENT)
				goto out;
		}
	rc = 0;
out:
	sys_free(all);
	sys_free(live);
	sys_free(first);
	return rc;
}

/*
 * The time of publication is that of the newest entry, so that the output does
 * not depend on the current time; but clients refuse what is older than what
 * they have, and so, after a date in the future, everything.
 */
static int64_t
time_of_publication(const struct cas *c)
{
	int64_t now = utc_now_ns() / 1000000000, t = c->newest < now ?
	    c->newest : now;

	return t > c->before.time ? t : c->before.time;
}

int
cas_finish(struct cas *c, struct cas_result *r, char why[LAYER_WHY])
{
	struct layer **layers = sys_calloc(c->layer_count + 1,
	    sizeof(struct layer *));
	struct merge *tree = NULL;
	struct cas_nested root;
	int rc = layers == NULL ? -ENOMEM : 0;

	*why = '\0';
	*r = (struct cas_result){ .objects = 1, .objects_B = c->empty.stored };
	c->why = why;
	c->r = r;
	c->published = time_of_publication(c);
	r->revision = c->o->revision != 0 ? c->o->revision :
	    c->before.revision + 1;
	for (size_t i = 0; rc == 0 && i < c->layer_count; i++)
		layers[i] = &c->layers[i]->l;
	if (rc == 0)
		rc = merge_build(&tree, layers, c->layer_count, MERGE_MERGED,
		    why);
	sys_free(layers);
	if (rc != 0)
		goto out;
	r->entries = merge_count(tree);
	rc = sweep_objects(c, tree);
	if (rc == 0)
		rc = cas_write_catalogs(c, tree, &root);
	if (rc == 0)
		rc = cas_publish(c, &root);
	if (rc == 0 && c->before.dir >= 0)
		rc = cas_before_keep(c);
	if (rc == 0)
		rc = sys_syncfs(c->tree.dir);
	if (rc == 0)
		rc = output_tree_commit(&c->tree);
	if (rc == 0 && c->xattrs_lost > 0)
		snprintf(why, LAYER_WHY, "%.120s: extended attributes of more "
		    "than %d bytes are left out (%zu files in all)",
		    c->lost_path, CAS_XATTR_MAX, c->xattrs_lost);
out:
	merge_free(tree);
	return explain(rc, why);
}
