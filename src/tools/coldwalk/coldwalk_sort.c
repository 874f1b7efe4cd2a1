/*
 * coldwalk_sort.c - sorting rows by path
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows arrive nearly sorted: an image is packed in the order of its names, and
 * each thread reports in that order.  Therefore this merge sort skips merging
 * halves that are already in order.
 */
#include "coldwalk.h"

#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { FEW = 4096 };			/* minimum number of rows for another
					 * thread */

struct task {
	struct row **rows;
	size_t count;
	struct row **spare;		/* as large as rows */
	unsigned threads;
};

/* Each half is sorted in its own thread, or both in one thread. */
struct halves {
	struct task half[2];
	atomic_uint next;
};

static void sort(const struct task *t);

/* Merges the two halves. */
static void
merge(const struct task *t)
{
	size_t half = t->count / 2;
	struct row **to = t->rows, **a = t->spare, **a_end = a + half;
	struct row **b = to + half, **b_end = to + t->count;

	if (strcmp(b[-1]->path, b[0]->path) <= 0)
		return;
	memcpy(a, to, half * sizeof(*to));
	while (a < a_end && b < b_end)
		*to++ = strcmp((*a)->path, (*b)->path) <= 0 ? *a++ : *b++;
	/* the rest of b is already in place */
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*to));
}

static void
sort_halves(void *arg, unsigned thread)
{
	struct halves *h = arg;
	unsigned i;

	(void)thread;
	while ((i = atomic_fetch_add(&h->next, 1)) < 2)
		sort(&h->half[i]);
}

static void
sort(const struct task *t)
{
	size_t half = t->count / 2;
	unsigned more = t->count < FEW ? 0 : t->threads / 2;
	struct halves h = { .half = { { t->rows, half, t->spare, more },
	    { t->rows + half, t->count - half, t->spare + half,
	    t->threads - more } } };

	if (t->count < 2)
		return;
	if (more > 0) {
		parallel_run(2, sort_halves, &h);
	} else {
		sort(&h.half[0]);
		sort(&h.half[1]);
	}
	merge(t);
}

int
coldwalk_sort_rows(struct row **rows, size_t count, unsigned threads)
{
	struct task t = { rows, count, NULL, threads };

	if (count == 0)
		return 0;		/* rows may be NULL */
	t.spare = sys_malloc((count + 1) * sizeof(*t.spare));
	if (t.spare == NULL)
		return -ENOMEM;
	sort(&t);
	sys_free(t.spare);
	return 0;
}
