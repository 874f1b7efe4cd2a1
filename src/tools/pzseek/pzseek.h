/*
 * pzseek.h - declarations shared by the parts of pzseek
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZSEEK_H
#define COLDPRESS_PZSEEK_H

#include "format/seek.h"

#include "base/msg.h"
#include "base/output.h"

#include <stdbool.h>
#include <sys/stat.h>

struct pzseek {
	struct msg msg;
	struct convert convert;
	const char *path, *output, *index;
	bool seek_table, no_index, make_index, from_start, verify, force, list, json;
	uint64_t spacing;
	char **ranges;
	int range_count;

	int fd, index_fd, out_fd;
	struct stat st;
	struct output out;
	const char *index_state;	/* state of the index, for a listing */
	char *index_name;		/* name given, or derived from the
					 * file's */
};

/* Parses the command line.  Returns -1 to continue, or the exit status. */
int pzseek_parse(struct pzseek *p, int argc, char **argv);

#endif
