/*
 * walk_dir.c - reading every file of a directory with many threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading a cold file mostly means waiting for its inode and its blocks, so
 * there are more readers than threads that may hash at a time.  Each reader
 * opens a file, reads it and, while holding one of options->threads places,
 * hashes the data.  Files are read in inode order, which on ext4 and similar
 * filesystems is roughly disk order.
 *
 * A file with several names is read by the first thread to encounter it.  Its
 * rows are reported at the end, when all of its names are known.
 */
#include "walk/walk.h"

#include "base/array.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

enum {
	READERS = 8,			/* readers per hashing thread */
	READERS_MAX = 64,
	PIECE_B = 256 << 10,
};

/* A file with several names, which may be found in any order. */
struct linked_file {
	dev_t dev;
	ino_t ino;
	struct walk_file file;		/* without its path */
	size_t *entries;		/* its names, as entries of the tree */
	size_t count, cap;
};

struct walk {
	const struct walk_options *o;
	struct walk_result *r;
	struct tree tree;
	int root;
	const char *name;		/* name of a root that is a file, or
					 * NULL */
	atomic_size_t next;		/* the next entry */

	pthread_mutex_t place_lock;
	pthread_cond_t place_free;
	unsigned places;		/* threads that may yet start to hash */

	pthread_mutex_t lock;		/* protects everything below, and r */
	struct linked_file *linked;
	size_t linked_count, linked_cap;
	size_t *table;			/* hash table of 1 + index in linked */
	size_t table_size;		/* a power of 2 */
	int err;
};

/* A thread. */
struct reader {
	struct walk *w;
	struct digest *digest;
	uint8_t *buf;
	uint64_t mine;			/* for o->look */
	uint64_t read_B, stored_B;	/* as in walk_result, for this thread */
	struct tree_path path;
	int err;			/* the error that ended the walk */
};

/* The file that a thread has opened. */
struct open_file {
	int fd;
	struct stat st;
	struct walk_file file;
	uint64_t asked_ns;		/* time before the file was opened */
	const struct walk_range *ranges;	/* NULL: the whole file */
	size_t range_count;
};

static bool
is_canceled(const struct walk_options *o)
{
	return o->cancel != NULL && atomic_load(o->cancel);
}

/* Reading */

static int
hash_piece(struct reader *rd, size_t len)
{
	struct walk *w = rd->w;
	int rc;

	if (digest_len(w->o->digest) == 0)
		return 0;
	pthread_mutex_lock(&w->place_lock);
	while (w->places == 0)
		pthread_cond_wait(&w->place_free, &w->place_lock);
	w->places--;
	pthread_mutex_unlock(&w->place_lock);
	rc = digest_add(rd->digest, rd->buf, len);
	pthread_mutex_lock(&w->place_lock);
	w->places++;
	pthread_cond_signal(&w->place_free);
	pthread_mutex_unlock(&w->place_lock);
	return rc;
}

/*
 * Reads up to size bytes, but at most one piece, or fewer at the end of the
 * file; interrupted and short calls are continued.  At the size that the file
 * had, it does not ask for more.
 */
static int
read_at(struct reader *rd, struct open_file *f, size_t size, off_t *at,
    bool *end)
{
	const struct walk_options *o = rd->w->o;
	size_t done = 0;

	*end = false;
	while (done < size && !*end) {
		ssize_t n = sys_pread(f->fd, rd->buf + done, size - done,
		    *at + (off_t)done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		done += (size_t)n;
		*end = n == 0 || *at + (off_t)done == f->st.st_size;
	}
	if (f->file.first_read_ns < 0)
		f->file.first_read_ns = (int64_t)(sys_now_ns() - f->asked_ns);
	*at += (off_t)done;
	rd->read_B += done;
	rd->stored_B += done;
	if (o->progress != NULL)
		o->progress(o->arg, done);
	return hash_piece(rd, done);
}

static int
read_whole(struct reader *rd, struct open_file *f)
{
	const struct walk_options *o = rd->w->o;
	bool end = false;
	off_t at = 0;
	int rc = 0;

	while (rc == 0 && !end) {
		off_t data = at + (off_t)hole_at(f->fd, &f->st, (uint64_t)at);

		if (is_canceled(o))
			return -ECANCELED;
		if (data == at) {
			rc = read_at(rd, f, PIECE_B, &at, &end);
			/*
			 * this saves a call per file; growth is detected later
			 * as a change
			 */
			end |= at == f->st.st_size;
			continue;
		}
		/* add zeros to the digest for the hole, without reading it */
		rd->read_B += (uint64_t)(data - at);
		if (digest_len(o->digest) == 0)
			at = data;
		else
			memset(rd->buf, 0, PIECE_B);
		while (at < data && rc == 0) {
			size_t n = data - at < PIECE_B ? (size_t)(data - at) :
			    PIECE_B;

			rc = is_canceled(o) ? -ECANCELED : hash_piece(rd, n);
			at += (off_t)n;
		}
		end = at == f->st.st_size;
	}
	f->file.size = (uint64_t)at;
	return rc;
}

/* Returns the part of a range that is within the file. */
static struct walk_range
range_within(const struct open_file *f, const struct walk_range *r)
{
	uint64_t size = (uint64_t)f->st.st_size;
	uint64_t at = r->offset < size ? r->offset : size;

	return (struct walk_range){ .offset = at,
		.len = size - at < r->len ? size - at : r->len };
}

static int
read_ranges(struct reader *rd, struct open_file *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->range_count; i++) {
		struct walk_range r = range_within(f, &f->ranges[i]);
		off_t at = (off_t)r.offset, stop = at + (off_t)r.len;
		bool end = false;

		while (rc == 0 && at < stop && !end) {
			size_t n = stop - at < PIECE_B ? (size_t)(stop - at) :
			    PIECE_B;

			rc = is_canceled(rd->w->o) ? -ECANCELED :
			    read_at(rd, f, n, &at, &end);
		}
	}
	f->file.size = (uint64_t)f->st.st_size;
	return rc;
}

