/*
 * seek_index_make.c - making the side index of a gzip file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The index is built in a single pass of the inflater, which can stop between
 * two blocks and report the bit position.  All members are verified in this
 * pass.
 */
#include "format/seek_formats.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"
#include "seek_index.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

enum { OUT = 256 << 10 };

struct maker {
	struct look *look;
	int out_fd;
	uint64_t spacing;
	uint64_t at;			/* offset of the input in the file */
	uint64_t plain;
	struct index_point member;	/* the current member */
	uint32_t member_crc;		/* CRC of its data up to the last
					 * point */
	uint64_t member_len;		/* and length of that data */
	uint32_t crc;			/* CRC of the data after that */
	uint64_t index_at;
	struct buf points;
	struct stream_io io;
	struct inflater *inflater;
	struct libdeflate_compressor *packer;
	size_t have;			/* bytes in out, the latest data */
	uint8_t out[INDEX_WINDOW + OUT];
	uint8_t packed[INDEX_WINDOW_PACKED];
};

static struct index_point
last_point(const struct maker *k)
{
	struct index_point p;

	index_point_load(&p, k->points.data + k->points.len - INDEX_POINT);
	return p;
}

static int
put_point(struct maker *k, const struct index_point *p)
{
	size_t need = k->points.len + INDEX_POINT;
	int rc = need <= k->points.cap ? 0 :
	    buf_reserve(&k->points, 2 * need);

	if (rc == 0 && need / INDEX_POINT > SEEK_UNITS_MAX - 8)
		rc = -EFBIG;
	if (rc == 0) {
		index_point_store(p, k->points.data + k->points.len);
		k->points.len = need;
	}
	return rc;
}

/*
 * Ends the span of data since the last point (or since the start of the
 * member).
 */
static void
end_stretch(struct maker *k)
{
	uint64_t len = k->plain - k->member.plain - k->member_len;

	if (k->points.len > 0 && last_point(k).member == k->member.member)
		store_le32(k->points.data + k->points.len - 4, k->crc);
	k->member_crc = (uint32_t)crc32_combine(k->member_crc, k->crc,
	    (off_t)len);
	k->member_len += len;
	k->crc = 0;
}

/* Compresses a point's window, and appends it to the others. */
static int
put_window(struct maker *k, struct index_point *p)
{
	uint64_t before = k->plain - k->member.plain;
	size_t len = before < INDEX_WINDOW ? (size_t)before : INDEX_WINDOW;
	ssize_t n;

	p->packed = (uint32_t)libdeflate_deflate_compress(k->packer,
	    k->out + k->have - len, len, k->packed, sizeof(k->packed));
	if (p->packed == 0)
		return -ENOBUFS;
	p->window = k->index_at;
	k->index_at += p->packed;
	n = fdio_write(k->out_fd, k->packed, p->packed);
	return (int)n;
}

/* Adds a point between two blocks, at the given bit. */
static int
point_within(struct maker *k, uint64_t bit)
{
	struct index_point p = { .plain = k->plain, .bit = bit,
	    .member = k->member.member };
	int rc = 0;

	if (last_point(k).member != p.member) {
		if (k->plain - k->member.plain < k->spacing)
			return 0;
		rc = put_point(k, &k->member);
	} else if (k->plain - last_point(k).plain < k->spacing) {
		return 0;
	}
	end_stretch(k);
	if (rc == 0)
		rc = put_window(k, &p);
	return rc != 0 ? rc : put_point(k, &p);
}

static void
keep_window(struct maker *k)
{
	if (k->have < sizeof(k->out))
		return;
	memmove(k->out, k->out + k->have - INDEX_WINDOW, INDEX_WINDOW);
	k->have = INDEX_WINDOW;
}

static int
read_input(struct maker *k)
{
	const uint8_t *p;
	ssize_t n;

	if (k->io.in_len > 0)
		return 0;
	n = look_at(k->look, k->at, LOOK_MAX, &p);
	if (n < 0)
		return (int)n;
	k->io.in = p;
	k->io.in_len = (size_t)n;
	k->io.eof = n == 0;
	k->at += (uint64_t)n;
	return 0;
}

/* Returns how many bytes remain until a point is due. */
static uint64_t
until_point(const struct maker *k)
{
	struct index_point p = k->member;
	uint64_t since;

	if (k->points.len > 0 && last_point(k).member == p.member)
		p = last_point(k);
	since = k->plain - p.plain;
	return since >= k->spacing ? 1 : k->spacing - since;
}

