/*
 * imgsrc_order.c - ordering the files of an image by a list
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_order.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hole.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 28 };		/* maximum size of a list, in bytes */

int
imgsrc_order_open(struct imgsrc_image *to)
{
	const char *name = to->o.order;
	size_t len, line = 0;
	char *text;
	int fd = -1, rc;

	to->order = sys_calloc(1, sizeof(*to->order));
	if (to->order == NULL)
		return imgsrc_no_memory(to);
	if (to->o.order_text != NULL) {
		text = strcopy(to->o.order_text);
		len = text == NULL ? 0 : strlen(text);
		rc = text == NULL ? -ENOMEM : 0;
	} else {
		fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
		rc = fd < 0 ? fd : fdio_read_all(fd, LIST_MAX, &text, &len);
	}
	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = walk_order_read(&to->order->list, text, len,
		    to->o.null_ends, &line);
	if (rc == -EINVAL)
		return imgsrc_fail(to, rc, "%s: line %zu: expected a path, or "
		    "a number, a path, an offset and a length separated by "
		    "tabs", name, line);
	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", name,
	    strerror(-rc));
}

void
imgsrc_order_close(struct imgsrc_order *order)
{
	if (order == NULL)
		return;
	walk_order_free(order->list);
	sys_free(order->path);
	sys_free(order);
}

/* Looks up the rank of a node of the tree by its path. */
static int
rank_of_node(struct imgsrc_image *to, size_t node, uint32_t *rank)
{
	struct imgsrc_order *order = to->order;
	int rc = sqw_tree_path(&to->tree, node, &order->path, &order->room);

	if (rc == 0)
		*rank = walk_order_rank(order->list, order->path);
	return rc;
}

struct ranked {
	uint32_t rank, id;
};

/* Compares items that begin with a struct ranked. */
static int
by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Returns the number of files with a lower rank. */
static size_t
count_below(const struct ranked *r, size_t count, uint32_t rank)
{
	size_t n = 0;

	while (n < count && r[n].rank < rank)
		n++;
	return n;
}

int
imgsrc_order_sort(struct imgsrc_image *to, uint32_t *files, size_t count,
    size_t *rest, size_t *last)
{
	const struct sqw_node *nodes = to->tree.nodes;
	uint32_t *ranks = sys_malloc(to->tree.count * sizeof(*ranks)), rank;
	uint32_t *last_name = sys_malloc(to->tree.count *
	    sizeof(*last_name));
	struct ranked *r = sys_malloc((count + 1) * sizeof(*r));
	int rc = -ENOMEM;

	if (ranks == NULL || last_name == NULL || r == NULL)
		goto out;
	/* rank each inode by the name that comes first in the list */
	memset(ranks, 0xff, to->tree.count * sizeof(*ranks));
	for (size_t i = 1; i < to->tree.count; i++) {
		uint32_t *best = &ranks[nodes[i].owner];

		if (!S_ISREG(nodes[i].attr.mode))
			continue;
		if (rank_of_node(to, i, &rank) != 0)
			goto out;
		if (rank <= *best) {
			*best = rank;
			last_name[nodes[i].owner] = (uint32_t)i;
		}
	}
	/* backwards, a file comes where the last of these names does */
	for (size_t i = 0; i < count; i++)
		r[i] = (struct ranked){ ranks[files[i]],
			to->o.order_backwards ?
			UINT32_MAX - last_name[files[i]] : files[i] };
	if (count > 0)
		qsort(r, count, sizeof(*r), by_rank);
	for (size_t i = 0; i < count; i++)
		files[i] = to->o.order_backwards ?
		    nodes[UINT32_MAX - r[i].id].owner : r[i].id;
	*rest = count_below(r, count, WALK_ORDER_REST);
	*last = count_below(r, count, WALK_ORDER_REST + 1);
	rc = 0;
out:
	sys_free(ranks);
	sys_free(last_name);
	sys_free(r);
	return rc;
}

