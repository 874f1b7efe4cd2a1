/*
 * seek_gzip.c - reading ranges of gzip files without an index
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Members whose header contains their length (BGZF, mgzip, pzc -i) are skipped
 * one by one; each ends with its size and CRC.
 *
 * In files written by pzc, the links between the blocks (gzip_link.h) lead from
 * the end of the file to any block, and contain the CRC of each.
 *
 * Earlier builds wrote sync points without links.  In their files every block
 * but the last has the same size as the
 * first, so the k-th sync point is at k times that size in the data.  The sync
 * points in the whole file are counted.  If incompressible data contains the
 * bytes of a sync point, the count does not match the size at the end of the
 * file (unless it differs by 4 GiB), or there is an unexpected header; the
 * count is then not used.  Decoded data must end at sync points and have the
 * size implied by their number; anything else is an error.
 *
 * As soon as there are more sync points than a file below 4 GiB would have, the
 * block that takes the least space in the file is decompressed: unless the data
 * is that long, this is where a false sync point is most likely, and a block of
 * the wrong size ends the scan.
 */
#include "format/seek_formats.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "deflate_codec.h"
#include "format/gzip/gzip.h"
#include "gzip_link.h"

#include <errno.h>
#include <string.h>

enum { SYNC_LEN = 4, MAGIC_LEN = 3, DEFLATE_RATIO = 1032 };

/* Members with lengths */

static int
map_members(struct seek_map *m)
{
	struct gzip_header h;
	uint64_t at = 0, plain = 0;
	int rc = 0;

	m->how = "members of known length";
	m->checked = true;
	while (plain < m->need && (rc = gzip_header_at(&h, m->look, at)) == 1) {
		const uint8_t *p;

		rc = gzip_member_length(&h, m->look, at);
		if (rc < 0)
			return rc;
		if (h.member == 0 ||
		    (uint64_t)h.member * DEFLATE_RATIO > UINT32_MAX)
			return -ENODATA;
		rc = seek_add(m, (struct seek_unit){ plain, at, at });
		at += h.member;
		/* read together with the next header */
		if (rc == 0 && look_at(m->look, at - 4, 4, &p) < 4)
			rc = -ENODATA;
		if (rc != 0)
			return rc;
		plain += load_le32(p);
	}
	return rc < 0 && rc != -EBADMSG ? rc : seek_end(m, plain, at);
}

/* Links */

/*
 * Adds the starts of the blocks first..last of the chain, or some of them if
 * there are very many.
 */
static int
add_blocks(struct seek_map *m, const struct gzip_chain *c, uint64_t first,
    uint64_t last)
{
	uint64_t step = (last - first) / (SEEK_UNITS_MAX / 2) + 1, at, k;
	size_t n = (size_t)((last - first + step - 1) / step) + 1;
	uint64_t *places = sys_malloc(n * sizeof(*places));
	int rc = places == NULL ? -ENOMEM :
	    gzip_chain_find(c, m->look, last, &at);

	for (k = last; rc == 1; k--) {
		struct gzip_back b;

		if (k == last || (k - first) % step == 0)
			places[(k - first + step - 1) / step] = at;
		if (k == first)
			break;
		rc = gzip_link_before(&b, m->look, at);
		at = b.block;
	}
	for (size_t i = 0; rc == 1 && i < n; i++) {
		k = i == n - 1 ? last : first + i * step;
		/* the others are the start and the end of the map */
		if (k > 0 && k < c->blocks && seek_add(m, (struct seek_unit){
		    k * c->block, places[i], 0 }) != 0)
			rc = 0;
	}
	sys_free(places);
	return rc == 0 ? -ENODATA : rc < 0 ? rc : 0;
}

static int
map_links(struct seek_map *m, const struct gzip_header *h)
{
	struct gzip_chain c;
	uint64_t first, last;
	int rc = gzip_chain_read(&c, m->look, h->len + h->mark, h->block_max);

	if (rc == 0)
		m->why = "its links do not lead from its end to its start: "
		    "there is more than one member, or it is damaged";
	if (rc != 1)
		return rc == 0 ? -ENODATA : rc;
	m->how = "links between blocks";
	m->checked = true;
	m->spacing = 0;		/* only blocks that are needed are added */
	first = seek_need_from(m, c.size) / c.block;
	last = m->need >= c.size ? c.blocks :
	    (m->need + c.block - 1) / c.block;
	if (first >= c.blocks)
		first = c.blocks - 1;
	if (last <= first)
		last = first + 1;
	rc = seek_add(m, (struct seek_unit){ 0, 0, 0 });
	if (rc == 0)
		rc = add_blocks(m, &c, first, last);
	return rc == 0 ? seek_end(m, c.size, m->len) : rc;
}

/*
 * Computes the CRC of the blocks between two offsets, which together have `size`
 * bytes of data, from their links.  Returns 0 or -errno.
 */
static int
linked_check(struct look *look, uint64_t start, uint64_t end, uint64_t size,
    uint32_t block, uint32_t *check)
{
	uint64_t len = size % block == 0 ? block : size % block, sum = 0;

	*check = check_crc32.start;
	while (end > start) {
		struct gzip_back b;
		int rc = gzip_link_before(&b, look, end);

		if (rc <= 0)
			return rc < 0 ? rc : -EBADMSG;
		*check = (uint32_t)check_crc32.combine(b.check, *check,
		    (off_t)sum);
		sum += len;
		len = block;
		end = b.block;
	}
	return end == start && sum == size ? 0 : -EBADMSG;
}

/* Sync points */

