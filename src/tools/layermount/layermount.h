/*
 * layermount.h - declarations shared by the parts of layermount
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first process (layermount_parent.c) starts a second process, the server,
 * which mounts, opens the layers and answers requests (layermount_serve.c).
 * The first process unmounts if the server is killed.  There is one stack of
 * all layers or, with --store, one for each layer (layermount_ops.c).  With
 * --containerd, it is a store that further processes mount the layers from
 * (layermount_containerd.c).  The data
 * of a stack (lazy/vfs/vfs.h) next to what was read is stored in the page cache
 * (layermount_push.c).
 */
#ifndef COLDPRESS_LAYERMOUNT_H
#define COLDPRESS_LAYERMOUNT_H

#include "base/msg.h"
#include "base/strbuf.h"
#include "lazy/metrics/metrics.h"
#include "lazy/vfs/cache.h"
#include "lazy/vfs/vfs_store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct layermount_options {
	const char *cache;		/* a directory, or NULL */
	uint64_t cache_bytes;
	char *credentials;		/* "user:password", or NULL */
	char *credentials_for;		/* a URL of their server */
	const char *auth_file, *ca_file;
	const char *registries_conf, *hosts_dir;	/* or NULL */
	char **registries;		/* the only ones that a store uses, if
					 * there are any */
	size_t registry_count, registry_cap;
	unsigned timeout_s, connections;
	enum vfs_prefetch prefetch;
	uint64_t rate;			/* maximum bytes per second in the
					 * background; 0: unlimited */
	uint64_t readahead;
	unsigned idle_s;		/* of a store's layers */
	bool plain_http;		/* for docker:// */
	bool allow_other;
	bool foreground;
	bool probe;
	bool store;
	const char *containerd;		/* a socket, or NULL */
	const char *metrics;		/* a socket, or NULL */
	bool status, json;
	bool stats;
	const char *stats_file;		/* NULL: standard error */
	const char *log_file;		/* NULL: the system log */
	const char *kind, *side, *index_digest;
	bool has_key;
	uint8_t key[LAYER_DIGEST];	/* digest of the repository signing
					 * key */
	char **operands;
	int operand_count;
	const char *mountpoint;		/* NULL with --probe and --status */
};

/*
 * Startup touches single pages of many files, and each page read ahead may
 * require another unit.  Therefore the kernel reads little ahead, if this
 * process may set that, until a file is read sequentially or some time has
 * passed.
 */
struct readahead {
	int fd;				/* the setting, or -1 */
	uint64_t bytes;			/* its final value */
	_Atomic bool raised;		/* it has its final value */
};

struct push;
struct fuse_session;
struct fuse_lowlevel_ops;

struct layermount {
	struct msg msg;
	struct layermount_options o;
	pthread_mutex_t message;	/* for messages of any thread */
	char last_message[1024];	/* the last one, and its time */
	int64_t last_message_s;
	int log_fd;			/* of --log, or -1 */
	bool in_log;			/* messages go to the system log */
	int null_fd;			/* /dev/null, or -1 */
	int stats_fd;			/* or -1 */
	int cache_dir;
	char *temp_dir;			/* in place of --cache, or NULL */
	char *cache_path;		/* of --cache, absolute, or NULL */
	char *mountpoint;		/* absolute */
	uint64_t start_ns;

	/* of the server */
	struct helpers *helpers;	/* or NULL */
	struct resolver *resolver;	/* or NULL */
	struct http *http;
	struct cache_store *cache;
	struct vfs_registries *registries;	/* or NULL */
	struct vfs *vfs;
	struct vfs_stack stack;		/* without --store */
	struct vfs_store *store;	/* or NULL */
	struct fuse_session *session;
	struct readahead readahead;
	struct push *push;		/* or NULL */
	int metrics_fd;			/* a listening socket, or -1 */
	struct metrics *metrics;	/* or NULL */
};

/* layermount.c */

/*
 * Prints an error or, in the background, writes it to the log.  m: a struct
 * layermount.  Thread-safe.
 */
void layermount_fail(void *m, const char *name, const char *why);

/* Returns how to report what happens to layers; in a store, as warnings. */
struct vfs_report layermount_report(struct layermount *m);

/*
 * Detaches a process from its terminal or pipe once the mount is ready: from
 * then on, messages go to the log.
 */
void layermount_hide(struct layermount *m);

/* layermount_options.c */

/* Parses the command line.  Returns -1 to continue, or the exit status. */
int layermount_parse(struct layermount *m, int argc, char **argv);

/* layermount_serve.c */

enum { SERVE_UNMOUNTED = 64 };

/*
 * Reads where images are mirrored, and starts what runs credential helpers,
 * before the process confines itself.  Returns 0, or -errno after reporting the
 * error.
 */
int layermount_read_registries(struct layermount *m);

