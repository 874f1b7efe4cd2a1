/*
 * mailgen_fit.c - fitting a profile to how well the mail compresses
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Three properties are determined by generating messages: repetition within a
 * message and noise in attachments by the compression ratio of each message,
 * and words that recur together in many messages (or, the opposite, in no
 * other) by the ratios of a sample compressed as one stream.
 */
#include "mailgen.h"

#include "base/sys.h"

#include <errno.h>
#include <math.h>

/*
 * A trial generates FIT_MAILS messages, or enough messages for FIT_PARTS of
 * them to have attachments, but at most FIT_B bytes, FIT_TEXT_B if only text is
 * measured.
 */
enum { FIT_MOST = 20000, TRIES = 9, FIT_MAILS = 2048, FIT_PARTS = 512,
    FIT_B = 32 << 20, FIT_TEXT_B = 4 << 20 };

/*
 * Trials of the quotes, and of the words that recur together, for which there
 * must be some messages.
 */
enum { QUOTE_TRIES = 3, FAR_TRIES = 5, FAR_LEAST = 64 };

/* Ratios that differ by no more than this are close enough. */
#define CLOSE 0.002
#define FAR_CLOSE 0.005

/* With more repetition than this, the text would be a single endless phrase. */
enum { REPEAT_MOST = PRNG_ONE * 7 / 8 };

struct fit {
	const struct world *world;
	struct mail_like *like;
	const struct measure *want;
	struct mailgen_fit *got;
};

/* The value being tried, and the cached compressed size of the text. */
struct trial {
	const struct fit *fit;
	uint32_t *number;		/* in like */
	uint32_t most;
	bool more;			/* a larger value increases the ratio */
	bool text;			/* measure text only */
	uint64_t mails, text_packed_B;
};

typedef int take_mail(void *to, const struct mail_maker *m);

/* Generates messages. */
static int
make_some(const struct fit *f, uint64_t mails, uint64_t bytes,
    take_mail *take, void *to)
{
	struct mail_maker *maker = sys_calloc(1, sizeof(*maker));
	uint64_t made = 0;
	int rc = maker == NULL ? -ENOMEM : 0;

	if (rc != 0)
		return rc;
	maker->world = f->world;
	maker->like = f->like;
	for (uint64_t i = 0; rc == 0 && i < mails && made < bytes; i++) {
		if (i % MAIL_WEEK == 0)
			mail_week(maker, i / MAIL_WEEK);
		rc = mail_next(maker);
		if (rc == 0)
			rc = take(to, maker);
		made += maker->out.len;
	}
	mail_free(maker);
	sys_free(maker);
	return rc;
}

static int
to_measure(void *to, const struct mail_maker *m)
{
	return measure_mail(to, m->out.data, m->out.len);
}

static int
try(struct trial *t, double *ratio)
{
	struct measure made = { .every = 1 };
	int rc;

	made.parts_only = t->text_packed_B > 0;
	made.packed_B[0] = t->text_packed_B;
	rc = make_some(t->fit, t->mails, t->text ? FIT_TEXT_B : FIT_B,
	    to_measure, &made);
	if (!t->text)
		t->text_packed_B = made.packed_B[0];
	*ratio = t->text ? measure_ratio_of(&made, 0) : measure_ratio(&made);
	measure_free(&made);
	return rc;
}

/* The search for the root of an increasing function. */
struct root {
	double lo, hi, x, last, last_y;
	unsigned steps;
};

/* Moves x, where the function is y, by the secant method, within the bounds. */
static void
root_step(struct root *r, double y)
{
	double next = 0;

	if (y > 0)
		r->hi = r->x;
	else
		r->lo = r->x;
	if (r->steps++ > 0 && y != r->last_y)
		next = r->x - y * (r->x - r->last) / (y - r->last_y);
	r->last = r->x;
	r->last_y = y;
	r->x = next <= r->lo || next >= r->hi ? (r->lo + r->hi) / 2 : next;
}

/* Changes one number, from its value on, until the ratio is close. */
static int
fit_one(struct trial *t, double want)
{
	struct root r = { .hi = t->most, .x = *t->number };
	int rc = 0;

	while (rc == 0 && want > 0 && r.steps < TRIES) {
		double ratio, off;

		rc = try(t, &ratio);
		off = (ratio - want) / want;
		if (rc != 0 || fabs(off) < CLOSE)
			break;
		root_step(&r, t->more ? off : -off);
		*t->number = (uint32_t)r.x;
	}
	return rc;
}

static int
fit_repeat(const struct fit *f)
{
	struct trial t = {
		.fit = f,
		.number = &f->like->text.repeat,
		.most = REPEAT_MOST,
		.more = true,
		.text = true,
		.mails = FIT_MAILS,
	};

	return fit_one(&t, measure_ratio_of(f->want, 0));
}

