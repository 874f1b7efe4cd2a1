/*
 * sq_inode.c - one inode
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

enum { COMMON = 16, BASIC_B = 32, DIR_B = 40, FILE_B = 56 };

/* How many blocks a file of that size has besides its tail; -1: no such. */
static int64_t
block_count(const struct sq_inode *n, uint32_t block)
{
	uint64_t count = n->size / block;

	if (n->fragment == SQ_NO_FRAGMENT)
		count += n->size % block != 0;
	return count < SQ_TABLE_MAX / 4 ? (int64_t)count : -1;
}

/* With size, start, fragment and tail_at set; fixed: bytes before sizes. */
static int
get_file(const struct sq_meta *m, uint32_t block_size, uint64_t block,
    unsigned offset, size_t fixed, struct sq_inode *n)
{
	int64_t count = block_count(n, block_size);
	const uint8_t *p;

	n->type = SQ_FILE;
	if (count < 0)
		return -EBADMSG;
	p = sq_meta_get(m, block, offset, fixed + 4 * (size_t)count);
	if (p == NULL)
		return -EBADMSG;
	n->sizes = p + fixed;
	n->blocks = (uint32_t)count;
	return 0;
}

int
sq_inode_get(const struct sq_meta *m, uint32_t block_size, uint64_t ref,
    struct sq_inode *n)
{
	static const uint8_t need[15] = { 0, BASIC_B, BASIC_B, 24, 24, 24, 20,
	    20, DIR_B, FILE_B, 24, 28, 28, 24, 24 };
	uint64_t block = ref >> 16;
	unsigned offset = ref & 0xffff, type;
	const uint8_t *p = sq_meta_get(m, block, offset, COMMON);

	if (p == NULL)
		return -EBADMSG;
	type = load_le16(p);
	if (type < 1 || type > 14 ||
	    sq_meta_get(m, block, offset, need[type]) == NULL)
		return -EBADMSG;
	*n = (struct sq_inode){ .type = SQ_OTHER };
	switch (type) {
	case 1:
		n->type = SQ_DIR;
		n->dir_block = load_le32(p + 16);
		n->size = load_le16(p + 24);
		n->dir_offset = load_le16(p + 26);
		return 0;
	case 8:
		n->type = SQ_DIR;
		n->size = load_le32(p + 20);
		n->dir_block = load_le32(p + 24);
		n->dir_offset = load_le16(p + 34);
		return 0;
	case 2:
		n->start = load_le32(p + 16);
		n->fragment = load_le32(p + 20);
		n->tail_at = load_le32(p + 24);
		n->size = load_le32(p + 28);
		return get_file(m, block_size, block, offset, BASIC_B, n);
	case 9:
		n->start = load_le64(p + 16);
		n->size = load_le64(p + 24);
		n->fragment = load_le32(p + 44);
		n->tail_at = load_le32(p + 48);
		return get_file(m, block_size, block, offset, FILE_B, n);
	case 3:
	case 10:
		n->type = SQ_LINK;
		return 0;
	default:
		return 0;
	}
}
