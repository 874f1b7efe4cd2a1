/*
 * pzc.h - declarations shared by the parts of pzc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZC_H
#define COLDPRESS_PZC_H

#include "base/msg.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "format/convert.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* What xz -l says about a file, or about all. */
struct pzc_xz_sum {
	uint64_t streams, blocks, packed, plain, padding;
	uint32_t checks;		/* a bit for each, as in liblzma */
	uint64_t memory;		/* to decompress; after -lvv */
	bool sizes;			/* all blocks' headers have them */
	unsigned version;		/* of xz that can read it */
};

/* The totals at the end of a listing. */
struct pzc_totals {
	struct pzc_xz_sum xz;
	uint64_t files, packed, size;
	bool packed_less, size_less;	/* lower bounds only */
	bool unchecked;			/* some have no checksum */
	uint64_t around_B;		/* last file only: see pzc_run */
};

/* If several are given, the last in this list wins. */
enum pzc_mode { PZC_COMPRESS, PZC_DECOMPRESS, PZC_TEST, PZC_LIST };

enum { PZC_THREADS_MAX = 4096, PZC_LEVEL_MAX = 22, PZC_VARIABLES = 2 };

struct pzc_style;
struct pzc_samples;

/* xz's limits, in bytes; 0: none. */
struct pzc_limit {
	uint64_t pack, unpack;
	bool fixed;			/* do not adjust settings to fit */
};

struct pzc {
	struct msg msg;
	const struct pzc_style *style;
	const char *called;		/* the name it was called by */
	enum pzc_mode mode;
	const struct codec *codec;	/* from -F and related options, or
					 * NULL */
	struct codec_options codec_options;
	int level;			/* -1: the default of the codec */
	uint64_t memory;
	bool to_stdout, force, keep, recursive, json, sync, verify;
	bool no_warn;			/* a warning leaves the status 0 */
	bool robot;			/* -l for programs */
	struct pzc_limit limit;
	struct options_list names_files;	/* more operands; "-" for
						 * standard input */
	char names_end;			/* the character after each */
	struct strbuf filters;		/* xz's chain */
	struct strbuf lengths;		/* of xz's blocks */
	bool ignored;			/* an option that changes nothing */
	const char *unused;		/* likewise, with a value */
	int sparse;			/* 1, -1: make holes or not; 0: the
					 * style's default */
	int pass_through;		/* 1, -1: data in no format is copied,
					 * or not, whatever -f says */
	const char *out_dir;		/* where outputs go, or NULL; */
	bool out_mirror;		/* with the directories of the input */
	bool progress, no_progress;	/* done() in spite of -q; never */
	bool consoles[3];		/* taken to be terminals, for tests of
					 * zstd */
	bool shows_parameters;
	bool several;			/* lz4: all operands are inputs */
	bool mode_given;
	bool exclude;			/* skip files with a suffix */
	const char *dictionary, *patch;	/* files that zstd refers to; */
	char *blob;			/* the bytes of one, */
	size_t blob_B;			/* how many, and */
	dev_t blob_dev;			/* which it is, */
	ino_t blob_ino;
	const char *trains;		/* make a dictionary, in this way; */
	const char *train_options;
	int selectivity;		/* -1: not given */
	struct pzc_samples *samples;	/* from these, */
	const char *dictionary_id;	/* with this ID, or NULL */
	size_t job_B;			/* zstd's -B; 0: its choice */
	uint64_t stream_B;		/* size of standard input; 0: unknown */
	/* names of formats to be decoded, if not all of the style's */
	const char *const *formats;
	const char *format[2];		/* the one that its name means */
	bool adapt;
	int adapt_min, adapt_max;
	bool store_name, store_time, store_size, restore_name, restore_time;
	bool ascii, presume_tty;	/* gzip's -a, and an option used by
					 * gzip's own tests */
	bool want_time;			/* -M */
	bool zopfli;			/* -I, -J or -O */
	bool ultra, no_check;
	bool fast;			/* the level is that of --fast=N */
	const char *output;		/* -o */
	const char *suffix;		/* -S */
	const char *alias;		/* -A */
	unsigned slice, slices;		/* --slice: from 1; 0: the whole file */
	const char *stats;		/* --stats: a file, "-" for stderr */
	char **files;
	int file_count;
	struct pzc_totals totals;
	bool ended;			/* process no more files */
	char **words[PZC_VARIABLES];	/* from environment variables */
};

