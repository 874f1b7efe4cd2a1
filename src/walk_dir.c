/*
 * walk_dir.c - every file of a directory, read by many threads at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A cold file is mostly waiting: for its inode, for its blocks.  So there are
 * more readers than may hash at a time; each opens a file, reads it and, with
 * one of options->threads places, hashes what it has.  Files come in the
 * order of their inodes, which on ext4 and its kin is about that of the disk.
 *
 * A file with several names is read by whoever meets it first.  Its rows are
 * kept back to the end, when all of its names are known.
 */
#include "walk.h"

#include "sys.h"
#include "walk_links.h"
#include "walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIECE_B = 256 << 10,
	READERS = 8,			/* for each that may hash */
	READERS_MAX = 64,
	NAMES_B = 512,
};

struct walk {
	const struct walk_options *o;
	struct walk_result *r;
	struct tree tree;
	int root;
	const char *name;		/* of a root that is a file, or NULL */
	atomic_size_t next;		/* entry */

	pthread_mutex_t places_lock;
	pthread_cond_t place_free;
	unsigned places;

	pthread_mutex_t lock;		/* of all that follows, and of r */
	struct walk_links links;
	int err;
};

/* Of one thread. */
struct reader {
	struct walk *w;
	struct digest *digest;
	uint8_t *buf;
	struct tree_path path;
	uint64_t mine;			/* of options->look */
	uint64_t read_B, stored_B;
	int err;			/* that ends the walk */
};

/* A file in hand. */
struct job {
	int fd;
	struct stat st;
	struct walk_file file;
	uint64_t asked_ns;
	bool digested;
};

static bool
canceled(const struct walk *w)
{
	return w->o->cancel != NULL && atomic_load(w->o->cancel);
}

/* Places to hash in */

static void
take_place(struct walk *w)
{
	pthread_mutex_lock(&w->places_lock);
	while (w->places == 0)
		pthread_cond_wait(&w->place_free, &w->places_lock);
	w->places--;
	pthread_mutex_unlock(&w->places_lock);
}

static void
give_place(struct walk *w)
{
	pthread_mutex_lock(&w->places_lock);
	w->places++;
	pthread_cond_signal(&w->place_free);
	pthread_mutex_unlock(&w->places_lock);
}

/* Reading */

static int
hash_piece(struct reader *rd, const void *data, size_t len)
{
	int rc;

	if (digest_len(rd->w->o->digest) == 0)
		return 0;
	take_place(rd->w);
	rc = digest_add(rd->digest, data, len);
	give_place(rd->w);
	return rc;
}

