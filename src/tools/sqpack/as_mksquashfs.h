/*
 * as_mksquashfs.h - what the parts of mksquashfs share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_AS_MKSQUASHFS_H
#define COLDPRESS_SQPACK_AS_MKSQUASHFS_H

#include "as.h"

/* p->o.as */
struct as_mksquashfs {
	char **sources;			/* words of the command line */
	size_t source_count;
	struct as_texts excludes;	/* as given */
	struct as_texts paths;		/* of the image, in order, left out */
	struct as_texts pseudo;		/* definitions */
	const char *comp;		/* NULL: gzip */
	int64_t level;			/* 0: the compressor's */
	const char *dictionary;
	bool hc, wildcards, as_directory, append, quiet, info, tar;
	bool one_file_system, has_mkfs_time, from_environment;
	bool has_root_mode, has_root_uid, has_root_gid, has_root_time;
	uint32_t root_mode, root_uid, root_gid, root_time;
	dev_t device;			/* of one_file_system */
};

/* All that is to be said and set once the options are read; as parse. */
int as_mksquashfs_check(struct sqpack *p);

/* A number, or the name of a user or group; else it is said: false. */
bool as_take_user(struct sqpack *p, const char *text, uint32_t *id);
bool as_take_group(struct sqpack *p, const char *text, uint32_t *id);

/* Finds out what the sources are.  0 or -errno that was said. */
int as_sources(struct sqpack *p);
void as_sources_free(struct sqpack *p);

/* What excludes mean, when the sources are known.  0 or -errno. */
int as_excludes(struct sqpack *p);
bool as_left_out(const struct sqpack *p, const char *path,
    const struct stat *st);

/* Puts what definitions say into the tree.  0 or -errno that was said. */
int as_pseudo(struct sqpack *p);

/* What is said in front of the work, and behind it. */
void as_announce(const struct sqpack *p);
void as_report(const struct sqpack *p);

#endif
