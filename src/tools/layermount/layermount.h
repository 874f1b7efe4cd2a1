/*
 * layermount.h - declarations shared by the parts of layermount
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first process (layermount_parent.c) starts a second process, the server,
 * which mounts, opens the layers and answers requests (layermount_serve.c).
 * The first process unmounts if the server is killed.  A source is one layer
 * with access to its data (layermount_source.c), derived from an operand
 * (layermount_image.c).  A stack is a set of layers presented as one tree
 * (layermount_stack.c): there is one stack of all layers or, with --store, one
 * for each layer (layermount_store.c).  Reads (layermount_read.c) are satisfied
 * from the trace (layermount_trace.c) or from units, and adjacent data is
 * stored in the page cache (layermount_push.c).
 */
#ifndef COLDPRESS_LAYERMOUNT_H
#define COLDPRESS_LAYERMOUNT_H

#include "base/msg.h"
#include "image/oci/oci.h"
#include "lazy/blobs_file.h"
#include "lazy/vfs/cache.h"
#include "lazy/http/http.h"
#include "lazy/layer.h"
#include "lazy/merge.h"
#include "lazy/vfs/units.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

enum layermount_prefetch {
	PREFETCH_AUTO, PREFETCH_NONE, PREFETCH_ALL
};

struct layermount_options {
	const char *cache;		/* a directory, or NULL */
	uint64_t cache_bytes;
	char *credentials;		/* "user:password", or NULL */
	char *credentials_for;		/* a URL of their server */
	const char *auth_file, *ca_file;
	char **registries;		/* the only ones that a store uses, if
					 * there are any */
	size_t registry_count, registry_cap;
	unsigned timeout_s, connections;
	enum layermount_prefetch prefetch;
	uint64_t rate;			/* maximum bytes per second in the
					 * background; 0: unlimited */
	uint64_t readahead;
	unsigned idle_s;		/* of a store's layers */
	bool plain_http;		/* for docker:// */
	bool allow_other;
	bool foreground;
	bool probe;
	bool store;
	bool stats;
	const char *stats_file;		/* NULL: standard error */
	const char *log_file;		/* NULL: the system log */
	const char *kind, *side, *index_digest;
	bool has_key;
	uint8_t key[LAYER_DIGEST];	/* digest of the repository signing
					 * key */
	char **operands;
	int operand_count;
	const char *mountpoint;		/* NULL with --probe */
};

/* One layer. */
struct source {
	struct layermount *m;
	char *name;			/* URL or path */
	struct http_object *object;	/* or NULL: a file */
	struct blobs_file *file, *side;
	struct cache *cache;		/* cache of object, or NULL */
	struct layer *layer;
	struct layer_blobs blobs;	/* blobs of the layer */
	struct units_source units;
	bool vouched;			/* its index's digest is known */
	_Atomic bool failing;		/* its last request failed */
	bool repository;		/* name is the URL of its directory */
	char why[LAYER_WHY];		/* reason for a repository error */
};

struct trace;
struct ahead;
struct background;
struct push;
struct store;
struct fuse_session;

/* Flags that record events for a file. */
enum seen {
	SEEN_READ = 1,
	SEEN_PUSHED = 2			/* its trace data has been pushed */
};

/* Layers presented as one tree. */
struct stack {
	struct layermount *m;
	struct source **sources;	/* lowest layer first */
	size_t source_count, source_cap;
	struct merge *tree;
	struct trace *trace;		/* or NULL */
	_Atomic uint8_t *seen;		/* for each node: enum seen */
	/* the kernel's references to all inodes, and to each one in a store */
	_Atomic uint64_t references;
	_Atomic uint32_t *lookups;
	uint64_t number;		/* in a store, from 1; otherwise 0 */
	uint64_t first_inode;		/* first inode number in the kernel */
	struct stack *next;		/* next to be fetched */
};

struct layermount {
	struct msg msg;
	struct layermount_options o;
	int cache_dir;
	char *temp_dir;			/* in place of --cache, or NULL */
	char *mountpoint;		/* absolute */
	struct http *http;		/* or NULL if all layers are files */
	struct stack stack;		/* without --store */
	struct store *store;		/* or NULL */
	struct units *units;
	struct ahead *ahead;
	struct background *background;	/* or NULL */
	struct fuse_session *session;
	struct push *push;		/* or NULL */
	pthread_mutex_t message;	/* for layermount_refuse() */
	int readahead_fd;		/* kernel readahead setting, or -1 */
	int stats_fd;			/* or -1 */
	int log_fd;			/* of --log, or -1 */
	bool in_log;			/* messages go to the system log */
	int null_fd;			/* /dev/null, or -1 */

	_Atomic bool raised;		/* readahead has its final setting */

