/*
 * seek_gzip.c - reading ranges of gzip files without an index
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Members whose header contains their length (BGZF, mgzip, pzc -i) are skipped
 * one by one; each ends with its size and CRC.
 *
 * In files written by pzc, the links between the blocks (gzip_link.h) lead from
 * the end of a member to any block, and contain the CRC of each.  They also lead
 * to the header, before which another member may end.  A member of one block
 * has no links; if it is short, its start is found by decompressing what begins
 * like a header before its end, as far as there are few of them.
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

#include "base/array.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "deflate_codec.h"
#include "format/gzip/gzip.h"
#include "gzip_link.h"

#include <errno.h>
#include <string.h>

enum {
	SYNC_LEN = 4, MAGIC_LEN = 3, DEFLATE_RATIO = 1032,
	MEMBERS_MAX = 1 << 16,
	HEADER_MOST = 1 << 10,		/* bytes of a header, with its name */
	SINGLE_LEAST = 20,		/* bytes of a member */
	SINGLE_MOST = 4 << 20,		/* bytes of data in one without links */
	SINGLES_B = 1 << 20		/* read to find all of these */
};

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

/* A member of our own, found from its end. */
struct member {
	uint64_t at, end;		/* of its header and its trailer */
	uint64_t size;
	struct gzip_chain chain;	/* no blocks: it has no links */
};

/* In the order in which they are found, from the last. */
struct members {
	struct member *list;
	size_t count, cap;
};

/*
 * Adds the starts of the blocks first..last of a member whose data begins at
 * plain, or some of them if there are very many.
 */
static int
add_blocks(struct seek_map *m, const struct member *mb, uint64_t plain,
    uint64_t first, uint64_t last)
{
	const struct gzip_chain *c = &mb->chain;
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
		/* the others are the start and the end of the member */
		if (k > 0 && k < c->blocks && seek_add(m, (struct seek_unit){
		    plain + k * c->block, places[i], mb->at }) != 0)
			rc = 0;
	}
	sys_free(places);
	return rc == 0 ? -ENODATA : rc < 0 ? rc : 0;
}

/* Adds the start of a member and, if its data is needed, blocks of it. */
static int
add_member(struct seek_map *m, const struct member *mb, uint64_t plain,
    uint64_t from)
{
	const struct gzip_chain *c = &mb->chain;
	uint64_t first, last;
	int rc = seek_add(m, (struct seek_unit){ plain, mb->at, mb->at });

	if (rc != 0 || c->blocks == 0 || from >= plain + mb->size ||
	    m->need <= plain)
		return rc;
	first = from <= plain ? 0 : (from - plain) / c->block;
	last = m->need - plain >= mb->size ? c->blocks :
	    (m->need - plain + c->block - 1) / c->block;
	return add_blocks(m, mb, plain, first, last > first ? last : first + 1);
}

/*
 * Finds the header that ends at an offset.  Returns 1, 0 (none, or it is very
 * long) or -errno.
 */
static int
header_before(struct look *look, uint64_t end, uint64_t *at)
{
	size_t want = end < HEADER_MOST ? (size_t)end : HEADER_MOST;
	struct gzip_header h;
	const uint8_t *p;
	ssize_t n = look_at(look, end - want, want, &p);

	if (n < (ssize_t)want)
		return n < 0 ? (int)n : 0;
	/* the one that begins the file, rather than part of its name */
	if (want == end && gzip_header_parse(&h, p, want) == 1 &&
	    h.len == want) {
		*at = 0;
		return 1;
	}
	for (size_t i = want; i-- > 0;)
		if (gzip_header_parse(&h, p + i, want - i) == 1 &&
		    h.len == want - i) {
			*at = end - h.len;
			return 1;
		}
	return 0;
}

/*
 * Finds a member without links that ends where mb does, reading no more than
 * *left bytes, which are subtracted.  Returns 1, 0 or -errno.
 */
