/*
 * ordeal_files.c - what a directory contains, to be compared and restored
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ordeal_files.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* nftw() passes no argument on. */
static struct files *taken;

static char *
read_all(const char *path, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = malloc(size + 1);
	size_t done = 0;

	if (fd == -1 || data == NULL)
		err(99, "%s", path);
	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);

		if (n == -1)
			err(99, "%s", path);
		if (n == 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	return data;
}

static int
take(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct file *f;

	(void)type, (void)at;
	if (strcmp(path, ".") == 0)
		return 0;
	taken->all = realloc(taken->all,
	    (taken->count + 1) * sizeof(*taken->all));
	if (taken->all == NULL)
		err(99, NULL);
	f = &taken->all[taken->count++];
	*f = (struct file){ .path = strdup(path + 2), .mode = st->st_mode,
	    .changed = st->st_mtim };
	if (S_ISREG(st->st_mode)) {
		f->size = (size_t)st->st_size;
		f->data = read_all(path, f->size);
	} else if (S_ISLNK(st->st_mode)) {
		f->size = (size_t)st->st_size;
		f->data = calloc(1, f->size + 1);
		if (f->data == NULL || readlink(path, f->data, f->size) == -1)
			err(99, "%s", path);
	}
	return 0;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path,
	    ((const struct file *)b)->path);
}

struct files
files_take(void)
{
	struct files f = { 0 };

	taken = &f;
	/* a process that was just killed may still remove files */
	while (nftw(".", take, 16, FTW_PHYS) == -1) {
		if (errno != ENOENT)
			err(99, "nftw");
		files_free(&f);
	}
	if (f.count > 0)
		qsort(f.all, f.count, sizeof(*f.all), by_path);
	return f;
}

void
files_free(struct files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->all[i].path);
		free(f->all[i].data);
	}
	free(f->all);
	*f = (struct files){ 0 };
}

const struct file *
files_find(const struct files *f, const char *path)
{
	char *name = strdup(path);
	struct file key = { .path = name };
	const struct file *found = f->count == 0 ? NULL :
	    bsearch(&key, f->all, f->count, sizeof(*f->all), by_path);

	free(name);
	return found;
}

bool
files_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 &&
	    (path[n] == '\0' || path[n] == '/');
}

bool
files_same(const struct file *a, const struct file *b, bool rough)
{
	mode_t types = rough ? S_IFMT : ~(mode_t)0;

	if (a == NULL || b == NULL)
		return a == b;
	return (a->mode & types) == (b->mode & types) && a->size == b->size &&
	    (a->size == 0 || a->data == NULL ||
	    memcmp(a->data, b->data, a->size) == 0);
}

/* Whether everything that a has there is the same in b. */
static bool
contained(const struct files *a, const struct files *b, const char *path,
    bool rough)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct file *f = &a->all[i];

		if (files_below(f->path, path) &&
		    !files_same(f, files_find(b, f->path), rough))
			return false;
	}
	return true;
}

bool
files_same_below(const struct files *a, const struct files *b,
    const char *path, bool rough)
{
	return contained(a, b, path, rough) && contained(b, a, path, rough);
}

static void
put(const struct file *f)
{
	int fd;

	if (S_ISDIR(f->mode)) {
		if (mkdir(f->path, 0700) == -1)
			err(99, "%s", f->path);
	} else if (S_ISLNK(f->mode)) {
		if (symlink(f->data, f->path) == -1)
			err(99, "%s", f->path);
		return;
	} else if (S_ISREG(f->mode)) {
		fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
		for (size_t done = 0; done < f->size;) {
			ssize_t n = write(fd, f->data + done, f->size - done);

			if (n == -1)
				err(99, "%s", f->path);
			done += (size_t)n;
		}
		close(fd);
	} else if (mknod(f->path, f->mode, 0) == -1) {
		err(99, "%s", f->path);
	}
	if (chmod(f->path, f->mode & 07777) == -1 ||
	    utimensat(AT_FDCWD, f->path, (struct timespec[]){ f->changed,
	    f->changed }, 0) == -1)
		err(99, "%s", f->path);
}

void
files_restore(const struct files *then, const struct files *now)
{
	/* what is in a directory comes after it */
	for (size_t i = now->count; i-- > 0;) {
		const struct file *f = &now->all[i];
		const struct file *old = files_find(then, f->path);

		if (files_same(f, old, false) || (old != NULL && S_ISDIR(f->mode) &&
		    S_ISDIR(old->mode)))
			continue;
		if (remove(f->path) == -1 && errno != ENOENT)
			err(99, "%s", f->path);
	}
	for (size_t i = 0; i < then->count; i++) {
		const struct file *f = &then->all[i];
		const struct file *is = files_find(now, f->path);

		if (is != NULL && S_ISDIR(f->mode) && S_ISDIR(is->mode))
			chmod(f->path, f->mode & 07777);
		else if (!files_same(f, is, false))
			put(f);
	}
}
