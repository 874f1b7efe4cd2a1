/*
 * pzc_zstd.h - declarations shared by the parts of pzc as zstd
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PZC_ZSTD_H
#define COLDPRESS_PZC_ZSTD_H

#include "pzc.h"

/* Exit statuses of zstd that are errors of their own. */
enum {
	ZSTD_BAD_PARAMETER = 11, ZSTD_FEW_SAMPLES = 14, ZSTD_NO_DICTIONARY = 31,
	ZSTD_NO_STREAM_SIZE = 42
};

/* Dictionaries are made at this level, unless another is given. */
enum { ZSTD_DICTIONARY_LEVEL = 3 };

/*
 * The callback of --train and its variants: how is "", "-cover", "-fastcover"
 * or "-legacy".
 */
int pzc_take_train(void *into, const char *how);

/*
 * Checks what the options for a dictionary say, before samples are read.
 * Returns what pzc_parse() does.
 */
int pzc_train_prepare(struct pzc *p);

/* Adds a file, or parts of it, to the samples; struct pzc_style.sample. */
void pzc_train_sample(struct pzc *p, struct source *src);

/* Makes the dictionary with libzstd's trainers, and frees the samples. */
void pzc_train(struct pzc *p);

#endif
