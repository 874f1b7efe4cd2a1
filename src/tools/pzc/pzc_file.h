/*
 * pzc_file.h - a file being processed by pzc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZC_FILE_H
#define COLDPRESS_PZC_FILE_H

#include "pzc.h"

#include "base/output.h"

struct file {
	struct pzc *p;
	struct source *src;
	struct input in;
	const struct codec *codec;	/* NULL: to be copied */
	bool decompress;
	struct codec_stored stored;	/* in the header being decompressed */
	char *target;			/* the output's name, or NULL */
	struct output out;
	int out_fd;
	struct convert_result result;
};

/*
 * Confines the process once everything is open: with a single operand, nothing
 * else can be opened from then on.  out, if not NULL and open, can still be
 * given its name.
 */
void pzc_confine(struct pzc *p, const struct source *s,
    const struct output *out);

/* Converts the open file.  Returns 0 or -errno, after reporting the error. */
int pzc_convert(struct file *f);

/* Converts the open file into one with its final name. */
void pzc_to_target(struct file *f);

#endif
