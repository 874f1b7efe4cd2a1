/*
 * mailgen_fit.h - declarations shared by the parts of the fit
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_MAILGEN_FIT_H
#define COLDPRESS_MAILGEN_FIT_H

#include "mailgen.h"

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

/*
 * Generates messages with seed nth + 1, up to a number, which is limited to what
 * one set of lists can have, and a size, and passes each to take.  Returns 0,
 * -ENOMEM or what take returned.
 */
int mailgen_make(const struct fit *f, unsigned nth, uint64_t mails,
    uint64_t bytes, take_mail *take, void *to);

/* The search for the root of an increasing function. */
struct root {
	double lo, hi, x, last, last_y;
	unsigned steps;
};

/* Moves x, where the function is y, by the secant method, within the bounds. */
void mailgen_root_step(struct root *r, double y);

/*
 * Finds how much a text repeats itself, from the ratio of each message without
 * attachments.
 */
int mailgen_fit_repeat(const struct fit *f);

/* Finds how words recur in other messages, and sets f->got. */
int mailgen_fit_together(const struct fit *f);

#endif
