/*
 * vfs_certs.c - folders with the certificates of a registry
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_certs.h"

#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_NAME = 4096 };

static bool
is_named(const char *name, const char *suffix)
{
	size_t n = strlen(name), of = strlen(suffix);

	return n > of && strcmp(name + n - of, suffix) == 0;
}

static int
is_certificate(const struct dirent *e)
{
	return is_named(e->d_name, ".crt") || is_named(e->d_name, ".cert");
}

/* Adds NAME.cert, with NAME.key if that exists. */
static int
read_pair(struct http_server *s, const char *cert)
{
	char key[FILE_NAME];

	snprintf(key, sizeof(key), "%.*s.key",
	    (int)(strlen(cert) - strlen(".cert")), cert);
	return http_server_show(s, cert, access(key, F_OK) == 0 ? key : NULL);
}

int
vfs_certs_read(struct http_server *s, const char *folder)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, is_certificate, alphasort);
	int rc = n < 0 ? -errno : 0;
	char path[FILE_NAME];

	for (int i = 0; i < n; i++) {
		if (rc == 0 && (size_t)snprintf(path, sizeof(path), "%s/%s",
		    folder, names[i]->d_name) < sizeof(path))
			rc = is_named(path, ".crt") ?
			    http_server_trust(s, path) : read_pair(s, path);
		free(names[i]);
	}
	free(names);
	return rc;
}

static int
is_host(const struct dirent *e)
{
	return *e->d_name != '.';
}

/* Adds a host's folder.  What is no host, or no folder, is left out. */
static int
read_host(struct http_servers *all, const char *path, const char *host,
    enum vfs_certs_source source)
{
	struct http_server s = { .unverified = false };
	char url[FILE_NAME];
	int rc = vfs_certs_read(&s, path);

	snprintf(url, sizeof(url), "https://%s", host);
	if (rc == 0)
		rc = http_servers_add(all, url, source, &s);
	http_server_free(&s);
	return rc == -ENOMEM ? rc : 0;
}

int
vfs_certs_read_all(struct http_servers *all, const char *dir,
    enum vfs_certs_source source,
    int (*begin)(void *arg, const char *path), void *arg)
{
	struct dirent **names = NULL;
	char path[FILE_NAME];
	int rc = begin(arg, dir), n;

	if (rc != 0)
		return rc;
	n = scandir(dir, &names, is_host, alphasort);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && (size_t)snprintf(path, sizeof(path), "%s/%s",
		    dir, names[i]->d_name) < sizeof(path)) {
			rc = begin(arg, path);
			if (rc == 0)
				rc = read_host(all, path, names[i]->d_name,
				    source);
		}
		free(names[i]);
	}
	free(names);
	return rc;
}
