/*
 * gzip.h - the headers of gzip members, and how pzc marks its own files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1952.
 *
 * A gzip file written by pzc is one member, whose header consists of ten bytes
 * and the name.  The uncompressed data is cut into blocks, which are deflated
 * independently; every block but the last ends with a sync point (an empty
 * stored block that ends on a byte boundary, 00 00 ff ff), the last one with
 * the final deflate block.
 *
 * If there is more than one block and their sizes are equal, the blocks are
 * linked: see gzip_link.h.  With --rsyncable or --flush-ms the deflate stream
 * begins with a mark of empty deflate blocks, which add no data.  Earlier
 * builds wrote it in all files of more than one block:
 *
 * 	1 to 3	stored	how the sizes vary: enum gzip_sizes
 * 	n	fixed	n >= 1; every block is at most 64 KiB << n
 * 	1	stored
 *
 * An empty stored block consists of 3 bits, padding to a byte boundary, and 00
 * 00 ff ff; an empty fixed block has 10 bits.  The mark ends on a byte
 * boundary.  In a file with equal blocks it is 14 bytes for blocks of 512 KiB,
 * 15 for 1 MiB, and 16 for 1408 KiB.  zlib never emits a fixed block after an
 * empty stored one.
 *
 * Earlier builds wrote an extra field with a six-byte subfield "PZ" instead of
 * this mark.  It is still recognized:
 *
 * 	0	1	version, 1
 * 	1	1	flags: 1 = blocks differ in size (next: the maximum)
 * 	2	4	uncompressed bytes in each block but the last, LE
 *
 * With --independent every block is a member, with a four-byte subfield "PM"
 * for the member's whole length, LE.  mgzip before 0.2.5, and earlier builds,
 * wrote the same length in a subfield "MZ".  Since 0.2.5 mgzip stores, and
 * expects, only the length of the deflate stream there; the data at the
 * presumed end of the member shows which length it is.  The "IG" subfield of
 * pgzip contains the whole length.  BGZF files have a two-byte subfield "BC"
 * for the member's length minus 1 (SAM/BAM specification, section 4.1).
 */
#ifndef COLDPRESS_GZIP_H
#define COLDPRESS_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	GZIP_FTEXT = 1, GZIP_FHCRC = 2, GZIP_FEXTRA = 4, GZIP_FNAME = 8,
	GZIP_FCOMMENT = 16, GZIP_RESERVED = 0xe0,
	GZIP_TRAILER = 8,
	GZIP_BLOCKS_VARY = 1,
	GZIP_GUESS = 9,
	GZIP_BLOCK_MAX = 4 << 20,	/* larger marked blocks are decoded
					 * serially */
	GZIP_MARK_MAX = 40,
};

/*
 * How the sizes of all blocks but the last vary; the value of the first ones
 * is the number of stored blocks in the mark.
 */
enum gzip_sizes {
	GZIP_UNMARKED,
	GZIP_EQUAL,
	GZIP_QUARTER,		/* at least a quarter of the largest */
	GZIP_ANY,
	GZIP_LINKED		/* equal; there is no mark, but links */
};

struct gzip_header {
	size_t len;		/* length of the whole header */
	uint32_t mtime;
	size_t mark;		/* size of the mark, or of the first link,
				 * after the header, or 0 */
	enum gzip_sizes sizes;
	/* sizes of all blocks but the last, unless unmarked */
	uint32_t block_min, block_max;
	uint32_t member;	/* length in one of these subfields, or 0;
				 * possibly that of the deflate stream alone */
	const char *name;	/* within the parsed bytes, or NULL */
};

/*
 * Parses the header at p, and the mark after it if the len bytes contain all of
 * the mark.  Returns 1, 0 (len bytes do not contain the whole header), or
 * -EBADMSG.
 */
int gzip_header_parse(struct gzip_header *h, const uint8_t *p, size_t len);

/*
 * These functions guess from GZIP_GUESS bytes whether 00 00 ff ff is a sync
 * point, and whether 1f 8b 08 is likely to be a header rather than a
 * coincidence.
 */
bool gzip_is_sync(const uint8_t *p);
bool gzip_is_plausible(const uint8_t *p);

/* Returns whether p is a valid header, including the three magic bytes. */
bool gzip_is_header(const uint8_t *p);

/*
 * Returns the length of the whole member if its subfield contains the length of
 * the deflate stream.
 */
uint64_t gzip_member_whole(const struct gzip_header *h);

/* The contents of a header that pzc writes. */
struct gzip_fields {
	uint32_t mtime, member;
	bool fastest, slowest;
	const char *name, *comment;
};

/* Returns the length that gzip_header_write() needs. */
size_t gzip_header_size(const struct gzip_fields *f);

/* Writes a header to p and returns its length. */
size_t gzip_header_write(const struct gzip_fields *f, uint8_t *p);

/*
 * Writes the mark of a stream with blocks of at most block bytes (1 to 1 GiB)
 * to p, which has room for GZIP_MARK_MAX bytes.  Returns its length.
 */
size_t gzip_mark_write(enum gzip_sizes sizes, size_t block, uint8_t *p);

/* Sets mark, sizes, block_min and block_max of h if a mark is at p. */
void gzip_mark_parse(struct gzip_header *h, const uint8_t *p, size_t len);

struct look;

/*
 * Parses the header at an offset, without its name.  Returns 1, 0 (incomplete,
 * or longer than LOOK_MAX), -EBADMSG or -errno.
 */
int gzip_header_at(struct gzip_header *h, struct look *look, uint64_t at);

/*
 * Makes block_min and block_max of a GZIP_EQUAL member equal, by decompressing
 * its first block; at is the offset of the member's header.  Returns 0,
 * -EBADMSG (the block contradicts the mark), -ENODATA or -errno.
 */
int gzip_block_size(struct gzip_header *h, struct look *look, uint64_t at);

/*
 * Returns 1 if from and to, each the end of a presumed sync point, enclose
 * blocks of exactly size bytes of data, 0 if not, or -errno.
 */
int gzip_is_block(struct look *look, uint64_t from, uint64_t to,
    uint64_t size);

/*
 * Returns 1 if the bytes from..to are exactly one member, whose data has the CRC
 * and the size in its trailer, 0 if not, or -errno.
 */
int gzip_is_member(struct look *look, uint64_t from, uint64_t to);

/*
 * Sets h->member to the length of the whole member, or to 0 if it does not end
 * at either of the two positions that its subfield may indicate; at is as
 * above.  Returns 0 or -errno.
 */
int gzip_member_length(struct gzip_header *h, struct look *look, uint64_t at);

#endif
