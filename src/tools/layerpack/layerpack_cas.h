/*
 * layerpack_cas.h - declarations shared by the code that makes a repository
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_CAS_H
#define COLDPRESS_LAYERPACK_CAS_H

#include "layerpack.h"

#include "base/progress.h"
#include "lazy/cvmfs/cas.h"

/* A repository being created. */
struct layerpack_cas {
	struct layerpack *p;
	struct cas_options o;
	struct cas *c;
	struct progress progress;
	const char *path;		/* path of the repository */
};

/*
 * Adds the archive at the current position of `in`.  name is used in messages.
 * Returns 0, or -errno after reporting the error.
 */
int layerpack_cas_add(struct layerpack_cas *m, int in, const char *name);

/*
 * Adds the layers of an image in a layout.  Returns 0, or -errno after
 * reporting the error.
 */
int layerpack_cas_image(struct layerpack_cas *m, const char *layout);

#endif
