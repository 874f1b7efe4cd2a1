/*
 * sqfs_listing.c - what files take in a squashfs image: names in directories
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs_image.h"

#include "base/array.h"

#include <string.h>

enum { HEAD = 12, RUN_MOST = 256, ENTRY = 8, NUMBER_FAR = 32767 };

/* Whether another entry is too far behind what the index points to. */
static bool
is_far(const struct sqfs_listing *l, uint64_t size, const char *name)
{
	return size + ENTRY + strlen(name) - l->indexed > SQFS_META;
}

/* How many entries from child on may be below one head. */
static uint32_t
run_length(const struct sqfs_image *m, const struct sqfs_listing *l,
    size_t child, size_t end)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	uint32_t count = 0, block = m->places[nodes[child].owner].block;
	int64_t number = nodes[child].number;
	uint64_t size = l->size;

	for (size_t i = child; i < end && count < RUN_MOST; i =
	    nodes[i].end, count++) {
		int64_t far = nodes[i].number - number;

		if (m->places[nodes[i].owner].block != block ||
		    far > NUMBER_FAR || far < -NUMBER_FAR - 1 ||
		    (count > 0 && is_far(l, size, nodes[i].name)))
			break;
		size += ENTRY + strlen(nodes[i].name);
	}
	return count;
}

static size_t
put_entry(struct sqfs_image *m, size_t child, uint32_t number,
    struct sqfs_listing *l)
{
	const struct sqfs_node *n = &m->tree->nodes[child];
	size_t len = strlen(n->name);

	sqfs_put16(&m->listings, m->places[n->owner].offset);
	sqfs_put16(&m->listings, n->number - number);
	sqfs_put16(&m->listings, m->types[n->owner]);
	sqfs_put16(&m->listings, len - 1);
	sqfs_put(&m->listings, n->name, len);
	l->size += ENTRY + len;
	l->dirs += m->types[n->owner] == SQFS_DIR;
	return n->end;
}

static int
add_index(struct sqfs_image *m, const struct sqfs_listing *l, const char *name)
{
	void *indices = m->indices;
	int rc = array_grow(&indices, m->index_count, &m->index_cap,
	    sizeof(*m->indices));

	m->indices = indices;
	if (rc == 0)
		m->indices[m->index_count++] = (struct sqfs_index){
		    (uint32_t)l->size, sqfs_place(&m->listings).block, name };
	return rc;
}

void
sqfs_put_listing(struct sqfs_image *m, size_t dir, struct sqfs_listing *l)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	size_t child = dir + 1, end = nodes[dir].end;

	m->index_count = 0;
	while (child < end && m->rc == 0) {
		uint32_t number = nodes[child].number, count;
		bool far = is_far(l, l->size, nodes[child].name);

		if (far)
			m->rc = add_index(m, l, nodes[child].name);
		l->size += HEAD;
		if (far || child == dir + 1)
			l->indexed = l->size;
		count = run_length(m, l, child, end);
		sqfs_put32(&m->listings, count - 1);
		sqfs_put32(&m->listings, m->places[nodes[child].owner].block);
		sqfs_put32(&m->listings, number);
		while (count-- > 0)
			child = put_entry(m, child, number, l);
	}
}
