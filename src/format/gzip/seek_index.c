/*
 * seek_index.c - the side index of a gzip file: reading ranges, and making it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * If a range begins at a point inside a member, a new member is built.  It
 * begins with a header and a stored block with the 32 KiB of data before the
 * point.  Empty blocks follow, so that the last one ends at the same bit within
 * a byte as the point, and the bytes of the file can follow unchanged.  It ends
 * with an empty final block, and a trailer with the CRC that the index records
 * for this data.
 *
 * An index is made while the ordinary decoder decodes the file, on all cores,
 * and verifies all members.  Its joiner tells where members and blocks begin
 * (codec_marks).  These are the events that are queued until the writing thread
 * comes to their place in the data, from which it takes the windows.
 */
#include "seek_index.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "deflate_codec.h"
#include "format/gzip/gzip.h"
#include "format/seek_formats.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

enum { SAMPLE = 64 << 10 };

struct index_point {
	uint64_t plain, bit, member, window;
	uint32_t packed, crc;
};

/* An index in use: seek_map.own. */
struct index {
	uint64_t windows_end;
	uint8_t *points;
};

int
index_bind(struct index_binding *b, int fd, uint64_t len)
{
	const uint64_t places[] = { 0, len / 2,
	    len > SAMPLE ? len - SAMPLE : 0 };
	XXH64_state_t *x = XXH64_createState();
	uint8_t *buf = sys_malloc(SAMPLE);
	struct stat st;
	int rc = -ENOMEM;

	if (x == NULL || buf == NULL)
		goto out;
	rc = fstat(fd, &st) == -1 ? -errno : 0;
	if (rc != 0)
		goto out;
	XXH64_reset(x, 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ssize_t n = fdio_pread(fd, buf, SAMPLE, (off_t)places[i]);

		if (n < 0) {
			rc = (int)n;
			goto out;
		}
		XXH64_update(x, buf, (size_t)n);
	}
	*b = (struct index_binding){ .len = len, .mtime = st.st_mtim.tv_sec,
	    .mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
	    .hash = XXH64_digest(x) };
out:
	XXH64_freeState(x);
	sys_free(buf);
	return rc;
}

/* Returns whether a and b describe the same file in the same state. */
static bool
index_bound(const struct index_binding *a, const struct index_binding *b)
{
	return a->len == b->len && a->mtime == b->mtime &&
	    a->mtime_ns == b->mtime_ns && a->hash == b->hash;
}

static void
load_point(struct index_point *p, const uint8_t *from)
{
	p->plain = load_le64(from);
	p->bit = load_le64(from + 8);
	p->member = load_le64(from + 16);
	p->window = load_le64(from + 24);
	p->packed = load_le32(from + 32);
	p->crc = load_le32(from + 36);
}

/* Computes the hash of an index's head and of its points. */
static int
hash_points(const uint8_t *head, const uint8_t *points, size_t len,
    uint64_t *hash)
{
	XXH64_state_t *x = XXH64_createState();

	if (x == NULL)
		return -ENOMEM;
	XXH64_reset(x, 0);
	XXH64_update(x, head, INDEX_HEAD - 8);
	XXH64_update(x, points, len);
	*hash = XXH64_digest(x);
	XXH64_freeState(x);
	return 0;
}

/* Reading ranges */

static int
add_points(struct seek_map *m, const struct index *x, size_t count)
{
	struct index_point p;
	int rc;

	/* keep all units: there is one for each point */
	m->spacing = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		bool within;

		load_point(&p, x->points + i * INDEX_POINT);
		within = p.packed != 0;
		if (p.bit / 8 > m->len || p.member > p.bit / 8 ||
		    within == (p.member == p.bit / 8) ||
		    (!within && p.bit % 8 != 0) ||
		    p.packed > INDEX_WINDOW_PACKED || (within &&
		    (p.window < INDEX_HEAD || p.window > x->windows_end ||
		    p.packed > x->windows_end - p.window)))
			return -EBADMSG;
		rc = seek_add(m, (struct seek_unit){ p.plain, p.bit / 8,
		    p.member });
		if (rc != 0)
			return rc;
	}
	load_point(&p, x->points + (count - 1) * INDEX_POINT);
	if (p.bit % 8 != 0)
		return -EBADMSG;
	rc = seek_end(m, p.plain, p.bit / 8);
	return rc == 0 && m->count != count ? -EBADMSG : rc;
}

