/*
 * vfs_private.h - declarations shared by the parts of the filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A source (vfs_source.c) reads a layer from a file or a server (vfs_remote.c).
 * A stack of them (vfs.c) is read through the units (units.c) or the trace
 * (vfs_trace.c, vfs_stream.c), while vfs_ahead.c fetches what may be read next.
 * Images (vfs_image.c) and a store (vfs_store.c) consist of stacks.  A stack may
 * have others in it (vfs_nested.c).
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_PRIVATE_H
#define COLDPRESS_LAZY_VFS_VFS_PRIVATE_H

#include "lazy/vfs/vfs.h"

struct vfs {
	struct vfs_options o;
	struct units *units;
	struct vfs_ahead *ahead;
	struct vfs_health health;
	/* counts */
	_Atomic uint64_t layers, files, unloaded;
	_Atomic uint64_t reads, read_bytes, first_reads, trace_bytes, failures;
};

/* vfs.c */

/* Returns the id of a unit of a node's layer. */
struct unit_id vfs_unit_of(const struct vfs_stack *s,
    const struct merge_node *n, uint32_t unit);

/*
 * Like vfs_stack_add_ops(), but with what is known and reported of this layer
 * instead of what the options say.
 */
int vfs_stack_add_part(struct vfs_stack *s, const char *name,
    const struct vfs_source_ops *ops, void *arg,
    const struct vfs_report *report, const struct vfs_expect *expect);

/* vfs_nested.c */

/*
 * Prepares the parts of a stack's layer.  nested is that of the stack in which
 * it is, or NULL.  Returns 0 or -ENOMEM.
 */
int vfs_nested_prepare(struct vfs_stack *s, struct vfs_nested *nested);

/* Closes the nested stacks of the stack at the top. */
void vfs_nested_close(struct vfs_stack *s);

/* vfs_remote.c */

/* Notes that data was fetched, or that it was not. */
void vfs_note(const struct vfs_remote *remote, bool fetched);

/*
 * Sets the operations of a source for the layer, or the repository, at the URL
 * s->name.  If s->vouched is set, the cache of a layer is shared by all with its
 * digest.  They must be closed in either case, if they are set.  Returns 0, or
 * -errno with a clause or "" in why.
 */
int vfs_remote_open(struct vfs_source *s, const struct vfs_remote *remote,
    const char *side, bool repository, char why[LAYER_WHY]);

/* vfs_stream.c */

struct vfs_stream;

/* Starts reading a range of a layer sequentially.  Returns 0 or -errno. */
int vfs_stream_open(struct vfs_stream **st, struct vfs_source *s,
    const struct layer_range *r);

/* Closes the stream.  If `wrong` is set, the source forgets the data. */
void vfs_stream_close(struct vfs_stream *st, bool wrong);

/*
 * Sets *data to the next bytes, which are valid until the next call.  Returns
 * the number of bytes, 0 at the end, or -errno.
 */
ssize_t vfs_stream_next(struct vfs_stream *st, const uint8_t **data);

/* vfs_trace.c */

/*
 * Fetches the traces of all layers into an unnamed file in dir, and sets *t, or
 * NULL if none can be used.  A layer whose trace is wrong is reported, and read
 * without it.  The sources and report must outlive *t.  Returns 0 or -errno.
 */
int vfs_trace_load(struct vfs_trace **t, struct vfs_source *const *sources,
    size_t count, int dir, const struct vfs_report *report);
void vfs_trace_free(struct vfs_trace *t);

/*
 * If the trace contains all size bytes at offset of an entry of a layer, copies
 * them to buf and returns true.  Fetches other sections if they contain these
 * bytes; one that cannot be used is reported.  Thread-safe.
 */
bool vfs_trace_read(struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t offset, size_t size, uint8_t *buf);

/* Like vfs_copy_traced(). */
size_t vfs_trace_next(struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t *offset, size_t size, uint8_t *buf);

/* Returns the number of other sections fetched so far. */
unsigned vfs_trace_loaded(struct vfs_trace *t);

/* vfs_ahead.c */

struct vfs_ahead;

/*
 * Starts the threads.  o must outlive *a, which must be closed in either case.
 * Returns 0 or -errno.
 */
int vfs_ahead_open(struct vfs_ahead **a, struct units *units,
    const struct vfs_options *o);
void vfs_ahead_close(struct vfs_ahead *a);	/* may be NULL */

/* Queues a stack to be fetched in the background. */
void vfs_ahead_add(struct vfs_ahead *a, struct vfs_stack *s);

/* Removes all trace of a stack; waits until nothing is being fetched for it. */
void vfs_ahead_forget(struct vfs_ahead *a, struct vfs_stack *s);

/* Between these, the background waits. */
void vfs_ahead_read_begins(struct vfs_ahead *a);
void vfs_ahead_read_ends(struct vfs_ahead *a);

/* Notes a read of a file; see vfs_read_ahead(). */
bool vfs_ahead_note(struct vfs_ahead *a, struct vfs_stack *s, uint32_t inode,
    uint64_t offset, size_t size);

/* Returns the number of units fetched ahead of reads. */
uint64_t vfs_ahead_counted(struct vfs_ahead *a);

#endif
