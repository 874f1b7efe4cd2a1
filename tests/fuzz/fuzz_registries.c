/*
 * fuzz_registries.c - TOML, as registries.conf and as hosts.toml: no crash, each
 * place of an image is a URL, and no header field ends its line
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first line is the host and the name of an image.
 */
#include "base/toml.h"
#include "lazy/http/http_servers.h"
#include "lazy/vfs/vfs_registries.h"
#include "../scratch.h"

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

/* What is known of a server. */
static void
look_up(const struct vfs_registries *r, const char *url)
{
	struct http_server *s = http_servers_find(vfs_registries_servers(r),
	    url);

	if (s == NULL)
		return;
	for (size_t i = 0; i < s->fields.len; i++)
		if (s->fields.data[i] == '\r' || s->fields.data[i] == '\n')
			abort();
	if ((s->cert.len > 0) != (s->key.len > 0))
		abort();
	http_server_release(s);
}

static void
find(struct vfs_registries *r, const char *host, const char *name)
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
		for (int k = 0; k < n; k++)
			look_up(r, at[k]);
	}
}

/* A directory with the folders a.org and _default, of which hosts.toml is HOSTS. */
enum { HOSTS = 100 };

static char dir[SCRATCH_B], path[SCRATCH_B + 32];

/* Returns the name of a file there. */
static const char *
in_dir(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
remove_dir(void)
{
	unlink(in_dir("a.org/hosts.toml"));
	unlink(in_dir("_default/hosts.toml"));
	rmdir(in_dir("a.org"));
	rmdir(in_dir("_default"));
	rmdir(dir);
}

static void
make_dir(void)
{
	static const char to[] = "/proc/self/fd/100";

	if (scratch_make(dir) == NULL || mkdir(in_dir("a.org"), 0700) != 0 ||
	    mkdir(in_dir("_default"), 0700) != 0 ||
	    symlink(to, in_dir("a.org/hosts.toml")) != 0 ||
	    symlink(to, in_dir("_default/hosts.toml")) != 0 ||
	    atexit(remove_dir) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool made;
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end == NULL ? size : (size_t)(end - data), rest;
	char conf[64], place[600] = "", *slash, why[LAYER_WHY];
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
	snprintf(conf, sizeof(conf), "/proc/self/fd/%d", fd);
	if (vfs_registries_read(&r, conf, true, why) == 0 && slash != NULL &&
	    *place != '\0')
		find(r, place, slash);
	vfs_registries_free(r);
	if (!made)
		make_dir();
	made = true;
	r = NULL;
	if (dup2(fd, HOSTS) == -1)
		abort();
	if (vfs_registries_read_hosts(&r, dir, why) == 0 && slash != NULL &&
	    *place != '\0') {
		find(r, place, slash);
		find(r, "a.org", slash);
	} else if (*why != '\0' && strstr(why, dir) == NULL) {
		/* a reason names the file */
		abort();
	}
	vfs_registries_free(r);
	close(HOSTS);
	close(fd);
	return 0;
}
