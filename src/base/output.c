/*
 * output.c - an output file or directory that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/output.h"
#include "base/output_tree.h"

#include "base/fdio.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_PREFIX ".coldpress-tree-"

enum {
	TRIES = 100,
	DENTS_B = 2048,
	DEPTH_MAX = 8,			/* maximum depth of the trees that we
					 * create */
	ROUNDS = 100			/* retries while others create files */
};

/* Signals */

/*
 * The library's only global variable, because a signal handler has no argument.
 * The handler may run in any thread while another thread completes the output.
 * The temporary name then no longer exists, even if the directory's descriptor
 * has been reused for another directory, because names include the process ID
 * and the time.
 */
static _Atomic(const struct output_armed *) armed;

/*
 * Removes the name, and raises the signal again with its default action
 * restored.
 */
static void
remove_armed(int sig)
{
	const struct output_armed *a = atomic_load(&armed);

	if (a != NULL)
		a->remove(a);
	raise(sig);
}

/*
 * Makes signals call a->remove, which must be async-signal-safe.  Call this
 * before creating the name, so that no signal is missed.  Only one output can
 * be armed at a time; a second one is not removed.
 */
static void
arm(const struct output_armed *a)
{
	const struct output_armed *none = NULL;

	atomic_compare_exchange_strong(&armed, &none, a);
}

void
output_on_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXCPU,
	    SIGXFSZ };
	struct sigaction act = { .sa_handler = remove_armed,
	    .sa_flags = (int)SA_RESETHAND }, old;

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &old) == 0 &&
		    old.sa_handler == SIG_DFL)
			sigaction(ends[i], &act, NULL);
}

/* Files */

/*
 * Opens a directory within another.  Write and search permission is enough;
 * only syncing requires read permission.
 */
static int
open_dir(struct output *o, int at, const char *dir)
{
	o->dirfd = sys_openat(at, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	o->dir_sync = o->dirfd >= 0;
	if (o->dirfd == -EACCES)
		o->dirfd = sys_openat(at, dir,
		    O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return o->dirfd < 0 ? o->dirfd : 0;
}

/* Called in a signal handler. */
static void
remove_temp(const struct output_armed *a)
{
	const struct output *o = (const struct output *)a;

	if (o->temp[0] != '\0')
		unlinkat(o->dirfd, o->temp, 0);
}

/*
 * Clears a temporary name, which was not created or no longer exists, before a
 * descriptor that a->remove uses is closed.
 */
static void
drop_temp(struct output_armed *a, char *temp)
{
	const struct output_armed *mine = a;

	atomic_compare_exchange_strong(&armed, &mine, NULL);
	*temp = '\0';
}

/*
 * Generates the next temporary name, which a signal handler removes.  It is not
 * derived from the final name, which may be 255 bytes long.
 */
static void
next_temp(struct output *o)
{
	snprintf(o->temp, sizeof(o->temp), ".coldpress-%ld-%llx",
	    (long)getpid(), (unsigned long long)sys_now_ns());
	o->armed.remove = remove_temp;
	arm(&o->armed);
}

static bool
is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/*
 * /dev/stdout can refer to any file, and must be written like descriptor 1,
 * from its current offset.  Returns a copy of such a descriptor, -ENOENT, or
 * -EBADF if it is open only for reading.
 */
static int
open_standard(const struct output *o)
{
	struct stat st;
	int rc = -ENOENT;

	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--) {
		if (fstat(fd, &st) == -1 || st.st_dev != o->there.st_dev ||
		    st.st_ino != o->there.st_ino)
			continue;
		rc = -EBADF;
		if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
			continue;
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return fd == -1 ? -errno : fd;
	}
	return rc;
}

/*
 * Opens the target without truncating or creating it, so that a regular file
 * that has replaced the device is not modified.  Returns -EBUSY for a mounted
 * block device.
 */
static int
open_in_place(struct output *o, bool link)
{
	struct stat st;
	int fd = sys_openat(o->dirfd, o->name, O_WRONLY | O_NOCTTY |
	    O_CLOEXEC | (S_ISBLK(o->there.st_mode) ? O_EXCL : 0) |
	    (link ? 0 : O_NOFOLLOW), 0);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == -1)
		rc = -errno;
	else if (!is_special(st.st_mode))
		rc = -EEXIST;
	if (rc == 0)
		return fd;
	sys_close(fd);
	return rc;
}

