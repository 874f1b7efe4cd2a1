/*
 * sqpack.h - declarations shared by the parts of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_H
#define COLDPRESS_SQPACK_H

#include "base/msg.h"
#include "image/source/imgsrc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqpack;

/* The default memory limit, enough for about 3 million names. */
enum { SQPACK_MEMORY_B = 1 << 30 };

struct sqpack_options {
	int (*task)(struct sqpack *p);	/* NULL: build an image */
	const char *kernel;		/* for --can-mount; NULL: the running
					 * one */
	const char *directory;		/* for -x */
	const char *name;		/* for --cat */
	char **globs;			/* patterns for names in the image */
	size_t glob_count;
	const char *source, *output, *stats;
	int64_t level;			/* -L; 0: not given */
	bool best;			/* use the method's best level */
	int filters;			/* filters for xz, as a bit mask */
	/* of the library; what is given above and below is copied there */
	struct imgsrc_options from;
	struct sqw_data_options data;
	struct sqt_image_options tables;
	size_t exclude_cap;		/* of from.excludes */
	uint64_t memory;		/* limit on metadata in memory, in
					 * bytes */
	bool no_xattrs;
	bool force;			/* replace the output */
	bool dry_run;
	bool plain_names;		/* globs are names, not patterns */
	bool regex;			/* globs are regular expressions */
	bool missing_is_fine;		/* a glob may match nothing */
	bool user_xattrs;		/* extract only the user namespace */
	/*
	 * when invoked under another name: its state, and a function that frees
	 * it
	 */
	void *as;
	void (*release)(struct sqpack *p);
	/* Called after an image has been built. */
	void (*done)(const struct sqpack *p);
	/*
	 * Returns the exit status; rc is the result of the task or the build.
	 */
	int (*status_of)(const struct sqpack *p, int rc);
};

struct sqpack {
	struct msg msg;
	struct sqpack_options o;
	struct imgsrc_image image;	/* the image that is built */
	bool told;			/* the damage of the source, an image,
					 * has been reported */
	uint64_t wall_ns;
};

/* Writes the versions of sqpack and its libraries, one per line. */
enum { SQPACK_VERSIONS_B = 512 };
void sqpack_versions(char text[SQPACK_VERSIONS_B]);

/* Parses the options.  Returns -1, or the exit status. */
int sqpack_parse(struct sqpack *p, int argc, char **argv);

/*
 * Reads SOURCE_DATE_EPOCH (reproducible-builds.org).  Returns -1, or the exit
 * status.
 */
int sqpack_take_epoch(struct sqpack *p);

/*
 * Parses a list of filters for xz, separated by commas, and adds their bits.
 * Returns false if a name is unknown.
 */
bool sqpack_take_filters(const char *list, int *filters);

/*
 * For --like.  sqpack_be_like() sets the options, and returns -1 or the exit
 * status.  sqpack_check_like() checks, once all options are known, that they
 * are compatible, and returns 0, or -errno after reporting the error.
 */
int sqpack_be_like(struct sqpack *p, const char *whom);
int sqpack_check_like(struct sqpack *p);

/*
 * Builds the image p->o.output from p->o.source.  Returns 0, or -errno after
 * reporting the error.
 */
int sqpack_build(struct sqpack *p);

/*
 * Builds an image in an unnamed file and passes it to judge(), which must use
 * explicit offsets.  Returns 0, or -errno after reporting the error.
 */
int sqpack_build_nowhere(struct sqpack *p, const struct imgsrc_source *source,
    int (*judge)(struct sqpack *p, int fd));

/* The tasks return 0, or -errno after reporting the error. */
int sqpack_list(struct sqpack *p);
int sqpack_extract(struct sqpack *p);
int sqpack_cat(struct sqpack *p);
int sqpack_rebuild_check(struct sqpack *p);
int sqpack_cat_all(struct sqpack *p, char *const *names, size_t count);
int sqpack_mount(struct sqpack *p);	/* -errno if Linux cannot mount the
					 * image */

/* Frees all memory allocated by option parsing and by the task. */
void sqpack_free(struct sqpack *p);

/*
 * Writes the statistics, as a line of JSON, to p->o.stats ("-": standard
 * error).
 */
int sqpack_write_stats(struct sqpack *p);

#endif
