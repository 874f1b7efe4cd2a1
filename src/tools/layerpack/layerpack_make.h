/*
 * layerpack_make.h - declarations shared by the parts that make a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_MAKE_H
#define COLDPRESS_LAYERPACK_MAKE_H

#include "layerpack.h"

#include "base/output.h"
#include "base/progress.h"

/* A layer being made. */
struct layerpack_make {
	struct layerpack *p;
	const struct layerpack_make_options *o;
	struct pack_options pack;
	struct pack_result result;
	struct output out;
	struct progress progress;
	uint64_t wall_ns;
};

/* Prints the layer's row, to o->stats or standard error.  0 or -errno. */
int layerpack_write_stats(const struct layerpack_make *m);

#endif
