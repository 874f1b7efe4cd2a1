/*
 * lz4_frame.h - the framing of LZ4 blocks, and its reader
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: LZ4 Frame Format Description 1.6.4; where it leaves a choice to the
 * decoder, this follows lz4(1) 1.9.4.
 *
 * No guessing is necessary, because every block is preceded by its length.  The
 * reader of the decoder parses the framing, and a piece is a run of whole
 * blocks of one frame, as stored in the file:
 *
 * 	header of skip bytes, if the frame begins here
 * 	blocks of used bytes: le32 length, data, le32 XXH32 if block_check
 *
 * and struct unlz4_notes describes how to decode them.
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
	FRAME_CHECK = 4			/* size of every XXH32 */
};

#define FRAME_STORED 0x80000000U	/* flag in a block's length: stored */

/* The flags in a header, in the byte after the magic number. */
enum {
	FLG_DICT = 0x01, FLG_RESERVED = 0x02, FLG_CONTENT_CHECK = 0x04,
	FLG_SIZE = 0x08, FLG_BLOCK_CHECK = 0x10, FLG_INDEPENDENT = 0x20,
	FLG_VERSION = 0x40
};

/* unlz4_notes.flags: log2 of the block size, and flags */
enum {
	PIECE_LOG = 0x1f,
	PIECE_LINKED = 0x20,		/* a block may refer to earlier
					 * blocks */
	PIECE_BLOCK_CHECK = 0x40,
	PIECE_LEGACY = 0x80,
	PIECE_MAX = 4 << 20,		/* maximum input or output of a piece
					 * with several blocks */
	PIECE_BESIDE = 64		/* room for the lengths and checksums
					 * around the blocks */
};

/* Decompressing LZ4. */
struct unlz4_notes {
	int flags;		/* fill: PIECE_* */
	size_t skip;		/* fill: size of the header before the blocks */
	size_t used;		/* fill: bytes of `in` that the blocks occupy */
	size_t most;		/* fill: maximum size of `out` */
	bool final;		/* fill: the frame ends with this piece */
	uint32_t check;		/* fill, final: XXH32 of the frame's content */
};
SLOT_NOTES(unlz4_notes)

struct lz4_header {
	int flags;
	bool content_check;
	uint64_t size;		/* content size, or 0 if unknown */
};

/*
 * Parses a header of len bytes, including the magic number.  Returns 0,
 * -EBADMSG, or -ENOTSUP for a frame that needs a dictionary or has a later
 * version.
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

/* Implements codec.dictionary. */
uint32_t lz4_dictionary(const uint8_t *p, size_t len);

/*
 * Returns the flags of the first frame of a stream, given the first len bytes
 * of the stream, or -1 if these are not enough.
 */
int lz4_first_flags(const uint8_t *p, size_t len);

/*
 * Returns the slot size in bytes for pieces with these flags, where a piece of
 * several blocks has at most piece_max bytes.
 */
uint64_t lz4_slot_bytes(int flags, size_t piece_max);

struct lz4_reader {
	struct codec_notes *notes;
	struct lz4_header h;	/* header of the current frame */
	bool within;		/* inside a frame */
	bool has_word;
	uint32_t word;		/* read ahead: block length or magic number */
	int err;		/* error found after valid blocks */
	size_t piece_max;	/* maximum input or output of a piece with
				 * several blocks */
	/*
	 * A frame that exceeds these limits is rejected with -EFBIG; notes->need
	 * is then `most`, the maximum for any stream with one thread.
	 */
	uint64_t most;
	uint64_t slot_max;	/* bytes per piece */
	size_t linked_max;	/* size of a block that refers to earlier
				 * blocks */
};

/* Implements pipeline_ops.fill; job begins with a struct lz4_reader. */
int lz4_scan(void *job, struct input *in, struct slot *s);

/*
 * Describes the block at p, which the reader has validated: its data, its
 * length, and whether it is stored.  Returns its size in the piece, in bytes.
 */
struct lz4_block {
	const uint8_t *data;
	size_t len;
	bool stored;
};
size_t lz4_block_at(struct lz4_block *b, const uint8_t *p, int flags);

/*
 * Returns the decoded size of a compressed block of len bytes, or -EBADMSG.
 * Does not check whether matches are within the preceding data.  Has no side
 * effects.
 */
int64_t lz4_block_plain(const uint8_t *p, size_t len);

extern const struct coder lz4_encoder, lz4_decoder;

#endif
