/*
 * test_walk_open.c - opening files below a directory, with and without openat2
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/walk_trail.h"
#include "walk/walk_tree.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

enum { DEEP = 20 };		/* directories with names of NAME_MAX bytes */

static char dir[SCRATCH_B], longest[NAME_MAX + 1], deep[6 * PATH_MAX];
static int root, inside;

static void
put_file(int at, const char *name)
{
	int fd = openat(at, name, O_CREAT | O_WRONLY | O_EXCL, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* Makes, or removes from the bottom, DEEP directories and a file in them. */
static void
make_deep(int at, int n, bool remove)
{
	int fd;

	if (!remove && n < DEEP)
		assert_int_equal(mkdirat(at, longest, 0700), 0);
	else if (!remove)
		put_file(at, longest);
	if (n == DEEP) {
		if (remove)
			unlinkat(at, longest, 0);
		return;
	}
	if (!remove)
		strcat(strcat(deep, longest), "/");
	fd = openat(at, longest, O_PATH | O_DIRECTORY);
	assert_true(fd >= 0);
	make_deep(fd, n + 1, remove);
	close(fd);
	if (remove)
		unlinkat(at, longest, AT_REMOVEDIR);
}

static int
set_up(void **state)
{
	(void)state;
	memset(longest, 'n', NAME_MAX);
	if (scratch_make(dir) == NULL)
		return -1;
	root = open(dir, O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(root, "tree", 0700), 0);
	put_file(root, "outside");
	inside = openat(root, "tree", O_PATH | O_DIRECTORY);
	assert_int_equal(mkdirat(inside, "sub", 0700), 0);
	assert_int_equal(symlinkat("sub", inside, "link"), 0);
	assert_int_equal(symlinkat("sub/file", inside, "last"), 0);
	put_file(inside, "sub/file");
	put_file(inside, "...");
	put_file(inside, "..x");
	make_deep(inside, 0, false);
	strcat(deep, longest);
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const files[] = { "sub/file", "...", "..x", "link",
		"last" };

	(void)state;
	make_deep(inside, 0, true);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlinkat(inside, files[i], 0);
	unlinkat(inside, "sub", AT_REMOVEDIR);
	close(inside);
	unlinkat(root, "tree", AT_REMOVEDIR);
	unlinkat(root, "outside", 0);
	close(root);
	return rmdir(dir);
}

/* Checks that path opens the file `as`, or fails with want. */
static void
opens(const char *path, int want, const char *as)
{
	int fd = tree_open(inside, path, 0);
	struct stat a, b;

	if (want != 0 ? fd != want : fd < 0)
		fail_msg("%.80s: %d, not %d", path, fd, want);
	if (want != 0)
		return;
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstatat(inside, as, &b, 0), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	close(fd);
}

static void
check(void)
{
	static char path[2 * PATH_MAX];
	int fd;

	opens("sub/file", 0, "sub/file");
	opens("sub//file", 0, "sub/file");
	opens("./sub/./file", 0, "sub/file");
	opens("...", 0, "...");
	opens("..x", 0, "..x");
	opens("none", -ENOENT, NULL);
	opens("sub/none", -ENOENT, NULL);
	opens("sub/file/x", -ENOTDIR, NULL);
	/* outside, although the file exists */
	opens("..", -EXDEV, NULL);
	opens("../outside", -EXDEV, NULL);
	opens("sub/../../outside", -EXDEV, NULL);
	snprintf(path, sizeof(path), "%s/tree/sub/file", dir);
	opens(path, -EXDEV, NULL);
	opens("/", -EXDEV, NULL);
	/* links */
	opens("last", -ELOOP, NULL);
	assert_true(tree_open(inside, "link/file", 0) < 0);
	/* long names, and paths longer than a system call accepts */
	opens(longest, 0, longest);
	memset(path, 'n', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	opens(path, -ENAMETOOLONG, NULL);
	memset(path, 'n', PATH_MAX - 1);
	path[PATH_MAX - 1] = '\0';
	opens(path, -ENAMETOOLONG, NULL);
	path[PATH_MAX - 1] = 'n';
	path[PATH_MAX] = '\0';
	opens(path, -ENAMETOOLONG, NULL);
	assert_true(strlen(deep) > PATH_MAX);
	fd = tree_open(inside, deep, 0);
	assert_true(fd >= 0);
	close(fd);
}

/* Opens the directory that is `levels` below with a trail, and compares it. */
static void
reaches(struct walk_trail *t, size_t levels, const ino_t *want)
{
	char *path = strdup(deep);
	struct stat st;
	int fd;

	assert_non_null(path);
	path[levels * (NAME_MAX + 1) - 1] = '\0';
	fd = walk_trail_open(t, inside, path, O_DIRECTORY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_ino == want[levels]);
	assert_true(t->count <= WALK_TRAIL_HELD);
	close(fd);
	free(path);
}

static void
reaches_all(struct walk_trail *t, const ino_t *want)
{
	for (size_t i = 1; i <= DEEP; i++)
		reaches(t, i, want);
	for (size_t i = DEEP; i >= 1; i--)
		reaches(t, i, want);
	for (size_t i = 0; i < 200; i++)
		reaches(t, 1 + i * i * 7919 % DEEP, want);
}

static void
on_a_trail(void **state)
{
	struct walk_trail t = { .count = 0 };
	struct rlimit old, few;
	const char *path = deep;
	ino_t want[DEEP + 1];
	struct stat st;
	int at = dup(inside), fd;

	(void)state;
	for (size_t i = 1; i <= DEEP; i++) {
		fd = openat(at, longest, O_PATH | O_DIRECTORY);
		assert_int_equal(fstat(fd, &st), 0);
		want[i] = st.st_ino;
		close(at);
		at = fd;
	}
	close(at);
	reaches_all(&t, want);
	assert_int_equal(t.count, WALK_TRAIL_HELD);
	/* the rest of a path is short; a link on the way is not followed */
	fd = walk_trail_reach(&t, inside, &path);
	assert_true(fd >= 0 && strlen(path) < WALK_TRAIL_STEP);
	assert_int_equal(walk_trail_open(&t, inside, "link/file", 0), -ELOOP);
	/* a directory with another root is another one */
	assert_int_equal(walk_trail_open(&t, root, deep, 0), -ENOENT);
	reaches_all(&t, want);
	/* three descriptors are enough */
	walk_trail_close(&t);
	fd = dup(inside);
	close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)fd + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	reaches_all(&t, want);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	walk_trail_close(&t);
	fd = dup(inside);
	assert_true(fd < (int)few.rlim_cur);
	close(fd);
}

/* A name that no directory can have does not end where a step does. */
static void
long_names(void **state)
{
	static char name[3 * WALK_TRAIL_STEP];
	struct walk_trail t = { .count = 0 };
	const char *path = name;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	assert_int_equal(walk_trail_reach(&t, root, &path), -ENAMETOOLONG);
	assert_int_equal(walk_trail_open(&t, root, name, 0), -ENAMETOOLONG);
	/* nor is an empty one passed */
	name[0] = '/';
	assert_int_equal(walk_trail_open(&t, root, name, 0), -ENAMETOOLONG);
	walk_trail_close(&t);
}

static void
with_openat2(void **state)
{
	(void)state;
	check();
}

/* The same, as in a container that blocks new system calls. */
static void
by_steps(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	(void)state;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		skip();
	check();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_openat2),
		cmocka_unit_test(on_a_trail),
		cmocka_unit_test(long_names),
		cmocka_unit_test(by_steps),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
