/*
 * list_gzip.c - how much is in a gzip file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A member ends with its size modulo 2^32, and only the member's end tells
 * where the next begins.  It is found, from the surest way to the least:
 *
 * - by the length in the member's header (BGZF, mgzip, pzc -i);
 * - in a small file by a walk over its Huffman codes;
 * - in a member of pzc's by counting its sync points: the number of blocks
 *   says how often 2^32 goes into the size, and whether what looks like the
 *   header of a further member is one.  Compressed data holds the four bytes
 *   by chance once in 4 GiB; stored data may hold many, and then the size
 *   does not fit the number, and is not believed.
 *
 * Otherwise the last member's size is all there is to be known.
 */
#include "formats.h"

#include "bytes.h"
#include "deflate_walk.h"
#include "fdio.h"
#include "gzip.h"
#include "list.h"
#include "look.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

enum {
	DEFLATE_RATIO = 1032,	/* the most that deflate can do */
	WALK_MAX = 4000000,	/* UINT32_MAX / DEFLATE_RATIO is more */
	LEAST_BODY = 2,
	SYNC_LEN = 4,
	MAGIC_LEN = 3
};

struct lister {
	struct look *look;
	struct codec_listing *l;
	uint64_t at, len;
	uint32_t value;		/* CRC of the member before */
	bool done;
};

/* The member in hand holds size bytes, ends at end and has its CRC there. */
static void
add_member(struct lister *g, const uint8_t *trailer, uint64_t size,
    uint64_t end)
{
	g->value = load_le32(trailer);
	g->l->frames++;
	list_add(g->l, size);
	g->at = end;
}

/* What is left is not understood: its last four bytes may be a size. */
static int
give_up(struct lister *g)
{
	const uint8_t *p;
	ssize_t n = look_at(g->look, g->len - GZIP_TRAILER, GZIP_TRAILER, &p);

	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	list_add(g->l, load_le32(p + 4));
	g->l->exact = false;
	g->l->frames = 0;
	g->done = true;
	return 0;
}

static int
member_of_length(struct lister *g, uint32_t member)
{
	const uint8_t *p;
	uint64_t end = g->at + member;
	ssize_t n = look_at(g->look, end - GZIP_TRAILER,
	    GZIP_TRAILER + LOOK_STEP, &p);

	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	if ((uint64_t)member * DEFLATE_RATIO > UINT32_MAX)
		g->l->exact = false;
	add_member(g, p, load_le32(p + 4), end);
	return 0;
}

/* Bytes behind a member that are none: padding, or to be ignored. */
static bool
is_end(const uint8_t *p, size_t len)
{
	return len < 2 || p[0] != 0x1f || p[1] != 0x8b;
}

/* The rest of the file, which is small, in one piece. */
static int
walk_members(struct lister *g, const uint8_t *p, size_t len)
{
	uint64_t start = g->at;
	size_t pos = 0;

	while (pos < len && (pos == 0 || !is_end(p + pos, len - pos))) {
		struct deflate_last last;
		struct gzip_header h;
		size_t end;
		int rc = gzip_header_parse(&h, p + pos, len - pos);

		if (rc != 1)
			return rc == 0 ? -ENODATA : rc;
		pos += h.len;
		rc = deflate_walk(p + pos, len - pos, &last);
		if (rc != 0)
			return rc;
		end = (size_t)((last.end + 7) / 8);
		if (len - pos - end < GZIP_TRAILER)
			return -ENODATA;
		pos += end;
		add_member(g, p + pos, load_le32(p + pos + 4),
		    start + pos + GZIP_TRAILER);
		pos += GZIP_TRAILER;
	}
	g->done = true;
	return 0;
}

static int
walk_rest(struct lister *g)
{
	size_t len = (size_t)(g->len - g->at);
	uint8_t *p = sys_malloc(len);
	ssize_t n;
	int rc;

	if (p == NULL)
		return -ENOMEM;
	n = fdio_pread(g->look->fd, p, len, (off_t)g->at);
	rc = n < 0 ? (int)n : walk_members(g, p, (size_t)n);
	sys_free(p);
	return rc;
}

/* Members of pzc's */

struct marked {
	uint64_t block;
	bool vary;
	uint64_t blocks;	/* so far */
};

/*
 * The only size in the range of so many blocks that is isize modulo 2^32; 0
 * if there is none, or more than one.  chance: sync points that may be none.
 */
