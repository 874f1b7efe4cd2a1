/*
 * btrfs_trial.c - trial copies to a btrfs filesystem, to count its nodes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How full leaves become depends on the order of writing, which differs between
 * two copies of the same files.  So this simulates several.
 */
#include "btrfs_trial.h"

#include "base/stats.h"
#include "btrfs_copy.h"

#include <string.h>

enum {
	/*
	 * Linux starts writing once 128 MiB are reserved for nodes, and a file
	 * that waits to be written reserves 768 KiB.  In traces of copies, 130
	 * to 210 files waited.  On a large filesystem more of them wait.
	 */
	WAITING = 170, VARIATION = 20,
	WRITERS = 4,			/* threads, on two CPUs */
	COPIES = 4
};

/* Files that have been created, but not yet written. */
struct waiting {
	size_t files[WAITING + VARIATION];
	size_t count, limit;
	uint64_t random;
};

/* Writes chunk k of a file. */
static int
write_chunk(struct btrfs_copy *copy, size_t item, size_t k,
    const struct btrfs_chunk *c)
{
	int rc = 0;

	if (c->in_leaf)
		return btrfs_copy_in_leaf(copy, item, c->physical_B);
	for (uint32_t i = 0; rc == 0 && i < c->extents; i++)
		rc = btrfs_copy_extent(copy, item,
		    (uint32_t)k * BTRFS_PIECES + i, i == 0 ? c->physical_B : 0);
	return rc;
}

static int
write_file(const struct btrfs_data *d, struct btrfs_copy *copy, size_t item)
{
	size_t first = d->first[item], n = d->first[item + 1] - first;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < n; k++)
		rc = write_chunk(copy, item, k,
		    d->chunks + (first + k) * d->step);
	return rc;
}

/*
 * Writes all files that wait.  Each writer takes the next one, and any writer
 * may finish first.
 */
static int
write_files(const struct btrfs_data *d, struct btrfs_copy *copy,
    struct waiting *w)
{
	int rc = 0;

	for (size_t from = 0; rc == 0 && from < w->count; from++) {
		size_t left = w->count - from, *next = w->files + from;
		size_t k = stats_random(&w->random) %
		    (left < WRITERS ? left : WRITERS), item = next[k];

		memmove(next + 1, next, k * sizeof(*next));
		rc = write_file(d, copy, item);
	}
	w->count = 0;
	w->limit = WAITING - VARIATION +
	    stats_random(&w->random) % (2 * VARIATION + 1);
	return rc;
}

/*
 * Copies all files: each is created immediately, but written together with
 * others that were created later.
 */
static int
copy_files(const struct btrfs_data *d, struct btrfs_copy *copy, unsigned seed)
{
	struct waiting w = { .random = seed, .limit = WAITING };
	const struct fs_list *list = d->names->list;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < list->count; k++) {
		size_t i = d->names->order[k];

		if (list->items[i].err != 0)
			continue;
		rc = btrfs_copy_create(copy, i);
		if (d->first[i] < d->first[i + 1])
			w.files[w.count++] = i;
		if (rc == 0 && w.count == w.limit)
			rc = write_files(d, copy, &w);
	}
	if (rc == 0)
		rc = write_files(d, copy, &w);
	return rc != 0 ? rc : btrfs_copy_end(copy);
}

/* Returns how many nodes there are after one copy, or 0 without memory. */
static uint64_t
count_nodes(const struct btrfs_data *d, unsigned seed)
{
	struct btrfs_copy copy = { .names = d->names };
	int rc = copy_files(d, &copy, seed);
	uint64_t n = rc == 0 ? btrfs_copy_nodes(&copy) : 0;

	btrfs_copy_free(&copy);
	return n;
}

uint64_t
btrfs_trial_nodes(const struct btrfs_data *d)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < COPIES; i++) {
		uint64_t n = count_nodes(d, i);

		if (n == 0)
			return 0;
		sum += n;
	}
	return (sum + COPIES / 2) / COPIES;
}
