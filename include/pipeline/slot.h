/*
 * slot.h - one piece of a stream on its way through a pipeline
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A slot belongs to the stage that is processing it: first fill, then work,
 * then join.  Its notes, specific to each format, describe the piece to the
 * later stages.  The comment on each field names the stage that sets it and,
 * for a number, the unit; later stages only read it.
 */
#ifndef COLDPRESS_SLOT_H
#define COLDPRESS_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data;
	size_t len, cap;
};

/*
 * Makes room for cap bytes, keeping the content.  Returns 0, or -ENOMEM,
 * leaving the buffer unchanged.
 */
int buf_reserve(struct buf *b, size_t cap);

/* Compressing to gzip, zlib and zip. */
struct deflate_notes {
	uint32_t check;		/* work: CRC-32 or Adler-32 of `in` */
};

/* Decompressing gzip, zlib and zip. */
struct inflate_notes {
	int kind;		/* fill: PIECE_* of deflate_decode.h */
	size_t skip;		/* fill: bytes of `in` before the unit */
	size_t used;		/* fill (members) or work (to a sync point):
				 * bytes of `in` that the unit occupies */
	size_t most;		/* fill, members: size of `out`, according to
				 * the trailers */
	bool ok;		/* work: `out` contains the unit's content */
	bool final;		/* work: a deflate stream ends in the piece */
	uint32_t check;		/* work, to a sync point: check of `out` */
};

/* Decompressing Zstandard. */
struct unzstd_notes {
	int kind;		/* fill: PIECE_* of zstd_decode.h */
	size_t skip;		/* fill, a frame's first job: size of the
				 * header */
	size_t used;		/* fill: bytes of `in` that the frames or the
				 * job occupy, including skip */
	uint64_t most;		/* fill: size of `out`; for a job, the
				 * maximum */
	bool final;		/* fill, a job: the last job of its frame */
	bool checksum;		/* fill, a job: its frame has a checksum */
	uint8_t window;		/* fill, a job: the window descriptor in its
				   frame's header */
	bool ok;		/* work: `out` contains the content */
};

/* Compressing to LZ4. */
struct lz4_notes {
	uint32_t check;		/* fill, the last: XXH32 of all content */
};

/* Decompressing LZ4. */
struct unlz4_notes {
	int flags;		/* fill: PIECE_* of lz4_frame.h */
	size_t skip;		/* fill: size of the header before the blocks */
	size_t used;		/* fill: bytes of `in` that the blocks occupy */
	size_t most;		/* fill: maximum size of `out` */
	bool final;		/* fill: the frame ends with this piece */
	uint32_t check;		/* fill, final: XXH32 of the frame's content */
};

/* Compressing to bzip2. */
struct bzip2_notes {
	uint64_t len;		/* work: number of bits in `out`; 0: no block */
	uint32_t crc;		/* work: CRC of the block's content */
};

/* Decompressing bzip2; bits are counted from the beginning of the input. */
struct bunzip2_notes {
	int level;		/* fill: the stream's presumed level */
	uint64_t begin;		/* fill: the first bit of the piece, */
	uint64_t end;		/* and the bit after the last */
	bool ok;		/* work: `out` contains the block's content */
	uint32_t crc;		/* work: CRC of that content */
};

/* Building a squashfs image. */
struct squashfs_notes {
	size_t number;		/* fill: number of the unit or old block */
	uint32_t count;		/* fill: 1; for a hole, its block count */
	bool is_fragment;	/* fill: a fragment block, not a file's block */
	uint32_t word;		/* work: size word for `out`, with
				 * SQUASHFS_BLOCK_RAW if uncompressed; 0: a
				 * hole */
};

struct slot {
	struct buf in, out;
	uint64_t seq;		/* number of the piece, from 0 */
	bool last;		/* fill: nothing follows */
	int err;		/* the -errno of fill or work */

	union slot_notes {	/* zeroed before fill */
		struct deflate_notes deflate;
		struct inflate_notes inflate;
		struct unzstd_notes unzstd;
		struct lz4_notes lz4;
		struct unlz4_notes unlz4;
		struct bzip2_notes bzip2;
		struct bunzip2_notes bunzip2;
		struct squashfs_notes squashfs;
	} note;

	/* Used only by the pipeline. */
	struct pipeline *owner;
	uint64_t read_B;	/* input bytes read up to this piece's end */
	int state;
};

#endif
