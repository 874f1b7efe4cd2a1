/*
 * zfs_sa.c - an object's system attributes, and the fixed objects, in OpenZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Since version 5 of the POSIX layer an object has no znode but system
 * attributes in the order of a layout, of which each dataset keeps a list: a
 * header of 8 bytes, 16 if two attributes have lengths of their own, then the
 * values.  What does not fit in the dnode goes to a block of its own.
 */
#include "zfs_meta.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum {
	BONUS_AT = 64 + ZFS_POINTER,	/* position of the bonus in a dnode */
	BONUS_SA = 44,
	SA_MAGIC = 0x2f505a,
	ACE = 8,
	TICK_NS = 4000000,		/* of the coarse clock, at 250 Hz */
	OBJECT_NS = 100000,		/* time to copy an object */
	BYTE_NS = 1,			/* and each byte of it */
	TYPE_MASTER = 21, TYPE_QUEUE = 22, TYPE_OWNERS = 25,
	TYPE_SA_MASTER = 45, TYPE_SA_REGISTRY = 46, TYPE_SA_LAYOUTS = 47,
	FLAGS = 11,			/* space is counted, also by owner */
	FLAGS_BARE = 10,		/* of an object that has no blocks */
	FLAG_SPILL = 4,
	FIRST_FREE = 32,		/* number of the second object */
	HEAD = 4096			/* size of a dataset's head */
};

uint64_t
zfs_dnodes_clock(struct zfs_dnodes *d, const struct zfs_object *o)
{
	d->now_ns += OBJECT_NS;
	if (S_ISREG(o->st->st_mode))
		d->now_ns += o->size * BYTE_NS;
	return d->now_ns / TICK_NS * TICK_NS;
}

static void
put_time(uint8_t *p, uint64_t ns)
{
	store_le64(p, ns / 1000000000);
	store_le64(p + 8, ns % 1000000000);
}

/*
 * Writes the entries of the ACL that stands for a mode, and returns their
 * number: those for the owner, the group and everyone, after those that keep
 * one of them from what a later one is allowed.
 */
static unsigned
put_acl(uint8_t *p, mode_t mode)
{
	enum { OWNER = 0x1000, GROUP = 0x2040, EVERYONE = 0x4000 };
	enum { DENY = 1, ALL = 0x120088, OWNERS = 0xc0110 };
	bool dir = S_ISDIR(mode);
	unsigned user = mode >> 6 & 7, group = mode >> 3 & 7, other = mode & 7;
	const struct {
		bool needed;
		unsigned deny, who, rwx;
		uint32_t always;
	} aces[] = {
		{ user & ~group & other, 0, OWNER, user & ~group & other, 0 },
		{ ~user & (group | other) & 7, DENY, OWNER,
		    ~user & (group | other) & 7, 0 },
		{ ~group & other & 7, DENY, GROUP, ~group & other & 7, 0 },
		{ true, 0, OWNER, user, ALL | OWNERS },
		{ true, 0, GROUP, group, ALL },
		{ true, 0, EVERYONE, other, ALL },
	};
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(aces) / sizeof(aces[0]); i++) {
		unsigned rwx = aces[i].rwx;

		if (!aces[i].needed)
			continue;
		store_le16(p, (uint16_t)aces[i].deny);
		store_le16(p + 2, (uint16_t)aces[i].who);
		store_le32(p + 4, aces[i].always | (rwx & 4 ? 1U : 0) |
		    (rwx & 2 ? dir ? 0x46U : 6U : 0) | (rwx & 1 ? 0x20U : 0));
		p += ACE;
		n++;
	}
	return n;
}

/* Adds the block of a link's target, and the pointer to it. */
static void
put_spill(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	uint8_t *block = d->blocks->scratch->block;
	size_t len = (size_t)zfs_round_up(8 + o->size, ZFS_SECTOR);
	struct zfs_target t = { .size = len, .meta = true, .under = 1,
	    .type = BONUS_SA };

	memset(block, 0, len);
	store_le32(block, SA_MAGIC);
	store_le16(block + 4, 1 << 10 | 5);
	store_le16(block + 6, (uint16_t)o->size);
	memcpy(block + 8, o->link, o->size);
	zfs_blocks_leaf(d->blocks, ZFS_RANK_DNODES, block, len, &t);
	p[7] = FLAGS | FLAG_SPILL;
	store_le64(p + 24, zfs_meta_used(d->blocks->pool, t.stored));
	zfs_put_pointer(d->blocks, p + d->blocks->pool->dnode - ZFS_POINTER,
	    &t);
}

