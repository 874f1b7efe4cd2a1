/*
 * vfs_trace.c - the data touched at startup, fetched as one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces are decoded, as they arrive, into an unnamed file, so that they
 * use disk space instead of memory.  They are sorted by file and offset, do not
 * overlap, and are found by binary search.
 *
 * The pieces of other sections are known from the start, and have their places
 * in the file.  A section is loaded by the first read that the trace would
 * answer if the section were there; other reads that need it wait.  So what a
 * command reads tells which sections are its own.  A read that needs a byte
 * that is in no section is answered from units in any case, and loads none.
 *
 * A command may also touch pages that were not in its list, by chance, and that
 * are in another's; they are in files that it uses anyway.  So reads of a file
 * of which something is there do not load a section until there have been so
 * many that the units that they fetched were about as large.  Nor does each file
 * make a command: a runtime reads /etc/passwd before it starts one.  So a few
 * files that are a small part of a section do not load it.
 */
#include "vfs_private.h"

#include "lazy/vfs/cache.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { UNLOADED, LOADING, LOADED, FAILED };

enum { CHANCE_B = 32 << 10, CHANCES = 32 };

enum { SMALL_PART = 16, SMALL_READS = 3 };

/* A section, besides the trace itself. */
struct trace_section {
	struct vfs_source *source;
	struct layer_section of;	/* its pieces are ours; NULL once they
					 * are not needed */
	uint64_t at;			/* of its data in our file */
	_Atomic int state;		/* changes while locked */
	unsigned chances, small;	/* reads that did not load it; locked */
};

