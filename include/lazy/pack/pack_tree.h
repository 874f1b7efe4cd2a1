/*
 * pack_tree.h - the names in an archive, as extracting it would create them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An archive with entries that no reader could create is rejected when the
 * layer is made, not when it is read.  A hard link to a file that the archive
 * does not contain is not an error, because a lower layer may contain it.
 */
#ifndef COLDPRESS_LAZY_PACK_TREE_H
#define COLDPRESS_LAZY_PACK_TREE_H

#include "lazy/pack/pack.h"

/*
 * Checks what does not depend on other entries: the lengths of the names, and
 * the IDs.  Returns 0, or -EINVAL or -EOVERFLOW with a clause in why.
 */
int pack_check_entry(const struct tar_entry *e, char why[LAYER_WHY]);

struct pack_tree;

int pack_tree_open(struct pack_tree **t);	/* returns 0 or -ENOMEM */
void pack_tree_close(struct pack_tree *t);	/* may be NULL */

/*
 * Adds the next entry.  Returns 0; -EINVAL or -EOVERFLOW, with a clause in why;
 * -EFBIG or -ENOMEM.
 */
int pack_tree_add(struct pack_tree *t, const struct tar_entry *e,
    char why[LAYER_WHY]);

/* Returns whether two entries so far have the same name. */
bool pack_tree_again(const struct pack_tree *t);

/*
 * After the last entry, fills in r->lower_links, lower_link and globals.  Returns
 * 0, or -EINVAL with a clause in why (a hard link precedes its target).
 */
int pack_tree_end(const struct pack_tree *t, struct pack_result *r,
    char why[LAYER_WHY]);

#endif
