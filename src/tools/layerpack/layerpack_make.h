/*
 * layerpack_make.h - declarations shared by the code that makes a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_MAKE_H
#define COLDPRESS_LAYERPACK_MAKE_H

#include "layerpack.h"

#include "base/output.h"
#include "base/progress.h"

/*
 * Sets the options, and reads the list given with --order, which must be freed
 * with walk_order_free() even after an error.  Returns 0, or -errno after
 * reporting the error.
 */
int layerpack_make_prepare(struct layerpack *p, struct pack_options *pack);

/*
 * Checks that at least one path in the list was found; order may be NULL.
 * Returns 0, or -ENOENT after reporting that none was found.
 */
int layerpack_check_order(struct layerpack *p, const struct walk_order *order);

/*
 * Warns about an archive without an end or with hard links to a lower layer, and
 * about a trace that is too large for readers.
 */
void layerpack_warn(struct layerpack *p, const char *archive,
    const char *layer, const struct pack_result *r);

#endif
