/*
 * gzip_link.h - the links between the blocks of our gzip files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Data that is stored unchanged may contain anything that we could write
 * between two blocks, a whole gzip file of our own included.  A link is
 * therefore recognized by what it says, not by how it looks: it contains the
 * length of the block before it.  In a stream read from its start, it is
 * genuine if that is the distance from the previous genuine link; in a file
 * read from its end, the links lead back to the start, or they are not ours.
 *
 * A link is an empty block of dynamic codes (RFC 1951, 3.2.7), 24 bytes long,
 * which any decoder skips.  The code lengths 0 of the literals 0 to 254 are
 * written as runs: 23 runs of code 17, whose three extra bits (the length of
 * the run minus 3) are the link's payload of 69 bits, the least significant
 * bits first, and two runs of code 18, which complete the 255 literals.
 * Literal 255, the end of the block, and two distances have codes of one bit.
 * The precode's lengths are 1 for code 17, 2 for 1, 3 for 0 and 18.
 *
 * The payload consists of two 32-bit values and the kind, five bits:
 *
 *	1	GZIP_LINK_OPEN	bytes of data in each block but the last;
 *				0x315a50 ("PZ1"), the version
 *	2	GZIP_LINK	length of the deflated block before it, with its
 *				sync point; CRC-32 of the block's data
 *	3	GZIP_LINK_SKIP	the same, followed by another link:
 *	4	GZIP_SKIP	lower and upper half of a number: 8 bits LEVEL,
 *				56 bits distance in bytes
 *
 * GZIP_LINK_OPEN begins the deflate stream.  Every block ends with a sync point
 * (gzip.h) and is followed by a link; a last block without data is omitted.
 * After the last link, an empty final block, 03 00, ends the stream.  The link
 * after block number k, a multiple of 16^LEVEL but not of 16^(LEVEL + 1), is
 * followed by a GZIP_SKIP if LEVEL is at least 1; from its end, the distance
 * leads back to the end of the link after block k - 16^LEVEL, or to the first
 * block.  LEVEL is at most GZIP_LEVELS - 1.
 */
#ifndef COLDPRESS_GZIP_LINK_H
#define COLDPRESS_GZIP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gzip_link_kind {
	GZIP_LINK_NONE, GZIP_LINK_OPEN, GZIP_LINK, GZIP_LINK_SKIP, GZIP_SKIP
};

enum {
	GZIP_LINK_LEN = 24,
	GZIP_LINK_MAX = 2 * GZIP_LINK_LEN,	/* with a GZIP_SKIP */
	GZIP_LEVEL_BITS = 4,			/* 16 = 1 << GZIP_LEVEL_BITS */
	GZIP_LEVELS = 8,
	GZIP_FINAL = 2,				/* the final block */
};

struct gzip_link {
	enum gzip_link_kind kind;
	uint32_t a, b;
};

void gzip_link_write(const struct gzip_link *l, uint8_t *p);

/* Parses the GZIP_LINK_LEN bytes at p.  Returns false if they are no link. */
bool gzip_link_parse(struct gzip_link *l, const uint8_t *p);

/* Writes the GZIP_LINK_OPEN of a stream with blocks of this size. */
void gzip_link_open(size_t block, uint8_t *p);

/* Writes the links of a stream; zeroed at its start. */
struct gzip_linker {
	uint64_t blocks;	/* written so far, */
	uint64_t at;		/* and their length, with their links */
	/* `at` after the last block whose number is a multiple of 16^i */
	uint64_t marks[GZIP_LEVELS];
};

/*
 * Writes the link after a block to p, which has room for GZIP_LINK_MAX bytes.
 * len is the length of the deflated block, check the CRC-32 of its data.
 * Returns the length of the link.
 */
size_t gzip_linker_next(struct gzip_linker *w, size_t len, uint32_t check,
    uint8_t *p);

/*
 * Finds the link after a block in the len bytes at p.  The block begins
 * `before` bytes before p; UINT64_MAX: this is not known, and the first link is
 * as good as any other.  Looks at positions from *from on, and moves *from to
 * where the search can go on once more bytes are there.  Returns the distance
 * from p to the end of the link, or 0.
 */
size_t gzip_link_find(const uint8_t *p, size_t len, size_t *from,
    uint64_t before);

struct look;

/* A link read backward. */
struct gzip_back {
	uint32_t check;		/* of the block before it */
	size_t link;		/* length of the link itself */
	uint64_t block;		/* start of the block */
	unsigned level;		/* 0: there is no GZIP_SKIP, otherwise */
	uint64_t skip;		/* where that leads */
};

/*
 * Reads the link that ends at an offset.  Returns 1, 0 if there is none or its
 * values are impossible, or -errno.
 */
int gzip_link_before(struct gzip_back *b, struct look *look, uint64_t at);

/* The blocks of one member, counted by its links. */
struct gzip_chain {
	uint64_t start, end;	/* of the first block; of the last link */
	uint64_t blocks;
	uint64_t size;		/* bytes of data */
	uint32_t block;		/* in each block but the last */
};

/*
 * Follows the links of the member whose trailer ends at `end`, from its last
 * link to its GZIP_LINK_OPEN, which ends at c->start.  Reads two dozen bytes at
 * fewer than 16 places for each factor of 16 in the number of blocks.  Returns
 * 1, 0 if there is no such chain, or -errno.
 */
int gzip_chain_read(struct gzip_chain *c, struct look *look, uint64_t end);

/*
 * Finds the start of block number k, at most c->blocks, in the same way.
 * Returns 1, 0 (the links contradict each other) or -errno.
 */
int gzip_chain_find(const struct gzip_chain *c, struct look *look, uint64_t k,
    uint64_t *at);

#endif
