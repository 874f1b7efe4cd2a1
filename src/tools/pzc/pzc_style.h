/*
 * pzc_style.h - which program pzc behaves as, depending on its name
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Called gzip or pigz, pzc behaves like gzip 1.12 or pigz 2.6: it has the same
 * options, suffixes, layouts, messages and exit statuses.  All differences are
 * in one struct pzc_style per program; the code examines it, never the name.
 */
#ifndef COLDPRESS_PZC_STYLE_H
#define COLDPRESS_PZC_STYLE_H

#include "pzc.h"

#include <getopt.h>

/*
 * Options without a letter, or whose letter has this meaning in only one style.
 */
enum pzc_option {
	OPT_LEVEL = 256, OPT_FAST, OPT_BEST, OPT_MEMORY, OPT_STATS, OPT_JSON,
	OPT_VERIFY, OPT_SEEKABLE, OPT_NO_SIZE, OPT_LONG, OPT_FLUSH_MS,
	OPT_ADAPT, OPT_ULTRA, OPT_BLOCK_CHECKSUM, OPT_CHECK, OPT_LEGACY,
	OPT_T,		/* -T, which may mean threads */
	OPT_NO_CHECK, OPT_ASCII, OPT_BITS, OPT_PRESUME_TTY, OPT_SILENT,
	OPT_NONE	/* accepted and ignored */
};

struct pzc_entry;	/* pzc_list.h */

/* An option letter that stands for a different option in this style. */
struct pzc_letter {
	int letter, means;
};

/* How many bytes precede and follow the stream in a gzip file. */
enum { GZIP_FIXED = 10, GZIP_TRAILER = 8 };

/* What may be wrong with a file; see pzc_say(). */
enum pzc_event {
	ON_OPEN,		/* cannot be opened; word: why */
	ON_MISSING,		/* likewise, because it does not exist */
	ON_DIRECTORY,
	ON_LINK,		/* a symbolic link */
	ON_LINK_READ,		/* likewise, in a tree that is only read */
	ON_SPECIAL,		/* not a regular file */
	ON_LINKS,		/* number of other links */
	ON_SET_ID,
	ON_PACKED,		/* already has a suffix; word: which */
	ON_NO_SUFFIX,
	ON_EXISTS,		/* the output already exists */
	ON_NO_FORMAT,
	ON_EMPTY,
	ON_CUT,			/* the stream is truncated */
	ON_CORRUPT,
	ON_ERROR,		/* any other error; word: which */
	ON_WRITE,		/* cannot write the output; word: why */
	ON_TRAILING,		/* garbage after a stream */
	ON_TRAILING_OTHER,	/* likewise, resembling another stream */
	ON_TRAILING_ZEROS,
	ON_TIME,		/* the time cannot be stored */
	PZC_EVENTS
};

/*
 * A message is the first text, the path and the second text; unless the third
 * is NULL, a word and the third text follow.  A newline at the very beginning
 * comes before the program's name.
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
	/* Environment variables with options, in order; ends with NULL. */
	const char *const *environment;
	const char *in_environment;	/* letters allowed there; NULL: all */
	const char *short_options;	/* in the form of getopt_long(3) */
	const struct option *long_options;
	const struct pzc_letter *letters;	/* ends with 0 */
	uint32_t levels;	/* one bit each; 0: the format's */
	bool digits_apart;	/* -19 is -1 -9, not a level */
	bool strict;		/* rejects options that a format lacks */
	int bad_usage;		/* exit status of a usage error */
	bool restore_time_alone;	/* -M, -m also when decompressing */

	/* Names */
	const struct codec_suffix *suffixes;	/* NULL: the formats' */
	bool suffix_any_case;
	size_t suffix_max;	/* longest -S; 0: any */
	bool own_suffix_only;	/* .tgz is compressed again, .gz is not */
	bool suffix_needed;	/* -dN also needs a suffix */
	bool says_all;		/* with -r, also reports files without a
				 * suffix */
	bool test_skips_plain;	/* -r with -t and -l skips files without a
				 * suffix */
	/*
	 * Suffixes tried for a missing file: NULL, or a NULL-terminated list.
	 */
	const char *const *look_up;
	bool look_up_all;	/* even if path has another suffix */

	bool lenient;		/* -k, -f and -o lift -r's restrictions */
	bool test_needs_file;	/* -t and -l follow links only with -c or -f */
	bool force_allows_set_id;
	bool stdin_time;	/* stores a regular file's time */
	/* Formats decoded with -cdf, ending with NULL; others are copied. */
	const char *const *formats;
	bool copy_rest;		/* with -cdf: copies what follows a stream */
	bool rest_is_read;	/* otherwise it is read as another stream */
	bool write_error_ends;	/* a write error ends the program */
	bool errno_is_status;	/* if so, its exit status is errno */
	bool talks;		/* prints progress and, with -v, the sandbox */

	/* -v: before the work, and after it. */
	void (*begin)(struct pzc *p, const struct pzc_run *run);
	void (*done)(struct pzc *p, const struct pzc_run *run);

	/*
	 * -l: print a line, preceded by the header if it is the first; print
	 * the last line.
	 */
	void (*list)(struct pzc *p, const struct pzc_entry *e);
	void (*list_sum)(const struct pzc *p);
	bool list_tests;	/* decompresses everything */
	bool list_reads_pipes;	/* also lists pipes */

	int (*help)(struct pzc *p);
	int (*license)(struct pzc *p);
	int (*version)(struct pzc *p);
};

extern const struct pzc_style pzc_style_pzc, pzc_style_gzip, pzc_style_pigz;

/*
 * Reports an event about path in the program's style, and sets the status; word
 * may be NULL.  Returns whether anything was reported: if not, the event can be
 * ignored.
 */
bool pzc_say(struct pzc *p, enum pzc_event on, const char *path,
    const char *word);

/* Sets the style, the mode and -c according to the program's name. */
void pzc_be_called(struct pzc *p);

#endif
