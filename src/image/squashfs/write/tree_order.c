/*
 * tree_order.c - sorting a tree's nodes into image order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/tree.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The children of each directory, grouped by directory. */
struct order {
	const struct sqw_node *old;
	uint32_t *first;		/* start of each id's children, and
					 * the end */
	uint32_t *children;		/* ids */
	uint32_t *cursor;		/* position in each open directory */
	struct sqw_node *nodes;		/* in the new order */
	uint32_t *at;
	size_t count;
};

static int
by_node_name(const void *a, const void *b, void *arg)
{
	const struct sqw_node *old = arg;

	return strcmp(old[*(const uint32_t *)a].name,
	    old[*(const uint32_t *)b].name);
}

/* Sorts ids by parent with a counting sort, then by name within each parent. */
static void
collect(struct order *o, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 1; i < n; i++)
		if (o->old[i].parent != SQW_NOWHERE)
			o->first[o->old[i].parent]++;
	for (size_t i = 0; i <= n; i++) {
		uint32_t here = o->first[i];

		o->first[i] = o->cursor[i] = sum;
		sum += here;
	}
	for (size_t i = 1; i < n; i++)
		if (o->old[i].parent != SQW_NOWHERE)
			o->children[o->cursor[o->old[i].parent]++] =
			    (uint32_t)i;
	for (size_t i = 0; i < n; i++)
		qsort_r(o->children + o->first[i],
		    o->first[i + 1] - o->first[i], sizeof(*o->children),
		    by_node_name, (void *)(uintptr_t)o->old);
	memcpy(o->cursor, o->first, (n + 1) * sizeof(*o->cursor));
}

static uint32_t
place_node(struct order *o, uint32_t id, uint32_t parent)
{
	uint32_t at = (uint32_t)o->count++;

	o->at[id] = at;
	o->nodes[at] = o->old[id];
	o->nodes[at].parent = parent;
	return at;
}

/* Traverses depth first without recursion, using the nodes' parents. */
static void
descend(struct order *o)
{
	uint32_t in = place_node(o, 0, 0);

	for (;;) {
		uint32_t id = o->nodes[in].id;

		if (o->cursor[id] < o->first[id + 1]) {
			in = place_node(o, o->children[o->cursor[id]++], in);
			continue;
		}
		o->nodes[in].end = (uint32_t)o->count;
		if (in == 0)
			break;
		in = o->nodes[in].parent;
	}
}

/*
 * Makes each inode's first name in the new order its owner, with the attributes
 * of the node linked to, even if that node was removed.
 */
static int
own_inodes(struct sqw_tree *t, struct order *o)
{
	uint32_t *owner = sys_malloc(t->count * sizeof(*owner));

	if (owner == NULL)
		return -ENOMEM;
	memset(owner, 0xff, t->count * sizeof(*owner));
	for (uint32_t i = 0; i < o->count; i++) {
		struct sqw_node *n = &o->nodes[i];
		uint32_t linked = n->owner;	/* an id */

		if (owner[linked] == SQW_NOWHERE) {
			owner[linked] = i;
			n->attr = o->old[linked].attr;
			n->id = linked;
			n->links = 0;
			o->at[linked] = i;
		}
		n->owner = owner[linked];
		n->attr = o->nodes[n->owner].attr;
		o->nodes[n->owner].links++;
	}
	sys_free(owner);
	return 0;
}

/* Assigns inode numbers in order, the root last. */
static void
number_inodes(struct sqw_tree *t)
{
	t->inodes = 0;
	for (size_t i = 1; i < t->count; i++) {
		struct sqw_node *n = &t->nodes[i];

		n->number = n->owner == i ? ++t->inodes :
		    t->nodes[n->owner].number;
	}
	t->nodes[0].number = ++t->inodes;
}

int
sqw_tree_finish(struct sqw_tree *t)
{
	size_t n = t->count;
	struct order o = {
		.old = t->nodes,
		.first = sys_calloc(n + 1, sizeof(*o.first)),
		.children = sys_calloc(n, sizeof(*o.children)),
		.cursor = sys_calloc(n + 1, sizeof(*o.cursor)),
		.nodes = sys_calloc(n, sizeof(*o.nodes)),
		.at = sys_malloc(n * sizeof(*o.at)),
	};
	int rc = o.first == NULL || o.children == NULL || o.cursor == NULL ||
	    o.nodes == NULL || o.at == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		memset(o.at, 0xff, n * sizeof(*o.at));
		collect(&o, n);
		descend(&o);
		rc = own_inodes(t, &o);
	}
	sys_free(o.first);
	sys_free(o.children);
	sys_free(o.cursor);
	if (rc != 0) {
		sys_free(o.nodes);
		sys_free(o.at);
		return rc;
	}
	sys_free(t->nodes);
	sys_free(t->slots);
	t->slots = NULL;
	t->nodes = o.nodes;
	t->count = o.count;
	t->at = o.at;
	t->ids = n;
	number_inodes(t);
	return 0;
}

/* A node's owner precedes it and is examined first. */
int
sqw_tree_prune(struct sqw_tree *t)
{
	uint32_t *now = sys_malloc((t->count + 1) * sizeof(*now)), kept = 0;

	if (now == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		now[i] = kept;
		kept += t->nodes[t->nodes[i].owner].attr.mode != 0;
	}
	now[t->count] = kept;
	for (size_t i = 0; i < t->count; i++) {
		struct sqw_node n = t->nodes[i];

		if (now[i] == now[i + 1])
			continue;
		n.parent = now[n.parent];
		n.owner = now[n.owner];
		n.end = now[n.end];
		t->nodes[now[i]] = n;
	}
	for (size_t id = 0; id < t->ids; id++) {
		uint32_t i = t->at[id];

		if (i != SQW_NOWHERE)
			t->at[id] = now[i] == now[i + 1] ? SQW_NOWHERE : now[i];
	}
	t->count = kept;
	sys_free(now);
	number_inodes(t);
	return 0;
}
