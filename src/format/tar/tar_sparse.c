/*
 * tar_sparse.c - the extents of sparse files, and content with holes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_impl.h"

#include "base/array.h"
#include "format/tar/tar.h"

#include <errno.h>
#include <string.h>

/* The old GNU header holds 4 extents; each block after it holds 21. */
enum {
	NUMBER_B = 12,
	FIRST_AT = 386, FIRST_COUNT = 4, FIRST_MORE = 482,
	REALSIZE_AT = 483,
	NEXT_COUNT = 21, NEXT_MORE = 504
};

/* A line of a pax 1.0 map is a decimal number of at most this many digits. */
enum { DIGITS_MAX = 20 };

int
tar_extent_add(struct tar *t, struct tar_extents *list, struct tar_extent x)
{
	void *p = list->at;

	if (list->count == TAR_EXTENTS_MAX)
		return tar_fail(t, -EFBIG,
		    "a sparse file has too many extents");
	if (array_grow(&p, list->count, &list->cap, sizeof(x)) != 0)
		return -ENOMEM;
	list->at = p;
	list->at[list->count++] = x;
	return 0;
}

/*
 * Adds up to count extents from a block.  An extent whose first byte is zero
 * ends the list.
 */
static int
extents_of_block(struct tar *t, const uint8_t *p, unsigned count)
{
	int64_t offset, length;
	int rc = 0;

	for (; rc == 0 && count > 0 && *p != 0; count--) {
		if (tar_number(p, NUMBER_B, &offset) != 0 ||
		    tar_number(p + NUMBER_B, NUMBER_B, &length) != 0 ||
		    offset < 0 || length < 0)
			return tar_fail(t, -EBADMSG,
			    "a sparse file's map is damaged");
		rc = tar_extent_add(t, &t->extents, (struct tar_extent){
		    (uint64_t)offset, (uint64_t)length });
		p += 2 * NUMBER_B;
	}
	return rc;
}

int
tar_sparse_old(struct tar *t, uint64_t *realsize)
{
	bool more = t->block[FIRST_MORE] != 0;
	int64_t size;
	int rc;

	if (tar_number(t->block + REALSIZE_AT, NUMBER_B, &size) != 0 ||
	    size < 0)
		return tar_fail(t, -EBADMSG,
		    "a sparse file's size is not a number");
	*realsize = (uint64_t)size;
	rc = extents_of_block(t, t->block + FIRST_AT, FIRST_COUNT);
	while (rc == 0 && more) {
		rc = tar_block(t);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return tar_fail(t, -ENODATA,
			    "the archive ends within a sparse file's map");
		more = t->block[NEXT_MORE] != 0;
		rc = extents_of_block(t, t->block, NEXT_COUNT);
	}
	return rc;
}

/* Reads the lines of a map, a block at a time. */
struct map {
	uint8_t block[TAR_BLOCK];
	size_t at;			/* offset in the block; TAR_BLOCK: read
					 * the next block */
};

static int
map_fill(struct tar *t, struct map *m)
{
	size_t have = 0;
	ssize_t n;

	while (have < TAR_BLOCK) {
		n = tar_read(t, m->block + have, TAR_BLOCK - have);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return tar_fail(t, -EBADMSG,
			    "a sparse file's map is longer than its data");
		have += (size_t)n;
	}
	m->at = 0;
	return 0;
}

static int
map_number(struct tar *t, struct map *m, uint64_t *value)
{
	char text[DIGITS_MAX + 1];
	size_t len = 0;
	int rc;

	for (;;) {
		rc = m->at == TAR_BLOCK ? map_fill(t, m) : 0;
		if (rc != 0)
			return rc;
		if (m->block[m->at] == '\n' || len == DIGITS_MAX)
			break;
		text[len++] = (char)m->block[m->at++];
	}
	text[len] = '\0';
	if (m->block[m->at++] != '\n' || tar_decimal(text, value) != 0)
		return tar_fail(t, -EBADMSG,
		    "a sparse file's map is damaged");
	return 0;
}

int
tar_sparse_map(struct tar *t)
{
	struct map m = { .at = TAR_BLOCK };
	uint64_t count, offset, length;
	int rc = map_number(t, &m, &count);

	if (rc != 0)
		return rc;
	while (count-- > 0) {
		rc = map_number(t, &m, &offset);
		if (rc != 0)
			return rc;
		rc = map_number(t, &m, &length);
		if (rc != 0)
			return rc;
		rc = tar_extent_add(t, &t->extents,
		    (struct tar_extent){ offset, length });
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
tar_sparse_check(struct tar *t, uint64_t size, uint64_t stored)
{
	uint64_t end = 0, sum = 0;
	size_t kept = 0;

	for (size_t i = 0; i < t->extents.count; i++) {
		const struct tar_extent *e = &t->extents.at[i];

		if (e->offset < end || e->offset > size ||
		    e->length > size - e->offset)
			return tar_fail(t, -EBADMSG,
			    "a sparse file's extents overlap or extend past "
			    "its end");
		end = e->offset + e->length;
		sum += e->length;
		if (e->length > 0)
			t->extents.at[kept++] = *e;
	}
	t->extents.count = kept;
	if (sum != stored)
		return tar_fail(t, -EBADMSG, "a sparse file's extents do not "
		    "match the length of its data");
	return 0;
}

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
