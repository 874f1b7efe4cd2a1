/*
 * vfs.h - layers presented as one tree, whose files are read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stack is a set of layers (vfs_source.h) presented as one tree.  A read is
 * satisfied from the trace, the data touched at startup, or from units, which
 * are fetched when they are needed, ahead of sequential reads, or in the
 * background while nobody reads.
 *
 * All functions except those that open and close are thread-safe.
 */
#ifndef COLDPRESS_LAZY_VFS_VFS_H
#define COLDPRESS_LAZY_VFS_VFS_H

#include "lazy/merge.h"
#include "lazy/vfs/units.h"
#include "lazy/vfs/vfs_source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is fetched before it is read. */
enum vfs_prefetch {
	VFS_PREFETCH_AUTO,		/* what the layers' makers marked */
	VFS_PREFETCH_NONE,
	VFS_PREFETCH_ALL
};

struct vfs_options {
	const char *name;		/* of a tree of several layers, in
					 * messages */
	struct vfs_remote remote;
	struct vfs_expect expect;
	enum vfs_prefetch prefetch;
	uint64_t rate;			/* bytes per second in the background;
					 * 0: unlimited */
	/*
	 * The caller keeps the rest of a unit from which it has read, so that
	 * a sequential read may continue at the next unit.
	 */
	bool keeps_units;
};

struct vfs;

/*
 * Starts the threads; the options are copied.  Returns 0 or -errno; *v must be
 * closed in either case.
 */
int vfs_open(struct vfs **v, const struct vfs_options *o);

/* Stops the threads, so that stacks can be closed.  v may be NULL. */
void vfs_stop(struct vfs *v);

/* All stacks must have been closed, after vfs_stop().  v may be NULL. */
void vfs_close(struct vfs *v);

struct vfs_counts {
	uint64_t layers, files;		/* in stacks now open */
	uint64_t unloaded;		/* layers closed by a store */
	uint64_t reads, read_bytes;
	uint64_t first_reads;		/* files read at least once */
	uint64_t failures;
	bool failing;			/* the last attempt to fetch failed */
	uint64_t trace_bytes;		/* read from traces */
	uint64_t ahead_units;		/* fetched ahead of reads */
	struct units_counts units;
};

/* v may be NULL. */
void vfs_counted(struct vfs *v, struct vfs_counts *c);

/*
 * Joins a thread that should end soon.  Returns false if it does not, because
 * it waits for the kernel.
 */
bool vfs_join(pthread_t thread);

/* Stacks */

struct vfs_trace;
struct vfs_nested;
struct vfs_part;

/* A stack.  All zeros except for v: none, which may be closed. */
struct vfs_stack {
	struct vfs *v;
	struct vfs_source **sources;	/* lowest layer first */
	size_t source_count, source_cap;
	struct merge *tree;
	struct vfs_trace *trace;	/* or NULL */
	/* for each node: whether it was read, and flags of the caller */
	_Atomic uint8_t *seen;
	/* the caller's references to all inodes, and to each one of a store */
	_Atomic uint64_t references;
	_Atomic uint32_t *lookups;
	uint64_t number;		/* in a store, from 1; otherwise 0 */
	uint64_t first_inode;		/* the caller's number of the root */
	struct vfs_stack *next;		/* next to be fetched */
	/* directories in stacks of their own; see vfs_stack_enter() */
	struct vfs_nested *nested;	/* shared by all of a tree, or NULL */
	struct vfs_part *parts;		/* of this stack's layer, or NULL */
	struct vfs_stack *up;		/* whose directory this is, or NULL */
	uint32_t up_inode;
};

enum {
	VFS_SEEN_READ = 1,
	VFS_SEEN_CALLER = 2		/* the first of the caller's flags,
					 * which are all but VFS_SEEN_READ */
};

/*
 * Adds the layer at a URL or in a file, with the index named by its annotations
 * in a manifest (NULL: none).  Returns 0, or -errno after reporting the error.
 */
