/*
 * flaky_fs.c - a filesystem whose reads fail, are short, or are slow
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * flaky_fs MODE SOURCE MOUNTPOINT: mounts a read-only view of SOURCE, and stays
 * in the foreground until it is unmounted.  Reads go straight to this process,
 * without the page cache, which would turn a short read into the end of a file.
 * 	good	as in SOURCE
 * 	short	at most a few thousand bytes, often only one
 * 	slow	each read takes 2 ms
 * 	eio	beyond the first 64 KiB of a file, reads fail with EIO
 * 	names	directories fail with EIO after some names
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { GOOD_B = 64 << 10, NAMES = 3, SLOW_NS = 2000000 };

static int source;
static const char *mode;

/* The root is "/"; all other paths start with a slash, too. */
static const char *
below(const char *path)
{
	return path[1] == '\0' ? "." : path + 1;
}

/*
 * Hard links have the same number.  After a short read, the kernel believes that
 * the file ends there, until it asks for the size again.
 */
static void *
flaky_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->use_ino = 1;
	config->attr_timeout = 0;
	return NULL;
}

static int
flaky_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	(void)fi;
	return fstatat(source, below(path), st, AT_SYMLINK_NOFOLLOW) == -1 ?
	    -errno : 0;
}

static int
flaky_readlink(const char *path, char *to, size_t size)
{
	ssize_t n = readlinkat(source, below(path), to, size - 1);

	if (n == -1)
		return -errno;
	to[n] = '\0';
	return 0;
}

static int
flaky_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t offset,
    struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(source, below(path), O_RDONLY | O_DIRECTORY);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *e;
	int names = 0;

	(void)offset, (void)fi, (void)flags;
	if (d == NULL)
		return -errno;
	while ((e = readdir(d)) != NULL) {
		if (strcmp(mode, "names") == 0 && names++ == NAMES) {
			closedir(d);
			return -EIO;
		}
		fill(to, e->d_name, NULL, 0, 0);
	}
	closedir(d);
	return 0;
}

static int
flaky_open(const char *path, struct fuse_file_info *fi)
{
	int fd = openat(source, below(path), O_RDONLY);

	if (fd == -1)
		return -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = 1;
	return 0;
}

static int
flaky_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int
flaky_read(const char *path, char *to, size_t size, off_t at,
    struct fuse_file_info *fi)
{
	ssize_t n;

	(void)path;
	if (strcmp(mode, "eio") == 0 && at + (off_t)size > GOOD_B &&
	    at >= GOOD_B)
		return -EIO;
	if (strcmp(mode, "short") == 0) {
		size_t most = at % 3 == 0 ? 1 : 1 + (size_t)at % 4999;

		size = size < most ? size : most;
	}
	if (strcmp(mode, "slow") == 0)
		nanosleep(&(struct timespec){ .tv_nsec = SLOW_NS }, NULL);
	n = pread((int)fi->fh, to, size, at);
	return n == -1 ? -errno : (int)n;
}

static const struct fuse_operations operations = {
	.init = flaky_init, .getattr = flaky_getattr, .readlink = flaky_readlink,
	.readdir = flaky_readdir, .open = flaky_open,
	.release = flaky_release, .read = flaky_read,
};

int
main(int argc, char *argv[])
{
	char options[] = "ro,default_permissions,fsname=flaky";
	char front[] = "-f", option[] = "-o";
	char *args[] = { argv[0], argc == 4 ? argv[3] : argv[0], front, option,
	    options };

	if (argc != 4) {
		fprintf(stderr, "usage: flaky_fs mode source mountpoint\n");
		return 1;
	}
	mode = argv[1];
	source = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (source == -1) {
		perror(argv[2]);
		return 1;
	}
	return fuse_main(5, args, &operations, NULL);
}