/* Up to size bytes, fewer only at the end; an interrupted call goes on. */
static ssize_t
read_piece(int fd, uint8_t *buf, size_t size, off_t at, bool *end)
{
	size_t done = 0;

	*end = false;
	while (done < size && !*end) {
		ssize_t n = sys_pread(fd, buf + done, size - done,
		    at + (off_t)done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		done += (size_t)n;
		/* a file gives less than is asked for at its end alone */
		*end = done < size;
	}
	return (ssize_t)done;
}

/* Zeros, as the digest of a hole wants them, without reading. */
static int
skip_hole(struct reader *rd, off_t from, off_t to)
{
	int rc = 0;

	if (digest_len(rd->w->o->digest) == 0)
		return 0;
	memset(rd->buf, 0, PIECE_B);
	while (from < to && rc == 0) {
		size_t n = to - from < PIECE_B ? (size_t)(to - from) : PIECE_B;

		rc = canceled(rd->w) ? -ECANCELED :
		    hash_piece(rd, rd->buf, n);
		from += (off_t)n;
	}
	return rc;
}

/*
 * Where the next data is, from at on; at the end st_size.  A file system that
 * cannot tell says that all is data.
 */
static off_t
next_data(const struct job *j, off_t at)
{
	off_t data;

	if ((uint64_t)j->st.st_blocks * 512 >= (uint64_t)j->st.st_size)
		return at;
	data = lseek(j->fd, at, SEEK_DATA);
	if (data == -1)
		return errno == ENXIO ? j->st.st_size : at;
	return data > j->st.st_size ? j->st.st_size : data;
}

static int
read_at(struct reader *rd, struct job *j, off_t *at, bool *end)
{
	ssize_t n = read_piece(j->fd, rd->buf, PIECE_B, *at, end);

	if (n < 0)
		return (int)n;
	if (j->file.first_read_ns < 0)
		j->file.first_read_ns = (int64_t)(sys_now_ns() - j->asked_ns);
	*at += n;
	rd->read_B += (uint64_t)n;
	rd->stored_B += (uint64_t)n;
	if (rd->w->o->progress != NULL)
		rd->w->o->progress(rd->w->o->arg, (uint64_t)n);
	return hash_piece(rd, rd->buf, (size_t)n);
}

static int
read_all(struct reader *rd, struct job *j)
{
	bool end = false;
	off_t at = 0;
	int rc = 0;

	while (rc == 0 && !end) {
		off_t data = next_data(j, at);

		if (canceled(rd->w))
			return -ECANCELED;
		if (data > at) {
			rc = skip_hole(rd, at, data);
			rd->read_B += (uint64_t)(data - at);
			at = data;
			end = at == j->st.st_size;
			continue;
		}
		rc = read_at(rd, j, &at, &end);
		/* one call less for each file; more after it is a change */
		end |= at == j->st.st_size;
	}
	j->file.size = (uint64_t)at;
	return rc;
}

static bool
changed(const struct job *j)
{
	struct stat now;

	if (fstat(j->fd, &now) == -1)
		return true;
	return now.st_size != j->st.st_size ||
	    now.st_mtim.tv_sec != j->st.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != j->st.st_mtim.tv_nsec ||
	    (j->st.st_size != 0 && j->file.size != (uint64_t)now.st_size);
}

static int
digest_file(struct reader *rd, struct job *j)
{
	int rc = digest_start(rd->digest);

	if (j->st.st_size > PIECE_B)
		posix_fadvise(j->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (rc == 0)
		rc = read_all(rd, j);
	if (rc == 0 && changed(j))
		rc = -EAGAIN;
	if (rc == 0)
		rc = digest_end(rd->digest, j->file.digest);
	if (rc == 0)
		j->file.digest_len = digest_len(rd->w->o->digest);
	return rc;
}

/* The data, or the look alone. */
static int
read_file(struct reader *rd, struct job *j)
{
	const struct walk_options *o = rd->w->o;
	int rc = 0;

	if (o->look != NULL)
		o->look(o->arg, j->fd, &j->st, false, &rd->mine);
	if (!o->look_only)
		rc = digest_file(rd, j);
	if (o->look != NULL && !o->look_only)
		o->look(o->arg, j->fd, &j->st, true, &rd->mine);
	return rc;
}

/* Rows */

/* Under the lock. */
static void
tell(struct walk *w, const struct walk_file *f)
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
tell_row(struct walk *w, const struct walk_file *f)
{
	pthread_mutex_lock(&w->lock);
	tell(w, f);
	pthread_mutex_unlock(&w->lock);
}

static enum walk_type
type_of(mode_t mode)
{
	return S_ISREG(mode) ? WALK_FILE : S_ISDIR(mode) ? WALK_DIR :
	    S_ISLNK(mode) ? WALK_LINK : WALK_OTHER;
}

/* Adds a name; as walk_links_join(). */
static int
join_link(struct walk *w, const struct stat *st, size_t entry, size_t *index)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = walk_links_join(&w->links, st, entry, index);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

/* Reads the file that is open.  Returns what ends the walk. */
static int
take_file(struct reader *rd, struct job *j, size_t entry)
{
	struct walk *w = rd->w;
	size_t index = 0;
	int rc, first = 1;

	if (j->st.st_nlink > 1 && w->name == NULL)
		first = join_link(w, &j->st, entry, &index);
	if (first <= 0)
		return first;
	j->file.size = (uint64_t)j->st.st_size;
	rc = read_file(rd, j);
	if (rc == -ECANCELED)
		return rc;
	j->file.err = rc;
	if (j->st.st_nlink <= 1 || w->name != NULL) {
		tell_row(w, &j->file);
		return 0;
	}
	pthread_mutex_lock(&w->lock);
	w->links.all[index].file = j->file;
	pthread_mutex_unlock(&w->lock);
	return 0;
}

static void
open_entry(struct reader *rd, struct job *j)
{
	struct walk *w = rd->w;

	j->asked_ns = sys_now_ns();
	j->fd = w->name != NULL ? w->root :
	    tree_open(w->root, rd->path.s, 0);
	if (j->fd < 0)
		j->file.err = j->fd;
	else if (fstat(j->fd, &j->st) == -1)
		j->file.err = -errno;
	else
		j->file.type = type_of(j->st.st_mode);
}

/* One entry.  Returns what ends the walk. */
static int
take_entry(struct reader *rd, size_t i)
{
	struct walk *w = rd->w;
	const struct tree_entry *e = &w->tree.entries[i];
	struct job j = { .fd = -1, .file = { .type = e->type, .err = e->err,
	    .compressed_B = -1, .blocks = -1, .fragment = -1,
	    .first_read_ns = -1 } };
	int rc = tree_path(&w->tree, e, &rd->path);

	if (rc != 0)
		return rc;
	j.file.path = rd->path.s;
	if (e->type == WALK_FILE)
		open_entry(rd, &j);
	if (j.file.err == 0 && j.file.type == WALK_DIR)
		j.file.err = -EISDIR;
	if (j.file.err == 0 && j.file.type == WALK_FILE)
		rc = take_file(rd, &j, i);
	else
		tell_row(w, &j.file);
	if (j.fd >= 0 && j.fd != w->root)
		sys_close(j.fd);
	return rc;
}

static bool
ended(struct walk *w)
{
	bool end;

	pthread_mutex_lock(&w->lock);
	if (w->err == 0 && canceled(w))
		w->err = -ECANCELED;
	end = w->err != 0;
	pthread_mutex_unlock(&w->lock);
	return end;
}

static void *
reader(void *arg)
{
	struct reader *rd = arg;
	struct walk *w = rd->w;

	while (rd->err == 0 && !ended(w)) {
		size_t i = atomic_fetch_add(&w->next, 1);

		if (i >= w->tree.count)
			break;
		rd->err = take_entry(rd, i);
	}
	pthread_mutex_lock(&w->lock);
	if (w->err == 0)
		w->err = rd->err;
	w->r->read_B += rd->read_B;
	w->r->stored_B += rd->stored_B;
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Threads */

static int
open_reader(struct reader *rd, struct walk *w)
{
	rd->w = w;
	rd->buf = sys_malloc(PIECE_B);
	return rd->buf == NULL ? -ENOMEM : digest_new(&rd->digest,
	    w->o->digest);
}

static void
close_reader(struct reader *rd)
{
	digest_free(rd->digest);
	sys_free(rd->path.s);
	sys_free(rd->buf);
}

static unsigned
reader_count(const struct walk *w)
{
	unsigned n = w->o->threads > READERS_MAX / READERS ? READERS_MAX :
	    READERS * w->o->threads;

	n = n < w->o->threads ? w->o->threads : n;
	return w->tree.count < n ? (unsigned)w->tree.count : n;
}

/* Fewer threads than wanted are enough; this one is the first. */
static int
run_readers(struct walk *w)
{
	unsigned want = reader_count(w), n = 0;
	struct reader *all = sys_calloc(want + 1, sizeof(*all));
	pthread_t *threads = sys_calloc(want + 1, sizeof(*threads));
	int rc = all == NULL || threads == NULL ? -ENOMEM :
	    open_reader(&all[0], w);

	while (rc == 0 && n + 1 < want) {
		if (open_reader(&all[n + 1], w) != 0 ||
		    sys_thread(&threads[n + 1], reader, &all[n + 1]) != 0) {
			close_reader(&all[n + 1]);
			break;
		}
		n++;
	}
	if (rc == 0)
		reader(&all[0]);
	for (unsigned i = 1; i <= n; i++) {
		pthread_join(threads[i], NULL);
		close_reader(&all[i]);
	}
	if (all != NULL)
		close_reader(&all[0]);
	sys_free(threads);
	sys_free(all);
	return rc;
}

/* The end */

static int
tell_link(void *arg, const struct walk_file *f)
{
	struct walk *w = arg;

	tell(w, f);
	return w->err;
}

/* What there will be to read; a file that cannot be looked at is nothing. */
static int
plan(struct walk *w)
{
	uint64_t files = 0, bytes = 0;
	struct tree_path p = { NULL, 0 };
	int rc = 0;

	if (w->o->plan == NULL)
		return 0;
	for (size_t i = 0; i < w->tree.count && rc == 0; i++) {
		struct tree_entry *e = &w->tree.entries[i];
		struct stat st;

		if (e->type != WALK_FILE)
			continue;
		rc = canceled(w) ? -ECANCELED : tree_path(&w->tree, e, &p);
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

static int
find_entries(struct walk *w)
{
	int rc;

	if (w->name != NULL)
		return tree_list(&w->tree, &w->name, 1);
	if (w->o->only != NULL)
		return tree_list(&w->tree, w->o->only, w->o->only_count);
	rc = tree_scan(&w->tree, w->root, READERS * w->o->threads,
	    w->o->cancel);
	if (rc == 0)
		tree_sort(&w->tree);
	w->r->dirs = w->tree.dir_count;
	return rc;
}

static void
free_walk(struct walk *w)
{
	walk_links_free(&w->links);
	tree_free(&w->tree);
	pthread_cond_destroy(&w->place_free);
	pthread_mutex_destroy(&w->places_lock);
	pthread_mutex_destroy(&w->lock);
}

int
walk_dir(int dirfd, const char *name, const struct walk_options *o,
    struct walk_result *r)
{
	struct walk w = { .o = o, .r = r, .root = dirfd,
	    .places = o->threads };
	struct stat st;
	int rc;

	*r = (struct walk_result){ .files = 0 };
	if (fstat(dirfd, &st) == -1)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		w.name = name;
	pthread_mutex_init(&w.lock, NULL);
	pthread_mutex_init(&w.places_lock, NULL);
	pthread_cond_init(&w.place_free, NULL);
	rc = find_entries(&w);
	if (rc == 0)
		rc = plan(&w);
	if (rc == 0)
		rc = run_readers(&w);
	if (rc == 0)
		rc = w.err;
	if (rc == 0)
		rc = walk_links_tell(&w.links, &w.tree, tell_link, &w);
	free_walk(&w);
	return rc;
}
