/*
 * seek.c - reading a range of compressed data without decoding from the start
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats provide the units of a map; how many of them to keep is decided
 * here.  Reading a range means running a decoder over a stream built from some
 * of the units, or over the whole file if there are none.
 */
#include "format/seek_formats.h"

#include "base/args.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* The map */

static const struct seek_unit *
last_unit(const struct seek_map *m)
{
	return m->count == 0 ? NULL : &m->units[m->count - 1];
}

/*
 * A frame that contains units begins with a unit, as does the next frame, so
 * consecutive units belong to one frame or are whole frames.
 */
static void
put_unit(struct seek_map *m, const struct seek_unit *u)
{
	const struct seek_unit *last = last_unit(m);

	if (!seek_within(u)) {
		if (last == NULL || seek_within(last) ||
		    u->plain - last->plain >= m->spacing)
			m->units[m->count++] = *u;
		else
			m->held = *u;
		return;
	}
	if (last->frame != u->frame && m->held.at == u->frame &&
	    u->plain - m->held.plain >= m->spacing) {
		m->units[m->count++] = m->held;
		last = last_unit(m);
	}
	if (last->frame == u->frame && u->plain - last->plain >= m->spacing)
		m->units[m->count++] = *u;
}

/* Makes room, dropping about half of the units if there are too many. */
static int
thin_units(struct seek_map *m)
{
	void *units = m->units;
	int rc;

	/* put_unit() adds up to two units, and the end is one more */
	while (m->count + 3 > SEEK_UNITS_MAX && m->spacing < INT64_MAX) {
		size_t n = m->count;

		m->spacing = m->spacing == 0 ? 1 : 2 * m->spacing;
		m->count = 0;
		m->held.at = UINT64_MAX;
		for (size_t i = 0; i < n; i++) {
			struct seek_unit u = m->units[i];

			put_unit(m, &u);
		}
	}
	rc = array_reserve(&units, m->count + 3, &m->cap, sizeof(*m->units));
	m->units = units;
	return rc;
}

int
seek_add(struct seek_map *m, struct seek_unit u)
{
	const struct seek_unit *last = last_unit(m);
	int rc;

	if (u.plain > INT64_MAX || u.at > m->len || u.frame > u.at ||
	    (last == NULL && seek_within(&u)) ||
	    (last != NULL && (u.plain < last->plain || u.at < last->at)))
		return -EBADMSG;
	rc = thin_units(m);
	if (rc == 0)
		put_unit(m, &u);
	return rc;
}

int
seek_end_within(struct seek_map *m, struct seek_unit u)
{
	const struct seek_unit *last;
	int rc = thin_units(m);

	if (rc != 0)
		return rc;
	last = last_unit(m);
	if (last != NULL && seek_within(&u) && last->frame != u.frame &&
	    m->held.at == u.frame) {
		m->units[m->count++] = m->held;
		last = last_unit(m);
	}
	if (last == NULL || u.plain > INT64_MAX || u.plain < last->plain ||
	    u.at < last->at || u.at > m->len ||
	    (seek_within(&u) && last->frame != u.frame))
		return -EBADMSG;
	m->units[m->count++] = u;
	return 0;
}

int
seek_end(struct seek_map *m, uint64_t plain, uint64_t at)
{
	return seek_end_within(m, (struct seek_unit){ plain, at, at });
}

static int
fill_map(struct seek_map *m)
{
	int rc;

	m->look = look_open(m->fd, m->len);
	if (m->look == NULL)
		return -ENOMEM;
	m->held.at = UINT64_MAX;
	rc = m->seek->map(m);
	if (rc == 0 && m->count < 2)
		rc = -EBADMSG;
	return rc;
}

int
seek_map_open(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, const struct seek_need *need)
{
	int rc;

	*m = (struct seek_map){ .fd = fd, .len = len, .from = need->from,
	    .need = need->tail > 0 ? UINT64_MAX : need->to,
	    .tail = need->tail, .codec = codec,
	    .seek = codec->seek, .spacing = SEEK_SPACING };
	if (m->seek == NULL)
		return 0;
	rc = fill_map(m);
	if (rc == 0)
		return 0;
	/* the decoder will report any error */
	seek_map_close(m);
	return rc == -ENODATA || rc == -EBADMSG || rc == -ENOTSUP ||
	    rc == -EFBIG ? 0 : rc;
}