static int
map_index(struct seek_map *m)
{
	uint8_t head[INDEX_HEAD];
	struct index_binding now, then;
	struct index *x;
	struct stat st;
	ssize_t n = fdio_pread(m->index_fd, head, sizeof(head), 0);
	uint64_t hash;
	size_t count, len;
	int rc;

	if (n < INDEX_HEAD || fstat(m->index_fd, &st) == -1)
		return n < 0 ? (int)n : -EBADMSG;
	if (load_le64(head) != INDEX_MAGIC ||
	    load_le32(head + 8) != INDEX_VERSION ||
	    load_le64(head + 16) != (uint64_t)st.st_size)
		return -EBADMSG;
	then = (struct index_binding){ .len = load_le64(head + 24),
	    .mtime = (int64_t)load_le64(head + 32),
	    .mtime_ns = load_le32(head + 40), .hash = load_le64(head + 48) };
	rc = index_bind(&now, m->fd, m->len);
	if (rc != 0)
		return rc;
	if (!index_bound(&then, &now))
		return -ESTALE;
	x = sys_calloc(1, sizeof(*x));
	if (x == NULL)
		return -ENOMEM;
	m->own = x;
	m->how = "points in the side index";
	m->checked = true;
	count = load_le32(head + 12);
	len = count * INDEX_POINT;
	if (count < 2 || count > SEEK_UNITS_MAX - 4 ||
	    (uint64_t)st.st_size < INDEX_HEAD + len)
		return -EBADMSG;
	x->windows_end = (uint64_t)st.st_size - len;
	x->points = sys_malloc(len);
	if (x->points == NULL)
		return -ENOMEM;
	n = fdio_pread(m->index_fd, x->points, len, (off_t)x->windows_end);
	if (n < (ssize_t)len)
		return n < 0 ? (int)n : -EBADMSG;
	rc = hash_points(head, x->points, len, &hash);
	if (rc != 0)
		return rc;
	return hash == load_le64(head + INDEX_HEAD - 8) ?
	    add_points(m, x, count) : -EBADMSG;
}

static void
close_map(struct seek_map *m)
{
	struct index *x = m->own;

	sys_free(x->points);
	sys_free(x);
}

/* A bit buffer, least significant bit first. */
struct bits {
	uint8_t *p;
	uint64_t held;
	unsigned count;
};

static void
put_bits(struct bits *b, uint32_t v, unsigned count)
{
	b->held |= (uint64_t)v << b->count;
	for (b->count += count; b->count >= 8; b->count -= 8) {
		*b->p++ = (uint8_t)b->held;
		b->held >>= 8;
	}
}

/* Writes an empty block with fixed codes, which is ten bits long. */
static void
put_empty_fixed(struct bits *b, bool final)
{
	put_bits(b, final ? 3 : 2, 10);
}

/*
 * Writes empty blocks until the next bit is bit `bit`, 0..7, of a byte.  An odd
 * bit needs a block with dynamic codes, which is 95 bits long.  In it, literal
 * 0, the end-of-block symbol and two distances have codes.  The code lengths
 * are written as 1 (code 0) and runs of zeros (18, code 1).  All 19 lengths of
 * the precode are written, in three bits each.
 */
static void
put_padding(struct bits *b, unsigned bit)
{
	/* in RFC 1951's order */
	enum { LENGTHS = 19, RUN = 2, ONE = 17 };

	if (bit % 2 != 0) {
		put_bits(b, 4, 3);
		put_bits(b, 0, 5);			/* 257 literals */
		put_bits(b, 1, 5);			/* 2 distances */
		put_bits(b, LENGTHS - 4, 4);
		for (int i = 0; i < LENGTHS; i++)
			put_bits(b, i == RUN || i == ONE, 3);
		put_bits(b, 0, 1);			/* literal 0 */
		put_bits(b, 1 | (138 - 11) << 1, 8);
		put_bits(b, 1 | (117 - 11) << 1, 8);
		put_bits(b, 0, 3);	/* the end, both distances */
		put_bits(b, 1, 1);
	}
	while (b->count != bit)
		put_empty_fixed(b, false);
}

