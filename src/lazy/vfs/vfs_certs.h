/*
 * vfs_certs.h - folders with the certificates of a registry
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: Docker's "Verify repository client with certificates";
 * containers-certs.d(5); containerd's docs/hosts.md.
 */
#ifndef COLDPRESS_VFS_CERTS_H
#define COLDPRESS_VFS_CERTS_H

#include "lazy/http/http_servers.h"

/* Where servers are configured, most important first. */
enum vfs_certs_source {
	VFS_CERTS_HOSTS,		/* containerd's directory */
	VFS_CERTS_USER, VFS_CERTS_CONTAINERS, VFS_CERTS_DOCKER
};

/*
 * Adds the files of one folder: *.crt are trusted, *.cert is shown, with the key
 * in the file *.key of the same name or, if there is none, in the same file.
 * Returns 0, -ENOMEM, or another -errno if the folder cannot be read.
 */
int vfs_certs_read(struct http_server *s, const char *folder);

/*
 * Reads the folders HOST or HOST:PORT in a directory, after calling begin()
 * with its path and with that of each.  Directories and folders that cannot be
 * read are left out.  Returns 0, -ENOMEM, or another result of begin().
 */
int vfs_certs_read_all(struct http_servers *all, const char *dir,
    enum vfs_certs_source source,
    int (*begin)(void *arg, const char *path), void *arg);

#endif
