/*
 * gzip.h - the headers of gzip members, and how pzc marks its own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1952.
 *
 * Layout of a gzip file of pzc's: one member.  Its uncompressed data is cut
 * into blocks, deflated independently of each other; every block but the
 * last ends with a sync point (an empty stored block at a byte's boundary,
 * 00 00 ff ff), and the last with the final deflate block.  Where there is
 * more than one block the header has an extra field, in it a subfield "PZ" of
 * six bytes:
 *
 *	0	1	version, 1
 *	1	1	flags: 1 = blocks differ in size (the next is the most)
 *	2	4	uncompressed bytes in each block but the last, LE
 *
 * With --independent every block is a member, with a subfield "MZ" of four
 * bytes: the member's whole length, LE, as mgzip writes it.  BGZF files have
 * a subfield "BC" of two bytes: the member's length minus 1 (SAM/BAM
 * specification, section 4.1).
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
	GZIP_BLOCK_MAX = 4 << 20,	/* larger marked blocks go serially */
};

struct gzip_header {
	size_t len;		/* of the whole header */
	uint32_t mtime;
	uint32_t block;		/* of a PZ subfield, or 0 */
	bool blocks_vary;
	uint32_t member;	/* length by an MZ or BC subfield, or 0 */
	const char *name;	/* within the parsed bytes, or NULL */
};

/*
 * Parses the header at p.  1, 0 (more than len bytes are needed to tell), or
 * -EBADMSG.
 */
int gzip_header_parse(struct gzip_header *h, const uint8_t *p, size_t len);

/*
 * Guesses at GZIP_GUESS bytes: whether 00 00 ff ff is a sync point, and
 * whether 1f 8b 08 is more like a header than chance.
 */
bool gzip_is_sync(const uint8_t *p);
bool gzip_is_plausible(const uint8_t *p);

/* What a header of ours holds. */
struct gzip_fields {
	uint32_t mtime, block, member;
	bool blocks_vary, fastest, slowest;
	const char *name, *comment;
};

/* The length that gzip_header_write() needs. */
size_t gzip_header_size(const struct gzip_fields *f);

/* Writes a header to p and returns its length. */
size_t gzip_header_write(const struct gzip_fields *f, uint8_t *p);

#endif
