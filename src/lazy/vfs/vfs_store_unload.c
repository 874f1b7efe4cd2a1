/*
 * vfs_store_unload.c - unloading unused layers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is unloaded when it has no users, no request has concerned it for a
 * while, and the caller, which is the kernel, has no reference to any of its
 * inodes: then no request can name one.  The kernel keeps unused names until
 * memory is short, so it is first asked to drop the layer's names: those at the
 * top, with all that is unused below them, and, if some were in use at that
 * time, later each name below them.  It is asked again after pauses that
 * double.
 *
 * The kernel answers once no lookup in the same directory waits for us, so only
 * this thread asks, without holding a lock.
 */
#include "vfs_store_private.h"

#include "base/sys.h"

#include <errno.h>
#include <malloc.h>
#include <time.h>

enum { TICK_NS = 200000000, DOUBLINGS = 6 };

/* References */

void
vfs_store_forget(struct vfs_store *s, uint64_t number, int64_t inode,
    uint64_t count)
{
	struct vfs_store_layer *l = vfs_store_hold(s, number);

	if (l == NULL)
		return;
	if (inode == MERGE_NONE)
		atomic_fetch_sub(&l->stack.references, count);
	else if ((uint64_t)inode < merge_count(l->stack.tree))
		vfs_stack_unreference(&l->stack, (uint32_t)inode, count);
	pthread_mutex_lock(&s->lock);
	/*
	 * returning references is not a use, so the layer stays as idle as
	 * before
	 */
	l->held--;
	pthread_mutex_unlock(&s->lock);
}

/*
 * Asks for references.  Called with the lock held, which it drops; the layer
 * stays open meanwhile, because only this thread closes layers.
 */
static void
ask_back(struct vfs_store *s, struct vfs_store_layer *l)
{
	bool all = l->asked++ > 0;

	l->asked_ns = sys_now_ns();
	pthread_mutex_unlock(&s->lock);
	s->o.ask_back(s->o.arg, l, all);
	pthread_mutex_lock(&s->lock);
}

/* Unloading */

/* Called with the lock held, which it drops. */
static void
unload(struct vfs_store *s, struct vfs_store_layer *l)
{
	struct vfs_stack *k = &l->stack;

	l->state = VFS_STORE_CLOSING;
	pthread_mutex_unlock(&s->lock);
	vfs_stack_forget(k);
	s->o.closing(s->o.arg, k);
	atomic_fetch_sub(&s->v->layers, k->source_count);
	atomic_fetch_sub(&s->v->files, merge_count(k->tree));
	atomic_fetch_add(&s->v->unloaded, k->source_count);
	vfs_stack_close(k);
	(void)malloc_trim(0);
	pthread_mutex_lock(&s->lock);
	s->open_count--;
	l->state = VFS_STORE_CLOSED;
	pthread_cond_broadcast(&s->changed);
}

static bool
is_idle(const struct vfs_store *s, const struct vfs_store_layer *l,
    uint64_t now)
{
	return l->state == VFS_STORE_OPEN && l->uses == 0 && l->held == 0 &&
	    now - l->last_ns >= s->o.idle_s * UINT64_C(1000000000);
}

/*
 * Returns whether it is time to ask again; each pause is twice the previous
 * one.
 */
static bool
is_due(const struct vfs_store *s, const struct vfs_store_layer *l, uint64_t now)
{
	unsigned n = l->asked < DOUBLINGS ? l->asked : DOUBLINGS;

	return l->asked == 0 || now - l->asked_ns >=
	    (s->o.idle_s * UINT64_C(1000000000) << n) / 2;
}

static void
visit(struct vfs_store *s, struct vfs_store_layer *l)
{
	uint64_t now = sys_now_ns();

	if (!is_idle(s, l, now))
		return;
	if (atomic_load(&l->stack.references) == 0)
		unload(s, l);
	else if (is_due(s, l, now))
		ask_back(s, l);
}

/* The thread */

static void
wait_a_tick(struct vfs_store *s)
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
	struct vfs_store *s = arg;

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
vfs_store_start(struct vfs_store *s)
{
	int rc = sys_thread(&s->unloader, unload_idle, s);

	s->has_unloader = rc == 0;
	return rc;
}

bool
vfs_store_stop(struct vfs_store *s)
{
	if (s == NULL || !s->has_unloader)
		return true;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!vfs_join(s->unloader))
		return false;
	s->has_unloader = false;
	return true;
}
