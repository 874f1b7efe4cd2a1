/*
 * extract.h - extracting names of a squashfs image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_READ_EXTRACT_H
#define COLDPRESS_IMAGE_SQUASHFS_READ_EXTRACT_H

#include "base/progress.h"
#include "image/squashfs/read/reader.h"
#include "walk/extract.h"

enum sq_want {
	SQ_OUT,
	SQ_MISSED,			/* was selected, but not extracted */
	SQ_ABOVE,			/* a parent of a selected name */
	SQ_IN
};

struct sq_extract_options {
	struct extract_options to;
	/*
	 * enum sq_want, by number of a name; a selected name becomes SQ_MISSED
	 * if it is not extracted
	 */
	uint8_t *wanted;
	bool no_xattrs;
	bool user_xattrs;		/* only those of the user namespace */
	/*
	 * Returns whether an attribute is extracted; thread-safe.  NULL: all
	 * are.
	 */
	bool (*wants_xattr)(void *arg, const char *name);
	bool has_mtime;			/* all files get this time */
	uint32_t mtime;
	bool show_progress;		/* on standard error */
	const struct progress_form *progress;	/* shown in any case; or NULL */
	/*
	 * Reports an error for a path below the directory, or, if it is NULL,
	 * for the whole.  Never called by two threads at once.
	 */
	void (*report)(void *arg, enum extract_level level, const char *path,
	    const char *text);
	/*
	 * Reports damage to the attributes or the data of the name with this
	 * path in the image, at byte `at` of the image; 0: unknown.  Never
	 * called at the same time as another report.
	 */
	void (*damage)(void *arg, const char *path, uint64_t at,
	    const char *why);
	void *arg;
};

/*
 * Extracts the wanted names, with o->to.threads threads for the data.  Damage
 * that is found when an image is opened is not reported again; the names that
 * it concerns are left out.  Returns 0, which includes errors that concern only
 * some names, or the -errno that ended the extraction.  All errors have been
 * reported.
 */
int sq_extract(const struct sq_image *m, const struct sq_extract_options *o);

#endif
