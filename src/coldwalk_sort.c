/*
 * coldwalk_sort.c - rows by their paths
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rows come nearly sorted: an image is packed in the order of its names, and
 * each thread tells of it in that order.  So this merges, and does not where
 * one half is before the other already.
 */
#include "coldwalk.h"

#include "sys.h"

#include <errno.h>
#include <string.h>

/* Half of the rows, and as many more, to one run. */
static void
merge(struct row **rows, size_t half, size_t count, struct row **spare)
{
	struct row **a = spare, **a_end = spare + half;
	struct row **b = rows + half, **b_end = rows + count;

	if (strcmp(b[-1]->path, b[0]->path) <= 0)
		return;
	memcpy(spare, rows, half * sizeof(*rows));
	while (a < a_end && b < b_end)
		*rows++ = strcmp((*a)->path, (*b)->path) <= 0 ? *a++ : *b++;
	/* what is left of b is where it belongs */
	memcpy(rows, a, (size_t)(a_end - a) * sizeof(*rows));
}

/* A size_t has so many bits that this never is deep. */
static void
sort(struct row **rows, size_t count, struct row **spare)
{
	if (count < 2)
		return;
	sort(rows, count / 2, spare);
	sort(rows + count / 2, count - count / 2, spare);
	merge(rows, count / 2, count, spare);
}

int
coldwalk_sort_rows(struct row **rows, size_t count)
{
	struct row **spare = sys_malloc((count / 2 + 1) * sizeof(*spare));

	if (spare == NULL)
		return -ENOMEM;
	sort(rows, count, spare);
	sys_free(spare);
	return 0;
}
