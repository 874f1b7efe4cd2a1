/*
 * layermount_ahead.c - fetching ahead of reads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While a file is read sequentially, other threads fetch its next units in
 * parallel; the window grows with the bytes read, so that reading a few pages
 * does not fetch a large file.  While no read is waiting, the background thread
 * fetches the files that are marked for this in the layers, or all files with
 * --prefetch all.
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum {
	THREADS = 4,
	QUEUE = 64,			/* size of the queue, in units */
	FILES = 64,			/* number of files whose reads are
					 * tracked */
	WINDOW_MIN = 256 << 10, WINDOW_MAX = 8 << 20,
	SEQUENTIAL = 1 << 20,		/* sequential bytes that indicate the
					 * end of startup */
	IDLE_MS = 50,			/* time without reads before background
					 * fetching */
	PAUSE_NS = 10000000		/* polling interval */
};

struct file {
	const struct stack *stack;
	uint32_t inode;
	uint64_t next;			/* offset at which a sequential read
					 * continues */
	uint64_t length;		/* offset up to which the file was read
					 * sequentially */
	uint64_t ahead;			/* offset up to which units were
					 * requested */
};

struct ahead {
	pthread_t threads[THREADS], background;
	bool has_background;

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	bool stop;
	struct unit_id queue[QUEUE];
	size_t first, count;
	struct file files[FILES];
	struct stack *stacks, **last;	/* stacks yet to be fetched */
};

/* The queue */

static void *
fetch_queued(void *arg)
{
	struct layermount *m = arg;
	struct ahead *a = m->ahead;
	struct unit_id id;
	struct unit *got;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		while (a->count == 0 && !a->stop)
			pthread_cond_wait(&a->changed, &a->lock);
		if (a->stop)
			break;
		id = a->queue[a->first];
		a->first = (a->first + 1) % QUEUE;
		a->count--;
		pthread_mutex_unlock(&a->lock);
		if (units_get(m->units, &id, 1, HTTP_PREFETCH, &got) == 0) {
			units_release(m->units, got);
			atomic_fetch_add(&m->ahead_units, 1);
		}
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Queues the units of a file between two offsets, while there is space. */
static uint64_t
enqueue(struct stack *s, const struct merge_node *n, uint64_t from,
    uint64_t to)
{
	const struct layer_entry *e = n->entry;
	struct ahead *a = s->m->ahead;

	for (size_t i = layer_find_run(e, from); i < e->run_count &&
	    e->runs[i].offset < to && a->count < QUEUE; i++) {
		struct unit_id id = read_unit(s, n, e->runs[i].unit);

		from = e->runs[i].offset + e->runs[i].length;
		if (units_has(s->m->units, id))
			continue;
		a->queue[(a->first + a->count++) % QUEUE] = id;
	}
	pthread_cond_broadcast(&a->changed);
	return from;
}

/*
 * Returns whether a read continues the previous one: it begins at the end of
 * the previous read, or at the next unit if the rest of the unit in between has
 * been pushed.
 */
static bool
continues(const struct file *f, const struct stack *s, uint32_t inode,
    uint64_t offset)
{
	const struct layer_entry *e = merge_node(s->tree, inode)->entry;
	size_t i;

	if (f->stack != s || f->inode != inode)
		return false;
	if (f->next == offset)
		return true;
	i = layer_find_run(e, offset);
	return s->m->push != NULL && i > 0 && i < e->run_count &&
	    e->runs[i].offset == offset && f->next < offset &&
	    f->next > e->runs[i - 1].offset;
}

bool
ahead_note(struct stack *s, uint32_t inode, uint64_t offset, size_t size)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	struct ahead *a = s->m->ahead;
	struct file *f = &a->files[(s->first_inode + inode) % FILES];
	uint64_t window, from;
	bool sequential;

	pthread_mutex_lock(&a->lock);
	if (!continues(f, s, inode, offset)) {
		*f = (struct file){ .stack = s, .inode = inode,
			.next = offset + size };
		pthread_mutex_unlock(&a->lock);
		return false;
	}
	f->length += offset + size - f->next;
	f->next = offset + size;
	sequential = f->length >= SEQUENTIAL;
	if (sequential)
		readahead_raise(s->m);
	window = f->length < WINDOW_MIN ? 0 : f->length > WINDOW_MAX ?
	    WINDOW_MAX : f->length;
	from = f->ahead > f->next ? f->ahead : f->next;
	if (window > 0 && from < f->next + window && from < n->entry->size)
		f->ahead = enqueue(s, n, from, f->next + window);
	pthread_mutex_unlock(&a->lock);
	return sequential;
}

/* In the background */

