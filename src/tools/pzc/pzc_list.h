/*
 * pzc_list.h - the results of -l for one file, and their output
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZC_LIST_H
#define COLDPRESS_PZC_LIST_H

#include "pzc_style.h"

struct pzc_entry {
	const struct source *src;
	const struct codec *codec;
	struct input in;
	struct codec_listing l;
	struct codec_stored stored;
	bool has_packed, tested;
	uint64_t packed;		/* size of the file */
	int64_t mtime;			/* 0: none */
};

/*
 * These functions print a line of pzc's table, a line of JSON (returning 0 or
 * -errno), and the last line of the table.
 */
void pzc_list_line(struct pzc *p, const struct pzc_entry *e);
int pzc_list_json(const struct pzc *p, const struct pzc_entry *e);
void pzc_list_sum(const struct pzc *p);

/*
 * Prints a name and ends the line.  A name may contain any character, and a
 * name from a header is untrusted, so control characters are written as \ooo.
 */
void pzc_put_name(const char *name);

#endif
