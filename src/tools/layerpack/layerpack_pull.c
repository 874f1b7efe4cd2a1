/*
 * layerpack_pull.c - fetching an image, to a directory or to an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/http/helpers.h"
#include "lazy/http/resolver.h"
#include "lazy/pull/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OCI_SCHEME "oci:"

enum { PULL_FILES = 4, PULL_DIRS = PULL_FILES + 3 };

/* A pull, and where its output goes. */
struct pulling {
	struct layerpack *p;
	struct progress progress;
	struct pull pull;
	bool layout;			/* else a directory */
	char *path;			/* of the destination */
	const char *tag;		/* in the layout, or NULL */
	struct output_tree tree;
	struct oci_new new;
	struct vfs_registries *registries;
	struct helpers *helpers;
	struct resolver *resolver;
	struct http *http;
};

static void
pull_failed(void *arg, const char *name, const char *why)
{
	struct pulling *u = arg;

	progress_erase(&u->progress);
	msg_error(&u->p->msg, "%s: %s", name, why);
}

/* What a mirror does not have is no reason for another exit status. */
static void
pull_warned(void *arg, const char *name, const char *why)
{
	struct pulling *u = arg;

	progress_erase(&u->progress);
	if (!u->p->msg.quiet)
		msg_note(&u->p->msg, "%s: %s", name, why);
}

/* Splits oci:DIRECTORY[:TAG], or takes a directory. */
static int
take_destination(struct pulling *u, const char *to)
{
	static const char tags[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
	const char *colon;
	size_t len;

	u->layout = strncmp(to, OCI_SCHEME, strlen(OCI_SCHEME)) == 0;
	if (u->layout)
		to += strlen(OCI_SCHEME);
	colon = u->layout ? strrchr(to, ':') : NULL;
	if (colon != NULL && strchr(colon, '/') == NULL)
		u->tag = colon + 1;
	len = u->tag == NULL ? strlen(to) : (size_t)(colon - to);
	if (u->tag != NULL && (*u->tag == '\0' ||
	    u->tag[strspn(u->tag, tags)] != '\0')) {
		msg_error(&u->p->msg, "%s: expected oci:DIRECTORY[:TAG]",
		    u->p->o.make.output);
		return -EINVAL;
	}
	u->path = strcopy_part(to, len);
	if (u->path == NULL)
		msg_error(&u->p->msg, "%s", strerror(ENOMEM));
	return u->path == NULL ? -ENOMEM : 0;
}

/* Starts the temporary directory, next to the final name. */
static int
create_destination(struct pulling *u)
{
	int rc = u->layout ? oci_new_open(&u->new, u->path) :
	    output_tree_create(&u->tree, u->path);

	if (rc != 0)
		msg_error(&u->p->msg, "%s: %s", u->path, strerror(-rc));
	return rc;
}

/* Confinement */

/* Opens a directory or, if the path is a file, that which contains it. */
static int
open_dir_of(const char *path)
{
	int fd = sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC,
	    0);
	char *copy;

	if (fd != -ENOTDIR || (copy = strcopy(path)) == NULL)
		return fd;
	fd = sys_openat(AT_FDCWD, dirname(copy), O_PATH | O_DIRECTORY |
	    O_CLOEXEC, 0);
	sys_free(copy);
	return fd;
}

static void
confine_pull(struct pulling *u)
{
	/* the C library and libcurl load libraries on demand */
	const char *paths[PULL_DIRS] = { u->p->o.auth_file, u->p->o.ca_file,
		NULL, NULL, "/usr", "/lib", "/lib64" };
	const struct output_tree *tree = u->layout ? &u->new.tree : &u->tree;
	const struct sandbox_dirs d = { .reading = -1, .naming = -1,
		.making = tree->dir, .renaming = tree->parent,
		.spooling = -1 };
	int dirs[PULL_DIRS], fd, rc;
	size_t count = 0;
	bool confined = false;

	http_prepare(&paths[2], &paths[3]);
	for (size_t i = 0; i < PULL_DIRS; i++) {
		fd = paths[i] == NULL ? -ENOENT : open_dir_of(paths[i]);
		if (fd >= 0)
			dirs[count++] = fd;
	}
	rc = sandbox_enter_pulling(&d, dirs, count, &confined);
	for (size_t i = 0; i < count; i++)
		sys_close(dirs[i]);
	if (!confined && u->p->msg.verbose > 0)
		msg_note(&u->p->msg, "%s: not confined: %s", u->path, rc != 0 ?
		    strerror(-rc) : "the kernel has no Landlock");
}

