/*
 * mailgen_fit.c - fitting a profile to the messages, each on its own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages are generated until their quotes, repeated lines and header fields
 * are as large as the originals'; repetition within a message and noise in
 * attachments are determined by the compression ratio of each message.
 */
#include "mailgen_fit.h"

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

/* The value being tried, and the cached compressed size of the text. */
struct trial {
	const struct fit *fit;
	uint32_t *number;		/* in like */
	uint32_t most;
	bool more;			/* a larger value increases the ratio */
	bool text;			/* measure text only */
	uint64_t mails, text_packed_B;
};

int
mailgen_make(const struct fit *f, unsigned nth, uint64_t mails,
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
	rc = mailgen_make(t->fit, 0, t->mails, t->text ? FIT_TEXT_B : FIT_B,
	    to_measure, &made);
	if (!t->text)
		t->text_packed_B = made.packed_B[0];
	*ratio = t->text ? measure_ratio_of(&made, 0) : measure_ratio(&made);
	measure_free(&made);
	return rc;
}

void
mailgen_root_step(struct root *r, double y)
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
		mailgen_root_step(&r, t->more ? off : -off);
		*t->number = (uint32_t)r.x;
	}
	return rc;
}

int
mailgen_fit_repeat(const struct fit *f)
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
 * Corrects what is too small or too large in the generated messages: a message
 * may have nothing to quote, or less than it should, and signatures also repeat
 * lines.  The bytes of header fields are all, random ones and equal lines.
 */
static void
adjust_shares(struct mail_like *like, const struct traits *want,
    const struct traits *made)
{
	double more = ratio_of(want->quoted_B, want->text_B) -
	    ratio_of(made->quoted_B, made->text_B);
	double tokens = ratio_of(want->token_B, want->count) -
	    ratio_of(made->token_B, made->count);
	double same = ratio_of(want->same_B, want->count) -
	    ratio_of(made->same_B, made->count);

	if (want->quoted_B > 0)
		like->quoted = plus(like->quoted, more * PRNG_ONE, PRNG_ONE);
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
		return;
	like->signatures = plus(like->signatures, tokens / like->more_B *
	    PRNG_ONE, PRNG_ONE);
	like->constant = plus(like->constant, same / like->more_B * PRNG_ONE,
	    PRNG_ONE - like->signatures);
}

/* Generates messages until their shares are those of the originals. */
static int
fit_shares(const struct fit *f)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < SHARE_TRIES; i++) {
		struct measure *made = sys_calloc(1, sizeof(*made));

		if (made == NULL)
			return -ENOMEM;
		made->every = UINT64_MAX;
		rc = mailgen_make(f, 0, FIT_MAILS, FIT_TEXT_B, to_measure,
		    made);
		if (rc == 0)
			adjust_shares(f->like, &f->want->traits, &made->traits);
		measure_free(made);
		sys_free(made);
	}
	return rc;
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
	int rc = w == NULL ? -ENOMEM : 0;

	for (unsigned i = 0; rc == 0 && i < FIT_SEEDS; i++)
		rc = world_make(&w[i], i + 1, 1);
	if (rc == 0)
		rc = fit_shares(&f);
	if (rc == 0)
		rc = mailgen_fit_repeat(&f);
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
	if (rc == 0)
		rc = mailgen_fit_together(&f);
out:
	for (unsigned i = 0; w != NULL && i < FIT_SEEDS; i++)
		world_free(&w[i]);
	sys_free(w);
	return rc;
}
