/*
 * parallel.c - running one function in several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Threads wait at a gate until the caller has determined whether enough of them
 * have started.
 */
#include "base/parallel.h"

#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>

struct gang {
	parallel_fn *fn;
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum { GATE_SHUT, GATE_OPEN, GATE_SENT_HOME } gate;
};

struct member {
	struct gang *gang;
	unsigned i;
	pthread_t thread;
};

static void *
member_main(void *arg)
{
	struct member *m = arg;
	struct gang *g = m->gang;
	bool go;

	pthread_mutex_lock(&g->lock);
	while (g->gate == GATE_SHUT)
		pthread_cond_wait(&g->moved, &g->lock);
	go = g->gate == GATE_OPEN;
	pthread_mutex_unlock(&g->lock);
	if (go)
		g->fn(g->arg, m->i);
	return NULL;
}

/*
 * Runs fn in the threads; if all is set, only if every thread can be started.
 */
static int
run_gang(unsigned threads, parallel_fn *fn, void *arg, bool all,
    unsigned *ran)
{
	struct gang g = { .fn = fn, .arg = arg,
	    .gate = all ? GATE_SHUT : GATE_OPEN };
	struct member *m = sys_calloc(threads, sizeof(*m));
	unsigned started = 0;
	int rc = m == NULL ? -ENOMEM : 0;

	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.moved, NULL);
	while (rc == 0 && started < threads - 1) {
		struct member *next = &m[started];

		*next = (struct member){ .gang = &g, .i = started + 1 };
		rc = sys_thread(&next->thread, member_main, next);
		started += rc == 0;
	}
	if (all) {
		pthread_mutex_lock(&g.lock);
		g.gate = rc == 0 ? GATE_OPEN : GATE_SENT_HOME;
		pthread_cond_broadcast(&g.moved);
		pthread_mutex_unlock(&g.lock);
	}
	if (rc == 0 || !all)
		fn(arg, 0);
	*ran = started + 1;
	while (started > 0)
		pthread_join(m[--started].thread, NULL);
	pthread_cond_destroy(&g.moved);
	pthread_mutex_destroy(&g.lock);
	sys_free(m);
	return rc;
}

unsigned
parallel_run(unsigned threads, parallel_fn *fn, void *arg)
{
	unsigned ran = 1;

	if (threads > PARALLEL_MAX)
		threads = PARALLEL_MAX;
	if (threads < 2)
		fn(arg, 0);
	else
		(void)!run_gang(threads, fn, arg, false, &ran);
	return ran;
}

int
parallel_run_all(unsigned threads, parallel_fn *fn, void *arg)
{
	unsigned ran;

	if (threads == 0 || threads > PARALLEL_MAX)
		return -EINVAL;
	return run_gang(threads, fn, arg, true, &ran);
}
