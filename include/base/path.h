/*
 * path.h - paths and names as text
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Thread-safe.
 */
#ifndef COLDPRESS_PATH_H
#define COLDPRESS_PATH_H

#include <stdbool.h>

/*
 * Makes path relative and normalized, in place: no leading "/", no "."
 * component, no "//", no trailing "/"; the root becomes "".  Returns 0, or
 * -EINVAL if a component is "..".
 */
int path_clean(char *path);

/* Returns whether a component is "..". */
bool path_has_parent(const char *path);

/* Returns the last component: the part after the last "/". */
const char *path_name(const char *path);

/* Returns whether a name is "." or "..". */
bool path_is_dots(const char *name);

#endif
