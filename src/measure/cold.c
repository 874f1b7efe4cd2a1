/*
 * cold.c - files out of the caches, and what proves that they are
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/cold.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "cold_device.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SECTOR_B = 512, MOST_DEVICES = 4096 };

struct cold {
	enum cold_method method;
	pthread_mutex_t lock;		/* of all that follows */
	struct device *devices;
	size_t count, cap;
	bool lost;			/* a device is not in the list */
	struct cold_count found, before, after, images;
	uint64_t needed_B;		/* of files that may not be asked */
	uint64_t proven_B;		/* of it came from a device */
	uint64_t own_B;			/* of this process, at the mark */
};

int
cold_method_by_name(const char *name, enum cold_method *method)
{
	static const char *const names[] = { "auto", "fadvise", "drop",
		"none" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0) {
			*method = (enum cold_method)i;
			return 0;
		}
	}
	return -EINVAL;
}

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
takes_out(const struct cold *c)
{
	return c->method == COLD_AUTO || c->method == COLD_FADVISE;
}

/* Counting */

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

/* Devices, under the lock */

static struct device *
find_device(struct cold *c, dev_t dev)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->devices[i].dev == dev)
			return &c->devices[i];
	return NULL;
}

static int
grow_devices(struct cold *c)
{
	size_t cap = c->cap == 0 ? 8 : 2 * c->cap;
	struct device *d;

	if (c->count < c->cap)
		return 0;
	d = cap > MOST_DEVICES ? NULL :
	    sys_realloc(c->devices, cap * sizeof(*d));
	if (d == NULL)
		return -ENOMEM;
	c->devices = d;
	c->cap = cap;
	return 0;
}

/*
 * The file system of fd and, if it lies in an image, that of the image, and
 * so on down.
 */
static void
add_device(struct cold *c, int fd, dev_t dev)
{
	while (find_device(c, dev) == NULL) {
		struct device *d;
		struct stat st;

		if (grow_devices(c) != 0) {
			c->lost = true;
			return;
		}
		d = &c->devices[c->count++];
		device_open(d, fd, dev);
		device_mark(d);
		/* what waits to be written cannot be taken out */
		if (takes_out(c))
			(void)!syncfs(fd);
		if (d->image < 0 || fstat(d->image, &st) == -1)
			return;
		fd = d->image;
		dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	}
}

static void
know_device(struct cold *c, int fd, dev_t dev)
{
	pthread_mutex_lock(&c->lock);
	add_device(c, fd, dev);
	pthread_mutex_unlock(&c->lock);
}

/* Taking out */

void
cold_add(struct cold *c, int fd, const struct stat *st)
{
	uint64_t pages = 0, resident = 0;
	int rc;

	know_device(c, fd, st->st_dev);
	if (!S_ISREG(st->st_mode) || c->method == COLD_NONE)
		return;
	rc = cold_resident(fd, st, &pages, &resident);
	if (takes_out(c) && (rc != 0 || resident > 0))
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	pthread_mutex_lock(&c->lock);
	count_file(&c->found, rc, pages, resident);
	pthread_mutex_unlock(&c->lock);
}

/* What the loop device itself keeps; only root can open it. */
static void
take_out_device(const struct device *d)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/block/%u:%u", major(d->dev),
	    minor(d->dev));
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0)
		return;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	sys_close(fd);
}

static void
take_out_image(struct cold *c, const struct device *d)
{
	uint64_t pages = 0, resident = 0;
	struct stat st;
	int rc;

	if (takes_out(c)) {
		take_out_device(d);
		posix_fadvise(d->image, 0, 0, POSIX_FADV_DONTNEED);
	}
	if (fstat(d->image, &st) == -1)
		return;
	rc = cold_resident(d->image, &st, &pages, &resident);
	count_file(&c->images, rc, pages, resident);
}

static int
drop_caches(void)
{
	int fd, rc;

	sync();
	fd = sys_openat(AT_FDCWD, "/proc/sys/vm/drop_caches",
	    O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	rc = fdio_write(fd, "3\n", 2);
	sys_close(fd);
	return rc;
}

/* Bytes that were read from devices for this process, or this thread. */
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
		rc = drop_caches();
	for (size_t i = 0; i < c->count; i++)
		if (c->devices[i].image >= 0)
			take_out_image(c, &c->devices[i]);
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

	if (rc != 0)
		*mine = own_B(reader);
	pthread_mutex_lock(&c->lock);
	add_device(c, fd, st->st_dev);
	count_file(&c->before, rc, pages, resident);
	pthread_mutex_unlock(&c->lock);
}

