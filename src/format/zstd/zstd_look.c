/*
 * zstd_look.c - the uncompressed size of zstd files, and reading ranges of them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The seek table is used if its sizes add up to the size of the file.
 * Otherwise the units are the frames, if all of them record their size, and in
 * frames written by pzc the jobs (zstd_job.h), which are found by their marks.
 * Sources: the Zstandard seekable format 0.1.0; RFC 8878.
 */
#include "zstd_scan.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "zstd_block.h"
#include "zstd_job.h"

#include <errno.h>
#include <zstd.h>

enum {
	HEAD = 8, FOOT = 9,
	CHECKSUMS = 0x80, RESERVED = 0x7c,	/* bits of the descriptor */
	HEADERS = 24,		/* of a frame and its first block */
	MARKS_MAX = 16		/* maximum marks after a job; pzc never
				 * writes more */
};

/* Only block headers are read, without the data between them. */
int
zstd_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	struct zstd_scan z = { .state = 0 };
	const struct zstd_header *h = &z.header;
	uint64_t at = 0, begin = 0, end = 0, number = 0;
	bool ended = true, checked = false;
	const uint8_t *p;
	int64_t used;
	ssize_t n = 0;

	if (look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	while (at < len || !ended) {
		n = at > len ? -ENODATA : look_little(look, at, HEADERS, &p);
		if (n < 0)
			goto out;
		used = zstd_scan(&z, p, (size_t)n, &ended);
		if (used < 0 || (n == 0 && !ended)) {
			n = used < 0 ? (ssize_t)used : -ENODATA;
			goto out;
		}
		l->skipped += ended && h->skippable;
		if (ended && !h->skippable) {
			if (h->window > l->window)
				l->window = h->window;
			l->dictionary = h->dictionary_id;
			list_frame(l, h->checksum ? "XXH64" : "none");
			if (h->content == UINT64_MAX)
				l->has_size = false;
			else
				list_add(l, h->content);
			checked = h->checksum;
			end = at + (uint64_t)used;
		}
		at += (uint64_t)used + z.skip;
		z.skip = 0;
		if (ended && l->frame != NULL)
			l->frame(l->frame_arg, &(struct codec_frame){
			    .number = ++number, .check = h->checksum,
			    .kind = h->skippable ? CODEC_FRAME_SKIPPABLE :
			    CODEC_FRAME, .packed = at - begin,
			    .size = h->skippable ||
			    h->content == UINT64_MAX ? 0 : h->content });
		if (ended)
			begin = at;
	}
	if (l->frames == 1 && checked) {
		/* the last four bytes of the only frame */
		n = look_at(look, end - ZSTD_CHECKSUM, ZSTD_CHECKSUM, &p);
		l->has_value = n == ZSTD_CHECKSUM;
		l->value = l->has_value ? load_le32(p) : 0;
	}
out:
	look_close(look);
	return n < 0 ? (int)n : 0;
}

struct seek_table {
	uint64_t at;		/* offset of its frame, where the last data
				 * frame ends */
	uint32_t frames;
	size_t entry;		/* bytes per entry */
};

/* Looks for a table at the end.  Returns 1, 0 or -errno. */
static int
find_table(struct look *look, struct seek_table *t)
{
	const uint8_t *p;
	uint64_t len;
	ssize_t n = look->len < HEAD + FOOT ? 0 :
	    look_at(look, look->len - FOOT, FOOT, &p);

	if (n < FOOT)
		return n < 0 ? (int)n : 0;
	if (load_le32(p + 5) != ZSTD_SEEK_FOOTER_MAGIC || p[4] & RESERVED)
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
	return load_le32(p) == ZSTD_SEEK_MAGIC && load_le32(p + 4) == len;
}