/* Reads one byte of the file. */
static int
byte_at(const struct seek_map *m, uint64_t at, uint8_t *byte)
{
	ssize_t n = fdio_pread(m->fd, byte, 1, (off_t)at);

	return n < 0 ? (int)n : n == 0 ? -ENODATA : 0;
}

/* Reads the data before a point.  Returns its length, or -errno. */
static ssize_t
read_window(const struct seek_map *m, const struct index_point *p,
    uint8_t *window)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *packed = sys_malloc(p->packed);
	ssize_t n = -ENOMEM;
	size_t len = 0;

	if (d == NULL || packed == NULL)
		goto out;
	n = fdio_pread(m->index_fd, packed, p->packed, (off_t)p->window);
	if (n < 0)
		goto out;
	if (n < (ssize_t)p->packed || libdeflate_deflate_decompress(d, packed,
	    p->packed, window, INDEX_WINDOW, &len) != LIBDEFLATE_SUCCESS)
		n = -EBADMSG;
	else
		n = (ssize_t)len;
out:
	libdeflate_free_decompressor(d);
	sys_free(packed);
	return n;
}

/*
 * Builds the start of a member up to a point in it: the bytes before the byte
 * that contains the point, and the first bits of that byte.  *crc is set to the
 * CRC of the window.
 */
static int
put_start(const struct seek_map *m, const struct index_point *p,
    struct seek_stream *s, uint32_t *crc)
{
	enum { STORED = 5, PADDING = 24 };
	uint8_t *buf = sys_malloc(64 + STORED + INDEX_WINDOW + PADDING);
	struct bits b = { .count = 0 };
	uint8_t *w, byte;
	ssize_t n;
	int rc = 0;

	if (buf == NULL)
		return -ENOMEM;
	b.p = buf + gzip_header_write(&(struct gzip_fields){ 0 }, buf);
	w = b.p + STORED;
	n = read_window(m, p, w);
	if (n < 0) {
		rc = (int)n;
		goto out;
	}
	b.p[0] = 0;
	store_le16(b.p + 1, (uint16_t)n);
	store_le16(b.p + 3, (uint16_t)~n);
	*crc = libdeflate_crc32(0, w, (size_t)n);
	s->before = (uint64_t)n;
	b.p = w + n;
	put_padding(&b, p->bit % 8);
	if (p->bit % 8 != 0) {
		rc = byte_at(m, p->bit / 8, &byte);
		if (rc != 0)
			goto out;
		put_bits(&b, byte >> p->bit % 8, 8 - p->bit % 8);
	}
	rc = seek_bytes(s, buf, (size_t)(b.p - buf));
out:
	sys_free(buf);
	return rc;
}

static int
index_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	const struct index *x = m->own;
	const uint8_t *first = x->points + (size_t)(from - m->units) *
	    INDEX_POINT;
	struct index_point a, b, p;
	bool to_end = to->frame != from->frame;
	uint8_t trailer[GZIP_TRAILER], end_bits[4], byte = 0;
	struct bits bits = { .p = end_bits };
	uint64_t start, end;
	uint32_t crc = 0;
	int rc = 0;

	load_point(&a, first);
	load_point(&b, first + (size_t)(to - from) * INDEX_POINT);
	start = (a.bit + 7) / 8;
	end = to_end ? to->at - GZIP_TRAILER : b.bit / 8;
	if (end < start || (to_end && to->at < GZIP_TRAILER))
		return -EBADMSG;
	if (a.packed != 0)
		rc = put_start(m, &a, s, &crc);
	if (rc == 0)
		rc = seek_extent(s, start, end - start);
	if (rc != 0)
		return rc;
	if (!to_end) {
		/* the bits before the point, and a final block */
		unsigned bit = b.bit % 8;

		rc = bit == 0 ? 0 : byte_at(m, b.bit / 8, &byte);
		if (rc != 0)
			return rc;
		put_bits(&bits, byte & ((1U << bit) - 1), bit);
		put_empty_fixed(&bits, true);
		if (bits.count > 0)
			put_bits(&bits, 0, 8 - bits.count);
		rc = seek_bytes(s, end_bits, (size_t)(bits.p - end_bits));
		if (rc != 0)
			return rc;
	}
	for (const struct seek_unit *u = from; u < to; u++) {
		load_point(&p, first + (size_t)(u - from) * INDEX_POINT);
		crc = (uint32_t)crc32_combine(crc, p.crc,
		    (off_t)(u[1].plain - u->plain));
	}
	store_le32(trailer, crc);
	/* another part may have come before this one, and had a window */
	store_le32(trailer + 4, (uint32_t)((a.packed != 0 ? s->before : 0) +
	    to->plain - from->plain));
	return seek_bytes(s, trailer, sizeof(trailer));
}

