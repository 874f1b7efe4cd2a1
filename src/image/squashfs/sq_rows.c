/*
 * sq_rows.c - what a walk of an image tells of each file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_walk.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* An image can say that a million files share a million blocks. */
enum { DAMAGE_MAX = 1 << 20 };

static const char more_damage[] = "and further damage, not listed";

/* The path of a name in dir, at the end of buf; NULL if it is too long. */
static char *
path_in(const struct sq_image *m, uint32_t dir, const uint8_t *name,
    size_t len, char *buf)
{
	char *p = buf + SQ_PATH_MAX - 1;

	*p = '\0';
	for (;;) {
		if ((size_t)(p - buf) < len + 1)
			return NULL;
		p -= len;
		memcpy(p, name, len);
		if (dir == 0)
			return p;
		*--p = '/';
		name = m->dir[dir].name;
		len = m->dir[dir].name_len;
		dir = m->dir[dir].parent;
	}
}

static char *
path_of(struct sq_walk *w, uint32_t file, char *buf)
{
	const struct sq_file *f = &w->image->file[file];

	return path_in(w->image, f->dir, f->name, f->name_len, buf);
}

static void
call_row(struct sq_walk *w, const struct walk_file *row)
{
	int rc = 0;

	w->r->errors += row->err != 0;
	if (w->o->row != NULL)
		rc = w->o->row(w->o->arg, row);
	if (rc != 0)
		sq_fail(w, rc);
}

static void
call_damage(struct sq_walk *w, uint64_t at, const char *path,
    const char *reason)
{
	const struct walk_damage d = { .offset = at, .path = path,
	    .reason = reason };
	int rc = 0;

	w->r->damaged++;
	if (w->o->damage != NULL)
		rc = w->o->damage(w->o->arg, &d);
	if (rc != 0)
		sq_fail(w, rc);
}

/* How it is stored. */
static void
count_blocks(const struct sq_file *f, struct walk_file *row)
{
	row->blocks = row->compressed_B = 0;
	for (uint32_t k = 0; k < f->blocks; k++) {
		uint32_t word = load_le32(f->sizes + 4 * (size_t)k);

		row->blocks += word != 0;
		row->compressed_B += word & (SQ_STORED - 1);
	}
	row->fragment = f->fragment == SQ_NO_FRAGMENT ? -1 :
	    (int64_t)f->fragment;
}

/* Under lock.  A file of which nothing more is known than its err. */
static void
tell_bare(struct sq_walk *w, const char *path, enum walk_type type, int err)
{
	call_row(w, &(struct walk_file){ .path = path, .type = type,
	    .compressed_B = -1, .blocks = -1, .fragment = -1,
	    .first_read_ns = -1, .err = err });
}

/* What is asked for */

static size_t
find_wanted(const struct walk_options *o, const char *path)
{
	size_t lo = 0, hi = o->only_count;

	while (path != NULL && lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(path, o->only[mid]);

		if (c == 0)
			return mid;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return o->only_count;
}

int
sq_rows_select(struct sq_walk *w)
{
	const struct walk_options *o = w->o;
	struct sq_image *m = w->image;
	bool *seen;

	if (o->only == NULL)
		return 0;
	seen = sys_calloc(o->only_count + 1, sizeof(*seen));
	if (seen == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->file_count; i++) {
		size_t k = find_wanted(o, path_of(w, i, w->path));

		seen[k] = true;
		m->file[i].skip = k == o->only_count;
	}
	for (size_t i = 1; i < m->dir_count; i++) {
		const struct sq_dir *d = &m->dir[i];
		const char *path = path_in(m, d->parent, d->name, d->name_len,
		    w->path);
		size_t k = find_wanted(o, path);

		if (k < o->only_count && !seen[k])
			tell_bare(w, path, WALK_DIR, -EISDIR);
		seen[k] = true;
	}
	for (size_t k = 0; k < o->only_count; k++)
		if (!seen[k])
			tell_bare(w, o->only[k], WALK_OTHER, -ENOENT);
	sys_free(seen);
	return 0;
}

/* What has no data */

static void
tell_dir(struct sq_walk *w, const struct sq_dir *d)
{
	char *path;

	w->r->dirs += d != w->image->dir;
	if ((d->bad == NULL && d->flaw == SQ_GOOD) || w->o->only != NULL)
		return;
	path = d == w->image->dir ? NULL :
	    path_in(w->image, d->parent, d->name, d->name_len, w->path);
	call_damage(w, w->image->super.inodes + (d->ref >> 16),
	    path, d->bad != NULL ? d->bad : sq_flaw_text(d->flaw));
	if (path != NULL)
		tell_bare(w, path, WALK_DIR, -EBADMSG);
}

/* An empty file, a link, a device, or what is damaged. */
static void
tell_other(struct sq_walk *w, const struct sq_file *f, const char *path,
    const uint8_t *empty)
{
	static const enum walk_type types[] = { [SQ_FILE] = WALK_FILE,
		[SQ_LINK] = WALK_LINK, [SQ_OTHER] = WALK_OTHER };
	struct walk_file row = { .path = path, .type = types[f->type],
	    .size = f->size, .fragment = -1, .first_read_ns = -1,
	    .err = sq_file_bad(f) ? -EBADMSG : 0 };

	if (path == NULL) {
		call_damage(w, w->image->super.inodes + (f->ref >> 16), NULL,
		    "a path is longer than 64 KiB");
		w->r->errors++;
		return;
	}
	if (row.err == 0 && f->type == SQ_FILE) {
		row.digest_len = digest_len(w->o->digest);
		memcpy(row.digest, empty, row.digest_len);
	}
	call_row(w, &row);
}

static void
tell_flaw(struct sq_walk *w, const struct sq_file *f, const char *path)
{
	if (f->flaw != SQ_GOOD && path != NULL && w->r->damaged < DAMAGE_MAX)
		call_damage(w, w->image->super.inodes + (f->ref >> 16), path,
		    w->r->damaged + 1 < DAMAGE_MAX ? sq_flaw_text(f->flaw) :
		    more_damage);
}

static void
count_file(struct walk_result *r, const struct sq_file *f)
{
	if (f->type == SQ_FILE)
		r->files++;
	else if (f->type == SQ_LINK)
		r->links++;
	else
		r->others++;
	r->bytes += f->size;
	r->duplicates += f->again;
}

int
sq_rows_rest(struct sq_walk *w)
{
	const struct sq_image *m = w->image;
	uint8_t empty[DIGEST_MAX];
	struct digest *d;
	int rc = digest_new(&d, w->o->digest);

	if (rc == 0) {
		rc = digest_once(d, "", 0, empty);
		digest_free(d);
	}
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < m->dir_count && !sq_ended(w); i++)
		tell_dir(w, &m->dir[i]);
	for (uint32_t i = 1; i < m->file_count && !sq_ended(w); i++) {
		const struct sq_file *f = &m->file[i];

		if (f->skip)
			continue;
		count_file(w->r, f);
		if (f->flaw != SQ_GOOD)
			tell_flaw(w, f, path_of(w, i, w->path));
		if (f->type != SQ_FILE || sq_file_bad(f) || f->size == 0)
			tell_other(w, f, path_of(w, i, w->path), empty);
	}
	return 0;
}

