/*
 * test_fault.c - every call fails in turn, and nothing is left behind
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/output.h"
#include "base/output_tree.h"
#include "base/stats.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/toml.h"
#include "scratch.h"
#include "tar_made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B];
static const char content[] = "the whole content\n", old[] = "old\n";

static int
setup(void **state)
{
	(void)state;
	return scratch_make(dir) == NULL || chdir(dir) == -1;
}

static int
teardown(void **state)
{
	(void)state;
	unlink("file");
	return chdir("/") == -1 || rmdir(dir) == -1;
}

/* Counts a directory's entries, except for ".", ".." and the one being read. */
static int
entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Returns the contents of file, or NULL if it does not exist. */
static const char *
text_of(const char *name)
{
	static char text[4096];
	FILE *f = fopen(name, "r");
	size_t n;

	if (f == NULL)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void
put_text(const char *text)
{
	FILE *f = fopen("file", "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static const char *const errors[] = { "EIO", "ENOMEM", "EINTR", "ENOENT",
    "EOPNOTSUPP", "EEXIST", "EAGAIN", "short", "EIO+", "ENOMEM+" };

/* How many calls of each kind the current run made, not counting checks. */
static unsigned long calls[FAULT_KINDS];

static void
keep_counts(void)
{
	for (int i = 0; i < FAULT_KINDS; i++)
		calls[i] = fault_count((enum fault_kind)i);
}

/*
 * Calls run with every single-fault plan: each kind, each call of that kind in
 * a run without faults, and each error.  `first` is a plan that also applies.
 */
static void
sweep(const char *first, void (*run)(const char *plan))
{
	unsigned long clean[FAULT_KINDS];
	char plan[256];
	int plans = 0;

	run(first);
	memcpy(clean, calls, sizeof(clean));
	for (int i = 0; i < FAULT_KINDS; i++) {
		for (unsigned long k = 1; k <= clean[i]; k++) {
			for (size_t e = 0; e < sizeof(errors) /
			    sizeof(errors[0]); e++) {
				size_t len = strcspn(errors[e], "+");

				snprintf(plan, sizeof(plan),
				    "%s%s%s:%lu%s:%.*s", first,
				    *first != '\0' ? "," : "", fault_names[i],
				    k, errors[e] + len, (int)len, errors[e]);
				if (!fault_plan(plan))
					continue;
				run(plan);
				plans++;
			}
		}
	}
	assert_true(plans > 50 && fault_plan(""));
}

/* The current case of the sweep over output.h. */
static bool replace, sync_it;

static int
save(void)
{
	struct output o;
	int rc = output_create(&o, "file", replace);

	if (rc != 0)
		return rc;
	rc = fdio_write(o.fd, content, sizeof(content) - 1);
	if (rc == 0)
		return output_commit(&o, sync_it);
	output_abort(&o);
	return rc;
}

static void
check_output(const char *plan)
{
	int fds = entries("/proc/self/fd"), others, rc;
	long blocks = fault_blocks();
	const char *text;

	unlink("file");
	if (replace)
		put_text(old);
	assert_true(fault_plan(plan));
	rc = save();
	keep_counts();
	/* a caller that requested a sync learns that it failed */
	assert_true(rc != 0 || strstr(plan, "fsync") == NULL);
	text = text_of("file");
	if (rc == 0) {
		assert_non_null(text);
		assert_string_equal(text, content);
	} else if (replace) {
		assert_non_null(text);
		assert_true(strcmp(text, old) == 0 ||
		    strcmp(text, content) == 0);
	} else {
		assert_null(text);
	}
	assert_int_equal(entries("/proc/self/fd"), fds);
	assert_int_equal(fault_blocks(), blocks);
	/* a name that cannot be removed stays, but nothing else does */
	others = entries(".") - 2 - (text != NULL);
	if (strstr(plan, "unlinkat") == NULL)
		assert_int_equal(others, 0);
	else if (others > 0)
		assert_int_equal(system("rm -f .coldpress-*"), 0);
}

static void
output_is_whole_or_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		replace = i & 1;
		sync_it = i & 2;
		sweep("", check_output);
		/* as on filesystems without unnamed files */
		sweep("openat:2:EOPNOTSUPP", check_output);
	}
}

