/*
 * sqpack.h - declarations shared by the parts of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_H
#define COLDPRESS_SQPACK_H

#include "base/msg.h"
#include "base/output.h"
#include "base/progress.h"
#include "image/squashfs/write/data.h"
#include "image/squashfs/tables/image.h"
#include "walk/walk_order.h"
#include "image/squashfs/write/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sqpack;

/* The default memory limit, enough for about 3 million names. */
enum { SQPACK_MEMORY_B = 1 << 30 };

/* One of several sources; each is a name in the image's root. */
struct sqpack_input {
	char *path;			/* as given */
	char *real;			/* absolute, without leading slash */
	char *name;			/* in the image */
	bool is_dir;
};

struct sqpack_options {
	int (*task)(struct sqpack *p);	/* NULL: build an image */
	const char *kernel;		/* for --can-mount; NULL: the running
					 * one */
	const char *directory;		/* for -x */
	const char *name;		/* for --cat */
	char **globs;			/* patterns for names in the image */
	size_t glob_count;
	const char *source, *output, *stats;
	const char *order;		/* list of the files that come first */
	int64_t level;			/* -L; 0: not given */
	bool best;			/* use the method's best level */
	int filters;			/* filters for xz, as a bit mask */
	bool null_ends;			/* paths in the list end with NUL */
	struct sqb_data_options data;
	bool force;			/* replace the output */
	bool dry_run;
	bool no_xattrs, no_export, no_pad;
	bool raw_inodes, raw_xattrs;
	bool keep_going;
	bool plain_names;		/* globs are names, not patterns */
	bool regex;			/* globs are regular expressions */
	bool missing_is_fine;		/* a glob may match nothing */
	bool user_xattrs;		/* extract only the user namespace */
	bool has_offset, has_block, has_uid, has_gid, has_mtime, has_epoch, has_image_mtime;
	bool raw_ids;
	bool no_links;			/* each hard link becomes a file */
	uint32_t uid, gid, mtime, image_mtime;
	uint32_t epoch;			/* later times are clamped to this
					 * time */
	/*
	 * when invoked under another name: its state, and a function that frees
	 * it
	 */
	void *as;
	void (*release)(struct sqpack *p);
	/* All sources if there are several; source is the first. */
	struct sqpack_input *inputs;
	size_t input_count;
	/* Excludes more paths of the image; NULL: none. */
	bool (*left_out)(const struct sqpack *p, const char *path,
	    const struct stat *st);
	/*
	 * Called when the tree is complete.  Returns 0, or -errno after
	 * reporting the error.
	 */
	int (*complete)(struct sqpack *p);
	/* Called after an image has been built. */
	void (*done)(const struct sqpack *p);
	/*
	 * Returns the exit status; rc is the result of the task or the build.
	 */
	int (*status_of)(const struct sqpack *p, int rc);
	const char **excludes;
	size_t exclude_count, exclude_cap;
	uint16_t more_flags;		/* for the superblock */
	uint64_t offset;		/* of the image to read, in its file */
	uint64_t output_offset;		/* of the image to build */
	uint64_t memory;		/* limit on metadata in memory, in
					 * bytes */
};

struct sqpack {
	struct msg msg;
	struct sqpack_options o;
	struct sqw_tree tree;
	struct sqb_xattrs *xattrs;	/* NULL: omitted */
	struct sqb_data data;
	struct sqb_image_space space;
	struct walk_order *order;	/* NULL: none was given */
	char *order_path;		/* scratch */
	size_t order_room;
	struct progress progress;
	uint64_t total_B;		/* size of all files; 0: unknown */
	uint32_t newest;		/* latest inode time */
	bool told;			/* the damage of the source, an image,
					 * has been reported */
	uint64_t data_ns;		/* time spent on reading, compressing
					 * and writing data */
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
 * A source of an image.  All functions except close return 0, or -errno after
 * reporting the error.
 */
struct sqpack_source {
	/*
	 * Opens p->o.source and fills in files; p->tree may then be complete.
	 */
	int (*open)(struct sqpack *p, void **state, struct sqb_source *files);
	/*
	 * Writes the data to fd, at byte `at`.  If NULL, the data is read from
	 * files.
	 */
	int (*write)(void *state, int fd, uint64_t at);
	/* Called after the last file.  Completes the tree unless open() did. */
	int (*finish)(void *state);
	void (*close)(void *state);	/* state may be NULL */
};

/* If rc is an error, reports it for `what`.  Returns rc. */
int sqpack_fail(struct sqpack *p, const char *what, int rc);

extern const struct sqpack_source sqpack_dir, sqpack_tar, sqpack_repack,
    sqpack_rebuild, sqpack_oci;

/* Returns whether source is an OCI image layout, or layout:TAG. */
bool sqpack_is_oci(const char *source);

/*
 * Builds the image p->o.output from p->o.source.  Returns 0, or -errno after
 * reporting the error.
 */
int sqpack_build(struct sqpack *p);

/*
 * Builds an image in an unnamed file and passes it to judge(), which must use
 * explicit offsets.  Returns 0, or -errno after reporting the error.
 */
int sqpack_build_nowhere(struct sqpack *p, const struct sqpack_source *kind,
    int (*judge)(struct sqpack *p, int fd));

/* Returns whether the options exclude a path of the image. */
bool sqpack_excluded(const struct sqpack *p, const char *path);

/* Sets the owner and times requested by the options. */
void sqpack_adjust(struct sqpack *p, struct sqw_attr *attr, int64_t mtime);

/*
 * Encodes device numbers as in the image: the 20 bits of the minor number
 * surround the 12 bits of the major number.
 */
uint32_t sqpack_device(uint32_t major, uint32_t minor);

static inline unsigned
sqpack_major(uint32_t rdev)
{
	return rdev >> 8 & 0xfff;
}

static inline unsigned
sqpack_minor(uint32_t rdev)
{
	return (rdev & 0xff) | (rdev >> 12 & 0xfff00);
}

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
