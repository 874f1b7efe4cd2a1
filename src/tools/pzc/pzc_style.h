/*
 * pzc_style.h - whose program pzc is, by the name it was called by
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Under the names of gzip 1.12 and pigz 2.6 pzc is these programs: their
 * options, suffixes, layouts, sentences and statuses.  All in which they
 * differ stands in one struct pzc_style each; the code asks it, never for the
 * name.
 */
#ifndef COLDPRESS_PZC_STYLE_H
#define COLDPRESS_PZC_STYLE_H

#include "pzc.h"

#include <getopt.h>

/* Options without a letter, or whose letter means this in one style only. */
enum pzc_option {
	OPT_LEVEL = 256, OPT_FAST, OPT_BEST, OPT_MEMORY, OPT_STATS, OPT_JSON,
	OPT_VERIFY, OPT_LONG, OPT_FLUSH_MS, OPT_ADAPT, OPT_ULTRA,
	OPT_BLOCK_CHECKSUM, OPT_CHECK, OPT_LEGACY,
	OPT_T,		/* -T that may be meant for threads */
	OPT_ASCII, OPT_BITS, OPT_PRESUME_TTY,
	OPT_NONE	/* accepted, and without effect */
};

/* An option's letter that is another's in this style. */
struct pzc_letter {
	int letter, means;
};

struct pzc_style {
	const char *name;
	/* Ends with NULL: variables of options, in their order. */
	const char *const *environment;
	const char *in_environment;	/* letters allowed there; NULL: all */
	const char *short_options;	/* as getopt_long(3) has them */
	const struct option *long_options;
	const struct pzc_letter *letters;	/* ends with 0 */
	bool digits_apart;	/* -19 is -1 -9, not a level */
	bool strict;		/* refuses options that a format lacks */
	int bad_usage;		/* exit status of a call that makes no sense */
	bool restore_time_alone;	/* -M, -m also when decompressing */
	void (*usage)(const struct pzc *p);
	int (*help)(struct pzc *p);
	int (*license)(struct pzc *p);
	int (*version)(struct pzc *p);
};

extern const struct pzc_style pzc_style_pzc, pzc_style_gzip, pzc_style_pigz;

/* Sets the style, the mode and -c that the program's name stands for. */
void pzc_be_called(struct pzc *p);

#endif
