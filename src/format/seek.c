/*
 * seek.c - reading a range of compressed data without decoding from the start
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Reading a range means running a decoder over the stream (seek_stream.c) built
 * from some of a map's units (seek_map.c), or over the whole file if there are
 * none.
 */
#include "format/seek_formats.h"

#include "base/args.h"

#include <errno.h>
#include <string.h>

/* Ranges */

static int
parse_size(const char *s, size_t len, uint64_t *v)
{
	char word[32];

	if (len >= sizeof(word))
		return -EINVAL;
	memcpy(word, s, len);
	word[len] = '\0';
	return args_size(word, v);
}

int
seek_parse(const char *s, struct seek_range *r)
{
	const char *colon = strchr(s, ':');
	int rc = 0;

	*r = (struct seek_range){ .len = UINT64_MAX };
	if (colon == NULL)
		return -EINVAL;
	r->from_end = *s == '-';
	s += r->from_end;
	if (s < colon || r->from_end)
		rc = parse_size(s, (size_t)(colon - s), &r->from);
	if (rc == 0 && colon[1] != '\0')
		rc = args_size(colon + 1, &r->len);
	/*
	 * ":" alone is more likely to be a mistake than a request for all data
	 */
	return colon[1] == '\0' && colon == s ? -EINVAL : rc;
}

uint64_t
seek_range_end(const struct seek_range *r)
{
	return r->from_end || r->len == UINT64_MAX ? UINT64_MAX :
	    r->from + r->len;
}

/* Reading */

/* Returns the last unit that begins at or before an offset. */
static size_t
find_unit(const struct seek_map *m, uint64_t plain)
{
	size_t lo = 0, hi = m->count - 1;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->units[mid].plain <= plain)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
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
	int rc = input_open_from(&in, seek_stream_read, s);

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

/*
 * Determines the data size by decompressing everything, if it is not otherwise
 * known.
 */
static int
count_plain(const struct seek_map *m, const struct convert *c,
    uint64_t *size, struct seek_result *result)
{
	struct seek_stream s;
	int rc;

	if (m->count > 0) {
		*size = m->units[m->count - 1].plain;
		return 0;
	}
	rc = whole_file(m, &s);
	if (rc == 0)
		rc = decode_range(&s, c, 0, 0, false, -1, result);
	*size = s.got;
	seek_stream_free(&s);
	return rc;
}

/* Reads from the beginning, without units. */
static int
read_from_start(const struct seek_map *m, const struct convert *c,
    uint64_t from, uint64_t len, bool verify, int out_fd,
    struct seek_result *result)
{
	struct seek_stream s;
	int rc = whole_file(m, &s);

	result->from_start = true;
	if (rc == 0)
		rc = decode_range(&s, c, from, len == UINT64_MAX ? 0 : len,
		    !verify && len != UINT64_MAX, out_fd, result);
	result->wrote_B += s.got <= from ? 0 : s.got - from < len ?
	    s.got - from : len;
	seek_stream_free(&s);
	return rc;
}

static int
read_units(const struct seek_map *m, const struct convert *c, uint64_t from,
    uint64_t len, bool verify, int out_fd, struct seek_result *result)
{
	struct seek_stream s = { .fd = m->fd, .file_len = m->len };
	const struct seek_unit *a = &m->units[find_unit(m, from)], *b = a + 1;
	bool stop;
	int rc;

	while (b->plain < from + len)
		b++;
	stop = !verify && b->plain - from - len > SEEK_BEYOND;
	rc = seek_stream_make(m, a, b, &s);
	result->from_start |= a == m->units && from > 0;
	result->unverified |= stop || !m->checked;
	if (rc == 0)
		rc = decode_range(&s, c, s.before + from - a->plain, len, stop,
		    out_fd, result);
	result->wrote_B += rc == 0 ? len : 0;
	seek_stream_free(&s);
	return rc;
}

int
seek_read(const struct seek_map *m, const struct convert *c,
    const struct seek_range *r, bool verify, int out_fd,
    struct seek_result *result)
{
	uint64_t size = UINT64_MAX, from = r->from, len = r->len;
	int rc = 0;

	*result = (struct seek_result){ .why = NULL };
	if (r->from_end || m->count > 0)
		rc = count_plain(m, c, &size, result);
	if (rc != 0)
		return rc;
	if (r->from_end)
		from = from < size ? size - from : 0;
	if (size != UINT64_MAX && len > size - (from < size ? from : size))
		len = size - (from < size ? from : size);
	if (len == 0)
		return 0;
	if (m->count == 0) {
		result->unverified = !verify && len != UINT64_MAX;
		return read_from_start(m, c, from, len, verify, out_fd,
		    result);
	}
	return read_units(m, c, from, len, verify, out_fd, result);
}
