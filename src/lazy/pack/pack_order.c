/*
 * pack_order.c - reading the entries of an archive in a different order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive is listed, then its parts are put into their new order.  The
 * concatenation of the parts is an archive.
 */
#include "pack_order.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/sys.h"
#include "format/codec.h"
#include "format/tar/tar_archive.h"
#include "format/tar/tar_header.h"
#include "image/oci/whiteout.h"
#include "lazy/toc/toc_trace.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_NONE UINT32_MAX
#define UNLISTED UINT64_MAX

enum { LINKS_MAX = 8 };			/* maximum length of a chain of hard
					 * links */

struct order_entry {
	const char *path, *link;	/* normalized; link: target of a hard
					 * link */
	uint64_t start;			/* offset in the archive; the entry ends
					 * where the next one starts */
	uint64_t data, size;		/* a file's data, if it has no holes */
	uint64_t rank;			/* list, and rank in it */
	uint32_t place;			/* number in the layer */
	enum tar_type type;
	bool fixed;			/* is not moved */
	bool ours;			/* omitted; see layer_is_internal() */
	bool moved;
};

/* Bytes of the archive, or the landmark. */
struct order_part {
	uint64_t at, len;
	bool landmark;
};

struct pack_order {
	int fd;				/* the archive */
	bool own_fd;
	uint64_t base;			/* offset of the archive in fd */
	uint64_t stored, end;		/* its length there, and with the
					 * padding after the last entry */
	struct arena arena;
	struct order_entry *entries;
	uint32_t *by_path;		/* indices sorted by path */
	size_t count, cap;
	bool globals;			/* global records are between entries */
	uint64_t tail;			/* start of the end-of-archive marker */
	struct order_part *parts;
	size_t part_count, part_cap;
	uint32_t placed;		/* number of entries placed so far */
	struct pack_touch *touches;
	size_t touch_count, touch_cap;
	/* reading */
	struct strbuf landmark;
	size_t part;
	uint64_t part_at;
	struct tar *tar;
	struct pack_cut *cut;
};

/* Listing */

static int
spool_raw(void *arg, const void *data, size_t len)
{
	const struct pack_order *o = arg;

	return fdio_write(o->fd, data, len);
}

static const char *
keep_path(struct pack_order *o, const char *text, bool *inside)
{
	char *copy = arena_copy(&o->arena, text, strlen(text));

	if (copy == NULL)
		return NULL;
	*inside = path_clean(copy) == 0;
	return copy;
}

static int
list_entry(struct pack_order *o, const struct tar_entry *e)
{
	struct order_entry new = { .start = e->header_offset,
		.type = e->type, .data = e->data_offset };
	void *items = o->entries;
	bool inside = true, link_inside = true;
	int rc = o->count >= LAYER_ENTRIES_MAX ? -EFBIG :
	    array_grow(&items, o->count, &o->cap, sizeof(*o->entries));

	o->entries = items;
	new.path = keep_path(o, e->path, &inside);
	new.link = keep_path(o, e->type == TAR_HARDLINK ? e->link : "",
	    &link_inside);
	if (rc != 0 || new.path == NULL || new.link == NULL)
		return rc != 0 ? rc : -ENOMEM;
	if (e->type == TAR_FILE && e->extents == NULL && e->size == e->stored)
		new.size = e->size;
	new.fixed = !inside || !link_inside;
	new.ours = new.type == TAR_FILE && layer_is_internal(new.path);
	/* global records apply to all entries after them */
	o->globals |= e->after_global && o->count > 0;
	o->entries[o->count++] = new;
	/* the entry ends with the padding after its data */
	o->tail = e->data_offset + e->stored;
	o->tail += -o->tail % TAR_BLOCK;
	return 0;
}

static int
by_entry_path(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct order_entry *entries = arg;
	int d = strcmp(entries[*x].path, entries[*y].path);

	return d != 0 ? d : *x < *y ? -1 : *x > *y;
}

/*
 * Lists the archive in the file `in`, and sorts its entries by path.  Returns
 * 0, or -errno with a clause in why.
 */
