/*
 * gzip_points.c - decompressing a gzip file and recording points to resume from
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The inflater reads up to eight bytes more than it decodes.  A point may
 * precede them, so the latest input bytes are kept in the buffer, and are
 * passed to taken() only when no point can precede them.
 */
#include "format/gzip/gzip_points.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	IN = 128 << 10,
	OUT = 256 << 10,
	KEPT = 8		/* consumed bytes that may contain a point */
};

/* The last point's window, until it is known which of its bytes are needed. */
struct sparse {
	bool open;
	uint64_t out;			/* offset of the point in the data */
	size_t len;
	uint8_t window[GZIP_WINDOW];
	/* flags for the window and for the same number of bytes after it */
	uint8_t used[2 * GZIP_WINDOW];
};

struct gzip_points {
	struct gzip_points_source source;
	struct sparse *sparse;		/* NULL if not requested */
	int (*step)(struct gzip_points *g);
	struct inflater *inflater;
	/* the file */
	uint64_t base;			/* offset of in[0] */
	size_t in_at, in_len;
	size_t told;			/* bytes passed to taken() */
	bool eof;
	/* the data */
	uint64_t out_total, last;	/* bytes so far; bytes at the last
					 * point */
	uint64_t member_out;		/* data before the member */
	uint32_t crc;			/* CRC of the member's data */
	size_t out_at, out_len;		/* data not yet returned: out_at to
					 * out_len */
	uint8_t in[IN];
	uint8_t out[GZIP_WINDOW + OUT];
};

/* The file */

static int
give_taken(struct gzip_points *g, size_t to)
{
	int rc = to <= g->told ? 0 : g->source.taken(g->source.arg,
	    g->in + g->told, to - g->told);

	g->told = to > g->told ? to : g->told;
	return rc;
}

/* Moves the data still needed to the front of the buffer, and reads more. */
static int
read_more(struct gzip_points *g)
{
	size_t keep = g->in_at < KEPT ? g->in_at : KEPT;
	size_t drop = g->in_at - keep;
	ssize_t n;
	int rc = give_taken(g, drop);

	if (rc != 0)
		return rc;
	memmove(g->in, g->in + drop, g->in_len - drop);
	g->base += drop;
	g->in_at -= drop;
	g->in_len -= drop;
	g->told -= drop;
	n = g->eof ? 0 : g->source.read(g->source.arg, g->in + g->in_len,
	    IN - g->in_len);
	if (n < 0)
		return (int)n;
	g->eof = n == 0;
	g->in_len += (size_t)n;
	return 0;
}

/* Windows */

static int
end_sparse(struct gzip_points *g)
{
	struct sparse *s = g->sparse;

	if (s == NULL || !s->open)
		return 0;
	s->open = false;
	inflater_mark(g->inflater, NULL);
	for (size_t i = 0; i < s->len; i++)
		if (!s->used[GZIP_WINDOW - s->len + i])
			s->window[i] = 0;
	return g->source.sparse(g->source.arg, s->window, s->len);
}

/* Points */

static int
report_point(struct gzip_points *g)
{
	unsigned ahead = inflater_ahead(g->inflater);
	uint64_t own = g->out_total - g->member_out;
	size_t at = g->in_at - ahead / 8;
	size_t window = own < GZIP_WINDOW ? (size_t)own : GZIP_WINDOW;
	struct gzip_point p = { .in = g->base + at, .bits = ahead % 8,
		.out = g->out_total, .window = g->out + g->out_len - window,
		.window_len = window };
	struct sparse *s = g->sparse;
	int rc = give_taken(g, at);

	g->last = g->out_total;
	if (rc == 0)
		rc = end_sparse(g);
	if (rc == 0)
		rc = g->source.point(g->source.arg, &p);
	if (rc != 0 || s == NULL)
		return rc;
	s->open = true;
	s->out = p.out;
	s->len = window;
	memcpy(s->window, p.window, window);
	memset(s->used, 0, sizeof(s->used));
	return 0;
}

/* Members: each step returns 1, 0 at the end of the file, or -errno. */

static int step_body(struct gzip_points *g);

static int
step_header(struct gzip_points *g)
{
	struct gzip_header h;
	int rc = 0, found = 0;

	while (rc == 0) {
		found = gzip_header_parse(&h, g->in + g->in_at,
		    g->in_len - g->in_at);
		if (found != 0 || g->eof || g->in_len - g->in_at >= IN - KEPT)
			break;
		rc = read_more(g);
	}
	if (rc != 0 || found < 0)
		return rc != 0 ? rc : found;
	if (found == 0 && g->in_at == g->in_len && g->base + g->in_at > 0) {
		rc = give_taken(g, g->in_len);
		return rc != 0 ? rc : end_sparse(g);
	}
	if (found == 0)
		return g->eof ? -ENODATA : -EBADMSG;
	g->in_at += h.len;
	g->member_out = g->out_total;
	g->crc = 0;
	inflater_start(g->inflater);
	g->step = step_body;
	rc = g->base + g->in_at == h.len ? report_point(g) : 0;
	return rc != 0 ? rc : 1;
}