/*
 * Reads the open regular file, or only calls look, and fills in the row.
 * Returns 0, -EAGAIN (the file has changed), -ECANCELED, or -errno from a read.
 */
static int
read_file(struct reader *rd, struct open_file *f)
{
	const struct walk_options *o = rd->w->o;
	const struct stat *st = &f->st;
	/* the number of bytes to be read; ranges do not overlap */
	uint64_t asked_B = f->ranges == NULL ? UINT64_MAX : 0;
	struct stat now;
	int rc = 0;

	for (size_t i = 0; f->ranges != NULL && i < f->range_count; i++)
		asked_B += range_within(f, &f->ranges[i]).len;
	if (o->look != NULL)
		o->look(o->arg, f->fd, st, false, asked_B, &rd->mine);
	if (o->look_only)
		return 0;
	rc = digest_start(rd->digest);
	/* data between ranges is not needed */
	if (f->ranges != NULL)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
	else if (st->st_size > PIECE_B)
		posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (rc == 0)
		rc = f->ranges != NULL ? read_ranges(rd, f) :
		    read_whole(rd, f);
	if (rc == 0 && (fstat(f->fd, &now) == -1 ||
	    now.st_size != st->st_size ||
	    now.st_mtim.tv_sec != st->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != st->st_mtim.tv_nsec ||
	    (st->st_size != 0 && f->file.size != (uint64_t)now.st_size)))
		rc = -EAGAIN;
	if (rc == 0)
		rc = digest_end(rd->digest, f->file.digest);
	if (rc == 0)
		f->file.digest_len = digest_len(o->digest);
	if (o->look != NULL)
		o->look(o->arg, f->fd, st, true, asked_B, &rd->mine);
	return rc;
}

/* Files with several names, with the lock held */

/* Returns the slot of a file in the table, or the slot to insert it at. */
static size_t
slot_of_link(const struct walk *w, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 32) *
	    UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(h >> 20) & (w->table_size - 1);

	while (w->table[i] != 0) {
		const struct linked_file *k = &w->linked[w->table[i] - 1];

		if (k->dev == dev && k->ino == ino)
			break;
		i = (i + 1) & (w->table_size - 1);
	}
	return i;
}

/*
 * Adds a name of the file described by st: the entry with the given index.
 * Returns 1 if it is the first name, so that the caller must read the file; 0
 * if another thread reads it; or -ENOMEM.  *index is the file's index.
 */
static int
join_links(struct walk *w, const struct stat *st, size_t entry, size_t *index)
{
	size_t size = w->table_size == 0 ? 256 : 2 * w->table_size, slot;
	struct linked_file *k;
	void *items;
	bool first;
	int rc;

	/* the table is never more than half full */
	if (w->table_size <= 2 * w->linked_count) {
		size_t *table = sys_calloc(size, sizeof(*table));

		if (table == NULL)
			return -ENOMEM;
		sys_free(w->table);
		w->table = table;
		w->table_size = size;
		for (size_t i = 0; i < w->linked_count; i++)
			table[slot_of_link(w, w->linked[i].dev,
			    w->linked[i].ino)] = 1 + i;
	}
	slot = slot_of_link(w, st->st_dev, st->st_ino);
	first = w->table[slot] == 0;
	if (first) {
		items = w->linked;
		rc = array_grow(&items, w->linked_count, &w->linked_cap,
		    sizeof(*w->linked));
		w->linked = items;
		if (rc != 0)
			return rc;
		w->linked[w->linked_count++] = (struct linked_file){
		    .dev = st->st_dev, .ino = st->st_ino };
		w->table[slot] = w->linked_count;
	}
	*index = w->table[slot] - 1;
	k = &w->linked[*index];
	items = k->entries;
	rc = array_grow(&items, k->count, &k->cap, sizeof(*k->entries));
	k->entries = items;
	if (rc != 0)
		return rc;
	k->entries[k->count++] = entry;
	return first;
}