/* Runs one inflate step.  Returns 1 at the end of the member, 0, or -errno. */
static int
inflate_once(struct maker *k)
{
	uint8_t *start = k->out + k->have;
	size_t made;
	int rc = read_input(k), end;

	if (rc != 0)
		return rc;
	k->io.out = start;
	k->io.out_len = sizeof(k->out) - k->have;
	inflater_stop_after(k->inflater, until_point(k));
	end = inflater_run(k->inflater, &k->io);
	if (end < 0)
		return end;
	made = (size_t)(k->io.out - start);
	k->crc = libdeflate_crc32(k->crc, start, made);
	k->plain += made;
	k->have += made;
	if (end == STREAM_END)
		return 1;
	if (end == INFLATER_BLOCK)
		rc = point_within(k, (k->at - k->io.in_len) * 8 -
		    inflater_ahead(k->inflater));
	keep_window(k);
	return rc;
}

static int
check_trailer(struct maker *k)
{
	const uint8_t *p;
	ssize_t n;

	k->at -= k->io.in_len + inflater_ahead(k->inflater) / 8;
	k->io.in_len = 0;
	end_stretch(k);
	n = look_at(k->look, k->at, GZIP_TRAILER, &p);
	if (n < GZIP_TRAILER)
		return n < 0 ? (int)n : -ENODATA;
	k->at += GZIP_TRAILER;
	return load_le32(p) == k->member_crc &&
	    load_le32(p + 4) == (uint32_t)k->member_len ? 0 : -EBADMSG;
}

/*
 * Reads the header at the current position.  Returns 1, 0 (end of file, or data
 * to be ignored), or -errno.
 */
static int
read_header(struct maker *k)
{
	struct gzip_header h;
	const uint8_t *p;
	ssize_t n = look_at(k->look, k->at, LOOK_MAX, &p);
	int rc = n < 0 ? (int)n : gzip_header_parse(&h, p, (size_t)n);

	if (rc < 0 || (rc == 0 && (n < 2 || p[1] != 0x8b)))
		return k->at > 0 && n >= 0 ? 0 : rc == 0 ? -ENODATA : rc;
	if (rc == 0)
		return -ENODATA;
	k->member = (struct index_point){ .plain = k->plain,
	    .bit = k->at * 8, .member = k->at };
	k->member_crc = k->crc = 0;
	k->member_len = 0;
	k->at += h.len;
	return 1;
}

static int
read_member(struct maker *k)
{
	struct index_point last;
	int rc = 0;

	inflater_start(k->inflater);
	if (k->points.len > 0)
		last = last_point(k);
	if (k->points.len == 0 || last.packed != 0 ||
	    k->plain - last.plain >= k->spacing)
		rc = put_point(k, &k->member);
	while (rc == 0)
		rc = inflate_once(k);
	return rc == 1 ? check_trailer(k) : rc;
}

/* Writes the points, and the header at the start of the index. */
static int
write_header(struct maker *k, const struct index_binding *b)
{
	struct index_point end = { .plain = k->plain, .bit = k->at * 8,
	    .member = k->at };
	uint8_t head[INDEX_HEAD] = { 0 };
	XXH64_state_t *x;
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
	x = XXH64_createState();
	if (x == NULL)
		return -ENOMEM;
	XXH64_reset(x, 0);
	XXH64_update(x, head, INDEX_HEAD - 8);
	XXH64_update(x, k->points.data, k->points.len);
	store_le64(head + INDEX_HEAD - 8, XXH64_digest(x));
	XXH64_freeState(x);
	if (lseek(k->out_fd, 0, SEEK_SET) == -1)
		return -errno;
	return fdio_write(k->out_fd, head, sizeof(head));
}

static int
make_index(struct maker *k, int fd, uint64_t len)
{
	static const uint8_t room[INDEX_HEAD];
	struct index_binding before, after;
	int rc = index_bind(&before, fd, len);

	if (rc != 0)
		return rc;
	rc = fdio_write(k->out_fd, room, sizeof(room));
	if (rc != 0)
		return rc;
	k->index_at = INDEX_HEAD;
	while ((rc = read_header(k)) == 1) {
		rc = read_member(k);
		if (rc != 0)
			return rc;
	}
	if (rc != 0)
		return rc;
	rc = index_bind(&after, fd, len);
	if (rc != 0)
		return rc;
	if (!index_bound(&before, &after))
		return -ESTALE;
	return write_header(k, &after);
}

int
seek_index_make(int fd, uint64_t len, uint64_t spacing, int out_fd)
{
	struct maker *k = sys_calloc(1, sizeof(*k));
	int rc = -ENOMEM;

	if (k == NULL)
		return rc;
	k->out_fd = out_fd;
	k->spacing = spacing;
	k->look = look_open(fd, len);
	k->packer = libdeflate_alloc_compressor(6);
	if (k->look == NULL || k->packer == NULL)
		goto out;
	rc = inflater_open(&k->inflater);
	if (rc == 0)
		rc = make_index(k, fd, len);
out:
	inflater_close(k->inflater);
	libdeflate_free_compressor(k->packer);
	look_close(k->look);
	sys_free(k->points.data);
	sys_free(k);
	return rc;
}