/*
 * Opens the HTTP client, with a number of connections to each server.  Returns
 * 0, or -errno after reporting the error.
 */
int layermount_open_http(struct layermount *m, unsigned connections);

/* Closes what these two functions have opened, and the resolver. */
void layermount_close_http(struct layermount *m);

/*
 * Mounts, confines itself, opens the layers, writes one byte to `ready`, and
 * answers requests until the filesystem is unmounted or a signal arrives.  It
 * cannot unmount.  Returns the exit status, or SERVE_UNMOUNTED instead of 0 if
 * the mount no longer exists.
 */
int layermount_serve(struct layermount *m, int ready);

/* layermount_parent.c */

/*
 * Runs layermount_serve() in a child, and unmounts.  Returns the exit status.
 */
int layermount_run(struct layermount *m);

/* Opens the log for a process in the background.  Returns the exit status. */
int layermount_open_log(struct layermount *m);

/*
 * Calls serve() in this process or, without --foreground, in one that stays in
 * the background; serve() then writes a byte to `tell`, and closes it, when it
 * is ready.  Otherwise tell is -1.  Returns the exit status.
 */
int layermount_background(struct layermount *m,
    int (*serve)(struct layermount *m, int tell));

/* layermount_mounted.c */

/*
 * Finds the device number of our mount at a path.  Returns false if there is
 * none.
 */
bool mounted_by_us(const char *mountpoint, unsigned *major, unsigned *minor);

/* Calls each() with the path of each mount of ours. */
void mounted_each(void (*each)(void *arg, const char *path), void *arg);

/* Opens the setting, after the mount and before the process is confined. */
void readahead_open(struct readahead *r, const char *mountpoint,
    uint64_t bytes);
void readahead_close(struct readahead *r);

/* These functions reduce readahead for some time at startup, and restore it. */
void readahead_lower(struct readahead *r);
void readahead_raise(struct readahead *r);

/* layermount_ops.c */

extern const struct fuse_lowlevel_ops *const layermount_ops;

/*
 * Returns the number of an inode in the kernel: it has the number of the stack
 * in its upper half.
 */
uint64_t layermount_number(const struct vfs_stack *s, uint32_t inode);

/* Opens the store.  Returns 0 or -errno. */
int layermount_store_open(struct layermount *m);

/* layermount_push.c */

/* Starts the thread that fills the page cache.  Returns 0 or -errno. */
int push_start(struct push **p, struct fuse_session *session);

/*
 * Stops the thread; p may be NULL.  Returns false if it cannot exit before the
 * mount ends.
 */
bool push_stop(struct push *p);

/* Drops the data still to be stored for a stack that is no longer read. */
void push_forget(struct push *p, struct vfs_stack *s);

/*
 * Stores the rest of what a read was answered from: of the trace, or of the
 * unit.  p may be NULL.
 */
void push_read(struct push *p, const struct vfs_read *r);

/* Returns the number of bytes stored so far; p may be NULL. */
uint64_t push_counted(struct push *p);

/* layermount_stats.c */

/* Everything that is counted. */
struct stats {
	double elapsed_s;
	struct http_counts phases[HTTP_PHASES], http;	/* http: their sum */
	struct vfs_counts vfs;
	struct cache_counts cache;
	uint64_t pushed_bytes, maxrss_KiB;
};

/* Thread-safe. */
void stats_gather(struct layermount *m, struct stats *s);

/* Appends the counters as members of a JSON object. */
void stats_json(const struct stats *s, struct strbuf *b);

/* Writes the counts as one line of JSON to stats_fd, unless it is -1. */
void stats_write(struct layermount *m, const char *event);

/* layermount_metrics.c */

/* The attribute of a mount's root that has its status. */
#define LAYERMOUNT_STATUS "user.coldpress.status"

/*
 * Returns a listening socket, which only this user can connect to, in place of
 * one that nobody serves; or -1 after reporting the error.
 */
int layermount_listen(struct layermount *m, const char *path);

/*
 * Opens the socket of --metrics, before the process confines itself, and answers
 * there.  Both do nothing without this option.  Return 0 or -errno, the first
 * after reporting the error.
 */
int layermount_open_metrics(struct layermount *m);
int layermount_start_metrics(struct layermount *m);

/* Appends the status as members of a JSON object.  Thread-safe. */
void layermount_status_json(struct layermount *m, struct strbuf *b);

/* layermount_status.c */

/* Prints the status of mounts.  Returns the exit status. */
int layermount_status(struct layermount *m);

/* layermount_containerd.c */

/* Serves containerd's snapshots.  Returns the exit status. */
int layermount_containerd(struct layermount *m);

/* layermount_probe.c */

/* Prints the capabilities of an operand's server.  Returns the exit status. */
int layermount_probe(struct layermount *m);

#endif