struct scan {
	uint64_t block, blocks;
	uint64_t expected;		/* blocks if the size is below 4 GiB */
	uint64_t last;			/* end of the last sync point, or 0 */
	uint64_t from, to;		/* the closest pair */
	bool tried;
};

/*
 * Counts the sync points that begin in len positions at p, with GZIP_GUESS
 * bytes after each.
 */
static int
scan_places(struct seek_map *m, struct scan *c, const uint8_t *p, size_t len,
    uint64_t at)
{
	const uint8_t *q = p, *end = p + len;

	for (; q < end && (q = memmem(q, (size_t)(end - q) + SYNC_LEN - 1,
	    "\0\0\xff\xff", SYNC_LEN)) != NULL; q += SYNC_LEN) {
		uint64_t sync = at + (uint64_t)(q - p) + SYNC_LEN;
		int rc;

		if (!gzip_is_sync(q))
			continue;
		if (c->last != 0 &&
		    (c->to == 0 || sync - c->last < c->to - c->from)) {
			c->from = c->last;
			c->to = sync;
		}
		c->last = sync;
		rc = seek_add(m, (struct seek_unit){ c->blocks++ * c->block,
		    sync, 0 });
		if (rc != 0)
			return rc;
	}
	for (q = p; q < end && (q = memmem(q, (size_t)(end - q) +
	    MAGIC_LEN - 1, "\x1f\x8b\x08", MAGIC_LEN)) != NULL; q++)
		if (gzip_is_plausible(q)) {
			m->why = "there is more than one member, or stored "
			    "data resembles one";
			return -ENODATA;
		}
	return 0;
}

static int
misled(struct seek_map *m)
{
	m->why = "stored data resembles the ends of blocks";
	return -ENODATA;
}

static int
map_blocks(struct seek_map *m, const struct gzip_header *h)
{
	struct scan c = { .block = h->block_max, .blocks = 1 };
	uint64_t at = h->len + h->mark, size, least;
	const uint8_t *p;
	ssize_t n = look_at(m->look, m->len - 4, 4, &p);
	int rc;

	m->how = "blocks between sync points";
	if (n < 4)
		return n < 0 ? (int)n : -ENODATA;
	size = load_le32(p);	/* modulo 4 GiB */
	c.expected = (size + c.block - 1) / c.block;
	rc = seek_add(m, (struct seek_unit){ 0, 0, 0 });
	if (rc != 0)
		return rc;
	for (;; at += (uint64_t)n - GZIP_GUESS) {
		n = look_at(m->look, at, LOOK_MAX, &p);
		if (n < 0)
			return (int)n;
		if (n <= GZIP_GUESS)
			break;
		rc = scan_places(m, &c, p, (size_t)n - GZIP_GUESS, at);
		if (rc != 0)
			return rc;
		/* with too many sync points, check the closest */
		if (c.tried || c.blocks <= c.expected || c.to == 0)
			continue;
		c.tried = true;
		rc = gzip_is_block(m->look, c.from, c.to, c.block);
		if (rc <= 0)
			return rc == 0 ? misled(m) : rc;
	}
	/* the size that matches the number of blocks and the end of the file */
	least = (c.blocks - 1) * c.block;
	size |= least & ~(uint64_t)UINT32_MAX;
	if (size < least)
		size += (uint64_t)1 << 32;
	return size - least > c.block ? misled(m) : seek_end(m, size, m->len);
}

static int
map_gzip(struct seek_map *m)
{
	struct gzip_header h;
	int rc = gzip_header_at(&h, m->look, 0);

	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	if (h.member != 0)
		return map_members(m);
	if (h.sizes == GZIP_LINKED)
		return map_links(m, &h);
	if (h.sizes != GZIP_EQUAL) {
		if (h.sizes != GZIP_UNMARKED)
			m->why = "its blocks differ in size";
		return -ENODATA;
	}
	rc = gzip_block_size(&h, m->look, 0);
	return rc == 0 ? map_blocks(m, &h) : rc;
}

/* Turns blocks into a separate member, whose CRC only links can tell. */
static int
gzip_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	static const uint8_t final[] = { 3, 0 };
	uint8_t head[64], trailer[GZIP_TRAILER] = { 0 };
	size_t len = gzip_header_write(&(struct gzip_fields){ .mtime = 0 },
	    head);
	uint64_t start = from->at, end = to->at;
	struct gzip_header h;
	int rc = gzip_header_at(&h, m->look, 0);

	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	if (start == 0)
		start = h.len + h.mark;
	if (to->frame != 0)
		end -= GZIP_TRAILER;
	if (end < start)
		return -EBADMSG;
	store_le32(trailer + 4, (uint32_t)(to->plain - from->plain));
	if (h.sizes == GZIP_LINKED) {
		uint32_t check;

		rc = linked_check(m->look, start, to->frame == 0 ? end :
		    end - GZIP_FINAL, to->plain - from->plain, h.block_max,
		    &check);
		if (rc != 0)
			return rc;
		store_le32(trailer, check);
		gzip_link_open(h.block_max, head + len);
		len += GZIP_LINK_LEN;
	} else {
		s->coder = &gzip_part_decoder;
		len += gzip_mark_write(GZIP_EQUAL, h.block_max, head + len);
	}
	rc = seek_bytes(s, head, len);
	if (rc != 0)
		return rc;
	rc = seek_extent(s, start, end - start);
	if (rc != 0)
		return rc;
	if (to->frame == 0) {
		rc = seek_bytes(s, final, sizeof(final));
		if (rc != 0)
			return rc;
	}
	return seek_bytes(s, trailer, sizeof(trailer));
}

const struct codec_seek gzip_seek = { .map = map_gzip, .part = gzip_part };
