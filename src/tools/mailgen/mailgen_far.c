/*
 * mailgen_far.c - fitting a profile to how well messages compress together
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Words that recur together in many messages (or, the opposite, in no other)
 * determine the ratio of a sample compressed as one stream; words that recur in
 * the same week determine how much of this a small window can find.
 */
#include "mailgen_fit.h"

#include <errno.h>
#include <math.h>

/*
 * Trials of the words that recur together, for which there must be some
 * messages, and the most bytes generated for one.
 */
enum { FAR_TRIES = 3, TOPIC_TRIES = 3, FAR_LEAST = 64, FIT_ALL_B = 64 << 20 };

/* Close enough: the middle of the errors, and the largest. */
#define FAR_CLOSE 0.005
#define ALIKE 0.01

static int
append_to_folder(void *to, const struct mail_maker *m)
{
	struct strbuf *b = to;

	b += m->mails[m->count - 1].folder;
	strbuf_add(b, m->out.data, m->out.len);
	return b->failed ? -ENOMEM : 0;
}

/* Compresses messages generated with one seed, by folder. */
static int
try_seed(const struct fit *f, unsigned nth, double ratio[TOGETHER])
{
	struct strbuf folders[WORLD_SET] = { { .data = NULL } };
	struct strbuf some = { .data = NULL }, *all = &folders[0];
	int rc = mailgen_make(f, nth, f->want->count, FIT_ALL_B,
	    append_to_folder, folders);
	size_t run = f->want->sample.len / MAILGEN_RUNS + 1, stretch;

	for (int i = 1; i < WORLD_SET; i++)
		strbuf_add(all, folders[i].data, folders[i].len);
	/* the same stretches of the folders as were sampled of the originals */
	stretch = all->len / MAILGEN_RUNS + 1;
	for (size_t at = 0; rc == 0 && at < all->len; at += stretch) {
		size_t left = all->len - at;
		size_t n = run < stretch ? run : stretch;

		strbuf_add(&some, all->data + at, n < left ? n : left);
	}
	if (rc == 0)
		rc = all->failed || some.failed ? -ENOMEM :
		    together_ratios(ratio, some.data, some.len);
	for (int i = 0; i < WORLD_SET; i++)
		strbuf_free(&folders[i]);
	strbuf_free(&some);
	return rc;
}

/* Logarithms of ratios, generated to measured. */
struct errors {
	double middle;			/* of the smallest and the largest */
	double most;			/* the largest, without its sign */
	double near;			/* the last, with the smallest window,
					 * less the one with the largest */
};

/* Sets how often words recur together: x in -1..1, below 0 less than never. */
static int
try_far(const struct fit *f, double x, struct errors *e)
{
	struct text_like *t = &f->like->text;
	double least = INFINITY, most = -INFINITY, off[TOGETHER];
	double ratio[TOGETHER], *mean = f->got->together;
	int rc;

	t->phrase = x > 0 ? (uint32_t)(x * PRNG_ONE) : 0;
	t->novel = x < 0 ? (uint32_t)(-x * PRNG_ONE) : 0;
	rc = mailgen_fit_repeat(f);
	if (rc != 0)
		return rc;
	/* the geometric means of the ratios over the seeds */
	for (int i = 0; i < TOGETHER; i++)
		mean[i] = 1;
	for (unsigned s = 0; s < FIT_SEEDS; s++) {
		rc = try_seed(f, s, ratio);
		if (rc != 0)
			return rc;
		for (int i = 0; i < TOGETHER; i++)
			mean[i] *= pow(ratio[i], 1.0 / FIT_SEEDS);
	}
	for (int i = 0; i < TOGETHER; i++) {
		off[i] = log(mean[i] / f->got->want[i]);
		least = fmin(least, off[i]);
		most = fmax(most, off[i]);
	}
	*e = (struct errors){ (least + most) / 2, fmax(most, -least),
	    off[2] - off[1] };
	return 0;
}

/* Finds x for the current share of topical words. */
static int
fit_far(const struct fit *f, double *x, struct errors *e)
{
	struct root r = { .lo = -0.75, .hi = 1, .x = *x };
	int rc = 0;

	while (rc == 0 && r.steps < FAR_TRIES) {
		*x = r.x;
		rc = try_far(f, *x, e);
		if (rc != 0 || fabs(e->middle) < FAR_CLOSE)
			break;
		mailgen_root_step(&r, e->middle);
	}
	return rc;
}

int
mailgen_fit_together(const struct fit *f)
{
	struct root r = { .lo = 0, .hi = 0.9, .x = 0.25 };
	struct text_like best = f->like->text;
	struct mailgen_fit got = *f->got;
	double x = 0.25, least = INFINITY;
	struct errors e = { .most = INFINITY };
	/* a few messages have nothing in common */
	int rc = f->want->count < FAR_LEAST ? 0 : together_ratios(
	    f->got->want, f->want->sample.data, f->want->sample.len);

	while (rc == 0 && f->want->count >= FAR_LEAST &&
	    r.steps < TOPIC_TRIES && least > ALIKE) {
		f->like->text.topic = (uint32_t)(r.x * PRNG_ONE);
		rc = fit_far(f, &x, &e);
		if (rc == 0 && e.most < least) {
			least = e.most;
			best = f->like->text;
			got = *f->got;
		}
		mailgen_root_step(&r, e.near);
	}
	f->like->text = best;
	*f->got = got;
	return rc;
}