/* What has */

/* The bytewise first path of the file and its twins, in w->other. */
static const char *
first_path(struct sq_walk *w, uint32_t file)
{
	const char *first = NULL;

	for (uint32_t i = file; i != 0; i = w->image->file[i].twin) {
		const char *path = path_of(w, i, w->path);

		if (path == NULL || (first != NULL && strcmp(path, first) >= 0))
			continue;
		first = memcpy(w->other, path, strlen(path) + 1);
	}
	return first;
}

/* row: what it has in common with its twins */
static void
tell_one(struct sq_walk *w, uint32_t file, struct walk_file row,
    const char *first)
{
	row.path = path_of(w, file, w->path);
	if (row.path == NULL) {
		tell_other(w, &w->image->file[file], NULL, NULL);
		return;
	}
	if (first != NULL && strcmp(first, row.path) != 0)
		row.duplicate_of = first;
	call_row(w, &row);
}

static void
tell_twins(struct sq_walk *w, const struct sq_outcome *o)
{
	const struct sq_file *f = &w->image->file[o->file];
	const char *first = f->twin != 0 ? first_path(w, o->file) : NULL;
	struct walk_file row = { .type = WALK_FILE, .size = f->size,
	    .err = o->err, .first_read_ns = o->first_ns };

	count_blocks(f, &row);
	if (o->err == 0) {
		row.digest_len = digest_len(w->o->digest);
		memcpy(row.digest, o->digest, row.digest_len);
		w->r->read_B += f->size;
	}
	for (uint32_t i = o->file; i != 0; i = w->image->file[i].twin)
		tell_one(w, i, row, first);
}

/* Under lock, which is let go. */
static void
tell_all(struct sq_walk *w, struct sq_teller *t)
{
	for (size_t k = 0; k < t->count; k++)
		tell_twins(w, &t->out[k]);
	pthread_mutex_unlock(&w->lock);
	t->count = 0;
}

void
sq_rows_flush(struct sq_teller *t)
{
	pthread_mutex_lock(&t->w->lock);
	tell_all(t->w, t);
}

/* Some at a time, when nobody else is telling; or when there is no room. */
void
sq_rows_add(struct sq_teller *t, const struct sq_outcome *o)
{
	t->out[t->count++] = *o;
	if (t->count == SQ_TELL)
		sq_rows_flush(t);
	else if (t->count % SQ_TELL_SOME == 0 &&
	    pthread_mutex_trylock(&t->w->lock) == 0)
		tell_all(t->w, t);
}

void
sq_rows_damage(struct sq_walk *w, uint32_t file, uint64_t at,
    const char *reason)
{
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = file; i != 0 && w->r->damaged < DAMAGE_MAX;
	    i = w->image->file[i].twin)
		call_damage(w, at, path_of(w, i, w->path),
		    w->r->damaged + 1 < DAMAGE_MAX ? reason :
		    more_damage);
	pthread_mutex_unlock(&w->lock);
}

void
sq_rows_table(struct sq_walk *w, uint64_t at, const char *reason)
{
	call_damage(w, at, NULL, reason);
}
