/*
 * test_measure_refused.c - measuring with calls that are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Records of runs are read, groups of processes made, opened files noted and
 * comments compared, while each allocation and each call fails in turn; and
 * records that are not valid say what is wrong.
 */
#include "suffers.h"

#include "base/table.h"
#include "measure/cgroup.h"
#include "measure/leftover.h"
#include "measure/opens.h"
#include "measure/provenance.h"
#include "measure/runs.h"
#include "measure/sample.h"
#include "scratch.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[SCRATCH_B];

static void
put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Runs, of which this many are taken. */
static unsigned runs_left;

static int
take_run(void *arg, const struct runs_run *r)
{
	char number[32];

	(void)arg;
	if (runs_left-- == 0)
		return -ENOMEM;
	take_text(r->label);
	take_text(r->series);
	take_text(r->keys);
	take_number((uint64_t)r->run);
	take_number(r->failed);
	snprintf(number, sizeof(number), "%.9g %.9g", r->wall, r->cpu);
	take_text(number);
	return 0;
}

static int
read_runs(void)
{
	char why[RUNS_WHY];
	bool means;
	int rc = runs_read("runs", take_run, NULL, &means, why);

	take_number(means);
	return explained(rc, why);
}

/* What is read, and what the runs are: label, keys, wall, cpu. */
static const struct record {
	const char *text;
	unsigned runs;
	bool means;
} records[] = {
	{ "label,run,wall_s,user_s,sys_s,exit\na,1,2.5,1,0.5,0\nb,2,3,,,1\n",
	    2, false },
	{ "# a comment\n\nlabel,wall_s,run\na,1,1\n", 1, false },
	{ "command,mean,stddev,median,user,system,min,max,parameter_n\n"
	    "a,1.5,0,1.5,0.5,0.25,1,2,x;y\n", 1, true },
	{ "stddev,command,mean,user,system,median,min,max\n", 0, false },
	{ "real 1.5\nuser 1\nsys 0.25\nreal 0m2.5s\nuser 0m1s\nsys 0m1s\n", 2,
	    false },
	{ "\tCommand being timed: \"a b\"\n\tUser time (seconds): 1.5\n"
	    "\tSystem time (seconds): 0.5\n\tElapsed (wall clock) time "
	    "(h:mm:ss or m:ss): 1:02.5\n\tExit status: 0\n", 1, false },
	{ "1000000000,ns,duration_time\n500,msec,task-clock\n#\n"
	    "2000000000,ns,duration_time\n1000,ns,user_time\n", 2, false },
#ifdef COLDPRESS_JSON
	{ "{\"label\":\"a\",\"run\":1,\"wall_s\":2.5,\"exit\":0}\n"
	    "{\"label\":\"b\",\"run\":2,\"wall_s\":3}\n", 2, false },
	{ "{\n\"results\":[{\"command\":\"a\",\"times\":[1.5,2],"
	    "\"exit_codes\":[0,1],\"parameters\":{\"n\":\"x\",\"m\":5}}]}\n", 2,
	    false },
#endif
};

static void
reading_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		char why[RUNS_WHY], name[64];
		bool means;
		int rc;

		put_text("runs", records[i].text);
		if (records[i].runs == 0) {
			assert_int_equal(runs_read("runs", take_run, NULL,
			    &means, why), -EINVAL);
			assert_true(*why != '\0');
			continue;
		}
		runs_left = UINT32_MAX;
		got.len = 0;
		rc = runs_read("runs", take_run, NULL, &means, why);
		if (rc != 0)
			fail_msg("%zu: %d, %s", i, rc, why);
		assert_int_equal(means, records[i].means);
		assert_int_equal(runs_left, UINT32_MAX - records[i].runs);
		snprintf(name, sizeof(name), "record %zu", i);
		suffers(name, read_runs);
		/* what takes the runs may fail as well */
		for (unsigned k = 0; k < records[i].runs; k++) {
			runs_left = k;
			assert_int_equal(runs_read("runs", take_run, NULL,
			    &means, why), -ENOMEM);
		}
		runs_left = UINT32_MAX;
	}
}