const struct codec_seek index_seek = { .map = map_index, .part = index_part,
    .close = close_map };

/* Making an index */

/* What happens in the data, in order. */
struct event {
	enum { MEMBER, MEMBER_POINT, POINT, MEMBER_END } kind;
	struct index_point at;
};

struct maker {
	int fd, out_fd;
	uint64_t len, read;		/* bytes of the file, and those read */
	uint64_t spacing;

	/* used by the decoder's joiner */
	struct index_point began;	/* the current member */
	struct index_point last;	/* the last point; valid if any */
	bool any, within;		/* it is inside its member */
	uint64_t end;			/* offset of the last member's end */

	/* what the writing thread has yet to come to: events[head..count) */
	pthread_mutex_t lock;
	struct event *events;
	size_t head, count, cap;

	/* used by the writing thread */
	uint64_t plain;
	struct index_point member;	/* the current member */
	uint32_t crc;			/* CRC of the data since the last
					 * point, or since its start */
	uint64_t index_at;
	struct buf points;
	struct libdeflate_compressor *packer;
	uint8_t before[INDEX_WINDOW];	/* the data before `now` */
	const uint8_t *now;
	size_t done;			/* bytes of it */
	uint8_t window[INDEX_WINDOW];
	uint8_t packed[INDEX_WINDOW_PACKED];
};

/*
 * Adds an event.  A member without points, before another, need not be known:
 * there are never more events than there are points in the data on its way.
 */
static int
add_event(struct maker *k, int kind, struct index_point at)
{
	size_t cap = k->cap == 0 ? 64 : 2 * k->cap;
	struct event *more;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (kind != POINT && kind != MEMBER_END && k->count > k->head &&
	    k->events[k->count - 1].kind == MEMBER)
		k->count--;
	if (k->count == k->cap && k->head > k->cap / 2) {
		k->count -= k->head;
		memmove(k->events, k->events + k->head,
		    k->count * sizeof(*k->events));
		k->head = 0;
	}
	if (k->count == k->cap) {
		more = sys_realloc(k->events, cap * sizeof(*more));
		rc = more == NULL ? -ENOMEM : 0;
		if (rc == 0) {
			k->events = more;
			k->cap = cap;
		}
	}
	if (rc == 0)
		k->events[k->count++] = (struct event){ kind, at };
	pthread_mutex_unlock(&k->lock);
	return rc;
}

/* Takes the next event, if it happens in the next len bytes or after them. */
static bool
next_event(struct maker *k, size_t len, struct event *e)
{
	bool any;

	pthread_mutex_lock(&k->lock);
	any = k->head < k->count &&
	    k->events[k->head].at.plain - k->plain <= len;
	if (any)
		*e = k->events[k->head++];
	pthread_mutex_unlock(&k->lock);
	return any;
}

/* Implements codec_marks.begin. */
static int
member_begins(void *arg, uint64_t at, uint64_t plain)
{
	struct maker *k = arg;
	bool point = !k->any || k->within ||
	    plain - k->last.plain >= k->spacing;

	k->began = (struct index_point){ .plain = plain, .bit = 8 * at,
	    .member = at };
	if (point) {
		k->any = true;
		k->within = false;
		k->last = k->began;
	}
	return add_event(k, point ? MEMBER_POINT : MEMBER, k->began);
}