	/* counts */
	_Atomic uint64_t layers, files, unloaded;
	_Atomic uint64_t reads, read_bytes, ahead_units;
	_Atomic uint64_t first_files, trace_bytes, pushed_bytes, failures;
	_Atomic unsigned reading;	/* number of reads in progress */
	_Atomic uint64_t last_read_ns;
	uint64_t start_ns;
};

/* layermount.c */

/*
 * Reports that something cannot be opened; in a store, as a warning.  Returns
 * rc.  Thread-safe.
 */
int layermount_refuse(struct layermount *m, const char *name, int rc,
    const char *why);

/*
 * These functions print a warning and an error or, in the background, write
 * them to the log.  Thread-safe.
 */
void layermount_warn(struct layermount *m, const char *name, const char *why);
void layermount_fail(struct layermount *m, const char *name, const char *why);

/*
 * Detaches a process from its terminal or pipe once the mount is ready: from
 * then on, messages go to the log.
 */
void layermount_hide(struct layermount *m);

/* layermount_options.c */

/* Parses the command line.  Returns -1 to continue, or the exit status. */
int layermount_parse(struct layermount *m, int argc, char **argv);

/* layermount_creds.c */

/*
 * Takes credentials from the argument of an option, and overwrites it, because
 * all users can see arguments.  Returns -1 or MSG_ERROR.
 */
int creds_take(struct layermount *m, char *argument);

/* Reads credentials from a file, or from standard input if it is "-". */
int creds_read(struct layermount *m, const char *file);

/* Determines whom to send the credentials to: the only server of the operands. */
int creds_bind(struct layermount *m);

/* layermount_name.c */

#define IMAGE_SCHEME "docker://"

enum { IMAGE_HOST = 264 };

/* An image in a registry. */
struct image_name {
	char host[IMAGE_HOST];		/* HOST or HOST:PORT */
	char base[1024];		/* scheme://HOST/v2/NAME */
	char reference[256];		/* a digest or a tag */
};

/* Examines HOST or HOST:PORT, and finds whether it is a loopback address. */
bool image_host(const char *name, bool *loopback);

/* Returns whether an operand is the name of an image in a registry. */
bool image_is_remote(const char *operand);

/*
 * Parses HOST/NAME[:TAG][@DIGEST], with or without IMAGE_SCHEME.  Returns 0, or
 * -EINVAL, -ENAMETOOLONG or -ENOMEM with the reason, or "", in why.
 */
int image_parse(const struct layermount *m, const char *text,
    struct image_name *n, char why[LAYER_WHY]);

/* layermount_image.c */

/*
 * Adds the sources of an operand: a URL, an image in a registry, a layout, or a
 * file.  Returns 0, or -errno after reporting the error.
 */
int image_open(struct stack *s, const char *operand);

/*
 * Gets an image's manifest for this machine, and its SHA-256.  Returns 0, or
 * -errno after reporting the error; *d must be freed with oci_free().
 */
int image_manifest(struct layermount *m, const struct image_name *n,
    struct oci_document **d, char hex[OCI_HEX + 1]);

/* Gets a manifest's config in the same way. */
int image_config(struct layermount *m, const struct image_name *n,
    const struct oci_document *manifest, struct oci_document **d);

/* layermount_source.c */

/*
 * Adds the layer at a URL or in a file to a stack, with the index named by its
 * annotations in a manifest (NULL: none).  Returns 0, or -errno after reporting
 * the error.
 */
int source_add(struct stack *s, const char *name,
    const struct oci_document *manifest, size_t which);
void sources_close(struct stack *s);

/*
 * Opens the cache for a source's data, under this key with --cache.  Returns 0,
 * or -errno with the reason in why.
 */
int source_open_cache(struct source *s, const char *key, char why[LAYER_WHY]);

/* The functions of struct units_source; arg is a struct source. */
int source_read(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase);
void source_forget(void *arg, const struct layer_range *r);

/* layermount_stack.c */

/*
 * Builds the tree of the sources added to a stack, and loads their traces.
 * Returns 0, or -errno after reporting the error.
 */
int stack_build(struct stack *s, enum merge_mode mode);

/* Closes a stack and its sources; s may be all zeros except for m. */
void stack_close(struct stack *s);

/* layermount_repository.c */

/*
 * Opens the cache for a repository's objects.  Returns 0, or -errno with the
 * reason in why.
 */
int repository_open(struct source *s, char why[LAYER_WHY]);

/* Reads objects as source_read() does. */
int repository_read(struct source *s, const struct layer_range *r,
    size_t count, enum http_phase phase);

/* layermount_load.c */

/*
 * Opens the HTTP client, the units, the threads, and the operands or the store.
 * Returns 0, or -errno after reporting the error; layers_close() must always be
 * called.
 */
