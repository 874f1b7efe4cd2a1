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
#include "layermount_tree.h"

#include "base/sys.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum {
	JOBS = 512,
	RECENT = 256,
	PIECE = 128 << 10,		/* bytes stored at a time */
	PATIENCE_S = 2			/* seconds to wait at the end */
};

/* Data to be stored: [begin, end) of a file, starting at `from`. */
struct job {
	struct stack *stack;
	uint32_t inode;
	uint64_t begin, from, end;
	const struct layer_run *run;	/* run in the unit; NULL: use the
					 * trace */
	struct unit_id unit;
};

struct push {
	struct layermount *m;
	pthread_t thread;
	uint8_t *buf;			/* PIECE bytes, used only by the
					 * thread */
	uint64_t page;

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	bool stop;
	struct job jobs[JOBS];
	size_t first, count;
	const struct stack *current;	/* of the current job, or NULL */
	/*
	 * units requested recently: inode number in the kernel, and serial
	 * number of the unit
	 */
	struct { uint64_t number, serial; } recent[RECENT];
};

/* Storing */

/* Stores the whole pages of n bytes.  Returns 0 or -errno. */
static int
store(struct push *p, const struct job *j, uint64_t at, size_t n)
{
	uint64_t size = merge_node(j->stack->tree, j->inode)->entry->size;
	uint64_t from = (at + p->page - 1) / p->page * p->page;
	uint64_t end = at + n == size ? size : (at + n) / p->page * p->page;
	struct fuse_bufvec v = FUSE_BUFVEC_INIT(0);
	int rc;

	if (from >= end)
		return 0;
	v.buf[0].size = (size_t)(end - from);
	v.buf[0].mem = p->buf + (from - at);
	rc = fuse_lowlevel_notify_store(p->m->session, tree_number(j->stack,
	    j->inode), (off_t)from, &v, 0);
	if (rc == 0)
		atomic_fetch_add(&p->m->pushed_bytes, end - from);
	return rc;
}

/*
 * Copies the first bytes at or after *at that are in memory or in the trace,
 * and sets *at.  Returns the number of bytes, or 0 if there are none.
 */
static size_t
copy(struct push *p, const struct job *j, uint64_t *at, uint64_t end)
{
	size_t n = end - *at < PIECE ? (size_t)(end - *at) : PIECE;

	if (j->run == NULL) {
		n = trace_next(j->stack, merge_node(j->stack->tree, j->inode),
		    at, n, p->buf);
		return *at < end ? n : 0;
	}
	return units_copy(p->m->units, j->unit, j->run->inner + (*at -
	    j->run->offset), n, p->buf) ? n : 0;
}

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
 * Stores part of a file.  Returns whether to continue; the kernel may have
 * dropped the inode.
 */
static bool
store_part(struct push *p, const struct job *j, uint64_t at, uint64_t end)
{
	size_t n;

	while (at < end && !is_stopped(p)) {
		n = copy(p, j, &at, end);
		if (n == 0)
			return true;
		if (store(p, j, at, n) != 0)
			return false;
		at += n;
	}
	return !is_stopped(p);
}

static void *
do_jobs(void *arg)
{
	struct push *p = arg;
	struct job j;

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
add(struct push *p, const struct job *j)
{
	if (p->count == JOBS)
		return false;
	p->jobs[(p->first + p->count++) % JOBS] = *j;
	pthread_cond_broadcast(&p->changed);
	return true;
}

void
push_traced(struct stack *s, uint32_t inode, uint64_t offset)
{
	struct push *p = s->m->push;
	const struct job j = { .stack = s, .inode = inode, .from = offset,
		.end = merge_node(s->tree, inode)->entry->size };

	if (p == NULL || (atomic_fetch_or(&s->seen[inode], SEEN_PUSHED) &
	    SEEN_PUSHED) != 0)
		return;
	pthread_mutex_lock(&p->lock);
	if (!add(p, &j))
		atomic_fetch_and(&s->seen[inode], (uint8_t)~SEEN_PUSHED);
	pthread_mutex_unlock(&p->lock);
}

void
push_unit(struct stack *s, uint32_t inode, uint64_t offset, size_t size,
    const struct unit *unit)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const struct layer_run *r = &n->entry->runs[layer_find_run(n->entry,
	    offset)];
	struct push *p = s->m->push;
	const struct job j = { .stack = s, .inode = inode, .run = r,
		.unit = read_unit(s, n, r->unit), .begin = r->offset,
		.from = offset, .end = r->offset + r->length };
	uint64_t number = tree_number(s, inode), serial = unit_serial(unit);
	size_t slot = (size_t)((number * 31 + serial) % RECENT);

	if (p == NULL || size >= r->length)
		return;
	pthread_mutex_lock(&p->lock);
	if ((p->recent[slot].number != number ||
	    p->recent[slot].serial != serial) && add(p, &j)) {
		p->recent[slot].number = number;
		p->recent[slot].serial = serial;
	}
	pthread_mutex_unlock(&p->lock);
}

void
push_forget(struct stack *s)
{
	struct push *p = s->m->push;
	size_t kept = 0;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->count; i++) {
		const struct job j = p->jobs[(p->first + i) % JOBS];

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
push_start(struct layermount *m)
{
	struct push *p;
	int rc;

	/* only root can abort a mount or reduce readahead */
	if (m->readahead_fd < 0)
		return 0;
	p = sys_calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->m = m;
	p->page = (uint64_t)sysconf(_SC_PAGESIZE);
	p->buf = sys_malloc(PIECE);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	rc = p->buf == NULL ? -ENOMEM : sys_thread(&p->thread, do_jobs, p);
	if (rc == 0) {
		m->push = p;
		return 0;
	}
	sys_free(p->buf);
	sys_free(p);
	return rc;
}

bool
push_join(pthread_t thread)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

bool
push_stop(struct layermount *m)
{
	struct push *p = m->push;

	if (p == NULL)
		return true;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (!push_join(p->thread))
		return false;
	m->push = NULL;
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	sys_free(p->buf);
	sys_free(p);
	return true;
}