/* Finds the first name in byte order. */
static int
first_name(const struct tree *t, const struct linked_file *k,
    struct tree_path *least)
{
	struct tree_path p = { NULL, 0 };
	int rc = tree_path(t, &t->entries[k->entries[0]], least);

	for (size_t i = 1; i < k->count && rc == 0; i++) {
		rc = tree_path(t, &t->entries[k->entries[i]], &p);
		if (rc == 0 && strcmp(p.s, least->s) < 0) {
			struct tree_path swap = p;

			p = *least;
			*least = swap;
		}
	}
	sys_free(p.s);
	return rc;
}

/* Rows */

/* Called with the lock held. */
static void
report_file(struct walk *w, const struct walk_file *f)
{
	struct walk_result *r = w->r;
	int rc;

	r->files += f->type == WALK_FILE;
	r->links += f->type == WALK_LINK;
	r->others += f->type == WALK_OTHER;
	r->bytes += f->size;
	r->duplicates += f->duplicate_of != NULL;
	r->errors += f->err != 0;
	rc = w->o->row == NULL ? 0 : w->o->row(w->o->arg, f);
	if (rc != 0 && w->err == 0)
		w->err = rc;
}

/*
 * Reports the files with several names, once for each name.  For all but the
 * first name in byte order, duplicate_of is that first name.
 */
static int
report_links(struct walk *w)
{
	struct tree_path least = { NULL, 0 }, p = { NULL, 0 };
	int rc = 0;

	for (size_t i = 0; i < w->linked_count && rc == 0; i++) {
		struct linked_file *k = &w->linked[i];

		rc = first_name(&w->tree, k, &least);
		for (size_t n = 0; n < k->count && rc == 0; n++) {
			rc = tree_path(&w->tree,
			    &w->tree.entries[k->entries[n]], &p);
			if (rc != 0)
				break;
			k->file.path = p.s;
			k->file.duplicate_of = strcmp(p.s, least.s) == 0 ?
			    NULL : least.s;
			report_file(w, &k->file);
			rc = w->err;
			/* the file was read under only one of its names */
			k->file.first_read_ns = -1;
		}
	}
	sys_free(p.s);
	sys_free(least.s);
	return rc;
}

/* Processes one entry.  Returns 0, or the -errno that ends the walk. */
static int
process_entry(struct reader *rd, size_t i)
{
	struct walk *w = rd->w;
	const struct tree_entry *e = &w->tree.entries[i];
	struct open_file f = { .fd = -1, .file = {
	    .type = e->type, .err = e->err, .compressed_B = -1,
	    .blocks = -1, .fragment = -1, .first_read_ns = -1 } };
	int rc = tree_path(&w->tree, e, &rd->path);
	bool linked = false;
	size_t index = 0;

	if (rc != 0)
		return rc;
	f.file.path = rd->path.s;
	if (w->o->ranges != NULL && w->name == NULL) {
		/* entries from a list have their index as inode number */
		size_t from = e->ino == 0 ? 0 : w->o->range_ends[e->ino - 1];

		f.ranges = w->o->ranges + from;
		f.range_count = w->o->range_ends[e->ino] - from;
	}
	if (e->type == WALK_FILE) {
		f.asked_ns = sys_now_ns();
		f.fd = w->name != NULL ? w->root :
		    tree_open(w->root, rd->path.s, 0);
		if (f.fd < 0)
			f.file.err = f.fd;
		else if (fstat(f.fd, &f.st) == -1)
			f.file.err = -errno;
		else
			f.file.type = tree_type(f.st.st_mode);
	}
	if (f.file.err == 0 && f.file.type == WALK_DIR)
		f.file.err = -EISDIR;
	if (f.file.err == 0 && f.file.type == WALK_FILE) {
		linked = f.st.st_nlink > 1 && w->name == NULL;
		if (linked) {
			pthread_mutex_lock(&w->lock);
			rc = join_links(w, &f.st, i, &index);
			pthread_mutex_unlock(&w->lock);
			if (rc <= 0)
				goto out;
		}
		f.file.size = (uint64_t)f.st.st_size;
		rc = read_file(rd, &f);
		if (rc == -ECANCELED)
			goto out;
		f.file.err = rc;
	}
	rc = 0;
	pthread_mutex_lock(&w->lock);
	if (linked)
		w->linked[index].file = f.file;
	else
		report_file(w, &f.file);
	pthread_mutex_unlock(&w->lock);
out:
	if (f.fd >= 0 && f.fd != w->root)
		sys_close(f.fd);
	return rc;
}

