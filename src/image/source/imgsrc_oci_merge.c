/*
 * imgsrc_oci_merge.c - merging the layers of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_oci.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* The tree, for the whiteouts */

static uint32_t
tree_node(void *arg, const char *path)
{
	return sqw_tree_find(arg, path);
}

static uint32_t
tree_parent(void *arg, uint32_t node)
{
	const struct sqw_tree *t = arg;

	return t->nodes[node].parent;
}

static void
tree_remove(void *arg, uint32_t node)
{
	sqw_tree_remove(arg, node);
}

/* Returns whether an entry is a whiteout, which is not added to the tree. */
static bool
is_whiteout(void *arg, const char *path)
{
	struct imgsrc_oci *o = arg;
	int rc = oci_changes_whiteout(o->changes, path);

	if (rc < 0)
		o->failed = rc;
	return rc != 0;
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
	oci_changes_layer(o->changes, (uint32_t)o->to->tree.count);
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
			rc = oci_changes_keep(o->changes, id);
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
	const struct oci_changes_tree t = { .find = tree_node,
		.parent = tree_parent, .remove = tree_remove,
		.arg = &o->to->tree };
	int rc = oci_changes_open(&o->changes, &t);

	if (rc != 0)
		return imgsrc_fail(o->to, rc, "%s: %s", o->path,
		    strerror(-rc));
	for (o->layer = 0; rc == 0 && o->layer < o->count; o->layer++)
		rc = take_layer(o);
	oci_changes_close(o->changes);
	if (rc != 0)
		return rc;
	rc = drop_older(o);
	if (rc == 0)
		rc = sqw_tree_finish(&o->to->tree);
	if (rc != 0)
		imgsrc_fail(o->to, rc, "%s: %s", o->path, strerror(-rc));
	return rc;
}
