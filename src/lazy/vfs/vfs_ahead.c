/*
 * vfs_ahead.c - fetching what may be read next
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While a file is read sequentially, threads fetch its next units in parallel;
 * the window grows with the bytes read, so that reading a few pages does not
 * fetch a large file.
 *
 * While nobody reads, another thread fetches the files that the layers' makers
 * marked, or everything.
 */
#include "vfs_private.h"

#include "base/sys.h"

#include <errno.h>

enum {
	THREADS = 4,
	QUEUE = 64,			/* size of the queue, in units */
	FILES = 64,			/* number of files whose reads are
					 * tracked */
	WINDOW_MIN = 256 << 10, WINDOW_MAX = 8 << 20,
	SEQUENTIAL = 1 << 20,		/* bytes that end startup */
	IDLE_MS = 50,			/* without reads before fetching */
	PAUSE_NS = 10000000,		/* polling interval */
	/* of the rate that may be caught up with, after reads */
	SAVED_NS = 1000000000
};

/* A file that is being read. */
struct tracked_file {
	const struct vfs_stack *stack;
	uint32_t inode;
	uint64_t next;			/* offset at which a sequential read
					 * continues */
	uint64_t length;		/* offset up to which the file was read
					 * sequentially */
	uint64_t ahead;			/* offset up to which units were
					 * requested */
};

struct vfs_ahead {
	struct units *units;
	const struct vfs_options *o;
	pthread_t threads[THREADS], background;
	bool has_background;
	size_t started;			/* threads */
	_Atomic uint64_t fetched;	/* units */
	_Atomic unsigned reading;	/* number of reads in progress */
	_Atomic uint64_t last_read_ns;

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	pthread_cond_t done;		/* with a unit, or a stack */
	bool stop;
	size_t numbered;		/* threads */
	const struct vfs_source *current[THREADS];	/* being fetched */
	struct unit_id queue[QUEUE];
	size_t first, count;
	struct tracked_file files[FILES];

	/* the background */
	struct vfs_stack *stacks, **last;	/* yet to be fetched */
	const struct vfs_stack *stack;	/* being fetched, or NULL */
	const struct vfs_stack *unwanted;	/* stop fetching it, or NULL */
};

/* Sequential reads */