/* Implements codec_marks.block. */
static int
block_begins(void *arg, uint64_t bit, uint64_t plain)
{
	struct maker *k = arg;

	k->within = true;
	k->last = (struct index_point){ .plain = plain, .bit = bit,
	    .member = k->began.member };
	return add_event(k, POINT, k->last);
}

/* Implements codec_marks.end. */
static int
member_ends(void *arg, uint64_t at, uint64_t plain)
{
	struct maker *k = arg;

	k->end = at;
	return k->last.member != k->began.member ? 0 :
	    add_event(k, MEMBER_END, (struct index_point){ .plain = plain });
}

static struct index_point
last_point(const struct maker *k)
{
	struct index_point p;

	load_point(&p, k->points.data + k->points.len - INDEX_POINT);
	return p;
}

static int
put_point(struct maker *k, const struct index_point *p)
{
	size_t need = k->points.len + INDEX_POINT;
	int rc = need <= k->points.cap ? 0 :
	    buf_reserve(&k->points, 2 * need);
	uint8_t *to;

	if (rc != 0)
		return rc;
	if (need / INDEX_POINT > SEEK_UNITS_MAX - 8)
		return -EFBIG;
	to = k->points.data + k->points.len;
	store_le64(to, p->plain);
	store_le64(to + 8, p->bit);
	store_le64(to + 16, p->member);
	store_le64(to + 24, p->window);
	store_le32(to + 32, p->packed);
	store_le32(to + 36, p->crc);
	k->points.len = need;
	return 0;
}

/* Ends the span of data since the last point. */
static void
end_stretch(struct maker *k)
{
	store_le32(k->points.data + k->points.len - 4, k->crc);
	k->crc = 0;
}

/* Returns the last len bytes of data. */
static const uint8_t *
last_data(struct maker *k, size_t len)
{
	size_t old = len - k->done;

	if (len <= k->done)
		return k->now + k->done - len;
	memcpy(k->window, k->before + sizeof(k->before) - old, old);
	if (k->done > 0)
		memcpy(k->window + old, k->now, k->done);
	return k->window;
}

/*
 * Adds a point between two blocks, and writes the window of data before it,
 * compressed, after the others.
 */
static int
point_within(struct maker *k, struct index_point p)
{
	uint64_t before = k->plain - k->member.plain;
	size_t len = before < INDEX_WINDOW ? (size_t)before : INDEX_WINDOW;
	int rc = last_point(k).member == p.member ? 0 :
	    put_point(k, &k->member);

	if (rc != 0)
		return rc;
	end_stretch(k);
	p.packed = (uint32_t)libdeflate_deflate_compress(k->packer,
	    last_data(k, len), len, k->packed, sizeof(k->packed));
	if (p.packed == 0)
		return -ENOBUFS;
	p.window = k->index_at;
	k->index_at += p.packed;
	rc = fdio_write(k->out_fd, k->packed, p.packed);
	return rc != 0 ? rc : put_point(k, &p);
}

static int
handle(struct maker *k, const struct event *e)
{
	if (e->kind == POINT)
		return point_within(k, e->at);
	if (e->kind == MEMBER_END) {
		end_stretch(k);
		return 0;
	}
	k->member = e->at;
	k->crc = 0;
	return e->kind == MEMBER_POINT ? put_point(k, &e->at) : 0;
}

/* Passes over the next n bytes of data. */
static void
pass(struct maker *k, size_t n)
{
	if (n == 0)
		return;
	k->crc = libdeflate_crc32(k->crc, k->now + k->done, n);
	k->done += n;
	k->plain += n;
}

/* Implements convert.write. */
static int
take_data(void *arg, const uint8_t *data, size_t len)
{
	struct maker *k = arg;
	struct event e;
	int rc = 0;

	k->now = data;
	k->done = 0;
	while (rc == 0 && next_event(k, len - k->done, &e)) {
		pass(k, (size_t)(e.at.plain - k->plain));
		rc = handle(k, &e);
	}
	pass(k, len - k->done);
	/* what the next window may need */
	if (len >= INDEX_WINDOW) {
		memcpy(k->before, data + len - INDEX_WINDOW, INDEX_WINDOW);
	} else if (len > 0) {
		memmove(k->before, k->before + len, INDEX_WINDOW - len);
		memcpy(k->before + INDEX_WINDOW - len, data, len);
	}
	return rc;
}

