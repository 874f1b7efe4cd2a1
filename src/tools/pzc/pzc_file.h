/*
 * pzc_file.h - one file on its way through pzc
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
	struct codec_stored stored;	/* of what is decompressed */
	char *target;			/* the output's name, or NULL */
	struct output out;
	int out_fd;
	struct convert_result result;
};

/*
 * All is open now: with a single operand, nothing else can be opened from here
 * on.  out, if not NULL and open, can get its name.
 */
void pzc_confine(struct pzc *p, const struct source *s,
    const struct output *out);

/* Converts what is open.  0 or -errno, when it has been said what is wrong. */
int pzc_convert(struct file *f);

/* Converts it into a file of the name that it is to have. */
void pzc_to_target(struct file *f);

#endif
