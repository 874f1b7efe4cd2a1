/*
 * pack.h - compressing the units of an image in one thread
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_PACK_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_PACK_H

#include "image/squashfs/write/data.h"

/* Building a squashfs image. */
struct squashfs_notes {
	size_t number;		/* fill: number of the unit or old block */
	uint32_t count;		/* fill: 1; for a hole, its block count */
	bool is_fragment;	/* fill: a fragment block, not a file's block */
	bool raw;		/* fill: not to be compressed */
	bool copied;		/* work: not compressed, but copied */
	uint32_t word;		/* work: size word for `out`, with
				 * SQUASHFS_BLOCK_RAW if uncompressed; 0: a
				 * hole */
};
SLOT_NOTES(squashfs_notes)

struct sqw_pack;

/*
 * Returns the size of a unit's buffer, which has room for a block or its
 * compressed form.
 */
size_t sqw_pack_room(const struct sqw_data_options *o);

/*
 * Opens a compressor, for one thread at a time, with the options *o, which must
 * outlive it.  Returns 0 or -ENOMEM.
 */
int sqw_pack_open(struct sqw_pack **k, const struct sqw_data_options *o);
void sqw_pack_close(struct sqw_pack *k);	/* k may be NULL */

/*
 * Compresses len bytes of a block, at least one, to out, which has room for cap
 * bytes.  Returns the compressed size, or 0 if the block should be stored
 * uncompressed, because it does not shrink or, according to a quick test,
 * hardly would.
 */
size_t sqw_pack_block(struct sqw_pack *k, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * Compresses the unit in s->in to s->out, which may be swapped, and sets the
 * size word in its notes.  A fragment block never becomes a hole.  Returns 0 or
 * -ENOMEM.
 */
int sqw_pack_unit(struct sqw_pack *k, struct slot *s);

#endif
