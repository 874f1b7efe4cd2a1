/*
 * imgsrc_oci.c - the layers of an OCI image as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout".  Layers are read twice:
 * first for the names, some of which are hidden by upper layers, then for the
 * data and attributes of the remaining names.
 */
#include "imgsrc_tar.h"

#include "base/array.h"
#include "base/sys.h"
#include "image/oci/changes.h"
#include "image/oci/oci_layout.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	NO_DATA = 2,			/* an entry without data */
	OCI_NAME_MORE = 64		/* room for "layer N of M" after the
					 * layout's path in a name */
};

struct imgsrc_oci {
	struct imgsrc_image *to;
	char *path;			/* path of the layout */
	const char *tag;		/* NULL: none was given */
	int dir;
	struct oci_blob *layers;	/* lowest first */
	size_t count;
	/* the current layer */
	size_t layer;			/* from 0 */
	char *name;			/* for messages */
	bool open;
	struct imgsrc_archive archive;
	/* all layers */
	uint32_t *ids;			/* node of each entry */
	size_t entries, cap;
	struct oci_changes *changes;	/* while they are merged */
	size_t next;			/* next entry, when reading data */
	bool verified;			/* the blobs have been verified */
	int failed;			/* -errno from handling a whiteout */
};

/* Layers */

/* Reports why a part of the layout is invalid.  Returns -EBADMSG. */
static int
refuse_layout(struct imgsrc_oci *o, const char *what, const char *why)
{
	return imgsrc_fail(o->to, -EBADMSG, "%s: %s: %s", o->path, what, why);
}

/*
 * These functions open the archive of the current layer, and close it after its
 * end.  They return 0, or -errno after reporting the error.
 */
static int
open_layer(struct imgsrc_oci *o)
{
	const struct oci_blob *b = &o->layers[o->layer];
	int fd, rc = 0;

	snprintf(o->name, strlen(o->path) + OCI_NAME_MORE,
	    "%s: layer %zu of %zu", o->path, o->layer + 1, o->count);
	fd = oci_blob_open(o->dir, b);
	if (fd >= 0 && !o->verified)
		rc = oci_blob_verify(fd, b);
	if (rc != 0) {
		sys_close(fd);
		return refuse_layout(o, b->hex, rc == -EBADMSG ?
		    OCI_NOT_ITS : strerror(-rc));
	}
	o->open = true;
	return imgsrc_tar_open(&o->archive, o->to, o->name, fd, false);
}

static int
close_layer(struct imgsrc_oci *o)
{
	int rc = imgsrc_tar_end(&o->archive);

	imgsrc_tar_close(&o->archive);
	o->open = false;
	return rc;
}

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

/* Adds the entries of the current layer to the tree. */
static int
merge_layer(struct imgsrc_oci *o)
{
	struct imgsrc_archive *a = &o->archive;
	uint32_t id;
	int rc = open_layer(o);

	a->filter = is_whiteout;
	a->filter_arg = o;
	oci_changes_layer(o->changes, (uint32_t)o->to->tree.count);
	while (rc == 0) {
		void *items = o->ids;

		rc = tar_next(a->tar, &a->entry);
		if (rc < 0)
			return imgsrc_tar_fail(a, rc);
		if (rc == 0) {
			imgsrc_tar_warn(a);
			return close_layer(o);
		}
		rc = imgsrc_tar_add(a, &id);
		if (rc < 0)
			return rc;
		rc = o->failed;
		if (rc == 0)
			rc = array_grow(&items, o->entries, &o->cap,
			    sizeof(*o->ids));
		o->ids = items;
		if (rc == 0)
			o->ids[o->entries++] = id;
		if (rc == 0 && id != SQW_NOWHERE)
			rc = oci_changes_keep(o->changes, id);
		if (rc != 0)
			imgsrc_tar_fail(a, rc);
	}
	return rc;
}

/*
 * Merges all layers into the tree, omitting hidden names, and completes the
 * tree.  Returns 0, or -errno after reporting the error.
 */
static int
merge_layers(struct imgsrc_oci *o)
{
	const struct oci_changes_tree t = { .find = tree_node,
		.parent = tree_parent, .remove = tree_remove,
		.arg = &o->to->tree };
	bool *seen = NULL;
	int rc = oci_changes_open(&o->changes, &t);

	if (rc != 0)
		goto fail;
	for (o->layer = 0; rc == 0 && o->layer < o->count; o->layer++)
		rc = merge_layer(o);
	oci_changes_close(o->changes);
	if (rc != 0)
		return rc;
	/* drop entries replaced by a later entry for the same node */
	rc = -ENOMEM;
	seen = sys_calloc(o->to->tree.count, sizeof(*seen));
	if (seen == NULL)
		goto fail;
	for (size_t i = o->entries; i-- > 0;) {
		uint32_t id = o->ids[i];

		if (id == SQW_NOWHERE)
			continue;
		if (seen[id])
			o->ids[i] = SQW_NOWHERE;
		seen[id] = true;
	}
	sys_free(seen);
	rc = sqw_tree_finish(&o->to->tree);
	if (rc == 0)
		return 0;
fail:
	return imgsrc_fail(o->to, rc, "%s: %s", o->path, strerror(-rc));
}