static bool
is_stopped(struct ahead *a)
{
	bool stop;

	pthread_mutex_lock(&a->lock);
	stop = a->stop;
	pthread_mutex_unlock(&a->lock);
	return stop;
}

/* Waits until there has been no read for a while.  Returns false to stop. */
static bool
yield_to_reads(struct layermount *m)
{
	while (!is_stopped(m->ahead)) {
		if (atomic_load(&m->reading) == 0 && sys_now_ns() -
		    atomic_load(&m->last_read_ns) > IDLE_MS * UINT64_C(1000000))
			return true;
		sys_sleep_ns(PAUSE_NS);
	}
	return false;
}

/* Waits until the number of bytes sent so far complies with --rate. */
static void
pace(struct layermount *m, uint64_t start_ns, uint64_t sent)
{
	while (m->o.rate > 0 && !is_stopped(m->ahead) && (double)sent >
	    (double)m->o.rate * (double)(sys_now_ns() - start_ns) / 1e9)
		sys_sleep_ns(PAUSE_NS);
}

/* Returns whether a unit is in the marked first part of its layer. */
static bool
is_marked(const struct layer *l, uint32_t unit)
{
	struct layer_range part, r[LAYER_RANGES_MAX];
	size_t count;

	if (!layer_prefetch(l, &part))
		return false;
	count = layer_ranges(l, unit, r);
	for (size_t i = 0; i < count; i++)
		if (r[i].object != NULL ||
		    r[i].offset + r[i].length > part.offset + part.length)
			return false;
	return true;
}

/* The amount fetched in the background, and the start time. */
struct sent {
	uint64_t start_ns, bytes;
};

/* Fetches the marked units of a layer, or the other units. */
static bool
fetch_layer(struct source *s, bool marked, struct sent *sent)
{
	struct layermount *m = s->m;
	size_t count;
	const struct layer_unit *u = layer_units(s->layer, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct unit_id id = { .source = &s->units, .unit = i };
		struct unit *got;

		if (is_marked(s->layer, i) != marked)
			continue;
		if (!yield_to_reads(m))
			return false;
		if (units_get(m->units, &id, 1, HTTP_BACKGROUND, &got) == 0)
			units_release(m->units, got);
		sent->bytes += u[i].stored;
		pace(m, sent->start_ns, sent->bytes);
	}
	return true;
}

static bool
fetch_layers(struct stack *s, bool marked, struct sent *sent)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (!fetch_layer(s->sources[i], marked, sent))
			return false;
	return true;
}

static void
fetch_stack(struct stack *s)
{
	struct sent sent = { .start_ns = sys_now_ns() };
	bool all = s->m->o.prefetch == PREFETCH_ALL;

	/* a trace, if there is one, contains the marked files */
	if ((!all && s->trace != NULL) || !fetch_layers(s, true, &sent))
		return;
	if (all)
		(void)fetch_layers(s, false, &sent);
}

static void *
fetch_in_background(void *arg)
{
	struct layermount *m = arg;
	struct ahead *a = m->ahead;
	struct stack *s;

	pthread_mutex_lock(&a->lock);
	for (;;) {
		while (a->stacks == NULL && !a->stop)
			pthread_cond_wait(&a->changed, &a->lock);
		if (a->stop)
			break;
		s = a->stacks;
		a->stacks = s->next;
		if (a->stacks == NULL)
			a->last = &a->stacks;
		pthread_mutex_unlock(&a->lock);
		fetch_stack(s);
		pthread_mutex_lock(&a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

void
ahead_add(struct stack *s)
{
	struct ahead *a = s->m->ahead;

	pthread_mutex_lock(&a->lock);
	s->next = NULL;
	*a->last = s;
	a->last = &s->next;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

int
ahead_start(struct layermount *m)
{
	struct ahead *a = sys_calloc(1, sizeof(*a));
	int rc = 0;

	if (a == NULL)
		return -ENOMEM;
	m->ahead = a;
	a->last = &a->stacks;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	for (int i = 0; rc == 0 && i < THREADS; i++)
		rc = sys_thread(&a->threads[i], fetch_queued, m);
	if (rc == 0 && m->o.prefetch != PREFETCH_NONE) {
		rc = sys_thread(&a->background, fetch_in_background, m);
		a->has_background = rc == 0;
	}
	return rc;
}

void
ahead_stop(struct layermount *m)
{
	struct ahead *a = m->ahead;

	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	for (int i = 0; i < THREADS; i++)
		if (a->threads[i] != 0)
			pthread_join(a->threads[i], NULL);
	if (a->has_background)
		pthread_join(a->background, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	sys_free(a);
	m->ahead = NULL;
}
