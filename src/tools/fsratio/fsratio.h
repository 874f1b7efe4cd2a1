/*
 * fsratio.h - declarations shared by the parts of fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FSRATIO_H
#define COLDPRESS_FSRATIO_H

#include "base/msg.h"
#include "base/progress.h"
#include "engine/packer/packer_zstd.h"
#include "fs/fs_model.h"
#include "walk/fs_list.h"

struct fsratio_options {
	const char *fs_name, *algorithm_list;	/* as given */
	const char *layout, *dnodesize;
	const char *libzstd;			/* a file, or NULL */
	const struct fs_model *fs;
	struct fs_params params;
	struct packer_name algorithms[FS_ALGORITHMS];
	unsigned count;			/* number of directories */
	unsigned threads;
	bool by_size, csv, json, provenance;
	int argc;
	char **argv;
	char **dirs;
	int dir_count;
};

struct fsratio {
	struct msg msg;
	struct fsratio_options o;
	struct packer_zstd *zstd;	/* loaded from o.libzstd, or NULL */
	struct fs_list list;
	struct progress progress;
	struct fs_row *rows;
	size_t row_count, row_cap;
};

/* Returns -1, or the exit status.  Sets up f->msg and f->o. */
int fsratio_parse(struct fsratio *f, int argc, char **argv);

#endif
