/*
 * layermount_ahead.c - fetching ahead of reads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While a file is read sequentially, other threads fetch its next units in
 * parallel; the window grows with the bytes read, so that reading a few pages
 * does not fetch a large file.
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
	SEQUENTIAL = 1 << 20		/* bytes that end startup */
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
	pthread_t threads[THREADS];

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	pthread_cond_t done;		/* with a unit */
	bool stop;
	size_t numbered;		/* threads */
	const struct units_source *current[THREADS];	/* being fetched */
	struct unit_id queue[QUEUE];
	size_t first, count;
	struct file files[FILES];
};

/* The queue */

static void *
fetch_queued(void *arg)
{
	struct layermount *m = arg;
	struct ahead *a = m->ahead;
	struct unit_id id;
	struct unit *got;
	size_t number;

	pthread_mutex_lock(&a->lock);
	number = a->numbered++;
	for (;;) {
		while (a->count == 0 && !a->stop)
			pthread_cond_wait(&a->changed, &a->lock);
		if (a->stop)
			break;
		id = a->queue[a->first];
		a->first = (a->first + 1) % QUEUE;
		a->count--;
		a->current[number] = id.source;
		pthread_mutex_unlock(&a->lock);
		if (units_get(m->units, &id, 1, HTTP_PREFETCH, &got) == 0) {
			units_release(m->units, got);
			atomic_fetch_add(&m->ahead_units, 1);
		}
		pthread_mutex_lock(&a->lock);
		a->current[number] = NULL;
		pthread_cond_broadcast(&a->done);
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

/* Forgetting a stack */

static bool
is_of(const struct stack *s, const struct units_source *source)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (source == &s->sources[i]->units)
			return true;
	return false;
}

static bool
is_fetched(const struct ahead *a, const struct stack *s)
{
	for (size_t i = 0; i < THREADS; i++)
		if (is_of(s, a->current[i]))
			return true;
	return false;
}

/* Removes everything recorded about a stack.  Called with the lock held. */
static void
remove_stack(struct ahead *a, const struct stack *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->count; i++) {
		const struct unit_id id = a->queue[(a->first + i) % QUEUE];

		if (!is_of(s, id.source))
			a->queue[(a->first + kept++) % QUEUE] = id;
	}
	a->count = kept;
	for (size_t i = 0; i < FILES; i++)
		if (a->files[i].stack == s)
			a->files[i] = (struct file){ .stack = NULL };
}

void
ahead_forget(struct stack *s)
{
	struct ahead *a = s->m->ahead;

	pthread_mutex_lock(&a->lock);
	remove_stack(a, s);
	while (is_fetched(a, s))
		pthread_cond_wait(&a->done, &a->lock);
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
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	pthread_cond_init(&a->done, NULL);
	for (int i = 0; rc == 0 && i < THREADS; i++)
		rc = sys_thread(&a->threads[i], fetch_queued, m);
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
	pthread_cond_destroy(&a->changed);
	pthread_cond_destroy(&a->done);
	pthread_mutex_destroy(&a->lock);
	sys_free(a);
	m->ahead = NULL;
}