int
imgsrc_order_check(struct imgsrc_image *to)
{
	const struct walk_order *list = to->order->list;
	size_t all = walk_order_count(list), found = walk_order_found(list);
	const char *missing = walk_order_missing(list);

	/* mksquashfs ignores such paths */
	if (missing != NULL && found == 0 && !to->o.order_backwards)
		return imgsrc_fail(to, -ENOENT, "%s: none of the paths names "
		    "a file in the image, for example %s", to->o.order,
		    missing);
	if (missing != NULL)
		imgsrc_tell(to, IMGSRC_NOTE, "%s: %zu of %zu paths do not name "
		    "a file in the image, for example %s", to->o.order,
		    all - found, all, missing);
	return 0;
}

/* A stream, whose files are stored until they can be written */

/*
 * Listed files are spooled uncompressed, other files compressed.  At the end,
 * the listed files are compressed in list order, directly into the image, and
 * the other files are appended.  Most files in a stream are not listed, so
 * little data is spooled uncompressed.  The image is the same as one built from
 * a directory, except that a listed duplicate of an unlisted file is stored
 * again.
 */
struct held {
	struct ranked by;		/* comes first, for by_rank() */
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

/* Copies the current file to the spool. */
static int
spool_file(struct spool *s, const struct sqw_file *f, uint32_t rank)
{
	const struct sqw_source *from = s->from;
	void *items = s->held;
	int rc = array_grow(&items, s->count, &s->cap, sizeof(*s->held));
	int64_t n;

	s->held = items;
	if (rc != 0)
		return rc;
	s->held[s->count++] = (struct held){ .by = { rank, f->id },
		.size = f->size, .at = s->end };
	for (uint64_t left = f->size; left > 0; left -= (uint64_t)n) {
		n = from->skip == NULL ? 0 : from->skip(from->arg);
		if (n < 0)
			return (int)n;
		if (n > 0) {
			off_t at = sys_lseek(s->fd, (off_t)n, SEEK_CUR);

			if (at < 0)
				return (int)at;
			continue;
		}
		n = left < s->to->pack.block ? (int64_t)left :
		    s->to->pack.block;
		rc = from->read(from->arg, s->piece, (size_t)n);
		if (rc == 0)
			rc = fdio_write(s->fd, s->piece, (size_t)n);
		if (rc != 0)
			return rc;
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
		rc = rank_of_node(s->to, at != NULL ? at[f->id] : f->id,
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
	*f = (struct sqw_file){ .id = h->by.id, .size = h->size };
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

int
imgsrc_order_stream(struct imgsrc_image *to, const struct sqw_source *files,
    int fd, uint64_t at)
{
	struct spool s = { .to = to, .from = files, .fd = -1 };
	const struct sqw_source source = { .next = unlisted_next,
		.read = unlisted_read, .arg = &s,
		.skip = files->skip == NULL ? NULL : unlisted_skip };
	struct sqw_data *d = &to->data;
	struct sqw_waiting w = { .fd = -1 };
	size_t first = 0;
	int rc;

	s.fd = rc = open_unlinked(to);
	if (rc < 0)
		goto out;
	w.fd = rc = open_unlinked(to);
	if (rc < 0)
		goto out;
	rc = -ENOMEM;
	s.piece = sys_malloc(to->pack.block);
	if (s.piece == NULL)
		goto out;
	rc = sqw_data_write(d, &source, &to->pack, w.fd, 0, &to->progress);
	/* the last file may end in a hole */
	if (rc == 0)
		rc = sys_ftruncate(s.fd, (off_t)s.end);
	if (rc == 0)
		rc = sys_fstat(s.fd, &s.st);
	if (rc != 0)
		goto out;
	w.units = d->units;
	w.fragments = d->fragments;
	w.length = d->end;
	d->end = at;
	if (s.count > 0)
		qsort(s.held, s.count, sizeof(*s.held), by_rank);
	while (first < s.count && s.held[first].by.rank < WALK_ORDER_REST)
		first++;
	rc = write_spooled(&s, first, fd, at);
	if (rc == 0)
		rc = sqw_data_append(d, &w, fd);
	if (rc == 0)
		rc = write_spooled(&s, s.count, fd, d->end);
out:
	if (s.fd >= 0)
		sys_close(s.fd);
	if (w.fd >= 0)
		sys_close(w.fd);
	sys_free(s.piece);
	sys_free(s.held);
	return rc;
}
