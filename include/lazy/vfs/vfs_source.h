/*
 * vfs_source.h - one layer, and where its bytes come from
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is read from a file or, through the cache, from a server; a caller
 * with bytes of its own gives the operations.  The index is read in the same
 * way, so that a restart does not need the server.
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_SOURCE_H
#define COLDPRESS_LAZY_VFS_VFS_SOURCE_H

#include "lazy/http/http.h"
#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cache_store;
struct oci_document;
struct vfs_registries;

/*
 * What happened to a layer or an image, by name, for people.  warn() is called
 * by any thread; fail() is called when something cannot be opened, by the
 * thread that opens it.
 */
struct vfs_report {
	void (*warn)(void *arg, const char *name, const char *why);
	void (*fail)(void *arg, const char *name, const char *why);
	void *arg;
};

/* Calls fail(), with the text for rc if why is "".  Returns rc. */
int vfs_refuse(const struct vfs_report *r, const char *name, int rc,
    const char *why);

/* When data was last fetched, and when that or its use last failed. */
struct vfs_health {
	_Atomic uint64_t fetched_ns, failed_ns;
};

/* How servers are reached, and where their data is kept. */
struct vfs_remote {
	struct http *http;		/* NULL: they are not */
	int cache_dir;			/* for cache files, and unnamed ones */
	bool cache_kept;		/* for later processes */
	struct cache_store *cache;	/* of what is fetched, or NULL */
	bool plain_http;		/* images are fetched without TLS */
	/* mirrors; may be NULL */
	struct vfs_registries *registries;
	struct vfs_health *health;	/* set by vfs_open(); or NULL */
	struct vfs_report report;
};

/* What is known about layers before they are opened; any field may be 0. */
struct vfs_expect {
	const char *kind;		/* name of a format */
	const char *side;		/* a file with the index */
	const char *index_digest;	/* "sha256:" and 64 digits */
	const uint8_t *key;		/* digest of the key that signs a
					 * repository: LAYER_DIGEST bytes */
	/* as in struct layer_expect */
	bool parts;
	const struct layer_part *part;
};

/*
 * Where a source gets its bytes; all but read and size may be NULL.  read,
 * fetch and forget are thread-safe.
 */
struct vfs_source_ops {
	/* Like read and size of struct layer_blobs. */
	int (*read)(void *arg, const struct layer_range *r, size_t count,
	    enum http_phase phase);
	int (*size)(void *arg, const char *object, uint64_t *size);
	/* Reads ranges that are needed only once, without keeping them. */
	int (*fetch)(void *arg, const struct layer_range *r, size_t count,
	    enum http_phase phase);
	/* The bytes of this range were wrong, and are not to be kept. */
	void (*forget)(void *arg, const struct layer_range *r);
	/*
	 * The same for all bytes.  Returns whether the next read may give
	 * others.
	 */
	bool (*forget_all)(void *arg);
	/* Writes why the last call failed, or "". */
	void (*why)(void *arg, char why[LAYER_WHY]);
	void (*close)(void *arg);
};

struct units_decoder;

struct vfs_source {
	char *name;			/* URL or path */
	struct layer *layer;
	bool vouched;			/* its index's digest is known */
	bool local;			/* a file */

	/* private */
	const struct vfs_source_ops *ops;
	void *arg;			/* of ops */
	struct layer_blobs blobs;	/* for layer */
	/* guarded by the lock of the units */
	struct units_decoder *idle;
	uint64_t *tags;			/* of verified bytes, by unit */
};

/*
 * Opens the layer at a URL or in a file; `which` is its number in a manifest
 * (NULL: none), whose annotations name its index.  *s is then zeroed or set,
 * and must be closed in either case.  remote must outlive the source.  Returns
 * 0, or -errno after reporting the error.
 */
int vfs_source_open(struct vfs_source *s, const char *name,
    const struct vfs_remote *remote, const struct vfs_expect *expect,
    const struct oci_document *manifest, size_t which);

/*
 * Opens a layer whose bytes come from ops, and takes ownership of arg.
 * Otherwise like vfs_source_open().
 */
int vfs_source_open_ops(struct vfs_source *s, const char *name,
    const struct vfs_source_ops *ops, void *arg,
    const struct vfs_report *report, const struct vfs_expect *expect,
    const struct oci_document *manifest, size_t which);

/* The caller calls units_forget() first.  s may be zeroed. */
void vfs_source_close(struct vfs_source *s);

/* Reads ranges completely.  Returns 0 or -errno.  Thread-safe. */
int vfs_source_read(struct vfs_source *s, const struct layer_range *r,
    size_t count, enum http_phase phase);

/*
 * Reads in the same way ranges that are needed only once; the cache does not
 * keep them.
 */
int vfs_source_fetch(struct vfs_source *s, const struct layer_range *r,
    size_t count, enum http_phase phase);

/* Discards a range whose data was wrong.  Thread-safe. */
void vfs_source_forget(struct vfs_source *s, const struct layer_range *r);

#endif
