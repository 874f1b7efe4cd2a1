/*
 * cold_impl.h - the counters that cold.c maintains and cold_judge.c evaluates
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLD_IMPL_H
#define COLDPRESS_COLD_IMPL_H

#include "cold_device.h"
#include "measure/cold.h"

#include <pthread.h>

struct cold {
	enum cold_method method;
	bool accounted;			/* the kernel counts per process */
	pthread_mutex_t lock;		/* protects everything below */
	struct device *devices;
	size_t count, cap;
	bool lost;			/* a device is missing from the list */
	struct cold_count found, before, after, images;
	uint64_t needed_B;		/* bytes that devices had to deliver */
	uint64_t proven_B;		/* bytes proven to come from a device */
	uint64_t inline_files;		/* files whose data is in the inode */
	uint64_t own_B;			/* bytes read by this process at the
					 * mark */
};

/* Sets the fields state and why of a report whose counts are complete. */
void cold_judge(const struct cold *c, struct cold_report *r);

#endif
