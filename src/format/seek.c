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

uint64_t
seek_range_end(const struct seek_range *r)
{
	return r->from_end || r->len == UINT64_MAX ? UINT64_MAX :
	    r->from + r->len;
}

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

int
seek_read(const struct seek_map *m, const struct convert *c,
    const struct seek_range *r, bool verify, int out_fd,
    struct seek_result *result)
{
	uint64_t size = UINT64_MAX, from = r->from, len = r->len;
	const struct seek_unit *a, *b;
	struct seek_stream s;
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
	a = &m->units[find_unit(m, from)];
	for (b = a + 1; b->plain < from + len; b++)
		;
	stop = !verify && b->plain - from - len > SEEK_BEYOND;
	result->from_start = a == m->units && from > 0;
	result->unverified = stop || !m->checked;
	s = (struct seek_stream){ .fd = m->fd, .file_len = m->len };
	rc = seek_stream_make(m, a, b, &s);
	if (rc == 0)
		rc = decode_range(&s, c, s.before + from - a->plain, len, stop,
		    out_fd, result);
	if (rc == 0)
		result->wrote_B = len;
out:
	seek_stream_free(&s);
	return rc;
}
