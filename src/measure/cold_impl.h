/*
 * cold_impl.h - declarations shared by the files that implement cold.h
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLD_IMPL_H
#define COLDPRESS_COLD_IMPL_H

#include "measure/cold.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The devices underlying a filesystem. */

enum device_kind {
	DEVICE_SEEN,		/* the page cache is the only cache */
	DEVICE_MEMORY,		/* everything is in memory */
	DEVICE_OWN_CACHE,	/* a cache that cannot be observed, such as
				 * ZFS's */
	DEVICE_REMOTE,		/* a server or daemon also has a cache */
	DEVICE_LAYERS,		/* unknown filesystems */
	DEVICE_HIDDEN,		/* unknown, because /sys is not available */
};

struct device {
	dev_t dev;
	enum device_kind kind;
	bool squashfs;
	int64_t data_B;			/* bytes in all its files; -1:
					 * unknown */
	uint64_t came_B;		/* bytes read from it for files */
	bool looped;			/* backed by an image */
	int image;			/* descriptor, or -1: cannot be
					 * opened */
	uint64_t image_at;		/* offset in the image */
	int stat;			/* its counters, or -1 */
	uint64_t read_B;		/* counter at device_mark() */
};

/*
 * Returns the device underlying a file, or the device itself for a block
 * device.
 */
static inline dev_t
device_of(const struct stat *st)
{
	return S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev;
}

/*
 * Collects what is known about the filesystem that contains fd, or about the
 * block device fd; dev is its device_of().
 */
void device_open(struct device *d, int fd, dev_t dev);
void device_close(struct device *d);

/* Starts counting the bytes read. */
void device_mark(struct device *d);

/* Returns the number of bytes read since device_mark(), or -1 if unknown. */
int64_t device_read_B(const struct device *d);

/* Returns whether the file's data is in its inode rather than in pages. */
bool cold_is_inline(int fd);

/*
 * Returns how many of the bytes that a file occupies must come from a device:
 * fewer if they are allocated but unwritten, or compressed.
 */
uint64_t cold_least_B(int fd, uint64_t stored_B);

/* The counters that cold.c maintains and cold_judge.c evaluates. */

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