/*
 * Fills in *p from the command line (and from environment variables, which are
 * processed first), and checks it.  Returns -1 to continue, or the exit status
 * if there is nothing more to do (-h, -V) or an error was reported.
 */
int pzc_parse(struct pzc *p, int argc, char **argv);

/* Frees memory allocated by pzc_parse(). */
void pzc_release(struct pzc *p);

/*
 * A file to be read.  All operations on it, and on files next to it, are
 * relative to dirfd; path is used only for messages and for deriving names.
 */
struct source {
	const char *path;
	int dirfd;			/* its directory, or AT_FDCWD */
	const char *base;		/* name in that directory */
	int fd;
	struct stat st;			/* fstat() result when fd was opened */
	bool is_stdin;
	bool in_tree;			/* found by -r; dirfd belongs to the
					 * walk */
	bool followed;			/* base may be a symbolic link */
	char *found;			/* path with a suffix appended, or NULL;
					 * freed by pzc_source_close() */
};

/*
 * Processes one operand ("-" for standard input).  The status is stored in
 * p->msg.
 */
void pzc_operand(struct pzc *p, const char *path);

/* For -r: processes an operand, and all files below it. */
void pzc_walk(struct pzc *p, const char *path);

/*
 * These functions open the directory that contains path, and the file itself.
 * They return 0, or -1 after reporting the error.  The source must be closed in
 * either case.
 */
int pzc_source_locate(struct pzc *p, struct source *s, const char *path);
int pzc_source_open(struct pzc *p, struct source *s);
void pzc_source_close(struct source *s);

/* Lists or converts the file, depending on p->mode. */
void pzc_source_run(struct pzc *p, struct source *s);

/*
 * Confines the process once all files are open: with a single operand, no other
 * files can be opened from then on.  out, if not NULL and open, can still be
 * linked to its name.
 */
struct output;
void pzc_confine(struct pzc *p, const struct source *s,
    const struct output *out);

/*
 * Reads a regular file into p->blob and makes it the value of a setting, unless
 * it is empty.  Returns 0 or -errno.
 */
int pzc_load_blob(struct pzc *p, const char *path, const char *key);

/* Returns whether standard input, output or error is a terminal. */
bool pzc_is_console(const struct pzc *p, int fd);

/*
 * Returns the format of a stream that begins with len bytes, or NULL if it is
 * not known.  The bytes take precedence over -F, which may come from the
 * environment.
 */
const struct codec *pzc_codec_of(const struct pzc *p, const uint8_t *head,
    size_t len);

/*
 * Returns the output's name: the argument of -o if given; otherwise path, with
 * the suffix of the codec `to` appended or, if `to` is NULL, with its suffix
 * removed.  If stored is not "", it is the name to be restored.  The caller
 * frees the result with sys_free().  Returns NULL after reporting an error.
 */
char *pzc_target_name(struct pzc *p, const char *path,
    const struct codec *to, const char *stored);

/*
 * Returns whether path has a suffix that can be removed.  Reports an error if
 * not.
 */
bool pzc_has_suffix(struct pzc *p, const char *path);
/*
 * Returns path without its suffix, to be freed with sys_free(), or NULL if it
 * has no suffix.
 */
char *pzc_plain_name(const struct pzc *p, const char *path);
bool pzc_is_packed(const struct pzc *p, const char *path);	/* without a
								 * message */

