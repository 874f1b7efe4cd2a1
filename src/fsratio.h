/*
 * fsratio.h - what the parts of fsratio share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FSRATIO_H
#define COLDPRESS_FSRATIO_H

#include "fs/fs_list.h"
#include "fs/packer.h"
#include "fs/zfs.h"
#include "msg.h"
#include "progress.h"

enum { FSRATIO_ALGORITHMS = 48 };

struct fsratio_options {
	const char *fs;			/* as it was given */
	struct zfs_pool pool;
	struct packer_name algorithms[FSRATIO_ALGORITHMS];
	unsigned count;			/* of these */
	unsigned threads;
	bool by_size, csv, json;
	int argc;
	char **argv;
	char **dirs;
	int dir_count;
};

/* One line of the answer. */
struct fsratio_row {
	const char *algorithm;
	int64_t size_from_B;		/* of a class of sizes; -1: of all */
	uint64_t files;
	uint64_t apparent_B;
	struct zfs_space data, meta;
};

struct fsratio {
	struct msg msg;
	struct fsratio_options o;
	struct fs_list list;
	struct progress progress;
	struct fsratio_row *rows;
	size_t row_count, row_cap;
};

/* -1, or the exit status.  Sets up f->msg and f->o. */
int fsratio_parse(struct fsratio *f, int argc, char **argv);

/* 0 or -ENOMEM. */
int fsratio_add(struct fsratio *f, const struct fsratio_row *row);

/* Reads all of f->list and adds the rows.  0 or -errno. */
int fsratio_zfs(struct fsratio *f);

/* The rows to standard output, as was asked for.  0 or -errno. */
int fsratio_write(struct fsratio *f);

#endif