/* Implements input.source. */
static ssize_t
read_packed(void *arg, void *buf, size_t len)
{
	struct maker *k = arg;
	ssize_t n = 0;

	if (len > k->len - k->read)
		len = (size_t)(k->len - k->read);
	if (len > 0)
		n = fdio_pread(k->fd, buf, len, (off_t)k->read);
	if (n > 0)
		k->read += (uint64_t)n;
	return len > 0 && n == 0 ? -ESTALE : n;
}

/* Decodes the file, which makes the windows and the points. */
static int
decode_all(struct maker *k, const struct convert *given)
{
	const struct codec_marks marks = { .arg = k,
	    .spacing = k->spacing > 0 ? k->spacing : 1,
	    .begin = member_begins, .block = block_begins,
	    .end = member_ends };
	struct convert c = *given;
	struct convert_result r;
	struct input in;
	int rc = input_open_from(&in, read_packed, k);

	c.coder = &gzip_decoder;
	c.decompress = true;
	c.options.marks = &marks;
	c.write = take_data;
	c.write_arg = k;
	if (rc == 0)
		rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	/* those after the last byte */
	return rc != 0 ? rc : take_data(k, NULL, 0);
}

/* Writes the points, and the header at the start of the index. */
static int
write_points(struct maker *k, const struct index_binding *b)
{
	struct index_point end = { .plain = k->plain, .bit = k->end * 8,
	    .member = k->end };
	uint8_t head[INDEX_HEAD] = { 0 };
	uint64_t hash;
	int rc = put_point(k, &end);

	if (rc == 0)
		rc = fdio_write(k->out_fd, k->points.data, k->points.len);
	if (rc != 0)
		return rc;
	store_le64(head, INDEX_MAGIC);
	store_le32(head + 8, INDEX_VERSION);
	store_le32(head + 12, (uint32_t)(k->points.len / INDEX_POINT));
	store_le64(head + 16, k->index_at + k->points.len);
	store_le64(head + 24, b->len);
	store_le64(head + 32, (uint64_t)b->mtime);
	store_le32(head + 40, b->mtime_ns);
	store_le64(head + 48, b->hash);
	store_le64(head + 56, k->spacing);
	rc = hash_points(head, k->points.data, k->points.len, &hash);
	if (rc != 0)
		return rc;
	store_le64(head + INDEX_HEAD - 8, hash);
	if (lseek(k->out_fd, 0, SEEK_SET) == -1)
		return -errno;
	return fdio_write(k->out_fd, head, sizeof(head));
}

int
seek_index_make(const struct convert *c, int fd, uint64_t len,
    uint64_t spacing, int out_fd)
{
	static const uint8_t room[INDEX_HEAD];
	struct index_binding before, after;
	struct maker *k = sys_calloc(1, sizeof(*k));
	int rc = -ENOMEM;

	if (k == NULL)
		return rc;
	pthread_mutex_init(&k->lock, NULL);
	k->fd = fd;
	k->len = len;
	k->out_fd = out_fd;
	k->spacing = spacing;
	k->index_at = INDEX_HEAD;
	k->packer = libdeflate_alloc_compressor(6);
	if (k->packer == NULL)
		goto out;
	rc = index_bind(&before, fd, len);
	if (rc == 0)
		rc = fdio_write(out_fd, room, sizeof(room));
	if (rc == 0)
		rc = decode_all(k, c);
	if (rc == 0)
		rc = index_bind(&after, fd, len);
	if (rc == 0)
		rc = index_bound(&before, &after) ? write_points(k, &after) :
		    -ESTALE;
out:
	libdeflate_free_compressor(k->packer);
	pthread_mutex_destroy(&k->lock);
	sys_free(k->events);
	sys_free(k->points.data);
	sys_free(k);
	return rc;
}