struct trace_piece {
	uint32_t layer, entry;
	uint32_t section;		/* from 1; 0: the trace itself */
	uint64_t offset, length;	/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

struct vfs_trace {
	int fd;
	const struct vfs_report *report;
	struct trace_piece *pieces;
	size_t count, cap;
	struct trace_section *sections;
	size_t section_count, section_cap;
	uint64_t end;
	_Atomic unsigned loaded;	/* sections */
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* the state of a section */
};

/* A stream that is being decoded. */
struct load {
	struct vfs_trace *t;
	struct vfs_stream *stream;
	uint32_t layer;			/* of a trace */
	uint64_t at;			/* in our file, of a section */
};

static int
by_file(const void *a, const void *b)
{
	const struct trace_piece *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer > y->layer ? 1 : -1;
	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static ssize_t
next_bytes(void *arg, const uint8_t **data)
{
	struct load *load = arg;

	return vfs_stream_next(load->stream, data);
}

static int
add_piece(struct vfs_trace *t, const struct trace_piece *p)
{
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		t->pieces[t->count++] = *p;
	return rc;
}

/* Adds and stores a piece of the trace itself. */
static int
take_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct load *load = arg;
	struct vfs_trace *t = load->t;
	const struct trace_piece p = { .layer = load->layer,
		.entry = (uint32_t)entry, .offset = offset, .length = length,
		.at = t->end };
	int rc = add_piece(t, &p);

	t->end += length;
	return rc != 0 ? rc : fdio_pwrite(t->fd, data, length, (off_t)p.at);
}

/* Adds a section and its pieces, which are not there yet. */
static int
take_section(void *arg, const struct layer_section *s)
{
	const struct load *load = arg;
	struct vfs_trace *t = load->t;
	void *sections = t->sections;
	struct layer_piece *pieces;
	struct trace_section *new;
	int rc = array_grow(&sections, t->section_count, &t->section_cap,
	    sizeof(*t->sections));

	t->sections = sections;
	pieces = rc != 0 ? NULL : sys_malloc(s->count * sizeof(*pieces));
	if (pieces == NULL)
		return -ENOMEM;
	memcpy(pieces, s->pieces, s->count * sizeof(*pieces));
	new = &t->sections[t->section_count++];
	*new = (struct trace_section){ .of = *s, .at = t->end };
	new->of.pieces = pieces;
	for (size_t i = 0; rc == 0 && i < s->count; i++) {
		rc = add_piece(t, &(struct trace_piece){ .layer = load->layer,
			.entry = pieces[i].entry,
			.section = (uint32_t)t->section_count,
			.offset = pieces[i].offset, .at = t->end,
			.length = pieces[i].length });
		t->end += pieces[i].length;
	}
	return rc;
}

static void
drop_pieces(struct trace_section *s)
{
	void *pieces;

	memcpy(&pieces, &s->of.pieces, sizeof(pieces));
	s->of.pieces = NULL;
	sys_free(pieces);
}

static void
warn(const struct vfs_report *report, const struct vfs_source *s,
    const char *what, int rc)
{
	char why[LAYER_WHY];

	snprintf(why, sizeof(why), "ignoring %s: %s", what, strerror(-rc));
	report->warn(report->arg, s->name, why);
}

/* Loads the trace of a layer.  Returns 0 or -errno. */
static int
load_layer(struct vfs_trace *t, uint32_t layer, struct vfs_source *source,
    const struct layer_range *r)
{
	struct load load = { .t = t, .layer = layer };
	const struct layer_trace_io io = { .next = next_bytes,
		.take = take_piece, .section = take_section, .arg = &load };
	size_t pieces = t->count, sections = t->section_count;
	int rc = vfs_stream_open(&load.stream, source, r);

	if (rc == 0) {
		rc = layer_trace_decode(source->layer, &io);
		vfs_stream_close(load.stream, rc == -EBADMSG);
	}
	for (size_t i = sections; rc == 0 && i < t->section_count; i++)
		t->sections[i].source = source;
	if (rc != 0) {
		t->count = pieces;
		while (t->section_count > sections)
			drop_pieces(&t->sections[--t->section_count]);
	}
	return rc;
}

int
vfs_trace_load(struct vfs_trace **out, struct vfs_source *const *sources,
    size_t count, int dir, const struct vfs_report *report)
{
	struct vfs_trace *t = sys_calloc(1, sizeof(*t));
	size_t n = 0;

	*out = NULL;
	if (t == NULL)
		return -ENOMEM;
	t->fd = cache_unnamed(dir);
	/* everything can be read without it */
	if (t->fd < 0) {
		warn(report, sources[0], "the trace", t->fd);
		sys_free(t);
		return 0;
	}
	t->report = report;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	for (uint32_t i = 0; i < count; i++) {
		struct vfs_source *s = sources[i];
		struct layer_range r;
		int rc;

		if (!layer_trace(s->layer, &r) || r.length > LAYER_TRACE_MAX)
			continue;
		rc = load_layer(t, i, s, &r);
		if (rc != 0)
			warn(report, s, "the trace", rc);
	}
	if (t->count == 0) {
		vfs_trace_free(t);
		return 0;
	}
	qsort(t->pieces, t->count, sizeof(*t->pieces), by_file);
	/* trims or drops pieces that overlap an earlier one of the same file */
	for (size_t i = 0; i < t->count; i++) {
		struct trace_piece p = t->pieces[i];
		const struct trace_piece *last = &t->pieces[n - (n > 0)];
		uint64_t twice = n == 0 || last->layer != p.layer ||
		    last->entry != p.entry ||
		    last->offset + last->length <= p.offset ? 0 :
		    last->offset + last->length - p.offset;

		if (twice >= p.length)
			continue;
		p.offset += twice;
		p.at += twice;
		p.length -= twice;
		t->pieces[n++] = p;
	}
	t->count = n;
	*out = t;
	return 0;
}

void
vfs_trace_free(struct vfs_trace *t)
{
	sys_close(t->fd);
	for (size_t i = 0; i < t->section_count; i++)
		drop_pieces(&t->sections[i]);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	sys_free(t->sections);
	sys_free(t->pieces);
	sys_free(t);
}

/* Finding pieces */

static bool
is_in_file(const struct trace_piece *p, uint32_t layer, uint32_t entry)
{
	return p->layer == layer && p->entry == entry;
}

/*
 * Returns the first piece of the file that ends after offset, or a piece of
 * another file.
 */
static size_t
find_piece(const struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t offset)
{
	const struct trace_piece key = { .layer = layer, .entry = entry,
		.offset = offset };
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct trace_piece *p = &t->pieces[mid];

		if (is_in_file(p, layer, entry) ?
		    p->offset + p->length <= offset : by_file(p, &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Sections */

/* Stores a piece of a section, at its place. */
static int
store_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct load *load = arg;
	uint64_t at = load->at;

	(void)entry;
	(void)offset;
	load->at += length;
	return fdio_pwrite(load->t->fd, data, length, (off_t)at);
}

/* Loads a section; the caller has made its state LOADING. */
static void
load_section(struct vfs_trace *t, struct trace_section *s)
{
	struct load load = { .t = t, .at = s->at };
	const struct layer_trace_io io = { .next = next_bytes,
		.take = store_piece, .arg = &load };
	int rc = vfs_stream_open(&load.stream, s->source, &s->of.stored);

	if (rc == 0) {
		rc = layer_section_decode(s->source->layer, &s->of, &io);
		vfs_stream_close(load.stream, rc == -EBADMSG);
	}
	if (rc != 0)
		warn(t->report, s->source, "a section of the trace", rc);
	drop_pieces(s);
	pthread_mutex_lock(&t->lock);
	atomic_store(&s->state, rc == 0 ? LOADED : FAILED);
	/* last, so that what is counted can be copied */
	atomic_fetch_add(&t->loaded, rc == 0);
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static bool
is_loaded(struct vfs_trace *t, const struct trace_piece *p)
{
	return p->section == 0 ||
	    atomic_load(&t->sections[p->section - 1].state) == LOADED;
}

/* Returns whether some of the file of a piece is there. */
static bool
is_used(struct vfs_trace *t, const struct trace_piece *p)
{
	size_t i = find_piece(t, p->layer, p->entry, 0);

	while (i < t->count && is_in_file(&t->pieces[i], p->layer, p->entry))
		if (is_loaded(t, &t->pieces[i++]))
			return true;
	return false;
}

/* Returns whether a section has little of the file of one of its pieces. */
static bool
is_small(const struct vfs_trace *t, const struct trace_section *s,
    const struct trace_piece *p)
{
	uint64_t length = 0;

	for (size_t i = find_piece(t, p->layer, p->entry, 0); i < t->count &&
	    is_in_file(&t->pieces[i], p->layer, p->entry); i++)
		if (t->pieces[i].section == p->section)
			length += t->pieces[i].length;
	return length < s->of.stored.length / SMALL_PART;
}

/* Returns whether to load the section of a piece.  Called while locked. */
static bool
is_wanted(struct vfs_trace *t, struct trace_section *s,
    const struct trace_piece *p)
{
	const uint64_t chances = s->of.stored.length / CHANCE_B;

	if (atomic_load(&s->state) != UNLOADED)
		return false;
	if (is_used(t, p))
		return s->chances++ >= (chances < CHANCES ? chances : CHANCES);
	return !is_small(t, s, p) || s->small++ >= SMALL_READS;
}

/* Loads a piece's section, or waits for it.  Returns whether it is there. */
static bool
want_piece(struct vfs_trace *t, const struct trace_piece *p)
{
	struct trace_section *s;
	bool ours;

	if (is_loaded(t, p))
		return true;
	s = &t->sections[p->section - 1];
	pthread_mutex_lock(&t->lock);
	ours = is_wanted(t, s, p);
	if (ours)
		atomic_store(&s->state, LOADING);
	while (!ours && atomic_load(&s->state) == LOADING)
		pthread_cond_wait(&t->changed, &t->lock);
	pthread_mutex_unlock(&t->lock);
	if (ours)
		load_section(t, s);
	return is_loaded(t, p);
}

unsigned
vfs_trace_loaded(struct vfs_trace *t)
{
	return atomic_load(&t->loaded);
}

/* Reading */

/* Returns whether pieces, from number i, contain all of [at, end) of a file. */
static bool
covers(const struct vfs_trace *t, size_t i, uint32_t layer, uint32_t entry,
    uint64_t at, uint64_t end)
{
	for (; at < end; i++) {
		const struct trace_piece *p = &t->pieces[i];

		if (i == t->count || !is_in_file(p, layer, entry) ||
		    p->offset > at)
			return false;
		at = p->offset + p->length;
	}
	return true;
}

bool
vfs_trace_read(struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t offset, size_t size, uint8_t *buf)
{
	uint64_t at = offset, end = offset + size;
	size_t i = find_piece(t, layer, entry, offset);

	if (!covers(t, i, layer, entry, offset, end))
		return false;
	for (; at < end; i++) {
		const struct trace_piece *p = &t->pieces[i];
		uint64_t len = p->offset + p->length - at;

		len = len < end - at ? len : end - at;
		if (!want_piece(t, p) || fdio_pread(t->fd, buf + (at - offset),
		    len, (off_t)(p->at + (at - p->offset))) != (ssize_t)len)
			return false;
		at += len;
	}
	return true;
}

size_t
vfs_trace_next(struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t *offset, size_t size, uint8_t *buf)
{
	size_t got = 0;

	for (size_t i = find_piece(t, layer, entry, *offset); got < size &&
	    i < t->count && is_in_file(&t->pieces[i], layer, entry); i++) {
		const struct trace_piece *p = &t->pieces[i];
		uint64_t len, at = *offset + got;

		if (p->offset > at && got > 0)
			break;
		if (!is_loaded(t, p)) {
			if (got > 0)
				break;
			continue;
		}
		if (p->offset > at)
			*offset = at = p->offset;
		len = p->offset + p->length - at;
		len = len < size - got ? len : size - got;
		if (fdio_pread(t->fd, buf + got, len, (off_t)(p->at +
		    (at - p->offset))) != (ssize_t)len)
			break;
		got += len;
	}
	return got;
}
