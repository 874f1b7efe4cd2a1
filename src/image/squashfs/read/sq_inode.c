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
    TARGET_MAX = 4096, BASIC_TYPES = SQUASHFS_LONG };

/* The size of the fixed part of each type. */
static const uint8_t inode_B[2 * BASIC_TYPES + 1] = { 0, BASIC_B, BASIC_B,
    LINK_B, 24, 24, 20, 20, DIR_B, FILE_B, LINK_B, 28, 28, 24, 24 };

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
 * Returns the position of the extended attributes' index, or -1 if the type has
 * none.
 */
static int
xattr_at(unsigned type)
{
	switch (type) {
	case 8:
		return 36;
	case 9:
		return 52;
	case 11:
	case 12:
		return 24;
	case 13:
	case 14:
		return 20;
	default:
		return -1;
	}
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

int
sq_inode_get(const struct sq_meta *m, const struct sq_super *s, uint64_t ref,
    struct sq_inode *n)
{
	uint64_t block = ref >> 16;
	unsigned offset = ref & 0xffff, type;
	const uint8_t *p = sq_meta_get(m, block, offset, COMMON);
	size_t len;

	if (p == NULL)
		return -EBADMSG;
	type = load_le16(p);
	if (type < 1 || type > 14 ||
	    sq_meta_get(m, block, offset, inode_B[type]) == NULL)
		return -EBADMSG;
	*n = (struct sq_inode){ .number = load_le32(p + 12),
	    .type = type > SQUASHFS_LONG ? type - SQUASHFS_LONG : type };
	if (type != 3 && type != 10)
		n->flaw = find_flaw(s, p, xattr_at(type) < 0 ? NULL :
		    p + xattr_at(type));
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

/*
 * Returns the position of the link count, or 0 if it is not stored and thus 1.
 */
static int
links_at(unsigned type)
{
	switch (type) {
	case 1:
		return 20;
	case 2:
		return 0;
	case 9:
		return 40;
	default:
		return 16;
	}
}

int
sq_attr_get(const struct sq_meta *m, uint64_t ref, struct sq_attr *a)
{
	static const uint16_t modes[BASIC_TYPES] = { S_IFDIR, S_IFREG, S_IFLNK,
		S_IFBLK, S_IFCHR, S_IFIFO, S_IFSOCK };
	uint64_t block = ref >> 16;
	unsigned offset = ref & 0xffff, type;
	const uint8_t *p = sq_meta_get(m, block, offset, COMMON), *xattr;

	type = p == NULL ? 0 : load_le16(p);
	if (type < 1 || type > 2 * BASIC_TYPES || sq_meta_get(m, block,
	    offset, inode_B[type]) == NULL)
		return -EBADMSG;
	*a = (struct sq_attr){ .uid = load_le16(p + 4),
	    .gid = load_le16(p + 6), .mtime = load_le32(p + 8), .links = 1 };
	a->mode = modes[(type - 1) % BASIC_TYPES] | (load_le16(p + 2) & 07777);
	if (links_at(type) != 0)
		a->links = load_le32(p + links_at(type));
	if (S_ISBLK(a->mode) || S_ISCHR(a->mode))
		a->rdev = load_le32(p + 20);
	xattr = xattr_at(type) < 0 ? NULL : p + xattr_at(type);
	if (S_ISLNK(a->mode)) {
		a->target_len = load_le32(p + 20);
		a->target = p + LINK_B;
		if (sq_meta_get(m, block, offset, LINK_B +
		    (size_t)a->target_len + (type == 10 ? 4 : 0)) == NULL)
			return -EBADMSG;
		xattr = type == 10 ? a->target + a->target_len : NULL;
	}
	a->xattr = xattr == NULL ? SQUASHFS_NONE : load_le32(xattr);
	return 0;
}
