/*
 * tar_content.c - a file's content in a tar archive, including holes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/tar/tar_content.h"

#include <errno.h>
#include <string.h>

/* Skips the extents that end before the current position. */
static const struct tar_extent *
next_extent(struct tar_content *c)
{
	const struct tar_entry *e = c->e;

	while (c->extent < e->extent_count && c->at >=
	    e->extents[c->extent].offset + e->extents[c->extent].length)
		c->extent++;
	return c->extent < e->extent_count ? &e->extents[c->extent] : NULL;
}

uint64_t
tar_content_hole(struct tar_content *c)
{
	const struct tar_entry *e = c->e;
	const struct tar_extent *x = next_extent(c);

	if (e->type != TAR_FILE ||
	    (e->extents == NULL && e->size == e->stored))
		return 0;
	if (x == NULL)
		return e->size - c->at;
	return x->offset > c->at ? x->offset - c->at : 0;
}

int
tar_content_read(struct tar_content *c, void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len > 0) {
		uint64_t hole = tar_content_hole(c), run = len;
		const struct tar_extent *x = next_extent(c);
		ssize_t n;

		if (hole > 0)
			run = hole;
		else if (x != NULL)
			run = x->offset + x->length - c->at;
		n = run < len ? (ssize_t)run : (ssize_t)len;
		if (hole > 0)
			memset(to, 0, (size_t)n);
		else
			n = tar_read(c->tar, to, (size_t)n);
		if (n <= 0)
			return n < 0 ? (int)n : -ENODATA;
		c->at += (uint64_t)n;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

void
tar_content_skip(struct tar_content *c, uint64_t len)
{
	c->at += len;
}