/* After SIGKILL before any call, the name has the old content or the new. */
static void
output_survives_kill(void **state)
{
	static const enum fault_kind kinds[] = { FAULT_OPENAT, FAULT_WRITE,
	    FAULT_FSYNC, FAULT_LINKAT, FAULT_RENAMEAT, FAULT_CLOSE };
	int killed = 0;

	(void)state;
	for (size_t i = 0; i < 4 * sizeof(kinds) / sizeof(kinds[0]); i++) {
		int status, k = 0;

		replace = i & 1;
		sync_it = i & 2;
		do {
			char plan[64];
			const char *text;
			pid_t pid;

			unlink("file");
			if (replace)
				put_text(old);
			snprintf(plan, sizeof(plan), "%s:%d:KILL",
			    fault_names[kinds[i / 4]], ++k);
			pid = fork();
			if (pid == 0)
				_exit(!fault_plan(plan) || save() != 0);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			text = text_of("file");
			assert_true(text == NULL ? !replace :
			    strcmp(text, content) == 0 ||
			    (replace && strcmp(text, old) == 0));
			killed += WIFSIGNALED(status);
			assert_int_equal(system("rm -f .coldpress-*"), 0);
		} while (WIFSIGNALED(status));
		assert_int_equal(status, 0);
	}
	assert_in_range(killed, 20, 100);
}

/* Makes a directory with a file; another may come first. */
static int
make_tree(bool taken)
{
	struct output_tree t;
	int rc = output_tree_create(&t, "tree"), fd;

	if (rc == 0) {
		fd = openat(t.dir, "file", O_CREAT | O_WRONLY | O_CLOEXEC,
		    0600);
		assert_true(fd >= 0 && close(fd) == 0);
		if (taken)
			assert_true(mkdir("tree", 0700) == 0 &&
			    mkdir("tree/in", 0700) == 0);
		rc = output_tree_commit(&t);
	}
	if (rc != 0)
		output_tree_abort(&t);
	return rc;
}

static void
check_tree(const char *plan)
{
	int fds = entries("/proc/self/fd"), rc;
	long blocks = fault_blocks();
	bool there;

	assert_int_equal(system("rm -rf tree .coldpress-*"), 0);
	assert_true(fault_plan(plan));
	rc = make_tree(false);
	keep_counts();
	assert_true(fault_plan(""));
	there = access("tree/file", F_OK) == 0;
	/* only a failed sync of the parent comes after the name */
	if (there != (rc == 0) && (!there || strstr(plan, "fsync") == NULL))
		fail_msg("%s: %d", plan, rc);
	/* what is there already, or cannot be seen, is no reason to go on */
	if (strncmp(plan, "stat:1:EIO", 10) == 0)
		assert_int_equal(rc, -EIO);
	if (strncmp(plan, "malloc:1:", 9) == 0 ||
	    strncmp(plan, "malloc:2:", 9) == 0)
		assert_int_equal(rc, -ENOMEM);
	if (strncmp(plan, "renameat:1:", 11) == 0)
		assert_true(rc != 0);
	assert_int_equal(entries("/proc/self/fd"), fds);
	assert_int_equal(fault_blocks(), blocks);
	if (strstr(plan, "unlinkat") == NULL && strstr(plan, "getdents") ==
	    NULL && strstr(plan, "openat") == NULL)
		assert_int_equal(entries("."), 2 + there);
	assert_int_equal(system("rm -rf tree .coldpress-*"), 0);
}

static void
tree_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep("", check_tree);
	/* the name is taken */
	assert_int_equal(mkdir("tree", 0700), 0);
	assert_int_equal(make_tree(false), -EEXIST);
	assert_int_equal(rmdir("tree"), 0);
	assert_int_equal(make_tree(true), -EEXIST);
	assert_int_equal(rmdir("tree/in"), 0);
	assert_int_equal(rmdir("tree"), 0);
}

/* Some filesystems cannot sync a directory, but others fail to. */
static void
sync_of_directory(void **state)
{
	(void)state;
	replace = false;
	sync_it = true;
	unlink("file");
	assert_true(fault_plan("fsync:2:EINVAL"));
	assert_int_equal(save(), 0);
	unlink("file");
	assert_true(fault_plan("fsync:2:EIO"));
	assert_int_equal(save(), -EIO);
	assert_null(text_of("file"));
	/* close reports what was delayed, even after all syncs */
	assert_true(fault_plan("close:1:EIO"));
	assert_int_equal(save(), -EIO);
	assert_true(fault_plan(""));
}