static int
single_before(struct look *look, struct member *mb, uint64_t *left)
{
	uint64_t read_B = look->read_B, to = mb->end, least, from;
	const uint8_t *p;
	ssize_t n = to < SINGLE_LEAST ? 0 : look_at(look, to - 4, 4, &p);
	int rc = 0;

	if (n < 4)
		return n < 0 ? (int)n : 0;
	mb->size = load_le32(p);
	if (mb->size > SINGLE_MOST)
		return 0;
	/* deflate adds little to what it cannot compress */
	least = mb->size + mb->size / 64 + HEADER_MOST;
	least = to > least ? to - least : 0;
	for (to -= SINGLE_LEAST - MAGIC_LEN; rc == 0 && to >= least + MAGIC_LEN;
	    to = from + MAGIC_LEN - 1) {
		const uint8_t *q;
		size_t len = to - least < LOOK_MAX ? (size_t)(to - least) :
		    LOOK_MAX;

		if (len < MAGIC_LEN || look->read_B - read_B + len > *left)
			break;
		from = to - len;
		while (rc == 0 && len >= MAGIC_LEN) {
			n = look_at(look, from, len, &p);
			if (n < (ssize_t)len)
				return n < 0 ? (int)n : 0;
			q = memrchr(p, 0x1f, len - MAGIC_LEN + 1);
			if (q == NULL)
				break;
			len = (size_t)(q - p) + MAGIC_LEN - 1;
			if (memcmp(q, "\x1f\x8b\x08", MAGIC_LEN) != 0)
				continue;
			mb->at = from + (uint64_t)(q - p);
			if (look->read_B - read_B + (mb->end - mb->at) > *left)
				goto out;
			rc = gzip_is_member(look, mb->at, mb->end);
		}
		if (from == least)
			break;
	}
out:
	read_B = look->read_B - read_B;
	*left -= read_B < *left ? read_B : *left;
	return rc;
}

/* Finds the members of the file.  Returns 0, -ENODATA or -errno. */
static int
find_members(struct seek_map *m, struct members *s)
{
	uint64_t end = m->len, left = SINGLES_B;

	while (end > 0) {
		void *list = s->list;
		struct member *mb;
		int rc = s->count == MEMBERS_MAX ? -ENODATA : array_grow(&list,
		    s->count, &s->cap, sizeof(*s->list));

		if (rc != 0)
			return rc;
		s->list = list;
		mb = &s->list[s->count++];
		*mb = (struct member){ .end = end };
		rc = gzip_chain_read(&mb->chain, m->look, end);
		if (rc == 1) {
			mb->size = mb->chain.size;
			rc = header_before(m->look, mb->chain.start -
			    GZIP_LINK_LEN, &mb->at);
		} else if (rc == 0) {
			mb->chain.blocks = 0;
			rc = single_before(m->look, mb, &left);
		}
		if (rc != 1)
			return rc == 0 ? -ENODATA : rc;
		end = mb->at;
	}
	return 0;
}

static int
map_links(struct seek_map *m)
{
	struct members s = { .list = NULL };
	uint64_t size = 0, plain = 0, from;
	int rc = find_members(m, &s);

	if (rc == -ENODATA)
		m->why = "its links do not lead from its end to its start: "
		    "not all members are pzc's, or it is damaged";
	for (size_t i = 0; rc == 0 && i < s.count; i++)
		if (__builtin_add_overflow(size, s.list[i].size, &size))
			rc = -EBADMSG;
	m->how = "links between blocks";
	m->checked = true;
	m->spacing = 0;		/* only blocks that are needed are added */
	from = seek_need_from(m, size);
	/* of a range after the end, the last block */
	if (from >= size && size > 0)
		from = size - 1;
	for (size_t i = s.count; rc == 0 && i-- > 0; plain += s.list[i].size)
		rc = add_member(m, &s.list[i], plain, from);
	sys_free(s.list);
	return rc == 0 ? seek_end(m, size, m->len) : rc;
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
		return map_links(m);
	/* other members may follow, unless that saves nothing */
	if (h.sizes == GZIP_UNMARKED && m->len > SINGLES_B) {
		rc = map_links(m);
		if (rc == -ENODATA)
			m->why = NULL;
		return rc;
	}
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
	bool ends = to->frame != from->frame;	/* with the member */
	int rc = gzip_header_at(&h, m->look, from->frame);

	if (rc != 1)
		return rc < 0 ? rc : -EBADMSG;
	if (start == from->frame)
		start += h.len + h.mark;
	if (ends)
		end -= GZIP_TRAILER;
	if (end < start)
		return -EBADMSG;
	store_le32(trailer + 4, (uint32_t)(to->plain - from->plain));
	if (h.sizes == GZIP_LINKED) {
		uint32_t check;

		rc = linked_check(m->look, start, ends ? end - GZIP_FINAL :
		    end, to->plain - from->plain, h.block_max, &check);
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
	if (!ends) {
		rc = seek_bytes(s, final, sizeof(final));
		if (rc != 0)
			return rc;
	}
	return seek_bytes(s, trailer, sizeof(trailer));
}

const struct codec_seek gzip_seek = { .map = map_gzip, .part = gzip_part };
