/*
 * sq_block.c - one block of data out of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include <errno.h>

int64_t
sq_block_unpack(const struct sq_super *s, struct sq_codec *c,
    struct sq_packed *b, size_t want, uint8_t *out, const char **why)
{
	size_t n = b->word & (SQ_STORED - 1);
	size_t cap = want != 0 ? want : s->block;
	bool stored = (b->word & SQ_STORED) != 0;
	int64_t made = (int64_t)n;
	int rc;

	*why = "its stored size is 0, or larger than a block";
	if (n == 0 || n > s->block || b->word >= 2 * SQ_STORED ||
	    (stored && n > cap))
		return -EBADMSG;
	rc = sq_read(s, b->at, stored ? out : b->data, n);
	*why = rc == -ENODATA ? "the file ends before it does" :
	    "it cannot be read";
	if (rc != 0)
		return rc;
	b->read_B += n;
	if (!stored)
		made = sq_codec_unpack(c, b->data, n, out, cap);
	*why = "it cannot be unpacked";
	if (made < 0)
		return made;
	*why = "it unpacks to less than the file needs";
	if (want != 0 && (size_t)made != want)
		return -EBADMSG;
	*why = NULL;
	return made;
}
