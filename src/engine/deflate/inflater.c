/*
 * inflater.c - streaming raw inflate (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * inflate_fast.c decodes nearly all symbols.  inflater_step.c handles symbols
 * near the ends of the input and of the output space, headers and stored
 * blocks.
 */
#include "inflater_impl.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

int
inflater_open(struct inflater **out)
{
	struct inflater *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	f->fast = inflate_fast_choose();
	f->stop_after = SIZE_MAX;
	*out = f;
	return 0;
}

void
inflater_close(struct inflater *f)
{
	sys_free(f);
}

void
inflater_start(struct inflater *f)
{
	f->state = INFLATER_HEADER;
	f->at.bits = f->at.count = 0;
	f->copy_len = 0;
	f->held_len = 0;
	f->window_len = 0;
	f->stop_after = SIZE_MAX;
}

void
inflater_prime(struct inflater *f, unsigned bits, uint8_t byte)
{
	f->at.bits = bits == 0 ? 0 : byte >> (8 - bits);
	f->at.count = bits;
}

void
inflater_stop_after(struct inflater *f, size_t made)
{
	f->stop_after = made;
}

void
inflater_mark(struct inflater *f, uint8_t *used_end)
{
	f->at.used_end = used_end;
}

unsigned
inflater_ahead(const struct inflater *f)
{
	return f->at.count;
}

void
inflater_saw(struct inflater *f, const uint8_t *out, size_t len)
{
	size_t keep = INFLATER_WINDOW - len;

	if (len >= INFLATER_WINDOW) {
		memcpy(f->window, out + len - INFLATER_WINDOW,
		    INFLATER_WINDOW);
		f->window_len = INFLATER_WINDOW;
		return;
	}
	if (len == 0)
		return;
	memmove(f->window, f->window + len, keep);
	memcpy(f->window + keep, out, len);
	f->window_len += len;
	if (f->window_len > INFLATER_WINDOW)
		f->window_len = INFLATER_WINDOW;
}

/* Decodes as far as input and output space allow. */
static int
run_steps(struct inflater *f, const struct stream_io *io)
{
	struct inflate_place *p = &f->at;
	int rc;

	p->in = io->in;
	p->in_end = io->in + io->in_len;
	p->begin = p->out = io->out;
	p->out_end = io->out + io->out_len;
	p->window_end = f->window + INFLATER_WINDOW;
	p->window_len = f->window_len;
	do
		rc = inflater_step(f);
	while (rc == INFLATER_AGAIN);
	return rc;
}

int
inflater_run(struct inflater *f, struct stream_io *io)
{
	struct inflate_place *p = &f->at;
	int rc = run_steps(f, io);

	f->stop_after = SIZE_MAX;
	inflater_saw(f, p->begin, (size_t)(p->out - p->begin));
	io->in = p->in;
	io->in_len = (size_t)(p->in_end - p->in);
	io->out = p->out;
	io->out_len = (size_t)(p->out_end - p->out);
	if (rc == STREAM_MORE && io->eof && io->in_len == 0 &&
	    io->out_len > 0)
		return -ENODATA;
	return rc;
}

size_t
inflater_unused(const struct inflater *f, uint8_t unused[8])
{
	store_le64(unused, f->at.bits >> f->at.count % 8);
	return f->at.count / 8;
}

bool
inflater_at_boundary(const struct inflater *f)
{
	return f->state == INFLATER_HEADER && f->at.count == 0 && f->held_len == 0;
}

int
inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r)
{
	struct stream_io io = { .in = in, .in_len = len, .out = out,
	    .out_len = cap + INFLATER_SPARE };
	int rc;

	inflater_start(f);
	rc = run_steps(f, &io);
	r->final = rc == STREAM_END;
	r->used = (size_t)(f->at.in - in);
	r->made = (size_t)(f->at.out - out);
	if (r->final)
		r->used -= f->at.count / 8;
	else if (rc < 0 || r->used < len || !inflater_at_boundary(f))
		return -EBADMSG;
	return r->made <= cap ? 0 : -EBADMSG;
}
