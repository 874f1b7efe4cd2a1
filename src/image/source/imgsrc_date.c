/*
 * imgsrc_date.c - times given as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source/imgsrc.h"

#include "base/args.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Has date(1) convert a date, and reads what it prints. */
static bool
ask_date(const char *text, char answer[32])
{
	char date[] = "date", option[] = "-d", format[] = "+%s";
	char *argv[] = { date, option, (char *)(uintptr_t)text, format, NULL };
	posix_spawn_file_actions_t actions;
	ssize_t n = 0, got;
	int ends[2], status = 1, rc = sys_pipe(ends);
	pid_t pid;

	if (rc != 0)
		return false;
	rc = posix_spawn_file_actions_init(&actions);
	if (rc == 0) {
		rc = posix_spawn_file_actions_adddup2(&actions, ends[1],
		    STDOUT_FILENO);
		if (rc == 0)
			rc = posix_spawn_file_actions_addopen(&actions,
			    STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		if (rc == 0)
			rc = posix_spawnp(&pid, date, &actions, NULL, argv,
			    environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	sys_close(ends[1]);
	while (rc == 0 && n < 31 && (got = read(ends[0], answer + n,
	    (size_t)(31 - n))) > 0)
		n += got;
	sys_close(ends[0]);
	while (rc == 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	answer[n] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool
imgsrc_date(const char *text, uint32_t *seconds)
{
	char answer[32];
	int64_t n;

	if (args_int(text, 0, UINT32_MAX, &n) != 0 && (!ask_date(text, answer)
	    || args_int(answer, 0, UINT32_MAX, &n) != 0))
		return false;
	*seconds = (uint32_t)n;
	return true;
}
