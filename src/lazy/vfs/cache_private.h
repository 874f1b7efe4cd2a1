/*
 * cache_private.h - the two kinds of store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A directory (cache_dir.c) or an unnamed file (cache_temp.c), behind cache.c.
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_PRIVATE_H
#define COLDPRESS_LAZY_VFS_CACHE_PRIVATE_H

#include "lazy/vfs/cache.h"

#include <stdatomic.h>

#define CACHE_LAYER ".layer"
#define CACHE_TEXT ".text"
#define CACHE_SPACE ".space"

enum { CACHE_NAME = 80, CACHE_BLOCK = 4096, CACHE_BATCH = 16 };

/* Where a range belongs. */
struct cache_place {
	const char *layer;		/* HEX.layer */
	uint64_t key;			/* hash of the layer's key */
	uint64_t object;		/* hash of the object's name */
	uint64_t offset;		/* of the range in the object */
};

/*
 * Opens a file for reading or writing, and creates it if flags say so.  Returns
 * its descriptor; -EINVAL if the name is not that of a regular file; or another
 * -errno.
 */
int cache_file(int dir, const char *name, int flags);

/* cache_dir.c */

struct cache_dir;

/* Return what the functions of cache.h do. */
int cache_dir_open(struct cache_dir **d, int dir, uint64_t limit);
void cache_dir_close(struct cache_dir *d);	/* may be NULL */
int cache_dir_check(struct cache_dir *d, const char *layer);
ssize_t cache_dir_find(struct cache_dir *d, const struct cache_place *p,
    uint64_t room, void *buf);
int cache_dir_write(struct cache_dir *d, const struct cache_place *p,
    uint64_t length, const void *data);
void cache_dir_drop(struct cache_dir *d, const struct cache_place *p);
int cache_dir_clear(struct cache_dir *d, const char *layer);
void cache_dir_counted(struct cache_dir *d, struct cache_counts *c);

/* cache_temp.c */

struct cache_temp;

int cache_temp_open(struct cache_temp **t, int dir, uint64_t limit);
void cache_temp_close(struct cache_temp *t);	/* may be NULL */
ssize_t cache_temp_find(struct cache_temp *t, const struct cache_place *p,
    uint64_t room, void *buf);
int cache_temp_write(struct cache_temp *t, const struct cache_place *p,
    uint64_t length, const void *data);
void cache_temp_drop(struct cache_temp *t, const struct cache_place *p);
void cache_temp_clear(struct cache_temp *t, uint64_t key);
void cache_temp_counted(struct cache_temp *t, struct cache_counts *c);

#endif
