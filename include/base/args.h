/*
 * args.h - parsing numbers and lists from a command line
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All functions are thread-safe.
 */
#ifndef COLDPRESS_ARGS_H
#define COLDPRESS_ARGS_H

#include <stdint.h>

/*
 * Parses a decimal integer in the range lo..hi; any other text is an error.
 * Returns 0, -EINVAL (not a number) or -ERANGE.
 */
int args_int(const char *s, int64_t lo, int64_t hi, int64_t *value);

/*
 * Parses a size in bytes: a decimal number with an optional suffix K, M, G or T
 * (also KiB, k, ...; all are powers of 1024).  Returns 0, -EINVAL or -ERANGE
 * (does not fit in 63 bits).
 */
int args_size(const char *s, uint64_t *bytes);

/*
 * Parses a decimal fraction, which must be finite and in lo..hi.  Returns 0,
 * -EINVAL or -ERANGE.
 */
int args_real(const char *s, double lo, double hi, double *value);

/*
 * Inserts the blank-separated words of text between argv[0] and argv[1].  *out
 * is set to a NULL-terminated array of *argc words, which the caller frees with
 * sys_free().  Words from text are copied into the same allocation; words from
 * argv are not copied.  Returns 0 or -ENOMEM.
 */
int args_splice(const char *text, int *argc, char *const *argv, char ***out);

#endif