void
zfs_sa_put(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	const struct stat *st = o->st;
	bool dir = S_ISDIR(st->st_mode), owned = dir || S_ISREG(st->st_mode);
	bool device = S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode);
	/* of a larger dnode, all that is added is for attributes */
	bool inside = o->link != NULL && o->size <= ZFS_TARGET_NEW +
	    d->blocks->pool->dnode - ZFS_DNODE;
	unsigned layout = owned ? 2 : o->link != NULL ? 4 : 3;
	size_t head = inside ? 16 : 8, aces;
	uint8_t *bonus = p + BONUS_AT, *a = bonus + head;
	uint64_t made = zfs_dnodes_clock(d, o);
	uint64_t modified = d->blocks->pool->kept_times ?
	    (uint64_t)st->st_mtim.tv_sec * 1000000000 +
	    (uint64_t)st->st_mtim.tv_nsec : made;

	p[4] = BONUS_SA;
	p[7] = dir || (S_ISREG(st->st_mode) && o->size > 0) ? FLAGS :
	    FLAGS_BARE;
	store_le64(a, st->st_mode);
	store_le64(a + 8, o->size);
	store_le64(a + 16, ZFS_TXG);
	store_le64(a + 24, st->st_uid);
	store_le64(a + 32, st->st_gid);
	store_le64(a + 40, zfs_parent_of(d, o->depth));
	store_le64(a + 48, (owned ? (uint64_t)1 << 47 : 0) |
	    (uint64_t)1 << 42 | (uint64_t)1 << 35 | 4 |
	    ((st->st_mode & 0111) == 0111 ? 0x100 : 0));
	put_time(a + 56, made);			/* access */
	put_time(a + 72, modified);
	put_time(a + 88, made);			/* change, creation */
	put_time(a + 104, made);
	store_le64(a + 120, (uint64_t)st->st_nlink);
	a += 128;
	a += owned ? 8 : 0;			/* a project: 0 */
	if (device) {
		store_le64(a, st->st_rdev);
		a += 8;
	}
	aces = put_acl(a + 8, st->st_mode);
	store_le64(a, aces);
	a += 8 + ACE * aces;
	store_le32(bonus, SA_MAGIC);
	store_le16(bonus + 4, (uint16_t)(head / 8 << 10 | layout));
	store_le16(bonus + 6, (uint16_t)(ACE * aces));
	if (inside) {
		store_le16(bonus + 8, (uint16_t)o->size);
		memcpy(a, o->link, o->size);
		a += o->size;
	}
	store_le16(p + 10, (uint16_t)(a - bonus));
	if (o->link != NULL && !inside) {
		/* the bonus has all room before the pointer to the other block */
		store_le16(p + 10, (uint16_t)(d->blocks->pool->dnode -
		    BONUS_AT - ZFS_POINTER));
		put_spill(d, p, o);
	}
}

/* Adds a dnode without attributes, which has room for three pointers. */
static void
add_plain(struct zfs_dnodes *d, unsigned type, const struct zfs_target *t,
    unsigned blocks)
{
	uint8_t *p = d->block + d->in_block * ZFS_DNODE;

	p[0] = (uint8_t)type;
	p[1] = ZFS_INDIRECT_NEW;
	p[2] = 1;
	p[3] = 3;
	p[7] = FLAGS;
	store_le16(p + 8, (uint16_t)(t->size / ZFS_SECTOR));
	store_le64(p + 16, blocks - 1);
	for (unsigned i = 0; i < blocks; i++)
		zfs_put_pointer(d->blocks, p + 64 + i * ZFS_POINTER, t);
	d->in_block++;
}

/* An entry of a table in one block. */
struct entry {
	const char *name;
	uint64_t value;
};

/* Counts a small table, to which *t refers. */
static void
add_table(struct zfs_dnodes *d, unsigned type, const struct entry *entries,
    size_t count, struct zfs_target *t)
{
	uint8_t *block = d->blocks->scratch->block;
	size_t len = (size_t)zfs_round_up((count + 1) * ZFS_MICRO_ENTRY,
	    ZFS_SECTOR);

	*t = (struct zfs_target){ .size = len, .meta = true, .under = 1,
	    .type = type };
	zfs_micro_begin(d->blocks, block, len);
	for (size_t i = 0; i < count; i++)
		zfs_micro_put(block, i, entries[i].value, entries[i].name);
	zfs_blocks_leaf(d->blocks, ZFS_RANK_FIRST, block, len, t);
}

void
zfs_sa_begin(struct zfs_dnodes *d)
{
	static const struct entry attributes[] = { { "REGISTRY",
	    FIRST_FREE + 3 }, { "LAYOUTS", FIRST_FREE + 4 } };
	struct zfs_target t;

	add_table(d, TYPE_SA_MASTER, attributes,
	    sizeof(attributes) / sizeof(attributes[0]), &t);
	add_plain(d, TYPE_SA_MASTER, &t, 1);
	add_table(d, TYPE_QUEUE, NULL, 0, &t);
	add_plain(d, TYPE_QUEUE, &t, 1);
}

