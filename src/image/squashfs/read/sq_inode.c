/*
 * sq_inode.c - parsing one inode
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *	all		le16 type, mode, uid, gid; le32 mtime, number
 *	1 directory	le32 block, nlink; le16 size, offset; le32 parent
 *	2 file		le32 start, fragment, offset, size; le32 sizes[]
 *	8 directory	le32 nlink, size, block, parent; le16 index count,
 *			offset; le32 xattr; index entries
 *	9 file		le64 start, size, sparse; le32 nlink, fragment,
 *			offset, xattr; le32 sizes[]
 *	3, 10 links, 4 to 7 and 11 to 14 devices, pipes, sockets
 */
#include "squashfs.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { COMMON = 16, BASIC_B = 32, DIR_B = 40, FILE_B = 56, LINK_B = 24,
    TARGET_MAX = 4096 };

/*
 * By type, the size of the fixed part and, in it, the positions of the link
 * count and of the index of the extended attributes.  0: it has none; then the
 * link count is 1.
 */
static const struct {
	uint16_t mode;
	uint8_t size, links, xattr;
} types[] = {
	{ 0, 0, 0, 0 },
	{ S_IFDIR, BASIC_B, 20, 0 }, { S_IFREG, BASIC_B, 0, 0 },
	{ S_IFLNK, LINK_B, 16, 0 },
	{ S_IFBLK, 24, 16, 0 }, { S_IFCHR, 24, 16, 0 },
	{ S_IFIFO, 20, 16, 0 }, { S_IFSOCK, 20, 16, 0 },
	{ S_IFDIR, DIR_B, 16, 36 }, { S_IFREG, FILE_B, 40, 52 },
	{ S_IFLNK, LINK_B, 16, 0 },	/* xattr: after the target */
	{ S_IFBLK, 28, 16, 24 }, { S_IFCHR, 28, 16, 24 },
	{ S_IFIFO, 24, 16, 20 }, { S_IFSOCK, 24, 16, 20 },
};

enum { TYPES = sizeof(types) / sizeof(*types) };

const char *
sq_flaw_text(unsigned flaw)
{
	static const char *const text[] = {
		[SQ_GOOD] = "",
		[SQ_BAD_INODE] = "the inode cannot be read",
		[SQ_BAD_DIR] = "the inode is a directory, but the directory "
		    "entry is not",
		[SQ_BAD_BLOCK] = "a block is larger than the block size",
		[SQ_OUTSIDE] = "the data lies outside the image",
		[SQ_BAD_FRAGMENT] = "the fragment block index is out of range",
		[SQ_BAD_TAIL] = "the tail lies outside the fragment block",
		[SQ_LOST_FRAGMENT] = "the tail's fragment table entry cannot "
		    "be read",
		[SQ_TWO_PARENTS] = "the directory contains itself or has two "
		    "parents",
		[SQ_NO_OWNER] = "the owner or group is not in the id table, so "
		    "Linux would not open the file",
		[SQ_BAD_XATTR] = "the extended attributes are not in the xattr "
		    "table, so Linux would not open the file",
		[SQ_LONG_LINK] = "the link target is longer than 4096 bytes, "
		    "so Linux would not open the link",
		[SQ_NO_NUMBER] = "the inode number is 0, so Linux would not "
		    "open the file",
		[SQ_NEEDLESS_FRAGMENT] = "the file has a fragment although its "
		    "size is a multiple of the block size, so Linux would not "
		    "open the file",
		[SQ_BAD_MODE] = "the mode contains a file type, so Linux would "
		    "not open the file",
		[SQ_BAD_TYPE] = "the directory entry and the inode have "
		    "different types",
		[SQ_BAD_SET] = "the extended attributes cannot be read",
		[SQ_NUL_LINK] = "the link target is empty or contains a NUL",
		[SQ_FAR_NUMBER] = "the inode number exceeds the number of "
		    "inodes",
		[SQ_SHARED_NUMBER] = "another inode has the same number, so "
		    "Linux may open that one",
		[SQ_OTHER_NUMBER] = "the directory entry and the inode have "
		    "different numbers, so Linux may open another inode",
	};

	return text[flaw];
}

/*
 * Parses a file; size, start, fragment and tail_at must be set, and fixed is
 * the number of bytes before sizes.
 */
static int
get_file(const struct sq_meta *m, uint32_t block_size, uint64_t block,
    unsigned offset, size_t fixed, struct sq_inode *n)
{
	uint64_t count = n->size / block_size;
	const uint8_t *p;

	/* the tail is not counted */
	if (n->fragment == SQUASHFS_NONE)
		count += n->size % block_size != 0;
	if (count >= SQ_TABLE_MAX / 4)
		return -EBADMSG;
	p = sq_meta_get(m, block, offset, fixed + 4 * (size_t)count);
	if (p == NULL)
		return -EBADMSG;
	n->sizes = p + fixed;
	n->blocks = (uint32_t)count;
	if (n->fragment != SQUASHFS_NONE && n->size % block_size == 0)
		n->flaw = SQ_NEEDLESS_FRAGMENT;
	return 0;
}

/*
 * Performs the checks that Linux makes when it opens the inode at p and lists
 * its attributes, and those that do not need other inodes.
 */
