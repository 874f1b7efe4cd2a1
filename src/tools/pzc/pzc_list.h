/*
 * pzc_list.h - what -l found in one file, and how that is shown
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
	uint64_t packed;		/* bytes in the file */
	int64_t mtime;			/* 0: none */
};

/* A line of pzc's table, of JSON (0 or -errno), and the table's last. */
void pzc_list_line(struct pzc *p, const struct pzc_entry *e);
int pzc_list_json(const struct pzc *p, const struct pzc_entry *e);
void pzc_list_sum(const struct pzc *p);

/*
 * The rest of a line.  A name may hold anything, and one from a header is
 * anybody's: control characters are written as \ooo.
 */
void pzc_put_name(const char *name);

#endif
