/*
 * gzip_header.c - the headers of gzip members, and the mark after ours
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1952, and RFC 1951, 3.2.3 to 3.2.6; the layout is in gzip.h.
 */
#include "format/gzip/gzip.h"

#include "base/bytes.h"
#include "gzip_link.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { FIXED = 10, OS_UNIX = 3, PZ_LEN = 6, MEMBER_LEN = 4, SUBFIELD = 4 };

/* Reads the subfields that describe units; others are skipped. */
static void
parse_extra(struct gzip_header *h, const uint8_t *p, size_t len)
{
	while (len >= SUBFIELD) {
		size_t n = load_le16(p + 2);
		const uint8_t *d = p + SUBFIELD;

		if (n > len - SUBFIELD)
			return;
		if (memcmp(p, "PZ", 2) == 0 && n == PZ_LEN && d[0] == 1) {
			bool vary = (d[1] & GZIP_BLOCKS_VARY) != 0;

			h->block_max = load_le32(d + 2);
			h->block_min = h->block_max / (vary ? 4 : 1);
			h->sizes = h->block_max == 0 ? GZIP_UNMARKED :
			    vary ? GZIP_QUARTER : GZIP_EQUAL;
		} else if (memcmp(p, "BC", 2) == 0 && n == 2) {
			h->member = load_le16(d) + 1U;
		} else if ((memcmp(p, "PM", 2) == 0 ||
		    memcmp(p, "MZ", 2) == 0 ||
		    memcmp(p, "IG", 2) == 0) && n == MEMBER_LEN) {
			h->member = load_le32(d);
		}
		p += SUBFIELD + n;
		len -= SUBFIELD + n;
	}
}

/*
 * Returns the length of the string at p, including the terminating NUL, or 0 if
 * there is no NUL within len bytes.
 */
static size_t
string_at(const uint8_t *p, size_t len)
{
	const uint8_t *nul = len == 0 ? NULL : memchr(p, 0, len);

	return nul == NULL ? 0 : (size_t)(nul - p) + 1;
}

int
gzip_header_parse(struct gzip_header *h, const uint8_t *p, size_t len)
{
	size_t pos = FIXED, n;
	uint8_t flags;

	memset(h, 0, sizeof(*h));
	if ((len >= 1 && p[0] != 0x1f) || (len >= 2 && p[1] != 0x8b) ||
	    (len >= 3 && p[2] != 8) || (len >= 4 && p[3] & GZIP_RESERVED))
		return -EBADMSG;
	if (len < FIXED)
		return 0;
	flags = p[3];
	h->mtime = load_le32(p + 4);
	if (flags & GZIP_FEXTRA) {
		if (len - pos < 2 || len - pos - 2 < load_le16(p + pos))
			return 0;
		n = load_le16(p + pos);
		parse_extra(h, p + pos + 2, n);
		pos += 2 + n;
	}
	if (flags & GZIP_FNAME) {
		n = string_at(p + pos, len - pos);
		if (n == 0)
			return 0;
		h->name = (const char *)p + pos;
		pos += n;
	}
	if (flags & GZIP_FCOMMENT) {
		n = string_at(p + pos, len - pos);
		if (n == 0)
			return 0;
		pos += n;
	}
	if (flags & GZIP_FHCRC) {
		if (len - pos < 2)
			return 0;
		if (load_le16(p + pos) !=
		    (crc32(0, p, (uInt)pos) & 0xffff))
			return -EBADMSG;
		pos += 2;
	}
	h->len = pos;
	if (h->sizes == GZIP_UNMARKED)
		gzip_mark_parse(h, p + pos, len - pos);
	return 1;
}

/*
 * After a zero byte, the header of a stored block of 65535 bytes contains the
 * same four bytes.  A sync point at this position would be followed by a stored
 * block.
 */
bool
gzip_is_sync(const uint8_t *p)
{
	return p[4] != 0 || p[5] != 0 ||
	    load_le16(p + 5) + load_le16(p + 7) == UINT16_MAX;
}

bool
gzip_is_plausible(const uint8_t *p)
{
	return !(p[3] & GZIP_RESERVED) && (p[8] & ~6) == 0 && p[8] != 6;
}

bool
gzip_is_header(const uint8_t *p)
{
	return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 &&
	    gzip_is_plausible(p);
}

uint64_t
gzip_member_whole(const struct gzip_header *h)
{
	return (uint64_t)h->len + h->member + GZIP_TRAILER;
}