/* Records that are not valid, and a part of what is said of them. */
static void
wrong_runs(void **state)
{
	static const char *const wrong[][2] = {
		{ "", "has no rows" }, { "label,run\na,1\n", "wall_s" },
		{ "label,run,wall_s\na,1\n", ":2:" },
		{ "label,run,wall_s\na,-1,2\n", ":2: not a valid row" },
		{ "label,run,wall_s\na,1,2\nb,1,-2\n", ":3: not a valid row" },
		{ "label,run,wall_s\na,1,x\n", ":2: not a valid row" },
		{ "command,mean,x,y\na,1,2,3\n", "hyperfine" },
		{ "command,mean,user,x\na,1,2,3\n", "hyperfine" },
		{ "command,mean,system,x\na,1,2,3\n", "hyperfine" },
		{ "command,mean,user,system\na,-1,2,3\n", ":2: not a row" },
		{ "command,mean,user,system\na,1,x,3\n", ":2: not a row" },
		{ "command,mean,user,system\na,1,2,x\n", ":2: not a row" },
		{ "real 1x\nuser 1\nsys 1\n", "no complete run" },
		{ "real 1\nuser 1\n", "no complete run" },
		{ "1,ns,user_time\n", "no duration_time" },
		{ "1,ns\n", "not a counter" },
		{ "1,ns,duration_time,5%,100\n", "mean of several" },
#ifdef COLDPRESS_JSON
		{ "{\"label\":\"a\",\"run\":1}\n", ":1: not a valid row" },
		{ "{\"run\":1,\"wall_s\":2}\n", ":1: not a valid row" },
		{ "{\"label\":\"a\",\"run\":1,\"wall_s\":2}\n{\n", ":2:" },
		{ "{\n\"results\":[]}\n", "not hyperfine's" },
		{ "{\n\"results\":5}\n", "not hyperfine's" },
		{ "{\n\"results\":[{\"times\":[1]}]}\n", "not hyperfine's" },
		{ "{\n\"results\":[{\"command\":\"a\"}]}\n",
		    "not hyperfine's" },
		{ "{\n\"results\":[{\"command\":\"a\",\"times\":[1,\"2\"]}]}\n",
		    "not hyperfine's" },
		{ "{\n\"results\":[{\"command\":\"a\",\"times\":[null]}]}\n",
		    "not hyperfine's" },
		{ "{\n\"results\":[{\"command\":\"a\",\"times\":[1,-2]}]}\n",
		    "not hyperfine's" },
		{ "{\n\"results\":[{\"command\":\"a\",\"times\":[1]\n",
		    "not hyperfine's" },
#endif
	};
	char why[RUNS_WHY];
	bool means;

	(void)state;
	runs_left = UINT32_MAX;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int rc;

		put_text("runs", wrong[i][0]);
		got.len = 0;
		rc = runs_read("runs", take_run, NULL, &means, why);
		if (rc != -EINVAL || strstr(why, wrong[i][1]) == NULL)
			fail_msg("%s: %d, %s", wrong[i][0], rc, why);
	}
	assert_int_equal(runs_read("none", take_run, NULL, &means, why),
	    -ENOENT);
	assert_non_null(strstr(why, "none: No such"));
}

/* A process that lives is never taken for a dead one. */
static void
leftovers(void **state)
{
	static const char *const calls[][2] = { { "openat", "EMFILE" },
		{ "read", "EIO" }, { "read", "end" }, { "pread", "EIO" } };
	char id[LEFTOVER_ID_B], other[LEFTOVER_ID_B + 1], call[64];

	(void)state;
	assert_true(fault_plan(""));
	assert_int_equal(leftover_id(id), 0);
	assert_false(leftover_dead(id));
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 1; k <= 3; k++) {
			bool dead;

			snprintf(call, sizeof(call), "%s:%u:%s", calls[i][0],
			    k, calls[i][1]);
			assert_true(fault_plan(call));
			dead = leftover_dead(id);
			assert_true(fault_plan(""));
			/* an empty file is that of a process that ends */
			if (dead && i != 2)
				fail_msg("%s", call);
		}
	/* a process of the same number that began at another time */
	snprintf(other, sizeof(other), "%s", id);
	other[strlen(other) - 1] ^= 1;
	assert_true(leftover_dead(other));
	snprintf(other, sizeof(other), "%s.", id);
	assert_false(leftover_dead(other));
}

