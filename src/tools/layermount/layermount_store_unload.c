/*
 * layermount_store_unload.c - unloading unused layers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is unloaded when it has no users, no request has concerned it for a
 * while, and the kernel has no reference to any of its inodes: then no request
 * can name one.  The kernel keeps unused names until memory is short, so it is
 * first asked to drop the layer's names: those at the top, with all that is
 * unused below them, and, if some were in use at that time, later each name
 * below them.  It is asked again after pauses that double.
 *
 * The kernel answers once no lookup in the same directory waits for us, so only
 * this thread asks, without holding a lock.
 */
#include "layermount_store_impl.h"

#include "layermount_store_place.h"

#include "base/sys.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

enum { TICK_NS = 200000000, DOUBLINGS = 6 };

/* References */

void
store_forget(struct store *s, uint64_t number, int64_t inode, uint64_t count)
{
	struct store_layer *l = store_hold(s, number);

	if (l == NULL)
		return;
	if (inode == MERGE_NONE)
		atomic_fetch_sub(&l->stack.references, count);
	else if ((uint64_t)inode < merge_count(l->stack.tree))
		tree_drop_references(&l->stack, (uint32_t)inode, count);
	pthread_mutex_lock(&s->lock);
	/*
	 * returning references is not a use, so the layer stays as idle as
	 * before
	 */
	l->held--;
	pthread_mutex_unlock(&s->lock);
}

/* Asking the kernel */

static void
drop_name(struct layermount *m, fuse_ino_t parent, const char *name)
{
	(void)fuse_lowlevel_notify_inval_entry(m->session, parent, name,
	    strlen(name));
}

/* Asks the kernel to drop every name whose inode it knows. */
static void
drop_tree(struct layermount *m, const struct stack *k)
{
	for (size_t i = 1; i < merge_count(k->tree); i++) {
		const struct merge_node *n = merge_node(k->tree, (uint32_t)i);

		if (atomic_load(&k->lookups[n->inode]) > 0)
			drop_name(m, tree_number(k, n->parent), n->name);
	}
}

/* The layer stays open meanwhile, because only this thread closes layers. */
static void
ask(struct store *s, struct store_layer *l)
{
	static const char *const names[] = { "diff", "info", "blob" };
	unsigned before = l->asked++;

	l->asked_ns = sys_now_ns();
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		drop_name(s->m, place_number(PLACE_LAYER, l->number),
		    names[i]);
	drop_name(s->m, place_number(PLACE_IMAGE, l->image->number),
	    l->digest);
	if (before > 0)
		drop_tree(s->m, &l->stack);
	pthread_mutex_lock(&s->lock);
}

/* Unloading */

/* Called with the lock held, which it drops. */
static void
unload(struct store *s, struct store_layer *l)
{
	struct stack *k = &l->stack;

	l->state = STORE_CLOSING;
	pthread_mutex_unlock(&s->lock);
	background_forget(k);
	ahead_forget(k);
	push_forget(k);
	atomic_fetch_sub(&s->m->layers, k->source_count);
	atomic_fetch_sub(&s->m->files, merge_count(k->tree));
	atomic_fetch_add(&s->m->unloaded, k->source_count);
	stack_close(k);
	(void)malloc_trim(0);
	pthread_mutex_lock(&s->lock);
	s->open_count--;
	l->state = STORE_CLOSED;
	pthread_cond_broadcast(&s->changed);
}

static bool
is_idle(const struct store *s, const struct store_layer *l, uint64_t now)
{
	return l->state == STORE_OPEN && l->uses == 0 && l->held == 0 &&
	    now - l->last_ns >= s->m->o.idle_s * UINT64_C(1000000000);
}

/*
 * Returns whether it is time to ask again; each pause is twice the previous
 * one.
 */
static bool
is_due(const struct store *s, const struct store_layer *l, uint64_t now)
{
	unsigned n = l->asked < DOUBLINGS ? l->asked : DOUBLINGS;

	return l->asked == 0 || now - l->asked_ns >=
	    (s->m->o.idle_s * UINT64_C(1000000000) << n) / 2;
}

static void
visit(struct store *s, struct store_layer *l)
{
	uint64_t now = sys_now_ns();

	if (!is_idle(s, l, now))
		return;
	if (atomic_load(&l->stack.references) == 0)
		unload(s, l);
	else if (is_due(s, l, now))
		ask(s, l);
}

/* The thread */

static void
wait_a_tick(struct store *s)
{
	struct timespec until;

	if (s->open_count == 0) {
		pthread_cond_wait(&s->changed, &s->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TICK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	(void)pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

static void *
unload_idle(void *arg)
{
	struct store *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		wait_a_tick(s);
		for (size_t i = 0; i < s->layer_count && !s->stop; i++)
			visit(s, s->layers[i]);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int
store_start(struct store *s)
{
	int rc = sys_thread(&s->unloader, unload_idle, s);

	s->has_unloader = rc == 0;
	return rc;
}

bool
store_stop(struct store *s)
{
	if (s == NULL || !s->has_unloader)
		return true;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!push_join(s->unloader))
		return false;
	s->has_unloader = false;
	return true;
}
