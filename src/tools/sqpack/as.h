/*
 * as.h - what sqpack is under the names of other programs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Their options are words behind one hyphen, some of them with a value in the
 * next word.
 */
#ifndef COLDPRESS_SQPACK_AS_H
#define COLDPRESS_SQPACK_AS_H

#include "sqpack.h"

enum { AS_WRONG = -1, AS_END = -2, AS_THREADS_MAX = 1024 };

struct as_option {
	const char *name, *alias;	/* with the hyphen; alias may be NULL */
	bool has_value;
	int id;				/* >= 0 */
};

struct as_words {
	int argc;
	char **argv;
	int at;				/* the next word */
	const char *word;		/* the option in hand */
	const char *value;		/* of it, or NULL */
};

/*
 * The id of the next option of a table that ends with a NULL name; AS_END at
 * the end and before a word without hyphen; AS_WRONG when it has been said
 * what is wrong.
 */
int as_next(struct msg *m, struct as_words *w,
    const struct as_option *options);

/* The option's value as a number in lo..hi; else it is said: false. */
bool as_number(struct msg *m, const struct as_words *w, int64_t lo,
    int64_t hi, int64_t *n);

/* MSG_ERROR, once it is said that there is no such option here. */
int as_lacks(struct msg *m, const char *word, const char *whose);

/* Texts of its own; one that grows. */
struct as_texts {
	char **items;
	size_t count, cap;
};

/* A copy of len bytes of text.  0, or -ENOMEM that was said. */
int as_texts_add(struct sqpack *p, struct as_texts *t, const char *text,
    size_t len);
void as_texts_free(struct as_texts *t);

/*
 * Reads the lines of a file, without blanks in front, empty ones and those
 * that begin with #, and gives each to fn, which returns 0 or -errno.
 * 0 or -errno, when it has been said what is wrong.
 */
int as_lines(struct sqpack *p, const char *path,
    int (*fn)(struct sqpack *p, char *line));

/* The command lines of those; as sqpack_parse(). */
int as_mksquashfs_parse(struct sqpack *p, int argc, char **argv);
int as_unsquashfs_parse(struct sqpack *p, int argc, char **argv);

#endif
