/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/sandbox.h"

#include "base/sys.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B];
static bool here;		/* whether this kernel has Landlock */

/* A check in a child, whose exit status is the first line that fails. */
#define EXPECT(cond) do { if (!(cond)) _exit(__LINE__ % 250 + 1); } while (0)

static int
in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
probe(void)
{
	bool confined;

	EXPECT(sandbox_enter(&confined) == 0);
	_exit(confined ? 0 : 1);
}

static int
setup(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL || chdir(dir) == -1)
		return 1;
	here = in_child(probe) == 0;
	if (!here)
		puts("# no Landlock in this kernel");
	return close(open("old", O_CREAT | O_WRONLY, 0600));
}

static int
teardown(void **state)
{
	(void)state;
	unlink("old");
	return chdir("/") == -1 || rmdir(dir) == -1;
}

static void
opens_nothing(void)
{
	bool confined;

	EXPECT(sandbox_enter(&confined) == 0 && confined);
	EXPECT(open("old", O_RDONLY) == -1 && errno == EACCES);
	EXPECT(open("old", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES);
	EXPECT(open("/dev/null", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(open(".", O_RDONLY | O_DIRECTORY) == -1 && errno == EACCES);
	EXPECT(open("new", O_CREAT | O_WRONLY, 0600) == -1);
	EXPECT(open(".", O_TMPFILE | O_RDWR, 0600) == -1);
	EXPECT(mkdir("new", 0700) == -1 && errno == EACCES);
	EXPECT(symlink("x", "new") == -1 && errno == EACCES);
	EXPECT(rename("old", "new") == -1);
	EXPECT(unlink("old") == -1 && errno == EACCES);
	execl("/bin/true", "true", (char *)NULL);
	EXPECT(errno == EACCES);
}

/*
 * Performs the operations of an output, which succeed only in its directory.
 */
static void
names_files(void)
{
	int dirfd, elsewhere, fd;
	char proc[64];
	bool confined;

	EXPECT(mkdir("sub", 0700) == 0 && close(open("sub/old",
	    O_CREAT | O_WRONLY, 0600)) == 0);
	dirfd = open("sub", O_RDONLY | O_DIRECTORY);
	elsewhere = open(".", O_RDONLY | O_DIRECTORY);
	fd = open("sub", O_TMPFILE | O_RDWR, 0600);
	if (fd == -1)
		fd = openat(dirfd, "tmp", O_CREAT | O_RDWR, 0600);
	EXPECT(dirfd != -1 && elsewhere != -1 && fd != -1);
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	EXPECT(sandbox_enter_naming(dirfd, &confined) == 0 && confined);
	EXPECT(linkat(AT_FDCWD, proc, dirfd, "new", AT_SYMLINK_FOLLOW) == 0);
	EXPECT(renameat(dirfd, "new", dirfd, "old") == 0);
	EXPECT(linkat(dirfd, "old", dirfd, "again", 0) == 0);
	EXPECT(unlinkat(dirfd, "again", 0) == 0);
	EXPECT(linkat(dirfd, "old", elsewhere, "new", 0) == -1);
	EXPECT(renameat(dirfd, "old", elsewhere, "new") == -1);
	EXPECT(unlinkat(elsewhere, "old", 0) == -1 && errno == EACCES);
	EXPECT(openat(dirfd, "old", O_RDONLY) == -1 && errno == EACCES);
	EXPECT(openat(dirfd, "old", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(mkdirat(dirfd, "dir", 0700) == -1 && errno == EACCES);
	EXPECT(symlinkat("x", dirfd, "link") == -1 && errno == EACCES);
	EXPECT(open("old", O_RDONLY) == -1 && errno == EACCES);
}

/*
 * Performs the operations of an extraction, which succeed only in its
 * directory.
 */
static void
makes_trees(void)
{
	int dirfd, fd;
	bool confined;

	EXPECT(mkdir("sub", 0700) == 0 && close(open("sub/old",
	    O_CREAT | O_WRONLY, 0600)) == 0);
	EXPECT(symlink("../old", "sub/way") == 0);
	dirfd = open("sub", O_RDONLY | O_DIRECTORY);
	EXPECT(dirfd != -1);
	EXPECT(sandbox_enter_making(dirfd, NULL, 0, &confined) == 0);
	if (!confined)	/* links between directories came with ABI 2 */
		_exit(0);
	EXPECT(mkdirat(dirfd, "a", 0700) == 0);
	fd = openat(dirfd, "a/file", O_CREAT | O_EXCL | O_WRONLY, 0600);
	EXPECT(fd != -1 && ftruncate(fd, 100) == 0 &&
	    pwrite(fd, "x", 1, 9) == 1 && fchmod(fd, 0644) == 0);
	EXPECT(linkat(dirfd, "a/file", dirfd, "name", 0) == 0);
	EXPECT(symlinkat("x", dirfd, "a/soft") == 0);
	EXPECT(mkfifoat(dirfd, "a/fifo", 0600) == 0);
	EXPECT(close(openat(dirfd, "old", O_RDWR)) == 0);
	EXPECT(close(openat(dirfd, "a", O_RDONLY | O_DIRECTORY)) == 0);
	EXPECT(unlinkat(dirfd, "a/fifo", 0) == 0);
	EXPECT(unlinkat(dirfd, "a/soft", 0) == 0);
	EXPECT(unlinkat(dirfd, "a/file", 0) == 0);
	EXPECT(unlinkat(dirfd, "name", 0) == 0);
	EXPECT(unlinkat(dirfd, "a", AT_REMOVEDIR) == 0);
	EXPECT(openat(dirfd, "way", O_RDONLY) == -1 && errno == EACCES);
	EXPECT(open("old", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(mkdir("new", 0700) == -1 && errno == EACCES);
	EXPECT(linkat(dirfd, "old", AT_FDCWD, "new", 0) == -1);
	EXPECT(unlink("old") == -1 && errno == EACCES);
}

/* The same in steps, with one more directory beneath the first. */
static void
makes_trees_in_steps(void)
{
	struct sandbox_making s;
	int dirfd, deep, fd;
	bool confined;

	EXPECT(mkdir("steps", 0700) == 0 && mkdir("steps/deep", 0700) == 0);
	dirfd = open("steps", O_RDONLY | O_DIRECTORY);
	deep = open("steps/deep", O_PATH | O_DIRECTORY);
	EXPECT(dirfd != -1 && deep != -1);
	/* 0 is a descriptor like any other */
	close(0);
	EXPECT(sandbox_making_begin(&s, dirfd) == 0);
	EXPECT(sandbox_making_add(&s, deep) == 0);
	/* nothing is confined yet */
	EXPECT(mkdir("outside", 0700) == 0);
	EXPECT(sandbox_making_enter(&s, &confined) == 0);
	sandbox_making_close(&s);
	if (!confined)
		_exit(0);
	fd = openat(deep, "file", O_CREAT | O_EXCL | O_WRONLY, 0600);
	EXPECT(fd != -1 && close(fd) == 0);
	EXPECT(linkat(deep, "file", dirfd, "name", 0) == 0);
	EXPECT(linkat(dirfd, "name", deep, "name", 0) == 0);
	EXPECT(close(openat(deep, "name", O_RDWR)) == 0);
	EXPECT(mkdirat(deep, "deeper", 0700) == 0);
	EXPECT(close(openat(deep, "deeper", O_RDONLY | O_DIRECTORY)) == 0);
	EXPECT(open("old", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(mkdir("new", 0700) == -1 && errno == EACCES);
	EXPECT(openat(dirfd, "../old", O_RDONLY) == -1 && errno == EACCES);
}

/* The kernel refuses one more descriptor. */
static void
cannot_begin(void)
{
	struct rlimit none = { 0, 0 };
	struct sandbox_making s;

	EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
	EXPECT(sandbox_making_begin(&s, AT_FDCWD) == (here ? -EMFILE : 0));
}

/* What was begun can be forgotten. */
static void
forgets_steps(void)
{
	struct sandbox_making s;
	int dirfd;

	EXPECT(mkdir("forgotten", 0700) == 0);
	dirfd = open("forgotten", O_RDONLY | O_DIRECTORY);
	EXPECT(dirfd != -1 && sandbox_making_begin(&s, dirfd) == 0);
	sandbox_making_close(&s);
	EXPECT(close(open("old", O_RDONLY)) == 0);
}

/*
 * Performs the operations of a layout conversion.  Each of its directories
 * allows no others.
 */
static void
uses_dirs(void)
{
	struct sandbox_dirs d = { .naming = -1 };
	bool confined;

	EXPECT(mkdir("from", 0700) == 0 && mkdir("to", 0700) == 0 &&
	    mkdir("to/temp", 0700) == 0 && mkdir("spool", 0700) == 0);
	EXPECT(close(open("from/old", O_CREAT | O_WRONLY, 0600)) == 0);
	d.reading = open("from", O_RDONLY | O_DIRECTORY);
	d.making = open("to/temp", O_RDONLY | O_DIRECTORY);
	d.renaming = open("to", O_RDONLY | O_DIRECTORY);
	d.spooling = open("spool", O_PATH | O_DIRECTORY);
	EXPECT(d.reading != -1 && d.making != -1 && d.renaming != -1 &&
	    d.spooling != -1);
	EXPECT(sandbox_enter_dirs(&d, &confined) == 0);
	if (!confined)	/* links between directories came with ABI 2 */
		_exit(0);
	EXPECT(openat(d.reading, "old", O_RDONLY) != -1);
	EXPECT(openat(d.reading, "old", O_WRONLY) == -1 && errno == EACCES);
	EXPECT(openat(d.making, "new", O_CREAT | O_WRONLY, 0600) != -1);
	EXPECT(openat(d.renaming, "new", O_CREAT | O_WRONLY, 0600) == -1);
	EXPECT(renameat(d.renaming, "temp", d.renaming, "final") == 0);
	EXPECT(openat(d.making, "new", O_RDONLY) != -1);
	EXPECT(open("spool", O_TMPFILE | O_RDWR, 0600) != -1 ||
	    errno == EOPNOTSUPP);
	EXPECT(openat(d.spooling, "new", O_CREAT | O_WRONLY, 0600) == -1);
	EXPECT(open("from", O_TMPFILE | O_RDWR, 0600) == -1 &&
	    errno == EACCES);
	EXPECT(open("old", O_RDONLY) == -1 && errno == EACCES);
}

static void
keeps_what_is_open(void)
{
	int fd = open("old", O_RDWR), pair[2];
	char c = 0;
	bool confined;

	EXPECT(fd != -1 && pipe(pair) == 0);
	EXPECT(sandbox_enter(&confined) == 0 && confined);
	EXPECT(write(fd, "x", 1) == 1 && pread(fd, &c, 1, 0) == 1);
	EXPECT(c == 'x' && ftruncate(fd, 0) == 0 && fsync(fd) == 0);
	EXPECT(write(pair[1], "y", 1) == 1 && read(pair[0], &c, 1) == 1);
	EXPECT(c == 'y');
}

static void *
try_open(void *arg)
{
	*(int *)arg = open("old", O_RDONLY) == -1 ? errno : 0;
	return NULL;
}

static void
holds_for_threads(void)
{
	pthread_t thread;
	bool confined;
	int got = -1;

	EXPECT(sandbox_enter(&confined) == 0 && confined);
	EXPECT(sys_thread(&thread, try_open, &got) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
	EXPECT(got == EACCES);
}

static void
takes_privileges(void)
{
	bool confined;

	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	EXPECT(sandbox_enter(&confined) == 0);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	/* entering twice is harmless */
	EXPECT(sandbox_enter(&confined) == 0);
}

static void
connects_nowhere(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
	    .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool confined;

	EXPECT(sandbox_enter(&confined) == 0 && confined);
	EXPECT(connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1);
	EXPECT(errno == EACCES ||
	    syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 4);
}

/* Makes the kernel answer as if it had no Landlock. */
static void
hide_landlock(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		    SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };

	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == -1)
		_exit(0);
}

static void
goes_on_without(void)
{
	static const int errors[] = { ENOSYS, EOPNOTSUPP, EPERM };
	bool confined = true;

	/* with several filters, the last one's error is returned */
	for (int i = 0; i < 3; i++) {
		hide_landlock(errors[i]);
		EXPECT(sandbox_enter(&confined) == 0 && !confined);
		EXPECT(close(open("old", O_RDONLY)) == 0);
	}
}

static void
forbids_paths(void **state)
{
	(void)state;
	if (!here)
		skip();
	assert_int_equal(in_child(opens_nothing), 0);
	assert_int_equal(in_child(names_files), 0);
	unlink("sub/tmp");
	assert_int_equal(unlink("sub/old"), 0);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(in_child(makes_trees), 0);
	assert_int_equal(in_child(makes_trees_in_steps), 0);
	assert_int_equal(in_child(forgets_steps), 0);
	assert_int_equal(in_child(cannot_begin), 0);
	unlink("sub/way");
	assert_int_equal(unlink("sub/old"), 0);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(in_child(uses_dirs), 0);
	unlink("to/final/new");
	unlink("to/temp/new");
	unlink("from/old");
	assert_true(rmdir("to/final") == 0 || rmdir("to/temp") == 0);
	assert_int_equal(rmdir("to") + rmdir("from") + rmdir("spool"), 0);
	assert_int_equal(in_child(keeps_what_is_open), 0);
	assert_int_equal(in_child(holds_for_threads), 0);
	assert_int_equal(in_child(connects_nowhere), 0);
	/* only the children were confined */
	assert_int_equal(access("old", F_OK), 0);
	assert_int_equal(close(open("old", O_RDONLY)), 0);
}

static void
works_on_every_kernel(void **state)
{
	(void)state;
	assert_int_equal(in_child(takes_privileges), 0);
	assert_int_equal(in_child(goes_on_without), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(forbids_paths),
		cmocka_unit_test(works_on_every_kernel),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
