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
	OPT_VERIFY, OPT_SEEKABLE, OPT_NO_SIZE, OPT_LONG, OPT_FLUSH_MS,
	OPT_ADAPT, OPT_ULTRA, OPT_BLOCK_CHECKSUM, OPT_CHECK, OPT_LEGACY,
	OPT_T,		/* -T that may be meant for threads */
	OPT_NO_CHECK, OPT_ASCII, OPT_BITS, OPT_PRESUME_TTY, OPT_SILENT,
	OPT_NONE	/* accepted, and without effect */
};

struct pzc_entry;	/* pzc_list.h */

/* An option's letter that is another's in this style. */
struct pzc_letter {
	int letter, means;
};

/* What is before and behind the stream in a gzip file. */
enum { GZIP_FIXED = 10, GZIP_TRAILER = 8 };

/* What may be the matter with a file; see pzc_say(). */
enum pzc_event {
	ON_OPEN,		/* it cannot be opened: why */
	ON_MISSING,		/* likewise, since it is not there */
	ON_DIRECTORY,
	ON_LINK,		/* a symbolic one */
	ON_LINK_READ,		/* likewise, in a tree that is only read */
	ON_SPECIAL,		/* no regular file */
	ON_LINKS,		/* how many others it has */
	ON_SET_ID,
	ON_PACKED,		/* it has a suffix: which */
	ON_NO_SUFFIX,
	ON_EXISTS,		/* the output does */
	ON_NO_FORMAT,
	ON_EMPTY,
	ON_CUT,			/* the stream is */
	ON_CORRUPT,
	ON_ERROR,		/* anything else: what */
	ON_WRITE,		/* the output cannot be written: why */
	ON_TRAILING,		/* garbage behind a stream */
	ON_TRAILING_OTHER,	/* likewise, the beginning of a stream */
	ON_TRAILING_ZEROS,
	ON_TIME,		/* the time cannot be stored */
	PZC_EVENTS
};

/*
 * How that is said: the path between the first two texts, and a word more
 * before the last, if that is not NULL.  A newline at the very beginning comes
 * before the program's name.
 */
struct pzc_saying {
	enum {
		SAY_NOTHING, SAY_NOTE, SAY_WARNING, SAY_ERROR,
		SAY_WARNING_IF_VERBOSE, SAY_ERROR_IF_VERBOSE
	} as;
	const char *before, *between, *after;
};

struct pzc_style {
	const char *name;
	const char *stdin_name, *stdout_name;
	const struct pzc_saying *sayings;	/* PZC_EVENTS of them */

	/* Options */
	/* Ends with NULL: variables of options, in their order. */
	const char *const *environment;
	const char *in_environment;	/* letters allowed there; NULL: all */
	const char *short_options;	/* as getopt_long(3) has them */
	const struct option *long_options;
	const struct pzc_letter *letters;	/* ends with 0 */
	uint32_t levels;	/* a bit each; 0: as the format has them */
	bool digits_apart;	/* -19 is -1 -9, not a level */
	bool strict;		/* refuses options that a format lacks */
	int bad_usage;		/* exit status of a call that makes no sense */
	bool restore_time_alone;	/* -M, -m also when decompressing */

	/* Names */
	const struct codec_suffix *suffixes;	/* NULL: the formats' */
	bool suffix_any_case;
	size_t suffix_max;	/* bytes of -S; 0: any */
	bool own_suffix_only;	/* .tgz is packed again, .gz is not */
	bool suffix_needed;	/* by -dN as well */
	bool says_all;		/* below -r as well, what has no suffix */
	bool test_skips_plain;	/* -r with -t and -l: what has no suffix */
	/* Tried for a file that is not there; ends with NULL, or NULL. */
	const char *const *look_up;
	bool look_up_all;	/* also behind another suffix */

	/* Files */
	bool lenient;		/* -k, -f and -o lift what stops -r */
	bool test_needs_file;	/* no link, without -c or -f */
	bool force_allows_set_id;
	bool stdin_time;	/* of a regular file, is stored */
	/* Formats read with -cdf, ends with NULL; others are copied. */
	const char *const *formats;
	bool copy_rest;		/* with -cdf: what is behind a stream */
	bool rest_is_read;	/* else, as the beginning of another */
	bool write_error_ends;	/* the program */
	bool errno_is_status;	/* then */
	bool talks;		/* of progress, and -v of the sandbox */

	/* -v: before the work, and when it is done. */
	void (*begin)(struct pzc *p, const struct pzc_run *run);
	void (*done)(struct pzc *p, const struct pzc_run *run);

	/* -l: a line, with the head before the first; the last line. */
	void (*list)(struct pzc *p, const struct pzc_entry *e);
	void (*list_sum)(const struct pzc *p);
	bool list_tests;	/* everything is decompressed */
	bool list_reads_pipes;	/* what is no file is */

	int (*help)(struct pzc *p);
	int (*license)(struct pzc *p);
	int (*version)(struct pzc *p);
};

extern const struct pzc_style pzc_style_pzc, pzc_style_gzip, pzc_style_pigz;

/*
 * Says an event of path as the style has it, and sets the status; word may be
 * NULL.  Whether anything was to be said: if not, it is no hindrance.
 */
bool pzc_say(struct pzc *p, enum pzc_event on, const char *path,
    const char *word);

/* Sets the style, the mode and -c that the program's name stands for. */
void pzc_be_called(struct pzc *p);

#endif
