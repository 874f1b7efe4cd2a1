/*
 * tree.c - the tree that a squashfs image will hold
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While the tree grows, a node's index in the array is its id, and an open hash
 * table finds it by parent and name.  A removed node remains, with SQW_NOWHERE
 * as its parent.  tree_order.c completes the tree.
 */
#include "image/squashfs/write/tree.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS_FIRST = 1024 };

#define EMPTY UINT32_MAX

static bool
is_dir(const struct sqw_node *n)
{
	return S_ISDIR(n->attr.mode);
}

static bool
is_named(const struct sqw_node *n, uint32_t parent, const char *name,
    size_t len)
{
	return n->parent == parent && strncmp(n->name, name, len) == 0 &&
	    n->name[len] == '\0';
}

/* Returns the node's slot, or the empty slot where it belongs. */
static uint32_t *
node_slot(const struct sqw_tree *t, uint32_t parent, const char *name,
    size_t len)
{
	size_t i = (size_t)hash_bytes(t->seed + parent, name, len) &
	    t->slot_mask;

	while (t->slots[i] != EMPTY &&
	    !is_named(&t->nodes[t->slots[i]], parent, name, len))
		i = (i + 1) & t->slot_mask;
	return &t->slots[i];
}

static int
make_slots(struct sqw_tree *t, size_t count)
{
	uint32_t *slots = sys_malloc(count * sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	memset(slots, 0xff, count * sizeof(*slots));
	sys_free(t->slots);
	t->slots = slots;
	t->slot_mask = count - 1;
	for (size_t i = 1; i < t->count; i++) {
		const struct sqw_node *n = &t->nodes[i];

		if (n->parent != SQW_NOWHERE)
			*node_slot(t, n->parent, n->name, strlen(n->name)) =
			    (uint32_t)i;
	}
	return 0;
}

static int
new_node(struct sqw_tree *t, uint32_t parent, const char *name, size_t len,
    uint32_t *id)
{
	void *p = t->nodes;
	char *text;
	int rc;

	if (len > SQUASHFS_NAME_MAX)
		return -ENAMETOOLONG;
	if (t->count >= UINT32_MAX - 1)
		return -EFBIG;
	rc = array_grow(&p, t->count, &t->cap, sizeof(*t->nodes));
	t->nodes = p;
	if (rc == 0 && t->count * 2 > t->slot_mask)
		rc = make_slots(t, 2 * (t->slot_mask + 1));
	text = rc == 0 ? arena_copy(&t->text, name, len) : NULL;
	if (text == NULL)
		return -ENOMEM;
	*id = (uint32_t)t->count++;
	t->nodes[*id] = (struct sqw_node){ .name = text, .id = *id,
		.parent = parent, .owner = *id, .links = 1,
		.attr = { .mode = S_IFDIR | 0755, .xattr = SQUASHFS_NONE } };
	if (*id != 0)
		*node_slot(t, parent, text, len) = *id;
	return 0;
}

int
sqw_tree_open(struct sqw_tree *t)
{
	uint32_t root;
	int rc;

	*t = (struct sqw_tree){ .seed = hash_seed() };
	rc = make_slots(t, SLOTS_FIRST);
	return rc != 0 ? rc : new_node(t, 0, "", 0, &root);
}

void
sqw_tree_close(struct sqw_tree *t)
{
	sys_free(t->nodes);
	sys_free(t->slots);
	sys_free(t->at);
	arena_free(&t->text);
	*t = (struct sqw_tree){ .count = 0 };
}

uint32_t
sqw_tree_find(const struct sqw_tree *t, const char *path)
{
	uint32_t at = 0;

	while (*path != '\0' && at != EMPTY) {
		size_t len = strcspn(path, "/");

		at = *node_slot(t, at, path, len);
		path += len;
		path += *path == '/';
	}
	return at;
}

int
sqw_tree_path(const struct sqw_tree *t, size_t node, char **text,
    size_t *room)
{
	const struct sqw_node *nodes = t->nodes;
	size_t len = 1;
	char *p;

	for (size_t i = node; i != 0; i = nodes[i].parent)
		len += strlen(nodes[i].name) + 1;
	if (len > *room) {
		p = sys_realloc(*text, len);
		if (p == NULL)
			return -ENOMEM;
		*text = p;
		*room = len;
	}
	p = *text + len;
	*--p = '\0';
	for (size_t i = node; i != 0; i = nodes[i].parent) {
		size_t n = strlen(nodes[i].name);

		p -= n;
		memcpy(p, nodes[i].name, n);
		if (p > *text + 1)
			*--p = '/';
	}
	memmove(*text, p, strlen(p) + 1);
	return 0;
}

void
sqw_tree_remove(struct sqw_tree *t, uint32_t id)
{
	/* nodes below it also become unreachable */
	t->nodes[id].parent = SQW_NOWHERE;
	/* keep the slot, because lookups of later nodes may pass it */
}

/*
 * Finds the entry with this name in dir.  The entry is created if it is
 * missing, or replaced if it is not a directory and fresh is set; other names
 * of the replaced inode keep that inode.
 */
static int
enter_name(struct sqw_tree *t, uint32_t dir, const char *name, size_t len,
    bool fresh, uint32_t *id)
{
	uint32_t old;
	int rc;

	if (!is_dir(&t->nodes[dir]))
		return -ENOTDIR;
	old = *id = *node_slot(t, dir, name, len);
	if (old != EMPTY && !fresh)
		return 0;
	/* the new node takes the old one's slot */
	rc = new_node(t, dir, name, len, id);
	if (rc == 0 && old != EMPTY)
		sqw_tree_remove(t, old);
	return rc;
}

static int
set_attr(struct sqw_tree *t, uint32_t id, const struct sqw_attr *attr)
{
	struct sqw_node *n = &t->nodes[id];
	char *target;

	n->attr = *attr;
	if (attr->target == NULL)
		return 0;
	target = arena_take(&t->text, strlen(attr->target) + 1);
	if (target == NULL)
		return -ENOMEM;
	strcpy(target, attr->target);
	n->attr.target = target;
	return 0;
}

/*
 * Returns whether a node with this mode replaces the one at path instead of
 * merging with it.
 */
static bool
replaces(const struct sqw_tree *t, const char *path, uint16_t mode)
{
	uint32_t id = sqw_tree_find(t, path);

	return id != SQW_NOWHERE && id != 0 &&
	    !(S_ISDIR(mode) && is_dir(&t->nodes[id]));
}

int
sqw_tree_add(struct sqw_tree *t, const char *path,
    const struct sqw_attr *attr, uint32_t *id)
{
	bool fresh = replaces(t, path, attr->mode);
	uint32_t at = 0;
	int rc = 0;

	if (*path == '\0' && !S_ISDIR(attr->mode))
		return -ENOTDIR;
	while (*path != '\0' && rc == 0) {
		size_t len = strcspn(path, "/");
		bool last = path[len] == '\0';

		rc = enter_name(t, at, path, len, fresh && last, &at);
		path += len + !last;
	}
	*id = at;
	return rc != 0 ? rc : set_attr(t, at, attr);
}

void
sqw_tree_link(struct sqw_tree *t, uint32_t id, uint32_t first)
{
	/* follow links to the node that has the data */
	while (t->nodes[first].owner != first)
		first = t->nodes[first].owner;
	if (first != id)
		t->nodes[id].owner = first;
}
