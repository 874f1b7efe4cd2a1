/*
 * sq_dir.c - the lists of directories
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A list is made of runs: a head with the metadata block in which the inodes
 * of the run are, then up to 256 entries.
 */
#include "sq.h"

#include "bytes.h"

#include <errno.h>
#include <string.h>

enum {
	RUN_B = 12, RUN_MAX = 256,
	ENTRY_B = 8,
	DOTS = 3,		/* that a list's size counts for . and .. */
};

int
squashfs_dir_open(const struct squashfs *q,
    const struct squashfs_inode *inode, struct squashfs_dir *d)
{
	uint64_t pos, len;
	const uint8_t *p;

	memset(d, 0, sizeof(*d));
	if (inode->type != SQUASHFS_DIR)
		return -EBADMSG;
	if (inode->size <= DOTS)
		return 0;
	len = inode->size - DOTS;
	pos = sq_meta_pos(&q->dirs, inode->dir_block, inode->dir_offset);
	p = sq_meta_get(&q->dirs, pos, len);
	if (p == NULL)
		return -EBADMSG;
	d->p = p;
	d->end = p + len;
	return 0;
}

static bool
good_name(const uint8_t *name, size_t len)
{
	if (len > SQUASHFS_NAME_MAX || (len == 1 && name[0] == '.') ||
	    (len == 2 && name[0] == '.' && name[1] == '.'))
		return false;
	return memchr(name, '/', len) == NULL &&
	    memchr(name, '\0', len) == NULL;
}

static int
next_run(struct squashfs_dir *d)
{
	if (d->end - d->p < RUN_B)
		return -EBADMSG;
	d->left = load_le32(d->p);
	if (d->left >= RUN_MAX)
		return -EBADMSG;
	d->left++;
	d->block = load_le32(d->p + 4);
	d->p += RUN_B;
	return 0;
}

static int
next_entry(struct squashfs_dir *d, struct squashfs_entry *e)
{
	size_t len;

	if (d->end - d->p < ENTRY_B)
		return -EBADMSG;
	e->ref = (uint64_t)d->block << 16 | load_le16(d->p);
	e->type = load_le16(d->p + 4);
	len = (size_t)load_le16(d->p + 6) + 1;
	e->name = d->p + ENTRY_B;
	e->name_len = (uint32_t)len;
	if (len > (size_t)(d->end - e->name) || !good_name(e->name, len) ||
	    e->type < SQUASHFS_DIR || e->type > SQUASHFS_SOCKET)
		return -EBADMSG;
	d->p = e->name + len;
	d->left--;
	return 1;
}

int
squashfs_dir_next(struct squashfs_dir *d, struct squashfs_entry *e)
{
	int rc = 0;

	if (d->p == d->end && d->left == 0)
		return 0;
	if (d->left == 0)
		rc = next_run(d);
	if (rc == 0)
		rc = next_entry(d, e);
	if (rc < 0)
		*d = (struct squashfs_dir){ 0 };
	return rc;
}