int layers_open(struct layermount *m);
void layers_close(struct layermount *m);

/* layermount_serve.c */

enum { SERVE_UNMOUNTED = 64 };

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

/* layermount_ops.c, layermount_store_ops.c */

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops *const layermount_ops;
extern const struct fuse_lowlevel_ops *const layermount_store_ops;

/* layermount_read.c */

/*
 * Reads up to size bytes of a file at offset into buf.  Returns the number of
 * bytes, or -errno.
 */
ssize_t read_file(struct stack *s, const struct merge_node *n,
    uint64_t offset, size_t size, uint8_t *buf, enum http_phase phase);

/*
 * If all bytes are in one available unit, sets *data and *unit, which must be
 * released, and returns the number of bytes.  Otherwise returns 0 or -errno.
 */
ssize_t read_in_place(struct stack *s, const struct merge_node *n,
    uint64_t offset, size_t size, const uint8_t **data, struct unit **unit);

/* Returns the id of a unit of a node's layer. */
struct unit_id read_unit(struct stack *s, const struct merge_node *n,
    uint32_t unit);

/* layermount_ahead.c */

/* Starts the threads.  Returns 0 or -errno. */
int ahead_start(struct layermount *m);
void ahead_stop(struct layermount *m);

/* Stops fetching for a stack that is no longer read; waits for its requests. */
void ahead_forget(struct stack *s);

/*
 * Reports a read of a file; if it is sequential, the following units are
 * fetched.  Returns whether enough has been read sequentially to conclude that
 * startup is complete.
 */
bool ahead_note(struct stack *s, uint32_t inode, uint64_t offset, size_t size);

/* layermount_background.c */

/* Starts the thread if the options require it.  Returns 0 or -errno. */
int background_start(struct layermount *m);
void background_stop(struct layermount *m);

/* Queues a stack to be fetched. */
void background_add(struct stack *s);

/* Removes a stack; waits until nothing is being fetched for it. */
void background_forget(struct stack *s);

/* layermount_readahead.c */

/* Opens the setting, after the mount and before the process is confined. */
void readahead_open(struct layermount *m);
void readahead_close(struct layermount *m);

/* These functions reduce readahead for some time at startup, and restore it. */
void readahead_lower(struct layermount *m);
void readahead_raise(struct layermount *m);

/* layermount_trace.c */

/* Fetches the traces of all layers, if any.  Returns 0 or -ENOMEM. */
int trace_load(struct stack *s);
void trace_free(struct trace *t);		/* may be NULL */

/*
 * If the trace contains all size bytes at offset, copies them to buf and
 * returns true.
 */
bool trace_read(struct stack *s, const struct merge_node *n,
    uint64_t offset, size_t size, uint8_t *buf);

/*
 * Copies to buf up to size bytes of a file: the first bytes at or after *offset
 * that the trace contains.  Sets *offset to their offset.  Returns the number
 * of bytes, or 0 if there are none.
 */
size_t trace_next(struct stack *s, const struct merge_node *n,
    uint64_t *offset, size_t size, uint8_t *buf);

/* layermount_stream.c */

struct stream;

/* Starts reading a range of a layer sequentially.  Returns 0 or -errno. */
int stream_open(struct stream **st, struct source *s,
    const struct layer_range *r);

/* Closes the stream.  If `wrong` is set, the cache does not keep the data. */
void stream_close(struct stream *st, bool wrong);

/*
 * Sets *data to the next bytes, which are valid until the next call.  Returns
 * the number of bytes, 0 at the end, or -errno.
 */
ssize_t stream_next(struct stream *st, const uint8_t **data);

/* layermount_push.c */

/*
 * Starts the thread that stores data in the page cache.  Returns 0 or -errno.
 */
int push_start(struct layermount *m);

/* Stops the thread.  Returns false if it cannot exit before the mount ends. */
bool push_stop(struct layermount *m);

/* Drops the data still to be stored for a stack that is no longer read. */
void push_forget(struct stack *s);

/* Joins a thread that should end soon.  Returns false if it does not. */
bool push_join(pthread_t thread);

/* Reports that a read of a file at offset was answered from the trace. */
void push_traced(struct stack *s, uint32_t inode, uint64_t offset);

/* Notes that a read of size bytes was satisfied from a unit. */
void push_unit(struct stack *s, uint32_t inode, uint64_t offset, size_t size,
    const struct unit *unit);

/* layermount_stats.c */

/* Writes the counts as one line of JSON. */
void stats_write(struct layermount *m, const char *event);

/* layermount_probe.c */

/* Prints the capabilities of an operand's server.  Returns the exit status. */
int layermount_probe(struct layermount *m);

#endif
