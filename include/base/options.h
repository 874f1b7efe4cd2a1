/*
 * options.h - a tool's command line, from one table of its options
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each row of the table says how an option is written, what --help says about
 * it, and where its value goes.  Errors are reported through a struct msg.
 * Functions that return a status return -1 to continue, or the exit status if
 * the tool should exit.  Not thread-safe, since getopt_long(3) is not.
 */
#ifndef COLDPRESS_OPTIONS_H
#define COLDPRESS_OPTIONS_H

#include "base/msg.h"

#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What an option does; rows use the macros below instead. */
enum options_kind {
	OPTIONS_IS_NOTE,		/* not an option, but text for --help */
	OPTIONS_IS_SET, OPTIONS_IS_COUNT, OPTIONS_IS_TEXT, OPTIONS_IS_WORD,
	OPTIONS_IS_NAME, OPTIONS_IS_NUMBER, OPTIONS_IS_SIZE, OPTIONS_IS_POWER,
	OPTIONS_IS_SECONDS, OPTIONS_IS_THREADS, OPTIONS_IS_LIST,
	OPTIONS_IS_CALL, OPTIONS_IS_CALL_WITH, OPTIONS_IS_CALL_TEXT,
	OPTIONS_IS_HELP, OPTIONS_IS_VERSION
};

struct options_row {
	int letter;			/* 0: none */
	const char *name;		/* NULL: none */
	/*
	 * The name of its value in --help.  NULL: it takes none.  "[=...]": the
	 * value is optional, and follows the long name only.
	 */
	const char *value;
	/*
	 * One paragraph, which --help breaks into lines.  "": the next row's,
	 * whose line names both.  NULL: not listed.
	 */
	const char *help;
	enum options_kind kind;
	const char *also;		/* another long name, or NULL */
	unsigned mask;			/* which of the tool's programs or
					 * formats know it; 0: all */
	size_t given;			/* offset of a bool that is set when it
					 * is given; 0: none */
	/*
	 * For a callback or a text, the names that --help=options lists as
	 * values, in words ("a, b or c"); or a function that prints them, a
	 * space before each.  NULL: it can be anything.  If the value is LIST,
	 * it is several of them, separated by commas.
	 */
	const char *names;
	void (*list)(FILE *out);

	/* Set by the macros. */
	size_t at, width;		/* the member, in bytes */
	const char *what;		/* what an error calls the value */
	const char *range;		/* valid values, in words */
	int64_t least, most;
	void (*show)(void);
	int (*call)(void *into);
	int (*call_with)(void *into, int number);
	int (*call_text)(void *into, const char *text);
};

/*
 * The end of a row.  Members are those of OPTIONS_INTO, which a table's file
 * defines as the type of the struct that receives the values.  A member of
 * another type than the comment says does not compile.
 */
#define OPTIONS_AT(member) \
	.at = offsetof(OPTIONS_INTO, member), \
	.width = sizeof(((OPTIONS_INTO *)0)->member)
#define OPTIONS_AS(type, member) \
	.at = _Generic(((OPTIONS_INTO *)0)->member, \
	    type: offsetof(OPTIONS_INTO, member))
#define OPTIONS_GIVEN(member) \
	.given = _Generic(((OPTIONS_INTO *)0)->member, \
	    bool: offsetof(OPTIONS_INTO, member))

/* bool: becomes true; becomes false */
#define OPTIONS_FLAG(member) \
	.kind = OPTIONS_IS_SET, OPTIONS_AS(bool, member), \
	.width = sizeof(bool), .least = true
#define OPTIONS_CLEAR(member) \
	.kind = OPTIONS_IS_SET, OPTIONS_AS(bool, member), \
	.width = sizeof(bool), .least = false
/* enum: becomes one of its values */
#define OPTIONS_SET(member, value_) \
	.kind = OPTIONS_IS_SET, OPTIONS_AT(member), .least = value_
/* int: grows by one each time */
#define OPTIONS_COUNT(member) \
	.kind = OPTIONS_IS_COUNT, OPTIONS_AS(int, member)
/* const char *: any text; NULL, or another text, if there is no value */
#define OPTIONS_TEXT(member) \
	.kind = OPTIONS_IS_TEXT, OPTIONS_AS(const char *, member)
#define OPTIONS_TEXT_OR(member, otherwise) \
	OPTIONS_TEXT(member), .range = otherwise
/*
 * const char *, or bool or enum: one of names, which are listed in the words of
 * the error ("a, b or c"); the text itself, or its position in the list, from 0
 */
#define OPTIONS_WORD(member, what_, names) \
	.kind = OPTIONS_IS_WORD, OPTIONS_AS(const char *, member), \
	.what = what_, .range = names
#define OPTIONS_NAME(member, what_, names) \
	.kind = OPTIONS_IS_NAME, OPTIONS_AT(member), \
	.what = what_, .range = names
/* an integer of 4 or 8 bytes: a number in lo..hi */
#define OPTIONS_NUMBER(member, what_, lo, hi) \
	.kind = OPTIONS_IS_NUMBER, OPTIONS_AT(member), \
	.what = what_, .least = lo, .most = hi
/* uint64_t: any number of bytes, as in args_size() */
#define OPTIONS_SIZE(member, what_) \
	.kind = OPTIONS_IS_SIZE, OPTIONS_AS(uint64_t, member), \
	.width = sizeof(uint64_t), .what = what_, \
	.range = "a number of bytes", .most = INT64_MAX