/* Of a group that cannot be made, nothing is left. */
static void
groups(void **state)
{
	/* of /proc, the own group, the new one, and files in that */
	static const int want[] = { 0, -EMFILE, -EMFILE, -EMFILE, -EMFILE,
		-ENOENT, -ENOENT, 0, 0, 0 };
	struct cgroup g;
	char name[64], call[64];
	unsigned files;

	(void)state;
	snprintf(name, sizeof(name), "coldpress-test.%d", (int)getpid());
	if (cgroup_create(&g, name) != 0)
		skip();
	assert_true(cgroup_cpu_us(&g) >= 0);
	cgroup_remove(&g);
	files = suffers_files();
	for (unsigned k = 1; k < sizeof(want) / sizeof(want[0]); k++) {
		int rc, own;

		snprintf(call, sizeof(call), "openat:%u:EMFILE", k);
		assert_true(fault_plan(call));
		rc = cgroup_create(&g, name);
		assert_true(fault_plan(""));
		if (rc != want[k])
			fail_msg("%s: %d", call, rc);
		if (rc == 0)
			cgroup_remove(&g);
		assert_int_equal(suffers_files(), files);
		own = cgroup_own();
		assert_true(own >= 0);
		assert_int_equal(unlinkat(own, name, AT_REMOVEDIR), -1);
		assert_int_equal(errno, ENOENT);
		close(own);
	}
}

static int
note_opens(void)
{
	struct opens_file f = { .dev = 0 };
	struct opens *o;
	struct stat st;
	int root, rc, status;
	pid_t child;

	OWN(root = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	rc = opens_start(&o, root);
	OWN(close(root));
	if (rc != 0)
		return rc;
	fault_direct++;
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 3; i++)
			close(open(i == 1 ? "opened" : "runs", O_RDONLY));
		_exit(0);
	}
	while (waitpid(child, &status, 0) == -1 && errno == EINTR)
		;
	assert_int_equal(stat("opened", &st), 0);
	fault_direct--;
	rc = opens_stop(o);
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	if (rc == 0)
		take_number(opens_find(o, f) >= 0);
	f.ino = 1;
	f.dev = 12345;
	if (rc == 0)
		take_number(opens_find(o, f) == -ENOENT);
	opens_free(o);
	return rc;
}

/* Only root may watch what is opened. */
static void
opened_files(void **state)
{
	size_t len;

	(void)state;
	put_text("opened", "x");
	put_text("runs", "x");
	got.len = 0;
	if (note_opens() != 0)
		skip();
	for (len = 0; len < got.len; len += sizeof(uint64_t))
		assert_int_equal(got.p[len], 1);
	suffers_kinds = SUFFERS_KIND(MALLOC) | SUFFERS_KIND(THREAD) |
	    SUFFERS_KIND(READ);
	SUFFERS(note_opens);
	suffers_kinds = UINT64_MAX;
}

static const struct provenance origin = { .series = "S", .tool = "test",
	.argc = 2, .argv = (char *const[]){ (char[]){ "a" },
	(char[]){ "b c'd" } } };

/* Whether comments are the same again as those in a file. */
static int
compare_comments(void)
{
	char id[PROVENANCE_SERIES_B] = "";
	int rc = provenance_again("rows", true, &origin, id);

	if (rc < 0)
		return rc;
	/* what is not known of the machine is another comment */
	got.warned = rc == 0 && suffers_run.refusal != NULL &&
	    (suffers_run.refusal->kind == FAULT_OPENAT ||
	    suffers_run.refusal->kind == FAULT_GETDENTS ||
	    suffers_run.refusal->kind == FAULT_READ);
	take_number((uint64_t)rc);
	take_text(id);
	return 0;
}

static void
comments(void **state)
{
	char id[PROVENANCE_SERIES_B];
	struct table *t;
	FILE *f;
	int fd = open("rows", O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(table_to_fd(&t, fd, TABLE_CSV, NULL, 0), 0);
	table_inline_comments(t);
	assert_int_equal(provenance_write(t, &origin), 0);
	table_close(t);
	close(fd);
	assert_int_equal(provenance_again("rows", true, &origin, id), 1);
	assert_string_equal(id, "S");
	suffers_run.refusal = NULL;
	SUFFERS(compare_comments);
	/* another program, and a file without comments */
	f = fopen("rows", "a");
	assert_non_null(f);
	fputs("# more: comments\n", f);
	fclose(f);
	assert_int_equal(provenance_again("rows", true, &origin, id), 0);
	put_text("rows", "a,b\n1,2\n");
	assert_int_equal(provenance_again("rows", true, &origin, id), 0);
	assert_int_equal(provenance_again("none", true, &origin, id), 0);
}

static int
begin_all(void **state)
{
	(void)state;
	return scratch_enter(dir);
}

static int
end_all(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_runs),
		cmocka_unit_test(wrong_runs),
		cmocka_unit_test(leftovers),
		cmocka_unit_test(groups),
		cmocka_unit_test(opened_files),
		cmocka_unit_test(comments),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
