/*
 * extract.h - extracting the entries of a layer to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_EXTRACT_H
#define COLDPRESS_LAZY_EXTRACT_H

#include "lazy/layer.h"
#include "walk/extract.h"

struct layer_extract_options {
	struct extract_options to;
	bool no_xattrs;
	bool overlay;			/* extract whiteouts in the form used by
					 * overlayfs */
	/*
	 * Reports an error for a path below the directory, or, if it is NULL,
	 * for the whole.  Never called by two threads at once.
	 */
	void (*report)(void *arg, enum extract_level level, const char *path,
	    const char *text);
	void *arg;
};

/*
 * Extracts all entries of a layer, with the blobs from which it was opened and
 * with at most o->to.threads threads for the data.  Returns 0, which includes
 * errors that concern only some entries, or the -errno that ended the
 * extraction.  All errors have been reported.
 */
int layer_extract(const struct layer *l, const struct layer_blobs *blobs,
    const struct layer_extract_options *o);

#endif