int
seek_map_index(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, int index_fd)
{
	int rc;

	*m = (struct seek_map){ .fd = fd, .len = len, .codec = codec,
	    .seek = &index_seek, .index_fd = index_fd };
	rc = fill_map(m);
	if (rc != 0)
		seek_map_close(m);
	return rc;
}

void
seek_map_close(struct seek_map *m)
{
	if (m->own != NULL && m->seek->close != NULL)
		m->seek->close(m);
	if (m->look != NULL)
		m->read_B += m->look->read_B;
	look_close(m->look);
	sys_free(m->units);
	m->units = NULL;
	m->look = NULL;
	m->own = NULL;
	m->count = 0;
}

/* The stream */

static struct seek_piece *
new_piece(struct seek_stream *s)
{
	void *pieces = s->pieces;

	if (array_grow(&pieces, s->count, &s->cap, sizeof(*s->pieces)) != 0)
		return NULL;
	s->pieces = pieces;
	return &s->pieces[s->count++];
}

int
seek_bytes(struct seek_stream *s, const void *p, size_t len)
{
	struct seek_piece *last = s->count > 0 ? &s->pieces[s->count - 1] :
	    NULL;
	size_t need = s->mem.len + len;
	int rc = need <= s->mem.cap ? 0 : buf_reserve(&s->mem, 2 * need);

	if (rc != 0 || len == 0)
		return rc;
	if (last == NULL || !last->memory) {
		last = new_piece(s);
		if (last == NULL)
			return -ENOMEM;
		*last = (struct seek_piece){ s->mem.len, 0, true };
	}
	memcpy(s->mem.data + s->mem.len, p, len);
	s->mem.len = need;
	last->len += len;
	return 0;
}

int
seek_extent(struct seek_stream *s, uint64_t at, uint64_t len)
{
	struct seek_piece *last = s->count > 0 ? &s->pieces[s->count - 1] :
	    NULL;

	if (at > s->file_len || len > s->file_len - at)
		return -EBADMSG;
	if (last != NULL && !last->memory && last->at + last->len == at) {
		last->len += len;
		return 0;
	}
	last = new_piece(s);
	if (last == NULL)
		return -ENOMEM;
	*last = (struct seek_piece){ at, len, false };
	return 0;
}

/* Reads the rest of the current piece; a source for input_open_from(). */
static ssize_t
read_stream(void *arg, void *buf, size_t len)
{
	struct seek_stream *s = arg;
	const struct seek_piece *p;
	ssize_t n;

	while (s->piece < s->count && s->done == s->pieces[s->piece].len) {
		s->piece++;
		s->done = 0;
	}
	if (s->piece == s->count)
		return 0;
	p = &s->pieces[s->piece];
	if (len > p->len - s->done)
		len = (size_t)(p->len - s->done);
	if (p->memory) {
		memcpy(buf, s->mem.data + p->at + s->done, len);
		n = (ssize_t)len;
	} else {
		n = fdio_pread(s->fd, buf, len, (off_t)(p->at + s->done));
		s->read_B += n > 0 ? (uint64_t)n : 0;
	}
	s->done += n > 0 ? (uint64_t)n : 0;
	return n;
}

void
seek_stream_free(struct seek_stream *s)
{
	sys_free(s->pieces);
	sys_free(s->mem.data);
}

/*
 * Builds a stream from the units from..to.  Whole frames are used unchanged;
 * partial frames are built with the format's part().  The stream must be freed
 * even on failure.
 */
static int
make_stream(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	int rc = 0;

	s->plain = from->plain;
	s->size = to->plain - from->plain;
	while (rc == 0 && from < to) {
		const struct seek_unit *u = from + 1;

		while (u < to && u->frame == from->frame)
			u++;
		if (seek_within(from) || u->frame == from->frame)
			rc = m->seek->part(m, from, u, s);
		else
			rc = seek_extent(s, from->at, u->at - from->at);
		from = u;
	}
	return rc;
}

/* The range */

int
seek_parse(const char *s, struct seek_range *r)
{
	const char *colon = strchr(s, ':');
	char word[32];
	size_t n;
	int rc = 0;

	*r = (struct seek_range){ .len = UINT64_MAX };
	if (colon == NULL)
		return -EINVAL;
	r->from_end = *s == '-';
	s += r->from_end;
	n = (size_t)(colon - s);
	if (n > 0 || r->from_end) {
		if (n >= sizeof(word))
			return -EINVAL;
		memcpy(word, s, n);
		word[n] = '\0';
		rc = args_size(word, &r->from);
	}
	if (rc == 0 && colon[1] != '\0')
		rc = args_size(colon + 1, &r->len);
	/*
	 * ":" alone is more likely to be a mistake than a request for all data
	 */
	return colon[1] == '\0' && colon == s ? -EINVAL : rc;
}

