/*
 * vfs_registries.h - from which servers an image is fetched
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: containers-registries.conf(5), version 2; containers-certs.d(5);
 * containerd's docs/hosts.md.  An insecure registry is spoken to without TLS.
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_REGISTRIES_H
#define COLDPRESS_LAZY_VFS_VFS_REGISTRIES_H

#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	VFS_BASE = 1024,		/* size of the buffer for a base */
	VFS_ENDPOINTS = 16		/* maximum number for an image */
};

struct http_servers;
struct vfs_registries;

/*
 * Reads registries.conf, and the files FILE.d/ *.conf after it in the order of
 * their names, whose registries replace those before with the same prefix.  A
 * missing file is an error only if it is required.  Returns 0, -ENOMEM, -EINVAL
 * or another -errno with the file and the reason in why; *r must be freed even
 * after an error.
 */
int vfs_registries_read(struct vfs_registries **r, const char *file,
    bool required, char why[LAYER_WHY]);

/*
 * The same, but of a directory as containerd has it: DIR/HOST/hosts.toml, and
 * DIR/_default/hosts.toml for other hosts; or, in its place, certificates.  *r
 * may have been read before, or is NULL; what both say of a host is taken from
 * the directory.
 */
int vfs_registries_read_hosts(struct vfs_registries **r, const char *dir,
    char why[LAYER_WHY]);

/*
 * Reads what a user has, as Podman looks for it: `file` or, if it is NULL, that of
 * CONTAINERS_REGISTRIES_CONF or, if there are any, of the user or of the system;
 * then the directory `hosts`, unless it is NULL; and the folders of certificates
 * of the user, of the system and of Docker.  Returns as vfs_registries_read(),
 * always with a reason.
 */
int vfs_registries_of_user(struct vfs_registries **r, const char *file,
    const char *hosts, char why[LAYER_WHY]);

/*
 * Reads again what vfs_registries_of_user() has read, if any of it has changed.
 * What cannot be read, or is damaged, changes nothing, and the next call tries
 * again.  What people should know is written to why, once; otherwise it is "".
 * Servers that are not mentioned any more stay known, for transfers from where
 * images were found before, until vfs_registries_find() leads there.  r may be
 * NULL.  Thread-safe.
 */
void vfs_registries_refresh(struct vfs_registries *r, char why[LAYER_WHY]);

/*
 * Returns how many times something else has been read: what was found before
 * may be elsewhere now.  r may be NULL.  Thread-safe.
 */
unsigned vfs_registries_version(struct vfs_registries *r);

/*
 * Calls each() with the path of each file and directory that may be read again,
 * and of each that http_servers_files() names, so that a process which confines
 * itself can keep access to them, or to the directories they are in.  Some do
 * not exist.  r may be NULL.
 */
void vfs_registries_files(const struct vfs_registries *r,
    void (*each)(void *arg, const char *path), void *arg);

void vfs_registries_free(struct vfs_registries *r);	/* may be NULL */

/*
 * Returns what the files say of servers, which lives as long as r; NULL if r is.
 */
struct http_servers *vfs_registries_servers(const struct vfs_registries *r);

/*
 * Writes where to look for an image, best first: SCHEME://HOST/v2/NAME.  host is
 * HOST or HOST:PORT, base the one without a configuration, and reference a tag,
 * or a digest with a ':'.  r may be NULL.  Returns their number, at least 1; or
 * -EACCES if the registry is blocked, or -EINVAL, with the reason in why.
 * Thread-safe.
 */
int vfs_registries_find(struct vfs_registries *r, const char *host,
    const char *base, const char *reference,
    char endpoints[VFS_ENDPOINTS][VFS_BASE], char why[LAYER_WHY]);

#endif