/* Data */

/* Reads the next entry.  Returns 1, NO_DATA, 0 at the end, or -errno. */
static int
next_entry(struct imgsrc_oci *o, struct sqw_file *f)
{
	const struct sqw_tree *t = &o->to->tree;
	struct imgsrc_archive *a = &o->archive;
	struct sqw_node *n;
	int rc = tar_next(a->tar, &a->entry);

	if (rc < 0)
		return imgsrc_tar_fail(a, rc);
	if (rc == 0)
		return 0;
	if (o->next == o->entries)
		goto changed;
	/* its inode in the finished tree, unless that was removed */
	f->id = o->ids[o->next++];
	if (f->id == SQW_NOWHERE || t->at[f->id] == SQW_NOWHERE)
		return NO_DATA;
	n = &t->nodes[t->at[f->id]];
	if (n->id != f->id)
		return NO_DATA;
	rc = imgsrc_tar_xattrs(a, &n->attr.xattr);
	if (rc != 0)
		return imgsrc_tar_fail(a, rc);
	if (a->entry.type != TAR_FILE || a->entry.size == 0)
		return NO_DATA;
	if (a->entry.size != n->attr.size)
		goto changed;
	imgsrc_tar_give(a, f);
	return 1;
changed:
	return refuse_layout(o, o->name, "changed while being read");
}

static int
oci_next(void *arg, struct sqw_file *f)
{
	struct imgsrc_oci *o = arg;
	int rc;

	for (;;) {
		if (!o->open) {
			if (o->layer == o->count)
				return 0;
			rc = open_layer(o);
			if (rc != 0)
				return rc;
		}
		rc = next_entry(o, f);
		if (rc == NO_DATA)
			continue;
		if (rc != 0)
			return rc;
		o->layer++;
		rc = close_layer(o);
		if (rc != 0)
			return rc;
	}
}

static int
oci_read(void *arg, void *buf, size_t len)
{
	struct imgsrc_oci *o = arg;

	return imgsrc_tar_read(&o->archive, buf, len);
}

static int64_t
oci_skip(void *arg)
{
	struct imgsrc_oci *o = arg;

	return imgsrc_tar_skip(&o->archive);
}

/* Opening */

static int
oci_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_oci *o = sys_calloc(1, sizeof(*o));
	struct oci_document *d = NULL;
	char at[OCI_HEX + 1], why[OCI_WHY] = "";
	int rc;

	*state = o;
	if (o == NULL)
		return imgsrc_no_memory(to);
	o->to = to;
	o->dir = -1;
	o->path = oci_split(to->o.path, &o->tag);
	if (o->path != NULL)
		o->name = sys_malloc(strlen(o->path) + OCI_NAME_MORE);
	if (o->name == NULL)
		return imgsrc_no_memory(to);
	*files = (struct sqw_source){ .next = oci_next, .read = oci_read,
		.skip = oci_skip, .arg = o };
	o->dir = sys_openat(AT_FDCWD, o->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (o->dir < 0)
		return refuse_layout(o, "cannot be opened", strerror(-o->dir));
	rc = oci_manifest_open(o->dir, o->tag, &d, at, why);
	if (rc != 0) {
		rc = refuse_layout(o, at, why);
	} else {
		rc = oci_layers(d, &o->layers, &o->count, why);
		if (rc != 0)
			refuse_layout(o, "manifest", rc == -ENOMEM ?
			    strerror(ENOMEM) : why);
	}
	oci_free(d);
	if (rc == 0)
		rc = merge_layers(o);
	if (rc != 0)
		return rc;
	/* the size and the latest time do not include hidden entries */
	to->newest = 0;
	for (size_t i = 0; i < to->tree.count; i++) {
		const struct sqw_attr *attr = &to->tree.nodes[i].attr;

		if (attr->mtime > to->newest)
			to->newest = attr->mtime;
		if (sqw_has_data(&to->tree, i))
			to->total_B += attr->size;
	}
	o->verified = true;
	o->layer = 0;
	return 0;
}

static void
oci_close(void *state)
{
	struct imgsrc_oci *o = state;

	if (o == NULL)
		return;
	if (o->open)
		imgsrc_tar_close(&o->archive);
	if (o->dir >= 0)
		sys_close(o->dir);
	sys_free(o->path);
	sys_free(o->name);
	sys_free(o->layers);
	sys_free(o->ids);
	sys_free(o);
}

const struct imgsrc_source imgsrc_oci = {
	.open = oci_open, .close = oci_close
};
