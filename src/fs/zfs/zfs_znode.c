/*
 * zfs_znode.c - an object's attributes in ZFS pools of version 23
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_meta.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <sys/stat.h>

enum {
	BONUS = 64 + ZFS_POINTER,	/* size of the bonus area in a dnode */
	BONUS_LEN = 264,
	BONUS_ZNODE = 17,
	MADE_NS = 1000000,		/* maximum time to create an object, */
	WRITTEN_NS = 400000,		/* then to write it, */
	CHANGED_NS = 100000,		/* and to set its permissions */
	BYTE_NS = 50,			/* time to write a byte */
	OBJECT_NS = (MADE_NS + WRITTEN_NS + CHANGED_NS) / 2
};

/*
 * Writes the access, creation, modification and change times, assuming about a
 * millisecond per object, and more for large objects.  Writing an object also
 * modifies its directory, so the modification time of the directory is slightly
 * later.  A link, and whatever is empty, is not modified after its creation.
 */
static void
put_times(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	bool dir = S_ISDIR(o->st->st_mode);
	bool empty = S_ISLNK(o->st->st_mode) || o->size == (dir ? 2 : 0);
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

void
zfs_znode_put(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	static const struct {
		uint16_t flags;
		uint32_t denied, allowed;	/* independent of the mode */
	} who[] = { { 0x1000, 0, 0xc0110 }, { 0x2040, 0, 0 },
	    { 0x4000, 0xc0110, 0x120088 } };
	mode_t mode = o->st->st_mode;
	uint8_t *z = p + BONUS;
	bool dir = S_ISDIR(mode);

	_Static_assert(ZFS_TARGET_OLD == ZFS_DNODE - BONUS - BONUS_LEN,
	    "the bonus ends with the dnode");

	p[4] = BONUS_ZNODE;
	p[7] = 3;
	store_le16(p + 10, BONUS_LEN);
	put_times(d, z, o);
	store_le64(z + 64, ZFS_TXG);
	store_le64(z + 72, mode);
	store_le64(z + 80, o->size);
	store_le64(z + 88, zfs_parent_of(d, o->depth));
	store_le64(z + 96, dir ? 2 : 1);
	store_le64(z + 120, (uint64_t)0x408 << 32 | (dir ? 0x144 : 4));
	/*
	 * The ACL for the mode: the permissions denied and allowed to the
	 * owner, the group and everyone.
	 */
	store_le32(z + 184, 48);
	store_le16(z + 188, 1);
	store_le16(z + 190, 6);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *ace = z + 192 + 16 * i;
		mode_t bits = mode >> (6 - 3 * i) & 7;

		store_le16(ace, 1);
		store_le16(ace + 2, who[i].flags);
		store_le32(ace + 4, who[i].denied | rights_of(~bits & 7));
		store_le16(ace + 10, who[i].flags);
		store_le32(ace + 12, who[i].allowed | rights_of(bits));
	}
	/* a link's target follows, if there is room */
	if (S_ISLNK(mode) && o->size <= ZFS_TARGET_OLD) {
		store_le16(p + 10, (uint16_t)(BONUS_LEN + o->size));
		for (uint64_t i = 0; i < o->size; i++)
			z[BONUS_LEN + i] = (uint8_t)('a' +
			    zfs_noise(d->blocks) % 16);
	}
}
