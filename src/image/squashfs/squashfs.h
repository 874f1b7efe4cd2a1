/*
 * squashfs.h - a squashfs 4.0 image, as far as reading its files needs it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: "Squashfs Binary Format" (squashfs-tools-ng,
 * doc/format.adoc) and the kernel's Documentation/filesystems/squashfs.rst.
 *
 *	super block | data and fragment blocks | inode table | directory
 *	table | fragment table | export, id and xattr tables
 *
 * Nothing that the image says is believed: each number is checked against the
 * image's length, the unpacked tables' length or a cap, in 64 bits.  Tables
 * that reading needs not (ids, xattrs, exports) are checked, for Linux mounts
 * no image in which one of them is damaged; their contents are not used.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_H
#define COLDPRESS_IMAGE_SQUASHFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SQ_SUPER_B = 96,
	SQ_META_B = 8192,		/* of an unpacked metadata block */
	SQ_BLOCK_MAX = 1 << 20,
	SQ_TABLE_MAX = 512 << 20,	/* of an unpacked table */
	SQ_NAME_MAX = 256,
	SQ_STORED = 1 << 24,		/* in a size word: not compressed */
};
#define SQ_NO_FRAGMENT UINT32_MAX
#define SQ_NO_XATTR UINT32_MAX
#define SQ_NO_TABLE UINT64_MAX

enum sq_compressor {
	SQ_GZIP = 1, SQ_LZMA, SQ_LZO, SQ_XZ, SQ_LZ4, SQ_ZSTD
};

/* Blocks out of their compressed form; one thread's. */
struct sq_codec;

/* 0, -ENOTSUP (this build has it not) or -ENOMEM. */
int sq_codec_open(struct sq_codec **c, int compressor);
void sq_codec_close(struct sq_codec *c);	/* may be NULL */

