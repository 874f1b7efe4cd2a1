/*
 * sqpack.h - declarations shared by the parts of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_H
#define COLDPRESS_SQPACK_H

#include "base/msg.h"
#include "base/output.h"
#include "base/progress.h"
#include "image/sqbuild/data.h"
#include "image/sqtables/image.h"
#include "image/sqbuild/order.h"
#include "image/sqwrite/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sqpack;

/* The default limit; an image of 3 million names takes about this. */
enum { SQPACK_MEMORY_B = 1 << 30 };

/* One of several sources, which are names in the image's root. */
struct sqpack_input {
	char *path;			/* as it was given */
	char *real;			/* from the root, without its slash */
	char *name;			/* in the image */
	bool is_dir;
};

struct sqpack_options {
	int (*task)(struct sqpack *p);	/* NULL: build an image */
	const char *kernel;		/* of --can-mount; NULL: the running
					 * one */
	const char *directory;		/* of -x */
	const char *name;		/* of --cat */
	char **globs;			/* names in the image */
	size_t glob_count;
	const char *source, *output, *stats;
	const char *order;		/* a list of the files that come
					 * first */
	bool best;			/* the level is the best one */
	int filters;			/* of xz, by their bits */
	bool null_ends;			/* its paths end with NUL */
	struct sqb_data_options data;
	bool force;			/* replace the output */
	bool dry_run;
	bool no_xattrs, no_export, no_pad;
	bool raw_inodes, raw_xattrs;
	bool keep_going;
	bool plain_names;		/* globs are none */
	bool missing_is_fine;		/* a glob may match nothing */
	bool user_xattrs;		/* no other ones are extracted */
	bool has_block, has_uid, has_gid, has_mtime, has_epoch, has_image_mtime;
	bool raw_ids;
	bool no_links;			/* every name is a file of its own */
	uint32_t uid, gid, mtime, image_mtime;
	uint32_t epoch;			/* no time is later */
	/* under another name: what only that needs */
	void *as;
	void (*release)(struct sqpack *p);
	/* Instead of source, which is the first of them; none: 0. */
	struct sqpack_input *inputs;
	size_t input_count;
	/* Whether a path of the image is left out; NULL: no others are. */
	bool (*left_out)(const struct sqpack *p, const char *path,
	    const struct stat *st);
	/* When all names are in the tree; 0, or -errno when that was said. */
	int (*complete)(struct sqpack *p);
	/* When an image was made. */
	void (*done)(const struct sqpack *p);
	/* The exit status; rc is what the task or the building returned. */
	int (*status_of)(const struct sqpack *p, int rc);
	const char **excludes;
	size_t exclude_count, exclude_cap;
	uint64_t memory;		/* bytes for what an image contains */
};

struct sqpack {
	struct msg msg;
	struct sqpack_options o;
	struct sqw_tree tree;
	struct sqb_xattrs *xattrs;	/* NULL: omitted */
	struct sqb_data data;
	struct sqb_image_space space;
	struct sqb_order *order;	/* NULL: none was given */
	char *order_path;		/* scratch */
	size_t order_room;
	struct progress progress;
	uint64_t total_B;		/* of the files; 0: unknown */
	uint32_t newest;		/* time of any inode */
	uint64_t data_ns;		/* of the time of reading, compressing
					   and writing data */
	uint64_t wall_ns;
};

/* sqpack_help.c: the exit status of -h and -V. */
extern const char sqpack_usage[];
int sqpack_help(struct sqpack *p);
int sqpack_version(struct sqpack *p);

/* Parses the options; -1, or the exit status. */
int sqpack_parse(struct sqpack *p, int argc, char **argv);

/* SOURCE_DATE_EPOCH, of reproducible-builds.org: -1, or the status. */
int sqpack_take_epoch(struct sqpack *p);

/* Of --like: -1, or the status to end with; and once all is known, 0 or -errno,
   when it has been said what does not go with it. */
int sqpack_be_like(struct sqpack *p, const char *whom);
int sqpack_check_like(struct sqpack *p);

/*
 * A source of an image.  All but close return 0 or -errno, after reporting the
 * error.
 */
struct sqpack_source {
	/*
	 * Opens p->o.source and fills in files; p->tree may then be complete.
	 */
	int (*open)(struct sqpack *p, void **state, struct sqb_source *files);
	/* Writes the data to fd, at byte `at`; NULL: it is that of files. */
	int (*write)(void *state, int fd, uint64_t at);
	/*
	 * After the last file: completes the tree, if that is still to be done.
	 */
	int (*finish)(void *state);
	void (*close)(void *state);	/* state may be NULL */
};

/* Says why `what` fails, if it does: returns rc. */
int sqpack_fail(struct sqpack *p, const char *what, int rc);

extern const struct sqpack_source sqpack_dir, sqpack_tar, sqpack_repack,
    sqpack_rebuild, sqpack_oci;

/* Whether that is the layout of an OCI image, or layout:TAG. */
bool sqpack_is_oci(const char *source);

/*
 * Builds an unnamed image and has it judged: fd is read and written only with
 * explicit offsets.  0 or -errno, after reporting the error.
 */
int sqpack_build_nowhere(struct sqpack *p, const struct sqpack_source *kind,
    int (*judge)(struct sqpack *p, int fd));

/* Whether the options exclude a path of the image. */
bool sqpack_excluded(const struct sqpack *p, const char *path);

/* Sets owner and times as requested by the options. */
void sqpack_adjust(struct sqpack *p, struct sqw_attr *attr, int64_t mtime);

/* A device's numbers in the image's form: 20 bits of minor around 12. */
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

/* Tasks: 0 or -errno, after reporting the error. */
int sqpack_list(struct sqpack *p);
int sqpack_extract(struct sqpack *p);
int sqpack_cat(struct sqpack *p);
int sqpack_rebuild_check(struct sqpack *p);
int sqpack_cat_all(struct sqpack *p, char *const *names, size_t count);
int sqpack_mount(struct sqpack *p);	/* whether Linux can; -errno: no */

/*
 * Writes the statistics, as a line of JSON, to p->o.stats ("-": standard
 * error).
 */
int sqpack_write_stats(struct sqpack *p);

#endif
