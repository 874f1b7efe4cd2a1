/*
 * sqpack.h - declarations shared by the parts of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_H
#define COLDPRESS_SQPACK_H

#include "base/listing.h"
#include "base/msg.h"
#include "image/source/imgsrc.h"
#include "image/squashfs/read/extract.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sqpack;
struct sqpack_image;

/* The default memory limit, enough for about 3 million names. */
enum { SQPACK_MEMORY_B = 1 << 30 };

struct sqpack_options {
	/* Reads the image.  NULL: build one. */
	int (*task)(struct sqpack_image *i);
	bool rebuild_check;		/* build an image from one, to compare
					 * the two */
	const char *kernel;		/* for --can-mount; NULL: the running
					 * one */
	const char *directory;		/* for -x */
	const char *other;		/* for --diff: the older image */
	char *name;			/* for --cat */
	char **names;			/* of files to write, for
					 * sqpack_cat() */
	size_t name_count;
	char **globs;			/* patterns for names in the image */
	size_t glob_count;
	char **out_globs;		/* of names to leave out */
	size_t out_glob_count;
	int64_t max_depth;		/* levels below the root; -1: all */
	bool follow;			/* also select what symbolic links lead
					 * to */
	bool follow_missing;		/* it is an error if that is missing */
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
	bool verity;			/* append the hash tree of dm-verity */
	const char *verity_key, *verity_cert;	/* to sign its root hash */
	char *signature;		/* path of the signature */
	struct imgsrc_pseudo *pseudo;	/* for --pseudo; NULL: none */
	bool plain_names;		/* globs are names, not patterns */
	bool regex;			/* globs are regular expressions */
	bool may_be_streamed;		/* for reader.h */
	bool missing_is_fine;		/* a glob may match nothing */
	bool user_xattrs;		/* extract only the user namespace */
	bool (*wants_xattr)(void *arg, const char *name);	/* for
								 * extract.h */
	bool has_time;			/* all names get this time */
	uint32_t time;
	/*
	 * when invoked under another name: its state, and a function that frees
	 * it
	 */
	void *as;
	const struct progress_form *progress;	/* its own; NULL: none, if as is
						 * not NULL */
	void (*release)(struct sqpack *p);
	/* for the options of an image's tables */
	void (*inode)(void *arg, size_t node, uint64_t ref);
	/* Called after an image has been built. */
	void (*done)(struct sqpack *p);
	/*
	 * Returns the exit status; rc is the result of the task or the build.
	 */
	int (*status_of)(const struct sqpack *p, int rc);
};

struct sqpack {
	struct msg msg;
	struct sqpack_options o;
	struct imgsrc_image image;	/* the image that is built */
	uint64_t wall_ns;
};

/* Writes the name and version of the library that a method uses. */
enum { SQPACK_LIBRARY_B = 64 };
void sqpack_library(const struct sqw_method *m, char text[SQPACK_LIBRARY_B]);

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
 * Builds the image p->o.output from p->o.source.  For a dry run, and to check
 * that an image can be rebuilt from its contents, the file has no name.
 * Returns 0, or -errno after reporting the error.
 */
int sqpack_build(struct sqpack *p);

/*
 * Opens the image p->o.source, reports all damage to it, selects the names that
 * match p->o.globs, or all names if there are no globs, and calls p->o.task,
 * even for an image with such damage.  Returns 0, or -errno after reporting the
 * error.
 */
int sqpack_read(struct sqpack *p);

/* An open image.  Only one thread may use its path buffer. */
struct sqpack_image {
	struct sqpack *p;
	struct sq_file file;
	const struct sq_image *m;	/* file.image */
	uint8_t *wanted;		/* enum sq_want, by name */
};

/*
 * Returns the path of a name, valid until the next call, or NULL after
 * reporting that there is not enough memory.
 */
const char *sqpack_image_path(struct sqpack_image *i, size_t number);

/* Names of compressor options, by bit or number. */
enum { SQPACK_STRATEGIES = 5, SQPACK_LZOS = 5 };
extern const char *const sqpack_strategies[SQPACK_STRATEGIES];
extern const char *const sqpack_lzos[SQPACK_LZOS];

/* The tasks return 0, or -errno after reporting the error. */
int sqpack_list(struct sqpack_image *i);
int sqpack_extract(struct sqpack_image *i);
int sqpack_cat(struct sqpack_image *i);
int sqpack_mount(struct sqpack_image *i);	/* -errno if Linux cannot mount
						 * it */
int sqpack_diff(struct sqpack_image *i);	/* -EEXIST if there is a
						 * difference */

/* Files of an image that are written out one after another. */
struct sqpack_cat {
	struct sqpack_image *i;
	int fd;
	struct sq_decoder *decoder;
	uint8_t *data, *zeros;
};

/*
 * Return 0, or -errno after reporting the error.  c must be closed even after
 * an error.
 */
int sqpack_cat_open(struct sqpack_cat *c, struct sqpack_image *i, int fd);
int sqpack_cat_file(struct sqpack_cat *c, size_t number);
void sqpack_cat_close(struct sqpack_cat *c);

/* Frees all memory allocated by option parsing and by building. */
void sqpack_free(struct sqpack *p);

#endif
