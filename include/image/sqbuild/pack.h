/*
 * pack.h - a thread's compression of the units of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQBUILD_PACK_H
#define COLDPRESS_SQBUILD_PACK_H

#include "image/sqbuild/data.h"

struct pack;

/* For what *o says, which outlasts it.  0 or -ENOMEM.  One thread's. */
int pack_open(struct pack **k, const struct sqb_data_options *o);
void pack_close(struct pack *k);	/* k may be NULL */

/*
 * Compresses len bytes, at least one, of a block to out, which has room for
 * cap: returns the compressed size, or 0 if the block should be stored
 * uncompressed, because it does not shrink or a quick attempt predicts that it
 * hardly would.
 */
size_t pack_block(struct pack *k, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * The unit in s->in to s->out, which may change places; sets the word of its
 * notes.  A fragment block is never a hole.  0 or -ENOMEM.
 */
int pack_unit(struct pack *k, struct slot *s);

#endif
