/*
 * cold_impl.h - what cold.c counts and cold_judge.c judges by
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLD_IMPL_H
#define COLDPRESS_COLD_IMPL_H

#include "cold_device.h"
#include "measure/cold.h"

#include <pthread.h>

struct cold {
	enum cold_method method;
	pthread_mutex_t lock;		/* of all that follows */
	struct device *devices;
	size_t count, cap;
	bool lost;			/* a device is not in the list */
	struct cold_count found, before, after, images;
	uint64_t needed_B;		/* that devices had to give */
	uint64_t proven_B;		/* of them came from one */
	uint64_t inline_files;		/* whose data lies in the inode */
	uint64_t own_B;			/* of this process, at the mark */
};

/* Fills in state and why of a report that has all its counts. */
void cold_judge(const struct cold *c, struct cold_report *r);

#endif
