/*
 * sqpack_regex.h - paths as regular expressions, one for each component
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * As with -regex in mksquashfs and unsquashfs, a pattern is split at slashes,
 * and each part is an extended regular expression that need not match the whole
 * name.
 */
#ifndef COLDPRESS_SQPACK_REGEX_H
#define COLDPRESS_SQPACK_REGEX_H

#include <stdbool.h>

/* Room for a reason, and for a name including its NUL. */
enum { SQPACK_REGEX_WHY = 128, SQPACK_REGEX_NAME = 257 };

struct sqpack_regex;

/*
 * Compiles a pattern without a leading slash; if anywhere is set, it matches
 * the last components of a path.  r must be closed even on failure.  Returns 0,
 * -ENOMEM, or -EINVAL with the reason in why.
 */
int sqpack_regex_open(struct sqpack_regex **r, const char *pattern,
    bool anywhere, char why[SQPACK_REGEX_WHY]);
void sqpack_regex_close(struct sqpack_regex *r);	/* r may be NULL */

/*
 * Returns whether a path matches; names in it may be up to 256 bytes long.
 * Thread-safe.
 */
bool sqpack_regex_match(const struct sqpack_regex *r, const char *path);

#endif
