/*
 * squashfs.h - the parts of a squashfs 4.0 image needed to read its files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The layout is described in image/squashfs/format.h, which names its sources.
 *
 * Nothing in the image is trusted: each number is checked against the image's
 * length, the unpacked tables' length or a cap, in 64 bits.  The tables that
 * are not needed to read files (ids, xattrs, exports) are checked, because
 * Linux does not mount an image in which one of them is damaged.  The contents
 * of the xattr and export tables are checked too, so that every tool that opens
 * an image with this reader gives the same verdict on it.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_READ_SQUASHFS_H
#define COLDPRESS_IMAGE_SQUASHFS_READ_SQUASHFS_H

#include "image/source.h"
#include "image/squashfs/read/reader.h"

enum { SQ_TABLE_MAX = 512 << 20 };	/* bytes in an unpacked table */

extern const struct image_source sq_image_source;

/* A decompressor of blocks, for one thread. */
struct sq_codec;

/* Returns 0, -ENOTSUP (not in this build) or -ENOMEM. */
int sq_codec_open(struct sq_codec **c, int compressor);
void sq_codec_close(struct sq_codec *c);	/* may be NULL */

/* Returns the number of bytes produced, at most cap, or -EBADMSG or -ENOMEM. */
int64_t sq_codec_unpack(struct sq_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * The fields of the superblock; positions are relative to the image's start.
 */
struct sq_super {
	int fd;
	const struct verity *verity;	/* what is read must match; or NULL */
	uint64_t offset;		/* offset of the image in fd */
	uint64_t length;		/* bytes used, not necessarily all in
					 * fd */
	uint64_t there;			/* number of these bytes in fd */
	uint64_t inodes, dirs, fragments;	/* positions of the tables, */
	uint64_t exports, ids, xattrs;	/* or SQUASHFS_NO_TABLE */
	uint64_t dirs_end;		/* upper limit for the end of dirs */
	uint64_t root;			/* inode reference */
	uint32_t inode_count, fragment_count;
	uint32_t block;			/* bytes */
	uint32_t mtime;
	int compressor;
	uint16_t flags, id_count;
	bool ids_known;			/* sq_check() found the id table
					 * intact */
	bool exports_known;		/* likewise */
	bool streamed;			/* it is at the end of the file */
	uint32_t xattr_count;		/* likewise; otherwise 0 */
	uint32_t xattrs_unused;		/* field after it */
	bool *bad_sets;			/* the damaged ones of xattr_count sets,
					 * or NULL: none */
	struct image_memory *memory;	/* as in struct image */
};

/*
 * Returns 0, -EBADMSG, -ENOTSUP or -errno from a read; *why is a sentence or
 * NULL.
 */
int sq_super_read(struct sq_super *s, int fd, uint64_t offset,
    const char **why);

/*
 * Checks, by the kernel's rules, everything that Linux reads to mount an image,
 * and reports each reason why it would not mount it; the clause is valid until
 * report returns.  Afterwards, sq_inode_get() knows which tables are intact.
 * Returns 0, what report returned, or -ENOMEM.
 */
int sq_check(struct sq_super *s, struct sq_codec *c, image_report_fn *report,
    void *arg);

/* Implement walk_source.probe() and find(). */
int sq_probe(int fd, uint64_t offset);
int sq_find_appended(int fd, uint64_t *offset);

/* The same for a SIF file. */
int sq_find_sif(int fd, uint64_t *offset);

/*
 * Reads exactly len bytes at pos.  Returns 0, -ENODATA (past the end of the
 * image) or -errno.
 */
int sq_read(const struct sq_super *s, uint64_t pos, void *buf, size_t len);

/*
 * A table of metadata blocks.  The unpacked blocks are contiguous,
 * SQUASHFS_META_B bytes each, so data that crosses their boundaries is
 * contiguous.
 */
struct sq_meta {
	uint64_t start;			/* in the image */
	uint8_t *raw;			/* as stored in the image */
	size_t raw_len;
	uint32_t *at;			/* each block's offset in raw, and
					 * the end */
	uint32_t *near;			/* first block at or after each 8 KiB
					 * boundary in raw */
	size_t count;
	uint8_t *data;
	uint16_t *len;			/* unpacked bytes; 0: damaged */
	uint64_t taken;			/* taken from s->memory */
};

/*
 * Reads the table between start and end, or the part of it that exists, and
 * finds at most `most` blocks; the table ends with the last of them.
 * Returns 0, -ENODATA (none of it exists), -EFBIG, -EDQUOT, -ENOMEM or -errno.
 * Must be freed even on failure.
 */
int sq_meta_read(struct sq_meta *m, const struct sq_super *s, uint64_t start,
    uint64_t end, size_t most);

/* Unpacks block i.  Several threads may unpack different blocks. */
void sq_meta_unpack(struct sq_meta *m, size_t i, struct sq_codec *c);

/*
 * Reads and unpacks the single block at pos.  Returns 0, -EBADMSG (there is
 * none), or an error as sq_meta_read() does.  Must be freed even on failure.
 */
int sq_meta_one(struct sq_meta *m, const struct sq_super *s,
    struct sq_codec *c, uint64_t pos);

/*
 * Returns the `need` bytes at offset in the block that begins at byte `block`
 * of the table; NULL if they are incomplete.
 */
const uint8_t *sq_meta_get(const struct sq_meta *m, uint64_t block,
    unsigned offset, size_t need);

/*
 * Like sq_meta_get(), but also sets *have to the number of bytes available,
 * counted at least up to `most`.
 */
const uint8_t *sq_meta_span(const struct sq_meta *m, uint64_t block,
    unsigned offset, size_t most, size_t *have);

/* Returns the first byte, in the table, of the block in which p points. */
uint32_t sq_meta_block(const struct sq_meta *m, const uint8_t *p);
void sq_meta_free_raw(struct sq_meta *m, const struct sq_super *s);
void sq_meta_free(struct sq_meta *m, const struct sq_super *s);

struct sq_fragment_entry {
	uint64_t start;
	uint32_t size;			/* word */
};

/* Converts a size word to the type that struct image_source uses. */
image_word sq_split_word(uint32_t size);

/* The flaws that a file can have. */
enum sq_flaw {
	SQ_GOOD,
	/* its data is not read */
	SQ_BAD_INODE, SQ_BAD_DIR, SQ_BAD_BLOCK, SQ_OUTSIDE, SQ_BAD_FRAGMENT,
	SQ_BAD_TAIL, SQ_LOST_FRAGMENT, SQ_TWO_PARENTS,
	/* its data is read, although Linux does not open the file */
	SQ_REFUSED,
	SQ_NO_OWNER = SQ_REFUSED, SQ_BAD_XATTR, SQ_LONG_LINK, SQ_NO_NUMBER,
	SQ_NEEDLESS_FRAGMENT, SQ_BAD_MODE, SQ_BAD_TYPE,
	/* Linux opens it, but not as it should */
	SQ_BAD_SET, SQ_NUL_LINK, SQ_FAR_NUMBER, SQ_SHARED_NUMBER,
	SQ_OTHER_NUMBER
};

/* Returns a static clause. */
const char *sq_flaw_text(unsigned flaw);

struct sq_inode {
	uint16_t type;			/* enum squashfs_type, not long */
	uint32_t number;
	uint64_t size;			/* size of a file, or of a listing */
	uint64_t start;			/* position of a file's first block */
	uint32_t blocks;		/* block count, without the tail */
	const uint8_t *sizes;		/* a word each */
	uint32_t fragment, tail_at;
	uint32_t dir_block;		/* position of a directory's listing */
	uint16_t dir_offset;
	uint16_t indexes;		/* entries in a directory's index */
	uint8_t flaw;			/* SQ_GOOD, or a flaw despite which
					 * the file can be read */
};

/* Parses the inode at the given reference.  Returns 0 or -EBADMSG. */
int sq_inode_get(const struct sq_meta *inodes, const struct sq_super *s,
    uint64_t ref, struct sq_inode *inode);

/*
 * Returns the index of the directory at a reference accepted by sq_inode_get(),
 * of which at least `most` bytes are counted in *have.
 */
const uint8_t *sq_inode_index(const struct sq_meta *inodes, uint64_t ref,
    size_t most, size_t *have);

/* The remaining attributes of an inode. */
struct sq_attr {
	uint16_t mode;			/* as in st_mode */
	uint16_t uid, gid;		/* indices in the ID table */
	uint32_t mtime, links, rdev;
	uint64_t sparse;		/* bytes in holes, of a long file */
	uint32_t xattr;			/* or SQUASHFS_NONE */
	const uint8_t *target;		/* a link's target, not terminated */
	uint32_t target_len;
};

/*
 * Reads the attributes for a reference accepted by sq_inode_get().  Returns 0
 * or -EBADMSG.
 */
int sq_attr_get(const struct sq_meta *inodes, uint64_t ref,
    struct sq_attr *a);

/* The state kept for an image: image.own. */
struct sq_tables {
	struct sq_super super;
	struct sq_meta inodes, dirs;
	struct sq_meta xattr_sets, xattr_values;
	bool xattrs_known;
	struct sq_fragment_entry *fragments;
	uint32_t *links;		/* files with blocks, by their inode */
	size_t link_count, link_cap;
	uint64_t blocks;		/* blocks of all these files */
};

/* Reads and unpacks the table's blocks, from the first to the index. */
int sq_table_read(struct sq_meta *m, const struct sq_super *s,
    struct sq_codec *c, uint64_t start, uint64_t index);

/*
 * Reads the tables of attributes that sq_check() found intact, and finds the
 * damaged sets.  Reports what concerns the whole table.  Returns 0, what report
 * returned, -EDQUOT or -ENOMEM.
 */
int sq_xattrs_read(struct sq_tables *q, struct sq_codec *c,
    image_report_fn *report, void *arg);

/*
 * Like sq_xattrs(); adds the bytes parsed to *parsed.  If fn is NULL, the set
 * is only checked.
 */
int sq_xattrs_parse(const struct sq_tables *q, uint32_t index, sq_xattr_fn *fn,
    void *arg, uint64_t *parsed);

/*
 * Reads all names and inodes.  Reports an impossible inode count and, if
 * sq_check() found the export table intact, its first entry that contradicts
 * the inodes.  Returns 0, what report returned, -EBADMSG, -EFBIG, -EDQUOT or
 * -ENOMEM.
 */
int sq_tree_read(struct sq_tables *q, struct image *m, struct sq_codec *c,
    image_report_fn *report, void *arg, const char **why);

#endif
