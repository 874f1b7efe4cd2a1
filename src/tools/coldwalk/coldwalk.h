/*
 * coldwalk.h - declarations shared by the parts of coldwalk
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_COLDWALK_H
#define COLDPRESS_COLDWALK_H

#include "base/arena.h"
#include "base/msg.h"
#include "base/output.h"
#include "base/progress.h"
#include "measure/cold.h"
#include "measure/provenance.h"
#include "image/verity.h"
#include "walk/walk.h"

#include <pthread.h>

enum { COLDWALK_KERNEL_B = 1024 };

struct coldwalk_options {
	unsigned threads;
	const char *hash;
	enum cold_method cold;
	bool cold_asked;		/* explicitly requested: failure is
					 * an error */
	const char *files_from;		/* NULL: all */
	bool null_lines;		/* its names end with a NUL */
	bool ranges;			/* it lists parts of files */
	bool csv, json, provenance, summary, force;
	bool resident;			/* only report the pages in memory */
	const char *output;		/* manifest, or NULL */
	const char *prefix;		/* NULL: depends on the paths */
	uint64_t offset;
	bool plain;			/* do not look for images */
	const char *verity;		/* root hash, or NULL */
	uint8_t verity_root[VERITY_HASH_B];
	uint64_t memory;		/* memory for an image's names, in
					 * bytes; 0: unlimited */
	int argc;			/* the complete command line */
	char **argv;
	char **paths;
	int path_count;
};

/* A tree to walk. */
struct root {
	const char *path;
	const char *prefix;		/* prepended to its paths; may be "" */
	bool slash;			/* insert a slash between prefix and
					 * path */
	int fd;
	struct stat st;
	const struct walk_source *image;	/* NULL: walk_dir() */
	uint64_t offset;			/* offset of the image */
};

/* Additional values for --csv and --json. */
struct row_more {
	char *duplicate_of;		/* with the prefix, or NULL */
	uint64_t size;
	int64_t compressed_B, blocks, fragment, first_read_ns;
};

/* The row is followed by its digest and its path. */
struct row {
	char *path;			/* with the prefix */
	struct row_more *more;		/* or NULL */
	int err;
	uint8_t type, digest_len;
	uint8_t digest[];
};

struct damage {
	char *path, *reason;
	uint64_t offset;
	const char *image;
};

struct coldwalk {
	struct msg msg;
	struct coldwalk_options o;
	struct digest_algo *digest;
	struct output out;
	bool has_out;
	struct root *roots;
	int root_count;
	const struct root *root;	/* the current root */
	struct cold *cold;
	char *only_text;		/* text of the list */
	const char **only;
	size_t only_count;
	struct walk_range *ranges;	/* ranges of `only`; or NULL */
	size_t *range_ends;
	uint64_t memory_left;		/* remainder of the memory limit for
					 * images */

	struct arena memory;		/* holds the rows */
	struct row **rows;
	size_t row_count, row_cap;
	struct damage *damages;
	size_t damage_count, damage_cap;
	struct walk_result total;
	struct cold_report report;
	char series[PROVENANCE_SERIES_B];

	struct progress progress;
	pthread_mutex_t drawing;
	bool terminal;
	bool broken;			/* a walk ended early */
	double wall_s, user_s, sys_s;
	char kernel[COLDWALK_KERNEL_B];	/* squashfs options of the kernel */
};

/*
 * Parses the command line.  Returns -1, or the exit status if the program
 * should exit.
 */
int coldwalk_parse(struct coldwalk *c, int argc, char **argv);

/*
 * Reads the list given with --files-from, sorts it and removes duplicates.
 * Returns 0 or -errno.
 */
int coldwalk_read_list(struct coldwalk *c);

/*
 * Opens all roots (c->roots), and reports those that cannot be opened.  Returns
 * 0 or -ENOMEM.
 */
int coldwalk_open_roots(struct coldwalk *c);

/* Returns the options shared by all walks of this invocation. */
struct walk_options coldwalk_walk_options(struct coldwalk *c);

/*
 * Examines all roots and evicts them.  Returns 0, or -errno after reporting the
 * error.
 */
int coldwalk_make_cold(struct coldwalk *c);

/*
 * Implements --resident: evicts the roots if --cold was given, and reports how
 * much of them is in memory.
 */
void coldwalk_look(struct coldwalk *c);

/* Callbacks of the walk, which store rows and damage. */
int coldwalk_keep_row(void *arg, const struct walk_file *f);
int coldwalk_keep_damage(void *arg, const struct walk_damage *d);

void coldwalk_sort(struct coldwalk *c);

/* Reports errors in files and images. */
void coldwalk_complain(struct coldwalk *c);

struct table;

/*
 * Starts a table of these columns on fd, in the format of --csv or --json, with
 * the provenance of the rows.  Returns 0 or -errno; *t must be closed even on
 * failure.
 */
int coldwalk_open_table(const struct coldwalk *c, struct table **t, int fd,
    const char *const *columns, size_t count);

/*
 * Reads the kernel's configuration for a summary, before the sandbox prevents
 * it.
 */
void coldwalk_ask_kernel(struct coldwalk *c);

/* Return 0, or -errno if a write failed. */
int coldwalk_write_manifest(const struct coldwalk *c, int fd);
int coldwalk_write_rows(const struct coldwalk *c, int fd);

/* Writes the summary as text or, with --csv or --json, as a row. */
int coldwalk_write_summary(const struct coldwalk *c, int fd);

void coldwalk_free_rows(struct coldwalk *c);

#endif
