/*
 * gzip_look.c - determining the sizes of units in a gzip file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/gzip/gzip.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/deflate/inflater.h"
#include "format/list.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum { SYNC_LEN = 4 };

int
gzip_header_at(struct gzip_header *h, struct look *look, uint64_t at)
{
	const uint8_t *p;
	ssize_t n = look_at(look, at, LOOK_STEP / 4, &p);
	int rc = n < 0 ? (int)n : gzip_header_parse(h, p, (size_t)n);

	if (rc == 0) {
		n = look_at(look, at, LOOK_MAX, &p);
		rc = n < 0 ? (int)n : gzip_header_parse(h, p, (size_t)n);
	}
	h->name = NULL;
	return rc;
}

/* A block being decompressed. */
struct trial {
	struct inflater *inflater;
	uint64_t made, most;
	uint8_t out[64 << 10];
};

/* Returns NULL, which trial_close() accepts, if out of memory. */
static struct trial *
trial_open(uint64_t most)
{
	struct trial *f = sys_malloc(sizeof(*f));

	if (f == NULL || inflater_open(&f->inflater) != 0) {
		sys_free(f);
		return NULL;
	}
	f->made = 0;
	f->most = most;
	inflater_start(f->inflater);
	return f;
}

static void
trial_close(struct trial *f)
{
	if (f != NULL)
		inflater_close(f->inflater);
	sys_free(f);
}

/*
 * Decompresses len more bytes.  Returns 1 if they complete the block, otherwise
 * 0 or -errno.
 */
static int
feed_inflater(struct trial *f, const uint8_t *p, size_t len)
{
	struct stream_io io = { .in = p, .in_len = len };

	do {
		int rc;

		io.out = f->out;
		io.out_len = sizeof(f->out);
		rc = inflater_run(f->inflater, &io);
		f->made += sizeof(f->out) - io.out_len;
		if (rc != STREAM_MORE || f->made > f->most)
			return rc < 0 ? rc : -EBADMSG;
	} while (io.in_len > 0 || io.out_len == 0);
	return inflater_at_boundary(f->inflater);
}

int
gzip_is_block(struct look *look, uint64_t from, uint64_t to, uint64_t size)
{
	struct trial *f = trial_open(size);
	int rc = f == NULL ? -ENOMEM : 0;

	while (rc >= 0 && from < to) {
		const uint8_t *p;
		ssize_t n = look_at(look, from, to - from < LOOK_MAX ?
		    (size_t)(to - from) : LOOK_MAX, &p);

		if (n <= 0) {
			rc = n < 0 ? (int)n : -ENODATA;
			break;
		}
		rc = feed_inflater(f, p, (size_t)n);
		from += (uint64_t)n;
	}
	if (rc == -EBADMSG || (rc == 1 && f->made != size))
		rc = 0;
	trial_close(f);
	return rc;
}

int
gzip_is_member(struct look *look, uint64_t from, uint64_t to)
{
	struct gzip_header h;
	struct trial *f;
	uint8_t unused[8];
	const uint8_t *p;
	uint32_t check = 0, size, want;
	uint64_t made;
	ssize_t n = look_at(look, to - GZIP_TRAILER, GZIP_TRAILER, &p);
	int rc = n < GZIP_TRAILER ? (n < 0 ? (int)n : -EBADMSG) : 0;

	if (rc != 0)
		return rc == -EBADMSG ? 0 : rc;
	want = load_le32(p);
	size = load_le32(p + 4);
	rc = gzip_header_at(&h, look, from);
	if (rc != 1 || h.len + GZIP_TRAILER > to - from)
		return rc < 0 && rc != -EBADMSG ? rc : 0;
	f = trial_open(size);
	if (f == NULL)
		return -ENOMEM;
	from += h.len;
	/* the trailer, too: the inflater reads ahead */
	for (rc = STREAM_MORE; rc == STREAM_MORE && from < to;) {
		struct stream_io io = { .in = NULL };

		n = look_at(look, from, to - from < LOOK_MAX ?
		    (size_t)(to - from) : LOOK_MAX, &io.in);
		if (n <= 0) {
			rc = n < 0 ? (int)n : -EBADMSG;
			break;
		}
		io.in_len = (size_t)n;
		do {
			size_t len;

			io.out = f->out;
			io.out_len = sizeof(f->out);
			rc = inflater_run(f->inflater, &io);
			len = sizeof(f->out) - io.out_len;
			check = libdeflate_crc32(check, f->out, len);
			f->made += len;
		} while (rc == STREAM_MORE && f->made <= f->most &&
		    (io.in_len > 0 || io.out_len == 0));
		if (f->made > f->most)
			rc = -EBADMSG;
		from += (size_t)n - io.in_len;
	}
	if (rc == STREAM_END)
		from -= inflater_unused(f->inflater, unused);
	made = f->made;
	trial_close(f);
	if (rc < 0 && rc != -EBADMSG && rc != -ENODATA)
		return rc;
	return rc == STREAM_END && from + GZIP_TRAILER == to && made == size &&
	    check == want;
}

int
gzip_block_size(struct gzip_header *h, struct look *look, uint64_t at)
{
	struct trial *f;
	int rc = 0;

	if (h->block_min == h->block_max)
		return 0;
	f = trial_open(h->block_max);
	if (f == NULL)
		return -ENOMEM;
	/* decompress up to the first real sync point */
	at += h->len + h->mark;
	while (rc == 0) {
		const uint8_t *p, *sync;
		ssize_t n = look_at(look, at, LOOK_MAX, &p);
		size_t len;

		if (n < SYNC_LEN) {
			rc = n < 0 ? (int)n : -ENODATA;
			break;
		}
		sync = memmem(p, (size_t)n, "\0\0\xff\xff", SYNC_LEN);
		/* the last bytes examined may begin a sync point */
		len = sync == NULL ? (size_t)n - SYNC_LEN + 1 :
		    (size_t)(sync - p) + SYNC_LEN;
		rc = feed_inflater(f, p, len);
		if (sync == NULL && rc > 0)
			rc = 0;
		at += len;
	}
	if (rc == 1 && f->made < h->block_min)
		rc = -EBADMSG;
	if (rc == 1)
		h->block_min = h->block_max = (uint32_t)f->made;
	trial_close(f);
	return rc < 0 ? rc : 0;
}

/*
 * Returns whether a member may end at an offset: at the end of the file, or
 * before another member.
 */
static int
ends_at(struct look *look, uint64_t at)
{
	const uint8_t *p;
	ssize_t n;

	if (at >= look->len)
		return at == look->len;
	/* read the trailer together with the data needed next */
	n = look_at(look, at - GZIP_TRAILER, GZIP_TRAILER + LOOK_STEP, &p);
	return n < 0 ? (int)n : n >= GZIP_TRAILER + GZIP_GUESS &&
	    gzip_is_header(p + GZIP_TRAILER);
}

int
gzip_member_length(struct gzip_header *h, struct look *look, uint64_t at)
{
	uint64_t whole = gzip_member_whole(h);
	int rc;

	if (h->member == 0)
		return 0;
	rc = h->member < h->len + GZIP_TRAILER ? 0 :
	    ends_at(look, at + h->member);
	if (rc == 0 && whole <= UINT32_MAX) {
		rc = ends_at(look, at + whole);
		h->member = (uint32_t)whole;
	}
	if (rc <= 0)
		h->member = 0;
	return rc < 0 ? rc : 0;
}
