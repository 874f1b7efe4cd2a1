/*
 * unlzma.c - decoding LZMA2 and LZMA
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * LZMA2 consists of chunks of at most 64 KiB, each with a header that says how
 * long they are and what they decode to.  A chunk is decoded when all of it is in
 * memory: it is copied if it is in two pieces of the input.
 *
 * What is decoded piece by piece goes to a ring, which is longer than the
 * dictionary, so that a copy may write more than a match has: these bytes
 * replace the oldest ones.  What is written after the ring's end is then copied
 * to its start.
 */
#include "engine/lzma/unlzma.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "unlzma_symbols.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_MAX = 6,
	CHUNK_MAX = 1 << 16,
	RANGE_BYTES = 5,	/* that begin each chunk */
	STEP = 64 << 10,	/* of output */
	/* liblzma's dictionary has this size and alignment at least */
	DICTIONARY_MIN = 4096, DICTIONARY_ALIGN = 16,
	/* of a ring beside the dictionary; aligned like that */
	SPARE = 64
};

_Static_assert(SPARE >= 2 * UNLZMA_COPIED, "old bytes are replaced unread");

struct unlzma {
	struct unlzma_place s;
	uint8_t *ring;
	size_t ring_size;

	bool needs_reset, needs_properties;
	bool packed;			/* this chunk is LZMA */
	bool cut;			/* the input ends in the chunk */
	size_t in_left, out_left;	/* of this chunk */

	/* a chunk that is in several pieces of the input */
	size_t kept;			/* bytes in `keep` */
	uint8_t *keep;
};

enum { KEEP_MAX = HEADER_MAX + CHUNK_MAX + UNLZMA_FAST_IN };

int
unlzma_open(struct unlzma **u)
{
	*u = sys_malloc(sizeof(**u));
	if (*u == NULL)
		return -ENOMEM;
	(*u)->ring = NULL;
	(*u)->ring_size = 0;
	(*u)->keep = NULL;
	return 0;
}

void
unlzma_close(struct unlzma *u)
{
	if (u != NULL) {
		sys_free(u->ring);
		sys_free(u->keep);
	}
	sys_free(u);
}

static void
reset_state(struct unlzma_place *s)
{
	size_t n = offsetof(struct unlzma_probabilities, literal) /
	    sizeof(uint16_t) + ((size_t)(3 * 256) << (s->lc + s->lp));
	uint16_t *p = (uint16_t *)(void *)&s->p;

	for (size_t i = 0; i < n; i++)
		p[i] = 1 << 10;
	s->state = 0;
	memset(s->reps, 0, sizeof(s->reps));
}

/* Returns false if the byte is invalid. */
static bool
set_properties(struct unlzma_place *s, unsigned byte)
{
	if (byte >= 9 * 5 * 5)
		return false;
	s->lc = (uint8_t)(byte % 9);
	s->lp = (uint8_t)(byte / 9 % 5);
	s->pb = (uint8_t)(byte / 45);
	return s->lc + s->lp <= 4;
}

/* Begins decoding, with a dictionary of that size; there is no output yet. */
static void
begin(struct unlzma *u, uint32_t dictionary, uint8_t *out)
{
	uint64_t size = dictionary < DICTIONARY_MIN ? DICTIONARY_MIN :
	    dictionary;

	size += -size % DICTIONARY_ALIGN;
	u->s.window = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	u->s.begin = u->s.out = out;
	u->s.ring = 0;
	u->s.last = 0;
	u->needs_reset = u->needs_properties = true;
	u->in_left = u->out_left = 0;
	u->kept = 0;
	u->cut = false;
}

/* Returns the length of the header that begins with this byte, at least 1. */
static size_t
header_len(unsigned control)
{
	return control >= 0xc0 ? 6 : control >= 0x80 ? 5 :
	    control == 1 || control == 2 ? 3 : 1;
}

/* Returns the length of the chunk that begins with a complete header. */
static size_t
chunk_len(const uint8_t *p)
{
	return p[0] >= 0x80 ? (size_t)load_be16(p + 3) + 1 :
	    (size_t)load_be16(p + 1) + 1;
}

/*
 * Begins the chunk of a complete header, which is not the end marker.  Returns 0
 * or -EBADMSG.
 */
static int
begin_chunk(struct unlzma *u, const uint8_t *p)
{
	unsigned control = p[0];

	if (control >= 0xe0 || control == 1)
		u->needs_properties = true;
	else if (u->needs_reset)
		return -EBADMSG;
	if (control > 2 && control < 0x80)
		return -EBADMSG;
	u->packed = control >= 0x80;
	u->in_left = u->out_left = chunk_len(p);
	if (control >= 0xe0 || control == 1) {
		if (u->s.begin == u->ring)
			u->s.out = u->ring;
		else
			u->s.begin = u->s.out;
		u->s.ring = 0;
		u->s.last = 0;
		u->needs_reset = false;
	}
	if (!u->packed)
		return 0;
	u->out_left = ((size_t)(control & 0x1f) << 16) + load_be16(p + 1) + 1;
	if (control >= 0xc0) {
		u->needs_properties = false;
		if (!set_properties(&u->s, p[5]))
			return -EBADMSG;
	} else if (u->needs_properties) {
		return -EBADMSG;
	}
	if (control >= 0xa0)
		reset_state(&u->s);
	u->s.range = 0;		/* not yet read */
	return 0;
}