/* Bytes made of at most cap, or -EBADMSG or -ENOMEM. */
int64_t sq_codec_unpack(struct sq_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/* Bytes of memory: what others have left, and what the image has of it. */
struct sq_memory {
	uint64_t *left, taken;
};

/* The image's own numbers; positions are from its start. */
struct sq_super {
	int fd;
	uint64_t offset;		/* of the image in fd */
	uint64_t length;		/* bytes used, all within fd or not */
	uint64_t there;			/* of them that fd has */
	uint64_t inodes, dirs, fragments;	/* where the tables begin, */
	uint64_t exports, ids, xattrs;	/* or SQ_NO_TABLE */
	uint64_t dirs_end;		/* at the latest */
	uint64_t root;			/* inode reference */
	uint32_t inode_count, fragment_count;
	uint32_t block;			/* bytes */
	uint32_t mtime;
	int compressor;
	uint16_t flags, id_count;
	bool ids_known;			/* sq_check() found the table good */
	uint32_t xattr_count;		/* likewise; or 0 */
	struct sq_memory *memory;	/* that tables and names take; NULL:
					   any.  By one thread at a time */
};

/* Before so much memory is taken, and after it was freed.  0 or -EDQUOT. */
int sq_take(const struct sq_super *s, uint64_t bytes);
void sq_give(const struct sq_super *s, uint64_t bytes);

/* array_grow() of what is taken so. */
int sq_grow(const struct sq_super *s, void **items, size_t count, size_t *cap,
    size_t size);

/* 0, -EBADMSG, -ENOTSUP or -errno of read; *why is a sentence or NULL. */
int sq_super_read(struct sq_super *s, int fd, uint64_t offset,
    const char **why);

/*
 * Checks by the kernel's rules what Linux reads of an image to mount it, and
 * tells of each thing at which it would refuse to: where that is in the
 * image, and a clause that lasts until tell returns.  Tables are known to be
 * good, for sq_inode_get(), from then on.  0, what tell returned, or -ENOMEM.
 */
typedef int sq_tell_fn(void *arg, uint64_t at, const char *why);
int sq_check(struct sq_super *s, struct sq_codec *c, sq_tell_fn *tell,
    void *arg);

/* As walk_source.probe() and find(). */
int sq_probe(int fd, uint64_t offset);
int sq_find(int fd, uint64_t *offset);

/* Exactly len bytes at pos, or -ENODATA (the image ends before) or -errno. */
int sq_read(const struct sq_super *s, uint64_t pos, void *buf, size_t len);

/*
 * A table of metadata blocks.  The unpacked blocks lie behind each other,
 * SQ_META_B bytes each, so that what crosses their borders is in one piece.
 */
struct sq_meta {
	uint64_t start;			/* in the image */
	uint8_t *raw;			/* as it is in the image */
	size_t raw_len;
	uint32_t *at;			/* of each block in raw, and the end */
	uint32_t *near;			/* first block of each raw SQ_META_B */
	size_t count;
	uint8_t *data;
	uint16_t *len;			/* unpacked bytes; 0: damaged */
	uint64_t taken;			/* of s->memory */
};

/*
 * Reads the table between start and end, or what of it is there, and finds
 * its blocks, most at most; it ends where they do.  0, -ENODATA (none of it
 * is there), -EFBIG, -EDQUOT, -ENOMEM or -errno.  To be freed in any case.
 */
int sq_meta_read(struct sq_meta *m, const struct sq_super *s, uint64_t start,
    uint64_t end, size_t most);

/* Unpacks block i.  Different blocks may be by different threads. */
void sq_meta_unpack(struct sq_meta *m, size_t i, struct sq_codec *c);

/*
 * The need bytes at offset of the block that begins at byte block of the
 * table; NULL if they are not all there.
 */
const uint8_t *sq_meta_get(const struct sq_meta *m, uint64_t block,
    unsigned offset, size_t need);

/* Likewise; how many bytes there are in *have, counted up to most or more. */
const uint8_t *sq_meta_span(const struct sq_meta *m, uint64_t block,
    unsigned offset, size_t most, size_t *have);
void sq_meta_free_raw(struct sq_meta *m, const struct sq_super *s);
void sq_meta_free(struct sq_meta *m, const struct sq_super *s);

/* A block as the image has it. */
struct sq_packed {
	uint64_t at;
	uint32_t word;			/* its size */
	uint8_t *data;			/* room for a block */
	uint64_t read_B;		/* counts what was read */
};

/*
 * Reads and unpacks a block to out, into exactly want bytes; want 0: a
 * block's room, any number.  The number, or -errno and in *why a clause.
 */
int64_t sq_block_unpack(const struct sq_super *s, struct sq_codec *c,
    struct sq_packed *b, size_t want, uint8_t *out, const char **why);

struct sq_fragment {
	uint64_t start;
	uint32_t size;			/* word */
};

/* What is wrong with a file. */
enum sq_flaw {
	SQ_GOOD,
	/* then its data is not read */
	SQ_BAD_INODE, SQ_BAD_DIR, SQ_BAD_BLOCK, SQ_OUTSIDE, SQ_BAD_FRAGMENT,
	SQ_BAD_TAIL, SQ_LOST_FRAGMENT,
	/* its data is read, though Linux refuses to open it */
	SQ_REFUSED,
	SQ_NO_OWNER = SQ_REFUSED, SQ_BAD_XATTR, SQ_LONG_LINK, SQ_NO_NUMBER,
	SQ_NEEDLESS_FRAGMENT, SQ_BAD_MODE, SQ_BAD_TYPE
};

/* A clause: static. */
const char *sq_flaw_text(enum sq_flaw flaw);

struct sq_inode {
	enum { SQ_DIR, SQ_FILE, SQ_LINK, SQ_OTHER } type;
	uint16_t number;		/* of the type, 1 to 7 */
	uint64_t size;			/* of a file, or of a listing */
	uint64_t start;			/* of a file's first block */
	uint32_t blocks;		/* of a file, without its fragment */
	const uint8_t *sizes;		/* a word each */
	uint32_t fragment, tail_at;
	uint32_t dir_block;		/* where a directory's listing is */
	uint16_t dir_offset;
	uint8_t flaw;			/* or SQ_GOOD; it can be read */
};

/* The inode of a reference; 0 or -EBADMSG. */
int sq_inode_get(const struct sq_meta *inodes, const struct sq_super *s,
    uint64_t ref, struct sq_inode *inode);

/* What an inode says besides. */
struct sq_attr {
	uint16_t mode;			/* as st_mode */
	uint16_t uid, gid;		/* indices of the id table */
	uint32_t mtime, links, rdev;
	uint32_t xattr;			/* or SQ_NO_XATTR */
	const uint8_t *target;		/* of a link, not terminated */
	uint32_t target_len;
};

/* For a reference that sq_inode_get() took.  0 or -EBADMSG. */
int sq_attr_get(const struct sq_meta *inodes, uint64_t ref,
    struct sq_attr *a);

struct sq_dir {
	const uint8_t *name;		/* in the table, not ended by a NUL */
	uint16_t name_len;
	uint32_t parent;		/* index; the root is its own */
	uint64_t ref;
	const char *bad;		/* why its list ends early, or NULL */
	uint8_t flaw;			/* as sq_flaw, if it was listed */
};

struct sq_stream;

/* Anything that is not a directory. */
struct sq_file {
	const uint8_t *name;
	uint16_t name_len;
	uint8_t type;			/* as sq_inode.type */
	uint8_t flaw;			/* as sq_flaw */
	bool again;			/* its data are an earlier file's */
	bool skip;			/* not asked for */
	uint32_t dir;			/* index */
	uint64_t ref;
	uint64_t size, start;
	const uint8_t *sizes;
	uint32_t blocks, fragment, tail_at;
	/* The plan's. */
	uint32_t twin;			/* next of the same data, or 0 */
	struct sq_stream *stream;	/* that hashes it */
	uint32_t same;			/* an earlier name of its inode, or 0 */
};

/* Whether its data cannot be read. */
static inline bool
sq_file_bad(const struct sq_file *f)
{
	return f->flaw != SQ_GOOD && f->flaw < SQ_REFUSED;
}

struct sq_image {
	struct sq_super super;
	struct sq_meta inodes, dirs;
	struct sq_fragment *fragments;
	struct sq_dir *dir;
	size_t dir_count, dir_cap;
	struct sq_file *file;		/* the first is no file */
	size_t file_count, file_cap;
	uint32_t *refs;			/* by their inode: those with blocks */
	size_t ref_count, ref_cap;
	uint64_t blocks;		/* of all of these */
};

/* What stands before the tree: the tables.  As walk_source.walk() fails. */
int sq_image_open(struct sq_image *m, int fd, uint64_t offset,
    unsigned threads, const char **why);

/* All names and inodes.  0, -EBADMSG, -EFBIG or -ENOMEM. */
int sq_tree_read(struct sq_image *m, const char **why);
void sq_image_close(struct sq_image *m);

/* A piece of work: one data block, or one fragment block, or none. */
struct sq_unit {
	uint64_t at;			/* in the image */
	uint32_t index;			/* of the file, or of the fragment */
	uint32_t block;			/* of the file, or one of these */
};
#define SQ_UNIT_FRAGMENT UINT32_MAX
#define SQ_UNIT_HOLES (UINT32_MAX - 1)	/* a file without any block */

/* All blocks of a file, or a fragment block. */
struct sq_item {
	uint64_t order;
	size_t first, count;		/* units */
};

struct sq_plan {
	struct sq_unit *units;
	size_t count;
	struct sq_item *items;		/* in the order of reading */
	size_t item_count;
	/* tail[from[k]..from[k + 1]): files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	uint64_t files, bytes;		/* to be read, each duplicate once */
};

/* Finds duplicates, and orders the work.  0 or -ENOMEM. */
int sq_plan_make(struct sq_plan *p, struct sq_image *m);
void sq_plan_free(struct sq_plan *p);

/* Bytes of the data block k of f, unpacked; and of its tail. */
static inline size_t
sq_block_len(const struct sq_super *s, const struct sq_file *f, uint32_t k)
{
	uint64_t left = f->size - (uint64_t)k * s->block;

	return left < s->block ? (size_t)left : s->block;
}

static inline size_t
sq_tail_len(const struct sq_super *s, const struct sq_file *f)
{
	return f->fragment == SQ_NO_FRAGMENT ? 0 :
	    (size_t)(f->size - (uint64_t)f->blocks * s->block);
}

#endif
