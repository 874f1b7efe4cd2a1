/*
 * sq_super.c - the superblock, and reading from an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source for an image in a program that mounts itself: the AppImage
 * specification, type 2: an ELF file with 'A', 'I' and 2 in the padding of its
 * identification, with the image after the section headers.  If the section
 * headers of the runtime have been stripped, the first RUNTIME_MAX bytes are
 * searched for the image.
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
	ELF_B = 64, IS_64 = 2, IS_BIG = 2,
	WINDOW_B = 64 << 10,
	RUNTIME_MAX = 16 << 20,		/* maximum bytes before the image */
};

int
sq_read(const struct sq_super *s, uint64_t pos, void *buf, size_t len)
{
	ssize_t n;

	if (pos > s->length || len > s->length - pos)
		return -ENODATA;
	n = s->verity != NULL ? (ssize_t)verity_pread(s->verity, buf, len,
	    pos) : fdio_pread(s->fd, buf, len, (off_t)(s->offset + pos));
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -ENODATA;
}

static void
lower(uint64_t *end, uint64_t start, uint64_t pos)
{
	if (pos > start && pos < *end)
		*end = pos;
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

int
sq_super_read(struct sq_super *s, int fd, uint64_t offset, const char **why)
{
	uint8_t p[SQUASHFS_SUPER_B], first[SQUASHFS_POINTER_B];
	off_t end;
	int rc;

	*s = (struct sq_super){ .fd = fd, .offset = offset, .memory = s->memory,
	    .verity = s->verity, .length = SQUASHFS_SUPER_B };
	if (offset > INT64_MAX - SQUASHFS_SUPER_B)
		return -EINVAL;
	/* st_size is not set for a block device */
	end = sys_lseek(fd, 0, SEEK_END);
	if (end < 0)
		return (int)end;
	rc = sq_read(s, 0, p, sizeof(p));
	s->streamed = rc == 0 && load_le32(p) == SQUASHFS_STREAMED;
	if (s->streamed && (uint64_t)end > offset) {
		s->length = (uint64_t)end - offset;
		rc = sq_read(s, s->length - SQUASHFS_SUPER_B, p, sizeof(p));
	}
	if (rc == 0 && load_le32(p) != SQUASHFS_MAGIC)
		rc = -ENODATA;
	*why = "no squashfs superblock found";
	if (rc != 0)
		return rc == -ENODATA ? -EBADMSG : rc;
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
	s->there = (uint64_t)end > offset ? (uint64_t)end - offset : 0;
	if (s->there > s->length)
		s->there = s->length;
	*why = check_super(s, p);
	if (*why != NULL)
		return -EBADMSG;

	/*
	 * The end of the directory table is not recorded, but it is followed by
	 * another table or that table's first block, which the index names.
	 */
	s->dirs_end = s->length;
	for (int at = SQUASHFS_S_ID_TABLE; at <= SQUASHFS_S_EXPORT_TABLE;
	    at += 8) {
		uint64_t table = load_le64(p + at);

		lower(&s->dirs_end, s->dirs, table);
		if (at != SQUASHFS_S_INODE_TABLE &&
		    at != SQUASHFS_S_DIR_TABLE &&
		    sq_read(s, table, first, sizeof(first)) == 0)
			lower(&s->dirs_end, s->dirs, load_le64(first));
	}
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
	return load_le32(p) == SQUASHFS_MAGIC ||
	    load_le32(p) == SQUASHFS_STREAMED;
}

/* Reads a len-byte number in the byte order given by the header. */
static uint64_t
elf_number(const uint8_t *elf, size_t at, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v = v << 8 | elf[at + (elf[5] == IS_BIG ? i : len - 1 - i)];
	return v;
}

/* Returns whether the values in a superblock are plausible. */
static bool
is_image(int fd, uint64_t offset)
{
	struct sq_super s = { .memory = NULL };
	const char *why;

	return sq_probe(fd, offset) == 1 &&
	    sq_super_read(&s, fd, offset, &why) == 0;
}

int
sq_find_appended(int fd, uint64_t *offset)
{
	struct sq_super s = { .fd = fd, .length = ELF_B };
	uint8_t elf[ELF_B], p[WINDOW_B], *hit;
	const uint8_t *end = p + sizeof(p);
	size_t each;
	int rc = sq_read(&s, 0, elf, sizeof(elf));

	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	if (memcmp(elf, "\177ELF", 4) != 0)
		return sq_find_sif(fd, offset);
	/* at the end of the section headers */
	each = elf[4] == IS_64 ? 58 : 46;
	*offset = elf[4] == IS_64 ? elf_number(elf, 40, 8) :
	    elf_number(elf, 32, 4);
	*offset += elf_number(elf, each, 2) * elf_number(elf, each + 2, 2);
	if (is_image(fd, *offset))
		return 1;
	if (memcmp(elf + 8, "AI\2", 3) != 0)
		return 0;
	s.length = RUNTIME_MAX;
	for (uint64_t at = 0; at + sizeof(p) <= RUNTIME_MAX;
	    at += sizeof(p) - 4) {
		rc = sq_read(&s, at, p, sizeof(p));
		if (rc != 0)
			return rc == -ENODATA ? 0 : rc;
		hit = p;
		while ((hit = memmem(hit, (size_t)(end - hit), "hsqs", 4)) !=
		    NULL) {
			*offset = at + (size_t)(hit++ - p);
			if (is_image(fd, *offset))
				return 1;
		}
	}
	return 0;
}
