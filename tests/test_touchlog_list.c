/*
 * test_touchlog_list.c - the list of files that were opened, of a tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only root can watch files, so what was opened is made up here.
 */
#include "suffers.h"

#include "scratch.h"

#include "touchlog.h"

enum { FILES = 8, SIZE = 300, HOLE = 1 << 20 };

struct opens {
	struct opens_file files[FILES];
	size_t count;
};

static char dir[SCRATCH_B];
static struct opens opened;
static struct touchlog t;
static char said[4096];

/* In place of what watches */

const struct opens_file *
opens_files(const struct opens *o, size_t *count)
{
	*count = o->count;
	return o->files;
}

ssize_t
opens_find(const struct opens *o, struct opens_file f)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->files[i].dev == f.dev && o->files[i].ino == f.ino)
			return (ssize_t)i;
	return -ENOENT;
}

/* Trees and lists */

static void
put(const char *path, off_t size)
{
	char text[SIZE];
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	memset(text, 'x', sizeof(text));
	if (size == SIZE)
		assert_int_equal(fwrite(text, 1, sizeof(text), f), SIZE);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(truncate(path, size), 0);
}

static void
open_in_tree(const char *name)
{
	struct opens_file *f = &opened.files[opened.count];
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "tree/%s", name);
	assert_int_equal(stat(path, &st), 0);
	assert_true(opened.count < FILES);
	*f = (struct opens_file){ st.st_dev, st.st_ino,
		0.25 * (double)++opened.count };
}

/* What was opened first, then what is not in the tree, and the rest. */
static void
open_usual(void)
{
	opened.count = 0;
	open_in_tree("zwei");
	opened.files[opened.count++] = (struct opens_file){ 1, 1, 0.3 };
	open_in_tree("a b");
	open_in_tree("q\"#\\x");
	open_in_tree("sub/four");
	t.o = (struct touchlog_options){ .root = "tree", .output = "list" };
}

/* Writes the list.  What is said is in `said'. */
static int
list(void)
{
	int was = dup(STDERR_FILENO), to, rc;
	ssize_t n;

	to = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(was >= 0 && to >= 0);
	assert_int_equal(dup2(to, STDERR_FILENO), STDERR_FILENO);
	msg_init(&t.msg, "touchlog");
	rc = touchlog_write(&t);
	assert_int_equal(dup2(was, STDERR_FILENO), STDERR_FILENO);
	n = pread(to, said, sizeof(said) - 1, 0);
	assert_true(n >= 0);
	said[n] = '\0';
	close(was);
	close(to);
	return rc;
}

