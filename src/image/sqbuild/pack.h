/*
 * pack.h - the part of a thread that compresses the units of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQBUILD_PACK_H
#define COLDPRESS_SQBUILD_PACK_H

#include "image/sqbuild/data.h"

struct pack;

/* 0 or -ENOMEM. */
int pack_open(struct pack **k, const struct sqb_data_options *o);
void pack_close(struct pack *k);	/* k may be NULL */

/*
 * The unit in s->in to s->out, which may change places; sets the word of its
 * notes.  A fragment block is never a hole.  0 or -ENOMEM.
 */
int pack_unit(struct pack *k, struct slot *s);

#endif
