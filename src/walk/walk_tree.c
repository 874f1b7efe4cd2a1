/*
 * walk_tree.c - the names in a tree, collected before anything is opened
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directories wait in t->dirs, in the order in which they were found; a thread
 * takes the next one, reads it, and adds its contents with the lock held, one
 * bufferful at a time.  There is no recursion, so stack usage does not depend
 * on depth.  A name is stored once, and paths are built when needed.
 */
#include "walk/walk_tree.h"

#include "base/array.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/sys.h"
#include "walk/walk_trail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DENTS_B = 1 << 16 };

struct scan {
	struct tree *t;
	int root;
	const atomic_bool *cancel;
	pthread_mutex_t lock;
	pthread_cond_t more;
	size_t taken, busy;		/* directories taken so far, and
					 * directories being read */
	int err;
};

/* Growing */

static const char *
keep_name(struct tree *t, const char *name)
{
	return arena_copy(&t->names, name, strlen(name));
}

static int
add_dir(struct tree *t, uint32_t parent, const char *name)
{
	void *items = t->dirs;
	size_t len;
	int rc = t->dir_count == UINT32_MAX ? -EFBIG : array_grow(&items,
	    t->dir_count, &t->dir_cap, sizeof(*t->dirs));

	t->dirs = items;
	if (rc != 0)
		return rc;
	name = keep_name(t, name);
	if (name == NULL)
		return -ENOMEM;
	len = t->dir_count == 0 ? 0 : t->dirs[parent].path_len;
	t->dirs[t->dir_count++] = (struct tree_dir){ .name = name,
		.parent = parent, .path_len = len + (len > 0) + strlen(name) };
	return 0;
}

static int
add_entry(struct tree *t, struct tree_entry e)
{
	void *items = t->entries;
	int rc = array_grow(&items, t->count, &t->cap, sizeof(*t->entries));

	t->entries = items;
	e.name = rc == 0 ? keep_name(t, e.name) : NULL;
	if (e.name == NULL)
		return -ENOMEM;
	t->entries[t->count++] = e;
	return 0;
}

/* Paths */

static int
make_path(const struct tree *t, size_t dir, const char *name,
    struct tree_path *p)
{
	const struct tree_dir *dirs = t->dirs;
	size_t len = strlen(name);
	size_t n = dirs[dir].path_len + (dir != 0) + len;
	char *s;

	if (n + 1 > p->cap) {
		size_t cap = n + 1 < 512 ? 512 : 2 * (n + 1);

		s = sys_realloc(p->s, cap);
		if (s == NULL)
			return -ENOMEM;
		p->s = s;
		p->cap = cap;
	}
	s = p->s + n - len;
	memcpy(s, name, len + 1);
	for (size_t d = dir; d != 0; d = dirs[d].parent) {
		*--s = '/';
		len = (size_t)(s - p->s) - dirs[dirs[d].parent].path_len -
		    (dirs[d].parent != 0);
		s -= len;
		memcpy(s, dirs[d].name, len);
	}
	return 0;
}

int
tree_path(const struct tree *t, const struct tree_entry *e,
    struct tree_path *p)
{
	return make_path(t, e->dir, e->name, p);
}

/* Scanning */

enum walk_type
tree_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return WALK_FILE;
	case S_IFDIR: return WALK_DIR;
	case S_IFLNK: return WALK_LINK;
	default: return WALK_OTHER;
	}
}

