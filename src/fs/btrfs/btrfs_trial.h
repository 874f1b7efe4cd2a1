/*
 * btrfs_trial.h - how many nodes a btrfs has once files have been copied to it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_BTRFS_TRIAL_H
#define COLDPRESS_BTRFS_TRIAL_H

#include "btrfs.h"
#include "btrfs_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The files to copy; several threads may share one. */
struct btrfs_data {
	const struct btrfs_names *names;
	const size_t *first;		/* chunk of each item, and an end */
	const struct btrfs_chunk *chunks;
	size_t step;			/* from one chunk to the next */
	bool plain;			/* nothing is compressed */
};

/*
 * Returns the mean of several simulated copies, or 0 without memory.  The same
 * data always gives the same number.
 */
uint64_t btrfs_trial_nodes(const struct btrfs_data *data);

#endif