static uint64_t
size_of_blocks(const struct marked *m, uint32_t isize, uint64_t chance)
{
	uint64_t whole = m->blocks - 1, lo, hi, size;

	if (m->blocks > (uint64_t)1 << 30)
		return 0;
	whole = whole > chance ? whole - chance : 0;
	lo = whole * (m->vary ? m->block / 4 : m->block);
	hi = m->blocks * m->block;
	size = (lo & ~(uint64_t)UINT32_MAX) | isize;
	if (size < lo)
		size += (uint64_t)1 << 32;
	return size <= hi && hi - size < (uint64_t)1 << 32 ? size : 0;
}

static uint64_t
count_syncs(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint64_t n = 0;

	while ((p = memmem(p, (size_t)(end - p), "\0\0\xff\xff",
	    SYNC_LEN)) != NULL) {
		n++;
		p += SYNC_LEN;
	}
	return n;
}

/*
 * Goes over len places from p + before on, behind which three more bytes can
 * be read.  Returns how many it is to the header of another member, or len.
 */
static size_t
scan_places(struct marked *m, const uint8_t *p, size_t before, size_t len,
    uint64_t *size)
{
	size_t from = before, end = before + len;

	while (from < end) {
		size_t most = end - from + SYNC_LEN - 1;
		const uint8_t *q = memmem(p + from, most, "\x1f\x8b\x08",
		    MAGIC_LEN);
		size_t to = q == NULL ? end : (size_t)(q - p);

		if (to > end)
			to = end;
		/* no sync point reaches into a header */
		m->blocks += count_syncs(p + from, to - from +
		    (to == end ? SYNC_LEN - 1 : 0));
		if (to < end && to >= GZIP_TRAILER && m->blocks > 1 &&
		    !(p[to + 3] & GZIP_RESERVED)) {
			*size = size_of_blocks(m, load_le32(p + to - 4), 0);
			if (*size != 0)
				return to - before;
		}
		from = to < end ? to + 1 : to;
	}
	return len;
}

static int
end_marked(struct lister *g, const struct marked *m, uint64_t start)
{
	const uint8_t *p;
	uint64_t size;
	ssize_t n = look_at(g->look, g->len - GZIP_TRAILER, GZIP_TRAILER, &p);

	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	size = size_of_blocks(m, load_le32(p + 4),
	    2 + (g->len - start) / ((uint64_t)1 << 30));
	if (size == 0)
		return give_up(g);
	add_member(g, p, size, g->len);
	return 0;
}

/* From the member's body on to its end, which is a header or the file's. */
static int
scan_marked(struct lister *g, const struct gzip_header *h)
{
	struct marked m = { h->block, h->blocks_vary, 1 };
	uint64_t start = g->at + h->len, at = start;
	uint64_t size = 0;

	while (at < g->len) {
		const uint8_t *p;
		ssize_t n = look_at(g->look, at - GZIP_TRAILER, LOOK_MAX, &p);
		size_t places, done;

		if (n < 0)
			return (int)n;
		if (n < GZIP_TRAILER + SYNC_LEN)
			break;
		places = (size_t)n - GZIP_TRAILER - (SYNC_LEN - 1);
		done = scan_places(&m, p, GZIP_TRAILER, places, &size);
		at += done;
		if (done < places) {
			add_member(g, p + done, size, at);
			return 0;
		}
	}
	return end_marked(g, &m, start);
}

static int
next_member(struct lister *g)
{
	struct gzip_header h;
	const uint8_t *p;
	ssize_t n = look_at(g->look, g->at, LOOK_STEP, &p);
	int rc;

	if (n < 0)
		return (int)n;
	if (g->at > 0 && is_end(p, (size_t)n)) {
		g->done = true;
		return 0;
	}
	rc = gzip_header_parse(&h, p, (size_t)n);
	if (rc == 0) {
		n = look_at(g->look, g->at, LOOK_MAX, &p);
		rc = n < 0 ? (int)n : gzip_header_parse(&h, p, (size_t)n);
	}
	if (rc < 0)
		return rc;
	if (rc == 0)
		return n < LOOK_MAX ? -ENODATA : give_up(g);
	if (g->len - g->at < h.len + LEAST_BODY + GZIP_TRAILER)
		return -ENODATA;
	if (h.member >= h.len + LEAST_BODY + GZIP_TRAILER &&
	    h.member <= g->len - g->at)
		return member_of_length(g, h.member);
	if (g->len - g->at <= WALK_MAX)
		return walk_rest(g);
	return h.block != 0 ? scan_marked(g, &h) : give_up(g);
}

int
gzip_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct lister g = { .look = look_open(fd, len), .l = l, .len = len };
	int rc = 0;

	if (g.look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	while (rc == 0 && !g.done && (g.at < len || len == 0))
		rc = next_member(&g);
	l->has_value = l->frames == 1;
	l->value = g.value;
	look_close(g.look);
	return rc;
}
