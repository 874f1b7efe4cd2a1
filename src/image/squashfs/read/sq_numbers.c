/*
 * sq_numbers.c - the inode numbers of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux looks an inode up by the number in the directory entry before it reads
 * it, and unsquashfs links names of the same number.  If two inodes have one
 * number, the second is therefore replaced by the first.  NFS finds inodes by
 * number in the export table: a le64 reference for each number, from 1 onward.
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>

enum {
	INODE_B = 16,			/* minimum */
	ENTRIES = SQUASHFS_META_B / SQUASHFS_EXPORT_B,
	WHY_B = 160
};

int
sq_numbers_open(struct sq_numbers *n, const struct sq_tables *q,
    image_report_fn *report, void *arg)
{
	uint64_t room = q->inodes.count * (uint64_t)(SQUASHFS_META_B / INODE_B);
	uint64_t bytes;
	int rc = 0;

	n->count = q->super.inode_count;
	if (n->count > room) {
		rc = report(arg, SQUASHFS_S_INODES, "the superblock counts "
		    "more inodes than the inode table has room for");
		n->count = (uint32_t)room;
	}
	bytes = (n->count + UINT64_C(1)) * sizeof(*n->refs);
	if (rc == 0)
		rc = image_take(q->super.memory, bytes);
	if (rc != 0)
		return rc;
	n->taken = bytes;
	n->refs = sys_calloc(n->count + (size_t)1, sizeof(*n->refs));
	return n->refs == NULL ? -ENOMEM : 0;
}

void
sq_numbers_close(struct sq_numbers *n, const struct sq_tables *q)
{
	sys_free(n->refs);
	image_give(q->super.memory, n->taken);
}

enum sq_number
sq_numbers_add(struct sq_numbers *n, uint32_t number, uint64_t ref)
{
	if (number == 0 || number > n->count)
		return SQ_NUMBER_NEW;
	if (n->refs[number] == 0) {
		n->refs[number] = ref + 1;
		return SQ_NUMBER_NEW;
	}
	return n->refs[number] == ref + 1 ? SQ_NUMBER_AGAIN : SQ_NUMBER_TAKEN;
}

int
sq_numbers_check(const struct sq_numbers *n, const struct sq_tables *q,
    struct sq_codec *c, image_report_fn *report, void *arg)
{
	const struct sq_super *s = &q->super;
	uint32_t other = 0;
	uint64_t pos = 0;
	char why[WHY_B];
	int rc = 0;

	if (!s->exports_known || n->count < s->inode_count)
		return 0;
	for (uint32_t k = 0; other == 0 && k < n->count; k += ENTRIES) {
		struct sq_meta block = { 0 };
		uint8_t p[SQUASHFS_POINTER_B];

		rc = sq_read(s, s->exports + k / ENTRIES * sizeof(p), p,
		    sizeof(p));
		pos = load_le64(p);
		if (rc == 0)
			rc = sq_meta_one(&block, s, c, pos);
		for (uint32_t i = 0; rc == 0 && other == 0 && i < ENTRIES &&
		    k + i < n->count; i++) {
			uint64_t ref = n->refs[k + 1 + i];

			if (ref != 0 && load_le64(block.data +
			    i * SQUASHFS_EXPORT_B) != ref - 1)
				other = k + 1 + i;
		}
		sq_meta_free(&block, s);
		/* sq_check() could read it */
		if (rc != 0)
			return image_no_memory(rc) ? rc :
			    report(arg, pos, "the export table cannot be "
			    "read");
	}
	if (other == 0)
		return 0;
	snprintf(why, sizeof(why), "the export table's entry for inode %u "
	    "refers to another inode, so NFS would open that one", other);
	return report(arg, pos, why);
}
