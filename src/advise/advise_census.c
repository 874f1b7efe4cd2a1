/*
 * advise_census.c - the files below some operands, and their kinds
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise/advise.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

/* Directories yet to be entered: paths, in the census's arena. */
struct pending {
	const char **paths;
	size_t count, room;
};

enum {
	CLOCK_EVERY = 64,	/* names between two looks at the clock */
	TAIL_B = 64 << 10
};

/* Opens without waiting for a FIFO, and without changing the time of access. */
static int
open_quietly(const char *path, int flags)
{
	int fd;

	flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	fd = sys_openat(AT_FDCWD, path, flags | O_NOATIME, 0);
	if (fd == -EPERM)
		fd = sys_openat(AT_FDCWD, path, flags, 0);
	return fd;
}

static int
add_file(struct advise_census *c, const char *path, const struct stat *st,
    uint32_t operand)
{
	void *files = c->files;
	int rc = array_grow(&files, c->count, &c->room, sizeof(*c->files));

	if (rc != 0)
		return rc;
	c->files = files;
	c->files[c->count++] = (struct advise_file){ .path = path,
		.size = (uint64_t)st->st_size, .mtime = st->st_mtime,
		.operand = operand,
		.kind = (uint8_t)advise_kind_of(path, NULL, 0) };
	c->bytes += (uint64_t)st->st_size;
	return 0;
}

static char *
joined(struct arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	char *path = arena_take(a, n + m + 2);

	if (path == NULL)
		return NULL;
	memcpy(path, dir, n);
	if (n > 0 && path[n - 1] != '/')
		path[n++] = '/';
	memcpy(path + n, name, m + 1);
	return path;
}

static int
enter_later(struct pending *p, const char *path)
{
	void *paths = p->paths;
	int rc = array_grow(&paths, p->count, &p->room, sizeof(*p->paths));

	if (rc != 0)
		return rc;
	p->paths = paths;
	p->paths[p->count++] = path;
	return 0;
}

/* Adds one name of a directory.  Returns 0 or -ENOMEM. */
static int
add_name(struct advise_census *c, struct pending *p, int dirfd,
    const char *dir, const char *name, dev_t device, uint32_t operand)
{
	struct stat st;
	const char *path;

	if (sys_fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		c->unreadable++;
		return 0;
	}
	if (!S_ISDIR(st.st_mode) && !(S_ISREG(st.st_mode) && st.st_size > 0))
		return 0;
	if (st.st_dev != device) {
		c->other_devices++;
		return 0;
	}
	path = joined(&c->text, dir, name);
	if (path == NULL)
		return -ENOMEM;
	return S_ISDIR(st.st_mode) ? enter_later(p, path) :
	    add_file(c, path, &st, operand);
}

