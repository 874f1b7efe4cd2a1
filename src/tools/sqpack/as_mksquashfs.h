/*
 * as_mksquashfs.h - declarations shared by the files that replace mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_AS_MKSQUASHFS_H
#define COLDPRESS_SQPACK_AS_MKSQUASHFS_H

#include "as.h"

/* p->o.as */
struct as_mksquashfs {
	char **sources;			/* words from the command line */
	size_t source_count;
	struct as_texts excludes;	/* as given on the command line */
	struct as_texts paths;		/* excluded in the image, sorted */
	struct as_texts pseudo;		/* pseudo file definitions */
	const char *comp;		/* NULL: gzip */
	int64_t level;			/* 0: default of the compressor */
	const char *dictionary;
	struct path_regex **patterns;	/* excludes compiled for -regex */
	bool window, algorithm;		/* given, with their defaults */
	bool hc, wildcards, regex, as_directory, append, quiet, info, tar;
	bool one_file_system, has_mkfs_time;
	bool has_root_mode, has_root_uid, has_root_gid, has_root_time;
	uint32_t root_mode, root_uid, root_gid, root_time;
	dev_t device;			/* for one_file_system */
};

/*
 * Resolves the sources and exclusions.  A single directory becomes the root;
 * several sources become names in the root.  Returns 0, or -errno after
 * reporting the error.
 */
int as_sources(struct sqpack *p);
void as_sources_free(struct sqpack *p);

#endif
