/*
 * path_regex.h - paths as regular expressions, one for each component
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * As with -regex in mksquashfs and unsquashfs, a pattern is split at slashes,
 * and each part is an extended regular expression that need not match the whole
 * name.
 */
#ifndef COLDPRESS_PATH_REGEX_H
#define COLDPRESS_PATH_REGEX_H

#include <stdbool.h>

/* Room for a reason, and for a name including its NUL. */
enum { PATH_REGEX_WHY = 128, PATH_REGEX_NAME = 257 };

struct path_regex;

/*
 * Compiles a pattern without a leading slash; if anywhere is set, it matches
 * the last components of a path.  r must be closed even on failure.  Returns 0,
 * -ENOMEM, or -EINVAL with the reason in why.
 */
int path_regex_open(struct path_regex **r, const char *pattern,
    bool anywhere, char why[PATH_REGEX_WHY]);
void path_regex_close(struct path_regex *r);	/* r may be NULL */

/*
 * Returns whether a path matches; names in it may be up to 256 bytes long.
 * Thread-safe.
 */
bool path_regex_match(const struct path_regex *r, const char *path);

#endif
