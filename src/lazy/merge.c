/*
 * merge.c - merging the names of layers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While layers are merged, a removed node stays in the table, marked as gone,
 * until a new node with the same name takes its slot.
 */
#include "lazy/merge.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sys.h"
#include "image/oci/changes.h"
#include "image/oci/whiteout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merging {
	struct merge *t;
	uint16_t layer;
	uint32_t bottom;		/* index of this layer's first node */
	char *why;
};

static int
refuse_layer(struct merging *m, const char *path, const char *what)
{
	snprintf(m->why, LAYER_WHY, "layer %u: %.120s: %s", m->layer + 1U,
	    path, what);
	return -EBADMSG;
}

enum tar_type
merge_type(const struct merge_node *n)
{
	if (n->whiteout)
		return TAR_CHAR;
	return n->entry == NULL ? TAR_DIR : n->entry->type;
}

/* The tree */

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

/*
 * Numbers the remaining nodes, and sorts the children.  Returns 0 or -ENOMEM.
 */
static int
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

/* Finding */

/* Returns the node of a path of len bytes, or MERGE_NONE. */
static int64_t
walk_path(const struct merge *t, const char *path, size_t len)
{
	int64_t node = MERGE_ROOT;
	const char *end = path + len;

	while (path < end && node >= 0) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t n = (size_t)((slash == NULL ? end : slash) - path);

		node = merge_find(t, (uint32_t)node, path, n);
		path += n + (slash != NULL);
	}
	return node;
}

/*
 * Returns the directory of a path, creating missing directories.  Such a
 * directory replaces a file of a lower layer, or a whiteout; in the latter
 * case, the contents of the directory in lower layers remain hidden.
 */
static int64_t
make_parent(struct merging *m, const char *path)
{
	const char *end = path_name(path), *at = path;
	int64_t node = MERGE_ROOT;

	while (at < end) {
		size_t n = strcspn(at, "/");
		uint32_t parent = (uint32_t)node;
		bool opaque = false;
		const char *name;

		node = merge_find(m->t, parent, at, n);
		if (node >= 0 && merge_type(&m->t->nodes[node]) != TAR_DIR) {
			opaque = m->t->nodes[node].whiteout;
			if ((uint32_t)node >= m->bottom && !opaque)
				return refuse_layer(m, path, "one of its "
				    "parents is not a directory");
			merge_remove(m->t, (uint32_t)node);
			node = MERGE_NONE;
		}
		if (node < 0) {
			name = arena_copy(&m->t->names, at, n);
			node = name == NULL ? -ENOMEM :
			    merge_add(m->t, parent, name);
			if (node < 0)
				return node;
			m->t->nodes[node].opaque = opaque;
		}
		at += n + 1;
	}
	return node;
}

/* Whiteouts */

static uint32_t
merge_at(void *arg, const char *path)
{
	int64_t node = walk_path(arg, path, strlen(path));

	return node < 0 ? OCI_NOWHERE : (uint32_t)node;
}

static uint32_t
merge_parent(void *arg, uint32_t node)
{
	const struct merge *t = arg;

	return t->gone[node] ? OCI_NOWHERE : t->nodes[node].parent;
}

static void
merge_drop(void *arg, uint32_t node)
{
	merge_remove(arg, node);
}

/* For overlayfs, adds a node for the whiteout. */
static int
add_whiteout(struct merging *m, const struct layer_entry *e)
{
	const char *name = path_name(e->path);
	int64_t dir = make_parent(m, e->path), node;

	if (dir < 0)
		return (int)dir;
	if (strcmp(name, WHITEOUT_OPAQUE) == 0) {
		m->t->nodes[dir].opaque = true;
		return 0;
	}
	name = whiteout_removes(name);
	if (name == NULL)
		return 0;
	node = merge_find(m->t, (uint32_t)dir, name, strlen(name));
	if (node >= 0) {
		/* already a directory of this layer, or a second whiteout */
		m->t->nodes[node].opaque = !m->t->nodes[node].whiteout;
		return 0;
	}
	node = merge_add(m->t, (uint32_t)dir, name);
	if (node < 0)
		return (int)node;
	m->t->nodes[node].entry = e;
	m->t->nodes[node].whiteout = true;
	return 0;
}

static bool
is_whiteout(const struct layer_entry *e)
{
	return whiteout_has_prefix(path_name(e->path));
}

/* Entries */

/*
 * Returns the node for an entry: a new one, unless it is an existing directory.
 */