static int
list_archive(struct pack_order *o, const struct pack_options *options, int in,
    char why[LAYER_WHY])
{
	struct tar_archive_options ao = { .threads = options->threads,
		.refuse_empty = options->refuse_empty };
	off_t base = sys_lseek(in, 0, SEEK_CUR);
	uint8_t head[CODEC_MAGIC_MAX];
	struct tar_archive a;
	struct tar_entry e;
	struct stat st;
	ssize_t n = -1;
	int rc = 0;

	/* only a regular file with an uncompressed archive is read twice */
	if (base >= 0 && sys_fstat(in, &st) == 0 && S_ISREG(st.st_mode))
		n = fdio_pread(in, head, sizeof(head), base);
	if (n >= 0 && codec_by_magic(head, (size_t)n) == NULL) {
		o->fd = in;
		o->base = (uint64_t)base;
	} else {
		o->own_fd = true;
		o->fd = sys_openat(AT_FDCWD, options->tmpdir, O_TMPFILE |
		    O_RDWR | O_CLOEXEC, 0600);
		ao.raw = spool_raw;
		ao.raw_arg = o;
		if (o->fd < 0) {
			snprintf(why, LAYER_WHY, "%s: %s", options->tmpdir,
			    strerror(-o->fd));
			return o->fd;
		}
	}
	rc = tar_archive_open(&a, in, &ao);
	if (rc != 0)
		goto out;
	while ((rc = tar_next(a.tar, &e)) > 0) {
		rc = list_entry(o, &e);
		if (rc != 0)
			goto out;
	}
	/* the last entry was longer if more than a block of zeros follows */
	if (tar_offset(a.tar) > o->tail + TAR_BLOCK)
		o->tail = tar_offset(a.tar) - TAR_BLOCK;
	if (rc == 0)
		rc = tar_archive_end(&a);
	o->stored = tar_offset(a.tar);
	o->end = o->stored < o->tail ? o->tail : o->stored;
out:
	if (rc != 0)
		snprintf(why, LAYER_WHY, "%s", tar_archive_why(&a, rc));
	tar_archive_close(&a);
	if (rc == 0 && o->globals) {
		snprintf(why, LAYER_WHY, "the archive cannot be reordered: "
		    "it has global extended headers between its entries");
		rc = -EINVAL;
	}
	if (rc != 0)
		return rc;

	o->by_path = sys_malloc((o->count + 1) * sizeof(*o->by_path));
	if (o->by_path == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		o->by_path[i] = (uint32_t)i;
	if (o->count > 0)
		qsort_r(o->by_path, o->count, sizeof(*o->by_path),
		    by_entry_path, o->entries);
	for (size_t i = 1; i < o->count; i++) {
		struct order_entry *x = &o->entries[o->by_path[i - 1]];
		struct order_entry *y = &o->entries[o->by_path[i]];

		if (strcmp(x->path, y->path) == 0)
			x->fixed = y->fixed = true;
	}
	return 0;
}

/* The new order */

/* Returns the only entry with this path, or ORDER_NONE. */
static uint32_t
order_find(const struct pack_order *o, const char *path, size_t len)
{
	size_t lo = 0, hi = o->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct order_entry *e = &o->entries[o->by_path[mid]];
		int d = strncmp(e->path, path, len);

		if (d == 0 && e->path[len] == '\0')
			return e->fixed ? ORDER_NONE : o->by_path[mid];
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return ORDER_NONE;
}

/*
 * Adds a range of the archive, extending the last part if the two are adjacent.
 */
static int
add_part(struct pack_order *o, uint64_t at, uint64_t end, bool landmark)
{
	struct order_part *last = o->part_count == 0 ? NULL :
	    &o->parts[o->part_count - 1];
	void *items = o->parts;
	int rc;

	if (!landmark && last != NULL && !last->landmark &&
	    last->at + last->len == at) {
		last->len += end - at;
		return 0;
	}
	rc = array_grow(&items, o->part_count, &o->part_cap,
	    sizeof(*o->parts));
	o->parts = items;
	if (rc == 0)
		o->parts[o->part_count++] = (struct order_part){ .at = at,
			.len = end - at, .landmark = landmark };
	return rc;
}

/* Moves one entry to the end of the plan. */
static int
place_entry(struct pack_order *o, uint32_t i)
{
	struct order_entry *e = &o->entries[i];
	uint64_t end = i + 1 < o->count ? e[1].start : o->tail;

	if (e->moved)
		return 0;
	e->moved = true;
	if (e->ours)
		return 0;
	e->place = o->placed++;
	return add_part(o, e->start, end, false);
}

/*
 * Moves the parent directories of an entry, each with the marker that makes it
 * opaque, then the entry.
 */
static int
place_below(struct pack_order *o, uint32_t i)
{
	static const char mark[] = "/" WHITEOUT_OPAQUE;
	const char *path = o->entries[i].path;
	char *below = sys_malloc(strlen(path) + sizeof(mark));
	int rc = below == NULL ? -ENOMEM : 0;

	for (size_t len = 0; rc == 0 && path[len] != '\0'; len++) {
		uint32_t above, marker;

		if (len > 0 && path[len] != '/')
			continue;
		above = order_find(o, path, len);
		if (above == ORDER_NONE || o->entries[above].type != TAR_DIR)
			continue;
		rc = place_entry(o, above);
		memcpy(below, path, len);
		memcpy(below + len, mark, sizeof(mark));
		marker = order_find(o, below + (len == 0),
		    strlen(below + (len == 0)));
		if (rc == 0 && marker != ORDER_NONE)
			rc = place_entry(o, marker);
	}
	sys_free(below);
	return rc != 0 ? rc : place_entry(o, i);
}

/* Returns the target of hard link i, or ORDER_NONE. */
static uint32_t
target_of(const struct pack_order *o, uint32_t i)
{
	const struct order_entry *e = &o->entries[i];

	return e->type != TAR_HARDLINK ? ORDER_NONE :
	    order_find(o, e->link, strlen(e->link));
}

/*
 * Moves the target of a hard link, then the link; any other entry is just
 * moved.
 */
static int
place_listed(struct pack_order *o, uint32_t i)
{
	uint32_t chain[LINKS_MAX];
	size_t n = 0;
	int rc = 0;

	for (; i != ORDER_NONE && n < LINKS_MAX; i = target_of(o, i))
		chain[n++] = i;
	/*
	 * do not move any if the last target is missing or the chain is too
	 * long
	 */
	if (i != ORDER_NONE || o->entries[chain[n - 1]].type == TAR_HARDLINK)
		return 0;
	while (rc == 0 && n > 0)
		rc = place_below(o, chain[--n]);
	return rc;
}

static int
by_rank(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct order_entry *entries = arg;
	uint64_t r = entries[*x].rank, s = entries[*y].rank;

	return r != s ? (r < s ? -1 : 1) : *x < *y ? -1 : *x > *y;
}

/*
 * Returns the rank of a file in the first list that names it, or UNLISTED.
 * Every list records that it was looked up.
 */
static uint64_t
rank_of(const struct pack_options *options, const char *path)
{
	uint64_t first = UNLISTED;

	for (size_t i = 0; i < options->order_count; i++) {
		uint32_t rank = walk_order_rank(options->orders[i], path);

		if (first == UNLISTED && rank < WALK_ORDER_REST)
			first = (uint64_t)i << 32 | rank;
	}
	return first;
}

/* Fills in the parts.  Returns 0 or -ENOMEM. */
static int
order_parts(struct pack_order *o, const struct pack_options *options)
{
	uint32_t *listed = sys_malloc((o->count + 1) * sizeof(*listed));
	size_t n = 0;
	int rc = 0;

	if (listed == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++) {
		struct order_entry *e = &o->entries[i];

		if (e->type == TAR_DIR || e->ours)
			continue;
		e->rank = rank_of(options, e->path);
		if (!e->fixed && e->rank < UNLISTED)
			listed[n++] = (uint32_t)i;
	}
	if (n > 0)
		qsort_r(listed, n, sizeof(*listed), by_rank, o->entries);

	/* global headers */
	if (o->count > 0)
		rc = add_part(o, 0, o->entries[0].start, false);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = place_listed(o, listed[i]);
	if (rc == 0)
		rc = add_part(o, 0, 0, true);
	for (uint32_t i = 0; rc == 0 && i < o->count; i++)
		rc = place_entry(o, i);
	if (rc == 0)
		rc = add_part(o, o->tail, o->end, false);
	sys_free(listed);
	return rc;
}

/*
 * Adds the parts of files in a list to the touches, up to the maximum size of a
 * trace.  Returns 0 or -ENOMEM.
 */
static int
order_touches(struct pack_order *o, const struct walk_order *list,
    uint32_t number)
{
	uint64_t room = LAYER_TRACE_CONTENT_MAX;
	struct walk_touch w;

	for (size_t i = 0; room > 0 && walk_order_touch(list, i, &w); i++) {
		uint32_t k = order_find(o, w.path, strlen(w.path));
		void *items = o->touches;
		const struct order_entry *e;
		int rc;

		for (int n = 0; n < LINKS_MAX && k != ORDER_NONE &&
		    o->entries[k].type == TAR_HARDLINK; n++)
			k = target_of(o, k);
		e = k == ORDER_NONE ? NULL : &o->entries[k];
		if (e == NULL || e->type != TAR_FILE || e->ours ||
		    w.offset >= e->size || w.length == 0)
			continue;
		if (w.length > e->size - w.offset)
			w.length = e->size - w.offset;
		if (w.length > room)
			w.length = room;
		room -= w.length;
		rc = array_grow(&items, o->touch_count, &o->touch_cap,
		    sizeof(*o->touches));
		if (rc != 0)
			return rc;
		o->touches = items;
		o->touches[o->touch_count++] = (struct pack_touch){
			.entry = e->place, .section = number,
			.offset = w.offset, .length = w.length,
			.at = e->data + w.offset };
	}
	return 0;
}

int
pack_order_open(struct pack_order **out, const struct pack_options *options,
    int in, char why[LAYER_WHY])
{
	struct pack_order *o = sys_calloc(1, sizeof(*o));
	int rc = o == NULL ? -ENOMEM : list_archive(o, options, in, why);

	if (rc == 0)
		rc = order_parts(o, options);
	for (size_t i = 0; rc == 0 && options->trace &&
	    i < options->order_count; i++)
		rc = order_touches(o, options->orders[i], (uint32_t)i);
	/* the touches of a single list are stored as they are */
	if (rc == 0 && options->order_count > 1)
		rc = pack_sections(&o->touches, &o->touch_count,
		    (unsigned)options->order_count, TRACE_SECTIONS_MAX,
		    options->section_min, LAYER_TRACE_CONTENT_MAX);
	if (rc != 0)
		pack_order_close(o);
	else
		*out = o;
	return rc;
}

void
pack_order_close(struct pack_order *o)
{
	if (o == NULL)
		return;
	if (o->own_fd && o->fd >= 0)
		sys_close(o->fd);
	tar_close(o->tar);
	arena_free(&o->arena);
	strbuf_free(&o->landmark);
	sys_free(o->entries);
	sys_free(o->by_path);
	sys_free(o->parts);
	sys_free(o->touches);
	sys_free(o);
}

int
pack_order_read(const struct pack_order *o, uint64_t at, void *buf,
    size_t len)
{
	ssize_t n = fdio_pread(o->fd, buf, len, (off_t)(o->base + at));

	/* the archive was longer when it was listed */
	return n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;
}

const struct pack_touch *
pack_order_touches(const struct pack_order *o, size_t *count)
{
	*count = o->touch_count;
	return o->touches;
}

/* Reading */

static ssize_t
read_parts(void *arg, void *buf, size_t len)
{
	struct pack_order *o = arg;
	const struct order_part *p = &o->parts[o->part];
	uint64_t left, at;
	int rc = 0;

	while (o->part < o->part_count && o->part_at == p->len) {
		p = &o->parts[++o->part];
		o->part_at = 0;
	}
	if (o->part == o->part_count)
		return 0;
	left = p->len - o->part_at;
	if (len > left)
		len = (size_t)left;
	at = p->at + o->part_at;
	if (p->landmark) {
		memcpy(buf, o->landmark.data + o->part_at, len);
	} else if (at >= o->stored) {
		memset(buf, 0, len);
	} else {
		if (len > o->stored - at)
			len = (size_t)(o->stored - at);
		rc = pack_order_read(o, at, buf, len);
	}
	o->part_at += len;
	return rc != 0 ? rc : (ssize_t)len;
}

static int
pass_raw(void *arg, const void *data, size_t len)
{
	const struct pack_order *o = arg;

	return pack_cut_raw(o->cut, data, len);
}

static int
drain_archive(void *arg)
{
	const struct pack_order *o = arg;

	return tar_drain(o->tar);
}

int
pack_order_begin(struct pack_order *o, struct pack_source *source,
    struct pack_cut *cut)
{
	struct tar_source parts = { .read = read_parts, .raw = pass_raw,
		.arg = o };
	struct tar_entry e = { .path = LAYER_LANDMARK, .mode = 0644, .size = 1,
		.link = "", .uname = "", .gname = "" };
	char data[TAR_BLOCK] = { 0x0f };
	int rc;

	tar_header_file(&o->landmark, &e);
	strbuf_add(&o->landmark, data, sizeof(data));
	for (size_t i = 0; i < o->part_count; i++)
		if (o->parts[i].landmark)
			o->parts[i].len = o->landmark.len;
	o->cut = cut;
	rc = o->landmark.failed ? -ENOMEM : tar_open(&o->tar, &parts);
	*source = (struct pack_source){ .tar = o->tar, .end = drain_archive,
		.arg = o, .arranged = true };
	return rc;
}

const char *
pack_order_why(const struct pack_order *o, int rc)
{
	const char *why = o->tar == NULL ? NULL : tar_why(o->tar);

	return why != NULL ? why : strerror(-rc);
}
