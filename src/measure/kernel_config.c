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

int
kernel_config(const char *prefix, char *text, size_t size)
{
	/* what stands before and after the release */
	static const char *const places[][2] = { { "/boot/config-", "" },
		{ "/lib/modules/", "/config" },
		{ "/lib/modules/", "/build/.config" } };
	struct utsname u = { .release = "" };
	char path[sizeof(u.release) + 64];

	if (kernel_config_file("/proc/config.gz", prefix, text, size) == 0)
		return 0;
	uname(&u);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s%s", places[i][0], u.release,
		    places[i][1]);
		if (kernel_config_file(path, prefix, text, size) == 0)
			return 0;
	}
	return -ENOENT;
}

int
kernel_config_file(const char *path, const char *prefix, char *text,
    size_t size)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	gzFile f = fd < 0 ? NULL : gzdopen(fd, "r");
	size_t n = strlen(prefix), len = 0;
	char line[512];

	*text = '\0';
	if (f == NULL) {
		if (fd < 0)
			return fd;
		sys_close(fd);
		return -ENOMEM;
	}
	/* zlib also reads uncompressed files */
	while (len < size && gzgets(f, line, sizeof(line)) != NULL) {
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
	}
	gzclose(f);
	return 0;
}