static int
splice_args(void)
{
	static char name[] = "pzc";
	char *argv[] = { name, NULL }, **out;
	int argc = 1, rc = args_splice("-9", &argc, argv, &out);

	if (rc == 0)
		sys_free(out);
	return rc;
}

static int
read_file(void)
{
	int fd = open("file", O_RDONLY | O_CLOEXEC), rc;
	char *text;
	size_t len;

	rc = fdio_read_all(fd, 99999, &text, &len);
	if (rc == 0)
		sys_free(text);
	close(fd);
	return rc;
}

static int
signed_rank(void)
{
	const double v[] = { 1, 2, 4 };
	struct stats_centre c;

	return stats_signed_rank(v, 3, 0.5, &c);
}

static int
rank_sum(void)
{
	const double v[] = { 1, 2, 4 };
	struct stats_centre c;

	return stats_rank_sum(v, 2, v, 3, 0.5, &c);
}

static int
drift_p(void)
{
	double v[STATS_DRIFT_MIN] = { 1 }, p;

	return stats_drift_p(v, STATS_DRIFT_MIN, &p);
}

/* Reads an archive whose names and map need memory. */
static int
read_tar(void)
{
	static struct archive a;
	struct tar_source source = { .read = archive_give, .arg = &a };
	struct tar_entry e;
	struct tar *t;
	int rc;

	begin(&a);
	add_records(&a, 'x', (const char *const[]){ "path=a long name",
	    "SCHILY.xattr.user.a=b", "GNU.sparse.size=99",
	    "GNU.sparse.map=5,4,20,6", NULL });
	sum(add(&a, '0', "s", "0123456789", 10));
	sum(add(&a, '2', "a name of a link", "", 0));
	a.len += 1024;
	rc = tar_open(&t, &source);
	if (rc != 0)
		return rc;
	while ((rc = tar_next(t, &e)) == 1)
		;
	tar_close(t);
	return rc;
}

static int
no_item(void *arg, const struct toml_item *i)
{
	(void)arg;
	(void)i;
	return 0;
}

static int
read_toml(void)
{
	char why[TOML_WHY];

	return toml_read("a = 1", 5, no_item, NULL, why);
}

/* Each allocation is refused in turn, and that is the result. */
static void
refused_memory(void **state)
{
	static int (*const all[])(void) = { splice_args, read_file,
		signed_rank, rank_sum, drift_p, read_toml, read_tar };
	static char text[20000];
	long blocks = fault_blocks();

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	put_text(text);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned long n;

		assert_true(fault_plan(""));
		assert_int_equal(all[i](), 0);
		n = fault_count(FAULT_MALLOC);
		assert_true(n > 0);
		for (unsigned long k = 1; k <= n; k++) {
			char plan[64];

			snprintf(plan, sizeof(plan), "malloc:%lu:ENOMEM", k);
			assert_true(fault_plan(plan));
			assert_int_equal(all[i](), -ENOMEM);
			assert_int_equal(fault_blocks(), blocks);
		}
	}
	assert_true(fault_plan(""));
	unlink("file");
}

static const char *const columns[] = { "name", "wall_s" };
static enum table_format format;

/* Acts as a caller that continues with the next row after a failure. */
static int
append(void)
{
	struct table *t;
	int rc = table_append(&t, "file", format, columns, 2), e;

	if (rc != 0)
		return rc;
	for (int i = 0; i < 2; i++) {
		table_text(t, "a,\"b\"\nc");
		table_real(t, 1.25, 3);
		e = table_end(t);
		rc = rc != 0 ? rc : e;
	}
	e = table_close(t);
	return rc != 0 ? rc : e;
}

static int
rows(void)
{
	struct table_reader *r;
	int n = 0, rc;

	if (table_open(&r, "file") != 0)
		return 0;
	assert_int_equal(table_column(r, "wall_s"), 1);
	while ((rc = table_next(r)) == 1) {
		assert_string_equal(table_value(r, 0), "a,\"b\"\nc");
		assert_string_equal(table_value(r, 1), "1.250");
		n++;
	}
	assert_int_equal(rc, 0);
	table_reader_free(r);
	return n;
}