static int
map_table(struct seek_map *m, const struct seek_table *t)
{
	uint64_t at = 0, plain = 0, entry = t->at + HEAD;
	struct zstd_header h;
	const uint8_t *p;
	ssize_t n = look_at(m->look, 0, ZSTD_HEADER_MAX, &p);
	int rc;

	if (n < 0 || zstd_header_parse(&h, p, (size_t)n) != 1)
		return n < 0 ? (int)n : -EBADMSG;
	m->checked = h.checksum;
	m->how = "frames listed in the seek table";
	for (uint32_t i = 0; i < t->frames; i++) {
		n = look_at(m->look, entry, t->entry, &p);
		if (n < (ssize_t)t->entry)
			return n < 0 ? (int)n : -EBADMSG;
		rc = seek_add(m, (struct seek_unit){ plain, at, at });
		if (rc != 0)
			return rc;
		at += load_le32(p);
		plain += load_le32(p + 4);
		entry += t->entry;
	}
	return at == t->at ? seek_end(m, plain, at) : -EBADMSG;
}

/* Walks from frame to frame, and from job to job if marks describe them. */
struct zstd_walk {
	struct seek_map *m;
	struct zstd_scan z;
	uint64_t at, plain;
	struct seek_unit frame;		/* beginning of the current frame */
	bool ended;
};

/*
 * Returns the size of the data in the current frame's blocks from w->at onward,
 * or -errno.
 */
static int64_t
count_blocks(const struct zstd_walk *w, uint64_t at, uint64_t end)
{
	uint8_t head[ZSTD_JOB_HEAD];
	ZSTD_inBuffer in = { head, sizeof(head), 0 };
	size_t cap = ZSTD_DStreamOutSize(), left = 1, made = 0;
	uint8_t *to = sys_malloc(cap);
	ZSTD_DCtx *d = ZSTD_createDCtx();
	int64_t sum = to == NULL || d == NULL ? -ENOMEM : 0;

	zstd_job_head(head, w->z.header.window_byte);
	while (sum >= 0 && left != 0) {
		ZSTD_outBuffer out = { to, cap, 0 };
		const uint8_t *p;
		ssize_t n = 0;

		if (in.pos == in.size && made < cap) {
			n = at >= end ? 0 :
			    look_at(w->m->look, at, LOOK_MAX, &p);
			if (n <= 0) {
				sum = n < 0 ? n : -ENODATA;
				break;
			}
			at += (uint64_t)n;
			in = (ZSTD_inBuffer){ p, (size_t)n, 0 };
		}
		left = ZSTD_decompressStream(d, &out, &in);
		made = out.pos;
		sum = ZSTD_isError(left) ? -EBADMSG : sum + (int64_t)made;
	}
	ZSTD_freeDCtx(d);
	sys_free(to);
	return sum;
}

/*
 * Ends the job before w->at, which is just after the first of the marks that
 * follow it.
 */
static int
end_job(struct zstd_walk *w)
{
	unsigned marks = 1;
	const uint8_t *p;
	uint64_t len;

	for (; marks <= MARKS_MAX; marks++) {
		ssize_t n = look_little(w->m->look, w->at, ZSTD_BLOCK_HEAD,
		    &p);

		if (n < ZSTD_BLOCK_HEAD)
			return n < 0 ? (int)n : -ENODATA;
		if (memcmp(p, "\0\0", ZSTD_BLOCK_HEAD) != 0)
			break;
		w->at += ZSTD_BLOCK_HEAD;
	}
	len = marks < ZSTD_JOB_LEAD ? 0 : zstd_job_len(marks - ZSTD_JOB_LEAD);
	/*
	 * if all jobs are full, the last one is not followed by the marks of
	 * another job
	 */
	if (len == 0 && p[0] == 1)
		len = zstd_job_len(marks);
	if (len == 0)
		return -ENODATA;
	w->plain += len;
	w->m->checked = false;
	w->m->how = "jobs of a frame";
	zstd_scan_job(&w->z);
	return p[0] == 1 ? 0 : seek_add(w->m, (struct seek_unit){ w->plain,
	    w->at - ZSTD_JOB_LEAD * ZSTD_BLOCK_HEAD, w->frame.at });
}

