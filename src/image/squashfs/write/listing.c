/*
 * listing.c - writing the directory listings of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layout_impl.h"

#include "base/array.h"

#include <string.h>

/* Maximum difference between inode numbers under one header. */
enum { NUMBER_FAR = 32767 };

/*
 * Returns whether another entry would end too far beyond the indexed part of
 * the listing.
 */
static bool
is_far(const struct sqw_listing *s, uint64_t size, const char *name)
{
	return size + SQUASHFS_ENTRY_B + strlen(name) - s->indexed >
	    SQUASHFS_META_B;
}

/* Returns how many entries, starting at child, can share one header. */
static uint32_t
run_length(const struct sqw_layout *l, const struct sqw_listing *s,
    size_t child, size_t end)
{
	const struct sqw_node *nodes = l->tree->nodes;
	uint32_t count = 0, block = l->places[nodes[child].owner].block;
	int64_t number = nodes[child].number;
	uint64_t size = s->size;

	for (size_t i = child; i < end && count < SQUASHFS_LISTING_RUN; i =
	    nodes[i].end, count++) {
		int64_t far = nodes[i].number - number;

		if (l->places[nodes[i].owner].block != block ||
		    far > NUMBER_FAR || far < -NUMBER_FAR - 1 ||
		    (count > 0 && is_far(s, size, nodes[i].name)))
			break;
		size += SQUASHFS_ENTRY_B + strlen(nodes[i].name);
	}
	return count;
}

static size_t
put_listed(struct sqw_layout *l, size_t child, uint32_t number,
    struct sqw_listing *s)
{
	const struct sqw_node *n = &l->tree->nodes[child];
	size_t len = strlen(n->name);

	sqw_put16(&l->listings, l->places[n->owner].offset);
	sqw_put16(&l->listings, n->number - number);
	sqw_put16(&l->listings, l->types[n->owner]);
	sqw_put16(&l->listings, len - 1);
	sqw_put(&l->listings, n->name, len);
	s->size += SQUASHFS_ENTRY_B + len;
	s->entries_B += SQUASHFS_ENTRY_B + len;
	s->entries++;
	s->dirs += l->types[n->owner] == SQUASHFS_DIR;
	return n->end;
}

static int
add_index(struct sqw_layout *l, const struct sqw_listing *s, const char *name)
{
	void *indices = l->indices;
	int rc = array_grow(&indices, l->index_count, &l->index_cap,
	    sizeof(*l->indices));

	l->indices = indices;
	if (rc == 0)
		l->indices[l->index_count++] = (struct sqw_index){
		    (uint32_t)s->size, sqw_place(&l->listings).block, name };
	return rc;
}

void
sqw_put_listing(struct sqw_layout *l, size_t dir, struct sqw_listing *s)
{
	const struct sqw_node *nodes = l->tree->nodes;
	size_t child = dir + 1, end = nodes[dir].end;

	l->index_count = 0;
	while (child < end && l->err == 0) {
		uint32_t number = nodes[child].number, count;
		bool far = is_far(s, s->size, nodes[child].name);

		if (far)
			l->err = add_index(l, s, nodes[child].name);
		if (far)
			s->indexed = s->size;
		s->size += SQUASHFS_LISTING_HEAD_B;
		count = run_length(l, s, child, end);
		sqw_put32(&l->listings, count - 1);
		sqw_put32(&l->listings, l->places[nodes[child].owner].block);
		sqw_put32(&l->listings, number);
		while (count-- > 0)
			child = put_listed(l, child, number, s);
	}
}
