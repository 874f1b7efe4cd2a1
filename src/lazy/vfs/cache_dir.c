/*
 * cache_dir.c - a cache in a directory, for several processes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cache.h describes the directory.  A range is written in place under its final
 * name.  Whoever reads it meanwhile, or after the writer was killed, finds it
 * incomplete.  Whoever wants to write it then removes it first; if its writer is
 * still there, it goes on with a file that has no name any longer.
 *
 * No process waits long for another: a range for which there is no space within
 * WAIT_NS, because another process looks through a large directory or has been
 * stopped, is not stored.
 */
#include "cache_private.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CACHE_OLD ".ranges"		/* of versions before */

enum {
	PATH = CACHE_NAME + 40,		/* LAYER/OBJECT-OFFSET */
	NAME = 33,			/* OBJECT-OFFSET */
	TRIES = 4,
	WAIT_NS = 500000000, PAUSE_NS = 200000,
	ENTRY = 64			/* space in a directory for a name */
};

static const char magic[8] = { 'l', 'a', 'y', 'r', 'a', 'n', 'g', 'e' };
static const char space_magic[8] = { 'l', 'a', 'y', 's', 'p', 'a', 'c', 'e' };

struct cache_dir {
	int fd;				/* of the directory, the caller's */
	uint64_t limit;
	_Atomic uint64_t evicted;

	/* protects the following, and excludes threads as flock() does
	 * processes */
	pthread_mutex_t lock;
	int space;			/* descriptor of CACHE_SPACE, or -1 */
};

static void
path_of(const struct cache_place *p, char path[PATH])
{
	snprintf(path, PATH, "%s/%016" PRIx64 "-%016" PRIx64, p->layer,
	    p->object, p->offset);
}

/* Space */

/* A file that may be removed. */
struct item {
	uint64_t object, offset;	/* names the file, unless it is a
					 * document */
	uint64_t bytes;
	struct timespec used;
	uint32_t folder;
};

/* A directory of ranges, or a document. */
struct folder {
	char name[CACHE_NAME];
	bool document;
	size_t items;
};

struct listing {
	struct item *items;
	struct folder *folders;
	size_t count, cap, folder_count, folder_cap;
	uint64_t bytes;			/* of everything in the directory */
};

static int
by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct item *)a)->used;
	const struct timespec *y = &((const struct item *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? 1 : -1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool
ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), len = strlen(suffix);

	return n > len && strcmp(name + n - len, suffix) == 0;
}

static uint64_t
bytes_of(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512;
}

static int
add_item(struct listing *l, const struct item *i)
{
	void *items = l->items;
	int rc = array_grow(&items, l->count, &l->cap, sizeof(*i));

	l->items = items;
	if (rc == 0)
		l->items[l->count++] = *i;
	return rc;
}

/* Opens a directory for reading; its descriptor belongs to the stream. */
static int
open_stream(int dir, const char *name, DIR **d)
{
	int fd = sys_openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW, 0), rc;

	if (fd < 0)
		return fd;
	*d = fdopendir(fd);
	if (*d != NULL)
		return 0;
	rc = -errno;
	sys_close(fd);
	return rc;
}