/*
 * an integer of 4 or 8 bytes: a size, or a power of two, in lo..hi, which
 * range_ describes
 */
#define OPTIONS_SIZE_IN(member, what_, lo, hi, range_) \
	.kind = OPTIONS_IS_SIZE, OPTIONS_AT(member), \
	.what = what_, .least = lo, .most = hi, .range = range_
#define OPTIONS_POWER(member, what_, lo, hi, range_) \
	.kind = OPTIONS_IS_POWER, OPTIONS_AT(member), \
	.what = what_, .least = lo, .most = hi, .range = range_
/* double: a time of at least a millisecond */
#define OPTIONS_SECONDS(member, what_) \
	.kind = OPTIONS_IS_SECONDS, OPTIONS_AS(double, member), .what = what_
/* unsigned: a number of threads, from 1 */
#define OPTIONS_THREADS(member, hi) \
	.kind = OPTIONS_IS_THREADS, OPTIONS_AS(unsigned, member), .most = hi
/* struct options_list: the text is added */
#define OPTIONS_LIST(member) \
	.kind = OPTIONS_IS_LIST, OPTIONS_AS(struct options_list, member)
/*
 * calls a function with the tool's struct, and perhaps a number or a text; it
 * finds the option's value in optarg
 */
#define OPTIONS_CALL(function) \
	.kind = OPTIONS_IS_CALL, .call = function
#define OPTIONS_CALL_WITH(function, number) \
	.kind = OPTIONS_IS_CALL_WITH, .call_with = function, .least = number
#define OPTIONS_CALL_TEXT(function, text) \
	.kind = OPTIONS_IS_CALL_TEXT, .call_text = function, .what = text
/*
 * --help[=options]: shows the help; for completion in a shell, every name of
 * every option, one per line of four fields, which end with tabs but the last:
 * the name; "none", "optional" (after "=" only), "value" or "values" (joined by
 * commas); the names that are valid, separated by spaces, or "-"; the help
 */
#define OPTIONS_HELP \
	.kind = OPTIONS_IS_HELP
/* prints "TOOL (coldpress) VERSION"; and more, with a function or NULL */
#define OPTIONS_VERSION(tool, function) \
	.kind = OPTIONS_IS_VERSION, .what = tool, .show = function
/*
 * Text between the options: with a value, an entry with that heading; without,
 * lines that are printed as they are.
 */
#define OPTIONS_NOTE \
	.kind = OPTIONS_IS_NOTE

/* Sets the fields of struct options that describe a table. */
#define OPTIONS_TABLE(table) \
	.rows = table, .count = sizeof(table) / sizeof((table)[0])

/* Texts from the command line, in order; zero-initialized. */
struct options_list {
	const char **items;		/* freed with sys_free() */
	size_t count, room;
};

enum { OPTIONS_MAX = 128 };		/* rows in a table */

struct options {
	struct msg *msg;
	void *into;			/* the tool's struct */
	const struct options_row *rows;
	size_t count;			/* at most OPTIONS_MAX */
	const char *usage, *about;	/* what --help prints above the rows */
	/*
	 * The start of getopt_long(3)'s string of letters: NULL, or "+" to end
	 * at the first operand, or "-" to return operands; and letters that the
	 * tool takes itself.
	 */
	const char *scan;
	unsigned mask;			/* rows without any of these bits are
					 * unknown; 0: none is */
	FILE *help_to;			/* NULL: standard output */

	/* Filled in by the functions below. */
	char letters[2 * OPTIONS_MAX + 32];
	struct option longs[2 * OPTIONS_MAX + 1];
	bool given[OPTIONS_MAX];	/* one for each row */
};

/* Takes all options, up to argv[optind].  Returns a status. */
int options_parse(struct options *o, int argc, char **argv);

/*
 * Calls getopt_long(3), and returns what it does; for an option without a
 * letter, a value for options_take().  After an invalid option, also suggests
 * the closest long name, if any, and prints "Try 'TOOL --help'".
 */
int options_letter(struct options *o, int argc, char **argv);

/* Returns the row of an option from options_letter(), or NULL. */
const struct options_row *options_find(const struct options *o, int opt);

/* Takes an option from options_letter().  Returns a status. */
int options_take(struct options *o, int opt);

/*
 * Returns the first row that was given although its mask has none of these
 * bits, or NULL.
 */
const struct options_row *options_foreign(const struct options *o,
    unsigned mask);

/* Prints what --help prints. */
void options_show(const struct options *o, FILE *out);

/*
 * Prints usage and help, either of which may be "", and closes standard output.
 */
int options_help(struct msg *m, const char *usage, const char *help);

/* Adds a text, which is not copied, to a list.  Returns a status. */
int options_add(struct msg *m, struct options_list *list, const char *text);

/* Reports a usage error: prints usage on standard error.  Returns MSG_ERROR. */
int options_usage(const char *usage);

/*
 * The following functions are for a callback, and examine optarg.
 */

/* Reports why the command line is wrong.  Returns MSG_ERROR. */
int options_wrong(struct msg *m, const char *why);

/* Reports "WHAT 'VALUE' is not RANGE".  Returns MSG_ERROR. */
int options_bad(struct msg *m, const char *what, const char *range);

/* Parses the value as a number in lo..hi.  Returns a status. */
int options_int(struct msg *m, const char *what, int64_t lo, int64_t hi,
    int64_t *value);

#endif