/* Adds everything in a directory, in the order of its names. */
static int
add_dir(struct advise_census *c, struct pending *p, const char *path,
    dev_t device, uint32_t operand, uint64_t deadline_ns)
{
	int fd = open_quietly(path, O_DIRECTORY), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	unsigned n = 0;

	if (dir == NULL) {
		if (fd >= 0)
			sys_close(fd);
		c->unreadable++;
		return 0;
	}
	c->dirs++;
	while (rc == 0 && (errno = 0, e = readdir(dir)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		if (c->count >= ADVISE_FILES_MAX || (++n % CLOCK_EVERY == 0 &&
		    sys_now_ns() >= deadline_ns)) {
			c->left_out++;
			break;
		}
		rc = add_name(c, p, dirfd(dir), path, e->d_name, device,
		    operand);
	}
	/* the rest of the names is missing */
	if (rc == 0 && e == NULL && errno != 0)
		c->unreadable++;
	closedir(dir);
	return rc;
}

int
advise_census_add(struct advise_census *c, const char *path,
    uint32_t operand, uint64_t deadline_ns)
{
	struct pending p = { .count = 0 };
	struct stat st;
	char *copy;
	/* a link named by the user is followed, as by du -D */
	int rc = sys_fstatat(AT_FDCWD, path, &st, 0);

	if (rc != 0)
		return rc;
	/* the slash has a link followed when it is opened */
	copy = S_ISDIR(st.st_mode) ? joined(&c->text, path, "") :
	    arena_copy(&c->text, path, strlen(path));
	if (copy == NULL)
		return -ENOMEM;
	if (S_ISREG(st.st_mode))
		return st.st_size > 0 ? add_file(c, copy, &st, operand) : 0;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	rc = sys_openat(AT_FDCWD, copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (rc < 0)
		return rc;
	sys_close(rc);
	rc = enter_later(&p, copy);
	while (rc == 0 && p.count > 0) {
		if (c->count >= ADVISE_FILES_MAX ||
		    sys_now_ns() >= deadline_ns) {
			c->left_out += p.count;
			break;
		}
		rc = add_dir(c, &p, p.paths[--p.count], st.st_dev, operand,
		    deadline_ns);
	}
	sys_free(p.paths);
	return rc;
}

static int
larger_first(const void *a, const void *b)
{
	const struct advise_file *x = *(struct advise_file *const *)a;
	const struct advise_file *y = *(struct advise_file *const *)b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x < y ? -1 : x > y;
}

int
advise_census_look(struct advise_census *c, uint64_t deadline_ns)
{
	struct advise_file **order = sys_malloc(c->count * sizeof(*order) + 1);
	uint8_t head[ADVISE_HEAD_B];

	if (order == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		order[i] = &c->files[i];
	if (c->count > 0)
		qsort(order, c->count, sizeof(struct advise_file *),
		    larger_first);
	for (size_t i = 0; i < c->count; i++) {
		struct advise_file *f = order[i];
		int fd;
		ssize_t n;

		if (i % CLOCK_EVERY == 0 && sys_now_ns() >= deadline_ns)
			break;
		fd = open_quietly(f->path, 0);
		n = fd < 0 ? fd : fdio_pread(fd, head, sizeof(head), 0);
		if (fd >= 0)
			sys_close(fd);
		if (n <= 0) {
			c->unreadable++;
			/* nothing can be said about what cannot be read */
			c->bytes -= f->size;
			f->size = 0;
			continue;
		}
		f->kind = (uint8_t)advise_kind_of(f->path, head, (size_t)n);
		f->seen = true;
		f->head = XXH64(head, (size_t)n, 0);
	}
	sys_free(order);
	return 0;
}

/* Returns the hash of the last 64 KiB of a file; 0 if it cannot be read. */
static uint64_t
hash_of_tail(const struct advise_file *f, uint8_t *buf)
{
	int fd = open_quietly(f->path, 0);
	ssize_t n = fd < 0 ? fd : fdio_pread(fd, buf, TAIL_B,
	    f->size > TAIL_B ? (off_t)(f->size - TAIL_B) : 0);

	if (fd >= 0)
		sys_close(fd);
	return n <= 0 ? 0 : XXH64(buf, (size_t)n, 1);
}

/* A file that may have twins, and its place in the group. */
struct twin {
	const struct advise_file *file;
	size_t at;
	uint64_t tail;
};

static int
by_content(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;

	if (x->file->size != y->file->size)
		return x->file->size < y->file->size ? -1 : 1;
	if (x->file->head != y->file->head)
		return x->file->head < y->file->head ? -1 : 1;
	if (x->tail != y->tail)
		return x->tail < y->tail ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool
may_equal(const struct twin *x, const struct twin *y)
{
	return x->file->seen && y->file->seen && x->file->size ==
	    y->file->size && x->file->head == y->file->head;
}

int
advise_group_unique(struct advise_group *g)
{
	struct twin *all = sys_malloc(g->count * sizeof(*all) + 1);
	uint8_t *buf = sys_malloc(TAIL_B);
	size_t left = 0;

	if (all == NULL || buf == NULL) {
		sys_free(all);
		sys_free(buf);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->count; i++)
		all[i] = (struct twin){ g->files[i], i, 0 };
	if (g->count > 0)
		qsort(all, g->count, sizeof(*all), by_content);
	/* the rest is read only of those that may have a twin */
	for (size_t i = 0; i < g->count; i++)
		if (all[i].file->size > ADVISE_HEAD_B &&
		    ((i > 0 && may_equal(&all[i - 1], &all[i])) ||
		    (i + 1 < g->count && may_equal(&all[i], &all[i + 1]))))
			all[i].tail = hash_of_tail(all[i].file, buf);
	if (g->count > 0)
		qsort(all, g->count, sizeof(*all), by_content);
	for (size_t i = 1; i < g->count; i++)
		if (may_equal(&all[i - 1], &all[i]) &&
		    all[i - 1].tail == all[i].tail &&
		    (all[i].tail != 0 || all[i].file->size <= ADVISE_HEAD_B))
			g->files[all[i].at] = NULL;
	for (size_t i = 0; i < g->count; i++)
		if (g->files[i] != NULL)
			g->files[left++] = g->files[i];
	g->twins = g->count - left;
	g->count = left;
	sys_free(all);
	sys_free(buf);
	return 0;
}

void
advise_census_free(struct advise_census *c)
{
	sys_free(c->files);
	arena_free(&c->text);
	*c = (struct advise_census){ .count = 0 };
}
