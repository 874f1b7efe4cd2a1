/*
 * fuzz_registries.c - TOML, as registries.conf and as hosts.toml: no crash, and
 * each place of an image is a URL
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first line is the host and the name of an image.
 */
#include "base/toml.h"
#include "lazy/vfs/vfs_registries.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All strings end within the text: what is decoded is never longer. */
static int
look_at(void *arg, const struct toml_item *i)
{
	size_t *size = arg, len = 0;

	for (size_t k = 0; k < i->depth; k++)
		len += strlen(i->path[k]);
	if (len > *size || strlen(i->text) > *size || i->depth > TOML_DEPTH ||
	    i->line == 0)
		abort();
	return 0;
}

static void
find(const struct vfs_registries *r, const char *host, const char *name)
{
	static const char *const references[] = { "latest", "sha256:00" };
	char at[VFS_ENDPOINTS][VFS_BASE], base[VFS_BASE], why[LAYER_WHY];

	snprintf(base, sizeof(base), "https://%.200s/v2/%.400s", host, name);
	for (int i = 0; i < 2; i++) {
		int n = vfs_registries_find(r, host, base, references[i], at,
		    why);

		if (n == 0 || n > VFS_ENDPOINTS || (n < 0 && *why == '\0'))
			abort();
		for (int k = 0; k < n; k++)
			if (strncmp(at[k], "http", 4) != 0 ||
			    strlen(at[k]) >= VFS_BASE)
				abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end == NULL ? size : (size_t)(end - data), rest;
	char path[64], place[600] = "", *slash, why[LAYER_WHY];
	int fd = memfd_create("conf", MFD_CLOEXEC);
	struct vfs_registries *r = NULL;

	data = end == NULL ? data + size : end + 1;
	rest = end == NULL ? 0 : size - n - 1;
	if (fd < 0 || write(fd, data, rest) != (ssize_t)rest)
		abort();
	if (n < sizeof(place))
		memcpy(place, data - (end == NULL ? size : n + 1), n);
	slash = strchr(place, '/');
	if (slash != NULL)
		*slash++ = '\0';
	toml_read((const char *)data, rest, look_at, &rest, why);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (vfs_registries_read(&r, path, true, why) == 0 && slash != NULL &&
	    *place != '\0')
		find(r, place, slash);
	vfs_registries_free(r);
	close(fd);
	return 0;
}
