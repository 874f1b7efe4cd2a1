/*
 * walk_read.c - reading and hashing one open file, unless it changes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk_read.h"

#include "base/hole.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { PIECE_B = 256 << 10 };

void
walk_places_init(struct walk_places *p, unsigned count)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->free, NULL);
	p->count = count;
}

void
walk_places_destroy(struct walk_places *p)
{
	pthread_cond_destroy(&p->free);
	pthread_mutex_destroy(&p->lock);
}

int
walk_reader_open(struct walk_reader *rd, const struct walk_options *o,
    struct walk_places *places)
{
	*rd = (struct walk_reader){ .o = o, .places = places,
	    .buf = sys_malloc(PIECE_B) };
	return rd->buf == NULL ? -ENOMEM : digest_new(&rd->digest, o->digest);
}

void
walk_reader_close(struct walk_reader *rd)
{
	digest_free(rd->digest);
	sys_free(rd->buf);
}

bool
walk_canceled(const struct walk_options *o)
{
	return o->cancel != NULL && atomic_load(o->cancel);
}

/* Reading */

static int
hash_piece(struct walk_reader *rd, const void *data, size_t len)
{
	struct walk_places *p = rd->places;
	int rc;

	if (digest_len(rd->o->digest) == 0)
		return 0;
	pthread_mutex_lock(&p->lock);
	while (p->count == 0)
		pthread_cond_wait(&p->free, &p->lock);
	p->count--;
	pthread_mutex_unlock(&p->lock);
	rc = digest_add(rd->digest, data, len);
	pthread_mutex_lock(&p->lock);
	p->count++;
	pthread_cond_signal(&p->free);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/*
 * Reads size bytes, or fewer at the end of the file; interrupted and short
 * calls are continued.  At the size that the file had, it does not ask for
 * more.
 */
static ssize_t
read_piece(const struct walk_job *j, uint8_t *buf, size_t size, off_t at,
    bool *end)
{
	size_t done = 0;

	*end = false;
	while (done < size && !*end) {
		ssize_t n = sys_pread(j->fd, buf + done, size - done,
		    at + (off_t)done);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		done += (size_t)n;
		*end = n == 0 || at + (off_t)done == j->st.st_size;
	}
	return (ssize_t)done;
}

/* Adds zeros to the digest for a hole, without reading it. */
static int
skip_hole(struct walk_reader *rd, off_t from, off_t to)
{
	int rc = 0;

	if (digest_len(rd->o->digest) == 0)
		return 0;
	memset(rd->buf, 0, PIECE_B);
	while (from < to && rc == 0) {
		size_t n = to - from < PIECE_B ? (size_t)(to - from) : PIECE_B;

		rc = walk_canceled(rd->o) ? -ECANCELED :
		    hash_piece(rd, rd->buf, n);
		from += (off_t)n;
	}
	return rc;
}

/* Reads up to size bytes, but at most one piece. */
static int
read_at(struct walk_reader *rd, struct walk_job *j, size_t size, off_t *at,
    bool *end)
{
	ssize_t n = read_piece(j, rd->buf, size, *at, end);

	if (n < 0)
		return (int)n;
	if (j->file.first_read_ns < 0)
		j->file.first_read_ns = (int64_t)(sys_now_ns() - j->asked_ns);
	*at += n;
	rd->read_B += (uint64_t)n;
	rd->stored_B += (uint64_t)n;
	if (rd->o->progress != NULL)
		rd->o->progress(rd->o->arg, (uint64_t)n);
	return hash_piece(rd, rd->buf, (size_t)n);
}

static int
read_whole(struct walk_reader *rd, struct walk_job *j)
{
	bool end = false;
	off_t at = 0;
	int rc = 0;

	while (rc == 0 && !end) {
		off_t data = at + (off_t)hole_at(j->fd, &j->st, (uint64_t)at);

		if (walk_canceled(rd->o))
			return -ECANCELED;
		if (data > at) {
			rc = skip_hole(rd, at, data);
			rd->read_B += (uint64_t)(data - at);
			at = data;
			end = at == j->st.st_size;
			continue;
		}
		rc = read_at(rd, j, PIECE_B, &at, &end);
		/*
		 * this saves a call per file; growth is detected later as a
		 * change
		 */
		end |= at == j->st.st_size;
	}
	j->file.size = (uint64_t)at;
	return rc;
}

/* Returns the part of a range that is within the file. */
static struct walk_range
clip(const struct walk_job *j, const struct walk_range *r)
{
	uint64_t size = (uint64_t)j->st.st_size;
	uint64_t at = r->offset < size ? r->offset : size;

	return (struct walk_range){ .offset = at,
		.len = size - at < r->len ? size - at : r->len };
}

static int
read_ranges(struct walk_reader *rd, struct walk_job *j)
{
	int rc = 0;

	for (size_t i = 0; i < j->range_count; i++) {
		struct walk_range r = clip(j, &j->ranges[i]);
		off_t at = (off_t)r.offset, stop = at + (off_t)r.len;
		bool end = false;

		while (rc == 0 && at < stop && !end) {
			size_t n = stop - at < PIECE_B ? (size_t)(stop - at) :
			    PIECE_B;

			rc = walk_canceled(rd->o) ? -ECANCELED :
			    read_at(rd, j, n, &at, &end);
		}
	}
	j->file.size = (uint64_t)j->st.st_size;
	return rc;
}

static bool
changed(const struct walk_job *j)
{
	struct stat now;

	if (fstat(j->fd, &now) == -1)
		return true;
	return now.st_size != j->st.st_size ||
	    now.st_mtim.tv_sec != j->st.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != j->st.st_mtim.tv_nsec ||
	    (j->st.st_size != 0 && j->file.size != (uint64_t)now.st_size);
}

int
walk_read(struct walk_reader *rd, struct walk_job *j)
{
	const struct walk_options *o = rd->o;
	/* the number of bytes to be read; ranges do not overlap */
	uint64_t asked_B = j->ranges == NULL ? UINT64_MAX : 0;
	int rc = 0;

	for (size_t i = 0; j->ranges != NULL && i < j->range_count; i++)
		asked_B += clip(j, &j->ranges[i]).len;
	if (o->look != NULL)
		o->look(o->arg, j->fd, &j->st, false, asked_B, &rd->mine);
	if (o->look_only)
		return 0;
	rc = digest_start(rd->digest);
	/* data between ranges is not needed */
	if (j->ranges != NULL)
		posix_fadvise(j->fd, 0, 0, POSIX_FADV_RANDOM);
	else if (j->st.st_size > PIECE_B)
		posix_fadvise(j->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	if (rc == 0)
		rc = j->ranges != NULL ? read_ranges(rd, j) :
		    read_whole(rd, j);
	if (rc == 0 && changed(j))
		rc = -EAGAIN;
	if (rc == 0)
		rc = digest_end(rd->digest, j->file.digest);
	if (rc == 0)
		j->file.digest_len = digest_len(o->digest);
	if (o->look != NULL)
		o->look(o->arg, j->fd, &j->st, true, asked_B, &rd->mine);
	return rc;
}
