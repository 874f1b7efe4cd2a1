/*
 * zfs_dnode.c - the dnodes of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_dnode.h"

#include "bytes.h"

#include <string.h>
#include <sys/stat.h>

enum {
	BONUS = 64 + ZFS_POINTER,	/* its place in a dnode */
	BONUS_LEN = 264,
	BONUS_ZNODE = 17,
	TYPE_DIR = 20,
	LEVELS = 6,			/* of pointers above the dnodes */
	BYTE_NS = 50,			/* to write a byte */
	ROOT = 3			/* number of the first directory */
};

void
zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks)
{
	d->blocks = blocks;
	d->now_ns = (uint64_t)1700000000 * 1000000000;
}

/*
 * Read and made; written; changed: about a millisecond for each object, and
 * longer for a large one.  What is put into a directory changes it by being
 * written.
 */
static void
put_times(struct zfs_dnodes *d, uint8_t *p, bool dir, uint64_t size)
{
	uint64_t made = d->now_ns += zfs_noise(d->blocks) % 1000000;
	uint64_t written = d->now_ns += zfs_noise(d->blocks) % 400000 + size * BYTE_NS;
	uint64_t changed = dir ? written :
	    (d->now_ns += zfs_noise(d->blocks) % 100000);
	const uint64_t times[] = { made, written, changed, made };

	for (unsigned i = 0; i < 4; i++) {
		store_le64(p + 16 * i, times[i] / 1000000000);
		store_le64(p + 16 * i + 8, times[i] % 1000000000);
	}
}

/* The NFSv4 rights that three bits of a mode are. */
static uint32_t
rights_of(mode_t rwx)
{
	return (rwx & 4 ? 1U : 0) | (rwx & 2 ? 6U : 0) | (rwx & 1 ? 0x20U : 0);
}

/* The ACL of a mode: what owner, group and all are denied and allowed. */
static void
put_acl(uint8_t *p, mode_t mode)
{
	static const struct {
		uint16_t flags;
		uint32_t denied, allowed;	/* whatever the mode */
	} who[] = { { 0x1000, 0, 0xc0110 }, { 0x2040, 0, 0 },
	    { 0x4000, 0xc0110, 0x120088 } };

	store_le32(p + 8, 48);
	store_le16(p + 12, 1);
	store_le16(p + 14, 6);
	p += 16;
	for (unsigned i = 0; i < 3; i++, p += 16) {
		mode_t bits = mode >> (6 - 3 * i) & 7;

		store_le16(p, 1);
		store_le16(p + 2, who[i].flags);
		store_le32(p + 4, who[i].denied | rights_of(~bits & 7));
		store_le16(p + 10, who[i].flags);
		store_le32(p + 12, who[i].allowed | rights_of(bits));
	}
}

/* What the POSIX layer keeps of an object. */
static void
put_znode(struct zfs_dnodes *d, uint8_t *p, mode_t mode, uint64_t size)
{
	bool dir = S_ISDIR(mode);

	put_times(d, p, dir, size);
	store_le64(p + 64, ZFS_TXG);
	store_le64(p + 72, mode);
	store_le64(p + 80, size);
	store_le64(p + 88, dir ? ROOT : d->dir);	/* parent */
	store_le64(p + 96, dir ? 2 : 1);
	store_le64(p + 120, (uint64_t)0x408 << 32 | (dir ? 0x144 : 4));
	put_acl(p + 176, mode);
}

static void
fill(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o,
    const struct zfs_target *t)
{
	bool dir = S_ISDIR(o->mode);

	memset(p, 0, ZFS_DNODE);
	p[0] = dir ? TYPE_DIR : ZFS_TYPE_FILE;
	p[1] = (uint8_t)zfs_indirect_shift(d->blocks->pool);
	p[2] = o->blocks > 1 ? 2 : 1;
	p[3] = 1;
	p[4] = BONUS_ZNODE;
	p[7] = 3;
	store_le16(p + 8, (uint16_t)(o->block / ZFS_SECTOR));
	store_le16(p + 10, BONUS_LEN);
	store_le64(p + 16, o->blocks > 0 ? o->blocks - 1 : 0);
	store_le64(p + 24, o->used);
	if (o->blocks > 0)
		zfs_put_pointer(d->blocks, p + 64, t);
	if (dir)
		d->dir = d->objects + ROOT;
	put_znode(d, p + BONUS, o->mode, o->size);
}

static void
end_block(struct zfs_dnodes *d)
{
	zfs_blocks_add(d->blocks, d->block, ZFS_DNODE_BLOCK, 1);
	memset(d->block, 0, ZFS_DNODE_BLOCK);
	d->in_block = 0;
}

void
zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t)
{
	fill(d, d->block + d->in_block * ZFS_DNODE, o, t);
	d->objects++;
	if (++d->in_block == ZFS_DNODES)
		end_block(d);
}

void
zfs_dnodes_end(struct zfs_dnodes *d)
{
	struct zfs_target t = { ZFS_DNODE_BLOCK, 4096, true, ZFS_DNODES };

	if (d->in_block > 0)
		end_block(d);
	zfs_add_indirect(d->blocks, (d->objects + ZFS_DNODES - 1) /
	    ZFS_DNODES, &t, LEVELS);
}
