/*
 * deflate_walk.h - finding the end of a deflate stream, to continue it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compressors that process a whole buffer mark their last block as final, so
 * that nothing can follow it.  These functions find that block by walking the
 * Huffman codes of the stream without producing output.  They can clear its
 * final bit, so that separately compressed streams can be concatenated.
 *
 * Format: RFC 1951.  Every call is thread-safe, reads nothing outside the given
 * buffer, allocates nothing and uses about 40 KiB of stack.
 */
#ifndef COLDPRESS_DEFLATE_WALK_H
#define COLDPRESS_DEFLATE_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct deflate_last {
	uint64_t header;	/* bit offset of the final block's header */
	uint64_t end;		/* bit offset just after the final block */
};

/* The maximum number of bytes that deflate_make_nonfinal() appends. */
enum { DEFLATE_SYNC_MAX = 5 };

/*
 * Walks the raw deflate stream that begins at `in`, and fills in *last.  Bit n
 * is bit n % 8 of byte n / 8, counting from the least significant bit.  Bytes
 * after the end of the stream are ignored.
 *
 * Checks everything that zlib's inflate checks, except that distances may reach
 * back beyond the start of the output.  Returns 0, or -EBADMSG without setting
 * *last if the stream is invalid or incomplete.
 */
int deflate_walk(const uint8_t *in, size_t len, struct deflate_last *last);

/*
 * Turns the complete raw deflate stream in the len bytes at buf, which has room
 * for cap bytes, into one that can be continued: clears the final bit of its
 * last block and appends an empty stored block, which ends at a byte boundary
 * with 00 00 FF FF.  Returns the new length, at most len + DEFLATE_SYNC_MAX; or
 * -EBADMSG if buf is not exactly one complete stream; or -ENOBUFS if cap is too
 * small.  On failure buf is unchanged.
 */
ssize_t deflate_make_nonfinal(uint8_t *buf, size_t len, size_t cap);

#endif
