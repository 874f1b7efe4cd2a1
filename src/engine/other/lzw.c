/*
 * lzw.c - the .Z format of compress(1)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A string is represented by its last byte and the code of its prefix.  Its
 * length is also known, so it can be written backwards directly to the output,
 * or to our own buffer if the output has too little room left.
 */
#include "engine/other/lzw.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum {
	LEAST_WIDTH = 9,
	MOST_WIDTH = 16,
	CODES = 1 << MOST_WIDTH,
	CLEAR = 256,
	HEADER = 3,
	FLAG_WIDTH = 0x1f,
	FLAG_RESERVED = 0x60,
	FLAG_BLOCK = 0x80,
};

_Static_assert(MOST_WIDTH - 1 + 32 <= 64,
    "a refill fits after the remaining bits");

struct lzw {
	uint8_t header[HEADER];
	unsigned header_len;
	bool block;
	unsigned width;			/* bits of the next code */
	unsigned most_width;
	uint32_t free;			/* the next code to be defined */
	uint32_t limit;			/* maximum number of codes */
	uint32_t old;			/* the previous code; CODES: none yet */

	uint64_t bits;			/* bits read ahead; the next is bit 0 */
	unsigned bits_len;
	unsigned skip;			/* bits of padding to skip */
	unsigned group;			/* codes read in this group of 8 */

	size_t held_at, held_end;	/* data for which the output had no
					 * room */
	uint8_t held[CODES];

	uint16_t len[CODES];
	uint32_t link[CODES];		/* code of the prefix, and last byte */
};

/*
 * Resets everything to the start of a stream.  The tables need not be cleared.
 */
static void
reset(struct lzw *z)
{
	z->header_len = 0;
	z->width = LEAST_WIDTH;
	z->old = CODES;
	z->bits = 0;
	z->bits_len = 0;
	z->skip = 0;
	z->group = 0;
	z->held_at = z->held_end = 0;
}

static int
lzw_open(void **ctx, uint64_t memlimit)
{
	struct lzw *z = sys_malloc(sizeof(*z));

	(void)memlimit;
	if (z == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < CLEAR; i++)
		z->len[i] = 1;
	reset(z);
	*ctx = z;
	return 0;
}

/*
 * Returns 1 when the header is complete, 0 if more input is needed, or -errno.
 */
static int
read_header(struct lzw *z, struct stream_io *io)
{
	unsigned flags;

	while (z->header_len < HEADER && io->in_len > 0) {
		z->header[z->header_len++] = *io->in++;
		io->in_len--;
	}
	if (z->header_len < HEADER)
		return io->eof ? -ENODATA : 0;
	if (z->header[0] != 0x1f || z->header[1] != 0x9d)
		return -EBADMSG;
	flags = z->header[2];
	z->most_width = flags & FLAG_WIDTH;
	if ((flags & FLAG_RESERVED) != 0 || z->most_width > MOST_WIDTH)
		return -ENOTSUP;
	if (z->most_width < LEAST_WIDTH)
		return -EBADMSG;
	z->block = (flags & FLAG_BLOCK) != 0;
	z->free = z->block ? CLEAR + 1 : CLEAR;
	z->limit = 1U << z->most_width;
	return 1;
}

/*
 * Loads at least 16 bits, or all that are left.  Called when fewer are loaded.
 */
static void
load_bits(struct lzw *z, struct stream_io *io)
{
	if (io->in_len >= 4) {
		z->bits |= (uint64_t)load_le32(io->in) << z->bits_len;
		z->bits_len += 32;
		io->in += 4;
		io->in_len -= 4;
	}
	while (z->bits_len < MOST_WIDTH && io->in_len > 0) {
		z->bits |= (uint64_t)*io->in++ << z->bits_len;
		z->bits_len += 8;
		io->in_len--;
	}
}

static uint32_t
take_code(struct lzw *z, unsigned n)
{
	uint32_t v = (uint32_t)z->bits & ((1U << n) - 1);

	z->bits >>= n;
	z->bits_len -= n;
	return v;
}