/* Gets the only layout that is written down. */
static const char *
get_layout(const void *value, size_t i, uint64_t *to)
{
	(void)i;
	*to = *(const uint64_t *)value;
	return "2";
}

int
zfs_sa_after_root(struct zfs_dnodes *d)
{
	/* the length of each attribute, how to swap its bytes, its number */
	static const struct entry registry[] = {
		{ "ZPL_PROJID", 0x8000015 }, { "ZPL_PARENT", 0x8000007 },
		{ "ZPL_GEN", 0x8000004 }, { "ZPL_RDEV", 0x800000a },
		{ "ZPL_ZNODE_ACL", 0x5803000f },
		{ "ZPL_SCANSTAMP", 0x20030012 }, { "ZPL_CRTIME", 0x10000003 },
		{ "ZPL_UID", 0x800000c }, { "ZPL_LINKS", 0x8000008 },
		{ "ZPL_ATIME", 0x10000000 }, { "ZPL_DXATTR", 0x30014 },
		{ "ZPL_DACL_COUNT", 0x8000010 }, { "ZPL_XATTR", 0x8000009 },
		{ "ZPL_PAD", 0x2000000e }, { "ZPL_MODE", 0x8000005 },
		{ "ZPL_SYMLINK", 0x30011 }, { "ZPL_SIZE", 0x8000006 },
		{ "ZPL_FLAGS", 0x800000b }, { "ZPL_CTIME", 0x10000002 },
		{ "ZPL_MTIME", 0x10000001 }, { "ZPL_DACL_ACES", 0x40013 },
		{ "ZPL_GID", 0x800000d }
	};
	static const struct entry masters[] = { { "normalization", 0 },
	    { "utf8only", 0 }, { "casesensitivity", 0 }, { "VERSION", 5 },
	    { "SA_ATTRS", FIRST_FREE }, { "DELETE_QUEUE", FIRST_FREE + 1 },
	    { "ROOT", FIRST_FREE + 2 } };
	const uint64_t value = d->objects + 1;
	const struct zfs_names layouts = { 1, get_layout, &value };
	struct zfs_target t;
	uint64_t leaves, used;
	int rc;

	/*
	 * Until here the dataset is made, with object 1 and, as others begin
	 * with a block of their own, those from 32 on.  Once it is mounted, free
	 * numbers are used from the first.
	 */
	add_table(d, TYPE_SA_REGISTRY, registry,
	    sizeof(registry) / sizeof(registry[0]), &t);
	add_plain(d, TYPE_SA_REGISTRY, &t, 1);
	rc = zfs_fat_blocks(d, ZFS_RANK_FIRST, &layouts, &t, &leaves, &used);
	if (rc != 0)
		return rc;
	add_plain(d, TYPE_SA_LAYOUTS, &t, 2);
	memcpy(d->next, d->block, ZFS_DNODE_BLOCK);
	memset(d->block, 0, ZFS_DNODE_BLOCK);
	d->in_next = d->in_block;
	d->in_block = 1;		/* there is no object 0 */
	add_table(d, TYPE_MASTER, masters,
	    sizeof(masters) / sizeof(masters[0]), &t);
	add_plain(d, TYPE_MASTER, &t, 1);
	return 0;
}

void
zfs_sa_head(struct zfs_dnodes *d, const struct zfs_target *dnodes)
{
	const struct entry owners[] = { { "0", d->objects << 12 },
	    { "obj-0", d->objects } };
	struct zfs_blocks *b = d->blocks;
	uint8_t head[HEAD] = { 0 };
	struct zfs_target t;

	/* the object of the dnodes, then those of users, groups and projects */
	for (unsigned i = 0; i < 4; i++) {
		uint8_t *p = head + (i == 0 ? 0 : 512 + i * ZFS_DNODE);

		p[0] = i == 0 ? ZFS_TYPE_DNODE : TYPE_OWNERS;
		p[1] = ZFS_INDIRECT_NEW;
		p[2] = i == 0 ? 6 : 1;
		p[3] = i == 0 ? 3 : 1;
		p[7] = 1;
		store_le16(p + 8, i == 0 ? ZFS_DNODE_BLOCK / ZFS_SECTOR : 1);
		store_le64(p + 16, i == 0 ? d->ended - 1 : 0);
		if (i > 0)
			add_table(d, TYPE_OWNERS, owners, 2, &t);
		zfs_put_pointer(b, p + 64, i == 0 ? dnodes : &t);
	}
	store_le64(head + 704, 2);
	store_le64(head + 712, 7);
	if (b->pool->encrypted)	/* is not compressed */
		for (size_t i = 0; i < HEAD; i += 8)
			store_le64(head + i, zfs_noise(b));
	zfs_blocks_add(b, ZFS_RANK_CRITICAL, head, HEAD, 1);
}
