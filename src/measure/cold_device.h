/*
 * cold_device.h - what lies below a file system
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLD_DEVICE_H
#define COLDPRESS_COLD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum device_kind {
	DEVICE_SEEN,		/* its files' pages are the whole cache */
	DEVICE_MEMORY,		/* there is nothing but memory */
	DEVICE_OWN_CACHE,	/* a cache that cannot be seen, as of ZFS */
	DEVICE_REMOTE,		/* a server or daemon has a cache, too */
	DEVICE_LAYERS,		/* of file systems that we do not know */
};

struct device {
	dev_t dev;
	enum device_kind kind;
	bool squashfs;
	bool looped;			/* an image lies below */
	int image;			/* open, or -1: it cannot be */
	int stat;			/* its counters, or -1 */
	uint64_t read_B;		/* at device_mark() */
};

/* What is known of the file system in which fd, of device dev, is. */
void device_open(struct device *d, int fd, dev_t dev);
void device_close(struct device *d);

/* Counts from here on. */
void device_mark(struct device *d);

/* Bytes read since then; -1: not known. */
int64_t device_read_B(const struct device *d);

#endif
