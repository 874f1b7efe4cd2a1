/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/http/helpers.h"

#include "base/sandbox.h"
#include "base/sys.h"
#include "scratch.h"
#include "sys_fault.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { LIMIT_S = 1 };

static char dir[SCRATCH_B], auth[SCRATCH_B + 8],
    program[SCRATCH_B + 32], calls[SCRATCH_B + 8];

static void
write_to(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int
set_up(void **state)
{
	char path[4096];

	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	snprintf(auth, sizeof(auth), "%s/auth", dir);
	snprintf(calls, sizeof(calls), "%s/calls", dir);
	snprintf(program, sizeof(program), "%s/docker-credential-made", dir);
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("CALLS", calls, 1);
	write_to(auth, "{\"credHelpers\":{\"a.org\":\"made\"},"
	    "\"credsStore\":\"made\"}");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(auth);
	unlink(calls);
	unlink(program);
	return rmdir(dir);
}

/* Makes the program a shell script. */
static void
script(const char *text)
{
	char all[1024];

	snprintf(all, sizeof(all), "#!/bin/sh\n%s\n", text);
	unlink(program);
	write_to(program, all);
	assert_int_equal(chmod(program, 0755), 0);
}

static struct helpers *
started(void)
{
	struct helpers *h;

	assert_int_equal(helpers_start(&h, auth, LIMIT_S), 0);
	return h;
}

/* Asks, for what is then "USER SECRET", the reason, or a number. */
static const char *
asked(struct helpers *h, enum helpers_which which, const char *host)
{
	static char text[LAYER_WHY];
	char *user, *secret, why[LAYER_WHY] = "";
	int rc = helpers_ask(h, which, host, &user, &secret, why);

	if (rc == 0) {
		snprintf(text, sizeof(text), "%s %s", user, secret);
	} else {
		assert_null(user);
		assert_null(secret);
		snprintf(text, sizeof(text), "%d %s", rc, rc == -EACCES ?
		    why : "");
	}
	helpers_forget(user);
	helpers_forget(secret);
	return text;
}

static void
finds(const char *text, enum helpers_which which, const char *host, int want,
    const char *name)
{
	char *got = NULL, why[LAYER_WHY];

	assert_int_equal(helpers_find(text, strlen(text), which, host, &got,
	    why), want);
	if (name == NULL)
		assert_null(got);
	else
		assert_string_equal(got, name);
	assert_int_equal(*why != '\0', want == -EINVAL);
	sys_free(got);
}

static void
names(void **state)
{
	static const char file[] = "{\"credHelpers\":{\"a.org\":\"one\","
	    "\"b.org:5000\":\"two\",\"c.org\":7,\"d.org\":\"../x\","
	    "\"e.org\":\"\",\"f.org\":\"x y\",\"https://g.org/v1\":\"A_.-9\"},"
	    "\"credsStore\":\"rest\"}";

	(void)state;
	finds(file, HELPERS_OF_HOST, "a.org:443", 0, "one");
	finds(file, HELPERS_OF_HOST, "a.org:5000", -ENOENT, NULL);
	finds(file, HELPERS_OF_HOST, "xa.org:443", -ENOENT, NULL);
	finds(file, HELPERS_OF_HOST, "b.org:5000", 0, "two");
	finds(file, HELPERS_OF_HOST, "b.org:443", -ENOENT, NULL);
	finds(file, HELPERS_OF_HOST, "c.org:443", -ENOENT, NULL);
	finds(file, HELPERS_OF_HOST, "d.org:443", -EINVAL, NULL);
	finds(file, HELPERS_OF_HOST, "e.org:443", -ENOENT, NULL);
	finds(file, HELPERS_OF_HOST, "f.org:443", -EINVAL, NULL);
	finds(file, HELPERS_OF_HOST, "g.org:443", 0, "A_.-9");
	finds(file, HELPERS_OF_REST, "a.org:443", 0, "rest");
	finds("{\"credsStore\":\"a/b\"}", HELPERS_OF_REST, "x", -EINVAL, NULL);
	finds("{\"credsStore\":\"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
	    "eeeeeeeeeeffffffffff12345\"}", HELPERS_OF_REST, "x", -EINVAL,
	    NULL);
	finds("{\"credsStore\":[]}", HELPERS_OF_REST, "x", -ENOENT, NULL);
	finds("{\"credHelpers\":\"x\"}", HELPERS_OF_HOST, "x", -ENOENT, NULL);
	finds("{}", HELPERS_OF_REST, "x", -ENOENT, NULL);
	finds("x", HELPERS_OF_REST, "x", -EBADMSG, NULL);
}

static void
parses(const char *text, int want, const char *says)
{
	char *user, *secret, why[LAYER_WHY] = "";

	assert_int_equal(helpers_parse(text, strlen(text), &user, &secret,
	    why), want);
	if (want == 0) {
		assert_string_equal(user, "u");
		assert_string_equal(secret, says);
	} else {
		assert_null(user);
		assert_null(secret);
		assert_non_null(strstr(why, says));
		assert_null(strstr(why, "swordfish"));
	}
	helpers_forget(user);
	helpers_forget(secret);
}

static void
answers(void **state)
{
	(void)state;
	parses("{\"Username\":\"u\",\"Secret\":\"s\\u00e9:\"}", 0,
	    "s\xc3\xa9:");
	parses("{\"Username\":\"u\",\"Secret\":\"\"}", 0, "");
	parses("{\"Username\":\"\",\"Secret\":\"\"}", -ENOENT, "");
	parses("{\"Username\":\"u\"}", -EBADMSG, "no Username or no Secret");
	parses("{\"Secret\":\"swordfish\"}", -EBADMSG, "no Username");
	parses("{\"Username\":1,\"Secret\":\"swordfish\"}", -EBADMSG, "no");
	parses("swordfish", -EBADMSG, "its answer is not a JSON object");
	parses("{\"Username\":\"swordfish", -EBADMSG, "not a JSON object");
	parses("{swordfish:1}", -EBADMSG, "not a JSON object");
	parses("[\"swordfish\"]", -EBADMSG, "not a JSON object");
	parses("", -EBADMSG, "not a JSON object");
}

/* The number of lines that the program has written. */
static unsigned
count_calls(void)
{
	FILE *f = fopen(calls, "r");
	unsigned n = 0;
	int c;

	while (f != NULL && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f != NULL)
		fclose(f);
	return n;
}

static void
asks(void **state)
{
	struct helpers *h = started();

	(void)state;
	script("read -r s; echo $1 $# >>$CALLS\n"
	    "echo \"{\\\"Username\\\":\\\"$s\\\",\\\"Secret\\\":\\\"x\\\"}\"");
	assert_string_equal(asked(h, HELPERS_OF_HOST, "a.org:443"), "a.org x");
	assert_string_equal(asked(h, HELPERS_OF_HOST, "b.org:443"), "-2 ");
	assert_string_equal(asked(h, HELPERS_OF_REST, "b.org:5000"),
	    "b.org:5000 x");
	assert_int_equal(count_calls(), 2);
	/* for some seconds */
	assert_string_equal(asked(h, HELPERS_OF_HOST, "a.org:443"), "a.org x");
	assert_int_equal(count_calls(), 2);
	helpers_stop(h);
	helpers_stop(NULL);
}

/* The file is read for each question. */
static void
reads_again(void **state)
{
	struct helpers *h;

	(void)state;
	script("echo '{\"Username\":\"u\",\"Secret\":\"s\"}'");
	rename(auth, calls);
	h = started();
	assert_non_null(strstr(asked(h, HELPERS_OF_HOST, "a.org:443"),
	    "auth: No such file"));
	rename(calls, auth);
	assert_string_equal(asked(h, HELPERS_OF_REST, "a.org:443"), "u s");
	helpers_stop(h);
}

/* A process that can neither open nor execute anything has its answers. */
static void
confined(void **state)
{
	static struct helpers *h;
	int status;
	pid_t pid;

	(void)state;
	h = started();
	script("echo '{\"Username\":\"u\",\"Secret\":\"s\"}'");
	pid = fork();
	if (pid == 0) {
		bool here;

		if (sandbox_enter(&here) != 0)
			_exit(1);
		if (here && fopen(auth, "r") != NULL)
			_exit(2);
		_exit(strcmp(asked(h, HELPERS_OF_HOST, "a.org:443"), "u s") ==
		    0 ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	helpers_stop(h);
}

/* The reason why it has no credentials, after its name. */
static void
fails(const char *text, const char *want)
{
	struct helpers *h = started();
	uint64_t begin_ns = sys_now_ns();
	char all[LAYER_WHY];

	script(text);
	snprintf(all, sizeof(all), "-13 docker-credential-made %s", want);
	assert_string_equal(asked(h, HELPERS_OF_HOST, "a.org:443"), all);
	assert_true(sys_now_ns() - begin_ns < 8 * UINT64_C(1000000000));
	helpers_stop(h);
}

static void
faults(void **state)
{
	struct helpers *h;
	sigset_t set;

	(void)state;
	fails("echo swordfish; exit 7", "ended with status 7");
	fails("echo; printf 'a\\tb\\nc' >&2; exit 7",
	    "ended with status 7: a?b");
	fails("kill -9 $$", "was ended by signal 9");
	/* this process's signals are not its own */
	signal(SIGINT, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fails("kill -INT $$", "was ended by signal 2");
	fails("kill -TERM $$", "was ended by signal 15");
	fails("kill -ALRM $$", "was ended by signal 14");
	fails("sleep 100", "was killed after 1 s without an answer");
	fails("exec >&- 2>&-; sleep 100",
	    "was killed after 1 s without an answer");
	fails("yes", "was killed: expected at most 64 KiB, found more");
	fails("yes >&2", "was killed after 1 s without an answer: y");
	fails("echo x", "is of no use: its answer is not a JSON object: lexical "
	    "error: invalid char in json text.");
	fails("echo credentials not found in native keychains; exit 1",
	    "ended with status 1");
	h = started();
	script("echo credentials not found in native keychain; exit 1");
	assert_string_equal(asked(h, HELPERS_OF_HOST, "a.org:443"), "-2 ");
	unlink(program);
	assert_string_equal(asked(h, HELPERS_OF_REST, "a.org:443"), "-13 "
	    "docker-credential-made cannot be run: No such file or directory");
	helpers_stop(h);
}

/* Returns whether the process whose number the program wrote has ended. */
static bool
has_ended(void)
{
	char stat[64], state = 'X';
	int pid = 0;
	FILE *f = fopen(calls, "r");

	if (f != NULL) {
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	if (pid == 0)
		return false;
	snprintf(stat, sizeof(stat), "/proc/%d/stat", pid);
	f = fopen(stat, "r");
	if (f == NULL)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	fclose(f);
	return state == 'Z' || state == 'X';
}

/* What the program has started ends with the process that asks. */
static void
killed(void **state)
{
	pid_t pid;

	(void)state;
	unlink(calls);
	script("sleep 100 & echo $! >$CALLS; wait");
	pid = fork();
	if (pid == 0) {
		struct helpers *h;

		if (helpers_start(&h, auth, 60) == 0)
			asked(h, HELPERS_OF_HOST, "a.org:443");
		_exit(1);
	}
	for (int i = 0; i < 600 && access(calls, F_OK) != 0; i++)
		usleep(100000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 100 && !has_ended(); i++)
		usleep(100000);
	assert_true(has_ended());
}

/* Memory that this process does not have; the other one has it. */
static void
no_memory(void **state)
{
	long blocks;
	struct helpers *h;
	int rc = -ENOMEM;

	(void)state;
	script("read -r host; echo \"{\\\"Username\\\":\\\"u\\\","
	    "\\\"Secret\\\":\\\"of $host\\\"}\"");
	assert_true(fault_plan(""));
	blocks = fault_blocks();
	h = started();
	for (unsigned k = 1; rc != 0; k++) {
		char plan[32], host[32], why[LAYER_WHY] = "";
		char *user, *secret;

		/* answers are kept: each question is new */
		snprintf(host, sizeof(host), "h%u.org", k);
		snprintf(plan, sizeof(plan), "malloc:%u:ENOMEM", k);
		assert_true(fault_plan(plan));
		rc = helpers_ask(h, HELPERS_OF_REST, host, &user, &secret,
		    why);
		assert_true(fault_plan(""));
		if (rc == 0) {
			assert_int_equal(k, 6);
			assert_string_equal(user, "u");
			assert_string_equal(secret + 3, host);
		} else {
			assert_int_equal(rc, -ENOMEM);
			assert_null(user);
			assert_null(secret);
		}
		helpers_forget(user);
		helpers_forget(secret);
	}
	helpers_stop(h);
	assert_int_equal(fault_blocks(), blocks);
}

/* Files of credentials that are of no use to the other process */
static void
bad_files(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "{\"credsStore\":\"a/b\"}", "expected letters" },
		{ "nothing", "not a JSON object" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct helpers *h;
		const char *text;
		char want[16];

		write_to(auth, rows[i].text);
		h = started();
		text = asked(h, HELPERS_OF_REST, "a.org");
		snprintf(want, sizeof(want), "%d ", -EACCES);
		if (strncmp(text, want, strlen(want)) != 0 ||
		    strstr(text, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].text, text);
		helpers_stop(h);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(answers),
		cmocka_unit_test(asks),
		cmocka_unit_test(reads_again),
		cmocka_unit_test(confined),
		cmocka_unit_test(faults),
		cmocka_unit_test(killed),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(bad_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
