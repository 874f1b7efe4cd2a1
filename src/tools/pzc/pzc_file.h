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
	struct codec_stored stored;	/* from the header being decompressed */
	char *target;			/* name of the output, or NULL */
	struct output out;
	int out_fd;
	struct convert_result result;
};

/*
 * Confines the process once all files are open: with a single operand, no other
 * files can be opened from then on.  out, if not NULL and open, can still be
 * linked to its name.
 */
void pzc_confine(struct pzc *p, const struct source *s,
    const struct output *out);

/*
 * Returns whether data in an unknown format is copied unchanged: with -dcf, and
 * in some styles with -df for standard input, but never when testing.
 */
bool pzc_copies(const struct file *f);

/*
 * Returns the format of a stream that begins with len bytes, or NULL if it is
 * not known.  The bytes take precedence over -F, which may come from the
 * environment.
 */
const struct codec *pzc_codec_of(const struct pzc *p, const uint8_t *head,
    size_t len);

/* Converts the open file.  Returns 0 or -errno, after reporting the error. */
int pzc_convert(struct file *f);

/* Converts the open file into one with its final name. */
void pzc_to_target(struct file *f);

#endif
