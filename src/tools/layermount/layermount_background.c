/*
 * layermount_background.c - fetching layers while no read is waiting
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One thread fetches the files that the layers' makers marked, or everything
 * with --prefetch all.
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>

enum {
	IDLE_MS = 50,			/* without reads before fetching */
	PAUSE_NS = 10000000		/* polling interval */
};

struct background {
	pthread_t thread;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	bool stop;
	struct stack *stacks, **last;	/* yet to be fetched */
	const struct stack *fetched;	/* now, or NULL */
	const struct stack *unwanted;	/* stop fetching for it, or NULL */
};

static bool
is_stopped(struct stack *s)
{
	struct background *b = s->m->background;
	bool stop;

	pthread_mutex_lock(&b->lock);
	stop = b->stop || b->unwanted == s;
	pthread_mutex_unlock(&b->lock);
	return stop;
}

/* Waits until there has been no read for a while.  Returns false to stop. */
static bool
yield_to_reads(struct stack *s)
{
	struct layermount *m = s->m;

	while (!is_stopped(s)) {
		if (atomic_load(&m->reading) == 0 && sys_now_ns() -
		    atomic_load(&m->last_read_ns) > IDLE_MS * UINT64_C(1000000))
			return true;
		sys_sleep_ns(PAUSE_NS);
	}
	return false;
}

/* Waits until the bytes sent so far are within --rate. */
static void
pace(struct stack *s, uint64_t start_ns, uint64_t sent)
{
	double rate = (double)s->m->o.rate;

	while (rate > 0 && !is_stopped(s) && (double)sent >
	    rate * (double)(sys_now_ns() - start_ns) / 1e9)
		sys_sleep_ns(PAUSE_NS);
}

/*
 * Returns whether a unit is in the marked beginning of its layer; its digest
 * may be elsewhere.
 */
static bool
is_marked(const struct layer *l, uint32_t unit)
{
	struct layer_range part, r[LAYER_RANGES_MAX];

	return layer_prefetch(l, &part) && layer_ranges(l, unit, r) > 0 &&
	    r[0].object == NULL &&
	    r[0].offset + r[0].length <= part.offset + part.length;
}

/* The amount fetched in the background, and the start time. */
struct sent {
	uint64_t start_ns, bytes;
};

/* Fetches the marked units of a layer, or the others. */
static bool
fetch_layer(struct stack *k, struct source *s, bool marked, struct sent *sent)
{
	struct layermount *m = s->m;
	size_t count;
	const struct layer_unit *u = layer_units(s->layer, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct unit_id id = { .source = &s->units, .unit = i };
		struct unit *got;

		if (is_marked(s->layer, i) != marked)
			continue;
		if (!yield_to_reads(k))
			return false;
		if (units_get(m->units, &id, 1, HTTP_BACKGROUND, &got) == 0)
			units_release(m->units, got);
		sent->bytes += u[i].stored;
		pace(k, sent->start_ns, sent->bytes);
	}
	return true;
}

static bool
fetch_layers(struct stack *s, bool marked, struct sent *sent)
{
	for (size_t i = 0; i < s->source_count; i++)
		if (!fetch_layer(s, s->sources[i], marked, sent))
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
	struct background *b = arg;
	struct stack *s;

	pthread_mutex_lock(&b->lock);
	for (;;) {
		while (b->stacks == NULL && !b->stop)
			pthread_cond_wait(&b->changed, &b->lock);
		if (b->stop)
			break;
		s = b->stacks;
		b->stacks = s->next;
		if (b->stacks == NULL)
			b->last = &b->stacks;
		b->fetched = s;
		pthread_mutex_unlock(&b->lock);
		fetch_stack(s);
		pthread_mutex_lock(&b->lock);
		b->fetched = NULL;
		pthread_cond_broadcast(&b->changed);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

void
background_add(struct stack *s)
{
	struct background *b = s->m->background;

	if (b == NULL)
		return;
	pthread_mutex_lock(&b->lock);
	s->next = NULL;
	*b->last = s;
	b->last = &s->next;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

void
background_forget(struct stack *s)
{
	struct background *b = s->m->background;

	if (b == NULL)
		return;
	pthread_mutex_lock(&b->lock);
	b->last = &b->stacks;
	while (*b->last != NULL)
		if (*b->last == s)
			*b->last = s->next;
		else
			b->last = &(*b->last)->next;
	b->unwanted = s;
	while (b->fetched == s)
		pthread_cond_wait(&b->changed, &b->lock);
	b->unwanted = NULL;
	pthread_mutex_unlock(&b->lock);
}

int
background_start(struct layermount *m)
{
	struct background *b;
	int rc;

	if (m->o.prefetch == PREFETCH_NONE)
		return 0;
	b = sys_calloc(1, sizeof(*b));
	if (b == NULL)
		return -ENOMEM;
	b->last = &b->stacks;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	m->background = b;
	rc = sys_thread(&b->thread, fetch_in_background, b);
	if (rc != 0) {
		m->background = NULL;
		sys_free(b);
	}
	return rc;
}

void
background_stop(struct layermount *m)
{
	struct background *b = m->background;

	if (b == NULL)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	sys_free(b);
	m->background = NULL;
}
