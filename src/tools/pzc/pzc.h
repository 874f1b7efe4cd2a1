/*
 * pzc.h - what the parts of pzc share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZC_H
#define COLDPRESS_PZC_H

#include "base/msg.h"
#include "format/convert.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The sums below a listing. */
struct pzc_totals {
	uint64_t files, packed, size;
	bool packed_less, size_less;	/* there was more */
	uint64_t around_B;		/* of the last: see pzc_run */
};

/* Of two that are given the later one here counts. */
enum pzc_mode { PZC_COMPRESS, PZC_DECOMPRESS, PZC_TEST, PZC_LIST };

enum { PZC_THREADS_MAX = 4096, PZC_LEVEL_MAX = 22, PZC_VARIABLES = 3 };

struct pzc_style;		/* pzc_style.h */

struct pzc {
	struct msg msg;
	const struct pzc_style *style;
	enum pzc_mode mode;
	const struct codec *codec;	/* of -F and its kin, or NULL */
	struct codec_options codec_options;
	int level;			/* -1: the codec's default */
	uint64_t memory;
	bool to_stdout, force, keep, recursive, json, sync, verify;
	bool adapt;
	int adapt_min, adapt_max;
	bool store_name, store_time, store_size, restore_name, restore_time;
	bool ascii, presume_tty;	/* gzip's -a, and its tests' option */
	bool want_time;			/* -M */
	bool zopfli;			/* -I, -J or -O */
	bool ultra;
	const char *output;		/* -o */
	const char *suffix;		/* -S */
	const char *alias;		/* -A */
	const char *stats;		/* --stats: a file, "-" for stderr */
	char **files;
	int file_count;
	struct pzc_totals totals;
	bool ended;			/* nothing more is to be done */
	char **words[PZC_VARIABLES];	/* of the environment's variables */
};

/*
 * Fills in *p from the command line (and what the environment puts before
 * it).  Returns -1 to go on, or the exit status when all is done (-h, -V) or
 * wrong.
 */
int pzc_parse(struct pzc *p, int argc, char **argv);

/* An option with getopt_long(3)'s optarg.  As pzc_parse(). */
int pzc_take_option(struct pzc *p, int opt);

/* What -h, -L and -V say: the exit status. */
int pzc_help(struct pzc *p);
int pzc_license(struct pzc *p);
int pzc_version(struct pzc *p);

/* Whether the options fit each other; completes them.  As pzc_parse(). */
int pzc_check(struct pzc *p);

/* Frees what pzc_parse() allocated. */
void pzc_release(struct pzc *p);

/*
 * A file that is to be read.  What is done to it and beside it is done within
 * dirfd: the path is for messages, and to make names of.
 */
struct source {
	const char *path;
	int dirfd;			/* of the directory, or AT_FDCWD */
	const char *base;		/* its name there */
	int fd;
	struct stat st;			/* of fd, when it was opened */
	bool is_stdin;
	bool in_tree;			/* below -r; dirfd is the walk's */
	bool followed;			/* base may be a symbolic link */
	char *found;			/* path with a suffix put to it, or
					   NULL; freed by pzc_source_close() */
};

/* One operand ("-" for standard input).  Status is kept in p->msg. */
void pzc_operand(struct pzc *p, const char *path);

/* -r: an operand, and all that is below it. */
void pzc_walk(struct pzc *p, const char *path);

/*
 * Opens the directory that path is in, then what is there.  0 or -1, when it
 * has been said why not.  To be closed after each.
 */
int pzc_source_locate(struct pzc *p, struct source *s, const char *path);
int pzc_source_open(struct pzc *p, struct source *s);
void pzc_source_close(struct source *s);

/* Lists it, or converts it as p->mode says. */
void pzc_source_run(struct pzc *p, struct source *s);
void pzc_file(struct pzc *p, struct source *s);

/*
 * The name of the output: that of -o, or path with the suffix of to
 * (compressing), or without its own (to is NULL), where stored, if not "",
 * is the name to be restored.  The caller's, for sys_free(); or NULL, when
 * it has been said why.
 */
char *pzc_target_name(struct pzc *p, const char *path,
    const struct codec *to, const char *stored);

/* Whether path has a suffix to be taken off; if not, that is said. */
bool pzc_has_suffix(struct pzc *p, const char *path);
/* path without its suffix, if it has one, for sys_free(); or NULL. */
char *pzc_plain_name(const struct pzc *p, const char *path);
bool pzc_is_packed(const struct pzc *p, const char *path);	/* in silence */

/* -l: a line about one file; at the end one with the sums. */
void pzc_list(struct pzc *p, const struct source *s);
void pzc_list_end(struct pzc *p);

/* What an error of a stream is called; why, if not NULL, is the word. */
const char *pzc_sentence(int rc, const char *why);

/* Says that, of path. */
void pzc_say_failure(struct pzc *p, const char *path, int rc,
    const char *why);

/*
 * What was found behind a gzip stream: 0, or -ENODATA where that is an error
 * and has been called so.
 */
int pzc_judge_rest(struct pzc *p, const char *path,
    const struct codec_notes *n);

/* What one conversion was, for -v, --stats and PZC_STATS. */
struct pzc_run {
	const char *name;
	const char *target;		/* of the output */
	bool is_stdin;
	uint64_t around_B;		/* header and trailer, of gzip */
	const struct codec *codec;
	const struct convert_result *result;
	bool decompress;
	int level;
	const struct adapt *adapt;	/* in place of level, or NULL */
	uint64_t wall_ns, user_us, sys_us;
};

void pzc_report(struct pzc *p, const struct pzc_run *run);

/* -v of pzc itself. */
void pzc_tell(struct pzc *p, const struct pzc_run *run);

#endif
