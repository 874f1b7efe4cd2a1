/*
 * inflate_piece.c - raw inflate of a piece between sync points
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libdeflate is the fastest inflater there is, but wants a final block.  So
 * one is put behind the piece: stored, with eight bytes that nobody can have
 * known.  If the piece really ends at a sync point, the output ends with
 * them, and not with the block's header before them.  If it does not, they
 * may be taken for part of the piece's last block: a stored block shows
 * their header too, and a compressed one cannot give what it does not know.
 */
#include "engine/deflate/inflate_piece.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/random.h>

enum { HEADER = PIECE_IN_SPARE - PIECE_OUT_SPARE };

struct piece_inflater {
	struct libdeflate_decompressor *lib;
	uint8_t tail[PIECE_IN_SPARE];
};

int
piece_inflater_open(struct piece_inflater **out)
{
	static const uint8_t header[HEADER] = { 1, 8, 0, 0xf7, 0xff };
	struct piece_inflater *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->lib = libdeflate_alloc_decompressor();
	if (f->lib == NULL) {
		sys_free(f);
		return -ENOMEM;
	}
	memcpy(f->tail, header, HEADER);
	if (getrandom(f->tail + HEADER, PIECE_OUT_SPARE, GRND_NONBLOCK) !=
	    PIECE_OUT_SPARE)
		store_le64(f->tail + HEADER, sys_now_ns());
	*out = f;
	return 0;
}

void
piece_inflater_close(struct piece_inflater *f)
{
	if (f == NULL)
		return;
	libdeflate_free_decompressor(f->lib);
	sys_free(f);
}

/* Whether what was made, up to the end of the tail, ends with it alone. */
static bool
ends_with_tail(const struct piece_inflater *f, const uint8_t *out, size_t made)
{
	if (made < PIECE_OUT_SPARE ||
	    memcmp(out + made - PIECE_OUT_SPARE, f->tail + HEADER,
	    PIECE_OUT_SPARE) != 0)
		return false;
	return made < PIECE_IN_SPARE ||
	    memcmp(out + made - PIECE_IN_SPARE, f->tail, HEADER) != 0;
}

int
inflate_piece(struct piece_inflater *f, uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r)
{
	memcpy(in + len, f->tail, PIECE_IN_SPARE);
	if (libdeflate_deflate_decompress_ex(f->lib, in, len + PIECE_IN_SPARE,
	    out, cap + PIECE_OUT_SPARE, &r->used, &r->made) !=
	    LIBDEFLATE_SUCCESS)
		return -EBADMSG;
	r->final = r->used <= len;
	if (r->final)
		return r->made <= cap ? 0 : -EBADMSG;
	if (r->used != len + PIECE_IN_SPARE ||
	    !ends_with_tail(f, out, r->made))
		return -EBADMSG;
	r->used = len;
	r->made -= PIECE_OUT_SPARE;
	return 0;
}
