/*
 * merge_tree.c - finding names while layers are merged, then sorting them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A removed node stays in the table, marked as gone, until a new node with the
 * same name takes its slot.
 */
#include "lazy/merge_tree.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the name's slot, or the empty slot where it belongs. */
static size_t
find_slot(const struct merge *t, uint32_t parent, const char *name, size_t len)
{
	size_t i = (size_t)hash_bytes(t->seed + parent, name, len) &
	    (t->slots - 1);

	for (; t->table[i] != 0; i = (i + 1) & (t->slots - 1)) {
		const struct merge_node *n = &t->nodes[t->table[i] - 1];

		if (n->parent == parent && strncmp(n->name, name, len) == 0 &&
		    n->name[len] == '\0')
			break;
	}
	return i;
}

int64_t
merge_find(const struct merge *t, uint32_t parent, const char *name, size_t len)
{
	uint32_t found;

	if (t->slots == 0)
		return MERGE_NONE;
	found = t->table[find_slot(t, parent, name, len)];
	return found == 0 || t->gone[found - 1] ? MERGE_NONE :
	    (int64_t)found - 1;
}

int64_t
merge_add(struct merge *t, uint32_t parent, const char *name)
{
	void *nodes = t->nodes, *gone = t->gone;
	int rc;

	if (t->count >= LAYER_ENTRIES_MAX)
		return -EFBIG;
	rc = array_grow(&nodes, t->count, &t->cap, sizeof(*t->nodes));
	t->nodes = nodes;
	if (rc == 0)
		rc = array_grow(&gone, t->count, &t->gone_cap,
		    sizeof(*t->gone));
	t->gone = gone;
	if (rc != 0)
		return rc;
	if (t->count >= t->slots / 2) {
		size_t slots = t->slots == 0 ? 1024 : 2 * t->slots;
		uint32_t *table = sys_calloc(slots, sizeof(*table));

		if (table == NULL)
			return -ENOMEM;
		sys_free(t->table);
		t->table = table;
		t->seed = t->slots == 0 ? hash_seed() : t->seed;
		t->slots = slots;
		for (size_t i = 0; i < t->count; i++)
			table[find_slot(t, t->nodes[i].parent,
			    t->nodes[i].name, strlen(t->nodes[i].name))] =
			    (uint32_t)i + 1;
	}
	t->nodes[t->count] = (struct merge_node){ .name = name,
		.parent = parent, .inode = (uint32_t)t->count };
	t->gone[t->count] = false;
	t->table[find_slot(t, parent, name, strlen(name))] =
	    (uint32_t)t->count + 1;
	return (int64_t)t->count++;
}

void
merge_remove(struct merge *t, uint32_t node)
{
	t->gone[node] = true;
}

/* Settling */

static int
by_node_name(const void *a, const void *b, void *arg)
{
	const struct merge *t = arg;

	return strcmp(t->nodes[*(const uint32_t *)a].name,
	    t->nodes[*(const uint32_t *)b].name);
}

/* Fills in the children of all directories: a counting sort by parent. */
static int
sort_children(struct merge *t)
{
	uint32_t at = 0;

	t->children = sys_calloc(t->count + 1, sizeof(*t->children));
	if (t->children == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < t->count; i++)
		t->nodes[t->nodes[i].parent].count++;
	for (size_t i = 0; i < t->count; i++) {
		t->nodes[i].first = at;
		at += t->nodes[i].count;
		t->nodes[i].count = 0;
	}
	for (size_t i = 1; i < t->count; i++) {
		struct merge_node *dir = &t->nodes[t->nodes[i].parent];

		t->children[dir->first + dir->count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < t->count; i++)
		qsort_r(t->children + t->nodes[i].first, t->nodes[i].count,
		    sizeof(*t->children), by_node_name, t);
	return 0;
}

int
merge_settle(struct merge *t)
{
	/* for each removed node, first the node that inherits its file, + 1 */
	uint32_t *to = sys_calloc(t->count + 1, sizeof(*to));
	size_t count = 0;

	if (to == NULL)
		return -ENOMEM;
	/* one pass is enough, because parents precede their children */
	for (size_t i = 1; i < t->count; i++)
		if (t->gone[t->nodes[i].parent])
			t->gone[i] = true;
	/* if a file's first name was removed, the next becomes the inode */
	for (size_t i = 0; i < t->count; i++) {
		uint32_t inode = t->nodes[i].inode;

		if (t->gone[i] || !t->gone[inode])
			continue;
		if (to[inode] == 0)
			to[inode] = (uint32_t)i + 1;
		t->nodes[i].inode = to[inode] - 1;
	}
	/* then the new number of every node */
	for (size_t i = 0; i < t->count; i++) {
		to[i] = (uint32_t)count;
		if (!t->gone[i])
			t->nodes[count++] = t->nodes[i];
	}
	t->count = count;
	for (size_t i = 0; i < count; i++) {
		t->nodes[i].parent = to[t->nodes[i].parent];
		t->nodes[i].inode = to[t->nodes[i].inode];
	}
	sys_free(to);
	sys_free(t->table);
	sys_free(t->gone);
	t->table = NULL;
	t->gone = NULL;
	for (size_t i = 0; i < count; i++) {
		struct merge_node *n = &t->nodes[i];

		if (merge_type(n) != TAR_DIR) {
			t->nodes[n->inode].links++;
			continue;
		}
		n->links += 2;
		if (i != MERGE_ROOT)
			t->nodes[n->parent].links++;
	}
	return sort_children(t);
}
