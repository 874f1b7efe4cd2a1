/*
 * lz4_frame.h - the framing of LZ4 blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: LZ4 Frame Format Description 1.6.4; where it leaves a choice to the
 * decoder, this follows lz4(1) 1.9.4.
 */
#ifndef COLDPRESS_LZ4_FRAME_H
#define COLDPRESS_LZ4_FRAME_H

#include "format/codec.h"

enum {
	FRAME_MAGIC = 0x184d2204,
	LEGACY_MAGIC = 0x184c2102,
	LEGACY_BLOCK = 8 << 20,
	FRAME_BLOCK_MAX = 4 << 20,
	FRAME_HEADER = 7,		/* as written by pzc */
	FRAME_HEADER_MAX = 19,
	FRAME_CHECK = 4,		/* size of every XXH32 */
	LZ4_HISTORY = 64 << 10		/* reach of a match */
};

#define FRAME_STORED 0x80000000U	/* flag in a block's length: stored */

/* The flags in a header, in the byte after the magic number. */
enum {
	FLG_DICT = 0x01, FLG_RESERVED = 0x02, FLG_CONTENT_CHECK = 0x04,
	FLG_SIZE = 0x08, FLG_BLOCK_CHECK = 0x10, FLG_INDEPENDENT = 0x20,
	FLG_VERSION = 0x40
};

/* lz4_header.flags: log2 of the block size, and flags */
enum {
	PIECE_LOG = 0x1f,
	PIECE_LINKED = 0x20,		/* a block may refer to earlier
					 * blocks */
	PIECE_BLOCK_CHECK = 0x40,
	PIECE_LEGACY = 0x80
};

struct lz4_header {
	int flags;
	bool content_check;
	bool dictionary;	/* it has the ID of one */
	uint64_t size;		/* content size, or 0 if unknown */
};

/*
 * Parses a header of len bytes, including the magic number.  Returns 0,
 * -EBADMSG, or -ENOTSUP for a frame that needs a dictionary, in which case *h is
 * complete and h->dictionary is set, or has a later version.
 */
int lz4_header_parse(struct lz4_header *h, const uint8_t *p, size_t len);

/* Returns the length of a header with these FLG_*. */
static inline size_t
lz4_header_len(uint8_t flags)
{
	return FRAME_HEADER + (flags & FLG_SIZE ? 8 : 0) +
	    (flags & FLG_DICT ? 4 : 0);
}

/*
 * Writes the header, FRAME_HEADER bytes, of a frame of independent blocks of
 * 1 << log bytes; checks is FLG_CONTENT_CHECK and FLG_BLOCK_CHECK, or less.
 */
void lz4_header_store(uint8_t *p, int log, int checks);

/* The dictionary that the user gave: its end, as far as a match can reach. */
struct lz4_dictionary {
	const char *p;		/* NULL: none */
	int len;
};
struct lz4_dictionary lz4_dictionary_of(const struct codec_options *o);

/*
 * Returns the decoded size of a compressed block of len bytes, or -EBADMSG.
 * Does not check whether matches are within the preceding data.  Has no side
 * effects.
 */
int64_t lz4_block_plain(const uint8_t *p, size_t len);

extern const struct coder lz4_encoder, lz4_decoder;

#endif
