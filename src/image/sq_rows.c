/*
 * sq_rows.c - what a walk over a squashfs image tells
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_walk.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
sq_rows_damage(void *arg, uint64_t offset, const char *path,
    const char *reason)
{
	struct sq_walk *w = arg;
	const struct walk_damage d = { offset, path, reason };
	int rc = 0;

	w->r->damaged++;
	if (w->o->damage != NULL && !w->stop)
		rc = w->o->damage(w->o->arg, &d);
	if (rc != 0)
		sq_walk_fail(w, rc);
}

static void
tell(struct sq_walk *w, const struct walk_file *f)
{
	struct walk_result *r = w->r;
	int rc;

	if (w->stop)
		return;
	r->files += f->type == WALK_FILE;
	r->links += f->type == WALK_LINK;
	r->others += f->type == WALK_OTHER;
	r->bytes += f->size;
	r->duplicates += f->duplicate_of != NULL;
	r->errors += f->err != 0;
	rc = w->o->row(w->o->arg, f);
	if (rc != 0)
		sq_walk_fail(w, rc);
}

/* Bytes and number of the blocks that are not holes. */
static void
count_blocks(struct walk_file *f, const struct sq_data *d)
{
	f->compressed_B = f->blocks = 0;
	for (uint32_t i = 0; i < d->block_count; i++) {
		uint32_t size = load_le32(d->blocks + 4 * (size_t)i) &
		    (SQUASHFS_BLOCK_RAW - 1);

		f->compressed_B += size;
		f->blocks += size != 0;
	}
}

void
sq_rows_data(struct sq_rows *s, const struct sq_data *d)
{
	struct sq_tree *t = &s->w->tree;
	struct walk_file f = { .type = WALK_FILE, .size = d->size,
	    .fragment = d->fragment == SQUASHFS_NONE ? -1 :
	    (int64_t)d->fragment,
	    .first_read_ns = d->first_ns, .err = d->err };
	const char *first;

	count_blocks(&f, d);
	if (f.err == 0) {
		f.digest_len = digest_len(s->w->o->digest);
		memcpy(f.digest, d->digest, sizeof(f.digest));
	}
	f.path = first = sq_tree_path(t, &t->entries[d->entry], &s->paths[0]);
	if (first == NULL) {
		sq_walk_fail(s->w, -ENOMEM);
		return;
	}
	tell(s->w, &f);
	f.duplicate_of = first;
	f.first_read_ns = -1;
	for (uint32_t i = t->entries[d->entry].next; i != SQ_NIL;
	    i = t->entries[i].next) {
		f.path = sq_tree_path(t, &t->entries[i], &s->paths[1]);
		if (f.path == NULL) {
			sq_walk_fail(s->w, -ENOMEM);
			return;
		}
		tell(s->w, &f);
	}
}

void
sq_rows_bad(struct sq_rows *s, struct sq_data *d, uint64_t offset, int err,
    const char *reason)
{
	const struct sq_tree *t = &s->w->tree;

	d->err = err;
	pthread_mutex_lock(&s->w->rows);
	for (uint32_t i = d->entry; i != SQ_NIL; i = t->entries[i].next) {
		const char *path = sq_tree_path(t, &t->entries[i],
		    &s->paths[0]);

		if (path == NULL)
			sq_walk_fail(s->w, -ENOMEM);
		else
			sq_rows_damage(s->w, offset, path, reason);
	}
	pthread_mutex_unlock(&s->w->rows);
}

static void
row_of(struct sq_rows *s, const struct sq_entry *e)
{
	struct sq_walk *w = s->w;
	struct walk_file f = { .compressed_B = -1, .blocks = -1,
	    .fragment = -1, .first_read_ns = -1 };

	f.type = e->type == SQUASHFS_FILE ? WALK_FILE :
	    e->type == SQUASHFS_LINK ? WALK_LINK :
	    e->type == SQUASHFS_DIR ? WALK_DIR : WALK_OTHER;
	f.err = e->bad ? -EBADMSG : 0;
	f.path = sq_tree_path(&w->tree, e, &s->paths[0]);
	if (f.path == NULL) {
		sq_walk_fail(w, -ENOMEM);
		return;
	}
	/* the damage of a directory has been told when it was met */
	if (e->bad && e->type != SQUASHFS_DIR)
		sq_rows_damage(w, squashfs_inode_at(w->q, e->ref), f.path,
		    "the inode of a file is damaged");
	tell(w, &f);
}

/* An inode that is not a file's is read to see whether it is whole. */
static void
check_inode(const struct squashfs *q, struct sq_entry *e)
{
	struct squashfs_inode n;

	if (e->type != SQUASHFS_FILE && !e->bad &&
	    (squashfs_inode(q, e->ref, &n) != 0 || n.type != e->type))
		e->bad = true;
}

void
sq_rows_rest(struct sq_rows *s)
{
	struct sq_tree *t = &s->w->tree;

	for (size_t i = 0; i < t->count && !s->w->stop; i++) {
		struct sq_entry *e = &t->entries[i];

		check_inode(s->w->q, e);
		if (e->type == SQUASHFS_FILE && !e->bad)
			continue;
		pthread_mutex_lock(&s->w->rows);
		row_of(s, e);
		pthread_mutex_unlock(&s->w->rows);
	}
}

void
sq_rows_free(struct sq_rows *s)
{
	sys_free(s->paths[0].s);
	sys_free(s->paths[1].s);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

/* The place of path among those asked for, or SIZE_MAX. */
static size_t
place_of(const struct walk_options *o, const char *path)
{
	const char *const *p = bsearch(path, o->only, o->only_count,
	    sizeof(*o->only), compare_names);

	return p == NULL ? SIZE_MAX : (size_t)(p - o->only);
}

static int
select_all(struct sq_walk *w, struct sq_path *path, uint8_t *found)
{
	struct sq_tree *t = &w->tree;
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		const char *s = sq_tree_path(t, &t->entries[i], path);
		size_t k;

		if (s == NULL)
			return -ENOMEM;
		k = place_of(w->o, s);
		if (k == SIZE_MAX)
			continue;
		found[k] = 1;
		t->entries[kept++] = t->entries[i];
	}
	t->count = kept;
	for (size_t i = 1; i < t->dir_count; i++) {
		const char *s = sq_tree_dir_path(t, (uint32_t)i, path);
		size_t k;

		if (s == NULL)
			return -ENOMEM;
		k = place_of(w->o, s);
		/* a damaged directory is an entry with a row already */
		if (k != SIZE_MAX && found[k] == 0)
			found[k] = 2;
	}
	return 0;
}

int
sq_rows_select(struct sq_walk *w)
{
	struct walk_file f = { .compressed_B = -1, .blocks = -1,
	    .fragment = -1, .first_read_ns = -1 };
	struct sq_path path = { 0 };
	uint8_t *found;
	int rc;

	if (w->o->only == NULL)
		return 0;
	found = sys_calloc(w->o->only_count + 1, 1);
	if (found == NULL)
		return -ENOMEM;
	rc = select_all(w, &path, found);
	for (size_t i = 0; rc == 0 && i < w->o->only_count; i++) {
		if (found[i] == 1)
			continue;
		f.path = w->o->only[i];
		f.type = found[i] == 2 ? WALK_DIR : WALK_OTHER;
		f.err = found[i] == 2 ? -EISDIR : -ENOENT;
		tell(w, &f);
	}
	sys_free(path.s);
	sys_free(found);
	return rc;
}