static size_t
read_list(char text[4096])
{
	FILE *f = fopen("list", "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, 4095, f);
	text[n] = '\0';
	fclose(f);
	return n;
}

static void
gives(const char *want, size_t len)
{
	char text[4096];

	assert_int_equal(list(), 0);
	assert_string_equal(said, "");
	if (read_list(text) != len || memcmp(text, want, len) != 0)
		fail_msg("'%s', not '%s'", text, want);
	assert_int_equal(unlink("list"), 0);
}

#define GIVES(text) gives(text, sizeof(text) - 1)

/* The tests */

static void
formats(void **state)
{
	(void)state;
	open_usual();
	GIVES("1\ttwo\t0\t300\n2\ta b\t0\t300\n3\tq\"#\\x\t0\t300\n"
	    "4\tsub/four\t0\t300\n");
	t.o.format = TOUCHLOG_SORT;
	GIVES("two 32767\na\\ b 32766\nq\\\"\\#\\\\x 32765\nsub/four 32764\n");
	t.o.format = TOUCHLOG_LIST;
	GIVES("two\na b\nq\"#\\x\nsub/four\n");
	t.o.null_lines = true;
	GIVES("two\0a b\0q\"#\\x\0sub/four\0");
	t.o.format = TOUCHLOG_TIMES;
	GIVES("1\ttwo\t0\t300\t0.250000\0" "2\ta b\t0\t300\t0.750000\0"
	    "3\tq\"#\\x\t0\t300\t1.000000\0"
	    "4\tsub/four\t0\t300\t1.250000\0");
	opened.count = 0;
	GIVES("");
}

/* Of a hole that nobody has read, nothing is in memory. */
static void
pages(void **state)
{
	(void)state;
	opened.count = 0;
	open_in_tree("hole");
	t.o = (struct touchlog_options){ .root = "tree", .output = "list" };
	GIVES("1\thole\t0\t1048576\n");
	t.o.pages = t.o.exact = true;
	GIVES("1\thole\t0\t0\n");
	/* how exact it is, is said unless nothing is to be */
	t.o.exact = false;
	assert_int_equal(list(), 0);
	assert_non_null(strstr(said, "--exact lists single pages"));
	assert_int_equal(unlink("list"), 0);
	t.msg.quiet = true;
}

static void
refuses(const char *why)
{
	unsigned files = suffers_files();

	assert_int_equal(list(), MSG_ERROR);
	if (strstr(said, why) == NULL)
		fail_msg("'%s', not '%s'", said, why);
	assert_int_equal(suffers_files(), files);
}

static void
names(void **state)
{
	(void)state;
	put("tree/new\nline", SIZE);
	open_usual();
	GIVES("1\ttwo\t0\t300\n2\ta b\t0\t300\n3\tq\"#\\x\t0\t300\n"
	    "4\tsub/four\t0\t300\n");
	open_in_tree("new\nline");
	refuses("new\\012line: the name contains a newline (-0 ends lines with "
	    "NUL)\n");
	assert_int_equal(access("list", F_OK), -1);
	t.o.format = TOUCHLOG_SORT;
	refuses("; mksquashfs cannot read it\n");
	t.o.format = TOUCHLOG_LIST;
	t.o.null_lines = true;
	GIVES("two\0a b\0q\"#\\x\0sub/four\0new\nline\0");
	assert_int_equal(unlink("tree/new\nline"), 0);
}

static void
outputs(void **state)
{
	char text[4096];
	int was = dup(STDOUT_FILENO), to;

	(void)state;
	open_usual();
	put("list", 0);
	refuses("list: File exists\n");
	assert_int_equal(read_list(text), 0);
	t.o.force = true;
	assert_int_equal(list(), 0);
	assert_true(read_list(text) > 0);
	assert_int_equal(unlink("list"), 0);
	/* standard output, which may be full */
	t.o.output = NULL;
	to = open("list", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(to >= 0);
	fflush(stdout);
	assert_int_equal(dup2(to, STDOUT_FILENO), STDOUT_FILENO);
	assert_int_equal(list(), 0);
	assert_int_equal(dup2(was, STDOUT_FILENO), STDOUT_FILENO);
	close(to);
	assert_true(read_list(text) > 0);
	assert_memory_equal(text, "1\ttwo\t", 6);
	assert_int_equal(unlink("list"), 0);
	to = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (to >= 0) {
		assert_int_equal(dup2(to, STDOUT_FILENO), STDOUT_FILENO);
		assert_int_equal(list(), MSG_ERROR);
		assert_int_equal(dup2(was, STDOUT_FILENO), STDOUT_FILENO);
		assert_string_equal(said, "touchlog: standard output: No "
		    "space left on device\n");
		close(to);
	}
	close(was);
}

/* While calls are refused */

static int
list_all(void)
{
	char text[4096];
	int rc;

	open_usual();
	rc = list();
	if (rc == 0 && t.msg.status == MSG_OK) {
		take(text, read_list(text));
		assert_int_equal(unlink("list"), 0);
		return 0;
	}
	assert_int_equal(t.msg.status, MSG_ERROR);
	if (*said == '\0')
		fail_msg("%s: nothing is said", suffers_run.call);
	/* it may have got there before it could not be synced */
	if (access("list", F_OK) == 0)
		assert_int_equal(unlink("list"), 0);
	return strstr(said, strerror(ENOMEM)) != NULL ? -ENOMEM : -EIO;
}

static void
refused(void **state)
{
	(void)state;
	suffers_run.first = 100;
	SUFFERS(list_all);
}

static int
begin_all(void **state)
{
	(void)state;
	assert_true(fault_plan(""));
	if (scratch_enter(dir) != 0 || mkdir("tree", 0700) != 0 ||
	    mkdir("tree/sub", 0700) != 0)
		return 1;
	put("tree/two", SIZE);
	put("tree/a b", SIZE);
	put("tree/q\"#\\x", SIZE);
	put("tree/sub/four", SIZE);
	put("tree/other", SIZE);
	put("tree/hole", HOLE);
	t.opens = &opened;
	t.root = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t.root < 0 || link("tree/two", "tree/zwei") != 0 ||
	    link("tree/two", "tree/tx") != 0;
}

static int
end_all(void **state)
{
	(void)state;
	close(t.root);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(pages),
		cmocka_unit_test(names),
		cmocka_unit_test(outputs),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