void
seek_need_range(struct seek_need *need, const struct seek_range *r)
{
	uint64_t end = r->len > UINT64_MAX - r->from ? UINT64_MAX :
	    r->from + r->len;

	if (r->from_end) {
		if (r->from > need->tail)
			need->tail = r->from;
		return;
	}
	if (r->from < need->from)
		need->from = r->from;
	if (end > need->to)
		need->to = end;
}

/*
 * Runs the decoder once.  Stops once the window is complete if too much would
 * have to be decompressed just for a check.
 */
static int
decode_range(struct seek_stream *s, const struct convert *given, uint64_t skip,
    uint64_t len, bool stop, int out_fd, struct seek_result *result)
{
	struct convert c = *given;
	struct convert_result r;
	struct input in;
	int rc = input_open_from(&in, read_stream, s);

	if (rc != 0)
		return rc;
	c.decompress = true;
	c.coder = s->coder;
	c.window = (struct pipeline_window){ skip, len, stop };
	rc = convert_run(&c, &in, out_fd, &r);
	input_close(&in);
	result->read_B += s->read_B;
	result->made_B += r.stats.out_bytes;
	result->output_failed = r.stats.failed == PIPELINE_OUT;
	memcpy(result->text, r.text, sizeof(r.text));
	result->why = r.why == r.text ? result->text : r.why;
	if (rc == 0 && s->size != UINT64_MAX && !stop &&
	    r.stats.out_bytes != s->size + s->before) {
		result->why = "the sizes in the file or the index are wrong";
		rc = -EBADMSG;
	}
	s->got = r.stats.out_bytes;
	return rc;
}

static int
whole_file(const struct seek_map *m, struct seek_stream *s)
{
	*s = (struct seek_stream){ .fd = m->fd, .file_len = m->len,
	    .size = UINT64_MAX };
	return seek_extent(s, 0, m->len);
}

int
seek_read(const struct seek_map *m, const struct convert *c,
    const struct seek_range *r, bool verify, int out_fd,
    struct seek_result *result)
{
	uint64_t size = UINT64_MAX, from = r->from, len = r->len;
	const struct seek_unit *a, *b;
	struct seek_stream s;
	size_t first = 0;
	bool stop;
	int rc;

	*result = (struct seek_result){ .why = NULL };
	if (m->count > 0) {
		size = m->units[m->count - 1].plain;
	} else if (r->from_end) {
		rc = whole_file(m, &s);
		if (rc == 0)
			rc = decode_range(&s, c, 0, 0, false, -1, result);
		size = s.got;
		seek_stream_free(&s);
		if (rc != 0)
			return rc;
	}
	if (r->from_end)
		from = from < size ? size - from : 0;
	if (size != UINT64_MAX && len > size - (from < size ? from : size))
		len = size - (from < size ? from : size);
	if (len == 0)
		return 0;

	if (m->count == 0) {
		stop = !verify && len != UINT64_MAX;
		result->unverified = stop;
		result->from_start = true;
		rc = whole_file(m, &s);
		if (rc == 0)
			rc = decode_range(&s, c, from,
			    len == UINT64_MAX ? 0 : len, stop, out_fd, result);
		if (s.got > from)
			result->wrote_B = s.got - from < len ? s.got - from :
			    len;
		goto out;
	}
	/* from the last unit that begins at or before the range */
	for (size_t end = m->count - 1; end - first > 1;) {
		size_t mid = first + (end - first) / 2;

		if (m->units[mid].plain <= from)
			first = mid;
		else
			end = mid;
	}
	a = &m->units[first];
	for (b = a + 1; b->plain < from + len; b++)
		;
	stop = !verify && b->plain - from - len > SEEK_BEYOND;
	result->from_start = a == m->units && from > 0;
	result->unverified = stop || !m->checked;
	s = (struct seek_stream){ .fd = m->fd, .file_len = m->len };
	rc = make_stream(m, a, b, &s);
	if (rc == 0)
		rc = decode_range(&s, c, s.before + from - a->plain, len, stop,
		    out_fd, result);
	if (rc == 0)
		result->wrote_B = len;
out:
	seek_stream_free(&s);
	return rc;
}