static enum sq_flaw
find_flaw(const struct sq_super *s, const uint8_t *p, const uint8_t *xattr)
{
	if (load_le32(p + 12) == 0)
		return SQ_NO_NUMBER;
	if ((load_le16(p + 2) & S_IFMT) != 0)
		return SQ_BAD_MODE;
	if (s->ids_known && (load_le16(p + 4) >= s->id_count ||
	    load_le16(p + 6) >= s->id_count))
		return SQ_NO_OWNER;
	if (xattr != NULL && s->xattr_count > 0 &&
	    load_le32(xattr) != SQUASHFS_NONE &&
	    load_le32(xattr) >= s->xattr_count)
		return SQ_BAD_XATTR;
	if (xattr != NULL && s->bad_sets != NULL &&
	    load_le32(xattr) != SQUASHFS_NONE && s->bad_sets[load_le32(xattr)])
		return SQ_BAD_SET;
	if (load_le32(p + 12) > s->inode_count)
		return SQ_FAR_NUMBER;
	return SQ_GOOD;
}

/* Returns the fixed part of an inode, or NULL, and sets *type. */
static const uint8_t *
fixed_part(const struct sq_meta *m, uint64_t ref, unsigned *type)
{
	const uint8_t *p = sq_meta_get(m, ref >> 16, ref & 0xffff, COMMON);

	*type = p == NULL ? 0 : load_le16(p);
	return *type < 1 || *type >= TYPES ? NULL :
	    sq_meta_get(m, ref >> 16, ref & 0xffff, types[*type].size);
}

int
sq_inode_get(const struct sq_meta *m, const struct sq_super *s, uint64_t ref,
    struct sq_inode *n)
{
	uint64_t block = ref >> 16;
	unsigned offset = ref & 0xffff, type;
	const uint8_t *p = fixed_part(m, ref, &type);
	size_t len;

	if (p == NULL)
		return -EBADMSG;
	*n = (struct sq_inode){ .number = load_le32(p + 12),
	    .type = type > SQUASHFS_LONG ? type - SQUASHFS_LONG : type };
	if (type != 3 && type != 10)
		n->flaw = find_flaw(s, p, types[type].xattr == 0 ? NULL :
		    p + types[type].xattr);
	switch (type) {
	case 1:
		n->dir_block = load_le32(p + 16);
		n->size = load_le16(p + 24);
		n->dir_offset = load_le16(p + 26);
		return 0;
	case 8:
		n->size = load_le32(p + 20);
		n->dir_block = load_le32(p + 24);
		n->indexes = load_le16(p + 32);
		n->dir_offset = load_le16(p + 34);
		return 0;
	case 2:
		n->start = load_le32(p + 16);
		n->fragment = load_le32(p + 20);
		n->tail_at = load_le32(p + 24);
		n->size = load_le32(p + 28);
		return get_file(m, s->block, block, offset, BASIC_B, n);
	case 9:
		n->start = load_le64(p + 16);
		n->size = load_le64(p + 24);
		n->fragment = load_le32(p + 44);
		n->tail_at = load_le32(p + 48);
		return get_file(m, s->block, block, offset, FILE_B, n);
	case 3:
	case 10:
		/* the target, and the index of the attributes of a long one */
		len = load_le32(p + 20);
		if (sq_meta_get(m, block, offset, LINK_B + len +
		    (type == 10 ? 4 : 0)) == NULL)
			return -EBADMSG;
		n->flaw = len > TARGET_MAX ? SQ_LONG_LINK :
		    find_flaw(s, p, type == 10 ? p + LINK_B + len : NULL);
		if (n->flaw == SQ_GOOD && (len == 0 ||
		    memchr(p + LINK_B, '\0', len) != NULL))
			n->flaw = SQ_NUL_LINK;
		return 0;
	default:
		return 0;
	}
}

const uint8_t *
sq_inode_index(const struct sq_meta *m, uint64_t ref, size_t most,
    size_t *have)
{
	const uint8_t *p = sq_meta_span(m, ref >> 16, ref & 0xffff,
	    DIR_B + most, have);

	/* sq_inode_get() found the fixed part complete */
	*have -= DIR_B;
	return p + DIR_B;
}

int
sq_attr_get(const struct sq_meta *m, uint64_t ref, struct sq_attr *a)
{
	unsigned type;
	const uint8_t *p = fixed_part(m, ref, &type), *xattr;

	if (p == NULL)
		return -EBADMSG;
	*a = (struct sq_attr){ .uid = load_le16(p + 4),
	    .gid = load_le16(p + 6), .mtime = load_le32(p + 8), .links = 1 };
	a->mode = types[type].mode | (load_le16(p + 2) & 07777);
	if (types[type].links != 0)
		a->links = load_le32(p + types[type].links);
	if (S_ISBLK(a->mode) || S_ISCHR(a->mode))
		a->rdev = load_le32(p + 20);
	if (type == SQUASHFS_FILE + SQUASHFS_LONG)
		a->sparse = load_le64(p + 32);
	xattr = types[type].xattr == 0 ? NULL : p + types[type].xattr;
	if (S_ISLNK(a->mode)) {
		a->target_len = load_le32(p + 20);
		a->target = p + LINK_B;
		if (sq_meta_get(m, ref >> 16, ref & 0xffff, LINK_B +
		    (size_t)a->target_len + (type == 10 ? 4 : 0)) == NULL)
			return -EBADMSG;
		xattr = type == 10 ? a->target + a->target_len : NULL;
	}
	a->xattr = xattr == NULL ? SQUASHFS_NONE : load_le32(xattr);
	return 0;
}
