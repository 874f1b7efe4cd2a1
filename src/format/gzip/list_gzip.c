/*
 * list_gzip.c - the uncompressed size of a gzip file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A member ends with its size modulo 2^32, and the start of the next member is
 * known only from the end of the previous one.  The end is found by one of
 * these methods, the most reliable first:
 *
 * - by the length in the member's header (BGZF, mgzip, pzc -i);
 * - in a small member, by walking over its Huffman codes;
 * - in a member written by pzc, by the links between its blocks, backward if it
 *   is the last member, otherwise forward;
 * - in one written by an earlier build, by counting its sync points: the number
 *   of blocks and the first block's size give the multiple of 2^32 in the
 *   total, and show whether what looks like another member's header is one.
 *
 * Compressed data contains the four bytes of a sync point by chance about once
 * per 4 GiB.  Stored data may itself contain sync points and headers, so the
 * count is not trusted if a header is found where no member can end, or if the
 * count is inconsistent with the size.  In that case only a lower bound is
 * known, the size at the end of the file.
 */
#include "format/codec.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "engine/deflate/deflate_walk.h"
#include "format/list.h"
#include "format/gzip/gzip.h"
#include "gzip_link.h"

#include <errno.h>
#include <string.h>

enum {
	DEFLATE_RATIO = 1032,	/* deflate's maximum ratio */
	WALK_MAX = 4000000,	/* UINT32_MAX / DEFLATE_RATIO is larger */
	WALKS = 4,		/* number of walks in larger files */
	LEAST_BODY = 2,
	MAGIC_LEN = 3,
	SYNC_LEN = 4,
	/* bytes examined after a position */
	LINK_AHEAD = SYNC_LEN + GZIP_LINK_MAX - 1,
	AHEAD = LINK_AHEAD > GZIP_GUESS ? (int)LINK_AHEAD : GZIP_GUESS
};

struct lister {
	struct look *look;
	struct codec_listing *l;
	uint64_t at, len;
	uint32_t value;		/* CRC of the previous member */
	unsigned walks;
	bool guessed;		/* at least one member's end was guessed */
	bool done;
};

/* Adds the current member, which contains `size` bytes and ends at `end`. */
static void
add_member(struct lister *g, const uint8_t *trailer, uint64_t size,
    uint64_t end)
{
	g->value = load_le32(trailer);
	g->l->frames++;
	list_add(g->l, size);
	g->at = end;
}

/* Handles an unrecognized remainder: its last four bytes may be a size. */
static int
give_up(struct lister *g)
{
	const uint8_t *p;
	ssize_t n = look_at(g->look, g->len - GZIP_TRAILER, GZIP_TRAILER, &p);

	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	if (g->guessed)
		g->l->size = 0;
	list_add(g->l, load_le32(p + 4));
	g->l->exact = false;
	g->l->frames = 0;
	g->done = true;
	return 0;
}

/*
 * Returns whether a member begins at p, as opposed to padding or ignored data.
 */
