/*
 * cold_device.h - what lies below a file system
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLD_DEVICE_H
#define COLDPRESS_COLD_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum device_kind {
	DEVICE_SEEN,		/* its files' pages are the whole cache */
	DEVICE_MEMORY,		/* there is nothing but memory */
	DEVICE_OWN_CACHE,	/* a cache that cannot be seen, as of ZFS */
	DEVICE_REMOTE,		/* a server or daemon has a cache, too */
	DEVICE_LAYERS,		/* of file systems that we do not know */
	DEVICE_HIDDEN,		/* there is no /sys to look it up in */
};

struct device {
	dev_t dev;
	enum device_kind kind;
	bool squashfs;
	int64_t data_B;			/* of all files of that; -1: unknown */
	uint64_t came_B;		/* read from it for files */
	bool looped;			/* an image lies below */
	int image;			/* open, or -1: it cannot be */
	uint64_t image_at;		/* the offset in it */
	int stat;			/* its counters, or -1 */
	uint64_t read_B;		/* at device_mark() */
};

/* The device below a file, or the block device that it is. */
static inline dev_t
device_of(const struct stat *st)
{
	return S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev;
}

/*
 * What is known of the file system in which fd is, or of the block device
 * that it is; dev: device_of() it.
 */
void device_open(struct device *d, int fd, dev_t dev);
void device_close(struct device *d);

/* Counts from here on. */
void device_mark(struct device *d);

/* Bytes read since then; -1: not known. */
int64_t device_read_B(const struct device *d);

/* Whether the file's data lies in its inode, where no page holds it. */
bool cold_is_inline(int fd);

/*
 * Of the bytes that a file takes those that have to come from a device: less
 * where they are allocated and not written, or compressed.
 */
uint64_t cold_least_B(int fd, uint64_t stored_B);

#endif
