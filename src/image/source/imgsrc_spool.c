/*
 * imgsrc_spool.c - storing files from a stream until they can be written
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Listed files are spooled uncompressed, other files compressed.  At the end,
 * the listed files are compressed in list order, directly into the image, and
 * the other files are appended.  Most files in a stream are not listed, so
 * little data is spooled uncompressed.  The image is the same as one built from
 * a directory, except that a listed duplicate of an unlisted file is stored
 * again.
 */
#include "imgsrc_order.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct held {
	uint32_t rank, id;
	uint64_t size, at;		/* offset in the spool */
};

struct spool {
	struct imgsrc_image *to;
	const struct sqw_source *from;
	int fd;
	struct stat st;			/* status once it is complete */
	uint64_t end;
	uint8_t *piece;
	struct held *held;
	size_t count, cap;
	/* current output */
	size_t next, stop;		/* indices into held */
	uint64_t at;
};

static int
open_unlinked(const struct imgsrc_image *to)
{
	return sys_openat(to->pack.tmpdir, ".", O_TMPFILE | O_RDWR |
	    O_CLOEXEC, 0600);
}

/* Copies part of the current file, of which `left` bytes remain. */
static int64_t
spool_piece(struct spool *s, uint64_t left)
{
	int64_t n = s->from->skip == NULL ? 0 : s->from->skip(s->from->arg);
	off_t at;
	int rc;

	if (n > 0) {
		at = sys_lseek(s->fd, (off_t)n, SEEK_CUR);
		return at < 0 ? at : n;
	}
	if (n < 0)
		return n;
	n = left < s->to->pack.block ? (int64_t)left : s->to->pack.block;
	rc = s->from->read(s->from->arg, s->piece, (size_t)n);
	if (rc == 0)
		rc = fdio_write(s->fd, s->piece, (size_t)n);
	return rc != 0 ? rc : n;
}

/* Copies the current file to the spool. */
static int
spool_file(struct spool *s, const struct sqw_file *f, uint32_t rank)
{
	void *items = s->held;
	int rc = array_grow(&items, s->count, &s->cap, sizeof(*s->held));
	int64_t n;

	s->held = items;
	if (rc != 0)
		return rc;
	s->held[s->count++] = (struct held){ .rank = rank, .id = f->id,
		.size = f->size, .at = s->end };
	for (uint64_t left = f->size; left > 0; left -= (uint64_t)n) {
		n = spool_piece(s, left);
		if (n < 0)
			return (int)n;
	}
	s->end += f->size;
	return 0;
}

/* Returns the next file that is not listed. */
static int
unlisted_next(void *arg, struct sqw_file *f)
{
	struct spool *s = arg;
	const uint32_t *at = s->to->tree.at;
	uint32_t rank = 0;
	int rc;

	for (;;) {
		rc = s->from->next(s->from->arg, f);
		if (rc != 1)
			return rc;
		rc = imgsrc_order_rank(s->to, at != NULL ? at[f->id] : f->id,
		    &rank);
		if (rc != 0 || rank == WALK_ORDER_REST)
			return rc != 0 ? rc : 1;
		rc = spool_file(s, f, rank);
		if (rc != 0)
			return rc;
	}
}

static int
unlisted_read(void *arg, void *buf, size_t len)
{
	struct spool *s = arg;

	return s->from->read(s->from->arg, buf, len);
}

static int64_t
unlisted_skip(void *arg)
{
	struct spool *s = arg;

	return s->from->skip(s->from->arg);
}

static int
held_next(void *arg, struct sqw_file *f)
{
	struct spool *s = arg;
	const struct held *h = &s->held[s->next];

	if (s->next == s->stop)
		return 0;
	*f = (struct sqw_file){ .id = h->id, .size = h->size };
	s->at = h->at;
	s->next++;
	return 1;
}

static int
held_read(void *arg, void *buf, size_t len)
{
	struct spool *s = arg;
	ssize_t n = fdio_pread(s->fd, buf, len, (off_t)s->at);

	s->at += len;
	return n < 0 ? (int)n : (size_t)n < len ? -EIO : 0;
}

static int64_t
held_skip(void *arg)
{
	struct spool *s = arg;
	const struct held *h = &s->held[s->next - 1];
	uint64_t n = sqw_hole_blocks(hole_at(s->fd, &s->st, s->at),
	    h->at + h->size - s->at, s->to->pack.block);

	s->at += n;
	return (int64_t)n;
}

static int
held_rewind(void *arg)
{
	struct spool *s = arg;

	s->at = s->held[s->next - 1].at;
	return 0;
}

static int
by_rank(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Writes the files in held, up to stop, to the image. */
static int
write_spooled(struct spool *s, size_t stop, int fd, uint64_t at)
{
	struct sqw_source source = { .next = held_next, .read = held_read,
		.skip = held_skip, .rewind = held_rewind, .arg = s };

	s->stop = stop;
	return s->next == stop ? 0 : sqw_data_write(&s->to->data, &source,
	    &s->to->pack, fd, at, &s->to->progress);
}

/*
 * Processes all files; `rest` is an unlinked file that contains the unlisted
 * files.
 */
static int
write_by_rank(struct spool *s, int rest, int fd, uint64_t at)
{
	struct sqw_source source = { .next = unlisted_next,
		.read = unlisted_read, .arg = s,
		.skip = s->from->skip == NULL ? NULL : unlisted_skip };
	struct sqw_data *d = &s->to->data;
	struct sqw_waiting w = { .fd = rest };
	size_t first = 0;
	int rc = sqw_data_write(d, &source, &s->to->pack, rest, 0,
	    &s->to->progress);

	if (rc != 0)
		return rc;
	/* the last file may end in a hole */
	rc = sys_ftruncate(s->fd, (off_t)s->end);
	if (rc == 0)
		rc = sys_fstat(s->fd, &s->st);
	if (rc != 0)
		return rc;
	w.units = d->units;
	w.fragments = d->fragments;
	w.length = d->end;
	d->end = at;
	if (s->count > 0)
		qsort(s->held, s->count, sizeof(*s->held), by_rank);
	while (first < s->count && s->held[first].rank < WALK_ORDER_REST)
		first++;
	rc = write_spooled(s, first, fd, at);
	if (rc == 0)
		rc = sqw_data_append(d, &w, fd);
	return rc != 0 ? rc : write_spooled(s, s->count, fd, d->end);
}

int
imgsrc_order_stream(struct imgsrc_image *to, const struct sqw_source *files,
    int fd, uint64_t at)
{
	struct spool s = { .to = to, .from = files, .fd = -1 };
	int rc, rest = -1;

	s.fd = rc = open_unlinked(to);
	if (rc < 0)
		goto out;
	rest = rc = open_unlinked(to);
	if (rc < 0)
		goto out;
	s.piece = sys_malloc(to->pack.block);
	rc = s.piece == NULL ? -ENOMEM : write_by_rank(&s, rest, fd, at);
out:
	if (s.fd >= 0)
		sys_close(s.fd);
	if (rest >= 0)
		sys_close(rest);
	sys_free(s.piece);
	sys_free(s.held);
	return rc;
}
