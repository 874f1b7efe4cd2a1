/*
 * convert.c - running one stream through one coder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/convert.h"

#include "pipeline/adapt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Data in an unknown format is copied unchanged. */

static int
copy_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	(void)o;
	(void)why;
	*p = (struct memory_plan){ .slots = 4, .slot_B = 256 << 10 };
	return 0;
}

static int
copy_fill(void *job, struct input *in, struct slot *s)
{
	int rc = buf_reserve(&s->out, 256 << 10);
	ssize_t n;

	(void)job;
	if (rc != 0)
		return rc;
	n = input_read(in, s->out.data, s->out.cap);
	s->out.len = n > 0 ? (size_t)n : 0;
	s->last = in->eof;
	return n < 0 ? (int)n : 0;
}

static const struct coder copier = {
	.plan = copy_plan, .ops = { .fill = copy_fill, .join = sink_join },
};

static const struct coder *
coder_of(const struct convert *c)
{
	if (c->coder != NULL)
		return c->coder;
	if (c->codec == NULL)
		return &copier;
	if (c->decompress && c->codec->decoder_for != NULL)
		return c->codec->decoder_for(&c->options);
	if (c->decompress)
		return c->codec->decode;
	if (c->codec->encoder_for != NULL)
		return c->codec->encoder_for(&c->options);
	return c->codec->encode;
}

int
convert_plan(const struct convert *c, struct memory_plan *p, uint64_t *bytes,
    const char **why)
{
	int rc = coder_of(c)->plan(&c->options, p, why);

	if (rc == 0)
		*bytes = p->slots * p->slot_B + p->fixed_B +
		    c->options.threads * p->worker_B;
	return rc;
}

/*
 * Computes the plan, after peeking at the data to be decoded.  Reduces the
 * number of threads, and then of slots, to fit the memory limit.
 */
static int
plan_within(struct convert *c, struct input *in, struct memory_plan *p,
    struct convert_result *r)
{
	uint64_t least, slots;
	ssize_t n = 0;
	int rc;

	c->options.memory = c->memory;
	if (c->decompress && c->memory != 0)
		n = input_peek(in, INPUT_PEEK, &c->options.head);
	if (n < 0)
		return (int)n;
	c->options.head_len = (size_t)n;
	for (;; c->options.threads--) {
		rc = convert_plan(c, p, &r->memory, &r->why);
		if (rc != 0 || c->memory == 0 || r->memory <= c->memory)
			goto out;
		if (c->options.threads == 1)
			break;
	}
	/* one thread, and the slots that fit in addition to the fixed part */
	least = p->worker_B + p->fixed_B;
	slots = c->memory < least ? 0 : (c->memory - least) / p->slot_B;
	p->slots = (unsigned)slots;
	r->memory = least + slots * p->slot_B;
	if (slots == 0) {
		r->notes.need = least + p->slot_B;
		rc = -EFBIG;
	}
out:
	c->options.head = NULL;
	c->options.head_len = 0;
	return rc;
}

/* Writes "65 MiB", rounded up, or "12 KiB" for smaller sizes. */
static int
put_size(char *buf, size_t size, uint64_t bytes, uint64_t round)
{
	int unit = bytes < (uint64_t)1 << 20 ? 10 : 20;

	return snprintf(buf, size, "%" PRIu64 " %s",
	    (bytes + (round & (((uint64_t)1 << unit) - 1))) >> unit,
	    unit == 10 ? "KiB" : "MiB");
}

/*
 * Describes how much memory is needed, how much is allowed, and which option
 * set the limit.
 */
static void
name_need(const struct convert *c, struct convert_result *r)
{
	char need[32], allowed[32];
	uint64_t window = r->notes.need < CODEC_BEYOND_WINDOW ? 0 :
	    r->notes.need - CODEC_BEYOND_WINDOW;
	int log = 10;

	put_size(need, sizeof(need), r->notes.need, UINT64_MAX);
	r->why = r->text;
	if (c->memory != 0 && r->notes.need > c->memory) {
		put_size(allowed, sizeof(allowed), c->memory, 0);
		snprintf(r->text, sizeof(r->text), "needs %s to %s; --memory "
		    "allows %s", need, c->decompress ? "decompress" :
		    "compress", allowed);
		return;
	}
	while (log < CODEC_WINDOW_LOG_MAX && (uint64_t)1 << log < window)
		log++;
	if ((uint64_t)1 << log < window)
		snprintf(r->text, sizeof(r->text), "needs %s to decompress, "
		    "more than any --long allows", need);
	else
		snprintf(r->text, sizeof(r->text), "needs %s to decompress, "
		    "which --long=%d allows", need, log);
}

/* Rejects a stream that needs a dictionary, if there is none. */
static int
check_dictionary(const struct convert *c, struct input *in,
    struct convert_result *r)
{
	const uint8_t *head;
	uint32_t id;
	ssize_t n;

	if (!c->decompress || c->codec == NULL ||
	    c->codec->dictionary == NULL ||
	    codec_number(&c->options, "dictionary") != 0)
		return 0;
	n = input_peek(in, CODEC_MAGIC_MAX, &head);
	if (n < 0)
		return (int)n;
	id = c->codec->dictionary(head, (size_t)n);
	if (id == 0)
		return 0;
	snprintf(r->text, sizeof(r->text), "needs the dictionary with ID %"
	    PRIu32 "; only zstd -D and lz4 -D take one", id);
	r->why = r->text;
	return -ENOTSUP;
}

int
convert_run(const struct convert *given, struct input *in, int out_fd,
    struct convert_result *r)
{
	struct convert c = *given;
	const struct coder *coder;
	struct pipeline_params params = { .out_fd = out_fd,
	    .write = given->write, .write_arg = given->write_arg,
	    .window = given->window, .sparse = given->sparse,
	    .progress = given->progress };
	struct memory_plan plan = { 0 };
	void *job = NULL;
	int rc;

	memset(r, 0, sizeof(*r));
	rc = check_dictionary(&c, in, r);
	if (rc == 0)
		rc = plan_within(&c, in, &plan, r);
	/* as planned: it may depend on the number of threads */
	coder = coder_of(&c);
	if (rc == 0 && coder->open != NULL)
		rc = coder->open(&job, &c.options, &plan, &r->notes);
	if (rc != 0)
		goto out;
	params.threads = r->threads = c.options.threads;
	params.slots = plan.slots;
	if (c.options.adapt != NULL && !c.decompress) {
		params.watch = adapt_watch;
		params.watch_arg = c.options.adapt;
	}
	rc = pipeline_run(&coder->ops, job, in, &params, &r->stats);
	if (coder->close != NULL)
		coder->close(job);
	if (rc == -ENOTSUP || rc == -EBADMSG)
		r->why = r->notes.why;
out:
	if (rc == -EFBIG && r->notes.need != 0)
		name_need(&c, r);
	return rc;
}

const char *
convert_reason(int rc)
{
	switch (rc) {
	case -EBADMSG:
		return "the data is corrupt";
	case -ENODATA:
		return "unexpected end of file";
	case -ENOTSUP:
		return "this variant of the format is not supported";
	case -ESTALE:
		return "the file changed while it was being read";
	default:
		return strerror(-rc);
	}
}