/*
 * Checks that a chunk's last symbol is also the end of its bytes.
 */
static int
end_chunk(struct unlzma *u, const uint8_t *in_end)
{
	struct unlzma_place *s = &u->s;

	if (s->range < (uint32_t)1 << 24) {
		if (s->in == in_end)
			return u->cut ? -ENODATA : -EBADMSG;
		s->code = s->code << 8 | *s->in++;
	}
	return !u->cut && s->code == 0 && s->in == in_end ? 0 : -EBADMSG;
}

/*
 * Decodes this chunk to out_stop, or a match beyond it, from s->in.  in_room and
 * out_room are the ends of what may be read and written.  Returns 0, -EBADMSG or
 * -ENODATA.
 */
static int
decode_packed(struct unlzma *u, const uint8_t *in_room, const uint8_t *out_stop,
    const uint8_t *out_room)
{
	struct unlzma_place *s = &u->s;
	const uint8_t *in_end = s->in + u->in_left, *in_begin = s->in;
	const uint8_t *out_end, *out_begin = s->out, *in_fast, *out_fast;
	enum unlzma_why why = UNLZMA_LIMIT;

	if (s->range == 0) {
		if (u->in_left > 0 && *s->in != 0)
			return -EBADMSG;
		if (u->in_left < RANGE_BYTES)
			return u->cut ? -ENODATA : -EBADMSG;
		s->code = load_be32(s->in + 1);
		s->range = UINT32_MAX;
		s->in += RANGE_BYTES;
	}
	out_end = u->out_left < (size_t)(out_room - s->out) ?
	    s->out + u->out_left : out_room;
	if (out_stop > out_end)
		out_stop = out_end;
	in_fast = in_room - s->in < UNLZMA_FAST_IN ? s->in :
	    in_room - UNLZMA_FAST_IN;
	if (in_fast > in_end)
		in_fast = in_end;
	out_fast = out_room - s->out < UNLZMA_FAST_OUT ? s->out :
	    out_room - UNLZMA_FAST_OUT;
	if (out_fast > out_stop)
		out_fast = out_stop;
	if (s->in < in_fast && s->out < out_fast)
		why = unlzma_fast(s, in_fast, out_fast);
	if (s->in > in_end || s->out > out_end)
		why = UNLZMA_BAD;
	if (why == UNLZMA_LIMIT && s->out < out_stop)
		why = unlzma_careful(s, in_end, out_stop, out_end);
	if (why == UNLZMA_SHORT && u->cut)
		return -ENODATA;
	if (why != UNLZMA_LIMIT)
		return -EBADMSG;
	u->in_left -= (size_t)(s->in - in_begin);
	u->out_left -= (size_t)(s->out - out_begin);
	if (u->out_left > 0)
		return 0;
	u->in_left = 0;
	return end_chunk(u, in_end);
}

/* The same for a chunk of either kind. */
static int
decode_some(struct unlzma *u, const uint8_t *in_room, const uint8_t *out_stop,
    const uint8_t *out_room)
{
	struct unlzma_place *s = &u->s;
	size_t n = (size_t)(out_stop - s->out);

	if (u->packed)
		return decode_packed(u, in_room, out_stop, out_room);
	if (n > u->in_left)
		n = u->in_left;
	memcpy(s->out, s->in, n);
	s->in += n;
	s->out += n;
	u->in_left -= n;
	u->out_left -= n;
	if (n > 0)
		s->last = s->out[-1];
	if (u->in_left > 0 || !u->cut)
		return 0;
	return -ENODATA;
}

int64_t
unlzma_whole(struct unlzma *u, uint32_t dictionary, const uint8_t *in,
    size_t len, size_t *used, uint8_t *out, size_t cap)
{
	const uint8_t *const end = in + len;
	struct unlzma_place *s = &u->s;
	int rc;

	begin(u, dictionary, out);
	s->in = in;
	while (s->in < end && *s->in != 0) {
		size_t n = header_len(*s->in);

		if ((size_t)(end - s->in) < n)
			return -ENODATA;
		rc = begin_chunk(u, s->in);
		if (rc != 0)
			return rc;
		s->in += n;
		if ((size_t)(end - s->in) < u->in_left)
			return -ENODATA;
		if (cap - (size_t)(s->out - out) < u->out_left)
			return -ENOBUFS;
		rc = decode_some(u, end, s->out + u->out_left, out + cap);
		if (rc != 0)
			return rc;
	}
	if (s->in == end)
		return -ENODATA;
	*used = (size_t)(s->in + 1 - in);
	return s->out - out;
}

