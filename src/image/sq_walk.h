/*
 * sq_walk.h - what the parts of the walk over a squashfs image share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQ_WALK_H
#define COLDPRESS_SQ_WALK_H

#include "sq.h"
#include "walk.h"

#include <stdatomic.h>

#define SQ_NIL UINT32_MAX		/* no such index */

struct sq_dir {
	const uint8_t *name;		/* in the image's table */
	uint32_t name_len;
	uint32_t parent;		/* index; the root is 0 */
	uint32_t depth;
	uint64_t ref;
};

/* All but directories, and directories that are damaged. */
struct sq_entry {
	const uint8_t *name;
	uint64_t ref;
	uint32_t name_len, dir;
	uint32_t next;			/* entry with the same data, or nil */
	uint8_t type;			/* enum squashfs_type */
	bool bad;
};

/* Data of one file, or of several that share all of it. */
struct sq_data {
	uint64_t start, size;
	const uint8_t *blocks;
	uint32_t block_count;
	uint32_t fragment, fragment_offset;
	uint32_t entry, last;		/* that have it; the first by path */
	uint32_t next;			/* data in the same fragment, or nil */
	uint32_t next_done;		/* in the list of one thread, or nil */
	struct sq_chain *chain;		/* while it is hashed in parts */
	int64_t first_ns;
	uint64_t ref;
	atomic_int err;
	uint8_t digest[DIGEST_MAX];
};

/* What is read as one stretch: the blocks of some data, or a fragment. */
struct sq_item {
	uint64_t key;			/* order of reading */
	uint32_t index;			/* of data or fragment */
	bool is_fragment;
};

struct sq_tree {
	struct sq_dir *dirs;
	size_t dir_count, dir_cap;
	struct sq_entry *entries;
	size_t count, cap;
	struct sq_data *datas;
	size_t data_count;
	uint32_t *fragments;		/* first data in each, or nil */
	struct sq_item *items;
	size_t item_count;
	uint64_t bytes;			/* each data once */
	uint64_t links_to_data;		/* entries whose data is another's */
};

/* A path that is made again and again, and the directory it begins with. */
struct sq_path {
	char *s;
	size_t cap, dir_len;
	uint32_t dir;
};

/* Damage, with the path of a file or NULL. */
typedef void sq_damage_fn(void *arg, uint64_t offset, const char *path,
    const char *reason);

/* sq_tree.c: all names.  0 or -ENOMEM. */
int sq_tree_read(struct sq_tree *t, const struct squashfs *q,
    sq_damage_fn *damage, void *arg);
void sq_tree_free(struct sq_tree *t);

/* The path of an entry or (sq_tree_dir_path) a directory; NULL: no memory. */
const char *sq_tree_path(const struct sq_tree *t, const struct sq_entry *e,
    struct sq_path *p);
const char *sq_tree_dir_path(const struct sq_tree *t, uint32_t dir,
    struct sq_path *p);

/*
 * sq_plan.c: finds the data of files, who shares it, and the order of
 * reading.  A file whose inode is damaged is marked as bad.  0 or -ENOMEM.
 */
int sq_plan_make(struct sq_tree *t, const struct squashfs *q);

/* Bytes of d in its fragment. */
uint32_t sq_data_tail(const struct squashfs *q, const struct sq_data *d);

/* sq_pool.c: buffers of one size, so many at most. */
struct sq_buf {
	struct sq_buf *next;		/* in the pool, or in a chain */
	uint32_t first, count;		/* blocks of a chain */
	uint32_t len;
	unsigned users;
	uint8_t data[];
};

struct sq_pool {
	struct sq_buf *free;
	size_t size;
	unsigned left;			/* that may still be made */
	unsigned waiting;
	pthread_cond_t some;
};

/*
 * Under the caller's lock.  NULL: *stop became true, or there is no memory.
 */
struct sq_buf *sq_pool_get(struct sq_pool *p, pthread_mutex_t *lock,
    const atomic_bool *stop);
void sq_pool_put(struct sq_pool *p, struct sq_buf *b);
void sq_pool_free(struct sq_pool *p);

/* Data whose hash is made in parts, in order.  Under the walk's lock. */
struct sq_chain {
	struct sq_chain *free;
	struct digest *digest;
	struct sq_buf *pending;		/* by block */
	struct sq_buf *tail;		/* its fragment */
	uint32_t next;			/* block to be hashed */
	bool busy;			/* a thread has the digest */
	bool tail_known;		/* also if it is bad */
};

struct sq_walk {
	const struct walk_options *o;
	struct walk_result *r;
	struct squashfs *q;
	struct sq_tree tree;
	size_t buf_B;
	atomic_bool stop;
	atomic_int err;

	pthread_mutex_t lock;		/* of all that follows */
	struct sq_pool pool;
	struct sq_chain *chains;	/* that are free */
	size_t item;			/* the next ticket: where it begins */
	uint32_t block;
	uint64_t at;			/* of that block */
	uint64_t advised;		/* read ahead up to there */

	pthread_mutex_t rows;		/* of callbacks and of r */
};

/* The walk ends with rc, unless it ends already. */
void sq_walk_fail(struct sq_walk *w, int rc);

/* sq_rows.c: the rows of all entries with data d, and damage to it. */
struct sq_rows {
	struct sq_walk *w;
	struct sq_path paths[2];
};

/* Under the lock of rows. */
void sq_rows_data(struct sq_rows *s, const struct sq_data *d);

/* Takes that lock: damage to d, whose error becomes err. */
void sq_rows_bad(struct sq_rows *s, struct sq_data *d, uint64_t offset,
    int err, const char *reason);

/* All that has no data of its own. */
void sq_rows_rest(struct sq_rows *s);
void sq_rows_free(struct sq_rows *s);

/* A sq_damage_fn whose argument is a struct sq_walk. */
void sq_rows_damage(void *arg, uint64_t offset, const char *path,
    const char *reason);

/*
 * Leaves in the tree only what options->only names, with a row for what is
 * not there.  0 or -ENOMEM.
 */
int sq_rows_select(struct sq_walk *w);

#endif
