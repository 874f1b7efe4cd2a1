/*
 * seek_zstd.c - ranges of zstd files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By the seek table, if there is one whose sizes fill the file; else from
 * frame to frame, where all say their size.  Sources: the Zstandard seekable
 * format 0.1.0; RFC 8878.
 */
#include "format/seek_formats.h"

#include "base/bytes.h"
#include "zstd_scan.h"

#include <errno.h>

#define SEEK_MAGIC 0x184d2a5eU
#define SEEK_FOOTER_MAGIC 0x8f92eab1U

enum {
	HEAD = 8, FOOT = 9,
	CHECKSUMS = 0x80, RESERVED = 0x7c,	/* of the descriptor */
	HEADERS = 512
};

struct seek_table {
	uint64_t at;		/* of its frame: where the others end */
	uint32_t frames;
	size_t entry;		/* bytes */
};

/* Is there one at the end?  1, 0 or -errno. */
static int
find_table(struct look *look, struct seek_table *t)
{
	const uint8_t *p;
	uint64_t len;
	ssize_t n = look->len < HEAD + FOOT ? 0 :
	    look_at(look, look->len - FOOT, FOOT, &p);

	if (n < FOOT)
		return n < 0 ? (int)n : 0;
	if (load_le32(p + 5) != SEEK_FOOTER_MAGIC || p[4] & RESERVED)
		return 0;
	t->frames = load_le32(p);
	t->entry = p[4] & CHECKSUMS ? 12 : 8;
	len = (uint64_t)t->frames * t->entry + FOOT;
	if (len > UINT32_MAX || len + HEAD > look->len)
		return 0;
	t->at = look->len - len - HEAD;
	n = look_at(look, t->at, HEAD, &p);
	if (n < HEAD)
		return n < 0 ? (int)n : 0;
	return load_le32(p) == SEEK_MAGIC && load_le32(p + 4) == len;
}

static int
first_checked(struct seek_map *m)
{
	struct zstd_header h;
	const uint8_t *p;
	ssize_t n = look_at(m->look, 0, ZSTD_HEADER_MAX, &p);

	if (n < 0)
		return (int)n;
	if (zstd_header_parse(&h, p, (size_t)n) != 1)
		return -EBADMSG;
	m->checked = h.checksum;
	return 0;
}

static int
map_table(struct seek_map *m, const struct seek_table *t)
{
	uint64_t at = 0, plain = 0, entry = t->at + HEAD;
	int rc = first_checked(m);

	m->how = "frames by the seek table";
	for (uint32_t i = 0; rc == 0 && i < t->frames; i++) {
		const uint8_t *p;
		ssize_t n = look_at(m->look, entry, t->entry, &p);

		if (n < (ssize_t)t->entry)
			return n < 0 ? (int)n : -EBADMSG;
		rc = seek_add(m, (struct seek_unit){ plain, at, at });
		at += load_le32(p);
		plain += load_le32(p + 4);
		entry += t->entry;
	}
	if (rc != 0)
		return rc;
	return at == t->at ? seek_end(m, plain, at) : -EBADMSG;
}

/* One that is counted, or passed over. */
static int
end_frame(struct seek_map *m, const struct zstd_header *h, uint64_t *plain)
{
	if (h->skippable)
		return 0;
	m->checked &= h->checksum;
	if (h->content > (uint64_t)INT64_MAX - *plain)
		return -EBADMSG;
	*plain += h->content;
	return 0;
}

static int
map_frames(struct seek_map *m)
{
	struct zstd_scan z = { .state = 0 };
	uint64_t at = 0, plain = 0;
	bool ended = true;
	int rc = 0;

	m->how = "frames of known size";
	m->checked = true;
	while (rc == 0 && (at < m->len || !ended) &&
	    !(ended && plain >= m->need)) {
		const uint8_t *p;
		ssize_t n = at > m->len ? -ENODATA :
		    look_at(m->look, at, HEADERS, &p);
		int64_t used;

		if (n < 0)
			return (int)n;
		if (ended)
			rc = seek_add(m, (struct seek_unit){ plain, at, at });
		if (rc != 0)
			return rc;
		used = zstd_scan(&z, p, (size_t)n, &ended);
		if (used < 0)
			return (int)used;
		if (n == 0 && !ended)
			return -ENODATA;
		/* one of unknown size: what follows has no place */
		if (!z.header.skippable && z.header.content == UINT64_MAX)
			return -ENODATA;
		if (ended)
			rc = end_frame(m, &z.header, &plain);
		at += (uint64_t)used + z.skip;
		z.skip = 0;
	}
	return rc != 0 ? rc : seek_end(m, plain, at);
}

static int
map(struct seek_map *m)
{
	struct seek_table t = { .at = 0 };
	int rc = find_table(m->look, &t);

	if (rc < 0)
		return rc;
	if (rc == 1) {
		rc = map_table(m, &t);
		if (rc != -EBADMSG)
			return rc;
		m->count = 0;
	}
	return map_frames(m);
}

const struct codec_seek zstd_seek = { .map = map };
