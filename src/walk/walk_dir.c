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

#include "base/parallel.h"
#include "base/sys.h"
#include "walk/walk_tree.h"
#include "walk_links.h"
#include "walk_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	READERS = 8,			/* readers per hashing thread */
	READERS_MAX = 64,
	NAMES_B = 512,
};

struct walk {
	const struct walk_options *o;
	struct walk_result *r;
	struct tree tree;
	int root;
	const char *name;		/* name of a root that is a file, or
					 * NULL */
	atomic_size_t next;		/* the next entry */
	struct walk_places places;

	pthread_mutex_t lock;		/* protects everything below, and r */
	struct walk_links links;
	int err;
};

/* A thread. */
struct reader {
	struct walk *w;
	struct walk_reader read;
	struct tree_path path;
	int err;			/* the error that ended the walk */
};

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

static void
report_locked(struct walk *w, const struct walk_file *f)
{
	pthread_mutex_lock(&w->lock);
	report_file(w, f);
	pthread_mutex_unlock(&w->lock);
}

/* Reads the open file.  Returns 0, or the -errno that ends the walk. */
static int
read_or_join(struct reader *rd, struct walk_job *j, size_t entry)
{
	struct walk *w = rd->w;
	bool linked = j->st.st_nlink > 1 && w->name == NULL;
	size_t index = 0;
	int rc;

	if (linked) {
		pthread_mutex_lock(&w->lock);
		rc = walk_links_join(&w->links, &j->st, entry, &index);
		pthread_mutex_unlock(&w->lock);
		if (rc <= 0)
			return rc;
	}
	j->file.size = (uint64_t)j->st.st_size;
	rc = walk_read(&rd->read, j);
	if (rc == -ECANCELED)
		return rc;
	j->file.err = rc;
	if (!linked) {
		report_locked(w, &j->file);
		return 0;
	}
	pthread_mutex_lock(&w->lock);
	w->links.all[index].file = j->file;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

/* Processes one entry.  Returns 0, or the -errno that ends the walk. */
static int
process_entry(struct reader *rd, size_t i)
{
	struct walk *w = rd->w;
	const struct tree_entry *e = &w->tree.entries[i];
	struct walk_job j = { .fd = -1, .file = {
	    .type = e->type, .err = e->err, .compressed_B = -1,
	    .blocks = -1, .fragment = -1, .first_read_ns = -1 } };
	int rc = tree_path(&w->tree, e, &rd->path);

	if (rc != 0)
		return rc;
	j.file.path = rd->path.s;
	if (w->o->ranges != NULL && w->name == NULL) {
		/* entries from a list have their index as inode number */
		size_t from = e->ino == 0 ? 0 : w->o->range_ends[e->ino - 1];

		j.ranges = w->o->ranges + from;
		j.range_count = w->o->range_ends[e->ino] - from;
	}
	if (e->type == WALK_FILE) {
		j.asked_ns = sys_now_ns();
		j.fd = w->name != NULL ? w->root :
		    tree_open(w->root, rd->path.s, 0);
		if (j.fd < 0)
			j.file.err = j.fd;
		else if (fstat(j.fd, &j.st) == -1)
			j.file.err = -errno;
		else
			j.file.type = tree_type(j.st.st_mode);
	}
	if (j.file.err == 0 && j.file.type == WALK_DIR)
		j.file.err = -EISDIR;
	if (j.file.err == 0 && j.file.type == WALK_FILE)
		rc = read_or_join(rd, &j, i);
	else
		report_locked(w, &j.file);
	if (j.fd >= 0 && j.fd != w->root)
		sys_close(j.fd);
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

		if (w->err == 0 && walk_canceled(w->o))
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
	w->r->read_B += rd->read.read_B;
	w->r->stored_B += rd->read.stored_B;
	pthread_mutex_unlock(&w->lock);
}

/* Threads */

/* Returns the number of threads to run, most of which wait for the disk. */
static unsigned
reader_count(const struct walk_options *o)
{
	unsigned n = o->threads > READERS_MAX / READERS ? READERS_MAX :
	    READERS * o->threads;

	return n < o->threads ? o->threads : n;
}

/* Runs the readers; it is not an error if some threads cannot be started. */
static int
run_readers(struct walk *w)
{
	size_t count = w->tree.count;
	unsigned want = reader_count(w->o), n = 0;
	struct reader *all;
	int rc = 0;

	if (count < want)
		want = count == 0 ? 1 : (unsigned)count;
	all = sys_calloc(want, sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	while (rc == 0 && n < want) {
		all[n].w = w;
		rc = walk_reader_open(&all[n].read, w->o, &w->places);
		n += rc == 0;
	}
	if (n > 0) {
		parallel_run(n, reader, all);
		rc = 0;
	}
	/* including the reader that could not be opened */
	for (unsigned i = 0; i <= n && i < want; i++) {
		walk_reader_close(&all[i].read);
		sys_free(all[i].path.s);
	}
	sys_free(all);
	return rc;
}

/* The end */

static int
report_link(void *arg, const struct walk_file *f)
{
	struct walk *w = arg;

	report_file(w, f);
	return w->err;
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
		rc = walk_canceled(w->o) ? -ECANCELED :
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
	struct walk w = { .o = o, .r = r, .root = dirfd };
	unsigned scanners = reader_count(o);
	struct stat st;
	int rc;

	*r = (struct walk_result){ .files = 0 };
	if (fstat(dirfd, &st) == -1)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		w.name = name;
	pthread_mutex_init(&w.lock, NULL);
	walk_places_init(&w.places, o->threads);
	if (w.name != NULL) {
		rc = tree_from_paths(&w.tree, &w.name, 1);
	} else if (o->only != NULL) {
		rc = tree_from_paths(&w.tree, o->only, o->only_count);
	} else {
		rc = tree_scan(&w.tree, w.root, scanners < READERS_MAX ?
		    scanners : READERS_MAX, o->cancel);
		if (rc == 0)
			tree_sort(&w.tree);
		r->dirs = w.tree.dir_count;
	}
	if (rc == 0 && o->plan != NULL)
		rc = report_plan(&w);
	if (rc != 0)
		goto out;
	rc = run_readers(&w);
	if (rc == 0)
		rc = w.err;
	if (rc == 0)
		rc = walk_links_tell(&w.links, &w.tree, report_link, &w);
out:
	walk_links_free(&w.links);
	tree_free(&w.tree);
	walk_places_destroy(&w.places);
	pthread_mutex_destroy(&w.lock);
	return rc;
}
