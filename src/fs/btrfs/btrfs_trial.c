/*
 * btrfs_trial.c - trial copies to a btrfs filesystem, to count its nodes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How full leaves become depends on the order of writing, which differs between
 * two copies of the same files.  So this simulates several.
 */
#include "btrfs_trial.h"

#include "btrfs_copy.h"

#include <string.h>

/* Observed in traces of 15 copies, with two CPUs. */
enum {
	/*
	 * Linux starts writing once 128 MiB are reserved for nodes, and a file
	 * that waits to be written reserves 768 KiB: usually, 110 to 220 files
	 * waited.  Others were created meanwhile, so that up to 30 still waited
	 * afterwards.  On a large filesystem more of them wait.
	 */
	LEAST = 110, MOST = 220, LEFT = 30,
	/*
	 * Files that are stored late were 0 to 90 files behind; this maximum is
	 * fitted to a tree of tiny files.
	 */
	LAG = 30,
	COPIES = 8
};

/* Files that have been created, but not yet written. */
struct waiting {
	size_t files[MOST];
	size_t count, limit;
};

static int
write_file(const struct btrfs_data *d, struct btrfs_copy *copy, size_t item)
{
	size_t first = d->first[item], n = d->first[item + 1] - first;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < n; k++) {
		const struct btrfs_chunk *c = d->chunks + (first + k) * d->step;

		if (c->in_leaf)
			rc = btrfs_copy_in_leaf(copy, item, c->physical_B);
		for (uint32_t i = 0; !c->in_leaf && rc == 0 && i < c->extents;
		    i++)
			rc = btrfs_copy_extent(copy, item,
			    (uint32_t)k * BTRFS_PIECES + i,
			    i == 0 ? c->physical_B : 0);
	}
	return rc;
}

/*
 * Returns whether a file is stored late.  One that fits in a leaf is stored as
 * soon as it has been compressed, but others once they are on disk, and those
 * that did not shrink by one thread that keeps to the order.
 */
static bool
is_late(const struct btrfs_data *d, size_t item)
{
	const struct btrfs_chunk *c = d->chunks + d->first[item] * d->step;

	return !c->in_leaf || (!d->plain && c->physical_B == c->logical_B);
}

/* Writes the first n files that wait, the late ones some files later. */
static int
write_files(const struct btrfs_data *d, struct btrfs_copy *copy,
    struct waiting *w, size_t n)
{
	size_t *files = w->files, lag = btrfs_copy_random(copy, 0, LAG);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n + lag; i++) {
		if (i < n && !is_late(d, files[i]))
			rc = write_file(d, copy, files[i]);
		if (rc == 0 && i >= lag && is_late(d, files[i - lag]))
			rc = write_file(d, copy, files[i - lag]);
	}
	w->count -= n;
	memmove(files, files + n, w->count * sizeof(*files));
	w->limit = btrfs_copy_random(copy, LEAST, MOST);
	return rc;
}

/*
 * Copies all files: each is created immediately, but written together with
 * others that were created later.
 */
static int
copy_files(const struct btrfs_data *d, struct btrfs_copy *copy)
{
	struct waiting w = { .limit = btrfs_copy_random(copy, LEAST, MOST) };
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
			rc = write_files(d, copy, &w,
			    w.count - btrfs_copy_random(copy, 0, LEFT));
	}
	if (rc == 0)
		rc = write_files(d, copy, &w, w.count);
	return rc != 0 ? rc : btrfs_copy_end(copy);
}

uint64_t
btrfs_trial_nodes(const struct btrfs_data *d)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < COPIES; i++) {
		struct btrfs_copy copy = { .names = d->names, .random = i };
		int rc = copy_files(d, &copy);
		uint64_t n = rc == 0 ? btrfs_copy_nodes(&copy) : 0;

		btrfs_copy_free(&copy);
		if (n == 0)
			return 0;
		sum += n;
	}
	return (sum + COPIES / 2) / COPIES;
}
