/*
 * pzc_style.h - the behaviour of pzc, depending on the program name
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Called gzip or pigz, pzc behaves like gzip 1.12 or pigz 2.6: it has the same
 * options, suffixes, layouts, messages and exit statuses.  All differences are
 * in one struct pzc_style per program; other code never examines the name.
 */
#ifndef COLDPRESS_PZC_STYLE_H
#define COLDPRESS_PZC_STYLE_H

#include "pzc.h"

/* The programs, as bits. */
enum { PZC_AS_PZC = 1, PZC_AS_GZIP = 2, PZC_AS_PIGZ = 4 };

/*
 * The sizes of a gzip file's trailer and of the fixed part of its header.
 */
enum { GZIP_FIXED = 10, GZIP_TRAILER = 8 };

/* Events concerning a file; see pzc_say(). */
enum pzc_event {
	ON_OPEN,		/* cannot be opened; word: reason */
	ON_MISSING,		/* does not exist */
	ON_DIRECTORY,
	ON_LINK,		/* a symbolic link */
	ON_LINK_READ,		/* a symbolic link, in a tree that is only
				 * read */
	ON_SPECIAL,		/* not a regular file */
	ON_LINKS,		/* has other links; word: their number */
	ON_SET_ID,
	ON_PACKED,		/* already has a suffix; word: the suffix */
	ON_NO_SUFFIX,
	ON_EXISTS,		/* the output already exists */
	ON_NO_FORMAT,
	ON_EMPTY,
	ON_CUT,			/* the stream is truncated */
	ON_CORRUPT,
	ON_ERROR,		/* any other error; word: the error */
	ON_WRITE,		/* cannot write the output; word: reason */
	ON_TRAILING,		/* garbage after a stream */
	ON_TRAILING_OTHER,	/* garbage that resembles another stream */
	ON_TRAILING_ZEROS,
	ON_TIME,		/* the time cannot be stored */
	PZC_EVENTS
};

/*
 * A message consists of the first text, the path and the second text; unless
 * the third text is NULL, a word and the third text follow.  A newline at the
 * start of the first text is printed before the program name.
 */
struct pzc_saying {
	enum {
		SAY_NOTHING, SAY_NOTE, SAY_WARNING, SAY_ERROR,
		SAY_WARNING_IF_VERBOSE, SAY_ERROR_IF_VERBOSE
	} as;
	const char *before, *between, *after;
};

/* The results of -l for one file. */
struct pzc_entry {
	const struct source *src;
	const struct codec *codec;
	struct input in;
	struct codec_listing l;
	struct codec_stored stored;
	bool has_packed, tested;
	uint64_t packed;		/* size of the file */
	int64_t mtime;			/* 0: none */
};

struct pzc_style {
	const char *name;
	const char *stdin_name, *stdout_name;
	const struct pzc_saying *sayings;	/* array of PZC_EVENTS */

	/* Options */
	/*
	 * Environment variables that contain options, in order; ends with NULL.
	 */
	const char *const *environment;
	bool restricts_environment;	/* allows only some options there */
	unsigned mask;			/* the options of its own */
	const char *digits;		/* letters that are levels, after "-":
					 * operands are returned */
	const char *usage, *about;	/* for --help */
	uint32_t levels;	/* bit mask; 0: levels of the format */
	bool digits_apart;	/* -19 is -1 -9, not a level */
	bool strict;		/* rejects options not supported by a format */
	int bad_usage;		/* exit status of a usage error */
	bool restore_time_alone;	/* -M, -m also when decompressing */

	/* Names */
	const struct codec_suffix *suffixes;	/* NULL: suffixes of the
						 * formats */
	bool suffix_any_case;
	size_t suffix_max;	/* maximum length of -S; 0: any */
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
	bool look_up_all;	/* also if path has another suffix */

	bool lenient;		/* -k, -f and -o lift -r's restrictions */
	bool test_needs_file;	/* -t and -l follow links only with -c or -f */
	bool force_allows_set_id;
	bool stdin_time;	/* stores the time of a regular file */
	/* Formats decoded with -cdf, ending with NULL; others are copied. */
	const char *const *formats;
	bool stdin_copies;	/* -df of standard input needs no -c */
	bool copy_rest;		/* with -cdf: copies data after a stream */
	bool rest_is_read;	/* otherwise such data is read as a stream */
	bool write_error_ends;	/* a write error ends the program */
	bool errno_is_status;	/* its exit status is then errno */
	bool talks;		/* prints progress and, with -v, the sandbox
				 * state */

	/* -v: called before and after the conversion. */
	void (*begin)(struct pzc *p, const struct pzc_run *run);
	void (*done)(struct pzc *p, const struct pzc_run *run);

	/*
	 * -l: print a line, preceded by the header if it is the first; print
	 * the last line.
	 */
	void (*list)(struct pzc *p, const struct pzc_entry *e);
	void (*list_sum)(const struct pzc *p);
	bool list_tests;	/* decompresses all data */
	bool list_reads_pipes;	/* also lists pipes */

	int (*version)(struct pzc *p);
};

extern const struct pzc_style pzc_style_pzc, pzc_style_gzip, pzc_style_pigz;

/*
 * Reports an event concerning path in the program's style, and sets the status;
 * word may be NULL.  Returns whether anything was reported; if not, the event
 * can be ignored.
 */
bool pzc_say(struct pzc *p, enum pzc_event on, const char *path,
    const char *word);

/*
 * Sets the style, the mode and -c according to the program name; any name that
 * belongs to no other program means pzc.  Returns the same values as
 * pzc_parse().
 */
int pzc_be_called(struct pzc *p);

/* -l in pzc's own style; see struct pzc_style. */
void pzc_list_line(struct pzc *p, const struct pzc_entry *e);
void pzc_list_sum(const struct pzc *p);

/*
 * Prints a name and ends the line.  A name may contain any character, and a
 * name from a header is untrusted, so control characters are written as \ooo.
 */
void pzc_put_name(const char *name);

#endif