static bool
is_member(const uint8_t *p, size_t len)
{
	return len >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/*
 * Walks over the Huffman codes of all members in the next WALK_MAX bytes.  If
 * the file has more data, stops at the first member that is incomplete.
 */
static int
list_members(struct lister *g)
{
	uint64_t left = g->len - g->at;
	size_t len = left < WALK_MAX ? (size_t)left : WALK_MAX, pos = 0, end;
	uint8_t *start = sys_malloc(len);
	struct gzip_header h;
	ssize_t n;
	int rc = 0;

	if (start == NULL)
		return -ENOMEM;
	g->walks++;
	n = fdio_pread(g->look->fd, start, len, (off_t)g->at);
	if (n < (ssize_t)len) {
		rc = n < 0 ? (int)n : -ENODATA;
		goto out;
	}
	while (pos < len && is_member(start + pos, len - pos)) {
		const uint8_t *p = start + pos;
		struct deflate_last last;

		rc = gzip_header_parse(&h, p, len - pos);
		rc = rc == 0 ? -ENODATA : rc;
		if (rc == 1)
			rc = deflate_walk(p + h.len, len - pos - h.len, &last);
		if (rc < 0)
			break;
		end = h.len + (size_t)((last.end + 7) / 8);
		if (len - pos - end < GZIP_TRAILER) {
			rc = -ENODATA;
			break;
		}
		pos += end + GZIP_TRAILER;
		add_member(g, p + end, load_le32(p + end + 4),
		    g->at + end + GZIP_TRAILER);
	}
	/* there is an error only if these are all bytes, and begin a member */
	if (rc >= 0 || len != left || g->guessed)
		rc = pos == 0 ? give_up(g) : 0;
out:
	sys_free(start);
	return rc;
}

/* Members written by pzc */

struct marked {
	uint64_t least, most;	/* bytes in each block but the last */
	uint64_t blocks;	/* blocks so far */
	bool linked;
	uint64_t unit;		/* linked: where the current block begins */
};

/*
 * Returns the only size in the range for m->blocks blocks that equals isize
 * modulo 2^32; 0 if there is none, or more than one.  chance is the number of
 * sync points that may be spurious.
 */
static uint64_t
size_of_blocks(const struct marked *m, uint32_t isize, uint64_t chance)
{
	uint64_t whole = m->blocks - 1, lo, hi, size;

	if (m->blocks > (uint64_t)1 << 30 || m->blocks == 0)
		return 0;
	whole = whole > chance ? whole - chance : 0;
	lo = whole * m->least;
	hi = m->blocks * m->most;
	size = (lo & ~(uint64_t)UINT32_MAX) | isize;
	if (size < lo)
		size += (uint64_t)1 << 32;
	return size <= hi && hi - size < (uint64_t)1 << 32 ? size : 0;
}

/* Follows the links that begin in the len bytes at p; `at` is p's offset. */
static void
count_links(struct marked *m, const uint8_t *p, size_t len, uint64_t at)
{
	uint64_t n;

	do {
		size_t from = m->unit > at ? (size_t)(m->unit - at) : 0;

		if (from >= len)
			return;
		p += from;
		len -= from;
		at += from;
		from = 0;
		n = gzip_link_find(p, len + LINK_AHEAD, &from, at - m->unit);
		if (n > 0) {
			m->unit = at + n;
			m->blocks++;
		}
	} while (n > 0);
}

/* Counts the sync points that begin in the len bytes at p. */
static uint64_t
count_syncs(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint64_t n = 0;

	while (p < end && (p = memmem(p, (size_t)(end - p) + SYNC_LEN - 1,
	    "\0\0\xff\xff", SYNC_LEN)) != NULL) {
		n += gzip_is_sync(p);
		p += SYNC_LEN;
	}
	return n;
}

enum found { NOTHING, MEMBER, DOUBT };

/*
 * Examines len positions starting at p, whose offset is `at`, with GZIP_TRAILER
 * bytes before them and AHEAD after each.  *done is set to the distance to the header of another
 * member (*size is then the size of the previous member), or to an unexpected
 * header.
 */
static enum found
scan_places(struct marked *m, const uint8_t *p, size_t len, uint64_t at,
    size_t *done, uint64_t *size)
{
	size_t from = 0;

	while (from < len) {
		const uint8_t *q = memmem(p + from, len - from + MAGIC_LEN - 1,
		    "\x1f\x8b\x08", MAGIC_LEN);

		*done = q == NULL ? len : (size_t)(q - p);
		if (m->linked)
			count_links(m, p + from, *done - from, at + from);
		else
			m->blocks += count_syncs(p + from, *done - from);
		if (q == NULL)
			return NOTHING;
		if (m->linked ? at + *done == m->unit + GZIP_FINAL +
		    GZIP_TRAILER : gzip_is_plausible(q)) {
			/*
			 * the last block may be empty, consisting only of a
			 * sync point
			 */
			*size = m->blocks < 2 && !m->linked ? 0 :
			    size_of_blocks(m, load_le32(q - 4), !m->linked);
			return *size != 0 ? MEMBER : DOUBT;
		}
		from = *done + 1;
	}
	*done = len;
	return NOTHING;
}

/*
 * Scans a member from its body to its end, at another header or at the end of
 * the file.
 */
static int
scan_marked(struct lister *g, const struct gzip_header *h)
{
	uint64_t start = g->at + h->len + h->mark, at = start, size = 0;
	struct marked m = { .least = h->block_min, .most = h->block_max,
	    .linked = h->sizes == GZIP_LINKED, .blocks =
	    h->sizes == GZIP_LINKED ? 0 : 1, .unit = start };
	struct gzip_chain c;
	const uint8_t *p;
	ssize_t n;
	size_t done;

	if (m.linked) {
		int rc = gzip_chain_read(&c, g->look, g->len);

		if (rc < 0)
			return rc;
		if (rc == 1 && c.start == start) {
			m.blocks = c.blocks;
			at = g->len;
		}
	}

	for (;;) {
		n = look_at(g->look, at - GZIP_TRAILER, LOOK_MAX, &p);
		if (n < 0)
			return (int)n;
		if (n <= GZIP_TRAILER + AHEAD)
			break;
		p += GZIP_TRAILER;
		switch (scan_places(&m, p, (size_t)n - GZIP_TRAILER - AHEAD,
		    at, &done, &size)) {
		case MEMBER:
			g->guessed = true;
			add_member(g, p + done - GZIP_TRAILER, size,
			    at + done);
			return 0;
		case DOUBT:
			return give_up(g);
		case NOTHING:
			at += done;
		}
	}
	n = look_at(g->look, g->len - GZIP_TRAILER, GZIP_TRAILER, &p);
	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	size = size_of_blocks(&m, load_le32(p + 4), m.linked ? 0 :
	    3 + (g->len - start) / ((uint64_t)1 << 30));
	if (size == 0)
		return give_up(g);
	add_member(g, p, size, g->len);
	return 0;
}

static int
next_member(struct lister *g)
{
	struct gzip_header h;
	const uint8_t *p;
	ssize_t n = look_at(g->look, g->at, LOOK_STEP, &p);
	uint64_t end;
	int rc;

	if (n < 0)
		return (int)n;
	if (g->at > 0 && !is_member(p, (size_t)n)) {
		/*
		 * if the end of the last member was guessed, only zeros may
		 * follow; anything else shows that the guess was wrong
		 */
		if (g->guessed && (n >= LOOK_STEP || (n > 0 && (p[0] != 0 ||
		    memcmp(p, p + 1, (size_t)n - 1) != 0))))
			return give_up(g);
		g->done = true;
		return 0;
	}
	rc = gzip_header_at(&h, g->look, g->at);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return g->len - g->at < LOOK_MAX ? -ENODATA : give_up(g);
	if (g->len - g->at < h.len + LEAST_BODY + GZIP_TRAILER)
		return -ENODATA;
	rc = gzip_member_length(&h, g->look, g->at);
	if (rc != 0)
		return rc;
	if (h.member != 0) {
		end = g->at + h.member;
		n = look_at(g->look, end - GZIP_TRAILER,
		    GZIP_TRAILER + LOOK_STEP, &p);
		if (n < GZIP_TRAILER)
			return n < 0 ? (int)n : -ENODATA;
		if ((uint64_t)h.member * DEFLATE_RATIO > UINT32_MAX)
			g->l->exact = false;
		add_member(g, p, load_le32(p + 4), end);
		return 0;
	}
	if (g->len - g->at <= WALK_MAX ||
	    (h.sizes == GZIP_UNMARKED && g->walks < WALKS))
		return list_members(g);
	if (h.sizes == GZIP_EQUAL)
		rc = gzip_block_size(&h, g->look, g->at);
	if (h.sizes == GZIP_UNMARKED || rc == -EBADMSG || rc == -ENODATA)
		return give_up(g);
	return rc < 0 ? rc : scan_marked(g, &h);
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
