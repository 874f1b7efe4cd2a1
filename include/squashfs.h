/*
 * squashfs.h - what lies in a squashfs 4.0 image, read without mounting it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/filesystems/squashfs.rst, and the format
 * description that goes with squashfs-tools-ng (doc/format.adoc).
 *
 * The image may be hostile.  Whatever it says is checked, in 64 bits, against
 * the real length of the image or of the table it is about before it is used;
 * no table takes more than SQUASHFS_TABLE_MAX once unpacked; and nothing here
 * goes deeper by what it reads.  A table that is damaged in part is read in
 * part: what fell out answers -EBADMSG.
 *
 * squashfs_open() and squashfs_load() are for one thread; after them a struct
 * squashfs does not change, and all the rest is thread-safe.
 */
#ifndef COLDPRESS_SQUASHFS_H
#define COLDPRESS_SQUASHFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SQUASHFS_META_B = 8192,		/* of a metadata block, unpacked */
	SQUASHFS_NAME_MAX = 256,
	SQUASHFS_BLOCK_RAW = 1 << 24,	/* in a block's size: not compressed */
	SQUASHFS_TABLE_MAX = 512 << 20,
};

#define SQUASHFS_NONE UINT32_MAX	/* no fragment, no xattrs */

enum squashfs_type {
	SQUASHFS_DIR = 1, SQUASHFS_FILE, SQUASHFS_LINK, SQUASHFS_BLOCK,
	SQUASHFS_CHAR, SQUASHFS_FIFO, SQUASHFS_SOCKET
};

/* The superblock, as it stands; UINT64_MAX is the start of no table. */
struct squashfs_super {
	uint32_t inodes, mtime, block_B, fragments;
	uint16_t compressor, block_log, flags, ids;
	uint64_t root;			/* reference of its inode */
	uint64_t used_B;
	uint64_t id_start, xattr_start, inode_start, dir_start,
	    fragment_start, export_start;
};

struct squashfs_inode {
	enum squashfs_type type;
	uint16_t mode;			/* without the type */
	uint16_t uid, gid;		/* indexes for squashfs_id() */
	uint32_t mtime, number, links;
	uint32_t xattr;			/* index, or SQUASHFS_NONE */
	uint32_t rdev;
	/* of a file its length, of a directory that of its list, and of a
	   symbolic link that of its target */
	uint64_t size;
	uint64_t start;			/* of a file's blocks in the image */
	uint32_t fragment, fragment_offset;
	/* sizes of its blocks, 32 bits each and little-endian; the target of
	   a link: in the image's table, and as long as that */
	const uint8_t *blocks, *target;
	uint64_t block_count;
	uint32_t dir_block, dir_offset;	/* of a directory's list */
};

struct squashfs;

/*
 * A part that cannot be read: from the image's start, and why; reason lasts
 * for good.
 */
typedef void squashfs_damage_fn(void *arg, uint64_t offset,
    const char *reason);

/*
 * The image at offset of fd, which stays the caller's: its superblock and the
 * options of its compressor.  0, -EBADMSG (no such image, or not to be made
 * sense of), -ENOTSUP (a version or compressor that is not known, or not in
 * this build), -ENOMEM, or -errno; then *why is a sentence or NULL.
 */
int squashfs_open(struct squashfs **q, int fd, uint64_t offset,
    const char **why);

/*
 * Reads all tables, with so many threads.  damage may be NULL.  0 even if
 * parts are damaged; -EBADMSG (nothing is left), -EFBIG (larger than
 * SQUASHFS_TABLE_MAX), -ENOMEM or -errno, with *why as above.
 */
int squashfs_load(struct squashfs *q, unsigned threads,
    squashfs_damage_fn *damage, void *arg, const char **why);

void squashfs_close(struct squashfs *q);	/* may be NULL */

const struct squashfs_super *squashfs_super(const struct squashfs *q);
const char *squashfs_compressor(const struct squashfs *q);

/*
 * The bytes of the image that can be read: what the superblock says, or what
 * there is if that is less.
 */
uint64_t squashfs_length(const struct squashfs *q);

/* The inode of a reference.  0 or -EBADMSG. */
int squashfs_inode(const struct squashfs *q, uint64_t ref,
    struct squashfs_inode *inode);

/* Where in the image the metadata block of that inode begins. */
uint64_t squashfs_inode_at(const struct squashfs *q, uint64_t ref);

/* A place in the list of a directory. */
struct squashfs_dir {
	const uint8_t *p, *end;
	uint32_t left, block;		/* in the run of entries: of inodes */
};

struct squashfs_entry {
	const uint8_t *name;		/* in the image's table */
	uint32_t name_len;
	enum squashfs_type type;
	uint64_t ref;			/* of its inode */
};

/* 0, or -EBADMSG: its list is not in the table. */
int squashfs_dir_open(const struct squashfs *q,
    const struct squashfs_inode *inode, struct squashfs_dir *d);

/*
 * The next entry: 1, 0 at the end, or -EBADMSG, after which there is no next.
 * A name is not empty, not "." or "..", and holds no "/" and no NUL.
 */
int squashfs_dir_next(struct squashfs_dir *d, struct squashfs_entry *e);

/* 0, or -EBADMSG: there is no such fragment, or its entry is not readable. */
int squashfs_fragment(const struct squashfs *q, uint32_t index,
    uint64_t *start, uint32_t *size);

/* A user's or group's number.  0 or -EBADMSG. */
int squashfs_id(const struct squashfs *q, uint16_t index, uint32_t *id);

/* The reference of an inode by its number, from 1.  0 or -EBADMSG. */
int squashfs_export(const struct squashfs *q, uint32_t number, uint64_t *ref);

/*
 * Calls fn for each extended attribute in the set of that index, with its
 * whole name and its value, which is value_len bytes.  0, -EBADMSG, or what
 * fn returned that is not 0.
 */
typedef int squashfs_xattr_fn(void *arg, const char *name,
    const uint8_t *value, size_t value_len);
int squashfs_xattrs(const struct squashfs *q, uint32_t index,
    squashfs_xattr_fn *fn, void *arg);

#endif
