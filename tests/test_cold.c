/*
 * test_cold.c - what counts as cold, and what does not
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The files are in the build directory, because /tmp is often in memory.
 */
#include "measure/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGES = 64 };

static char dir[] = "test_cold.XXXXXX";
static bool memory;		/* a filesystem in memory, which drops none */
static bool real;		/* a disk filesystem that drops pages */

struct file {
	int fd;
	struct stat st;
};

static struct file
open_file(const char *name)
{
	struct file f = { .fd = open(name, O_RDONLY) };

	assert_true(f.fd >= 0);
	assert_int_equal(fstat(f.fd, &f.st), 0);
	return f;
}

static void
read_file(const struct file *f)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(f->fd, buf, sizeof(buf), at)) > 0)
		at += n;
	assert_int_equal(at, f->st.st_size);
}

/*
 * What happens to the file between the start of a walk and the time it is read.
 */
typedef void meanwhile_fn(const struct file *);

/* Walks one file. */
static struct cold_report
walk(enum cold_method method, const char *name, meanwhile_fn *meanwhile)
{
	struct file f = open_file(name);
	struct cold_report r;
	struct cold *c;
	uint64_t mine = 0;

	assert_int_equal(cold_open(&c, method), 0);
	cold_add(c, f.fd, &f.st);
	assert_int_equal(cold_apply(c), 0);
	if (meanwhile != NULL)
		meanwhile(&f);
	cold_before(c, f.fd, &f.st, COLD_THREAD, &mine);
	read_file(&f);
	cold_after(c, f.fd, &f.st, COLD_THREAD, &mine, UINT64_MAX);
	cold_end(c, &r);
	cold_close(c);
	close(f.fd);
	return r;
}

static uint64_t
left(const char *name)
{
	struct file f = open_file(name);
	uint64_t pages, resident;

	assert_int_equal(cold_resident(f.fd, &f.st, &pages, &resident), 0);
	assert_int_equal(pages, PAGES);
	close(f.fd);
	return resident;
}

static int
make_file(const char *name)
{
	const long page = sysconf(_SC_PAGESIZE);
	FILE *f = fopen(name, "w");

	if (f == NULL)
		return -1;
	for (long i = 0; i < PAGES * page; i++)
		putc((int)(i >> 3), f);
	return fclose(f);
}

static int
setup(void **state)
{
	const char *preload;
	struct statfs fs;

	(void)state;
	if (mkdtemp(dir) == NULL || chdir(dir) == -1 || chmod(".", 0755) == -1)
		return 1;
	if (make_file("file") != 0 || make_file("other") != 0 ||
	    statfs(".", &fs) == -1)
		return 1;
	/* valgrind reads the beginning of every mapped file */
	preload = getenv("LD_PRELOAD");
	if (preload != NULL && strstr(preload, "vgpreload") != NULL)
		return 0;
	memory = fs.f_type == 0x01021994;
	real = fs.f_type == 0xef53 || fs.f_type == 0x58465342 ||
	    (uint32_t)fs.f_type == 0x9123683e;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return unlink("file") == -1 || unlink("other") == -1 ||
	    chdir("..") == -1 || rmdir(dir) == -1;
}

static void
names(void **state)
{
	(void)state;
	assert_string_equal(cold_word(COLD_YES), "yes");
	assert_string_equal(cold_word(COLD_NO), "no");
	assert_string_equal(cold_word(COLD_UNKNOWN), "unknown");
}

static void
left_as_it_is(void **state)
{
	struct cold_report r = walk(COLD_NONE, "file", read_file);

	(void)state;
	if (memory)
		skip();
	assert_int_equal(r.state, COLD_NO);
	assert_string_equal(r.made, "nothing");
	assert_int_equal(r.found.files, 1);
	assert_int_equal(r.before.pages, PAGES);
	assert_int_equal(r.before.resident, PAGES);
	assert_int_equal(r.before.unseen, 0);
	assert_non_null(strstr(r.why, "were in memory"));
}

