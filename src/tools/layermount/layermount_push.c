/*
 * layermount_push.c - storing data in the page cache before it is requested
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * During startup the kernel requests single pages, one after another, as they
 * are touched.  When it has read part of a file, a thread stores more of the
 * file in the page cache: all other parts of it in the trace or, if the part
 * was read from a unit, all other parts of it in that unit.
 *
 * Storing a page blocks while the kernel reads the same page, until that read
 * has been answered.  Therefore threads that answer reads do not store data or
 * wait for this thread, which holds no unit while storing.  If the process is
 * killed at that time, the page remains locked and the thread cannot exit until
 * the mount is aborted (layermount_parent.c).
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <unistd.h>

enum {
	JOBS = 512,
	RECENT = 256,
	PIECE = 128 << 10		/* bytes stored at a time */
};

/* Data to be stored: [begin, end) of a file, starting at `from`. */
struct push_job {
	struct vfs_stack *stack;
	uint32_t inode;
	uint64_t begin, from, end;
	const struct layer_run *run;	/* run in the unit; NULL: use the
					 * trace */
};

struct push {
	struct fuse_session *session;
	pthread_t thread;
	_Atomic uint64_t bytes;		/* stored so far */
	uint8_t *buf;			/* PIECE bytes, used only by the
					 * thread */
	uint64_t page;

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	bool stop;
	struct push_job jobs[JOBS];
	size_t first, count;
	const struct vfs_stack *current;	/* of a job, or NULL */
	/*
	 * units requested recently: inode number in the kernel, and serial
	 * number of the unit
	 */
	struct { uint64_t number, serial; } recent[RECENT];
};

/* Storing */

static bool
is_stopped(struct push *p)
{
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

/*
 * Stores the whole pages of part of a file that are in memory or in the trace.
 * Returns whether to continue; the kernel may have dropped the inode.
 */
static bool
store_part(struct push *p, const struct push_job *j, uint64_t at, uint64_t end)
{
	uint64_t size = merge_node(j->stack->tree, j->inode)->entry->size;
	uint64_t from, to;
	size_t n;

	while (at < end && !is_stopped(p)) {
		n = end - at < PIECE ? (size_t)(end - at) : PIECE;
		if (j->run == NULL)
			n = vfs_copy_traced(j->stack, j->inode, &at, n, p->buf);
		else if (!vfs_copy_run(j->stack, j->inode, j->run, at, n,
		    p->buf))
			n = 0;
		if (n == 0 || at >= end)
			return true;
		from = (at + p->page - 1) / p->page * p->page;
		to = at + n == size ? size : (at + n) / p->page * p->page;
		if (from < to) {
			struct fuse_bufvec v =
			    FUSE_BUFVEC_INIT((size_t)(to - from));

			v.buf[0].mem = p->buf + (from - at);
			if (fuse_lowlevel_notify_store(p->session,
			    layermount_number(j->stack, j->inode),
			    (off_t)from, &v, 0) != 0)
				return false;
			atomic_fetch_add(&p->bytes, to - from);
		}
		at += n;
	}
	return !is_stopped(p);
}

static void *
do_jobs(void *arg)
{
	struct push *p = arg;
	struct push_job j;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->count == 0 && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->stop)
			break;
		j = p->jobs[p->first];
		p->first = (p->first + 1) % JOBS;
		p->count--;
		p->current = j.stack;
		pthread_mutex_unlock(&p->lock);
		/* the data after the read is needed first */
		if (store_part(p, &j, j.from, j.end))
			(void)store_part(p, &j, j.begin, j.from);
		pthread_mutex_lock(&p->lock);
		p->current = NULL;
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Reads */

/* Adds a job, if there is space.  Called with the lock held. */
static bool
add_job(struct push *p, const struct push_job *j)
{
	if (p->count == JOBS)
		return false;
	p->jobs[(p->first + p->count++) % JOBS] = *j;
	pthread_cond_broadcast(&p->changed);
	return true;
}

/*
 * Stores all parts of a file in the trace, once; again when a read has fetched
 * another section, which may have more of them.
 */
static void
push_traced(struct push *p, const struct vfs_read *r)
{
	struct vfs_stack *s = r->stack;
	const struct push_job j = { .stack = s, .inode = r->inode,
		.from = r->offset,
		.end = merge_node(s->tree, r->inode)->entry->size };
	uint8_t now = (uint8_t)(VFS_SEEN_CALLER |
	    vfs_traced_sections(s) * 2 * VFS_SEEN_CALLER);
	uint8_t old = atomic_load(&s->seen[r->inode]);

	do
		if ((old | VFS_SEEN_READ) == (now | VFS_SEEN_READ))
			return;
	while (!atomic_compare_exchange_weak(&s->seen[r->inode], &old,
	    (uint8_t)(now | (old & VFS_SEEN_READ))));
	pthread_mutex_lock(&p->lock);
	if (!add_job(p, &j))
		atomic_fetch_and(&s->seen[r->inode], VFS_SEEN_READ);
	pthread_mutex_unlock(&p->lock);
}

/* Stores the rest of a file in a unit, unless that was done recently. */
static void
push_unit(struct push *p, const struct vfs_read *r)
{
	const struct layer_entry *e = merge_node(r->stack->tree,
	    r->inode)->entry;
	const struct layer_run *run = &e->runs[layer_find_run(e, r->offset)];
	const struct push_job j = { .stack = r->stack, .inode = r->inode,
		.run = run, .begin = run->offset, .from = r->offset,
		.end = run->offset + run->length };
	uint64_t number = layermount_number(r->stack, r->inode);
	uint64_t serial = unit_serial(r->unit);
	size_t slot = (size_t)((number * 31 + serial) % RECENT);

	if (r->size >= run->length)
		return;
	pthread_mutex_lock(&p->lock);
	if ((p->recent[slot].number != number ||
	    p->recent[slot].serial != serial) && add_job(p, &j)) {
		p->recent[slot].number = number;
		p->recent[slot].serial = serial;
	}
	pthread_mutex_unlock(&p->lock);
}

void
push_read(struct push *p, const struct vfs_read *r)
{
	if (p != NULL && r->traced)
		push_traced(p, r);
	else if (p != NULL && r->unit != NULL)
		push_unit(p, r);
}

uint64_t
push_counted(struct push *p)
{
	return p == NULL ? 0 : atomic_load(&p->bytes);
}

void
push_forget(struct push *p, struct vfs_stack *s)
{
	size_t kept = 0;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->count; i++) {
		const struct push_job j = p->jobs[(p->first + i) % JOBS];

		if (j.stack != s)
			p->jobs[(p->first + kept++) % JOBS] = j;
	}
	p->count = kept;
	while (p->current == s)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* The thread */

int
push_start(struct push **out, struct fuse_session *session)
{
	struct push *p = sys_calloc(1, sizeof(*p));
	int rc;

	*out = NULL;
	if (p == NULL)
		return -ENOMEM;
	p->session = session;
	p->page = (uint64_t)sysconf(_SC_PAGESIZE);
	p->buf = sys_malloc(PIECE);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	rc = p->buf == NULL ? -ENOMEM : sys_thread(&p->thread, do_jobs, p);
	if (rc == 0) {
		*out = p;
		return 0;
	}
	sys_free(p->buf);
	sys_free(p);
	return rc;
}

bool
push_stop(struct push *p)
{
	if (p == NULL)
		return true;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (!vfs_join(p->thread))
		return false;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	sys_free(p->buf);
	sys_free(p);
	return true;
}