/* The servers */

static int
open_servers(struct pulling *u)
{
	const struct layerpack_options *o = &u->p->o;
	struct http_options http = { .auth_file = o->auth_file,
		.ca_file = o->ca_file, .timeout_s = o->timeout_s,
		.connections = o->connections, .warn = pull_warned, .arg = u };
	char why[LAYER_WHY] = "";
	int rc = vfs_registries_of_user(&u->registries, o->registries_conf,
	    o->hosts_dir, why);

	if (rc != 0) {
		msg_error(&u->p->msg, "%s", why);
		return rc;
	}
	if (o->auth_file != NULL)
		rc = helpers_start(&u->helpers, o->auth_file, HELPERS_S);
	if (rc != 0) {
		msg_error(&u->p->msg, "cannot start what runs credential "
		    "helpers: %s", strerror(-rc));
		return rc;
	}
	rc = resolver_start(&u->resolver);
	if (rc != 0) {
		msg_error(&u->p->msg, "cannot start the resolver: %s",
		    strerror(-rc));
		return rc;
	}
	rc = create_destination(u);
	if (rc != 0)
		return rc;
	confine_pull(u);
	http.resolver = u->resolver;
	http.helpers = u->helpers;
	http.servers = vfs_registries_servers(u->registries);
	rc = http_open(&u->http, &http, why);
	if (rc != 0)
		msg_error(&u->p->msg, "%s", why);
	return rc;
}

/* The end */

static void
report_left_out(struct pulling *u)
{
	const struct pull *d = &u->pull;

	if (d->devices > 0)
		msg_warn(&u->p->msg, "%s: %" PRIu64 " devices were not created",
		    u->path, d->devices);
	if (d->attributes > 0)
		msg_warn(&u->p->msg, "%s: %" PRIu64 " extended attributes were "
		    "not set", u->path, d->attributes);
}

void
layerpack_pull(struct layerpack *p)
{
	struct pulling u = { .p = p, .tree = OUTPUT_TREE_NONE,
		.new = { .tree = OUTPUT_TREE_NONE, .blobs = -1 } };
	struct pull_options o = { .plain_http = p->o.plain_http,
		.platform = p->o.platform, .threads = p->o.threads,
		.connections = p->o.connections, .max_B = p->o.max_size,
		.report = { .warn = pull_warned, .fail = pull_failed,
		    .arg = &u },
		.progress = &u.progress, .quiet = p->msg.quiet };
	bool done = false;
	int rc;

	if (take_destination(&u, p->o.make.output) != 0 ||
	    open_servers(&u) != 0)
		goto out;
	o.http = u.http;
	o.registries = u.registries;
	if (pull_open(&u.pull, p->o.pull, &o) != 0)
		goto out;
	if (u.layout) {
		done = pull_layout(&u.pull, &u.new, u.path, u.tag != NULL ?
		    u.tag : u.pull.tag) == 0;
	} else if (pull_tree(&u.pull, u.tree.dir, geteuid() == 0) == 0) {
		rc = output_tree_commit(&u.tree);
		if (rc != 0)
			msg_error(&p->msg, "%s: %s", u.path, strerror(-rc));
		done = rc == 0;
		report_left_out(&u);
	}
	if (done && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: sha256:%s, %zu layers, %" PRIu64
		    " bytes", u.path, u.pull.manifest_hex, u.pull.count,
		    u.pull.total_B);
out:
	pull_close(&u.pull);
	http_close(u.http);
	resolver_stop(u.resolver);
	helpers_stop(u.helpers);
	vfs_registries_free(u.registries);
	oci_new_abort(&u.new);
	output_tree_abort(&u.tree);
	sys_free(u.path);
}
