/*
 * zfs_meta.c - the space used by a ZFS dataset's metadata
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata is also compressed, so its size depends on its contents.  Therefore
 * metadata blocks are built here as ZFS would fill them, with realistic values
 * in all fields, and random bytes in place of checksums and nanoseconds.  No
 * value is fitted to a particular pool.
 */
#include "zfs.h"

#include "base/sys.h"
#include "zfs_dir.h"

#include <errno.h>
#include <sys/stat.h>

struct zfs_meta {
	struct zfs_blocks blocks;
	struct zfs_dnodes dnodes;
};

int
zfs_meta_open(struct zfs_meta **out, const struct zfs_pool *pool)
{
	struct zfs_meta *m = sys_calloc(1, sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	zfs_blocks_init(&m->blocks, pool);
	zfs_dnodes_init(&m->dnodes, &m->blocks);
	*out = m;
	return 0;
}

void
zfs_meta_close(struct zfs_meta *m)
{
	sys_free(m);
}

void
zfs_meta_file(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size, uint64_t records)
{
	uint32_t record = zfs_record_size(m->blocks.pool, size);
	/* approximate: compression of the data does not matter here */
	uint64_t stored = (record / 2 + zfs_noise(&m->blocks) %
	    (record / 2 + 1) + ZFS_SECTOR - 1) / ZFS_SECTOR * ZFS_SECTOR;
	struct zfs_target t = { record, stored, false, 1,
	    ZFS_TYPE_FILE, NULL };
	struct zfs_object o = { depth, mode, size, record, records,
	    stored * records };

	if (size > record && records > 0)
		zfs_add_indirect(&m->blocks, records, &t, 1);
	zfs_dnode_add(&m->dnodes, &o, &t);
}

/*
 * Adds the target of a symbolic link that does not fit in its dnode: a block of
 * data in pools of version 23, a spill block of metadata in others.  A target
 * of up to 512 bytes cannot shrink; a longer target is assumed not to.
 */
static void
add_target(struct zfs_meta *m, struct zfs_object *o, struct zfs_target *t)
{
	const struct zfs_pool *pool = m->blocks.pool;
	uint64_t sector = (uint64_t)1 << pool->ashift;
	unsigned copies = pool->features ? ZFS_COPIES : 1;

	t->size = t->stored = (o->size + ZFS_SECTOR - 1) / ZFS_SECTOR *
	    ZFS_SECTOR;
	m->blocks.sum.blocks++;
	m->blocks.sum.logical_B += t->size;
	m->blocks.sum.physical_B += t->size;
	m->blocks.sum.allocated_B += copies *
	    ((t->size + sector - 1) / sector * sector);
	o->block = (uint32_t)t->size;
	o->blocks = 1;
	o->used = t->size;
}

void
zfs_meta_other(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size)
{
	struct zfs_object o = { depth, mode, size, ZFS_SECTOR, 0, 0 };
	struct zfs_target t = { 0, 0, false, 1, ZFS_TYPE_FILE, NULL };

	if (S_ISLNK(mode) && size > ZFS_TARGET_MOST)
		add_target(m, &o, &t);
	zfs_dnode_add(&m->dnodes, &o, &t);
}

int
zfs_meta_dir(struct zfs_meta *m, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	return zfs_dir_add(&m->dnodes, depth, mode, names, count);
}

void
zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum)
{
	static const uint8_t small[2048];

	/*
	 * The objects in every dataset: the master node, the delete queue, the
	 * space used by users and groups, and the head of the dataset.
	 */
	zfs_blocks_add(&m->blocks, small, ZFS_SECTOR, 4);
	zfs_blocks_add(&m->blocks, small, sizeof(small), 1);
	zfs_dnodes_end(&m->dnodes);
	*sum = m->blocks.sum;
}