int
unlzma_start(struct unlzma *u, uint32_t dictionary)
{
	uint64_t size;

	begin(u, dictionary, NULL);
	size = u->s.window;
	size += -size % DICTIONARY_ALIGN + SPARE;
	if (size > SIZE_MAX - UNLZMA_FAST_OUT)
		return -ENOMEM;
	if (u->keep == NULL)
		u->keep = sys_malloc(KEEP_MAX);
	if (u->keep == NULL)
		return -ENOMEM;
	if (u->ring_size != size) {
		sys_free(u->ring);
		u->ring_size = 0;
		u->ring = sys_malloc((size_t)size + UNLZMA_FAST_OUT);
		if (u->ring == NULL)
			return -ENOMEM;
		u->ring_size = (size_t)size;
	}
	u->s.begin = u->s.out = u->ring;
	return 0;
}

/* Keeps input until there are `want` bytes.  Returns whether there are. */
static bool
keep(struct unlzma *u, struct unlzma_io *io, size_t want)
{
	size_t n;

	if (want <= u->kept)
		return true;
	n = want - u->kept < io->in_len ? want - u->kept : io->in_len;
	memcpy(u->keep + u->kept, io->in, n);
	u->kept += n;
	io->in += n;
	io->in_len -= n;
	return u->kept == want;
}

/*
 * Begins the next chunk and sets s->in to its first byte, in the input or among
 * the bytes kept.  Returns 0, STREAM_END, -EAGAIN if all input was kept, or
 * -errno.
 */
static int
next_chunk(struct unlzma *u, struct unlzma_io *io)
{
	size_t header, len;
	const uint8_t *p = io->in;
	int rc;

	if (u->kept == 0 && io->in_len == 0)
		return io->eof ? -ENODATA : -EAGAIN;
	if (u->kept > 0)
		p = u->keep;
	if (*p == 0) {
		io->in++;
		io->in_len--;
		return STREAM_END;
	}
	if (*p > 2 && *p < 0x80)
		return -EBADMSG;
	header = header_len(*p);
	if (u->kept == 0 && io->in_len >= header) {
		len = chunk_len(p);
		if (io->in_len - header >= len) {
			rc = begin_chunk(u, p);
			io->in += header;
			io->in_len -= header;
			u->s.in = io->in;
			return rc;
		}
	}
	if (!keep(u, io, header))
		return io->eof ? -ENODATA : -EAGAIN;
	len = chunk_len(u->keep);
	u->cut = !keep(u, io, header + len);
	if (u->cut && !io->eof)
		return -EAGAIN;
	rc = begin_chunk(u, u->keep);
	u->s.in = u->keep + header;
	u->in_left = u->kept - header;
	memset(u->keep + u->kept, 0, UNLZMA_FAST_IN);
	return rc;
}

/* Whether the next chunk, if its first byte is known, resets the dictionary */
static bool
resets_next(const struct unlzma *u, const struct unlzma_io *io)
{
	unsigned control = u->kept > 0 ? u->keep[0] :
	    io->in_len > 0 ? io->in[0] : 0;

	return control == 1 || control >= 0xe0;
}

/* Moves what was written after the ring's end to its start. */
static void
wrap(struct unlzma *u)
{
	struct unlzma_place *s = &u->s;
	size_t more = (size_t)(s->out - u->ring);

	if (more < u->ring_size)
		return;
	more -= u->ring_size;
	memcpy(u->ring, u->ring + u->ring_size, more);
	s->out = u->ring + more;
	s->ring = u->ring_size;
}

int
unlzma_run(struct unlzma *u, struct unlzma_io *io)
{
	struct unlzma_place *s = &u->s;
	const uint8_t *start, *stop, *room, *in_room;
	int rc = 0;

	wrap(u);
	start = s->out;
	room = u->ring + u->ring_size + UNLZMA_FAST_OUT;
	stop = u->ring + u->ring_size;
	if (stop - start > STEP)
		stop = start + STEP;
	while (rc == 0 && s->out < stop) {
		if (u->in_left == 0 && u->out_left == 0) {
			bool none = s->out == start;

			if (!none && resets_next(u, io))
				break;
			rc = next_chunk(u, io);
			/* it may be at the ring's start */
			if (none)
				start = s->out;
			continue;
		}
		if (u->kept == 0)
			s->in = io->in;
		in_room = u->kept == 0 ? io->in + io->in_len :
		    u->keep + u->kept + UNLZMA_FAST_IN;
		rc = decode_some(u, in_room, stop, room);
		if (u->kept == 0) {
			io->in_len = (size_t)(in_room - s->in);
			io->in = s->in;
		} else if (u->in_left == 0 && u->out_left == 0) {
			u->kept = 0;
		}
	}
	io->out = start;
	io->out_len = (size_t)(s->out - start);
	return rc == -EAGAIN ? STREAM_MORE : rc;
}