/* Reads the next code.  Returns false if there is not enough input. */
static bool
next_code(struct lzw *z, struct stream_io *io, uint32_t *code)
{
	while (z->skip > 0) {
		unsigned n = z->skip < LEAST_WIDTH ? z->skip : LEAST_WIDTH;

		if (z->bits_len < n)
			load_bits(z, io);
		n = z->bits_len < n ? z->bits_len : n;
		if (n == 0)
			return false;
		take_code(z, n);
		z->skip -= n;
	}
	if (z->bits_len < z->width)
		load_bits(z, io);
	if (z->bits_len < z->width)
		return false;
	*code = take_code(z, z->width);
	z->group = (z->group + 1) & 7;
	return true;
}

/* Sets the width, and skips to the next group. */
static void
set_width(struct lzw *z, unsigned width)
{
	z->skip = (-z->group & 7) * z->width;
	z->group = 0;
	z->width = width;
}

/*
 * Writes the string of code so that it ends before `end`, and returns its first
 * byte.  Each link leads to a lower code, so this terminates.
 */
static uint8_t
spell(const struct lzw *z, uint32_t code, uint8_t *end)
{
	while (code >= CLEAR) {
		uint32_t link = z->link[code];

		*--end = (uint8_t)(link >> 16);
		code = link & 0xffff;
	}
	*--end = (uint8_t)code;
	return (uint8_t)code;
}

/*
 * Writes the string for code or, if code is the next one to be defined, the
 * string for old plus its first byte.
 */
static uint8_t
put_code(struct lzw *z, uint32_t code, struct stream_io *io)
{
	bool known = code != z->free;
	size_t len = known ? z->len[code] : z->len[z->old] + 1U;
	uint8_t *to = z->held;
	uint8_t first;

	if (io->out_len >= len) {
		to = io->out;
		io->out += len;
		io->out_len -= len;
	} else {
		z->held_at = 0;
		z->held_end = len;
	}
	if (known)
		return spell(z, code, to + len);
	first = spell(z, z->old, to + len - 1);
	to[len - 1] = first;
	return first;
}

static int
lzw_run(void *ctx, struct stream_io *io)
{
	struct lzw *z = ctx;
	uint32_t code;
	uint8_t last;

	if (z->header_len < HEADER) {
		int rc = read_header(z, io);

		if (rc != 1)
			return rc;
	}
	for (;;) {
		size_t n = z->held_end - z->held_at;

		if (n > 0) {
			n = n < io->out_len ? n : io->out_len;
			memcpy(io->out, z->held + z->held_at, n);
			z->held_at += n;
			io->out += n;
			io->out_len -= n;
			if (z->held_at < z->held_end)
				return STREAM_MORE;
		}
		if (!next_code(z, io, &code)) {
			if (!io->eof)
				return STREAM_MORE;
			reset(z);
			return STREAM_END;
		}
		if (z->old == CODES) {
			if (code >= CLEAR)
				return -EBADMSG;
			put_code(z, code, io);
			z->old = code;
			continue;
		}
		if (code == CLEAR && z->block) {
			/*
			 * The previous code is kept, as in the reference
			 * implementations.  The next code defines entry 256,
			 * which no code can refer to; until then, any code
			 * other than a byte is rejected.
			 */
			z->free = CLEAR;
			set_width(z, LEAST_WIDTH);
			continue;
		}
		if (code > z->free || code >= z->limit)
			return -EBADMSG;
		last = put_code(z, code, io);
		/* define a code for the previous string plus one byte */
		if (z->free < z->limit) {
			z->link[z->free] = z->old | (uint32_t)last << 16;
			z->len[z->free] = (uint16_t)(z->len[z->old] + 1U);
			z->free++;
			if (z->free >> z->width != 0 &&
			    (z->width != z->most_width ||
			    z->width == LEAST_WIDTH))
				set_width(z, z->width + 1);
		}
		z->old = code;
	}
}

const struct stream_ops lzw_stream = { lzw_open, lzw_run, sys_free };
