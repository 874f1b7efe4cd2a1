/*
 * whiteout.h - names that hide the files of lower layers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layer Filesystem Changeset".  The
 * prefix followed by a name hides that name; WHITEOUT_OPAQUE hides all names in
 * its directory.
 */
#ifndef COLDPRESS_WHITEOUT_H
#define COLDPRESS_WHITEOUT_H

#include "base/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define WHITEOUT_PREFIX ".wh."
#define WHITEOUT_OPAQUE ".wh..wh..opq"

/* Returns whether a name in a layer is a whiteout.  Thread-safe. */
static inline bool
whiteout_has_prefix(const char *name)
{
	return strncmp(name, WHITEOUT_PREFIX, strlen(WHITEOUT_PREFIX)) == 0;
}

/*
 * Returns the name that a whiteout other than WHITEOUT_OPAQUE hides, or NULL if
 * there can be none: names that begin with ".wh." are aufs metadata, and "." and
 * ".." are not names in a directory.  Thread-safe.
 */
static inline const char *
whiteout_removes(const char *name)
{
	name += strlen(WHITEOUT_PREFIX);
	return *name == '\0' || path_is_dots(name) ||
	    whiteout_has_prefix(name) ? NULL : name;
}

#endif
