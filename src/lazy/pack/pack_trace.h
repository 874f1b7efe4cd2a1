/*
 * pack_trace.h - storing a second copy of the data touched at startup
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is described in toc_trace.h.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_TRACE_H
#define COLDPRESS_LAZY_PACK_PACK_TRACE_H

#include "pack_impl.h"

/*
 * Writes the trace of p->order, if it has one, and stores its position in p->r
 * and its digest in digest.  Returns 0 or -errno.
 */
int pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST]);

#endif