static void *
fetch_queued(void *arg)
{
	struct vfs_ahead *a = arg;
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
		if (units_get(a->units, &id, 1, HTTP_PREFETCH, &got) == 0) {
			units_release(a->units, got);
			atomic_fetch_add(&a->fetched, 1);
		}
		pthread_mutex_lock(&a->lock);
		a->current[number] = NULL;
		pthread_cond_broadcast(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/*
 * Returns whether a read continues the previous one: it begins at the end of
 * the previous read, or at the next unit if the caller has kept the rest of the
 * unit in between.
 */
static bool
continues(const struct vfs_ahead *a, const struct tracked_file *f,
    const struct vfs_stack *s, uint32_t inode, uint64_t offset)
{
	const struct layer_entry *e = merge_node(s->tree, inode)->entry;
	size_t i;

	if (f->stack != s || f->inode != inode)
		return false;
	if (f->next == offset)
		return true;
	i = layer_find_run(e, offset);
	return a->o->keeps_units && i > 0 && i < e->run_count &&
	    e->runs[i].offset == offset && f->next < offset &&
	    f->next > e->runs[i - 1].offset;
}

bool
vfs_ahead_note(struct vfs_ahead *a, struct vfs_stack *s, uint32_t inode,
    uint64_t offset, size_t size)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	struct tracked_file *f = &a->files[(s->first_inode + inode) % FILES];
	const struct layer_entry *e = n->entry;
	uint64_t window, from;
	bool sequential = false;

	pthread_mutex_lock(&a->lock);
	if (!continues(a, f, s, inode, offset)) {
		*f = (struct tracked_file){ .stack = s, .inode = inode,
			.next = offset + size };
		goto out;
	}
	f->length += offset + size - f->next;
	f->next = offset + size;
	sequential = f->length >= SEQUENTIAL;
	window = f->length < WINDOW_MAX ? f->length : WINDOW_MAX;
	from = f->ahead > f->next ? f->ahead : f->next;
	if (window < WINDOW_MIN || from >= f->next + window || from >= e->size)
		goto out;
	/* queues the units in the window, while there is space */
	for (size_t i = layer_find_run(e, from); i < e->run_count &&
	    e->runs[i].offset < f->next + window && a->count < QUEUE; i++) {
		struct unit_id id = vfs_unit_of(s, n, e->runs[i].unit);

		from = e->runs[i].offset + e->runs[i].length;
		if (!units_has(a->units, id))
			a->queue[(a->first + a->count++) % QUEUE] = id;
	}
	f->ahead = from;
	pthread_cond_broadcast(&a->changed);
out:
	pthread_mutex_unlock(&a->lock);
	return sequential;
}

/* The background */

void
vfs_ahead_read_begins(struct vfs_ahead *a)
{
	atomic_fetch_add(&a->reading, 1);
}

void
vfs_ahead_read_ends(struct vfs_ahead *a)
{
	atomic_store(&a->last_read_ns, sys_now_ns());
	atomic_fetch_sub(&a->reading, 1);
}

static bool
is_unwanted(struct vfs_ahead *a, const struct vfs_stack *s)
{
	bool unwanted;

	pthread_mutex_lock(&a->lock);
	unwanted = a->stop || a->unwanted == s;
	pthread_mutex_unlock(&a->lock);
	return unwanted;
}

/*
 * Waits until the bytes just fetched are paid for by the time since *paid_ns, of
 * which little can be saved: what is not fetched while others read is not
 * fetched faster later.
 */
static void
keep_rate(struct vfs_ahead *a, const struct vfs_stack *s, uint64_t bytes,
    uint64_t *paid_ns)
{
	uint64_t now = sys_now_ns();

	if (a->o->rate == 0)
		return;
	if (*paid_ns + SAVED_NS < now)
		*paid_ns = now - SAVED_NS;
	*paid_ns += (uint64_t)((double)bytes / (double)a->o->rate * 1e9);
	while (*paid_ns > sys_now_ns() && !is_unwanted(a, s))
		sys_sleep_ns(PAUSE_NS);
}

/*
 * Fetches the marked units of all layers, or the others.  Returns false to
 * stop.
 */
static bool
fetch_units(struct vfs_ahead *a, struct vfs_stack *s, bool marked,
    uint64_t *paid_ns)
{
	for (size_t k = 0; k < s->source_count; k++) {
		struct vfs_source *source = s->sources[k];
		struct layer_range mark, r[LAYER_RANGES_MAX];
		bool has_mark = layer_prefetch(source->layer, &mark);
		size_t count;
		const struct layer_unit *u = layer_units(source->layer,
		    &count);

		for (uint32_t i = 0; i < count; i++) {
			struct unit_id id = { .source = source, .unit = i };
			struct unit *got;

			/*
			 * Its digest may be elsewhere, and what follows the
			 * last marked unit may include the mark.
			 */
			if ((has_mark && layer_ranges(source->layer, i, r) >
			    0 && r[0].object == NULL && r[0].offset <
			    mark.offset + mark.length) != marked)
				continue;
			/* waits until there has been no read for a while */
			while (atomic_load(&a->reading) > 0 ||
			    sys_now_ns() - atomic_load(&a->last_read_ns) <=
			    IDLE_MS * UINT64_C(1000000)) {
				if (is_unwanted(a, s))
					return false;
				sys_sleep_ns(PAUSE_NS);
			}
			if (is_unwanted(a, s))
				return false;
			if (units_get(a->units, &id, 1, HTTP_BACKGROUND,
			    &got) == 0)
				units_release(a->units, got);
			keep_rate(a, s, u[i].stored, paid_ns);
		}
	}
	return true;
}

static void *
fetch_in_background(void *arg)
{
	struct vfs_ahead *a = arg;
	bool all = a->o->prefetch == VFS_PREFETCH_ALL;
	uint64_t paid_ns = sys_now_ns();
	struct vfs_stack *s;

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
		a->stack = s;
		pthread_mutex_unlock(&a->lock);
		/* a trace, if there is one, contains the marked files */
		if ((all || s->trace == NULL) &&
		    fetch_units(a, s, true, &paid_ns) && all)
			(void)fetch_units(a, s, false, &paid_ns);
		pthread_mutex_lock(&a->lock);
		a->stack = NULL;
		pthread_cond_broadcast(&a->done);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

void
vfs_ahead_add(struct vfs_ahead *a, struct vfs_stack *s)
{
	if (!a->has_background)
		return;
	pthread_mutex_lock(&a->lock);
	s->next = NULL;
	*a->last = s;
	a->last = &s->next;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/* Forgetting a stack */

static bool
has_source(const struct vfs_stack *s, const struct vfs_source *source)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (source == s->sources[i])
			return true;
	return false;
}

static bool
is_fetched(const struct vfs_ahead *a, const struct vfs_stack *s)
{
	for (size_t i = 0; i < THREADS; i++)
		if (has_source(s, a->current[i]))
			return true;
	return a->stack == s;
}

void
vfs_ahead_forget(struct vfs_ahead *a, struct vfs_stack *s)
{
	size_t kept = 0;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->count; i++) {
		const struct unit_id id = a->queue[(a->first + i) % QUEUE];

		if (!has_source(s, id.source))
			a->queue[(a->first + kept++) % QUEUE] = id;
	}
	a->count = kept;
	for (size_t i = 0; i < FILES; i++)
		if (a->files[i].stack == s)
			a->files[i] = (struct tracked_file){ .stack = NULL };
	a->last = &a->stacks;
	while (*a->last != NULL)
		if (*a->last == s)
			*a->last = s->next;
		else
			a->last = &(*a->last)->next;
	a->unwanted = s;
	while (is_fetched(a, s))
		pthread_cond_wait(&a->done, &a->lock);
	a->unwanted = NULL;
	pthread_mutex_unlock(&a->lock);
}

/* Starting and stopping */

int
vfs_ahead_open(struct vfs_ahead **out, struct units *units,
    const struct vfs_options *o)
{
	struct vfs_ahead *a = sys_calloc(1, sizeof(*a));
	int rc;

	*out = a;
	if (a == NULL)
		return -ENOMEM;
	a->units = units;
	a->o = o;
	a->last = &a->stacks;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	pthread_cond_init(&a->done, NULL);
	for (; a->started < THREADS; a->started++) {
		rc = sys_thread(&a->threads[a->started], fetch_queued, a);
		if (rc != 0)
			return rc;
	}
	if (o->prefetch == VFS_PREFETCH_NONE)
		return 0;
	rc = sys_thread(&a->background, fetch_in_background, a);
	a->has_background = rc == 0;
	return rc;
}

void
vfs_ahead_close(struct vfs_ahead *a)
{
	if (a == NULL)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	if (a->has_background)
		pthread_join(a->background, NULL);
	for (size_t i = 0; i < a->started; i++)
		pthread_join(a->threads[i], NULL);
	pthread_cond_destroy(&a->changed);
	pthread_cond_destroy(&a->done);
	pthread_mutex_destroy(&a->lock);
	sys_free(a);
}

uint64_t
vfs_ahead_counted(struct vfs_ahead *a)
{
	return atomic_load(&a->fetched);
}
