/*
 * options.h - command-line handling shared by the tools
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only the tools' main files use this, after getopt_long(3); the value examined
 * is optarg.  Each call returns -1 to continue, or the exit status if the tool
 * should exit; errors are reported through m.  Not thread-safe, since
 * getopt_long(3) is not.
 */
#ifndef COLDPRESS_OPTIONS_H
#define COLDPRESS_OPTIONS_H

#include "base/msg.h"

#include <getopt.h>
#include <stdint.h>

/*
 * Calls getopt_long(3).  After an invalid option, also suggests the closest
 * name in longs, if any, prints "Try 'TOOL --help'", and returns '?'.
 */
int options_next(const struct msg *m, int argc, char **argv,
    const char *shorts, const struct option *longs);

/*
 * Prints usage and help, either of which may be "", and closes standard output.
 */
int options_help(struct msg *m, const char *usage, const char *help);

/* Reports a usage error: prints usage on standard error.  Returns MSG_ERROR. */
int options_usage(const char *usage);

/* Reports "WHAT 'VALUE' is not RANGE".  Returns MSG_ERROR. */
int options_bad(struct msg *m, const char *what, const char *range);

/* Parses the value as a number in lo..hi.  Returns -1 or MSG_ERROR. */
int options_int(struct msg *m, const char *what, int64_t lo, int64_t hi,
    int64_t *value);

/*
 * Parses the value with args_size(), as a number of bytes.  Returns -1 or
 * MSG_ERROR.
 */
int options_size(struct msg *m, const char *what, uint64_t *bytes);

/*
 * Parses the value as a number of threads, 1..most.  Returns -1 or MSG_ERROR.
 */
int options_threads(struct msg *m, unsigned most, unsigned *threads);

#endif
