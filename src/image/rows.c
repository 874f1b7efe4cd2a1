/*
 * rows.c - the row that a walk of an image reports for each file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rows.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* A crafted image can have a million files that share a million blocks. */
enum { DAMAGE_MAX = 1 << 20 };

static const char more_damage[] = "and more damage, not listed";

static const char *
file_path(struct image_rows *w, uint32_t file, char *buf)
{
	return image_file_path(w->image, file, buf);
}

static uint64_t
where(const struct image_rows *w, const struct image_file *f)
{
	return w->image->source->where(w->image, f->ref);
}

static void
call_row(struct image_rows *w, const struct walk_file *row)
{
	int rc = 0;

	w->r->errors += row->err != 0;
	if (w->o->row != NULL)
		rc = w->o->row(w->o->arg, row);
	if (rc != 0)
		image_end(w->ending, rc);
}

static void
call_damage(struct image_rows *w, uint64_t at, const char *path,
    const char *reason)
{
	const struct walk_damage d = { .offset = at, .path = path,
	    .reason = reason };
	int rc = 0;

	w->r->damaged++;
	if (w->o->damage != NULL)
		rc = w->o->damage(w->o->arg, &d);
	if (rc != 0)
		image_end(w->ending, rc);
}

/*
 * Reports a file for which only the path, the type and err are known; called
 * with the lock held.
 */
static void
report_bare(struct image_rows *w, const char *path, enum walk_type type,
    int err)
{
	call_row(w, &(struct walk_file){ .path = path, .type = type,
	    .compressed_B = -1, .blocks = -1, .fragment = -1,
	    .first_read_ns = -1, .err = err });
}

/* Selection */

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
image_rows_select(struct image_rows *w)
{
	const struct walk_options *o = w->o;
	struct image *m = w->image;
	bool *seen;

	if (o->only == NULL)
		return 0;
	seen = sys_calloc(o->only_count + 1, sizeof(*seen));
	if (seen == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i < m->file_count; i++) {
		size_t k = find_wanted(o, file_path(w, i, w->path));

		seen[k] = true;
		m->file[i].skip = k == o->only_count;
	}
	for (size_t i = 1; i < m->dir_count; i++) {
		const char *path = image_dir_path(m, i, w->path);
		size_t k = find_wanted(o, path);

		if (k < o->only_count && !seen[k])
			report_bare(w, path, WALK_DIR, -EISDIR);
		seen[k] = true;
	}
	for (size_t k = 0; k < o->only_count; k++)
		if (!seen[k])
			report_bare(w, o->only[k], WALK_OTHER, -ENOENT);
	sys_free(seen);
	return 0;
}

/* Files without data */

/* Reports an empty file, a link, a device, or a damaged file. */
static void
report_other(struct image_rows *w, const struct image_file *f, const char *path,
    const uint8_t *empty)
{
	struct walk_file row = { .path = path, .type = f->type,
	    .size = f->size, .fragment = -1, .first_read_ns = -1,
	    .err = f->unreadable ? -EBADMSG : 0 };

	if (path == NULL) {
		call_damage(w, where(w, f), NULL,
		    "a path is longer than 64 KiB");
		w->r->errors++;
		return;
	}
	if (row.err == 0 && f->type == WALK_FILE) {
		row.digest_len = digest_len(w->o->digest);
		memcpy(row.digest, empty, row.digest_len);
	}
	call_row(w, &row);
}

int
image_rows_rest(struct image_rows *w)
{
	const struct image *m = w->image;
	struct walk_result *r = w->r;
	uint8_t empty[DIGEST_MAX];
	struct digest *digest;
	const char *path;
	int rc = digest_new(&digest, w->o->digest);

	if (rc == 0) {
		rc = digest_once(digest, "", 0, empty);
		digest_free(digest);
	}
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < m->dir_count && !image_ended(w->ending); i++) {
		const struct image_dir *d = &m->dir[i];

		r->dirs += i != 0;
		if (d->damage == NULL)
			continue;
		path = i == 0 ? NULL : image_dir_path(m, i, w->path);
		call_damage(w, m->source->where(m, d->ref), path, d->damage);
		if (path != NULL && w->o->only == NULL)
			report_bare(w, path, WALK_DIR, -EBADMSG);
	}
	for (uint32_t i = 1; i < m->file_count && !image_ended(w->ending);
	    i++) {
		const struct image_file *f = &m->file[i];

		path = f->flaw == 0 ? NULL : file_path(w, i, w->path);
		if (path != NULL && r->damaged < DAMAGE_MAX)
			call_damage(w, where(w, f), path,
			    r->damaged + 1 < DAMAGE_MAX ?
			    m->source->flaw(f->flaw) : more_damage);
		if (f->skip)
			continue;
		if (f->type == WALK_FILE)
			r->files++;
		else if (f->type == WALK_LINK)
			r->links++;
		else
			r->others++;
		r->bytes += f->size;
		r->duplicates += f->is_duplicate;
		if (f->type != WALK_FILE || f->unreadable || f->size == 0)
			report_other(w, f, file_path(w, i, w->path), empty);
	}
	return 0;
}

