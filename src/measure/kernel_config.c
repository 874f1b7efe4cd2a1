/*
 * kernel_config.c - the running kernel's configuration
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/kernel_config.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

/* Opens the configuration.  zlib also reads uncompressed files. */
static gzFile
open_config(void)
{
	static const char *const places[] = { "/proc/config.gz",
		"/boot/config-%s", "/lib/modules/%s/config",
		"/lib/modules/%s/build/.config" };
	struct utsname u = { .release = "" };
	char path[sizeof(u.release) + 64];

	uname(&u);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *mark = strstr(places[i], "%s");
		int n = mark == NULL ? (int)strlen(places[i]) :
		    (int)(mark - places[i]);
		gzFile f;
		int fd;

		snprintf(path, sizeof(path), "%.*s%s%s", n, places[i],
		    mark == NULL ? "" : u.release,
		    mark == NULL ? "" : mark + 2);
		fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			continue;
		f = gzdopen(fd, "r");
		if (f != NULL)
			return f;
		sys_close(fd);
	}
	return NULL;
}

static void
read_config(gzFile f, const char *prefix, char *text, size_t size)
{
	size_t n = strlen(prefix), len = 0;
	char line[512];

	while (gzgets(f, line, sizeof(line)) != NULL) {
		const char *word = line + n;

		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, prefix, n) != 0)
			continue;
		/*
		 * remove only CONFIG_ if the prefix is the option's whole name
		 */
		word = *word == '_' ? word + 1 : strchr(line, '_') + 1;
		len += (size_t)snprintf(text + len, size - len, "%s%s",
		    len > 0 ? " " : "", word);
		if (len >= size)
			break;
	}
}

int
kernel_config(const char *prefix, char *text, size_t size)
{
	gzFile f = open_config();

	*text = '\0';
	if (f == NULL)
		return -ENOENT;
	read_config(f, prefix, text, size);
	gzclose(f);
	return 0;
}

int
kernel_config_file(const char *path, const char *prefix, char *text,
    size_t size)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	gzFile f = fd < 0 ? NULL : gzdopen(fd, "r");

	*text = '\0';
	if (f == NULL) {
		if (fd < 0)
			return fd;
		sys_close(fd);
		return -ENOMEM;
	}
	read_config(f, prefix, text, size);
	gzclose(f);
	return 0;
}