/* Adds the contents of a directory, or an entry with the error. */
static int
read_dir(struct scan *s, struct walk_trail *trail, uint32_t dir,
    const char *path, char *buf)
{
	int fd = walk_trail_open(trail, s->root, path, O_DIRECTORY), rc = 0;
	ssize_t n = fd < 0 ? fd : 0;

	while (fd >= 0 && rc == 0 && (n = sys_getdents(fd, buf, DENTS_B)) > 0) {
		pthread_mutex_lock(&s->lock);
		for (ssize_t at = 0; at < n && rc == 0;) {
			struct dirent64 *e = (void *)(buf + at);
			mode_t mode = DTTOIF(e->d_type);
			struct stat st;

			at += e->d_reclen;
			if (path_is_dots(e->d_name))
				continue;
			if (e->d_type == DT_UNKNOWN && sys_fstatat(fd,
			    e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
				mode = st.st_mode;
			rc = S_ISDIR(mode) ? add_dir(s->t, dir, e->d_name) :
			    add_entry(s->t, (struct tree_entry){
			    .name = e->d_name, .ino = e->d_ino, .dir = dir,
			    .type = (uint8_t)tree_type(mode) });
		}
		if (s->t->dir_count > s->taken)
			pthread_cond_broadcast(&s->more);
		pthread_mutex_unlock(&s->lock);
	}
	if (rc == 0 && n < 0) {
		struct tree_dir d;

		pthread_mutex_lock(&s->lock);
		d = s->t->dirs[dir];
		rc = add_entry(s->t, (struct tree_entry){ .type = WALK_DIR,
		    .name = dir == 0 ? "." : d.name, .dir = d.parent,
		    .err = (int16_t)n });
		pthread_mutex_unlock(&s->lock);
	}
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

static void
scanner(void *arg, unsigned i)
{
	struct scan *s = arg;
	struct tree *t = s->t;
	struct tree_path path = { NULL, 0 };
	struct walk_trail trail = { .count = 0 };
	char *buf = sys_malloc(DENTS_B);

	(void)i;
	pthread_mutex_lock(&s->lock);
	if (buf == NULL && s->err == 0)
		s->err = -ENOMEM;
	while (s->err == 0 && (s->cancel == NULL || !atomic_load(s->cancel))) {
		size_t dir = s->taken;
		int rc;

		if (dir == t->dir_count) {
			if (s->busy == 0)
				break;
			pthread_cond_wait(&s->more, &s->lock);
			continue;
		}
		s->taken++;
		s->busy++;
		rc = dir == 0 ? make_path(t, 0, ".", &path) :
		    make_path(t, t->dirs[dir].parent, t->dirs[dir].name, &path);
		pthread_mutex_unlock(&s->lock);
		if (rc == 0)
			rc = read_dir(s, &trail, (uint32_t)dir, path.s, buf);
		pthread_mutex_lock(&s->lock);
		s->busy--;
		if (s->err == 0)
			s->err = rc;
	}
	/* the last thread wakes the threads waiting for more */
	pthread_cond_broadcast(&s->more);
	pthread_mutex_unlock(&s->lock);
	walk_trail_close(&trail);
	sys_free(path.s);
	sys_free(buf);
}

int
tree_scan(struct tree *t, int root, unsigned threads,
    const atomic_bool *cancel)
{
	struct scan s = { .t = t, .root = root, .cancel = cancel };
	int rc;

	*t = (struct tree){ .count = 0 };
	rc = add_dir(t, 0, "");
	if (rc != 0)
		return rc;
	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.more, NULL);
	parallel_run(threads, scanner, &s);
	pthread_cond_destroy(&s.more);
	pthread_mutex_destroy(&s.lock);
	if (s.err == 0 && cancel != NULL && atomic_load(cancel))
		s.err = -ECANCELED;
	return s.err;
}

int
tree_from_paths(struct tree *t, const char *const *paths, size_t count)
{
	int rc;

	*t = (struct tree){ .count = 0 };
	rc = add_dir(t, 0, "");
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = add_entry(t, (struct tree_entry){ .name = paths[i],
		    .ino = i, .type = WALK_FILE });
	return rc;
}

void
tree_free(struct tree *t)
{
	arena_free(&t->names);
	sys_free(t->dirs);
	sys_free(t->entries);
	*t = (struct tree){ .count = 0 };
}

static int
by_entry_inode(const void *a, const void *b)
{
	const struct tree_entry *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

void
tree_sort(struct tree *t)
{
	if (t->count > 1)
		qsort(t->entries, t->count, sizeof(*t->entries),
		    by_entry_inode);
}

/*
 * Opens path directory by directory, without following links.  Used before
 * Linux 5.6, in containers that block new system calls, and under valgrind.
 */
static int
open_by_steps(int root, const char *path, int flags)
{
	char name[NAME_MAX + 1];
	int dir = root, fd = -ENOENT;

	if (*path == '/')
		return -EXDEV;
	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len > NAME_MAX) {
			fd = -ENAMETOOLONG;
		} else {
			memcpy(name, path, len);
			name[len] = '\0';
			path += len + strspn(path + len, "/");
			fd = strcmp(name, "..") == 0 ? -EXDEV :
			    sys_openat(dir, name, *path == '\0' ?
			    flags | O_NOFOLLOW : O_PATH | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC, 0);
		}
		if (dir != root)
			sys_close(dir);
		if (fd < 0)
			break;
		dir = fd;
	}
	return fd;
}

static int
open_beneath(int dir, const char *path, int flags)
{
	int fd = sys_open_beneath(dir, path, flags);

	return fd == -ENOSYS || fd == -EPERM ?
	    open_by_steps(dir, path, flags) : fd;
}

int
tree_open_dir(int root, const char *path)
{
	return open_beneath(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int
tree_reach(int root, const char **path)
{
	char part[PATH_MAX];
	int dir = root;

	while (strlen(*path) >= PATH_MAX) {
		const char *slash = memrchr(*path, '/', PATH_MAX - 1);
		int fd = -ENAMETOOLONG;

		if (slash != NULL && slash != *path) {
			memcpy(part, *path, (size_t)(slash - *path));
			part[slash - *path] = '\0';
			fd = tree_open_dir(dir, part);
		}
		if (dir != root)
			sys_close(dir);
		if (fd < 0)
			return fd;
		dir = fd;
		*path = slash + 1;
	}
	return dir;
}

int
tree_open(int root, const char *path, int flags)
{
	int dir = tree_reach(root, &path), fd;

	if (dir < 0)
		return dir;
	flags |= O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	/* preserve the access time if permitted */
	fd = open_beneath(dir, path, flags | O_NOATIME);
	if (fd == -EPERM)
		fd = open_beneath(dir, path, flags);
	if (dir != root)
		sys_close(dir);
	return fd;
}
