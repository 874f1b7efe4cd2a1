/*
 * imgsrc_oci_merge.c - merging the layers of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layer Filesystem Changeset".  A
 * whiteout hides entries of lower layers, but not entries of its own layer,
 * regardless of their order in the archive.
 */
#include "imgsrc_oci.h"

#include "base/array.h"
#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"
#include "image/oci/whiteout.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Returns whether the current layer contains the node or any node below it. */
static bool
is_ours(const struct imgsrc_oci *o, uint32_t id)
{
	return id >= o->first_id || (id < o->mark_count &&
	    o->marks[id] == o->layer + 1);
}

/* Records that the current layer contains the node and its parents. */
static int
mark_parents(struct imgsrc_oci *o, uint32_t id)
{
	const struct sqw_node *nodes = o->to->tree.nodes;
	size_t before = o->mark_count;
	void *items = o->marks;
	int rc = array_reserve(&items, (size_t)id + 1, &o->mark_count,
	    sizeof(*o->marks));

	o->marks = items;
	if (rc != 0)
		return rc;
	memset(o->marks + before, 0, (o->mark_count - before) *
	    sizeof(*o->marks));
	for (; o->marks[id] != o->layer + 1; id = nodes[id].parent)
		o->marks[id] = (uint32_t)o->layer + 1;
	return 0;
}

static void
forget_lower(struct imgsrc_oci *o)
{
	sys_free(o->below);
	sys_free(o->beside);
	o->below = o->beside = NULL;
}

/* Lists the nodes of lower layers by directory, once for each layer. */
static int
list_lower(struct imgsrc_oci *o)
{
	const struct sqw_node *nodes = o->to->tree.nodes;

	if (o->below != NULL)
		return 0;
	o->below = sys_calloc(o->first_id, sizeof(*o->below));
	o->beside = sys_calloc(o->first_id, sizeof(*o->beside));
	if (o->below == NULL || o->beside == NULL) {
		forget_lower(o);
		return -ENOMEM;
	}
	for (uint32_t i = 1; i < o->first_id; i++) {
		uint32_t dir = nodes[i].parent;

		if (dir == SQW_NOWHERE)
			continue;
		o->beside[i] = o->below[dir];
		o->below[dir] = i;
	}
	return 0;
}

/*
 * Removes a directory's entries from lower layers, and its list.  Entries that
 * are also in the current layer are pushed onto a stack.
 */
static void
hide_in(struct imgsrc_oci *o, uint32_t dir, uint32_t *stack)
{
	struct sqw_node *nodes = o->to->tree.nodes;
	uint32_t i = o->below[dir];

	o->below[dir] = 0;
	while (i != 0) {
		uint32_t next = o->beside[i];

		if (nodes[i].parent == dir && is_ours(o, i)) {
			o->beside[i] = *stack;
			*stack = i;
		} else {
			nodes[i].parent = SQW_NOWHERE;
		}
		i = next;
	}
}

/*
 * Removes all entries from lower layers below a directory.  However many
 * whiteouts a layer has, each of its directories is scanned once.
 */
static int
hide_below(struct imgsrc_oci *o, uint32_t dir)
{
	uint32_t stack = 0;
	int rc;

	if (dir >= o->first_id)
		return 0;
	rc = list_lower(o);
	if (rc != 0)
		return rc;
	hide_in(o, dir, &stack);
	while (stack != 0) {
		dir = stack;
		stack = o->beside[dir];
		hide_in(o, dir, &stack);
	}
	return 0;
}

static int
hide(struct imgsrc_oci *o, const char *path)
{
	struct sqw_tree *t = &o->to->tree;
	uint32_t id = sqw_tree_find(t, path);

	if (id == SQW_NOWHERE || id == 0)
		return 0;
	if (is_ours(o, id))
		return hide_below(o, id);
	sqw_tree_remove(t, id);
	return 0;
}

/* Hides name in the directory given by the first len bytes of path. */
static int
hide_named(struct imgsrc_oci *o, const char *path, size_t len, const char *name)
{
	char *text = sys_malloc(len + strlen(name) + 1);
	int rc;

	if (text == NULL)
		return -ENOMEM;
	memcpy(text, path, len);
	strcpy(text + len, name);
	rc = hide(o, text);
	sys_free(text);
	return rc;
}

static int
hide_all(struct imgsrc_oci *o, const char *path, size_t len)
{
	char *text = strcopy_part(path, len > 0 ? len - 1 : 0);
	uint32_t id;

	if (text == NULL)
		return -ENOMEM;
	id = sqw_tree_find(&o->to->tree, text);
	sys_free(text);
	return id == SQW_NOWHERE ? 0 : hide_below(o, id);
}

/* Returns whether an entry is a whiteout, which is not added to the tree. */
static bool
is_whiteout(void *arg, const char *path)
{
	struct imgsrc_oci *o = arg;
	const char *name = path_name(path);
	size_t len = (size_t)(name - path);
	int rc;

	if (!whiteout_has_prefix(name))
		return false;
	rc = strcmp(name, WHITEOUT_OPAQUE) == 0 ? hide_all(o, path, len) :
	    hide_named(o, path, len, name + strlen(WHITEOUT_PREFIX));
	if (rc != 0)
		o->failed = rc;
	return true;
}

static int
add_id(struct imgsrc_oci *o, uint32_t id)
{
	void *items = o->ids;
	int rc = array_grow(&items, o->entries, &o->cap, sizeof(*o->ids));

	o->ids = items;
	if (rc == 0)
		o->ids[o->entries++] = id;
	return rc;
}

static int
take_layer(struct imgsrc_oci *o)
{
	struct imgsrc_archive *a = &o->archive;
	uint32_t id;
	int rc = imgsrc_oci_open_layer(o);

	a->filter = is_whiteout;
	a->filter_arg = o;
	o->first_id = (uint32_t)o->to->tree.count;
	forget_lower(o);
	while (rc == 0) {
		rc = tar_next(a->tar, &a->entry);
		if (rc < 0)
			return imgsrc_tar_fail(a, rc);
		if (rc == 0) {
			imgsrc_tar_warn(a);
			return imgsrc_oci_close_layer(o);
		}
		rc = imgsrc_tar_add(a, &id);
		if (rc < 0)
			return rc;
		rc = o->failed;
		if (rc == 0)
			rc = add_id(o, id);
		if (rc == 0 && id != SQW_NOWHERE)
			rc = mark_parents(o, id);
		if (rc != 0)
			imgsrc_tar_fail(a, rc);
	}
	return rc;
}

/* Drops entries replaced by a later entry for the same node. */
static int
drop_older(struct imgsrc_oci *o)
{
	size_t n = o->to->tree.count;
	bool *seen = sys_calloc(n, sizeof(*seen));

	if (seen == NULL)
		return -ENOMEM;
	for (size_t i = o->entries; i-- > 0;) {
		uint32_t id = o->ids[i];

		if (id == SQW_NOWHERE)
			continue;
		if (seen[id])
			o->ids[i] = SQW_NOWHERE;
		seen[id] = true;
	}
	sys_free(seen);
	return 0;
}

int
imgsrc_oci_merge(struct imgsrc_oci *o)
{
	int rc = 0;

	for (o->layer = 0; rc == 0 && o->layer < o->count; o->layer++)
		rc = take_layer(o);
	forget_lower(o);
	if (rc != 0)
		return rc;
	rc = drop_older(o);
	if (rc == 0)
		rc = sqw_tree_finish(&o->to->tree);
	if (rc != 0)
		imgsrc_fail(o->to, rc, "%s: %s", o->path, strerror(-rc));
	return rc;
}
