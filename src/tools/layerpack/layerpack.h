/*
 * layerpack.h - declarations shared by the parts of layerpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_H
#define COLDPRESS_LAYERPACK_H

#include "base/msg.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/sandbox.h"
#include "base/table.h"
#include "lazy/layer.h"
#include "lazy/pack/pack.h"

#include <stdbool.h>

enum layerpack_mode {
	LAYERPACK_NONE, LAYERPACK_LIST, LAYERPACK_EXTRACT, LAYERPACK_VERIFY,
	LAYERPACK_MAKE, LAYERPACK_IMAGE, LAYERPACK_PULL
};

struct layerpack_make_options {
	enum layer_kind kind;
	const char *output;
	struct options_list lists;	/* of --order */
	const char *tmpdir, *stats;	/* or NULL */
	int64_t level;			/* -1: default of the format */
	uint64_t chunk, min_chunk, min_layer;
	const char *windows;		/* raw, packed, or NULL */
	/* of a repository, or NULL: */
	const char *name, *master_key, *update;
	uint64_t revision;		/* or 0 */
	uint64_t catalog;		/* maximum number of names in a catalog,
					 * or 0 */
	bool null_ends, no_trace, no_tar_split, no_compact;
	bool stargz;
};

struct layerpack_options {
	enum layerpack_mode mode;
	const char *kind;		/* -F, or NULL */
	const char *side;		/* --ztoc, or NULL */
	bool rows;
	enum table_format format;	/* of rows */
	/* --index-digest; the other members may be set as well */
	struct layer_expect expect;
	uint8_t digest[LAYER_DIGEST];	/* to which expect points */
	const char *key;		/* --key, or NULL */
	const char *source;
	char **operands;		/* source and further operands */
	int operand_count;
	const char *image;		/* output layout */
	const char *platform;		/* os/architecture, or NULL */
	unsigned threads;
	/* --pull */
	const char *pull;		/* the image, or NULL */
	const char *auth_file, *ca_file, *registries_conf, *hosts_dir;
	unsigned connections, timeout_s;
	uint64_t max_size;
	bool plain_http;
	/* extraction */
	const char *directory;
	bool force, no_xattrs;
	bool overlay;			/* extract whiteouts in the form used by
					 * overlayfs */
	struct layerpack_make_options make;
};

struct layerpack {
	struct msg msg;
	struct layerpack_options o;
	/* what the lists contain; NULL: not read */
	struct walk_order *orders[PACK_LISTS_MAX];
};

/* Parses the command line.  Returns -1 to continue, or the exit status. */
int layerpack_parse(struct layerpack *p, int argc, char **argv);

/* Returns the directory for unnamed files: -T, $TMPDIR or /tmp. */
const char *layerpack_tmpdir(const struct layerpack *p);

/*
 * Confines the process to the given directories and, if making a layer with
 * these options needs unnamed files, the directory for them; prints a note if
 * that is impossible.  Call this before starting any thread.
 */
void layerpack_confine(struct layerpack *p, struct sandbox_dirs *d);

/* The functions for the modes.  They report errors, which set the status. */
void layerpack_read(struct layerpack *p);
void layerpack_make(struct layerpack *p);
void layerpack_cas(struct layerpack *p);
void layerpack_image(struct layerpack *p);
void layerpack_pull(struct layerpack *p);

/* layerpack_make.c */

/*
 * Sets the options, and reads the lists given with --order, which must be freed
 * with layerpack_free_orders() even after an error.  Returns 0, or -errno after
 * reporting the error.
 */
int layerpack_make_prepare(struct layerpack *p, struct pack_options *pack);
void layerpack_free_orders(struct layerpack *p);

/*
 * Checks that at least one path in each list was found.  Returns 0, or -ENOENT
 * after reporting that none was found.
 */
int layerpack_check_orders(struct layerpack *p);

/*
 * Warns about an archive without an end, with hard links to a lower layer or with
 * attributes in global headers, and about a trace that is too large for readers.
 */
void layerpack_warn(struct layerpack *p, const char *archive,
    const char *layer, const struct pack_result *r);

#endif