/* Files with data */

/*
 * Returns, in w->other, the first path in byte order among those of the file
 * and its duplicates.
 */
static const char *
first_path(struct image_rows *w, uint32_t file)
{
	const char *first = NULL;

	for (uint32_t i = file; i != 0; i = w->image->file[i].next_duplicate) {
		const char *path = file_path(w, i, w->path);

		if (path == NULL || (first != NULL && strcmp(path, first) >= 0))
			continue;
		first = memcpy(w->other, path, strlen(path) + 1);
	}
	return first;
}

/* Reports a file with data, and its duplicates. */
static void
report_duplicates(struct image_rows *w, const struct image_outcome *o)
{
	const struct image *m = w->image;
	const struct image_file *f = &m->file[o->file];
	const char *first = f->next_duplicate != 0 ?
	    first_path(w, o->file) : NULL;
	struct walk_file row = { .type = WALK_FILE, .size = f->size,
	    .fragment = f->fragment == IMAGE_NONE ? -1 : (int64_t)f->fragment,
	    .err = o->err, .first_read_ns = o->first_ns };
	uint64_t at = f->start;

	for (uint32_t k = 0; k < f->blocks; k++) {
		image_word word = m->source->block(m, f, k, &at);

		row.blocks += word != 0;
		row.compressed_B += (int64_t)image_stored_B(word);
		at += image_stored_B(word);
	}
	if (o->err == 0) {
		row.digest_len = digest_len(w->o->digest);
		memcpy(row.digest, o->digest, row.digest_len);
		w->r->read_B += f->size;
	}
	for (uint32_t i = o->file; i != 0; i = m->file[i].next_duplicate) {
		row.path = file_path(w, i, w->path);
		if (row.path == NULL) {
			report_other(w, &m->file[i], NULL, NULL);
			continue;
		}
		row.duplicate_of = first == NULL ||
		    strcmp(first, row.path) == 0 ? NULL : first;
		call_row(w, &row);
	}
}

/* Reports the batch; called with the lock held, which it releases. */
static void
report_all(struct image_rows *w, struct image_row_batch *t)
{
	for (size_t k = 0; k < t->count; k++)
		report_duplicates(w, &t->out[k]);
	pthread_mutex_unlock(&w->lock);
	t->count = 0;
}

void
image_rows_flush(struct image_row_batch *t)
{
	pthread_mutex_lock(&t->rows->lock);
	report_all(t->rows, t);
}

/*
 * Adds an outcome to the batch.  A full batch is always reported; a partial
 * batch is reported occasionally if no other thread is reporting.
 */
void
image_rows_add(void *batch, const struct image_outcome *o)
{
	struct image_row_batch *t = batch;

	t->out[t->count++] = *o;
	if (t->count == IMAGE_BATCH)
		image_rows_flush(t);
	else if (t->count % IMAGE_BATCH_SOME == 0 &&
	    pthread_mutex_trylock(&t->rows->lock) == 0)
		report_all(t->rows, t);
}

void
image_rows_damage(struct image_rows *w, uint32_t file, uint64_t at,
    const char *reason)
{
	pthread_mutex_lock(&w->lock);
	for (uint32_t i = file; i != 0 && w->r->damaged < DAMAGE_MAX;
	    i = w->image->file[i].next_duplicate)
		call_damage(w, at, file_path(w, i, w->path),
		    w->r->damaged + 1 < DAMAGE_MAX ? reason :
		    more_damage);
	pthread_mutex_unlock(&w->lock);
}

int
image_rows_table(void *rows, uint64_t at, const char *reason)
{
	struct image_rows *w = rows;

	call_damage(w, at, NULL, reason);
	return image_ended(w->ending) ? atomic_load(&w->ending->err) : 0;
}

void
image_rows_stored(struct image_rows *w, uint64_t bytes)
{
	pthread_mutex_lock(&w->lock);
	w->r->stored_B += bytes;
	pthread_mutex_unlock(&w->lock);
}

int
image_rows_open(struct image_rows *w, struct image *m,
    const struct walk_options *o, struct image_ending *e,
    struct walk_result *r)
{
	*w = (struct image_rows){ .image = m, .o = o, .ending = e, .r = r };
	image_lock_init(&w->lock);
	w->path = sys_malloc(IMAGE_PATH_MAX);
	w->other = sys_malloc(IMAGE_PATH_MAX);
	return w->path == NULL || w->other == NULL ? -ENOMEM : 0;
}

void
image_rows_close(struct image_rows *w)
{
	sys_free(w->path);
	sys_free(w->other);
	pthread_mutex_destroy(&w->lock);
}