/* Counts or skips a frame, and leaves w->at after it. */
static int
end_frame(struct zstd_walk *w)
{
	const struct zstd_header *h = &w->z.header;
	const struct seek_unit *last;
	int64_t n;

	if (h->skippable)
		return 0;
	w->m->checked &= h->checksum;
	if (h->content != UINT64_MAX) {
		if (h->content > (uint64_t)INT64_MAX - w->frame.plain ||
		    w->frame.plain + h->content < w->plain)
			return -EBADMSG;
		w->plain = w->frame.plain + h->content;
		return 0;
	}
	last = &w->m->units[w->m->count - 1];
	if (last->frame != w->frame.at || last->at == last->frame)
		return -ENODATA;
	n = count_blocks(w, last->at, w->at);
	if (n < 0)
		return (int)n;
	w->plain = last->plain + (uint64_t)n;
	return 0;
}

static int
next_unit(struct zstd_walk *w)
{
	const struct zstd_header *h = &w->z.header;
	const uint8_t *p;
	ssize_t n = w->at > w->m->len ? -ENODATA :
	    look_little(w->m->look, w->at, HEADERS, &p);
	int64_t used;
	int rc = n < 0 ? (int)n : 0;

	if (rc == 0 && w->ended) {
		w->z.jobs = true;
		w->frame = (struct seek_unit){ w->plain, w->at, w->at };
		rc = seek_add(w->m, w->frame);
	}
	if (rc != 0)
		return rc;
	used = zstd_scan(&w->z, p, (size_t)n, &w->ended);
	if (used < 0)
		return (int)used;
	if (n == 0 && !w->ended)
		return -ENODATA;
	/* the size is unknown, and so is the position of any later data */
	if (!h->skippable && h->content == UINT64_MAX && w->z.begun &&
	    !(w->z.marked && h->windowed && !h->dictionary))
		return -ENODATA;
	w->at += (uint64_t)used + w->z.skip;
	w->z.skip = 0;
	if (w->z.at_job)
		return end_job(w);
	return w->ended ? end_frame(w) : 0;
}

/* Turns jobs into a separate frame, whose checksum is unknown. */
static int
zstd_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	static const uint8_t end_block[] = { 1, 0, 0 };
	uint64_t start = from->at, end = to->at;
	uint8_t head[ZSTD_JOB_HEAD];
	struct zstd_header h;
	const uint8_t *p;
	ssize_t n = look_at(m->look, from->frame, ZSTD_HEADER_MAX, &p);
	bool whole = to->frame != from->frame;
	int rc;

	if (n < 0 || zstd_header_parse(&h, p, (size_t)n) != 1)
		return n < 0 ? (int)n : -EBADMSG;
	if (start == from->frame)
		start += h.len;
	if (whole && h.checksum)
		end -= ZSTD_CHECKSUM;
	if (end < start)
		return -EBADMSG;
	zstd_job_head(head, h.window_byte);
	rc = seek_bytes(s, head, sizeof(head));
	if (rc == 0)
		rc = seek_extent(s, start, end - start);
	return rc != 0 || whole ? rc :
	    seek_bytes(s, end_block, sizeof(end_block));
}

static int
map_zstd(struct seek_map *m)
{
	struct zstd_walk w = { .m = m, .ended = true };
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
	m->how = "frames of known size";
	m->checked = true;
	while (w.at < m->len || !w.ended) {
		const struct seek_unit *last = m->count == 0 ? NULL :
		    &m->units[m->count - 1];

		/* a unit ends here, and nothing after it is needed */
		if (w.plain >= m->need && (w.ended || (last != NULL &&
		    last->plain == w.plain && last->frame == w.frame.at)))
			break;
		rc = next_unit(&w);
		if (rc != 0)
			return rc;
	}
	return w.ended ? seek_end(m, w.plain, w.at) :
	    seek_end_within(m, m->units[m->count - 1]);
}

const struct codec_seek zstd_seek = { .map = map_zstd, .part = zstd_part };
