/*
 * mailgen_fit.c - fitting a profile to the messages, each and together
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages are generated until their quotes, repeated lines and header fields
 * are as large as the originals'; repetition within a message and noise in
 * attachments are determined by the compression ratio of each message.
 *
 * Words that recur together in many messages (or, the opposite, in no other)
 * determine the ratio of a sample compressed as one stream; words that recur in
 * the same week determine how much of this a small window can find.
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

/* Trials of the shares that are measured directly. */
enum { SHARE_TRIES = 6 };

/* Ratios that differ by no more than this are close enough. */
#define CLOSE 0.002

/* Smaller changes of a property are not worth a trial. */
enum { FINE = PRNG_ONE / 1024 };

/* With more repetition than this, the text would be a single endless phrase. */
enum { REPEAT_MOST = PRNG_ONE * 7 / 8, AGAIN_MOST = PRNG_ONE * 7 / 8 };

/*
 * Trials of the words that recur together, for which there must be some
 * messages, and the most bytes generated for one.
 */
enum { FAR_TRIES = 3, TOPIC_TRIES = 3, FAR_LEAST = 64, FIT_ALL_B = 64 << 20 };

/* Close enough: the middle of the errors, and the largest. */
#define FAR_CLOSE 0.005
#define ALIKE 0.01

/*
 * Corpora generated with different seeds differ by some percent, so the fit to
 * what compresses together uses several, the first one being the default.
 */
enum { FIT_SEEDS = 2 };

struct fit {
	const struct world *world;	/* one for each seed, from seed 1 on */
	struct mail_like *like;
	const struct measure *want;
	struct mailgen_fit *got;
};

typedef int take_mail(void *to, const struct mail_maker *m);

/* The value being tried, and the cached compressed size of the text. */
struct trial {
	const struct fit *fit;
	uint32_t *number;		/* in like */
	uint32_t most;
	bool more;			/* a larger value increases the ratio */
	bool text;			/* measure text only */
	uint64_t mails, text_packed_B;
};

/* The search for the root of an increasing function. */
struct root {
	double lo, hi, x, last, last_y;
	unsigned steps;
};

/*
 * Generates messages with seed nth + 1, up to a number, which is limited to
 * what one set of lists can have, and a size, and passes each to take.  Returns
 * 0, -ENOMEM or what take returned.
 */
static int
generate_mails(const struct fit *f, unsigned nth, uint64_t mails,
    uint64_t bytes, take_mail *take, void *to)
{
	struct mail_maker *maker = sys_calloc(1, sizeof(*maker));
	uint64_t made = 0;
	int rc = maker == NULL ? -ENOMEM : 0;

	if (rc != 0)
		return rc;
	maker->world = &f->world[nth];
	maker->seed = nth + 1;
	maker->like = f->like;
	if (mails > MAIL_WEEKS * MAIL_WEEK)
		mails = MAIL_WEEKS * MAIL_WEEK;
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
	rc = generate_mails(t->fit, 0, t->mails, t->text ? FIT_TEXT_B : FIT_B,
	    to_measure, &made);
	if (!t->text)
		t->text_packed_B = made.packed_B[0];
	*ratio = t->text ? measure_ratio_of(&made, 0) : measure_ratio(&made);
	measure_free(&made);
	return rc;
}

/* Moves x, where the function is y, by the secant method, within the bounds. */
static void
step_to_root(struct root *r, double y)
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

	while (rc == 0 && want > 0 && r.steps < TRIES &&
	    r.hi - r.lo > FINE) {
		double ratio, off;

		rc = try(t, &ratio);
		off = (ratio - want) / want;
		if (rc != 0 || fabs(off) < CLOSE)
			break;
		step_to_root(&r, t->more ? off : -off);
		*t->number = (uint32_t)r.x;
	}
	return rc;
}

/*
 * Finds how much a text repeats itself, from the ratio of each message without
 * attachments.
 */
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

/* Returns value + more, but at least 0 and at most most. */
static uint32_t
plus(uint32_t value, double more, uint32_t most)
{
	double sum = value + more;

	return sum <= 0 ? 0 : sum >= most ? most : (uint32_t)sum;
}

static double
ratio_of(uint64_t some, uint64_t all)
{
	return all == 0 ? 0 : (double)some / (double)all;
}

/*
 * Generates messages until their shares are those of the originals.  Corrects
 * what is too small or too large in them: a message may have nothing to quote,
 * or less than it should, and signatures also repeat lines.  The bytes of
 * header fields are all, random ones and equal lines.
 */
