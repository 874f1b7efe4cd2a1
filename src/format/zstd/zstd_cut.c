/*
 * zstd_cut.c - cutting a Zstandard stream into pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Pieces consist of whole frames whose headers contain their sizes, or of one
 * job in a frame with marks (zstd_job.h).  Other frames, and frames that are
 * too large, are cut at arbitrary positions.
 */
#include "zstd_decode.h"

#include "zstd_job.h"

#include <errno.h>
#include <string.h>

enum {
	READ_LEN = 128 << 10,
	PIECE_OUT = 1 << 20		/* minimum output of a piece of
					 * frames */
};

/*
 * The window is checked here, so that the result is the same however a frame is
 * decoded.
 */
static int64_t
scan(struct zstd_cutter *c, const struct slot *s, size_t from, bool *ended)
{
	const struct zstd_header *h = &c->scan.header;
	int64_t n;

	*ended = false;
	if (c->hopeless)
		return -EBADMSG;
	n = zstd_scan(&c->scan, s->in.data + from, s->in.len - from, ended);
	if (n >= 0 && !h->skippable && h->window > c->window_max) {
		c->notes->need = h->window + c->beyond;
		return -EFBIG;
	}
	c->hopeless = n < 0;
	return n;
}

/* Starts a new frame, or restarts the current one from its beginning. */
static void
restart(struct zstd_cutter *c)
{
	memset(&c->scan, 0, sizeof(c->scan));
	c->scan.jobs = true;
	c->plain = c->jobs = false;
}

/*
 * Cuts at the end of a frame that may be cut anywhere, or after all data read
 * so far; with one thread, after any number of frames.  Data before pos has
 * been scanned; if `ended` is set, pos is the frame's end.
 */
static int
cut_plain(struct zstd_cutter *c, struct input *in, struct slot *s,
    size_t pos, bool ended)
{
	ssize_t got = s->in.len > pos || in->eof || ended ? 0 :
	    carry_more(in, s, READ_LEN);
	int64_t n = 0;
	int rc = got < 0 ? (int)got : 0;

	if (rc != 0)
		return rc;
	unzstd_notes(s)->kind = PIECE_PLAIN;
	for (; !ended && n >= 0 && pos < s->in.len; pos += (size_t)n) {
		c->plain = true;
		c->scan.jobs = false;
		zstd_scan_job(&c->scan);
		n = scan(c, s, pos, &ended);
		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			break;
		if (ended && c->serial && pos + (size_t)n < s->in.len) {
			restart(c);
			ended = false;
		}
	}
	if (ended) {
		rc = carry_cut(&c->carry, s, pos, pos);
		restart(c);
	}
	s->last = in->eof && c->carry.rest.len == 0;
	return rc;
}

/*
 * Cuts a job at the mark after it, or at the end of the frame; data before pos
 * has been scanned.
 */
static int
cut_job(struct zstd_cutter *c, struct input *in, struct slot *s, size_t pos,
    bool ended)
{
	struct unzstd_notes *note = unzstd_notes(s);

	while (!ended && !c->scan.at_job) {
		ssize_t got;
		int64_t n;

		if (pos > c->unit_max + c->unit_max / 1024 + READ_LEN || in->eof)
			return cut_plain(c, in, s, pos, false);
		got = carry_more(in, s, READ_LEN);
		if (got < 0)
			return (int)got;
		n = scan(c, s, pos, &ended);
		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			return cut_plain(c, in, s, pos, false);
		pos += (size_t)n;
	}
	note->kind = PIECE_JOB;
	note->used = pos;
	note->most = c->scan.most;
	note->final = ended;
	note->checksum = c->scan.header.checksum;
	note->window = c->scan.header.window_byte;
	if (ended)
		restart(c);
	zstd_scan_job(&c->scan);
	return carry_cut(&c->carry, s, pos, pos);
}

static bool
fits_worker(const struct zstd_cutter *c)
{
	const struct zstd_header *h = &c->scan.header;

	return h->skippable ? h->skip <= READ_LEN :
	    h->content <= c->unit_max;
}

static bool
has_jobs(const struct zstd_cutter *c)
{
	const struct zstd_header *h = &c->scan.header;

	return c->scan.marked && h->windowed && !h->dictionary;
}

/* Ends the piece before a frame that does not belong to it. */
static int
cut_before(struct zstd_cutter *c, struct slot *s)
{
	restart(c);
	return carry_cut(&c->carry, s, unzstd_notes(s)->used,
	    unzstd_notes(s)->used);
}

/* Collects whole frames until they make up a piece. */
static int
cut_frames(struct zstd_cutter *c, struct input *in, struct slot *s)
{
	struct unzstd_notes *note = unzstd_notes(s);
	size_t pos = 0;
	bool ended;
	ssize_t got;

	note->kind = PIECE_FRAMES;
	for (;;) {
		int64_t n = scan(c, s, pos, &ended);

		if (n == -EFBIG)
			return (int)n;
		if (n < 0)
			break;
		pos += (size_t)n;
		if (has_jobs(c) && note->used == 0) {
			note->skip = c->scan.header.len;
			c->jobs = true;
			return cut_job(c, in, s, pos, ended);
		}
		if (has_jobs(c))
			return cut_before(c, s);
		if (ended && fits_worker(c)) {
			note->used = pos;
			note->most += c->scan.header.skippable ? 0 :
			    c->scan.header.content;
			if (note->most >= PIECE_OUT || pos >= PIECE_OUT)
				return cut_before(c, s);
			restart(c);
			continue;
		}
		if (!fits_worker(c) || pos - note->used > c->unit_max)
			break;
		if (in->eof)
			break;
		/* do not delay complete frames by waiting for a live pipe */
		if (note->used > 0 && in->flush_ms >= 0)
			return cut_before(c, s);
		got = carry_more(in, s, READ_LEN);
		if (got < 0)
			return (int)got;
	}
	if (note->used == 0 && s->in.len > 0)
		return cut_plain(c, in, s, pos, ended);
	s->last = in->eof && note->used == s->in.len;
	return s->last ? 0 : cut_before(c, s);
}

int
zstd_cut(void *job, struct input *in, struct slot *s)
{
	struct zstd_cutter *c = &((struct unzstd_job *)job)->cutter;
	int rc = carry_begin(&c->carry, s);

	if (rc != 0)
		return rc;
	c->scan.jobs = !c->plain;
	c->plain |= c->serial || c->hopeless ||
	    (c->jobs && atomic_load(&c->distrust));
	if (c->plain)
		return cut_plain(c, in, s, 0, false);
	if (c->jobs)
		return cut_job(c, in, s, 0, false);
	return cut_frames(c, in, s);
}
