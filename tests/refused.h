/*
 * refused.h - the same run once more for each of its calls, which is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * 	rc = run();			after fault_plan(""); must succeed
 * 	refused_count(&f);
 * 	while (refused_next(&f)) {
 * 		rc = run();
 * 		refused_end(&f);
 * 		...			judge rc; f.call names the refused call
 * 	}
 */
#ifndef COLDPRESS_TESTS_REFUSED_H
#define COLDPRESS_TESTS_REFUSED_H

#include "sys_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* A kind of call, how it fails, and the run's result then; 0: any error. */
struct refusal {
	enum fault_kind kind;
	const char *what;	/* what follows K in a plan */
	int want;
	bool always;		/* no run does without */
};

/* Begins as { .name, .refusals, .refusal_count, .turns }. */
struct refused {
	const char *name;	/* of the run */
	const struct refusal *refusals;
	size_t refusal_count;
	unsigned long turns;	/* how many calls of a kind, about, */
	unsigned long first, last;	/* besides all of the first and last */
	const char *always;	/* a plan for all runs, with a comma at its
				 * end; or NULL */

	unsigned long calls[FAULT_KINDS];	/* may be set to 0 */
	size_t at;
	unsigned long k;	/* the call that is refused, or 0 */
	long blocks;
	const struct refusal *refusal;
	char call[128];		/* as a plan */
};

/* Takes the calls of the run that just ended for those to refuse. */
static inline void
refused_count(struct refused *f)
{
	for (int i = 0; i < FAULT_KINDS; i++)
		f->calls[i] = fault_count((enum fault_kind)i);
	f->at = f->k = 0;
}

/* The next of n calls to be refused after call k. */
static inline unsigned long
refused_after(const struct refused *f, unsigned long k, unsigned long n)
{
	unsigned long last = n < f->last ? 1 : n - f->last + 1;

	if (k < f->first || k >= last)
		return k + 1;
	k += 1 + n / f->turns;
	return k < last ? k : last;
}

/* Sets the plan for the next run.  Returns false after the last. */
static inline bool
refused_next(struct refused *f)
{
	const struct refusal *r;
	unsigned long n;

	for (; f->at < f->refusal_count; f->at++, f->k = 0) {
		r = &f->refusals[f->at];
		n = f->calls[r->kind];
		f->k = f->k == 0 ? 1 : refused_after(f, f->k, n);
		if (f->k <= n) {
			f->refusal = r;
			f->blocks = fault_blocks();
			snprintf(f->call, sizeof(f->call), "%s%s:%lu%s",
			    f->always != NULL ? f->always : "",
			    fault_names[r->kind], f->k, r->what);
			assert_true(fault_plan(f->call));
			return true;
		}
	}
	return false;
}

/* The run has ended.  Nothing may be left of it. */
static inline void
refused_end(const struct refused *f)
{
	assert_true(fault_plan(""));
	if (fault_blocks() != f->blocks)
		fail_msg("%s, %s: %ld blocks left", f->name, f->call,
		    fault_blocks() - f->blocks);
}

#endif
