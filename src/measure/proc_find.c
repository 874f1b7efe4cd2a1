/*
 * proc_find.c - finding the executable file of a command
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/proc.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
proc_find(const char *name, const char *path, char **found)
{
	size_t len = strlen(name);
	int rc = -ENOENT;
	char *s;

	s = sys_malloc(len + strlen(path) + 3);
	if (s == NULL)
		return -ENOMEM;
	*found = s;
	if (strchr(name, '/') != NULL) {
		strcpy(s, name);
		return 0;
	}
	for (const char *dir = path; len > 0;) {
		size_t n = strcspn(dir, ":");
		struct stat st;

		/* an empty entry in the list means the current directory */
		sprintf(s, "%.*s/%s", n == 0 ? 1 : (int)n, n == 0 ? "." : dir,
		    name);
		if (stat(s, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(s, X_OK) == 0)
				return 0;
			rc = -EACCES;
		}
		if (dir[n] == '\0')
			break;
		dir += n + 1;
	}
	sys_free(s);
	*found = NULL;
	return rc;
}
