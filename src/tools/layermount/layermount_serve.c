/*
 * layermount_serve.c - the process that serves a mount
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This process mounts first, because Landlock forbids mounting, and only then
 * parses data from the network.  Until the layers are open, accesses to the
 * mount block.
 */
#include "layermount.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sandbox.h"
#include "base/sys.h"
#include "lazy/http/helpers.h"
#include "lazy/http/resolver.h"
#include "lazy/vfs/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories whose libraries the C library and libcurl load on demand. */
static const char *const libraries[] = { "/usr", "/lib", "/lib64" };

enum {
	LIBRARIES = sizeof(libraries) / sizeof(*libraries), FILES = 5
};

/* Confinement */

/* Directories that can still be read. */
struct readable {
	int *fds;
	size_t count, cap;
	int rc;
};

static int
open_path(const char *path)
{
	return sys_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* Takes the descriptor, unless it is that of an error. */
static void
add_fd(struct readable *r, int fd)
{
	void *fds = r->fds;
	int rc;

	if (fd < 0)
		return;
	rc = array_grow(&fds, r->count, &r->cap, sizeof(*r->fds));
	r->fds = fds;
	if (rc == 0) {
		r->fds[r->count++] = fd;
	} else {
		r->rc = rc;
		sys_close(fd);
	}
}

/* Adds a path that must remain readable or, if it is a file, its directory. */
static void
add_path(struct readable *r, const char *path)
{
	int fd = open_path(path);
	char *copy;

	if (fd < 0 && strstr(path, "://") == NULL &&
	    (copy = strcopy(path)) != NULL) {
		fd = open_path(dirname(copy));
		sys_free(copy);
	}
	add_fd(r, fd);
}

/*
 * The directory of a file, and that of what it leads to if it is a link: both
 * may get another one when it is renewed.  What is no file, such as /dev/null,
 * is not.
 */
static void
add_renewed(void *arg, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	if (sys_fstatat(AT_FDCWD, path, &st, 0) == 0 &&
	    !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return;
	add_path(arg, path);
	if (realpath(path, real) != NULL)
		add_path(arg, real);
}

static int
confine_server(struct layermount *m)
{
	const char *files[FILES] = { m->o.auth_file, m->o.ca_file, m->o.side };
	struct readable r = { .rc = 0 };
	bool confined;
	int rc;

	http_prepare(&files[3], &files[4]);
	for (size_t i = 0; i < LIBRARIES; i++)
		add_fd(&r, open_path(libraries[i]));
	for (size_t i = 0; i < FILES; i++)
		if (files[i] != NULL)
			add_path(&r, files[i]);
	for (int i = 0; i < m->o.operand_count; i++)
		add_path(&r, m->o.operands[i]);
	vfs_registries_files(m->registries, add_renewed, &r);
	rc = r.rc != 0 ? r.rc : sandbox_enter_fetching(m->cache_dir, r.fds,
	    r.count, &confined);
	for (size_t i = 0; i < r.count; i++)
		sys_close(r.fds[i]);
	sys_free(r.fds);
	if (rc != 0)
		msg_error(&m->msg, "Landlock: %s", strerror(-rc));
	return rc;
}

static bool
has_servers(const struct layermount *m)
{
	bool remote = m->o.store;

	for (int i = 0; i < m->o.operand_count; i++)
		remote = remote || strstr(m->o.operands[i], "://") != NULL;
	return remote;
}

/* Before confinement, starts what looks up the names of servers, if any. */
static int
start_resolver(struct layermount *m)
{
	int rc = has_servers(m) ? resolver_start(&m->resolver) : 0;

	if (rc != 0)
		msg_error(&m->msg, "cannot start the resolver: %s",
		    strerror(-rc));
	return rc;
}

/* Layers */

int
layermount_read_registries(struct layermount *m)
{
	char why[LAYER_WHY] = "";
	int rc = vfs_registries_of_user(&m->registries, m->o.registries_conf,
	    m->o.hosts_dir, why);

	if (rc != 0) {
		msg_error(&m->msg, "%s", why);
		return rc;
	}
	if (m->o.auth_file != NULL && has_servers(m))
		rc = helpers_start(&m->helpers, m->o.auth_file, HELPERS_S);
	if (rc != 0)
		msg_error(&m->msg, "cannot start what runs credential "
		    "helpers: %s", strerror(-rc));
	return rc;
}

int
layermount_open_http(struct layermount *m, unsigned connections)
{
	const struct vfs_report report = layermount_report(m);
	const struct http_options o = { .credentials = m->o.credentials,
		.credentials_for = m->o.credentials_for,
		.auth_file = m->o.auth_file, .ca_file = m->o.ca_file,
		.timeout_s = m->o.timeout_s, .connections = connections,
		.resolver = m->resolver, .helpers = m->helpers,
		.servers = vfs_registries_servers(m->registries),
		.warn = report.warn, .arg = report.arg };
	char why[LAYER_WHY];
	int rc = http_open(&m->http, &o, why);

	if (rc != 0)
		msg_error(&m->msg, "%s", why);
	return rc;
}

void
layermount_close_http(struct layermount *m)
{
	http_close(m->http);
	resolver_stop(m->resolver);
	helpers_stop(m->helpers);
	vfs_registries_free(m->registries);
}

static void
cache_failed(void *arg, const char *why)
{
	struct layermount *m = arg;
	const struct vfs_report report = layermount_report(m);
	char text[LAYER_WHY];

	snprintf(text, sizeof(text), "nothing is stored, and will be fetched "
	    "again: %s", why);
	report.warn(m, m->o.cache != NULL ? m->o.cache : "the temporary file",
	    text);
}

/*
 * Opens the cache, the HTTP client, the threads, and the operands or the store.  Returns
 * 0, or -errno after reporting the error; close_layers() must always be called.
 */
static int
open_layers(struct layermount *m)
{
	const struct layermount_options *o = &m->o;
	struct vfs_stack *s = &m->stack;
	/* only root can abort a mount or reduce readahead */
	bool pushes = m->readahead.fd >= 0, remote = false;
	struct vfs_options v = { .name = m->mountpoint,
		.remote = { .cache_dir = m->cache_dir,
			.cache_kept = o->cache != NULL,
			.plain_http = o->plain_http,
			.registries = m->registries,
			.report = layermount_report(m) },
		.expect = { .kind = o->kind, .side = o->side,
			.index_digest = o->index_digest,
			.key = o->has_key ? o->key : NULL,
			/* layers that are merged, or fetched, are read whole */
			.parts = o->operand_count == 1 &&
			    o->prefetch != VFS_PREFETCH_ALL },
		.prefetch = o->prefetch, .rate = o->rate,
		.keeps_units = pushes };
	const struct cache_options c = { .dir = m->cache_dir,
		.kept = o->cache != NULL, .limit = o->cache_bytes,
		.warn = cache_failed, .arg = m };
	int rc = cache_store_open(&m->cache, &c);

	if (rc != 0) {
		msg_error(&m->msg, "the cache: %s", strerror(-rc));
		return rc;
	}
	rc = layermount_open_http(m, o->connections);
	if (rc != 0)
		return rc;
	v.remote.http = m->http;
	v.remote.cache = m->cache;
	rc = vfs_open(&m->vfs, &v);
	if (rc == 0 && pushes)
		rc = push_start(&m->push, m->session);
	if (rc == 0 && o->store)
		rc = layermount_store_open(m);
	if (rc != 0)
		msg_error(&m->msg, "%s", strerror(-rc));
	if (rc != 0 || o->store)
		return rc;
	*s = (struct vfs_stack){ .v = m->vfs };
	for (int i = 0; i < o->operand_count; i++) {
		rc = vfs_image_add(s, o->operands[i]);
		if (rc != 0)
			return rc;
	}
	rc = vfs_stack_build(s, MERGE_MERGED);
	if (rc != 0)
		return rc;
	s->first_inode = 1;
	vfs_stack_fetch(s);
	for (size_t i = 0; i < s->source_count; i++)
		remote = remote || !s->sources[i]->local;
	/* reading more than is touched costs requests, but only to a server */
	if (!remote)
		readahead_raise(&m->readahead);
	return 0;
}

static void
close_layers(struct layermount *m)
{
	/* if a thread cannot end, the process is about to exit */
	if (m->store != NULL && !vfs_store_stop(m->store))
		return;
	vfs_stop(m->vfs);
	if (!push_stop(m->push))
		return;
	vfs_stack_close(&m->stack);
	if (m->store != NULL)
		vfs_store_close(m->store);
	vfs_close(m->vfs);
	cache_store_close(m->cache);
	layermount_close_http(m);
}

/* Signals */

static void
handled(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGALRM);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
}

static void *
handle_signals(void *arg)
{
	struct layermount *m = arg;
	sigset_t set;
	int n;

	handled(&set);
	while ((n = sigwaitinfo(&set, NULL)) != SIGUSR2)
		if (n == SIGUSR1)
			stats_write(m, "signal");
		else if (n == SIGALRM)
			readahead_raise(&m->readahead);
	return NULL;
}

/* Serving */

static int
serve_requests(struct layermount *m, int ready)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t thread;
	int rc = config == NULL ? -ENOMEM : layermount_start_metrics(m);

	if (rc == 0)
		rc = sys_thread(&thread, handle_signals, m);

	if (rc != 0) {
		msg_error(&m->msg, "%s", strerror(-rc));
		goto out;
	}
	if (!m->o.foreground)
		layermount_hide(m);
	rc = fdio_write(ready, "", 1);
	sys_close(ready);
	if (rc == 0)
		rc = fuse_session_loop_mt(m->session, config);
	/* the loop normally ends because of a signal */
	if (rc > 0)
		rc = 0;
	pthread_kill(thread, SIGUSR2);
	pthread_join(thread, NULL);
out:
	fuse_loop_cfg_destroy(config);
	return rc;
}

