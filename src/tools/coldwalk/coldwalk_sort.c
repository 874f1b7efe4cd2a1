/*
 * coldwalk_sort.c - rows by their paths
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows come nearly sorted: an image is packed in the order of its names, and
 * each thread tells of it in that order.  So this merges, and does not where
 * one half is before the other already.
 */
#include "coldwalk.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { FEW = 4096 };			/* not worth a thread */

struct task {
	struct row **rows;
	size_t count;
	struct row **spare;		/* as many */
	unsigned threads;
};

/* The two halves to one. */
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
	/* what is left of b is where it belongs */
	memcpy(to, a, (size_t)(a_end - a) * sizeof(*to));
}

static void *
sort(void *arg)
{
	const struct task *t = arg;
	size_t half = t->count / 2;
	unsigned more = t->count < FEW ? 0 : t->threads / 2;
	struct task a = { t->rows, half, t->spare, more };
	struct task b = { t->rows + half, t->count - half, t->spare + half,
	    t->threads - more };
	pthread_t thread;

	if (t->count < 2)
		return NULL;
	if (more > 0 && sys_thread(&thread, sort, &a) == 0) {
		sort(&b);
		pthread_join(thread, NULL);
	} else {
		sort(&a);
		sort(&b);
	}
	merge(t);
	return NULL;
}

int
coldwalk_sort_rows(struct row **rows, size_t count, unsigned threads)
{
	struct task t = { rows, count, NULL, threads };

	t.spare = sys_malloc((count + 1) * sizeof(*t.spare));
	if (t.spare == NULL)
		return -ENOMEM;
	sort(&t);
	sys_free(t.spare);
	return 0;
}