int vfs_stack_add(struct vfs_stack *s, const char *name,
    const struct oci_document *manifest, size_t which);

/* Adds a layer whose bytes come from ops, and takes ownership of arg. */
int vfs_stack_add_ops(struct vfs_stack *s, const char *name,
    const struct vfs_source_ops *ops, void *arg);

/*
 * Builds the tree of the layers added, and loads their traces.  In mode
 * MERGE_OVERLAY references to each inode are counted.  Returns 0, or -errno
 * after reporting the error.
 */
int vfs_stack_build(struct vfs_stack *s, enum merge_mode mode);

/* From now on, the stack is fetched in the background, if that was wanted. */
void vfs_stack_fetch(struct vfs_stack *s);

/*
 * Closes a stack and its layers.  While threads run, vfs_stack_forget() must
 * have been called.
 */
void vfs_stack_close(struct vfs_stack *s);

/* Stops fetching for a stack that is no longer read. */
void vfs_stack_forget(struct vfs_stack *s);

/* Count references to an inode. */
void vfs_stack_reference(struct vfs_stack *s, uint32_t inode, uint64_t count);
void vfs_stack_unreference(struct vfs_stack *s, uint32_t inode,
    uint64_t count);

/*
 * Nested stacks.  If a layer was opened without its parts (vfs_expect.parts,
 * for a stack of a single layer), the contents of each such directory are in a
 * stack of their own, which is opened when the directory is entered.  It is
 * numbered from 1, and its root stands for the directory.
 */

/*
 * If an inode is such a directory, replaces it with the root of its stack,
 * which is opened if necessary; several threads wait for one that opens it.
 * Returns 0, or -errno after a warning; a later call tries again.
 */
int vfs_stack_enter(struct vfs_stack **s, uint32_t *inode);

/* If an inode is the root of a nested stack, replaces it with the directory. */
void vfs_stack_leave(struct vfs_stack **s, uint32_t *inode);

/* Returns the nested stack with this number, or NULL. */
struct vfs_stack *vfs_stack_numbered(struct vfs_stack *s, uint64_t number);

/* Returns the link count of an inode. */
uint32_t vfs_stack_links(const struct vfs_stack *s, uint32_t inode);

/* Reading */

/* A read of a file: the first three fields are given. */
struct vfs_read {
	struct vfs_stack *stack;
	uint32_t inode;
	uint64_t offset;

	size_t size;			/* of the data */
	const uint8_t *data;		/* valid until vfs_read_end() */
	bool traced;			/* it comes from the trace */
	struct unit *unit;		/* that contains it, or NULL */
	uint8_t *buf;			/* private */
};

/*
 * Reads up to size bytes of a file; fewer only at its end.  Returns their
 * number, or -errno.  vfs_read_end() must follow in either case.
 */
ssize_t vfs_read(struct vfs_read *r, size_t size);

/*
 * To be called after a successful read, when its data has been used: fetches
 * what follows, if the file is read sequentially.  Returns whether enough has
 * been read sequentially to conclude that startup is complete.
 */
bool vfs_read_ahead(const struct vfs_read *r);
void vfs_read_end(struct vfs_read *r);

/*
 * Copies to buf up to size bytes of a file: the first bytes at or after *offset
 * that the trace contains, as far as it has been fetched.  Sets *offset to
 * their offset.  Returns the number of bytes, or 0 if there are none.
 */
size_t vfs_copy_traced(struct vfs_stack *s, uint32_t inode, uint64_t *offset,
    size_t size, uint8_t *buf);

/*
 * Returns the number of sections of traces that reads have fetched so far.
 * When it grows, vfs_copy_traced() may find more.
 */
unsigned vfs_traced_sections(const struct vfs_stack *s);

/*
 * Copies bytes of a file at offset, which are in the run r.  Returns false if
 * its unit is not in memory.  Never blocks.
 */
bool vfs_copy_run(struct vfs_stack *s, uint32_t inode,
    const struct layer_run *r, uint64_t offset, size_t size, uint8_t *buf);

#endif