static int64_t
place_entry(struct merging *m, const struct layer_entry *e)
{
	const char *name = path_name(e->path);
	int64_t dir, node;
	bool opaque = false;

	if (*e->path == '\0')
		return e->type == TAR_DIR ? MERGE_ROOT :
		    refuse_layer(m, "/", "the root is not a directory");
	dir = make_parent(m, e->path);
	if (dir < 0)
		return dir;
	node = merge_find(m->t, (uint32_t)dir, name, strlen(name));
	if (node >= 0) {
		if (e->type == TAR_DIR &&
		    merge_type(&m->t->nodes[node]) == TAR_DIR)
			return node;
		opaque = m->t->nodes[node].whiteout && e->type == TAR_DIR;
		merge_remove(m->t, (uint32_t)node);
	}
	node = merge_add(m->t, (uint32_t)dir, name);
	if (node >= 0)
		m->t->nodes[node].opaque = opaque;
	return node;
}

static int
merge_link(struct merging *m, const struct layer_entry *e)
{
	int64_t to, node;
	char *path = strdup(e->link);
	int rc = path == NULL ? -ENOMEM : path_clean(path);

	to = rc == 0 ? walk_path(m->t, path, strlen(path)) : MERGE_NONE;
	free(path);
	if (rc == -ENOMEM)
		return rc;
	if (to >= 0 && m->t->nodes[to].whiteout)
		to = MERGE_NONE;
	if (to < 0 || merge_type(&m->t->nodes[to]) == TAR_DIR)
		return refuse_layer(m, e->path, to < 0 ?
		    "a hard link to a name that does not exist" :
		    "a hard link to a directory");
	/* a hard link to itself */
	if (to == walk_path(m->t, e->path, strlen(e->path)))
		return 0;
	node = place_entry(m, e);
	if (node < 0)
		return (int)node;
	m->t->nodes[node].entry = m->t->nodes[to].entry;
	m->t->nodes[node].layer = m->t->nodes[to].layer;
	m->t->nodes[node].inode = m->t->nodes[to].inode;
	return 0;
}

int
merge_build(struct merge **out, struct layer *const *layers, size_t count,
    enum merge_mode mode, char why[LAYER_WHY])
{
	struct merge *t = sys_calloc(1, sizeof(*t));
	struct merging m = { .t = t, .why = why };
	const struct oci_changes_tree tree = { .find = merge_at,
		.parent = merge_parent, .remove = merge_drop, .arg = t };
	struct oci_changes *changes = NULL;
	int64_t root = t == NULL ? -ENOMEM : merge_add(t, MERGE_ROOT, "");
	int rc = root < 0 ? (int)root : 0;

	*why = '\0';
	if (rc == 0 && count > UINT16_MAX)
		rc = -EFBIG;
	if (rc == 0)
		rc = oci_changes_open(&changes, &tree);
	for (size_t n = 0; rc == 0 && n < count; n++) {
		size_t entries;
		const struct layer_entry *e = layer_entries(layers[n],
		    &entries);

		m.layer = (uint16_t)n;
		m.bottom = (uint32_t)t->count;
		oci_changes_layer(changes, m.bottom);
		for (size_t i = 0; rc >= 0 && i < entries; i++)
			if (is_whiteout(&e[i]))
				rc = mode == MERGE_OVERLAY ?
				    add_whiteout(&m, &e[i]) :
				    oci_changes_whiteout(changes, e[i].path);
		for (size_t i = 0; rc >= 0 && i < entries; i++) {
			int64_t node;

			if (is_whiteout(&e[i]) || e[i].type == TAR_HARDLINK)
				continue;
			node = place_entry(&m, &e[i]);
			rc = node < 0 ? (int)node : 0;
			if (rc != 0)
				break;
			t->nodes[node].entry = &e[i];
			t->nodes[node].layer = m.layer;
		}
		for (size_t i = 0; rc >= 0 && i < entries; i++)
			if (!is_whiteout(&e[i]) && e[i].type == TAR_HARDLINK)
				rc = merge_link(&m, &e[i]);
		rc = rc < 0 ? rc : 0;
	}
	oci_changes_close(changes);
	if (rc == 0)
		rc = merge_settle(t);
	if (rc == 0) {
		*out = t;
		return 0;
	}
	if (*why == '\0')
		snprintf(why, LAYER_WHY, "%s", strerror(-rc));
	merge_free(t);
	return rc;
}

void
merge_free(struct merge *t)
{
	if (t == NULL)
		return;
	sys_free(t->nodes);
	sys_free(t->children);
	sys_free(t->table);
	sys_free(t->gone);
	arena_free(&t->names);
	sys_free(t);
}

/* Reading */

size_t
merge_count(const struct merge *t)
{
	return t->count;
}

const struct merge_node *
merge_node(const struct merge *t, uint32_t node)
{
	return &t->nodes[node];
}

uint32_t
merge_child(const struct merge *t, uint32_t dir, uint32_t i)
{
	return t->children[t->nodes[dir].first + i];
}

int64_t
merge_lookup(const struct merge *t, uint32_t dir, const char *name)
{
	uint32_t low = 0, high = t->nodes[dir].count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint32_t node = merge_child(t, dir, mid);
		int order = strcmp(t->nodes[node].name, name);

		if (order == 0)
			return node;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return MERGE_NONE;
}