/*
 * Opens an unnamed file, a temporary file, or the file to be written in place.
 */
static int
open_target(struct output *o, bool in_place)
{
	struct stat st;
	bool special;
	int fd = -ENOENT;

	/* what already exists at the path? */
	if (fstatat(o->dirfd, o->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (!o->replace)
			return -EEXIST;
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		o->there = st;
		if (S_ISLNK(st.st_mode) &&
		    fstatat(o->dirfd, o->name, &o->there, 0) == -1)
			o->there = st;
		special = is_special(o->there.st_mode);
		if (special && !in_place)
			return -EEXIST;
		if (in_place && S_ISLNK(st.st_mode))
			fd = open_standard(o);
		if (special && (fd == -ENOENT || fd == -EBADF))
			fd = open_in_place(o, S_ISLNK(st.st_mode));
		o->direct = fd >= 0;
	}
	if (fd != -ENOENT)
		goto out;
	fd = sys_openat(o->dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL)
		goto out;
	do {
		next_temp(o);
		fd = sys_openat(o->dirfd, o->temp,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} while (fd == -EEXIST);
	if (fd < 0)
		drop_temp(&o->armed, o->temp);
out:
	if (fd < 0)
		return fd;
	o->fd = fd;
	return 0;
}

/* Prepares to write a name in the directory dir, which is relative to at. */
static int
create_in(struct output *o, int at, const char *dir, const char *name,
    bool replace, bool in_place)
{
	int rc;

	*o = (struct output){ .fd = -1, .dirfd = -1, .replace = replace };
	rc = open_dir(o, at, dir);
	if (rc == 0) {
		o->name = strcopy(name);
		rc = o->name == NULL ? -ENOMEM : open_target(o, in_place);
	}
	if (rc != 0)
		output_abort(o);
	return rc;
}

int
output_create(struct output *o, const char *path, bool replace)
{
	const char *name = path_name(path);
	char *dir;
	int rc;

	*o = (struct output){ .fd = -1, .dirfd = -1 };
	if (*name == '\0')
		return -EISDIR;
	dir = name == path ? strcopy(".") :
	    strcopy_part(path, (size_t)(name - path));
	if (dir == NULL)
		return -ENOMEM;
	rc = create_in(o, AT_FDCWD, dir, name, replace, true);
	sys_free(dir);
	return rc;
}

int
output_create_at(struct output *o, int dirfd, const char *name, bool replace)
{
	return create_in(o, dirfd, ".", name, replace, false);
}

bool
output_is(const struct output *o, const struct stat *st)
{
	const struct stat *there = &o->there;

	if (there->st_mode == 0)
		return false;
	if (S_ISBLK(there->st_mode) && S_ISBLK(st->st_mode))
		return there->st_rdev == st->st_rdev;
	return there->st_dev == st->st_dev && there->st_ino == st->st_ino;
}

/* Gives the unnamed file a name.  Without /proc, only root can do this. */
static int
link_as(const struct output *o, const char *name)
{
	char proc[32];
	int rc;

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", o->fd);
	rc = sys_linkat(AT_FDCWD, proc, o->dirfd, name, AT_SYMLINK_FOLLOW);
	if (rc == -ENOENT)
		rc = sys_linkat(o->fd, "", o->dirfd, name, AT_EMPTY_PATH);
	return rc;
}

/*
 * Gives the file its final name after the last call that can report a failed
 * write.  That is fsync(2) if requested; otherwise close(2), but only if the
 * file has a temporary name, because closing an unnamed file deletes it.  A
 * file that will replace another needs a temporary name, which is renamed.
 */
static int
give_name(struct output *o)
{
	int rc = -EEXIST;

	if (o->temp[0] == '\0' && !o->replace)
		return link_as(o, o->name);
	if (o->temp[0] == '\0') {
		while (rc == -EEXIST) {
			next_temp(o);
			rc = link_as(o, o->temp);
		}
		if (rc != 0) {
			drop_temp(&o->armed, o->temp);
			return rc;
		}
	}
	if (!o->synced) {
		rc = sys_close(o->fd);
		o->fd = -1;
		if (rc != 0)
			return rc;
	}
	if (o->replace) {
		rc = sys_renameat(o->dirfd, o->temp, o->dirfd, o->name);
	} else {
		rc = sys_linkat(o->dirfd, o->temp, o->dirfd, o->name, 0);
		if (rc == 0)
			sys_unlinkat(o->dirfd, o->temp, 0);
	}
	if (rc == 0)
		drop_temp(&o->armed, o->temp);
	return rc;
}

int
output_sync(struct output *o)
{
	int rc = o->direct ? fdio_sync(o->fd) : sys_fsync(o->fd);

	o->synced = rc == 0;
	return rc;
}

int
output_commit(struct output *o, bool sync)
{
	bool named = false;
	int rc = 0;

	/*
	 * writes to a device are delayed; without a sync, errors would be lost
	 */
	sync |= o->direct && S_ISBLK(o->there.st_mode);
	if (sync && !o->synced)
		rc = output_sync(o);
	if (rc != 0)
		goto out;
	if (!o->direct) {
		rc = give_name(o);
		if (rc != 0)
			goto out;
		named = !o->replace;
		/*
		 * sync the directory or, if it is not readable, the whole
		 * filesystem; some filesystems cannot sync a directory, and
		 * return EINVAL
		 */
		if (sync) {
			rc = o->dir_sync ? sys_fsync(o->dirfd) :
			    sys_syncfs(o->fd);
			if (rc != 0 && rc != -EINVAL)
				goto out;
		}
	}
	rc = 0;
	if (o->fd >= 0) {
		rc = sys_close(o->fd);
		o->fd = -1;
	}
out:
	/* after a late failure, remove a new file, but keep a replacement */
	if (rc != 0 && named)
		sys_unlinkat(o->dirfd, o->name, 0);
	output_abort(o);
	return rc;
}

void
output_abort(struct output *o)
{
	if (o->temp[0] != '\0')
		sys_unlinkat(o->dirfd, o->temp, 0);
	drop_temp(&o->armed, o->temp);
	if (o->fd >= 0)
		sys_close(o->fd);
	if (o->dirfd >= 0)
		sys_close(o->dirfd);
	sys_free(o->name);
	*o = (struct output){ .fd = -1, .dirfd = -1 };
}

/* Directories */

/*
 * Removes a directory with all its entries.  Like its callers, it can run in a
 * signal handler: it makes only system calls, and uses no memory except the
 * stack.
 */
static int
remove_dir(int at, const char *name, int depth)
{
	_Alignas(struct dirent64) char buf[DENTS_B];
	int dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	ssize_t n;

	if (dir < 0)
		return dir;
	while ((n = sys_getdents(dir, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n;) {
			const struct dirent64 *e = (const void *)(buf + i);

			i += e->d_reclen;
			if (!path_is_dots(e->d_name) &&
			    sys_unlinkat(dir, e->d_name, 0) == -EISDIR &&
			    depth + 1 < DEPTH_MAX)
				remove_dir(dir, e->d_name, depth + 1);
		}
	sys_close(dir);
	return sys_unlinkat(at, name, AT_REMOVEDIR);
}

static void
remove_tree(int at, const char *name)
{
	int rc = -ENOTEMPTY;

	for (int i = 0; rc == -ENOTEMPTY && i < ROUNDS; i++)
		rc = remove_dir(at, name, 0);
}

/* Called in a signal handler. */
static void
remove_temp_tree(const struct output_armed *a)
{
	const struct output_tree *t = (const struct output_tree *)a;

	if (t->temp[0] != '\0')
		remove_tree(t->parent, t->temp);
}

static int
open_real_dir(int at, const char *name)
{
	return sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
}

/*
 * Locks dir.  Returns 0, or -1 if another process holds the lock or locks are
 * not supported.
 */
static int
lock_dir(int dir, int how)
{
	int rc;

	do
		rc = flock(dir, LOCK_EX | how);
	while (rc == -1 && errno == EINTR);
	return rc;
}

/* Removes the directories whose locks are free: their processes were killed. */
static void
remove_stale(int parent)
{
	int fd = open_real_dir(parent, ".");
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (d == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		int dir;

		if (strncmp(e->d_name, TREE_PREFIX, strlen(TREE_PREFIX)) != 0)
			continue;
		dir = open_real_dir(parent, e->d_name);
		if (dir < 0)
			continue;
		if (sys_fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
		    lock_dir(dir, LOCK_NB) == 0)
			remove_tree(parent, e->d_name);
		sys_close(dir);
	}
	closedir(d);
}

int
output_tree_create(struct output_tree *t, const char *path)
{
	size_t len = strlen(path);
	char *copy, *slash;
	struct stat st;
	int rc;

	*t = (struct output_tree)OUTPUT_TREE_NONE;
	/* the parent directory, and the last component */
	while (len > 1 && path[len - 1] == '/')
		len--;
	copy = strcopy_part(path, len);
	if (copy == NULL)
		return -ENOMEM;
	slash = strrchr(copy, '/');
	t->name = strcopy(path_name(copy));
	if (t->name != NULL) {
		if (slash != NULL)
			slash[slash == copy ? 1 : 0] = '\0';
		t->parent = sys_openat(AT_FDCWD, slash == NULL ? "." : copy,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	sys_free(copy);
	if (t->name == NULL)
		return -ENOMEM;
	if (t->parent < 0)
		return t->parent;
	rc = sys_fstatat(t->parent, t->name, &st, AT_SYMLINK_NOFOLLOW);
	if (rc != -ENOENT)
		return rc == 0 ? -EEXIST : rc;
	remove_stale(t->parent);
	t->armed.remove = remove_temp_tree;
	rc = -EEXIST;
	for (int i = 0; rc == -EEXIST && i < TRIES; i++) {
		snprintf(t->temp, sizeof(t->temp), TREE_PREFIX "%ld-%llx",
		    (long)getpid(), (unsigned long long)sys_now_ns());
		arm(&t->armed);
		rc = sys_mkdirat(t->parent, t->temp, 0755);
		if (rc != 0) {
			drop_temp(&t->armed, t->temp);
			continue;
		}
		t->dir = open_real_dir(t->parent, t->temp);
		if (t->dir < 0 && t->dir != -ENOENT)
			return t->dir;
		/* another process may remove it as stale before the lock */
		if (t->dir >= 0) {
			(void)lock_dir(t->dir, 0);
			rc = sys_fstat(t->dir, &st);
			if (rc != 0 || st.st_nlink > 0)
				return rc;
			sys_close(t->dir);
			t->dir = -1;
		}
		rc = -EEXIST;
	}
	return rc;
}

int
output_tree_commit(struct output_tree *t)
{
	int rc = fdio_sync(t->dir);

	/* fails if a nonempty directory now has that name */
	if (rc == 0)
		rc = sys_renameat(t->parent, t->temp, t->parent, t->name);
	if (rc != 0)
		return rc == -ENOTEMPTY ? -EEXIST : rc;
	drop_temp(&t->armed, t->temp);
	rc = fdio_sync(t->parent);
	if (rc == 0)
		output_tree_abort(t);
	return rc;
}

void
output_tree_abort(struct output_tree *t)
{
	if (t->temp[0] != '\0')
		remove_tree(t->parent, t->temp);
	drop_temp(&t->armed, t->temp);
	if (t->dir >= 0)
		sys_close(t->dir);
	if (t->parent >= 0)
		sys_close(t->parent);
	sys_free(t->name);
	*t = (struct output_tree)OUTPUT_TREE_NONE;
}
