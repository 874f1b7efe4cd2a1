/*
 * options.h - what the command lines of the tools have in common
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only mains use this, after getopt_long(3): the value meant is its optarg.
 * Each call returns -1 to go on, or the exit status when all is said; what
 * is wrong is said through m.  Not thread-safe, as getopt_long(3) is not.
 */
#ifndef COLDPRESS_OPTIONS_H
#define COLDPRESS_OPTIONS_H

#include "base/msg.h"

#include <getopt.h>
#include <stdint.h>

/*
 * getopt_long(3), and after what that says of a wrong option the one of longs
 * that was meant, if one is near, and "Try 'TOOL --help'": '?', then.
 */
int options_next(const struct msg *m, int argc, char **argv,
    const char *shorts, const struct option *longs);

/* usage and help, either may be "", on standard output, which is closed. */
int options_help(struct msg *m, const char *usage, const char *help);

/* A call that makes no sense: usage on standard error.  MSG_ERROR. */
int options_usage(const char *usage);

/* "WHAT 'VALUE' is not RANGE".  MSG_ERROR. */
int options_bad(struct msg *m, const char *what, const char *range);

/* What the value is, a number in lo..hi.  -1 or MSG_ERROR. */
int options_int(struct msg *m, const char *what, int64_t lo, int64_t hi,
    int64_t *value);

/* A number of bytes as args_size() has it.  -1 or MSG_ERROR. */
int options_size(struct msg *m, const char *what, uint64_t *bytes);

/* A number of threads, 1..most.  -1 or MSG_ERROR. */
int options_threads(struct msg *m, unsigned most, unsigned *threads);

#endif
