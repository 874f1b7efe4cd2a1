/*
 * as.h - sqpack standing in for other programs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of these programs are words with one hyphen; some have a value,
 * which is the next word.
 */
#ifndef COLDPRESS_SQPACK_AS_H
#define COLDPRESS_SQPACK_AS_H

#include "sqpack.h"

enum { AS_WRONG = -1, AS_END = -2, AS_THREADS_MAX = 1024 };

struct as_option {
	const char *name, *alias;	/* including the hyphen; alias may be
					 * NULL */
	bool has_value;
	int id;				/* >= 0 */
};

struct as_words {
	int argc;
	char **argv;
	int at;				/* index of the next word */
	const char *word;		/* the current option */
	const char *value;		/* its value, or NULL */
};

/*
 * Parses the next option according to a table that ends with a NULL name.
 * Returns its id; AS_END after the last word or before a word without a hyphen;
 * AS_WRONG after reporting an error.
 */
int as_next(struct msg *m, struct as_words *w,
    const struct as_option *options);

/*
 * Parses the option's value as a number in lo..hi.  Returns false after
 * reporting an error.
 */
bool as_number(struct msg *m, const struct as_words *w, int64_t lo,
    int64_t hi, int64_t *n);

/*
 * Parses the option's value as the image offset, in bytes or with a suffix K, M
 * or G.  Returns -1 or MSG_ERROR.
 */
int as_offset(struct sqpack *p, const struct as_words *w, uint64_t *offset);

/*
 * Parses the option's value as the number of threads.  Returns -1 or MSG_ERROR.
 */
int as_threads(struct sqpack *p, const struct as_words *w);

/* Reports that the option is not supported.  Returns MSG_ERROR. */
int as_lacks(struct msg *m, const char *word, const char *whose);

/* A growing array of strings, which it owns. */
struct as_texts {
	char **items;
	size_t count, cap;
};

/*
 * Appends a copy of len bytes of text.  Returns 0, or -ENOMEM after reporting
 * the error.
 */
int as_texts_add(struct sqpack *p, struct as_texts *t, const char *text,
    size_t len);
void as_texts_free(struct as_texts *t);

/*
 * Appends the lines of a file, without leading blanks; skips empty lines and
 * lines that begin with #.  Returns 0, or -errno after reporting the error.
 */
int as_lines(struct sqpack *p, struct as_texts *t, const char *path);

/*
 * Returns whether a path matches a shell pattern, by the rules of these
 * programs: a leading period must be matched explicitly, and patterns such as
 * !(a|b) are recognized.
 */
bool as_matches(const char *pattern, const char *path);

/*
 * Returns whether this C library can match the pattern.  If it cannot, reports
 * it.
 */
bool as_can_match(struct msg *m, const char *pattern);

/*
 * These functions parse the command lines of the programs, and return the same
 * values as sqpack_parse().
 */
int as_mksquashfs_parse(struct sqpack *p, int argc, char **argv);
int as_unsquashfs_parse(struct sqpack *p, int argc, char **argv);

/* p->o.as, for mksquashfs */
struct as_mksquashfs {
	char **sources;			/* words from the command line */
	size_t source_count;
	struct as_texts excludes;	/* as given on the command line */
	struct as_texts paths;		/* excluded in the image, sorted */
	struct as_texts pseudo;		/* pseudo file definitions */
	const char *comp;		/* NULL: gzip */
	int64_t level;			/* 0: default of the compressor */
	const char *dictionary;
	struct path_regex **patterns;	/* excludes compiled for -regex */
	bool window, algorithm;		/* given, with their defaults */
	bool hc, wildcards, regex, as_directory, append, quiet, info, tar;
	bool one_file_system, has_mkfs_time;
	bool has_root_mode, has_root_uid, has_root_gid, has_root_time;
	uint32_t root_mode, root_uid, root_gid, root_time;
	dev_t device;			/* for one_file_system */
};

/*
 * Resolves the sources and exclusions.  A single directory becomes the root;
 * several sources become names in the root.  Returns 0, or -errno after
 * reporting the error.
 */
int as_sources(struct sqpack *p);
void as_sources_free(struct sqpack *p);

#endif
