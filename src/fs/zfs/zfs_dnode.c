/*
 * zfs_dnode.c - the dnodes of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_dnode.h"

#include "base/bytes.h"

#include <string.h>
#include <sys/stat.h>

enum {
	BONUS = 64 + ZFS_POINTER,	/* size of the bonus area in a dnode */
	BONUS_LEN = 264,
	BONUS_ZNODE = 17,
	LEVELS = 6,			/* levels of pointers above dnodes */
	MADE_NS = 1000000,		/* maximum time to create an object, */
	WRITTEN_NS = 400000,		/* then to write it, */
	CHANGED_NS = 100000,		/* and to set its permissions */
	BYTE_NS = 50,			/* time to write a byte */
	OBJECT_NS = (MADE_NS + WRITTEN_NS + CHANGED_NS) / 2,
	ROOT = 3			/* object number of the first
					 * directory */
};

void
zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks)
{
	d->blocks = blocks;
	d->now_ns = (uint64_t)1700000000 * 1000000000;
}

/*
 * Writes the access, creation, modification and change times, assuming about a
 * millisecond per object, and more for large objects.  Writing an object also
 * modifies its directory, so the modification time of the directory is slightly
 * later.  A link or an empty directory is not modified after its creation.
 */
static void
put_times(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	bool dir = S_ISDIR(o->mode);
	bool empty = S_ISLNK(o->mode) || (dir && o->size == 2);
	uint64_t made = d->now_ns += zfs_noise(d->blocks) % MADE_NS;
	uint64_t written = empty ? made : made +
	    zfs_noise(d->blocks) % WRITTEN_NS +
	    o->size * (dir ? OBJECT_NS : BYTE_NS);
	uint64_t changed = dir && !empty ? written :
	    written + zfs_noise(d->blocks) % CHANGED_NS;
	const uint64_t times[] = { made, written, changed, made };

	d->now_ns = dir ? made : changed;
	for (unsigned i = 0; i < 4; i++) {
		store_le64(p + 16 * i, times[i] / 1000000000);
		store_le64(p + 16 * i + 8, times[i] % 1000000000);
	}
}

/* Returns the NFSv4 permissions for three bits of a mode. */
static uint32_t
rights_of(mode_t rwx)
{
	return (rwx & 4 ? 1U : 0) | (rwx & 2 ? 6U : 0) | (rwx & 1 ? 0x20U : 0);
}

/*
 * Writes the ACL for a mode: the permissions denied and allowed to the owner,
 * the group and everyone.
 */
static void
put_acl(uint8_t *p, mode_t mode)
{
	static const struct {
		uint16_t flags;
		uint32_t denied, allowed;	/* independent of the mode */
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

/*
 * Returns the number of the object's parent.  If the object is a directory,
 * records it as a parent.
 */
static uint64_t
parent_of(struct zfs_dnodes *d, const struct zfs_object *o)
{
	unsigned depth = o->depth < ZFS_DEPTHS ? o->depth : ZFS_DEPTHS - 1;
	uint64_t above = depth == 0 ? 0 : d->dirs[depth - 1];

	if (S_ISDIR(o->mode))
		d->dirs[depth] = d->objects + ROOT;
	return above != 0 ? above : ROOT;
}

/* Writes the attributes that the POSIX layer stores for an object. */
static void
put_znode(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	bool dir = S_ISDIR(o->mode);

	put_times(d, p, o);
	store_le64(p + 64, ZFS_TXG);
	store_le64(p + 72, o->mode);
	store_le64(p + 80, o->size);
	store_le64(p + 88, parent_of(d, o));
	store_le64(p + 96, dir ? 2 : 1);
	store_le64(p + 120, (uint64_t)0x408 << 32 | (dir ? 0x144 : 4));
	put_acl(p + 176, o->mode);
}

/* Stores a link's target after the znode, if there is room. */
static void
put_target(struct zfs_dnodes *d, uint8_t *p, uint64_t size)
{
	_Static_assert(ZFS_TARGET_MOST == ZFS_DNODE - BONUS - BONUS_LEN,
	    "the bonus ends with the dnode");

	if (size > ZFS_TARGET_MOST)
		return;
	store_le16(p + 10, (uint16_t)(BONUS_LEN + size));
	for (uint64_t i = 0; i < size; i++)
		p[BONUS + BONUS_LEN + i] = (uint8_t)('a' +
		    zfs_noise(d->blocks) % 16);
}

static void
write_dnode(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o,
    const struct zfs_target *t)
{
	bool dir = S_ISDIR(o->mode);

	memset(p, 0, ZFS_DNODE);
	p[0] = dir ? ZFS_TYPE_DIR : ZFS_TYPE_FILE;
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
	put_znode(d, p + BONUS, o);
	if (S_ISLNK(o->mode))
		put_target(d, p, o->size);
}

static void
end_dnode_block(struct zfs_dnodes *d)
{
	zfs_blocks_add(d->blocks, d->block, ZFS_DNODE_BLOCK, 1);
	memset(d->block, 0, ZFS_DNODE_BLOCK);
	d->in_block = 0;
}

void
zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t)
{
	write_dnode(d, d->block + d->in_block * ZFS_DNODE, o, t);
	d->objects++;
	if (++d->in_block == ZFS_DNODES)
		end_dnode_block(d);
}

void
zfs_dnodes_end(struct zfs_dnodes *d)
{
	struct zfs_target t = { ZFS_DNODE_BLOCK, 4096, true, ZFS_DNODES,
	    ZFS_TYPE_DNODE, NULL };

	if (d->in_block > 0)
		end_dnode_block(d);
	zfs_add_indirect(d->blocks, (d->objects + ZFS_DNODES - 1) /
	    ZFS_DNODES, &t, LEVELS);
}
