/*
 * filter.h - containerd's filters, as far as they concern snapshots
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the documentation of containerd's package filters.  A filter is a
 * list of conditions, separated by commas, which must all hold:
 *
 *	FIELD.FIELD...		there is such a value
 *	FIELD.FIELD...==VALUE	it is this one
 *	FIELD.FIELD...!=VALUE	it is not
 *
 * A field or value may be in double quotes, with the escape sequences of Go.
 * The empty filter matches everything.  Regular expressions (~=), which no
 * client of snapshotters uses, are refused.
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_FILTER_H
#define COLDPRESS_LAZY_SNAPSHOTS_FILTER_H

#include "base/arena.h"

#include <stdbool.h>

enum filter_operator { FILTER_PRESENT, FILTER_EQUAL, FILTER_DIFFERENT };

struct filter {
	struct filter *next;		/* which must hold, too */
	enum filter_operator operator;
	const char *field;		/* the first field */
	const char *rest;		/* the others, joined by dots, or "" */
	const char *value;
};

/*
 * Parses a filter; *f is NULL if it is empty.  Returns 0, -ENOMEM, or -EINVAL
 * with *why set to a constant clause.
 */
int filter_parse(struct filter **f, const char *text, struct arena *a,
    const char **why);

/*
 * Returns whether all conditions hold.  value() returns the value of a field,
 * or NULL if there is none.
 */
bool filter_match(const struct filter *f,
    const char *(*value)(void *arg, const char *field, const char *rest),
    void *arg);

#endif
