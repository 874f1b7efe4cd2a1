/*
 * format.h - the squashfs 4.0 format: numbers, bits and lengths
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "Squashfs Binary Format" (squashfs-tools-ng, doc/format.adoc) and
 * the kernel's Documentation/filesystems/squashfs.rst.  Integers are
 * little-endian.
 *
 * 	superblock | compressor options | data and fragment blocks |
 * 	inode table | directory table | fragment, export, id and xattr tables
 *
 * Tables consist of metadata blocks: a 16-bit length, then up to
 * SQUASHFS_META_B bytes, which may be compressed.
 */
#ifndef COLDPRESS_SQUASHFS_FORMAT_H
#define COLDPRESS_SQUASHFS_FORMAT_H

#include <stdint.h>

enum {
	SQUASHFS_MAGIC = 0x73717368,
	/*
	 * at the start of an image that mksquashfs -stream wrote to a pipe; the
	 * superblock follows the padding
	 */
	SQUASHFS_STREAMED = 0x53515348,
	SQUASHFS_SUPER_B = 96,
	SQUASHFS_META_B = 8192,		/* size of an unpacked metadata block */
	SQUASHFS_META_HEADER_B = 2,
	SQUASHFS_META_RAW = 1 << 15,	/* flag in the header: uncompressed */
	SQUASHFS_BLOCK_MIN = 4 << 10,
	SQUASHFS_BLOCK_MAX = 1 << 20,
	SQUASHFS_BLOCK_DEFAULT = 128 << 10,
	SQUASHFS_BLOCK_RAW = 1 << 24,	/* flag in a size word: uncompressed */
	SQUASHFS_PAD_B = 4096,		/* mksquashfs pads images to a
					 * multiple of this */
	SQUASHFS_NAME_MAX = 256,
	SQUASHFS_IDS_MAX = 65535,	/* different users and groups */

	/* sizes of entries in the lookup tables */
	SQUASHFS_FRAGMENT_B = 16,
	SQUASHFS_EXPORT_B = 8,
	SQUASHFS_ID_B = 4,
	SQUASHFS_POINTER_B = 8,		/* pointer to a table's metadata
					 * block */

	/* directory listings: a header followed by up to 256 entries */
	SQUASHFS_LISTING_HEAD_B = 12,
	SQUASHFS_LISTING_RUN = 256,
	SQUASHFS_ENTRY_B = 8,		/* without the name */
	SQUASHFS_INDEX_B = 12,		/* entry of a directory's index,
					 * without the name */
	SQUASHFS_LISTING_EXTRA = 3	/* added to a listing's length, for
					 * "." and ".." */
};

/* The values for no fragment, xattrs or table, in 32 and in 64 bits. */
#define SQUASHFS_NONE UINT32_MAX
#define SQUASHFS_NO_TABLE UINT64_MAX

/* The offset of each field in the superblock. */
enum squashfs_super {
	SQUASHFS_S_MAGIC = 0, SQUASHFS_S_INODES = 4, SQUASHFS_S_MTIME = 8,
	SQUASHFS_S_BLOCK = 12, SQUASHFS_S_FRAGMENTS = 16,
	SQUASHFS_S_COMPRESSOR = 20, SQUASHFS_S_BLOCK_LOG = 22,
	SQUASHFS_S_FLAGS = 24, SQUASHFS_S_IDS = 26, SQUASHFS_S_MAJOR = 28,
	SQUASHFS_S_MINOR = 30, SQUASHFS_S_ROOT = 32, SQUASHFS_S_USED = 40,
	SQUASHFS_S_ID_TABLE = 48, SQUASHFS_S_XATTR_TABLE = 56,
	SQUASHFS_S_INODE_TABLE = 64, SQUASHFS_S_DIR_TABLE = 72,
	SQUASHFS_S_FRAGMENT_TABLE = 80, SQUASHFS_S_EXPORT_TABLE = 88
};

enum squashfs_flag {
	SQUASHFS_RAW_INODES = 0x0001, SQUASHFS_RAW_DATA = 0x0002,
	SQUASHFS_CHECK_BYTES = 0x0004,	/* not in 4.0 */
	SQUASHFS_RAW_FRAGMENTS = 0x0008, SQUASHFS_NO_FRAGMENTS = 0x0010,
	SQUASHFS_ALWAYS_FRAGMENTS = 0x0020, SQUASHFS_DEDUPLICATED = 0x0040,
	SQUASHFS_EXPORTABLE = 0x0080, SQUASHFS_RAW_XATTRS = 0x0100,
	SQUASHFS_NO_XATTRS = 0x0200, SQUASHFS_OPTIONS = 0x0400,
	SQUASHFS_RAW_IDS = 0x0800
};

enum squashfs_compressor {
	SQUASHFS_GZIP = 1, SQUASHFS_LZMA, SQUASHFS_LZO, SQUASHFS_XZ,
	SQUASHFS_LZ4, SQUASHFS_ZSTD
};

/* Inode types; a long one is SQUASHFS_LONG higher. */
enum squashfs_type {
	SQUASHFS_DIR = 1, SQUASHFS_FILE, SQUASHFS_LINK, SQUASHFS_BLOCK_DEVICE,
	SQUASHFS_CHAR, SQUASHFS_FIFO, SQUASHFS_SOCKET, SQUASHFS_LONG = 7
};

/*
 * A device number as stored: the 20 bits of the minor number surround the 12
 * bits of the major number.
 */
static inline uint32_t
squashfs_device(uint32_t major, uint32_t minor)
{
	return major << 8 | (minor & 0xff) | (minor & ~UINT32_C(0xff)) << 12;
}

static inline unsigned
squashfs_major(uint32_t rdev)
{
	return rdev >> 8 & 0xfff;
}

static inline unsigned
squashfs_minor(uint32_t rdev)
{
	return (rdev & 0xff) | (rdev >> 12 & 0xfff00);
}

#endif
