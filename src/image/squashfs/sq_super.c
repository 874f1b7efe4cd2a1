/*
 * sq_super.c - the super block, and reading at a place of the image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

enum { MAGIC = 0x73717368 };

int
sq_take(const struct sq_super *s, uint64_t bytes)
{
	if (s->memory == NULL)
		return 0;
	if (bytes > *s->memory->left)
		return -EDQUOT;
	*s->memory->left -= bytes;
	s->memory->taken += bytes;
	return 0;
}

void
sq_give(const struct sq_super *s, uint64_t bytes)
{
	if (s->memory == NULL)
		return;
	*s->memory->left += bytes;
	s->memory->taken -= bytes;
}

int
sq_grow(const struct sq_super *s, void **items, size_t count, size_t *cap,
    size_t size)
{
	size_t before = *cap;
	/* it doubles, but at first */
	int rc = count < before ? 0 : sq_take(s, (before + 8) * size);

	return rc != 0 ? rc : array_grow(items, count, cap, size);
}

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

/* Of a table of pointers: where the first of its blocks is. */
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
 * Nothing tells where the directory table ends, but some table or its first
 * block follows it.
 */
static void
find_dirs_end(struct sq_super *s, const uint8_t *p)
{
	s->dirs_end = s->length;
	for (int at = 48; at <= 88; at += 8) {
		uint64_t table = load_le64(p + at), pos;

		lower(&s->dirs_end, s->dirs, table);
		if (at != 64 && at != 72 &&
		    first_block(s, table, &pos) == 0)
			lower(&s->dirs_end, s->dirs, pos);
	}
}

static const char *
check(const struct sq_super *s, const uint8_t *p)
{
	unsigned log = load_le16(p + 22);

	if (load_le16(p + 28) != 4 || load_le16(p + 30) != 0)
		return "its version is not 4.0";
	if (log < 12 || log > 20 || s->block != 1U << log)
		return "its block size is not a power of two from 4 KiB to "
		    "1 MiB";
	if (s->length < SQ_SUPER_B ||
	    s->length > (uint64_t)INT64_MAX - s->offset)
		return "its length cannot be that of an image";
	if (s->inodes < SQ_SUPER_B || s->inodes >= s->dirs ||
	    s->dirs > s->length)
		return "its inode and directory tables are out of place";
	if (s->fragment_count > 0 && (s->fragment_count > s->length ||
	    s->fragments > s->length))
		return "its fragment table is out of place";
	return NULL;
}

static int
find_end(struct sq_super *s)
{
	/* also of a block device, whose st_size says nothing */
	off_t end = lseek(s->fd, 0, SEEK_END);

	if (end == -1)
		return -errno;
	s->there = (uint64_t)end > s->offset ? (uint64_t)end - s->offset : 0;
	return 0;
}

static void
load(struct sq_super *s, const uint8_t *p)
{
	s->inode_count = load_le32(p + 4);
	s->mtime = load_le32(p + 8);
	s->block = load_le32(p + 12);
	s->fragment_count = load_le32(p + 16);
	s->compressor = load_le16(p + 20);
	s->flags = load_le16(p + 24);
	s->id_count = load_le16(p + 26);
	s->root = load_le64(p + 32);
	s->length = load_le64(p + 40);
	s->ids = load_le64(p + 48);
	s->xattrs = load_le64(p + 56);
	s->inodes = load_le64(p + 64);
	s->dirs = load_le64(p + 72);
	s->fragments = load_le64(p + 80);
	s->exports = load_le64(p + 88);
}

int
sq_super_read(struct sq_super *s, int fd, uint64_t offset, const char **why)
{
	uint8_t p[SQ_SUPER_B];
	int rc;

	*s = (struct sq_super){ .fd = fd, .offset = offset, .memory = s->memory,
	    .length = SQ_SUPER_B };
	if (offset > INT64_MAX - SQ_SUPER_B)
		return -EINVAL;
	rc = sq_read(s, 0, p, sizeof(p));
	if (rc == 0 && load_le32(p) != MAGIC)
		rc = -ENODATA;
	*why = "there is no squashfs image";
	if (rc == -ENODATA)
		return -EBADMSG;
	if (rc == 0)
		rc = find_end(s);
	if (rc != 0)
		return rc;
	load(s, p);
	if (s->there > s->length)
		s->there = s->length;
	*why = check(s, p);
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

	if (offset > INT64_MAX - SQ_SUPER_B)
		return 0;
	rc = sq_read(&s, 0, p, sizeof(p));
	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	return load_le32(p) == MAGIC;
}
