/*
 * imgsrc_oci.c - the layers of an OCI image as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout".  Layers are read twice:
 * first for the names, some of which are hidden by upper layers, then for the
 * data and attributes of the remaining names.
 */
#include "imgsrc_oci.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NO_DATA = 2 };			/* an entry without data */

/* Layers */

int
imgsrc_oci_refuse(struct imgsrc_oci *o, const char *what, const char *why)
{
	return imgsrc_fail(o->to, -EBADMSG, "%s: %s: %s", o->path, what, why);
}

int
imgsrc_oci_open_layer(struct imgsrc_oci *o)
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
		return imgsrc_oci_refuse(o, b->hex, rc == -EBADMSG ?
		    OCI_NOT_ITS : strerror(-rc));
	}
	o->open = true;
	return imgsrc_tar_open(&o->archive, o->to, o->name, fd, false);
}

int
imgsrc_oci_close_layer(struct imgsrc_oci *o)
{
	int rc = imgsrc_tar_end(&o->archive);

	imgsrc_tar_close(&o->archive);
	o->open = false;
	return rc;
}

static int
find_layers(struct imgsrc_oci *o)
{
	struct oci_document *d = NULL;
	char at[OCI_HEX + 1], why[OCI_WHY] = "";
	int rc = oci_manifest_open(o->dir, o->tag, &d, at, why);

	if (rc != 0) {
		rc = imgsrc_oci_refuse(o, at, why);
		goto out;
	}
	rc = oci_layers(d, &o->layers, &o->count, why);
	if (rc != 0)
		imgsrc_oci_refuse(o, "manifest", rc == -ENOMEM ?
		    strerror(ENOMEM) : why);
out:
	oci_free(d);
	return rc;
}

/* Data */

/*
 * Returns the inode of an entry in the finished tree, or NULL if it was
 * removed.
 */
static struct sqw_node *
node_of(const struct imgsrc_oci *o, uint32_t id)
{
	const struct sqw_tree *t = &o->to->tree;
	struct sqw_node *n;

	if (id == SQW_NOWHERE || t->at[id] == SQW_NOWHERE)
		return NULL;
	n = &t->nodes[t->at[id]];
	return n->id == id ? n : NULL;
}

/* Reads the next entry.  Returns 1, NO_DATA, 0 at the end, or -errno. */
static int
next_entry(struct imgsrc_oci *o, struct sqw_file *f)
{
	struct imgsrc_archive *a = &o->archive;
	struct sqw_node *n;
	int rc = tar_next(a->tar, &a->entry);

	if (rc < 0)
		return imgsrc_tar_fail(a, rc);
	if (rc == 0)
		return 0;
	if (o->next == o->entries)
		return imgsrc_oci_refuse(o, o->name,
		    "changed while being read");
	f->id = o->ids[o->next++];
	n = node_of(o, f->id);
	if (n == NULL)
		return NO_DATA;
	rc = imgsrc_tar_xattrs(a, &n->attr.xattr);
	if (rc != 0)
		return imgsrc_tar_fail(a, rc);
	if (a->entry.type != TAR_FILE || a->entry.size == 0)
		return NO_DATA;
	if (a->entry.size != n->attr.size)
		return imgsrc_oci_refuse(o, o->name,
		    "changed while being read");
	imgsrc_tar_give(a, f);
	return 1;
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
			rc = imgsrc_oci_open_layer(o);
			if (rc != 0)
				return rc;
		}
		rc = next_entry(o, f);
		if (rc == NO_DATA)
			continue;
		if (rc != 0)
			return rc;
		o->layer++;
		rc = imgsrc_oci_close_layer(o);
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

/*
 * Computes the total size and the latest time from the finished tree, ignoring
 * hidden entries.
 */
static void
sum_up(struct imgsrc_oci *o)
{
	struct imgsrc_image *to = o->to;

	to->newest = 0;
	for (size_t i = 0; i < to->tree.count; i++) {
		const struct sqw_attr *attr = &to->tree.nodes[i].attr;

		if (attr->mtime > to->newest)
			to->newest = attr->mtime;
		if (sqw_has_data(&to->tree, i))
			to->total_B += attr->size;
	}
}

/* Opening */

static int
open_layout(struct imgsrc_oci *o)
{
	int rc;

	o->dir = sys_openat(AT_FDCWD, o->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (o->dir < 0)
		return imgsrc_oci_refuse(o, "cannot be opened",
		    strerror(-o->dir));
	rc = find_layers(o);
	if (rc == 0)
		rc = imgsrc_oci_merge(o);
	if (rc != 0)
		return rc;
	sum_up(o);
	o->verified = true;
	o->layer = 0;
	return 0;
}

static int
oci_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_oci *o = sys_calloc(1, sizeof(*o));

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
	return open_layout(o);
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