int
layermount_serve(struct layermount *m, int ready)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *se = NULL;
	struct pollfd p = { .events = POLLIN };
	bool unmounted = false;
	sigset_t set;
	int rc = -EIO;

	handled(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* a store learns of its users from their attempts to write */
	if (fuse_opt_add_arg(&args, "layermount") == 0 &&
	    fuse_opt_add_arg(&args, "-odefault_permissions,"
	    "fsname=layermount,subtype=layermount") == 0 &&
	    (m->o.store || fuse_opt_add_arg(&args, "-oro") == 0) &&
	    (!m->o.allow_other || fuse_opt_add_arg(&args, "-oallow_other") ==
	    0))
		se = fuse_session_new(&args, layermount_ops,
		    sizeof(*layermount_ops), m);
	fuse_opt_free_args(&args);
	if (se == NULL)
		return MSG_ERROR;
	m->session = se;
	if (layermount_read_registries(m) == 0 && start_resolver(m) == 0 &&
	    layermount_open_metrics(m) == 0 && fuse_set_signal_handlers(se) == 0) {
		/* libfuse reports why it cannot mount */
		if (fuse_session_mount(se, m->mountpoint) == 0) {
			readahead_open(&m->readahead, m->mountpoint,
			    m->o.readahead);
			rc = confine_server(m);
			if (rc == 0)
				rc = open_layers(m);
			if (rc == 0)
				rc = serve_requests(m, ready);
			metrics_stop(m->metrics);
			stats_write(m, "end");
			close_layers(m);
			readahead_close(&m->readahead);
		} else {
			layermount_close_http(m);
		}
		/* at least the connection of the mount no longer exists */
		p.fd = fuse_session_fd(se);
		unmounted = poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0;
		fuse_remove_signal_handlers(se);
	}
	fuse_session_destroy(se);
	if (rc == 0 && unmounted)
		return SERVE_UNMOUNTED;
	return rc == 0 ? MSG_OK : MSG_ERROR;
}
