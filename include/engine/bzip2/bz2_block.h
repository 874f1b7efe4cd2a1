/*
 * bz2_block.h - encoding and decoding bzip2 one block at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A .bz2 stream is "BZh" and a level 1..9, then blocks, then a trailer, all
 * written as bits, most significant first; blocks may begin at any bit, are
 * independent of each other, and hold at most level x 100000 bytes after an
 * initial run-length code (RLE1).  The only specification of the format is its
 * reference implementation, bzip2 1.0.8 (Seward); this code accepts exactly the
 * same streams.
 *
 * The functions do no I/O and start no threads.  A context belongs to one
 * thread at a time; functions without one are thread-safe.
 *
 * Compression, as a pipeline does it:
 * 	reader	bz2_rle_start, bz2_rle_fill until full, bz2_rle_end
 * 	worker	bz2_encode_block
 * 	writer	bz2_join_header, bz2_join_block in order, bz2_join_trailer
 * Decompression:
 * 	reader	bz2_scan_next finds where blocks may begin
 * 	worker	bz2_decode_block, bz2_decode_read until 0
 * 	writer	a block counts if the previous one ended there; bz2_read_trailer
 */
#ifndef COLDPRESS_BZ2_BLOCK_H
#define COLDPRESS_BZ2_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BZ2_MAGIC_BLOCK UINT64_C(0x314159265359)
#define BZ2_MAGIC_END UINT64_C(0x177245385090)

enum {
	BZ2_LEVEL_MIN = 1,
	BZ2_LEVEL_MAX = 9,
	BZ2_HEADER_BYTES = 4,
	BZ2_MAGIC_BITS = 48,
	BZ2_TRAILER_BITS = 80,
	BZ2_BLOCK_UNIT = 100000,	/* bytes in a block per level */
	/* largest decoded size of a block: runs of 255 in 5 bytes */
	BZ2_BLOCK_OUT_MAX = BZ2_LEVEL_MAX * BZ2_BLOCK_UNIT / 5 * 255
};

/* Returns the check value of the stream after one more block. */
static inline uint32_t
bz2_crc_combine(uint32_t stream, uint32_t block)
{
	return (stream << 1 | stream >> 31) ^ block;
}

/*
 * RLE1, which the reader applies while cutting its input into blocks.  It takes
 * the place of a copy into a slot, and costs little more.  Block boundaries
 * depend only on the data and the level, not on the size of each read.
 */
struct bz2_rle {
	uint8_t *block;		/* the caller's buffer of bz2_rle_cap() bytes */
	size_t len;		/* bytes in it */
	size_t limit;		/* maximum number of bytes */
	size_t base;		/* position after the last count byte */
	unsigned run;		/* length of the last run, at most 255 */
};

/* Returns the maximum block size for this level. */
size_t bz2_rle_cap(int level);
void bz2_rle_start(struct bz2_rle *r, int level, uint8_t *block);
/*
 * Adds input, and returns the number of bytes consumed, which is less than len
 * if the block is full.  bz2_rle_full() returns whether it is.
 */
size_t bz2_rle_fill(struct bz2_rle *r, const uint8_t *in, size_t len);
bool bz2_rle_full(const struct bz2_rle *r);
/* Completes the block and returns its length; 0 if there was no input. */
size_t bz2_rle_end(struct bz2_rle *r);

/*
 * A block encoder.  bz2_encoder_new() allocates bz2_encoder_memory(level)
 * bytes, and returns NULL if that fails.
 */
struct bz2_encoder;

uint64_t bz2_encoder_memory(int level);
struct bz2_encoder *bz2_encoder_new(int level);
void bz2_encoder_free(void *e);	/* e may be NULL */

/* Returns an upper bound on the space needed by bz2_encode_block(). */
size_t bz2_encode_bound(int level);

/*
 * Encodes a block of 1..bz2_rle_cap(level) bytes produced by RLE1.  The block's
 * bits start at the first bit of `out`, and are padded with zeros to a whole
 * byte.  *crc is set to the check value.  Returns the number of bits, or
 * -EINVAL if the length is out of range, cap is below the bound, or the block
 * ends where RLE1 requires a count.
 */
int64_t bz2_encode_block(struct bz2_encoder *e, const uint8_t *block,
    size_t len, uint8_t *out, size_t cap, uint32_t *crc);

/*
 * Writes a stream by joining blocks at arbitrary bit positions.  dst must have
 * room for nbits / 8 + 9 bytes.  The number of completed bytes is returned, and
 * up to 7 bits are kept for the next call.  A stream begins with a header and
 * ends with a trailer.
 */
struct bz2_join {
	uint8_t rest;		/* remaining bits, left-aligned */
	unsigned rest_bits;
	uint32_t crc;
};

size_t bz2_join_header(struct bz2_join *j, int level, uint8_t *dst);
size_t bz2_join_block(struct bz2_join *j, const uint8_t *src, uint64_t nbits,
    uint32_t crc, uint8_t *dst);
size_t bz2_join_trailer(struct bz2_join *j, uint8_t *dst);

/*
 * Returns BZ2_AT_BLOCK or BZ2_AT_END if a block or the trailer begins at a
 * given bit, 0 if neither does, or -ENODATA if the input is too short to
 * decide.
 */
enum { BZ2_AT_BLOCK = 1, BZ2_AT_END = 2 };

int bz2_magic_at(const uint8_t *in, size_t len, uint64_t bit);

/*
 * Parses the trailer at *bit, which is advanced to the next whole byte after
 * it.  Returns 0, -ENODATA, or -EBADMSG (not a trailer).
 */
int bz2_read_trailer(const uint8_t *in, size_t len, uint64_t *bit,
    uint32_t *crc);

/*
 * Searches for a magic number at any position from `bit` onward.  Returns
 * BZ2_AT_BLOCK or BZ2_AT_END and stores its position in *found, or returns 0 if
 * `in` contains no complete magic number.  A block's data may contain one by
 * chance, or by design.
 */
struct bz2_scan {
	uint64_t pairs[1024];	/* byte pairs that occur inside a magic
				 * number */
};

void bz2_scan_init(struct bz2_scan *s);
int bz2_scan_next(const struct bz2_scan *s, const uint8_t *in, size_t len,
    uint64_t bit, uint64_t *found);

/*
 * A block decoder, for streams of up to a given level.  bz2_decoder_new()
 * allocates bz2_decoder_memory(level) bytes, and returns NULL if that fails.
 */
struct bz2_decoder;

uint64_t bz2_decoder_memory(int level);
struct bz2_decoder *bz2_decoder_new(int level);
void bz2_decoder_free(void *d);	/* d may be NULL */

/*
 * Decodes the block that begins with its magic at *bit, and moves *bit past it.
 * level is the level of its stream, and must not exceed the decoder's; *crc is
 * set to the check value stored in the block.  Returns 0, -ENODATA (the input
 * ends inside the block), -EBADMSG (not a block, or corrupt) or -EINVAL
 * (level).
 */
int bz2_decode_block(struct bz2_decoder *d, int level, const uint8_t *in,
    size_t len, uint64_t *bit, uint32_t *crc);

/*
 * Reads up to cap (at least 1) bytes of the most recently decoded block.
 * Returns the number of bytes, 0 at the end of a block whose check value is
 * correct, or -EBADMSG if the check value or a run is wrong.
 */
ssize_t bz2_decode_read(struct bz2_decoder *d, uint8_t *out, size_t cap);

#endif
