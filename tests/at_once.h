/*
 * at_once.h - tests that wait most of their time, each in a process of its own
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_AT_ONCE_H
#define COLDPRESS_TESTS_AT_ONCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { AT_ONCE = 8 };

struct at_once_child {
	pid_t pid;
	FILE *out;
};

static inline void
at_once_begin(struct at_once_child *c, const struct CMUnitTest *test,
    CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
	const struct CMUnitTest one[] = { *test };

	c->out = fdopen(memfd_create(test->name, MFD_CLOEXEC), "r");
	if (c->out == NULL)
		abort();
	fflush(NULL);
	c->pid = fork();
	if (c->pid < 0)
		abort();
	if (c->pid > 0)
		return;
	if (dup2(fileno(c->out), STDOUT_FILENO) < 0 ||
	    dup2(fileno(c->out), STDERR_FILENO) < 0)
		abort();
	exit(cmocka_run_group_tests_name(test->name, one, set_up, tear_down));
}

/* Waits for the test and prints what it wrote.  Returns whether it passed. */
static inline bool
at_once_end(struct at_once_child *c)
{
	char line[4096];
	int status = 1;

	while (waitpid(c->pid, &status, 0) < 0)
		continue;
	rewind(c->out);
	while (fgets(line, sizeof(line), c->out) != NULL)
		fputs(line, stdout);
	fclose(c->out);
	if (WIFSIGNALED(status))
		printf("ended by signal %d\n", WTERMSIG(status));
	return status == 0;
}

/*
 * Runs the tests, AT_ONCE at a time, each between set_up and tear_down of its
 * own.  There must be no other threads yet.  Returns the number that failed.
 */
static inline int
at_once(const struct CMUnitTest *tests, size_t count, CMFixtureFunction set_up,
    CMFixtureFunction tear_down)
{
	struct at_once_child *child = calloc(count, sizeof(*child));
	size_t begun = 0;
	int failed = 0;

	if (child == NULL)
		abort();
	for (size_t i = 0; i < count; i++) {
		for (; begun < count && begun < i + AT_ONCE; begun++)
			at_once_begin(&child[begun], &tests[begun], set_up,
			    tear_down);
		failed += !at_once_end(&child[i]);
	}
	free(child);
	return failed;
}

#endif
