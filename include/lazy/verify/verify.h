/*
 * verify.h - verifying every unit of a layer, and the archive in it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every unit must match its digest.  The archive, decompressed from its start
 * as by tar(1), must contain the same entries as the index and the same data as
 * the units, so that readers of either see the same files.  The compact index
 * and the trace, which some readers use instead of the index and the units, must
 * also match.
 */
#ifndef COLDPRESS_LAZY_VERIFY_H
#define COLDPRESS_LAZY_VERIFY_H

#include "lazy/layer.h"

struct verify_options {
	unsigned threads;		/* that decompress the archive */
	int archive;			/* the layer's file, read from its
					 * start, or the -errno with which it
					 * could not be opened */
	int spool;			/* an empty file for the trace; -1: do
					 * not compare the trace */
	/* Called for each fault of the layer. */
	void (*report)(void *arg, const char *text);
	void *arg;
};

struct verify_result {
	size_t entries, units, faults;
	uint64_t bytes;			/* bytes of data compared */
};

/*
 * Verifies a layer, with the blobs from which it was opened.  Returns 0, which
 * includes faults that have been reported, or -errno.
 */
int verify_layer(const struct layer *l, const struct layer_blobs *blobs,
    const struct verify_options *o, struct verify_result *r);

#endif
