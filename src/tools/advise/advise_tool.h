/*
 * advise_tool.h - declarations shared by the parts of coldpress-advise
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ADVISE_TOOL_H
#define COLDPRESS_ADVISE_TOOL_H

#include "advise/advise.h"
#include "base/msg.h"
#include "base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The reason against what could not be tried enough. */
#define ADVISE_UNKNOWN "too few units: needs more --budget"

enum advise_objective { ADVISE_SIZE, ADVISE_TOTAL_TIME, ADVISE_COLD_READ };

struct advise_options {
	char **places;			/* absolute, in the census's arena */
	size_t place_count;
	double budget_s;
	double link_Bps;		/* 0: there is no link */
	uint64_t reads, touched;	/* per cent of the result */
	unsigned cores;
	enum advise_objective objective;
	const char *what_for;		/* --for; NULL: by the kinds */
	const char *readers;		/* --reader: a,b-5.4 */
	const char *readers_file;
	const char *rows;		/* -o */
	const char *since;
	const char *list;		/* --list: a kind's name */
	uint64_t least_B;
	uint64_t hot_min;
	uint64_t seed;
	bool cpu;			/* the budget is CPU time */
	bool json;
	int argc;
	char *const *argv;
};

/* A group, and what is said about it. */
struct advise_case {
	struct advise_group group;
	char *place;			/* the directory that holds its files */
	struct advise_image **images;	/* that contain the group's files */
	size_t image_count, image_room;
	bool probe;			/* only looked at: is it compressed? */
	bool all_drawn;
	double cost_s[2];		/* of the last trial without and with
					 * slow candidates */
	const char *why_not;		/* NULL: a proposal */
	struct advise_estimate estimate[ADVISE_CANDIDATES];
	bool known[ADVISE_CANDIDATES];	/* estimate is valid */
	double meta_B;			/* names and attributes in an image */
	bool read[ADVISE_CANDIDATES];	/* by all readers */
	unsigned pick;
	double saves_B;
	double time_s;			/* to do it */
	const char *bound;		/* what that time is spent on */
	unsigned number;		/* of the proposal, from 1; 0: none */
};

struct advise_tool {
	struct msg msg;
	struct advise_options o;
	struct advise_census census;
	struct advise_case *cases;
	size_t count, room;
	double start_s;			/* CPU time before main() */
	double touch_s;			/* and of a byte of new memory */
	double took_s;
};

/* advise_options.c: returns -1 to continue, or the exit status. */
int advise_parse(struct advise_tool *t, int argc, char **argv);

/* advise_cases.c: return 0 or -errno. */
int advise_cases_make(struct advise_tool *t);
/* Whether a proposal about the files of its kind would include this file. */
bool advise_is_proposed(const struct advise_tool *t,
    const struct advise_file *f);
int advise_cases_measure(struct advise_tool *t, uint64_t end_ns);
void advise_cases_free(struct advise_tool *t);

/*
 * advise_choose.c: estimates everything, chooses a candidate for each case, and
 * sorts the cases: proposals first, those that save most before the others.
 * Returns 0 or -errno.
 */
int advise_choose(struct advise_tool *t);

/* The time to write and to read the result once; *bound is the bottleneck. */
double advise_write_time(const struct advise_tool *t,
    const struct advise_case *c, unsigned k, const char **bound);
double advise_read_time(const struct advise_tool *t,
    const struct advise_case *c, unsigned k);

/* Returns the size that a candidate would lead to. */
double advise_size(const struct advise_case *c, unsigned k);

/*
 * advise_readers.c: sets read[] of every case according to --reader.  Returns a
 * status as advise_parse() does.
 */
int advise_readers(struct advise_tool *t);

/* advise_print.c: write the rows to -o or standard output, and the table. */
int advise_print_rows(struct advise_tool *t);
int advise_print_table(struct advise_tool *t);

#endif