static int
step_trailer(struct gzip_points *g)
{
	uint32_t len = (uint32_t)(g->out_total - g->member_out);
	const uint8_t *p;
	int rc = 0;

	while (rc == 0 && !g->eof && g->in_len - g->in_at < GZIP_TRAILER)
		rc = read_more(g);
	if (rc != 0 || g->in_len - g->in_at < GZIP_TRAILER)
		return rc != 0 ? rc : -ENODATA;
	p = g->in + g->in_at;
	g->in_at += GZIP_TRAILER;
	g->step = step_header;
	return load_le32(p) == g->crc && load_le32(p + 4) == len ? 1 :
	    -EBADMSG;
}

static int
step_body(struct gzip_points *g)
{
	struct stream_io io;
	struct sparse *s = g->sparse;
	uint64_t since = g->out_total - g->last;
	size_t made;
	int rc = g->in_at == g->in_len && !g->eof ? read_more(g) : 0;

	/* only the next 32 KiB of data can refer to a point's window */
	if (rc == 0 && s != NULL && s->open) {
		if (g->out_total - s->out >= GZIP_WINDOW)
			rc = end_sparse(g);
		else
			inflater_mark(g->inflater, s->used + GZIP_WINDOW +
			    (g->out_total - s->out));
	}
	if (rc != 0)
		return rc;
	/* make room after the window */
	if (g->out_len > GZIP_WINDOW + OUT / 2) {
		memmove(g->out, g->out + g->out_len - GZIP_WINDOW, GZIP_WINDOW);
		g->out_at = g->out_len = GZIP_WINDOW;
	}
	io = (struct stream_io){ .in = g->in + g->in_at,
		.in_len = g->in_len - g->in_at, .out = g->out + g->out_len,
		.out_len = sizeof(g->out) - g->out_len, .eof = g->eof };
	inflater_stop_after(g->inflater, since > g->source.spacing ? 0 :
	    g->source.spacing - since + 1);
	rc = inflater_run(g->inflater, &io);
	g->in_at = g->in_len - io.in_len;
	made = (size_t)(io.out - g->out) - g->out_len;
	g->crc = libdeflate_crc32(g->crc, g->out + g->out_len, made);
	g->out_len += made;
	g->out_total += made;
	if (rc == STREAM_END) {
		g->in_at -= inflater_ahead(g->inflater) / 8;
		g->step = step_trailer;
		return 1;
	}
	if (rc == INFLATER_BLOCK)
		rc = report_point(g);
	return rc < 0 ? rc : 1;
}

int
gzip_points_open(struct gzip_points **out,
    const struct gzip_points_source *source)
{
	struct gzip_points *g = sys_malloc(sizeof(*g));
	int rc;

	*out = NULL;
	if (g == NULL)
		return -ENOMEM;
	memset(g, 0, offsetof(struct gzip_points, in));
	g->source = *source;
	g->step = step_header;
	rc = inflater_open(&g->inflater);
	if (rc == 0 && source->sparse != NULL) {
		g->sparse = sys_calloc(1, sizeof(*g->sparse));
		rc = g->sparse == NULL ? -ENOMEM : 0;
	}
	if (rc != 0)
		gzip_points_close(g);
	else
		*out = g;
	return rc;
}

void
gzip_points_close(struct gzip_points *g)
{
	if (g == NULL)
		return;
	inflater_close(g->inflater);
	sys_free(g->sparse);
	sys_free(g);
}

ssize_t
gzip_points_read(struct gzip_points *g, void *buf, size_t len)
{
	size_t n;
	int rc = 1;

	while (rc == 1 && g->out_at == g->out_len)
		rc = g->step(g);
	if (rc <= 0)
		return rc;
	n = g->out_len - g->out_at;
	n = n < len ? n : len;
	memcpy(buf, g->out + g->out_at, n);
	g->out_at += n;
	return (ssize_t)n;
}

int
gzip_resume(struct inflater *f, const struct gzip_point *p,
    const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	struct stream_io io = { .in = in, .in_len = len, .out = out,
		.out_len = size, .eof = true };
	struct gzip_header h;
	int rc = 0;

	if (p->bits > 7 || (p->bits != 0 && len == 0))
		return -EBADMSG;
	inflater_start(f);
	if (p->bits != 0) {
		inflater_prime(f, p->bits, *io.in++);
		io.in_len--;
	}
	inflater_saw(f, p->window, p->window_len);
	while (rc == 0 && io.out_len > 0) {
		uint8_t unused[8];
		size_t back;

		rc = inflater_run(f, &io);
		if (rc != STREAM_END || io.out_len == 0)
			continue;
		/* skip the member's trailer, and the next one's header */
		back = inflater_unused(f, unused);
		io.in -= back;
		io.in_len += back;
		if (io.in_len < GZIP_TRAILER)
			return -EBADMSG;
		io.in += GZIP_TRAILER;
		io.in_len -= GZIP_TRAILER;
		if (gzip_header_parse(&h, io.in, io.in_len) != 1)
			return -EBADMSG;
		io.in += h.len;
		io.in_len -= h.len;
		inflater_start(f);
		rc = 0;
	}
	return rc == 0 || rc == STREAM_END ? 0 : -EBADMSG;
}
