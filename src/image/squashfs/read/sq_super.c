/*
 * sq_super.c - the superblock, and reading from an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

int
sq_read(const struct sq_super *s, uint64_t pos, void *buf, size_t len)
{
	ssize_t n;

	if (pos > s->length || len > s->length - pos)
		return -ENODATA;
	n = fdio_pread(s->fd, buf, len, (off_t)(s->offset + pos));
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -ENODATA;
}

/* Reads the position of a table's first block from its index. */
static int
first_block(const struct sq_super *s, uint64_t table, uint64_t *pos)
{
	uint8_t p[8];
	int rc = sq_read(s, table, p, sizeof(p));

	*pos = load_le64(p);
	return rc;
}

static void
lower(uint64_t *end, uint64_t start, uint64_t pos)
{
	if (pos > start && pos < *end)
		*end = pos;
}

/*
 * The end of the directory table is not recorded, but it is followed by another
 * table or that table's first block.
 */
static void
find_dirs_end(struct sq_super *s, const uint8_t *p)
{
	s->dirs_end = s->length;
	for (int at = SQUASHFS_S_ID_TABLE; at <= SQUASHFS_S_EXPORT_TABLE;
	    at += 8) {
		uint64_t table = load_le64(p + at), pos;

		lower(&s->dirs_end, s->dirs, table);
		if (at != SQUASHFS_S_INODE_TABLE && at != SQUASHFS_S_DIR_TABLE &&
		    first_block(s, table, &pos) == 0)
			lower(&s->dirs_end, s->dirs, pos);
	}
}

static const char *
check_super(const struct sq_super *s, const uint8_t *p)
{
	unsigned log = load_le16(p + SQUASHFS_S_BLOCK_LOG);

	if (load_le16(p + SQUASHFS_S_MAJOR) != 4 ||
	    load_le16(p + SQUASHFS_S_MINOR) != 0)
		return "the squashfs version is not 4.0";
	if (log < 12 || log > 20 || s->block != 1U << log)
		return "the block size is not a power of two from 4 KiB to 1 "
		    "MiB";
	if (s->length < SQUASHFS_SUPER_B ||
	    s->length > (uint64_t)INT64_MAX - s->offset)
		return "the image length in the superblock is invalid";
	if (s->inodes < SQUASHFS_SUPER_B || s->inodes >= s->dirs ||
	    s->dirs > s->length)
		return "the inode and directory tables are out of place";
	if (s->fragment_count > 0 && (s->fragment_count > s->length ||
	    s->fragments > s->length))
		return "the fragment table is out of place";
	return NULL;
}

static int
find_end(struct sq_super *s)
{
	/* st_size is not set for a block device */
	off_t end = sys_lseek(s->fd, 0, SEEK_END);

	if (end < 0)
		return (int)end;
	s->there = (uint64_t)end > s->offset ? (uint64_t)end - s->offset : 0;
	return 0;
}

static void
load_super(struct sq_super *s, const uint8_t *p)
{
	s->inode_count = load_le32(p + SQUASHFS_S_INODES);
	s->mtime = load_le32(p + SQUASHFS_S_MTIME);
	s->block = load_le32(p + SQUASHFS_S_BLOCK);
	s->fragment_count = load_le32(p + SQUASHFS_S_FRAGMENTS);
	s->compressor = load_le16(p + SQUASHFS_S_COMPRESSOR);
	s->flags = load_le16(p + SQUASHFS_S_FLAGS);
	s->id_count = load_le16(p + SQUASHFS_S_IDS);
	s->root = load_le64(p + SQUASHFS_S_ROOT);
	s->length = load_le64(p + SQUASHFS_S_USED);
	s->ids = load_le64(p + SQUASHFS_S_ID_TABLE);
	s->xattrs = load_le64(p + SQUASHFS_S_XATTR_TABLE);
	s->inodes = load_le64(p + SQUASHFS_S_INODE_TABLE);
	s->dirs = load_le64(p + SQUASHFS_S_DIR_TABLE);
	s->fragments = load_le64(p + SQUASHFS_S_FRAGMENT_TABLE);
	s->exports = load_le64(p + SQUASHFS_S_EXPORT_TABLE);
}

int
sq_super_read(struct sq_super *s, int fd, uint64_t offset, const char **why)
{
	uint8_t p[SQUASHFS_SUPER_B];
	int rc;

	*s = (struct sq_super){ .fd = fd, .offset = offset, .memory = s->memory,
	    .length = SQUASHFS_SUPER_B };
	if (offset > INT64_MAX - SQUASHFS_SUPER_B)
		return -EINVAL;
	rc = sq_read(s, 0, p, sizeof(p));
	if (rc == 0 && load_le32(p) != SQUASHFS_MAGIC)
		rc = -ENODATA;
	*why = "no squashfs superblock found";
	if (rc == -ENODATA)
		return -EBADMSG;
	if (rc == 0)
		rc = find_end(s);
	if (rc != 0)
		return rc;
	load_super(s, p);
	if (s->there > s->length)
		s->there = s->length;
	*why = check_super(s, p);
	if (*why != NULL)
		return -EBADMSG;
	find_dirs_end(s, p);
	return 0;
}

int
sq_probe(int fd, uint64_t offset)
{
	struct sq_super s = { .fd = fd, .offset = offset, .length = 4 };
	uint8_t p[4];
	int rc;

	if (offset > INT64_MAX - SQUASHFS_SUPER_B)
		return 0;
	rc = sq_read(&s, 0, p, sizeof(p));
	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	return load_le32(p) == SQUASHFS_MAGIC;
}