/* Lists the ranges of a folder, whose number is given. */
static int
list_folder(struct cache_dir *c, struct listing *l, uint32_t folder)
{
	struct item i = { .folder = folder };
	struct dirent *e;
	struct stat st;
	int used, rc;
	DIR *d;

	rc = open_stream(c->fd, l->folders[folder].name, &d);
	/* another process may have removed it */
	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	while (rc == 0 && (e = readdir(d)) != NULL) {
		used = 0;
		if (strlen(e->d_name) != NAME || sscanf(e->d_name, "%16" SCNx64
		    "-%16" SCNx64 "%n", &i.object, &i.offset, &used) != 2 ||
		    used != NAME || sys_fstatat(dirfd(d), e->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		i.bytes = bytes_of(&st);
		i.used = st.st_mtim;
		l->bytes += i.bytes;
		l->folders[folder].items++;
		rc = add_item(l, &i);
	}
	if (rc == 0 && sys_fstat(dirfd(d), &st) == 0)
		l->bytes += bytes_of(&st);
	closedir(d);
	return rc;
}

static int
list_name(struct cache_dir *c, struct listing *l, const char *name)
{
	void *folders = l->folders;
	bool document = ends_with(name, CACHE_TEXT);
	struct item i = { .folder = (uint32_t)l->folder_count };
	struct folder *f;
	struct stat st;
	int rc;

	if (strlen(name) >= CACHE_NAME)
		return 0;
	if (ends_with(name, CACHE_OLD)) {
		(void)sys_unlinkat(c->fd, name, 0);
		return 0;
	}
	if ((!document && !ends_with(name, CACHE_LAYER)) || sys_fstatat(c->fd,
	    name, &st, AT_SYMLINK_NOFOLLOW) != 0 || (document ?
	    !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode)))
		return 0;
	rc = array_grow(&folders, l->folder_count, &l->folder_cap,
	    sizeof(*l->folders));
	l->folders = folders;
	if (rc != 0)
		return rc;
	f = &l->folders[l->folder_count++];
	*f = (struct folder){ .document = document };
	strcpy(f->name, name);
	if (!document)
		return list_folder(c, l, i.folder);
	i.bytes = bytes_of(&st);
	i.used = st.st_mtim;
	l->bytes += i.bytes;
	return add_item(l, &i);
}

/* Lists everything.  The listing must be freed in either case. */
static int
list_all(struct cache_dir *c, struct listing *l)
{
	struct dirent *e;
	struct stat st;
	DIR *d;
	int rc = open_stream(c->fd, ".", &d);

	if (rc != 0)
		return rc;
	while (rc == 0 && (e = readdir(d)) != NULL)
		rc = list_name(c, l, e->d_name);
	if (rc == 0 && sys_fstat(dirfd(d), &st) == 0)
		l->bytes += bytes_of(&st);
	closedir(d);
	return rc;
}

static void
remove_item(struct cache_dir *c, const struct listing *l, const struct item *i)
{
	const struct folder *f = &l->folders[i->folder];
	const struct cache_place p = { .layer = f->name, .object = i->object,
		.offset = i->offset };
	char path[PATH];

	path_of(&p, path);
	(void)sys_unlinkat(c->fd, f->document ? f->name : path, 0);
}

/*
 * Removes the least recently used files, if need bytes more would exceed the
 * limit, and sets *used to what is left.  Called with the space locked.
 */
static int
make_space(struct cache_dir *c, uint64_t need, uint64_t *used)
{
	uint64_t most = c->limit - c->limit / CACHE_BATCH;
	struct listing l = { .count = 0 };
	int rc = list_all(c, &l);

	if (rc != 0)
		goto out;
	/* .space itself */
	l.bytes += CACHE_BLOCK;
	if (l.bytes + need > c->limit && l.count > 0) {
		qsort(l.items, l.count, sizeof(*l.items), by_use);
		for (size_t i = 0; i < l.count && l.bytes + need > most; i++) {
			remove_item(c, &l, &l.items[i]);
			l.bytes -= l.items[i].bytes;
			l.folders[l.items[i].folder].items--;
			atomic_fetch_add(&c->evicted, l.items[i].bytes);
		}
	}
	/* a process that wants to write there makes it again */
	for (size_t i = 0; i < l.folder_count; i++)
		if (!l.folders[i].document && l.folders[i].items == 0)
			(void)sys_unlinkat(c->fd, l.folders[i].name,
			    AT_REMOVEDIR);
	*used = l.bytes;
out:
	sys_free(l.items);
	sys_free(l.folders);
	return rc;
}

/* Opens .space, or opens it again if it was removed. */
static int
open_space(struct cache_dir *c)
{
	struct stat st;

	if (c->space >= 0 && sys_fstat(c->space, &st) == 0 && st.st_nlink > 0)
		return 0;
	if (c->space >= 0)
		sys_close(c->space);
	c->space = cache_file(c->fd, CACHE_SPACE, O_RDWR | O_CREAT);
	return c->space < 0 ? c->space : 0;
}

/* Locks the space.  Returns 0, -EAGAIN (not in time) or another -errno. */
static int
lock_space(struct cache_dir *c)
{
	uint64_t end = sys_now_ns() + WAIT_NS;
	struct timespec t;
	int rc;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (t.tv_nsec + WAIT_NS) / 1000000000;
	t.tv_nsec = (t.tv_nsec + WAIT_NS) % 1000000000;
	if (pthread_mutex_timedlock(&c->lock, &t) != 0)
		return -EAGAIN;
	rc = open_space(c);
	while (rc == 0 && flock(c->space, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			rc = -errno;
		else if (sys_now_ns() > end)
			rc = -EAGAIN;
		else
			sys_sleep_ns(PAUSE_NS);
	}
	if (rc != 0)
		pthread_mutex_unlock(&c->lock);
	return rc;
}

static void
unlock_space(struct cache_dir *c)
{
	(void)flock(c->space, LOCK_UN);
	pthread_mutex_unlock(&c->lock);
}

/* Returns the space in use, or UINT64_MAX if it is unknown. */
static uint64_t
read_space(const struct cache_dir *c)
{
	uint8_t text[16];

	return c->space >= 0 && fdio_pread(c->space, text, sizeof(text), 0) ==
	    (ssize_t)sizeof(text) && memcmp(text, space_magic,
	    sizeof(space_magic)) == 0 ? load_le64(text + 8) : UINT64_MAX;
}

/* Reserves space for need bytes, or looks how much there is (0). */
static int
reserve(struct cache_dir *c, uint64_t need)
{
	uint8_t text[16];
	uint64_t used;
	int rc = lock_space(c);

	if (rc != 0)
		return rc;
	used = need == 0 ? UINT64_MAX : read_space(c);
	if (used > c->limit || need > c->limit - used)
		rc = make_space(c, need, &used);
	memcpy(text, space_magic, sizeof(space_magic));
	store_le64(text + 8, used + need);
	if (rc == 0)
		rc = fdio_pwrite(c->space, text, sizeof(text), 0);
	if (rc == 0 && used + need > c->limit)
		rc = -EFBIG;
	unlock_space(c);
	return rc;
}

/* Opening */

static bool
is_full(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT;
}

int
cache_dir_open(struct cache_dir **out, int dir, uint64_t limit)
{
	struct cache_dir *c = sys_calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return -ENOMEM;
	c->fd = dir;
	c->limit = limit;
	c->space = -1;
	pthread_mutex_init(&c->lock, NULL);
	rc = reserve(c, 0);
	/* another process does the same, or all of it has to go */
	if (rc == -EAGAIN || rc == -EFBIG || is_full(rc))
		rc = 0;
	if (rc != 0) {
		cache_dir_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void
cache_dir_close(struct cache_dir *c)
{
	if (c == NULL)
		return;
	if (c->space >= 0)
		sys_close(c->space);
	pthread_mutex_destroy(&c->lock);
	sys_free(c);
}

int
cache_dir_check(struct cache_dir *c, const char *layer)
{
	struct stat st;
	int rc = sys_fstatat(c->fd, layer, &st, AT_SYMLINK_NOFOLLOW);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	return S_ISDIR(st.st_mode) ? 0 : -EINVAL;
}

void
cache_dir_counted(struct cache_dir *c, struct cache_counts *n)
{
	uint64_t used;

	pthread_mutex_lock(&c->lock);
	used = open_space(c) == 0 ? read_space(c) : UINT64_MAX;
	pthread_mutex_unlock(&c->lock);
	n->used = used == UINT64_MAX ? 0 : used;
	n->evicted_bytes = atomic_load(&c->evicted);
}

/* Ranges */

/* Writes the header of a range whose bytes have this checksum. */
static void
write_header(const struct cache_place *p, uint64_t length, uint64_t sum,
    uint8_t header[CACHE_HEADER])
{
	memcpy(header, magic, sizeof(magic));
	store_le64(header + 8, p->offset);
	store_le64(header + 16, length);
	store_le64(header + 24, p->object);
	store_le64(header + 32, sum);
	store_le64(header + 40, cache_hash(header, 40));
}

/* Notes that a file is used, unless that was noted recently. */
static void
touch(int fd)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (sys_fstat(fd, &st) == 0 && (now.tv_sec < st.st_mtim.tv_sec ||
	    now.tv_sec - st.st_mtim.tv_sec > CACHE_TOUCH_S))
		(void)sys_utimens(fd, NULL, NULL, 0);
}

ssize_t
cache_dir_find(struct cache_dir *c, const struct cache_place *p,
    uint64_t room, void *buf)
{
	uint8_t header[CACHE_HEADER];
	uint64_t length;
	char path[PATH];
	ssize_t n;
	int fd;

	path_of(p, path);
	fd = cache_file(c->fd, path, O_RDONLY);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? -ENOENT : fd;
	n = fdio_pread(fd, header, sizeof(header), 0);
	/* incomplete; it may still be written */
	if (n != CACHE_HEADER)
		goto out;
	length = load_le64(header + 16);
	if (memcmp(header, magic, sizeof(magic)) != 0 ||
	    load_le64(header + 40) != cache_hash(header, 40) ||
	    load_le64(header + 8) != p->offset ||
	    load_le64(header + 24) != p->object) {
		cache_dir_drop(c, p);
		n = -ENOENT;
		goto out;
	}
	n = length > room ? -ENOENT : fdio_pread(fd, buf, length,
	    CACHE_HEADER);
	if (n != (ssize_t)length)
		goto out;
	if (cache_hash(buf, length) == load_le64(header + 32)) {
		touch(fd);
	} else {
		cache_dir_drop(c, p);
		n = -ENOENT;
	}
	sys_close(fd);
	return n;
out:
	sys_close(fd);
	return n < 0 ? n : -ENOENT;
}

/* Creates a range's file.  Returns its descriptor or -errno. */
static int
create(struct cache_dir *c, const struct cache_place *p, const char *path)
{
	int fd = -EAGAIN;

	for (int i = 0; i < TRIES; i++) {
		fd = cache_file(c->fd, path, O_WRONLY | O_CREAT | O_EXCL);
		if (fd == -ENOENT)
			(void)sys_mkdirat(c->fd, p->layer, 0700);
		/* it was not found to be complete */
		else if (fd == -EEXIST)
			(void)sys_unlinkat(c->fd, path, 0);
		else
			break;
	}
	return fd;
}

/* Writes the file in one call, as a rule.  Returns 0 or -errno. */
static int
write_file(int fd, uint8_t header[CACHE_HEADER], const void *data,
    uint64_t length)
{
	struct iovec v[2] = { { .iov_base = header, .iov_len = CACHE_HEADER },
		{ .iov_len = length } };
	ssize_t n;

	memcpy(&v[1].iov_base, &data, sizeof(data));
	do
		n = pwritev(fd, v, 2, 0);
	while (n == -1 && errno == EINTR);
	return n == (ssize_t)(CACHE_HEADER + length) ? 0 : n < 0 ? -errno :
	    -ENOSPC;
}

int
cache_dir_write(struct cache_dir *c, const struct cache_place *p,
    uint64_t length, const void *data)
{
	uint64_t need = (CACHE_HEADER + length + CACHE_BLOCK - 1) /
	    CACHE_BLOCK * CACHE_BLOCK + ENTRY;
	uint8_t header[CACHE_HEADER];
	char path[PATH];
	int fd, rc = reserve(c, need);

	if (rc != 0)
		return rc;
	path_of(p, path);
	fd = create(c, p, path);
	if (fd < 0)
		return fd;
	write_header(p, length, cache_hash(data, length), header);
	rc = write_file(fd, header, data, length);
	sys_close(fd);
	if (rc != 0)
		(void)sys_unlinkat(c->fd, path, 0);
	return rc;
}

void
cache_dir_drop(struct cache_dir *c, const struct cache_place *p)
{
	char path[PATH];

	path_of(p, path);
	(void)sys_unlinkat(c->fd, path, 0);
}

int
cache_dir_clear(struct cache_dir *c, const char *layer)
{
	struct dirent *e;
	DIR *d;
	int rc = open_stream(c->fd, layer, &d), one;

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	while ((e = readdir(d)) != NULL) {
		if (strlen(e->d_name) != NAME)
			continue;
		one = sys_unlinkat(dirfd(d), e->d_name, 0);
		if (one != 0 && one != -ENOENT)
			rc = one;
	}
	closedir(d);
	return rc;
}
