/*
 * tree.c - the tree that a squashfs image will hold
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * While the tree grows, a node's index in the array is its id, and an open hash
 * table finds it by parent and name.  A removed node remains, with SQW_NOWHERE
 * as its parent.  Completing the tree sorts the nodes into image order.
 */
#include "image/squashfs/write/tree.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS_FIRST = 1024 };

#define EMPTY UINT32_MAX

static bool
is_dir(const struct sqw_node *n)
{
	return S_ISDIR(n->attr.mode);
}

/* Returns the node's slot, or the empty slot where it belongs. */
static uint32_t *
node_slot(const struct sqw_tree *t, uint32_t parent, const char *name,
    size_t len)
{
	size_t i = (size_t)hash_bytes(t->seed + parent, name, len) &
	    t->slot_mask;

	for (; t->slots[i] != EMPTY; i = (i + 1) & t->slot_mask) {
		const struct sqw_node *n = &t->nodes[t->slots[i]];

		if (n->parent == parent && strncmp(n->name, name, len) == 0 &&
		    n->name[len] == '\0')
			break;
	}
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
		.attr = t->implied };
	if (*id != 0)
		*node_slot(t, parent, text, len) = *id;
	return 0;
}

int
sqw_tree_open(struct sqw_tree *t)
{
	uint32_t root;
	int rc;

	*t = (struct sqw_tree){ .seed = hash_seed(), .implied = {
		.mode = S_IFDIR | 0755, .xattr = SQUASHFS_NONE } };
	rc = make_slots(t, SLOTS_FIRST);
	return rc != 0 ? rc : new_node(t, 0, "", 0, &root);
}

void
sqw_tree_close(struct sqw_tree *t)
{
	sys_free(t->nodes);
	sys_free(t->slots);
	sys_free(t->at);
	sys_free(t->near_path);
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
	t->near_id = 0;
	/* keep the slot, because lookups of later nodes may pass it */
}

bool
sqw_tree_holds(const struct sqw_tree *t, uint32_t id)
{
	while (id != 0 && id != SQW_NOWHERE)
		id = t->nodes[id].parent;
	return id == 0;
}

/*
 * Returns the nearest node above path that also leads to what was added last,
 * and sets *from to where the rest of path begins.  In a deep tree this is much
 * nearer than the root.
 */
static uint32_t
start_near(const struct sqw_tree *t, const char *path, size_t *from)
{
	uint32_t at = t->near_id;
	size_t same = 0, len;

	*from = 0;
	if (at == 0)
		return 0;
	while (path[same] != '\0' && path[same] == t->near_path[same])
		same++;
	len = same + strlen(t->near_path + same);
	while (at != 0 && (len > same || path[len] != '/')) {
		len -= strlen(t->nodes[at].name);
		at = t->nodes[at].parent;
		len -= at != 0;
	}
	if (at != 0)
		*from = len + 1;
	return at;
}

/* Remembers what was added last. */
static int
keep_near(struct sqw_tree *t, const char *path, uint32_t id)
{
	size_t len = strlen(path) + 1;
	void *p = t->near_path;
	int rc = array_reserve(&p, len, &t->near_cap, 1);

	t->near_path = p;
	if (rc != 0)
		return rc;
	memcpy(t->near_path, path, len);
	t->near_id = id;
	return 0;
}

