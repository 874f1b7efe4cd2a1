/*
 * pack_ztoc.h - declarations shared by the parts that write a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_ZTOC_H
#define COLDPRESS_LAZY_PACK_PACK_ZTOC_H

#include "lazy/ztoc/flatbuf.h"
#include "lazy/pack/pack.h"
#include "lazy/ztoc/ztoc.h"

#include <stdbool.h>

enum { ZTOC_LEVEL = 9 };		/* level for the windows and the
					 * index */

/* Implements pack_layer() for LAYER_ZTOC. */
int pack_ztoc(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY]);

/* The entries */

struct pack_ztoc_entries;

int pack_ztoc_entries_open(struct pack_ztoc_entries **x, const char *tmpdir);
void pack_ztoc_entries_close(struct pack_ztoc_entries *x);	/* may be NULL */

/*
 * Adds an entry.  Returns 0; -EINVAL, with a clause in why, if the index cannot
 * represent the entry; or another -errno.
 */
int pack_ztoc_entries_add(struct pack_ztoc_entries *x,
    const struct tar_entry *e, bool packed, char why[LAYER_WHY]);

/*
 * Writes the Toc with all of its contents; *at is its position.  Returns 0 or
 * -errno.
 */
int pack_ztoc_entries_write(struct pack_ztoc_entries *x,
    struct flatbuf_writer *w, uint32_t *at);

#endif