/* What a device must have given for the data of a file, at least. */
static uint64_t
stored_B(const struct stat *st)
{
	uint64_t stored = (uint64_t)st->st_blocks * SECTOR_B;
	uint64_t size = (uint64_t)st->st_size / SECTOR_B * SECTOR_B;

	return size < stored ? size : stored;
}

void
cold_after(struct cold *c, int fd, const struct stat *st,
    enum cold_reader reader, uint64_t *mine)
{
	uint64_t pages = 0, resident = 0, came = 0, needed = 0;
	int rc = cold_resident(fd, st, &pages, &resident);

	if (rc != 0) {
		came = own_B(reader) - *mine;
		needed = stored_B(st);
	}
	pthread_mutex_lock(&c->lock);
	count_file(&c->after, rc, pages, resident);
	c->needed_B += needed;
	c->proven_B += came < needed ? came : needed;
	pthread_mutex_unlock(&c->lock);
}

/* The verdict */

static void
say(struct cold_report *r, enum cold_state state, const char *why)
{
	r->state = state;
	snprintf(r->why, sizeof(r->why), "%s", why);
}

/* From the worst to the best, so that the first that applies is it. */
static void
judge_devices(const struct cold *c, struct cold_report *r)
{
	bool kinds[DEVICE_LAYERS + 1] = { false }, hidden = false;

	for (size_t i = 0; i < c->count; i++) {
		kinds[c->devices[i].kind] = true;
		hidden |= c->devices[i].looped && c->devices[i].image < 0;
		r->squashfs |= c->devices[i].squashfs;
	}
	if (kinds[DEVICE_MEMORY])
		say(r, COLD_NO, "files in memory are never cold");
	else if (kinds[DEVICE_OWN_CACHE] || c->lost)
		say(r, COLD_UNKNOWN, "a file system has a cache of its own, "
		    "which nobody can ask about");
	else if (kinds[DEVICE_REMOTE])
		say(r, COLD_UNKNOWN, "the cache of a server, or of a daemon "
		    "in user space, cannot be seen");
	else if (kinds[DEVICE_LAYERS])
		say(r, COLD_UNKNOWN, "what lies below the file system may be "
		    "an image in the cache");
	else if (hidden)
		say(r, COLD_UNKNOWN, "the image behind a loop device cannot "
		    "be opened");
	else if (r->images.unseen > 0)
		say(r, COLD_UNKNOWN, "what of the image behind a loop device "
		    "is in memory is told to its owner alone");
}

/* Some files hide their pages; did all that they hold come from a device? */
static void
judge_traffic(const struct cold *c, struct cold_report *r)
{
	if (c->needed_B > 0 && c->proven_B == c->needed_B) {
		say(r, COLD_YES, "by the bytes that a device had to give");
		return;
	}
	r->state = COLD_UNKNOWN;
	snprintf(r->why, sizeof(r->why), "pages of %" PRIu64 " files are "
	    "told to their owners alone, and of their %" PRIu64 " bytes a "
	    "device gave %" PRIu64, r->before.unseen, c->needed_B,
	    c->proven_B);
}

static void
judge(const struct cold *c, struct cold_report *r)
{
	uint64_t resident = r->before.resident + r->images.resident;

	say(r, COLD_YES, "");
	judge_devices(c, r);
	if (r->state == COLD_NO)
		return;
	if (resident > 0) {
		r->state = COLD_NO;
		snprintf(r->why, sizeof(r->why), "%" PRIu64 " of %" PRIu64
		    " pages were in memory", resident,
		    r->before.pages + r->images.pages);
	} else if (r->state == COLD_YES && r->before.unseen > 0) {
		judge_traffic(c, r);
	} else if (r->before.files == 0) {
		say(r, COLD_UNKNOWN, "nothing was read");
	}
}

void
cold_end(struct cold *c, struct cold_report *r)
{
	*r = (struct cold_report){ .made = c->method == COLD_DROP ?
	    "drop_caches" : takes_out(c) ? "fadvise" : "nothing",
	    .found = c->method == COLD_NONE ? c->before : c->found,
	    .before = c->before, .after = c->after,
	    .images = c->images, .own_B = own_B(COLD_PROCESS) - c->own_B,
	    .device_B = -1 };
	for (size_t i = 0; i < c->count; i++) {
		int64_t n = device_read_B(&c->devices[i]);

		/* a loop device has it from one below it */
		if (n >= 0 && !c->devices[i].looped)
			r->device_B = (r->device_B < 0 ? 0 : r->device_B) + n;
	}
	judge(c, r);
}
