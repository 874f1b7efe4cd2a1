/*
 * changes.c - applying the whiteouts of a layer to the names of lower layers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/oci/changes.h"

#include "base/array.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/oci/whiteout.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct oci_changes {
	struct oci_changes_tree tree;
	uint32_t layer;			/* from 1 */
	uint32_t first;			/* nodes from here on belong to this
					 * layer */
	uint32_t *marks;		/* by node: the last layer that contains
					 * it */
	size_t mark_count;
	/*
	 * By node: the first node of lower layers in a directory, and the next
	 * one; 0: none.  NULL until needed.
	 */
	uint32_t *below, *beside;
};

int
oci_changes_open(struct oci_changes **out, const struct oci_changes_tree *t)
{
	struct oci_changes *c = sys_calloc(1, sizeof(*c));

	if (c == NULL)
		return -ENOMEM;
	c->tree = *t;
	*out = c;
	return 0;
}

static void
forget_lower(struct oci_changes *c)
{
	sys_free(c->below);
	sys_free(c->beside);
	c->below = c->beside = NULL;
}

void
oci_changes_close(struct oci_changes *c)
{
	if (c == NULL)
		return;
	forget_lower(c);
	sys_free(c->marks);
	sys_free(c);
}

void
oci_changes_layer(struct oci_changes *c, uint32_t count)
{
	forget_lower(c);
	c->first = count;
	c->layer++;
}

int
oci_changes_keep(struct oci_changes *c, uint32_t node)
{
	size_t before = c->mark_count;
	void *items = c->marks;
	int rc = array_reserve(&items, (size_t)node + 1, &c->mark_count,
	    sizeof(*c->marks));

	c->marks = items;
	if (rc != 0)
		return rc;
	memset(c->marks + before, 0, (c->mark_count - before) *
	    sizeof(*c->marks));
	for (; c->marks[node] != c->layer;
	    node = c->tree.parent(c->tree.arg, node))
		c->marks[node] = c->layer;
	return 0;
}

/* Returns whether the layer contains the node or any node below it. */
static bool
in_layer(const struct oci_changes *c, uint32_t node)
{
	return node >= c->first || (node < c->mark_count &&
	    c->marks[node] == c->layer);
}

/* Removes everything from lower layers below a directory. */
static int
hide_below(struct oci_changes *c, uint32_t dir)
{
	const struct oci_changes_tree *t = &c->tree;
	uint32_t stack = 0, next;

	if (dir >= c->first)
		return 0;
	/* list the nodes of lower layers by directory, once for each layer */
	if (c->below == NULL) {
		c->below = sys_calloc(c->first, sizeof(*c->below));
		c->beside = sys_calloc(c->first, sizeof(*c->beside));
		if (c->below == NULL || c->beside == NULL) {
			forget_lower(c);
			return -ENOMEM;
		}
		for (uint32_t i = 1; i < c->first; i++) {
			uint32_t parent = t->parent(t->arg, i);

			if (parent == OCI_NOWHERE)
				continue;
			c->beside[i] = c->below[parent];
			c->below[parent] = i;
		}
	}
	for (;;) {
		uint32_t i = c->below[dir];

		c->below[dir] = 0;
		for (; i != 0; i = next) {
			next = c->beside[i];
			if (t->parent(t->arg, i) != dir)
				continue;
			if (!in_layer(c, i)) {
				t->remove(t->arg, i);
				continue;
			}
			/* a directory of both: what is in it comes later */
			c->beside[i] = stack;
			stack = i;
		}
		if (stack == 0)
			return 0;
		dir = stack;
		stack = c->beside[dir];
	}
}

int
oci_changes_whiteout(struct oci_changes *c, const char *path)
{
	const struct oci_changes_tree *t = &c->tree;
	size_t dir_len = (size_t)(path_name(path) - path);
	const char *name = path + dir_len;
	bool opaque = strcmp(name, WHITEOUT_OPAQUE) == 0;
	uint32_t node;
	char *hidden;
	int rc = 0;

	if (!whiteout_has_prefix(name))
		return 0;
	if (!opaque && whiteout_removes(name) == NULL)
		return 1;
	hidden = strcopy(path);
	if (hidden == NULL)
		return -ENOMEM;
	if (opaque)
		hidden[dir_len > 0 ? dir_len - 1 : 0] = '\0';
	else
		strcpy(hidden + dir_len, whiteout_removes(name));
	node = t->find(t->arg, hidden);
	sys_free(hidden);
	if (node == OCI_NOWHERE)
		return 1;
	if (opaque || in_layer(c, node))
		rc = hide_below(c, node);
	else
		t->remove(t->arg, node);
	return rc != 0 ? rc : 1;
}