static void
looked_at(void **state)
{
	struct file f = open_file("file");
	struct cold_report r;
	struct cold *c;

	(void)state;
	read_file(&f);
	assert_int_equal(cold_open(&c, COLD_LOOK), 0);
	cold_add(c, f.fd, &f.st);
	cold_end(c, &r);
	assert_int_equal(r.found.files, 1);
	assert_int_equal(r.found.resident, PAGES);
	assert_int_equal(left("file"), PAGES);
	cold_close(c);
	close(f.fd);
}

static void
taken_out(void **state)
{
	struct cold_report r;

	(void)state;
	if (!real)
		skip();
	assert_int_equal(walk(COLD_NONE, "file", read_file).after.resident, PAGES);
	r = walk(COLD_FADVISE, "file", NULL);
	assert_int_equal(r.found.resident, PAGES);
	assert_int_equal(r.before.resident, 0);
	assert_int_equal(r.after.resident, PAGES);
	/* or "unknown", if the layers below the filesystem are hidden */
	assert_int_not_equal(r.state, COLD_NO);
	assert_string_equal(r.made, "fadvise");
}

static void
read_by_another(void **state)
{
	struct cold_report r = walk(COLD_FADVISE, "file", read_file);

	(void)state;
	assert_int_equal(r.before.resident, PAGES);
	assert_int_equal(r.state, COLD_NO);
}

static void
one_page(void **state)
{
	struct file f = open_file("file");

	(void)state;
	read_file(&f);
	assert_false(cold_page_absent(f.fd, 0));
	if (real) {
		cold_drop_page(f.fd, 0);
		assert_true(cold_page_absent(f.fd, 0));
	}
	close(f.fd);
}

static void
in_memory(void **state)
{
	char name[] = "/dev/shm/test_cold.XXXXXX";
	struct statfs fs;
	int fd = mkstemp(name);

	(void)state;
	if (fd < 0 || fstatfs(fd, &fs) == -1 || fs.f_type != 0x01021994) {
		if (fd >= 0)
			unlink(name);
		skip();
	}
	assert_int_equal(ftruncate(fd, 65536), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(walk(COLD_FADVISE, name, NULL).state, COLD_NO);
	unlink(name);
}

/*
 * To a user who may only read the file, the kernel reports all pages as
 * present.  That must not be trusted: pages must never lead to "no", and only
 * bytes from a device may lead to "yes".
 */
static int
as_another(enum cold_method method, meanwhile_fn *meanwhile)
{
	struct cold_report r;

	if (setgid(65534) == -1 || setuid(65534) == -1)
		return 2;
	r = walk(method, "file", meanwhile);
	if (r.before.unseen != 1 || r.before.resident != 0)
		return 3;
	if (r.state == COLD_YES)
		return meanwhile == read_file ? 4 : r.own_B == 0 ? 5 : 0;
	return r.state == COLD_UNKNOWN && r.why[0] != '\0' ? 0 : 6;
}

/*
 * Another process reads the same number of bytes of another file from the
 * device.
 */
static void
others_read(const struct file *f)
{
	pid_t pid = fork();

	(void)f;
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		struct file other = open_file("other");

		fsync(other.fd);
		posix_fadvise(other.fd, 0, 0, POSIX_FADV_DONTNEED);
		read_file(&other);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
of_another_owner(void **state)
{
	static const struct {
		enum cold_method method;
		meanwhile_fn *meanwhile;
	} ways[] = { { COLD_FADVISE, NULL }, { COLD_FADVISE, read_file },
		{ COLD_NONE, others_read } };

	(void)state;
	if (memory || geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		pid_t pid = fork();
		int status;

		assert_int_not_equal(pid, -1);
		if (pid == 0)
			_exit(as_another(ways[i].method, ways[i].meanwhile));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(left_as_it_is),
		cmocka_unit_test(looked_at),
		cmocka_unit_test(taken_out),
		cmocka_unit_test(read_by_another),
		cmocka_unit_test(one_page),
		cmocka_unit_test(in_memory),
		cmocka_unit_test(of_another_owner),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
