/*
 * lap_env.c - the environment of the commands, and their reports
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/flatjson.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT_LABEL, SLOT_RUN, SLOT_ID, SLOT_STAGE, SLOT_STATS, SLOTS };

enum { LINE_MAX_B = 4096 };

/* Returns whether lap sets this variable. */
static bool
is_own_variable(const char *s)
{
	static const char *const names[] = { "LAP_LABEL=", "LAP_RUN=",
		"LAP_ID=", "LAP_STAGE=", "PZC_STATS=" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(s, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Builds the environment of stage s; stage 0 is -p. */
static int
make_environment(struct lap *l, int s)
{
	size_t size = strlen(l->dir) + 64;
	char **env = sys_calloc((size_t)l->env_base + SLOTS + 1, sizeof(*env));
	char *text;
	int n = 0;

	l->envs[s] = env;
	if (env == NULL)
		return -ENOMEM;
	for (char **e = environ; *e != NULL; e++)
		if (!is_own_variable(*e))
			env[n++] = *e;
	env[n + SLOT_RUN] = l->env_run;
	if (s == 0)
		return 0;
	env[n + SLOT_ID] = l->env_id;
	text = sys_malloc(size);
	if (text == NULL)
		return -ENOMEM;
	env[n + SLOT_STAGE] = text;
	text += snprintf(text, size, "LAP_STAGE=%d", s) + 1;
	if (*l->dir != '\0') {
		snprintf(text, size - 32, "PZC_STATS=%s/%d", l->dir, s);
		env[n + SLOT_STATS] = text;
	}
	return 0;
}

int
lap_env_open(struct lap *l)
{
	const char *tmp = getenv("TMPDIR");
	int stages = 0, rc = 0;

	if (!l->o.plain) {
		tmp = tmp != NULL && *tmp != '\0' ? tmp : "/tmp";
		leftover_remove(tmp, "lap");
		if ((size_t)snprintf(l->dir, sizeof(l->dir), "%s/lap.%s", tmp,
		    l->id) >= sizeof(l->dir)) {
			rc = -ENAMETOOLONG;
		} else if (mkdir(l->dir, 0700) == -1) {
			*l->dir = '\0';
			rc = -errno;
		} else {
			l->dirfd = sys_openat(AT_FDCWD, l->dir,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
			rc = l->dirfd < 0 ? l->dirfd : 0;
		}
	}
	for (uint32_t i = 0; i < l->cell_count; i++)
		if (l->cells[i].count > stages)
			stages = l->cells[i].count;
	for (char **e = environ; *e != NULL; e++)
		l->env_base += !is_own_variable(*e);
	snprintf(l->env_id, sizeof(l->env_id), "LAP_ID=%s", l->id);
	l->reports = sys_calloc((size_t)stages, sizeof(*l->reports));
	l->envs = sys_calloc((size_t)stages + 1, sizeof(*l->envs));
	if (rc == 0 && (l->envs == NULL || l->reports == NULL))
		rc = -ENOMEM;
	for (; rc == 0 && l->env_count <= stages; l->env_count++)
		rc = make_environment(l, l->env_count);
	for (uint32_t i = 0; rc == 0 && i < l->cell_count; i++)
		for (int k = 0; k < l->cells[i].count; k++)
			l->cells[i].stages[k].envp = l->envs[k + 1];
	if (rc == 0)
		return 0;
	msg_error(&l->msg, "%s: %s", *l->dir != '\0' ? l->dir :
	    "temporary files", strerror(-rc));
	return LAP_FAILED;
}

void
lap_env_set(struct lap *l, const struct lap_cell *c, int64_t run)
{
	snprintf(l->env_run, sizeof(l->env_run), "LAP_RUN=%" PRId64, run);
	for (int s = 0; s <= c->count; s++)
		l->envs[s][l->env_base + SLOT_LABEL] = c->label_env;
}

/* Reads the last line of the file with this name, and removes the file. */
static void
read_report(const struct lap *l, const char *name, double report[LAP_REPORTS])
{
	static const char *const names[LAP_REPORTS] = {
		[LAP_IN_B] = "in_B", [LAP_OUT_B] = "out_B",
		[LAP_STALL_IN] = "stall_in_s", [LAP_STALL_OUT] = "stall_out_s",
		[LAP_STALL_WORK] = "stall_work_s"
	};
	int fd = sys_openat(l->dirfd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	char text[LINE_MAX_B];
	struct flatjson j;
	const char *line;
	ssize_t n = -1;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = sys_pread(fd, text, sizeof(text),
		    st.st_size > LINE_MAX_B ? st.st_size - LINE_MAX_B : 0);
	sys_close(fd);
	sys_unlinkat(l->dirfd, name, 0);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return;
	line = memrchr(text, '\n', (size_t)n);
	line = line == NULL ? text : line + 1;
	if (flatjson_open(&j, line, (size_t)(text + n - line)) != 0)
		return;
	while (flatjson_next(&j) == 1)
		for (int i = 0; j.is_number && i < LAP_REPORTS; i++)
			if (strlen(names[i]) == j.name_len &&
			    memcmp(names[i], j.name, j.name_len) == 0)
				report[i] = j.number;
}

void
lap_reports_read(struct lap *l, struct lap_run *r)
{
	char name[12];

	r->reports = l->reports;
	for (int s = 0; s < r->cell->count; s++) {
		for (int i = 0; i < LAP_REPORTS; i++)
			l->reports[s][i] = NAN;
		snprintf(name, sizeof(name), "%d", s + 1);
		if (*l->dir != '\0')
			read_report(l, name, l->reports[s]);
	}
}

void
lap_env_close(struct lap *l)
{
	for (int s = 0; l->envs != NULL && s < l->env_count; s++) {
		/* the text of SLOT_STATS is in the same allocation */
		if (s > 0 && l->envs[s] != NULL)
			sys_free(l->envs[s][l->env_base + SLOT_STAGE]);
		sys_free(l->envs[s]);
	}
	sys_free(l->envs);
	sys_free(l->reports);
	if (*l->dir != '\0')
		leftover_rmdir(AT_FDCWD, l->dir);
	if (l->dirfd >= 0)
		sys_close(l->dirfd);
}