static int
fit_shares(const struct fit *f)
{
	const struct traits *want = &f->want->traits;
	struct mail_like *like = f->like;

	for (int i = 0; i < SHARE_TRIES; i++) {
		struct measure *m = sys_calloc(1, sizeof(*m));
		const struct traits *made;
		double more;
		int rc;

		if (m == NULL)
			return -ENOMEM;
		m->every = UINT64_MAX;
		made = &m->traits;
		rc = generate_mails(f, 0, FIT_MAILS, FIT_TEXT_B, to_measure, m);
		if (rc != 0)
			goto next;
		more = ratio_of(want->quoted_B, want->text_B) -
		    ratio_of(made->quoted_B, made->text_B);
		if (want->quoted_B > 0)
			like->quoted = plus(like->quoted, more * PRNG_ONE,
			    PRNG_ONE);
		more = ratio_of(want->replies, want->count) -
		    ratio_of(made->replies, made->count);
		like->replies = plus(like->replies, more * PRNG_ONE, PRNG_ONE);
		more = ratio_of(want->again_B, want->own_B) -
		    ratio_of(made->again_B, made->own_B);
		like->again = plus(like->again, more * PRNG_ONE, AGAIN_MOST);
		more = ratio_of(want->head_B, want->count) -
		    ratio_of(made->head_B, made->count);
		like->more_B = plus(like->more_B, more, MAIL_MORE_MOST);
		if (like->more_B == 0)
			goto next;
		more = ratio_of(want->token_B, want->count) -
		    ratio_of(made->token_B, made->count);
		like->signatures = plus(like->signatures, more / like->more_B *
		    PRNG_ONE, PRNG_ONE);
		more = ratio_of(want->same_B, want->count) -
		    ratio_of(made->same_B, made->count);
		like->constant = plus(like->constant, more / like->more_B *
		    PRNG_ONE, PRNG_ONE - like->signatures);
next:
		measure_free(m);
		sys_free(m);
		if (rc != 0)
			return rc;
	}
	return 0;
}

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
	int rc = generate_mails(f, nth, f->want->count, FIT_ALL_B,
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

/*
 * Finds, for the current share of topical words, how often words recur
 * together: x in -1..1, below 0 less than never.  The errors are logarithms of
 * ratios, generated to measured: *worst is the largest, without its sign, and
 * *near the last, with the smallest window, less the one with the largest.
 */
static int
fit_far(const struct fit *f, double *x, double *worst, double *near)
{
	struct root r = { .lo = -0.75, .hi = 1, .x = *x };
	struct text_like *t = &f->like->text;
	double *mean = f->got->together;

	while (r.steps < FAR_TRIES) {
		double least = INFINITY, most = -INFINITY, off[TOGETHER];
		int rc;

		*x = r.x;
		t->phrase = r.x > 0 ? (uint32_t)(r.x * PRNG_ONE) : 0;
		t->novel = r.x < 0 ? (uint32_t)(-r.x * PRNG_ONE) : 0;
		rc = fit_repeat(f);
		if (rc != 0)
			return rc;
		/* the geometric means of the ratios over the seeds */
		for (int i = 0; i < TOGETHER; i++)
			mean[i] = 1;
		for (unsigned s = 0; s < FIT_SEEDS; s++) {
			double ratio[TOGETHER];

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
		*worst = fmax(most, -least);
		*near = off[2] - off[1];
		if (fabs((least + most) / 2) < FAR_CLOSE)
			break;
		step_to_root(&r, (least + most) / 2);
	}
	return 0;
}

int
mailgen_fit(struct mail_like *like, const struct measure *m,
    struct mailgen_fit *got)
{
	struct world *w = sys_calloc(FIT_SEEDS, sizeof(*w));
	struct fit f = { .world = w, .like = like, .want = m, .got = got };
	struct trial t = {
		.fit = &f,
		.number = &like->noise,
		.most = PRNG_ONE,
	};
	struct root r = { .lo = 0, .hi = 0.9, .x = 0.25 };
	double x = 0.25, least = INFINITY, worst = INFINITY, near = 0;
	struct mailgen_fit best_got;
	struct text_like best;
	int rc = w == NULL ? -ENOMEM : 0;

	for (unsigned i = 0; rc == 0 && i < FIT_SEEDS; i++)
		rc = world_make(&w[i], i + 1, 1);
	if (rc == 0)
		rc = fit_shares(&f);
	if (rc == 0)
		rc = fit_repeat(&f);
	if (rc != 0)
		goto out;
	/*
	 * a trial must include enough messages with attachments; these are
	 * large and may be rare
	 */
	if (m->with_parts > 0)
		t.mails = m->count * FIT_PARTS / m->with_parts;
	if (t.mails > FIT_MOST)
		t.mails = FIT_MOST;
	if (t.mails < FIT_MAILS)
		t.mails = FIT_MAILS;
	if (m->with_parts > 0)
		rc = fit_one(&t, measure_ratio(m));
	if (rc == 0)
		rc = try(&t, &got->each);
	/* a few messages have nothing in common */
	if (rc != 0 || m->count < FAR_LEAST)
		goto out;
	best = like->text;
	rc = together_ratios(got->want, m->sample.data, m->sample.len);
	best_got = *got;
	while (rc == 0 && r.steps < TOPIC_TRIES && least > ALIKE) {
		like->text.topic = (uint32_t)(r.x * PRNG_ONE);
		rc = fit_far(&f, &x, &worst, &near);
		if (rc == 0 && worst < least) {
			least = worst;
			best = like->text;
			best_got = *got;
		}
		step_to_root(&r, near);
	}
	like->text = best;
	*got = best_got;
out:
	for (unsigned i = 0; w != NULL && i < FIT_SEEDS; i++)
		world_free(&w[i]);
	sys_free(w);
	return rc;
}
