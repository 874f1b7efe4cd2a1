/*
 * sq_inode.c - inodes, basic and extended
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq.h"

#include "bytes.h"

#include <errno.h>
#include <string.h>

enum { HEAD_B = 16, EXTENDED = 7 };

/* Bytes after the head, of types 1 to 14, without lists and targets. */
static const uint8_t fixed[] = {
	0, 16, 16, 8, 8, 8, 4, 4, 24, 40, 8, 12, 12, 8, 8
};

static void
parse_dir(struct squashfs_inode *n, const uint8_t *p, bool extended)
{
	if (extended) {
		n->links = load_le32(p);
		n->size = load_le32(p + 4);
		n->dir_block = load_le32(p + 8);
		n->dir_offset = load_le16(p + 18);
		n->xattr = load_le32(p + 20);
		return;
	}
	n->dir_block = load_le32(p);
	n->links = load_le32(p + 4);
	n->size = load_le16(p + 8);
	n->dir_offset = load_le16(p + 10);
}

static void
parse_file(struct squashfs_inode *n, const uint8_t *p, bool extended)
{
	if (extended) {
		n->start = load_le64(p);
		n->size = load_le64(p + 8);
		n->links = load_le32(p + 24);
		n->fragment = load_le32(p + 28);
		n->fragment_offset = load_le32(p + 32);
		n->xattr = load_le32(p + 36);
		return;
	}
	n->links = 1;
	n->start = load_le32(p);
	n->fragment = load_le32(p + 4);
	n->fragment_offset = load_le32(p + 8);
	n->size = load_le32(p + 12);
}

/* The last block is a fragment, or a block that may be short. */
static int
find_blocks(const struct squashfs *q, struct squashfs_inode *n, uint64_t pos)
{
	uint32_t log = q->super.block_log;

	n->block_count = n->size >> log;
	if (n->fragment == SQUASHFS_NONE &&
	    (n->size & (q->super.block_B - 1)) != 0)
		n->block_count++;
	if (n->block_count > q->inodes.len / 4)
		return -EBADMSG;
	n->blocks = sq_meta_get(&q->inodes, pos, 4 * n->block_count);
	return n->blocks == NULL ? -EBADMSG : 0;
}

static int
find_target(const struct squashfs *q, struct squashfs_inode *n, uint64_t pos,
    bool extended)
{
	const uint8_t *p = sq_meta_get(&q->inodes, pos,
	    n->size + (extended ? 4 : 0));

	if (p == NULL)
		return -EBADMSG;
	n->target = p;
	if (extended)
		n->xattr = load_le32(p + n->size);
	return 0;
}

int
squashfs_inode(const struct squashfs *q, uint64_t ref,
    struct squashfs_inode *n)
{
	uint64_t pos = sq_meta_pos(&q->inodes, ref >> 16, ref & 0xffff);
	const uint8_t *p = sq_meta_get(&q->inodes, pos, HEAD_B);
	unsigned type;
	bool extended;

	if (p == NULL)
		return -EBADMSG;
	type = load_le16(p);
	if (type == 0 || type >= sizeof(fixed))
		return -EBADMSG;
	extended = type > EXTENDED;
	p = sq_meta_get(&q->inodes, pos, HEAD_B + fixed[type]);
	if (p == NULL)
		return -EBADMSG;
	*n = (struct squashfs_inode){
		.type = extended ? type - EXTENDED : type,
		.mode = load_le16(p + 2) & 07777,
		.uid = load_le16(p + 4), .gid = load_le16(p + 6),
		.mtime = load_le32(p + 8), .number = load_le32(p + 12),
		.fragment = SQUASHFS_NONE, .xattr = SQUASHFS_NONE,
	};
	pos += HEAD_B + fixed[type];
	p += HEAD_B;
	switch (n->type) {
	case SQUASHFS_DIR:
		parse_dir(n, p, extended);
		return 0;
	case SQUASHFS_FILE:
		parse_file(n, p, extended);
		return find_blocks(q, n, pos);
	case SQUASHFS_LINK:
		n->links = load_le32(p);
		n->size = load_le32(p + 4);
		return find_target(q, n, pos, extended);
	case SQUASHFS_BLOCK:
	case SQUASHFS_CHAR:
		n->rdev = load_le32(p + 4);
		break;
	default:
		break;
	}
	n->links = load_le32(p);
	if (extended)
		n->xattr = load_le32(p + fixed[type] - 4);
	return 0;
}

uint64_t
squashfs_inode_at(const struct squashfs *q, uint64_t ref)
{
	return q->inodes.start + (ref >> 16);
}
