/*
 * proc_shell.c - running shell commands with proc_run(), for its tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_shell.h"

#include "base/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

int
setup(void **state)
{
	struct fixture *f = sys_calloc(1, sizeof(*f));

	*state = f;
	return f == NULL ? -1 : proc_open(&f->proc);
}

int
teardown(void **state)
{
	struct fixture *f = *state;

	proc_close(&f->proc);
	sys_free(f);
	return 0;
}

void
prepare(struct fixture *f, int count, const char *const *text)
{
	static char sh[] = "/bin/sh", flag[] = "-c";

	f->run = (struct proc_run){ .stages = f->stage, .count = count,
		.in = -1, .out = -1, .err = -1 };
	for (int i = 0; i < count; i++) {
		f->argv[i][0] = sh;
		f->argv[i][1] = flag;
		free(f->argv[i][2]);
		f->argv[i][2] = strdup(text[i]);
		f->argv[i][3] = NULL;
		f->stage[i].path = sh;
		f->stage[i].argv = f->argv[i];
		f->stage[i].envp = environ;
	}
}

void
run_sh(struct fixture *f, const char *text)
{
	prepare(f, 1, &text);
	assert_int_equal(proc_run(&f->proc, &f->run), 0);
	free(f->argv[0][2]);
	f->argv[0][2] = NULL;
}