/* For -l: prints a line for each file, and finally one with the totals. */
void pzc_list(struct pzc *p, const struct source *s);
void pzc_list_end(struct pzc *p);

/*
 * Reports the message for a stream error in path; why, if not NULL, takes
 * precedence.
 */
void pzc_say_failure(struct pzc *p, const char *path, int rc,
    const char *why);

/*
 * Decides whether data after a gzip stream is an error.  Returns 0, or -ENODATA
 * after reporting the error.
 */
int pzc_judge_rest(struct pzc *p, const char *path,
    const struct codec_notes *n);

/* The result of one conversion, for -v, --stats and PZC_STATS. */
struct pzc_run {
	const char *name;
	const char *target;		/* name of the output */
	bool is_stdin;
	uint64_t around_B;		/* size of gzip's header and trailer */
	const struct codec *codec;
	const struct convert_result *result;
	bool decompress;
	int level;
	const struct adapt *adapt;	/* overrides level, or NULL */
	int64_t in_size;		/* of the input; -1: not known */
	uint64_t wall_ns, user_us, sys_us;
};

/* Appends a row about the run to the file path; "-" is standard error. */
void pzc_write_stats(struct pzc *p, const char *path,
    const struct pzc_run *run);

/* Prints the output of pzc's own -v. */
void pzc_tell(struct pzc *p, const struct pzc_run *run);

/*
 * Called by the name of another program, pzc behaves like it: it has the same
 * options, suffixes, layouts, messages and exit statuses.  All differences are
 * in one struct pzc_style per program; other code never examines the name.
 */

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
	ON_UNSUPPORTED,		/* if it has words; else ON_ERROR */
	ON_MEMORY,		/* likewise, beyond a limit; word: need */
	ON_RESIZED,		/* likewise; not the size given */
	ON_UNCHECKED,		/* a check of unknown type */
	ON_TERMINAL_OUT,	/* will not write to, or read from, it */
	ON_TERMINAL_IN,
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
		SAY_BARE,		/* an error, without the program's
					 * name */
		SAY_WARNING_IF_VERBOSE, SAY_ERROR_IF_VERBOSE
	} as;
	const char *before, *between, *after;
};

/* The results of -l for one file. */
struct pzc_entry {
	const struct pzc *p;
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
	bool one_name;		/* in messages, whatever it is called */
	const char *stdin_name, *stdout_name;
	const struct pzc_saying *sayings;	/* array of PZC_EVENTS */
	const uint8_t *statuses;	/* likewise, exit statuses instead of
					 * the usual ones; or NULL */

	/* Options */
	/*
	 * Environment variables that contain options, in order; ends with NULL.
	 */
	const char *const *environment;
	bool restricts_environment;	/* allows only some options there */
	/* the table of its options; NULL: pzc's, of which it has these */
	const struct options_row *rows;
	size_t row_count;
	unsigned mask;
	const char *digits;		/* letters that are levels, after "-":
					 * operands are returned */
	const char *usage, *about;	/* for --help */
	uint32_t levels;	/* bit mask; 0: levels of the format */
	int level_typed;	/* the highest that is not an error; 0:
				 * PZC_LEVEL_MAX */
	bool digits_apart;	/* -19 is -1 -9, not a level */
	bool strict;		/* rejects options not supported by a format */
	int bad_usage;		/* exit status of a usage error */
	const char *format;	/* what it writes; NULL: gzip */
	bool keeps;		/* does not remove the input */
	/*
	 * Called after the options, before and after the codec is chosen; NULL:
	 * there is nothing to do.  prepare returns what pzc_parse() does.
	 */
	void (*settle)(struct pzc *p);
	int (*prepare)(struct pzc *p);
	bool restore_time_alone;	/* -M, -m also when decompressing */

