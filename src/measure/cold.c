/*
 * cold.c - evicting files from the caches, and proving that they are cold
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/cold.h"

#include "base/array.h"
#include "base/sys.h"
#include "cold_impl.h"
#include "measure/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SECTOR_B = 512, MOST_DEVICES = 4096 };

const char *
cold_word(enum cold_state state)
{
	return state == COLD_YES ? "yes" : state == COLD_NO ? "no" : "unknown";
}

int
cold_open(struct cold **out, enum cold_method method)
{
	struct cold *c = sys_calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->method = method;
	c->accounted = faccessat(AT_FDCWD, "/proc/self/io", F_OK, 0) == 0;
	pthread_mutex_init(&c->lock, NULL);
	*out = c;
	return 0;
}

void
cold_close(struct cold *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->count; i++)
		device_close(&c->devices[i]);
	sys_free(c->devices);
	pthread_mutex_destroy(&c->lock);
	sys_free(c);
}

static bool
evicts(const struct cold *c)
{
	return c->method == COLD_AUTO || c->method == COLD_FADVISE;
}

/* Counting pages */

static void
count_file(struct cold_count *n, int rc, uint64_t pages, uint64_t resident)
{
	n->files++;
	n->pages += pages;
	if (rc == 0)
		n->resident += resident;
	else
		n->unseen++;
}

/* Devices, with the lock held */

static struct device *
find_device(struct cold *c, dev_t dev)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->devices[i].dev == dev)
			return &c->devices[i];
	return NULL;
}

/*
 * Adds fd's filesystem and, if that is in an image, the filesystem containing
 * the image, and so on.
 */
static void
add_device(struct cold *c, int fd, dev_t dev)
{
	while (find_device(c, dev) == NULL) {
		void *devices = c->devices;
		struct device *d;
		struct stat st;

		if (c->count >= MOST_DEVICES || array_grow(&devices, c->count,
		    &c->cap, sizeof(*c->devices)) != 0) {
			c->lost = true;
			return;
		}
		c->devices = devices;
		d = &c->devices[c->count++];
		device_open(d, fd, dev);
		device_mark(d);
		/* write dirty pages, which cannot be evicted */
		if (evicts(c))
			(void)!syncfs(fd);
		if (d->image < 0 || fstat(d->image, &st) == -1)
			return;
		fd = d->image;
		dev = device_of(&st);
	}
}

/* Evicting */

void
cold_add(struct cold *c, int fd, const struct stat *st)
{
	uint64_t pages = 0, resident = 0;
	int rc;

	pthread_mutex_lock(&c->lock);
	add_device(c, fd, device_of(st));
	pthread_mutex_unlock(&c->lock);
	if ((!S_ISREG(st->st_mode) && !S_ISBLK(st->st_mode)) ||
	    c->method == COLD_NONE)
		return;
	rc = cold_resident(fd, st, &pages, &resident);
	if (evicts(c) && (rc != 0 || resident > 0))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	pthread_mutex_lock(&c->lock);
	count_file(&c->found, rc, pages, resident);
	pthread_mutex_unlock(&c->lock);
}

/*
 * Returns the number of bytes read from devices on behalf of this process, or
 * this thread.
 */
static uint64_t
own_B(enum cold_reader reader)
{
	struct rusage ru;

	if (getrusage(reader == COLD_THREAD ? RUSAGE_THREAD : RUSAGE_SELF,
	    &ru) == -1)
		return 0;
	return (uint64_t)ru.ru_inblock * SECTOR_B;
}

int
cold_apply(struct cold *c)
{
	int rc = 0;

	if (c->method == COLD_DROP)
		rc = caches_drop();
	for (size_t i = 0; i < c->count; i++) {
		const struct device *d = &c->devices[i];
		uint64_t pages = 0, resident = 0;
		struct stat st;
		char path[64];
		int fd, seen;

		if (d->image < 0)
			continue;
		/*
		 * evict the image, and the cache of its loop device itself,
		 * which only root can open
		 */
		if (evicts(c)) {
			snprintf(path, sizeof(path), "/dev/block/%u:%u",
			    major(d->dev), minor(d->dev));
			fd = sys_openat(AT_FDCWD, path,
			    O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
			if (fd >= 0) {
				posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
				sys_close(fd);
			}
			posix_fadvise(d->image, 0, 0, POSIX_FADV_DONTNEED);
		}
		if (fstat(d->image, &st) == -1)
			continue;
		seen = cold_resident(d->image, &st, &pages, &resident);
		count_file(&c->images, seen, pages, resident);
	}
	for (size_t i = 0; i < c->count; i++)
		device_mark(&c->devices[i]);
	c->own_B = own_B(COLD_PROCESS);
	return rc;
}

/* Watching */

void
cold_before(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine)
{
	uint64_t pages = 0, resident = 0;
	int rc = cold_resident(fd, st, &pages, &resident);

	*mine = own_B(reader);
	pthread_mutex_lock(&c->lock);
	add_device(c, fd, device_of(st));
	count_file(&c->before, rc, pages, resident);
	pthread_mutex_unlock(&c->lock);
}

void
cold_after(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine, uint64_t asked_B)
{
	uint64_t pages = 0, resident = 0, came = own_B(reader) - *mine;
	uint64_t stored = (uint64_t)st->st_blocks * SECTOR_B;
	uint64_t size = ((uint64_t)st->st_size + SECTOR_B - 1) / SECTOR_B *
	    SECTOR_B, needed = asked_B;
	struct device *d;
	bool hidden;
	int rc;

	/* the least that a device must deliver to get these bytes */
	if (!S_ISBLK(st->st_mode)) {
		needed = size < needed ? size : needed;
		needed = stored < needed ? stored : needed;
	}
	hidden = (came < needed || st->st_blocks == 0) &&
	    S_ISREG(st->st_mode) && st->st_size > 0 && cold_is_inline(fd);
	rc = cold_resident(fd, st, &pages, &resident);
	if (came < needed)
		needed = hidden ? 0 : cold_least_B(fd, needed);
	pthread_mutex_lock(&c->lock);
	count_file(&c->after, rc, pages, resident);
	d = find_device(c, device_of(st));
	if (d != NULL && d->squashfs) {
		d->came_B += came;
		needed = 0;
	}
	c->inline_files += hidden;
	c->needed_B += needed;
	c->proven_B += came < needed ? came : needed;
	pthread_mutex_unlock(&c->lock);
}

void
cold_end(struct cold *c, struct cold_report *r)
{
	const char *made = "nothing";

	if (c->method == COLD_DROP)
		made = "drop_caches";
	else if (evicts(c))
		made = "fadvise";
	*r = (struct cold_report){ .made = made,
	    .found = c->method == COLD_NONE ? c->before : c->found,
	    .before = c->before, .after = c->after,
	    .images = c->images, .own_B = own_B(COLD_PROCESS) - c->own_B,
	    .device_B = -1 };
	for (size_t i = 0; i < c->count; i++) {
		int64_t n = device_read_B(&c->devices[i]);

		/* a loop device reads from an underlying device */
		if (n >= 0 && !c->devices[i].looped)
			r->device_B = (r->device_B < 0 ? 0 : r->device_B) + n;
	}
	cold_judge(c, r);
}