static void
reader(void *arg, unsigned index)
{
	struct reader *rd = (struct reader *)arg + index;
	struct walk *w = rd->w;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		size_t i;

		if (w->err == 0 && is_canceled(w->o))
			w->err = -ECANCELED;
		if (w->err != 0)
			break;
		pthread_mutex_unlock(&w->lock);
		i = atomic_fetch_add(&w->next, 1);
		if (i < w->tree.count)
			rd->err = process_entry(rd, i);
		pthread_mutex_lock(&w->lock);
		if (rd->err != 0 || i >= w->tree.count)
			break;
	}
	if (w->err == 0)
		w->err = rd->err;
	w->r->read_B += rd->read_B;
	w->r->stored_B += rd->stored_B;
	pthread_mutex_unlock(&w->lock);
}

/*
 * Reports the amount of data to read.  A file that cannot be examined is
 * counted as empty.
 */
static int
report_plan(struct walk *w)
{
	uint64_t files = 0, bytes = 0;
	struct tree_path p = { NULL, 0 };
	int rc = 0;

	for (size_t i = 0; i < w->tree.count && rc == 0; i++) {
		struct tree_entry *e = &w->tree.entries[i];
		struct stat st;

		if (e->type != WALK_FILE)
			continue;
		rc = is_canceled(w->o) ? -ECANCELED :
		    tree_path(&w->tree, e, &p);
		files++;
		if (rc == 0 && fstatat(w->root, p.s, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size / st.st_nlink;
	}
	sys_free(p.s);
	if (rc == 0)
		w->o->plan(w->o->arg, files, bytes);
	return rc;
}

int
walk_dir(int dirfd, const char *name, const struct walk_options *o,
    struct walk_result *r)
{
	struct walk w = { .o = o, .r = r, .root = dirfd, .places = o->threads };
	/* most readers wait for the disk */
	unsigned want = o->threads > READERS_MAX / READERS ? READERS_MAX :
	    READERS * o->threads, n = 0;
	struct reader *all = NULL;
	struct stat st;
	int rc;

	want = want < o->threads ? o->threads : want;
	*r = (struct walk_result){ .files = 0 };
	if (fstat(dirfd, &st) == -1)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		w.name = name;
	pthread_mutex_init(&w.lock, NULL);
	pthread_mutex_init(&w.place_lock, NULL);
	pthread_cond_init(&w.place_free, NULL);
	if (w.name != NULL) {
		rc = tree_from_paths(&w.tree, &w.name, 1);
	} else if (o->only != NULL) {
		rc = tree_from_paths(&w.tree, o->only, o->only_count);
	} else {
		rc = tree_scan(&w.tree, w.root, want < READERS_MAX ? want :
		    READERS_MAX, o->cancel);
		if (rc == 0)
			tree_sort(&w.tree);
		r->dirs = w.tree.dir_count;
	}
	if (rc == 0 && o->plan != NULL)
		rc = report_plan(&w);
	if (rc != 0)
		goto out;
	if (w.tree.count < want)
		want = w.tree.count == 0 ? 1 : (unsigned)w.tree.count;
	all = sys_calloc(want, sizeof(*all));
	if (all == NULL)
		rc = -ENOMEM;
	/* it is not an error if some readers cannot be opened */
	while (rc == 0 && n < want) {
		struct reader *rd = &all[n];

		rd->w = &w;
		rd->buf = sys_malloc(PIECE_B);
		rc = rd->buf == NULL ? -ENOMEM :
		    digest_new(&rd->digest, o->digest);
		n += rc == 0;
	}
	if (n > 0) {
		parallel_run(n, reader, all);
		rc = w.err;
		if (rc == 0)
			rc = report_links(&w);
	}
	/* including the reader that could not be opened */
	for (unsigned i = 0; all != NULL && i <= n && i < want; i++) {
		digest_free(all[i].digest);
		sys_free(all[i].buf);
		sys_free(all[i].path.s);
	}
out:
	sys_free(all);
	for (size_t i = 0; i < w.linked_count; i++)
		sys_free(w.linked[i].entries);
	sys_free(w.linked);
	sys_free(w.table);
	tree_free(&w.tree);
	pthread_cond_destroy(&w.place_free);
	pthread_mutex_destroy(&w.place_lock);
	pthread_mutex_destroy(&w.lock);
	return rc;
}
