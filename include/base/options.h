/*
 * options.h - what the tools' command lines have in common
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only main programs use this, after getopt_long(3): the value examined is
 * optarg.  Each call returns -1 to continue, or the exit status if the tool
 * should exit; errors are reported through m.  Not thread-safe, since
 * getopt_long(3) is not.
 */
#ifndef COLDPRESS_OPTIONS_H
#define COLDPRESS_OPTIONS_H

#include "base/msg.h"

#include <getopt.h>
#include <stdint.h>

/*
 * getopt_long(3) plus, after its message about an invalid option, the name in
 * longs that was probably meant, if one is close, and "Try 'TOOL --help'"; it
 * then returns '?'.
 */
int options_next(const struct msg *m, int argc, char **argv,
    const char *shorts, const struct option *longs);

/*
 * Prints usage and help, either of which may be "", and closes standard output.
 */
int options_help(struct msg *m, const char *usage, const char *help);

/* Reports a usage error: prints usage on standard error.  MSG_ERROR. */
int options_usage(const char *usage);

/* "WHAT 'VALUE' is not RANGE".  MSG_ERROR. */
int options_bad(struct msg *m, const char *what, const char *range);

/* The value as a number in lo..hi.  -1 or MSG_ERROR. */
int options_int(struct msg *m, const char *what, int64_t lo, int64_t hi,
    int64_t *value);

/* A number of bytes, parsed by args_size().  -1 or MSG_ERROR. */
int options_size(struct msg *m, const char *what, uint64_t *bytes);

/* A number of threads, 1..most.  -1 or MSG_ERROR. */
int options_threads(struct msg *m, unsigned most, unsigned *threads);

#endif