int
sqw_tree_add(struct sqw_tree *t, const char *path,
    const struct sqw_attr *attr, uint32_t *id)
{
	size_t from;
	uint32_t dir, old, at;
	const char *p;
	int rc;

	if (*path == '\0' && !S_ISDIR(attr->mode))
		return -ENOTDIR;
	/* in its directory, which need not exist */
	at = start_near(t, path, &from);
	for (p = path + from; *p != '\0';) {
		size_t len = strcspn(p, "/");
		bool last = p[len] == '\0', replaces;

		dir = at;
		if (!is_dir(&t->nodes[dir]))
			return -ENOTDIR;
		old = at = *node_slot(t, dir, p, len);
		replaces = last && old != EMPTY &&
		    !(S_ISDIR(attr->mode) && is_dir(&t->nodes[old]));
		if (old == EMPTY || replaces) {
			/*
			 * the new node takes the old one's slot; other names of
			 * the old inode keep that inode
			 */
			rc = new_node(t, dir, p, len, &at);
			if (rc != 0)
				return rc;
			if (replaces)
				sqw_tree_remove(t, old);
		}
		p += len + !last;
	}
	*id = at;
	rc = keep_near(t, path, at);
	if (rc != 0)
		return rc;
	t->nodes[at].attr = *attr;
	if (attr->target == NULL)
		return 0;
	t->nodes[at].attr.target = arena_copy(&t->text, attr->target,
	    strlen(attr->target));
	return t->nodes[at].attr.target == NULL ? -ENOMEM : 0;
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

/* Image order */

static int
by_node_name(const void *a, const void *b, void *arg)
{
	const struct sqw_node *old = arg;

	return strcmp(old[*(const uint32_t *)a].name,
	    old[*(const uint32_t *)b].name);
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

/* Numbers what is in a directory. */
static void
number_contents(struct sqw_tree *t, uint32_t dir)
{
	for (uint32_t i = dir + 1; i < t->nodes[dir].end; i = t->nodes[i].end)
		if (t->nodes[i].owner == i)
			t->nodes[i].number = ++t->inodes;
}

void
sqw_tree_renumber(struct sqw_tree *t)
{
	struct sqw_node *nodes = t->nodes;
	uint32_t dir = 0;

	t->inodes = 0;
	for (uint32_t i = 1; i < t->count; i++) {
		for (; nodes[dir].end <= i; dir = nodes[dir].parent)
			number_contents(t, dir);
		if (is_dir(&nodes[i]))
			dir = i;
	}
	for (; dir != 0; dir = nodes[dir].parent)
		number_contents(t, dir);
	number_contents(t, 0);
	nodes[0].number = ++t->inodes;
	for (size_t i = 0; i < t->count; i++)
		nodes[i].number = nodes[nodes[i].owner].number;
}

int
sqw_tree_finish(struct sqw_tree *t)
{
	const struct sqw_node *old = t->nodes;
	size_t n = t->count;
	/* the children of each directory, by name, grouped by directory */
	uint32_t *children = sys_calloc(n, sizeof(*children));
	/* start of each id's children, and the end */
	uint32_t *first = sys_calloc(n + 1, sizeof(*first));
	/* position in each open directory */
	uint32_t *cursor = sys_calloc(n + 1, sizeof(*cursor));
	/* the new index of each id, and of the first name of its inode */
	uint32_t *at = sys_malloc(n * sizeof(*at));
	uint32_t *owner = sys_malloc(n * sizeof(*owner));
	/* in the new order */
	struct sqw_node *nodes = sys_calloc(n, sizeof(*nodes));
	uint32_t sum = 0, count = 1;
	int rc = -ENOMEM;

	if (children == NULL || first == NULL || cursor == NULL ||
	    at == NULL || owner == NULL || nodes == NULL)
		goto out;
	memset(at, 0xff, n * sizeof(*at));
	memset(owner, 0xff, n * sizeof(*owner));

	/* by parent with a counting sort, then by name within each parent */
	for (size_t i = 1; i < n; i++)
		if (old[i].parent != SQW_NOWHERE)
			first[old[i].parent]++;
	for (size_t i = 0; i <= n; i++) {
		uint32_t here = first[i];

		first[i] = cursor[i] = sum;
		sum += here;
	}
	for (size_t i = 1; i < n; i++)
		if (old[i].parent != SQW_NOWHERE)
			children[cursor[old[i].parent]++] = (uint32_t)i;
	for (size_t i = 0; i < n; i++)
		qsort_r(children + first[i], first[i + 1] - first[i],
		    sizeof(*children), by_node_name, t->nodes);
	memcpy(cursor, first, (n + 1) * sizeof(*cursor));

	/* depth first, without recursion: the nodes know their parents */
	nodes[0] = old[0];
	at[0] = 0;
	for (uint32_t in = 0;;) {
		uint32_t id = nodes[in].id, child;

		if (cursor[id] < first[id + 1]) {
			child = children[cursor[id]++];
			at[child] = count;
			nodes[count] = old[child];
			nodes[count].parent = in;
			in = count++;
			continue;
		}
		nodes[in].end = count;
		if (in == 0)
			break;
		in = nodes[in].parent;
	}

	/*
	 * The first name of an inode in the new order becomes its owner, with
	 * the attributes of the node linked to, even if that node was removed.
	 */
	for (uint32_t i = 0; i < count; i++) {
		struct sqw_node *node = &nodes[i];
		uint32_t linked = node->owner;	/* an id */

		if (owner[linked] == SQW_NOWHERE) {
			owner[linked] = i;
			node->attr = old[linked].attr;
			node->id = linked;
			node->links = 0;
			at[linked] = i;
		}
		node->owner = owner[linked];
		node->attr = nodes[node->owner].attr;
		nodes[node->owner].links++;
	}
	sys_free(t->nodes);
	sys_free(t->slots);
	t->slots = NULL;
	t->near_id = 0;
	t->nodes = nodes;
	t->count = count;
	t->at = at;
	t->ids = n;
	number_inodes(t);
	nodes = NULL;
	at = NULL;
	rc = 0;
out:
	sys_free(children);
	sys_free(first);
	sys_free(cursor);
	sys_free(owner);
	sys_free(nodes);
	sys_free(at);
	return rc;
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