static void
check_table(const char *plan)
{
	int fds = entries("/proc/self/fd"), rc;
	long blocks = fault_blocks();

	unlink("file");
	/* half a row, left by a killed writer, must be cut off */
	if (format == TABLE_CSV)
		put_text("name,wall_s\n\"a,\"\"b");
	assert_true(fault_plan(plan));
	rc = append();
	keep_counts();
	assert_int_equal(entries("/proc/self/fd"), fds);
	assert_int_equal(fault_blocks(), blocks);
	/* whatever happened, the next writer finds a valid table */
	assert_true(fault_plan(""));
	assert_int_equal(append(), 0);
	if (format == TABLE_CSV)
		assert_in_range(rows(), rc == 0 ? 4 : 2, 4);
}

static void
tables_have_whole_rows(void **state)
{
	(void)state;
	format = TABLE_CSV;
	sweep("", check_table);
	format = TABLE_JSON;
	sweep("", check_table);
}

/* In a new file, the header comes with the first row that can be written. */
static void
a_failed_header_is_written_again(void **state)
{
	(void)state;
	format = TABLE_CSV;
	for (int k = 1; k <= 4; k++) {
		static const char *const kinds[] = { "write", "malloc" };
		char plan[64];

		for (size_t i = 0; i < 2; i++) {
			unlink("file");
			snprintf(plan, sizeof(plan), "%s:%d:EIO", kinds[i],
			    k);
			assert_true(fault_plan(plan));
			append();
			assert_true(fault_plan(""));
			assert_int_equal(append(), 0);
			assert_in_range(rows(), 2, 4);
		}
	}
}

static void
plans(void **state)
{
	static const char *const bad[] = { "write", "write:1", "write:0:EIO",
	    "write:x:EIO", "write:1:ENONSENSE", "nothing:1:EIO",
	    "fsync:1:short", "now:1:EIO", "write:1:EIO,x", "write:1:end" };
	char c, all[4];
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(fault_plan(bad[i]));
	put_text("xyz");
	assert_true(fault_plan("openat:2:EMFILE,read:2+:ESTALE,close:1:EIO"));
	fd = sys_openat(AT_FDCWD, "file", O_RDONLY, 0);
	assert_int_equal(sys_openat(AT_FDCWD, "file", O_RDONLY, 0), -EMFILE);
	assert_int_equal(sys_read(fd, &c, 1), 1);
	assert_int_equal(sys_read(fd, &c, 1), -ESTALE);
	assert_int_equal(sys_read(fd, &c, 1), -ESTALE);
	assert_int_equal(sys_close(fd), -EIO);
	assert_int_equal(sys_close(fd), -EBADF);
	assert_int_equal(fault_count(FAULT_READ), 3);
	assert_true(fault_plan("pread:1:short"));
	fd = sys_openat(AT_FDCWD, "file", O_RDONLY, 0);
	assert_int_equal(sys_pread(fd, all, 3, 0), 1);
	assert_int_equal(sys_pread(fd, all, 3, 0), 3);
	assert_true(fault_plan("pread:2:end,read:1:end,thread:1:EAGAIN"));
	assert_int_equal(sys_pread(fd, all, 3, 0), 3);
	assert_int_equal(sys_pread(fd, all, 3, 0), 0);
	assert_int_equal(sys_read(fd, all, 3), 0);
	assert_int_equal(sys_read(fd, all, 3), 3);
	assert_int_equal(sys_close(fd), 0);
	assert_int_equal(sys_thread(&(pthread_t){ 0 }, NULL, NULL), -EAGAIN);
	assert_true(fault_plan(""));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans),
		cmocka_unit_test(output_is_whole_or_nothing),
		cmocka_unit_test(output_survives_kill),
		cmocka_unit_test(sync_of_directory),
		cmocka_unit_test(tree_is_whole_or_nothing),
		cmocka_unit_test(refused_memory),
		cmocka_unit_test(tables_have_whole_rows),
		cmocka_unit_test(a_failed_header_is_written_again),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