/*
 * Returns the number of messages in a trial, which must include enough messages
 * with attachments; these are large and may be rare.
 */
static uint64_t
fit_mails(const struct measure *m)
{
	uint64_t n = m->with_parts == 0 ? 0 :
	    m->count * FIT_PARTS / m->with_parts;

	return n < FIT_MAILS ? FIT_MAILS : n > FIT_MOST ? FIT_MOST : n;
}

static int
fit_noise(const struct fit *f)
{
	struct trial t = {
		.fit = f,
		.number = &f->like->noise,
		.most = PRNG_ONE,
		.mails = fit_mails(f->want),
	};
	int rc = 0;

	if (f->want->with_parts > 0)
		rc = fit_one(&t, measure_ratio(f->want));
	return rc != 0 ? rc : try(&t, &f->got->each);
}

/*
 * A message may have less to quote than it should, so the share is raised until
 * the messages quote as much as the originals.
 */
static int
fit_quotes(const struct fit *f)
{
	const struct traits *want = &f->want->traits;
	uint32_t *quoted = &f->like->quoted;
	int rc = 0;

	for (int i = 0; rc == 0 && want->quoted_B > 0 && i < QUOTE_TRIES;
	    i++) {
		struct measure made = { .every = UINT64_MAX };
		double more;

		rc = make_some(f, FIT_MAILS, FIT_TEXT_B, to_measure, &made);
		if (rc == 0 && made.traits.quoted_B > 0) {
			more = (double)want->quoted_B / (double)want->text_B *
			    (double)made.traits.text_B /
			    (double)made.traits.quoted_B * *quoted;
			*quoted = more < PRNG_ONE ? (uint32_t)more : PRNG_ONE;
		}
		measure_free(&made);
	}
	return rc;
}

static int
to_folder(void *to, const struct mail_maker *m)
{
	struct strbuf *b = to;

	b += m->mails[m->count - 1].folder;
	strbuf_add(b, m->out.data, m->out.len);
	return b->failed ? -ENOMEM : 0;
}

/* Returns the logarithm between the largest and the smallest error. */
static double
off_by(const struct mailgen_fit *got)
{
	double least = INFINITY, most = -INFINITY;

	for (int i = 0; i < TOGETHER; i++) {
		double off = log(got->together[i] / got->want[i]);

		least = fmin(least, off);
		most = fmax(most, off);
	}
	return (least + most) / 2;
}

/* Compresses generated messages, as many bytes as were sampled, by folder. */
static int
try_together(const struct fit *f, double *off)
{
	struct strbuf folders[WORLD_SET] = { { .data = NULL } };
	int rc = make_some(f, UINT64_MAX, f->want->sample.len, to_folder,
	    folders);

	for (int i = 1; i < WORLD_SET; i++)
		strbuf_add(&folders[0], folders[i].data, folders[i].len);
	if (rc == 0)
		rc = folders[0].failed ? -ENOMEM : together_ratios(
		    f->got->together, folders[0].data, folders[0].len);
	*off = rc == 0 ? off_by(f->got) : 0;
	for (int i = 0; i < WORLD_SET; i++)
		strbuf_free(&folders[i]);
	return rc;
}

/* Sets how often words recur together: x in -1..1, below 0 less than never. */
static int
try_far(const struct fit *f, double x, double *off)
{
	struct text_like *t = &f->like->text;
	int rc;

	t->phrase = x > 0 ? (uint32_t)(x * PRNG_ONE) : 0;
	t->novel = x < 0 ? (uint32_t)(-x * PRNG_ONE) : 0;
	rc = fit_repeat(f);
	return rc != 0 ? rc : try_together(f, off);
}

static int
fit_far(const struct fit *f)
{
	struct root r = { .lo = -0.75, .hi = 1, .x = 0.25 };
	int rc = 0;

	/* a few messages have nothing in common */
	if (f->want->count < FAR_LEAST)
		return 0;
	rc = together_ratios(f->got->want, f->want->sample.data,
	    f->want->sample.len);
	while (rc == 0 && r.steps < FAR_TRIES) {
		double off, x = r.x;

		rc = try_far(f, x, &off);
		if (rc != 0 || fabs(off) < FAR_CLOSE)
			break;
		root_step(&r, off);
	}
	return rc;
}

int
mailgen_fit(struct mail_like *like, const struct measure *m,
    struct mailgen_fit *got)
{
	struct world *w = sys_calloc(1, sizeof(*w));
	struct fit f = { .world = w, .like = like, .want = m, .got = got };
	int rc = w == NULL ? -ENOMEM : world_make(w, 0, 1);

	if (rc == 0)
		rc = fit_quotes(&f);
	if (rc == 0)
		rc = fit_repeat(&f);
	if (rc == 0)
		rc = fit_noise(&f);
	if (rc == 0)
		rc = fit_far(&f);
	if (w != NULL)
		world_free(w);
	sys_free(w);
	return rc;
}