	/* Names */
	const struct codec_suffix *suffixes;	/* NULL: suffixes of the
						 * formats */
	bool suffix_any_case;
	size_t suffix_max;	/* maximum length of -S; 0: any */
	bool own_suffix_only;	/* .tgz is compressed again, .gz is not */
	bool suffix_by_format;	/* only that of the format written counts */
	bool suffix_again;	/* a file with it is compressed again */
	bool suffix_refused;	/* ... and not even with -f */
	/* what a name without a suffix gets when decompressing, or NULL */
	const char *suffix_other;
	bool suffix_last;	/* checked once the format is known */
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
	bool stdin_size;	/* stores the size of a regular file there */
	bool stdin_time;	/* stores the time of a regular file */
	/* Formats decoded with -cdf, ending with NULL; others are copied. */
	const char *const *formats;
	bool formats_only;	/* other formats are never decoded */
	bool never_asks;	/* whether to overwrite a file */
	bool keep_follows;	/* -k follows links */
	bool regular_only;	/* -f and -k do not allow special files */
	bool lists_itself;	/* list() reads the file */
	bool links_followed;	/* always */
	bool empty_is_right;	/* an empty input decompresses to nothing */
	bool rest_is_error;	/* data after a stream is */
	bool says_done;		/* done() without -v, too */
	bool concatenates;	/* -o takes several inputs */
	bool sparse;		/* decompresses zeros to holes, in files */
	bool sparse_stdout;	/* also in a file that is standard output */
	bool stdin_copies;	/* -df of standard input needs no -c */
	bool copy_rest;		/* with -cdf: copies data after a stream */
	bool rest_is_read;	/* otherwise such data is read as a stream */
	bool write_error_ends;	/* a write error ends the program */
	bool errno_is_status;	/* its exit status is then errno */
	bool talks;		/* prints progress and, with -v, the sandbox
				 * state */

	/*
	 * Called before the conversion, with -v or for parameters, and after
	 * it.
	 */
	void (*begin)(struct pzc *p, const struct pzc_run *run);
	void (*done)(struct pzc *p, const struct pzc_run *run);

	bool blob_apart;	/* a dictionary cannot be an input */
	void (*sample)(struct pzc *p, struct source *s);	/* --train */
	void (*end)(struct pzc *p);	/* after the last file; or NULL */

	/*
	 * -l: print a line, preceded by the header if it is the first; print
	 * the last line.
	 */
	void (*list)(struct pzc *p, const struct pzc_entry *e);
	/* -v: a line for a frame; arg is a struct pzc_entry */
	void (*list_frame)(void *arg, const struct codec_frame *f);
	void (*list_sum)(const struct pzc *p);
	bool list_tests;	/* decompresses all data */
	bool list_reads_pipes;	/* also lists pipes */

	int (*version)(struct pzc *p);
};

extern const struct pzc_style pzc_style_pzc, pzc_style_gzip, pzc_style_pigz,
    pzc_style_xz, pzc_style_zstd, pzc_style_bzip2, pzc_style_lz4;

/* An option's callback: step is 1 for -v and -1 for -q, as in xz and zstd. */
int pzc_take_loudness(void *into, int step);

/* Takes an option's number of threads; 0: as many as CPUs. */
int pzc_take_threads(void *into);

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

/* A size such as "9999 B" or "12.3 KiB". */
struct pzc_nice {
	char s[32];
};
struct pzc_nice pzc_nice_size(uint64_t n);

/* -l in xz's style; see struct pzc_style. */
void pzc_xz_list(struct pzc *p, const struct pzc_entry *e);
void pzc_xz_list_sum(const struct pzc *p);

/* -l in pzc's own style; see struct pzc_style. */
void pzc_list_line(struct pzc *p, const struct pzc_entry *e);
void pzc_list_sum(const struct pzc *p);

/*
 * Prints a name and ends the line.  A name may contain any character, and a
 * name from a header is untrusted, so control characters are written as \ooo.
 */
void pzc_put_name(const char *name);
void pzc_put_text(const char *name);	/* does not end the line */

#endif