size_t
gzip_header_size(const struct gzip_fields *f)
{
	return FIXED +
	    (f->member != 0 ? 2 + SUBFIELD + MEMBER_LEN : 0) +
	    (f->name != NULL ? strlen(f->name) + 1 : 0) +
	    (f->comment != NULL ? strlen(f->comment) + 1 : 0);
}

static uint8_t *
put_c_string(uint8_t *p, const char *s)
{
	size_t n = s == NULL ? 0 : strlen(s) + 1;

	if (n > 0)
		memcpy(p, s, n);
	return p + n;
}

size_t
gzip_header_write(const struct gzip_fields *f, uint8_t *start)
{
	uint8_t *p = start;

	*p++ = 0x1f;
	*p++ = 0x8b;
	*p++ = 8;
	*p++ = (uint8_t)((f->member != 0 ? GZIP_FEXTRA : 0) |
	    (f->name != NULL ? GZIP_FNAME : 0) |
	    (f->comment != NULL ? GZIP_FCOMMENT : 0));
	store_le32(p, f->mtime);
	p += 4;
	*p++ = f->slowest ? 2 : f->fastest ? 4 : 0;
	*p++ = OS_UNIX;
	if (f->member != 0) {
		store_le16(p, SUBFIELD + MEMBER_LEN);
		memcpy(p + 2, "PM", 2);
		store_le16(p + 4, MEMBER_LEN);
		store_le32(p + 6, f->member);
		p += 2 + SUBFIELD + MEMBER_LEN;
	}
	p = put_c_string(p, f->name);
	p = put_c_string(p, f->comment);
	return (size_t)(p - start);
}

/* The mark, which consists of empty deflate blocks */

enum {
	LEAST_LOG = 16,		/* log2 of the smallest size in a mark, 64
				 * KiB */
	MOST = 30 - LEAST_LOG,
	STORED_LEN = 5,
	FIXED_BLOCK = 2, FIXED_BITS = 10,
	SYNC_LEN = 4,
};

/* A deflate stream being written: the bits of an incomplete byte. */
struct mark_writer {
	uint8_t *p;
	unsigned bits, count;
};

static void
put_stored(struct mark_writer *w)
{
	/* three zero bits may require another byte */
	for (unsigned end = w->count + 3; end > 0; end -= end < 8 ? end : 8) {
		*w->p++ = (uint8_t)w->bits;
		w->bits >>= 8;
	}
	w->count = 0;
	memcpy(w->p, "\0\0\xff\xff", SYNC_LEN);
	w->p += SYNC_LEN;
}

static size_t
write_mark(enum gzip_sizes sizes, unsigned n, uint8_t *p)
{
	struct mark_writer w = { .p = p };

	for (unsigned i = 0; i < (unsigned)sizes; i++)
		put_stored(&w);
	for (unsigned i = 0; i < n; i++) {
		w.bits |= (unsigned)FIXED_BLOCK << w.count;
		for (w.count += FIXED_BITS; w.count >= 8; w.count -= 8) {
			*w.p++ = (uint8_t)w.bits;
			w.bits >>= 8;
		}
	}
	put_stored(&w);
	return (size_t)(w.p - p);
}

size_t
gzip_mark_write(enum gzip_sizes sizes, size_t block, uint8_t *p)
{
	unsigned n = 1;

	while (n < MOST && block > (size_t)1 << (LEAST_LOG + n))
		n++;
	return write_mark(sizes, n, p);
}

void
gzip_mark_parse(struct gzip_header *h, const uint8_t *p, size_t len)
{
	uint8_t mark[GZIP_MARK_MAX];
	struct gzip_link l;

	if (len >= GZIP_LINK_LEN && gzip_link_parse(&l, p) &&
	    l.kind == GZIP_LINK_OPEN) {
		h->mark = GZIP_LINK_LEN;
		h->sizes = GZIP_LINKED;
		h->block_min = h->block_max = l.a;
		return;
	}
	if (len < STORED_LEN || memcmp(p, "\0\0\0\xff\xff", STORED_LEN) != 0)
		return;
	for (unsigned s = GZIP_EQUAL; s <= GZIP_ANY; s++)
		for (unsigned n = 1; n <= MOST; n++) {
			size_t need = write_mark(s, n, mark);
			uint32_t most = UINT32_C(1) << (LEAST_LOG + n);
			uint32_t half = n == 1 ? 0 : most / 2;

			if (need > len || memcmp(p, mark, need) != 0)
				continue;
			h->mark = need;
			h->sizes = s;
			h->block_max = most;
			h->block_min = 0;
			if (s == GZIP_EQUAL)
				h->block_min = half + 1;
			else if (s == GZIP_QUARTER)
				h->block_min = half / 4;
			return;
		}
}
