/*
 * sqpack_oci.c - an OCI image's layers as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: OCI image specification 1.1, "Image Layout".  Layers are read twice:
 * first for the names, some of which are hidden by upper layers, then for the
 * data and attributes of the remaining names.
 */
#include "sqpack_oci.h"

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NO_DATA = 2 };			/* an entry without data */

static int
find_layers(struct oci *o)
{
	struct oci_document *d = NULL;
	char at[OCI_HEX + 1], why[OCI_WHY] = "";
	int rc = oci_manifest_open(o->dir, o->tag, &d, at, why);

	if (rc != 0) {
		rc = oci_refuse(o, at, why);
	} else {
		rc = oci_layers(d, &o->layers, &o->count, why);
		if (rc != 0)
			oci_refuse(o, "manifest", rc == -ENOMEM ?
			    strerror(ENOMEM) : why);
	}
	oci_free(d);
	return rc;
}

/* Data */

/*
 * Returns the inode of an entry in the finished tree, or NULL if it was
 * removed.
 */
static struct sqw_node *
node_of(const struct oci *o, uint32_t id)
{
	const struct sqw_tree *t = &o->p->tree;
	struct sqw_node *n;

	if (id == SQW_NOWHERE || t->at[id] == SQW_NOWHERE)
		return NULL;
	n = &t->nodes[t->at[id]];
	return n->id == id ? n : NULL;
}

/* Reads the next entry.  Returns 1, NO_DATA, 0 at the end, or -errno. */
static int
next_entry(struct oci *o, struct sqw_file *f)
{
	struct archive *a = &o->archive;
	struct sqw_node *n;
	int rc = tar_next(a->tar, &a->entry);

	if (rc < 0)
		return archive_fail(a, rc);
	if (rc == 0)
		return 0;
	if (o->next == o->entries)
		return oci_refuse(o, o->name, "changed while being read");
	f->id = o->ids[o->next++];
	n = node_of(o, f->id);
	if (n == NULL)
		return NO_DATA;
	rc = archive_take_xattrs(a, &n->attr.xattr);
	if (rc != 0)
		return archive_fail(a, rc);
	if (a->entry.type != TAR_FILE || a->entry.size == 0)
		return NO_DATA;
	if (a->entry.size != n->attr.size)
		return oci_refuse(o, o->name, "changed while being read");
	archive_give(a, f);
	return 1;
}

static int
oci_next(void *arg, struct sqw_file *f)
{
	struct oci *o = arg;
	int rc = 0;

	while (rc == 0) {
		if (!o->open && o->layer == o->count)
			return 0;
		rc = o->open ? 0 : oci_open_layer(o);
		if (rc != 0)
			return rc;
		rc = next_entry(o, f);
		if (rc == 0) {
			o->layer++;
			rc = oci_close_layer(o);
		} else if (rc == NO_DATA) {
			rc = 0;
		}
	}
	return rc;
}

static int
oci_read(void *arg, void *buf, size_t len)
{
	struct oci *o = arg;

	return archive_read(&o->archive, buf, len);
}

static int64_t
oci_skip(void *arg)
{
	struct oci *o = arg;

	return archive_skip(&o->archive);
}

/*
 * Computes the total size and the latest time from the finished tree, ignoring
 * hidden entries.
 */
static void
sum_up(struct oci *o)
{
	struct sqpack *p = o->p;

	p->newest = 0;
	for (size_t i = 0; i < p->tree.count; i++) {
		const struct sqw_attr *attr = &p->tree.nodes[i].attr;

		if (attr->mtime > p->newest)
			p->newest = attr->mtime;
		if (sqw_has_data(&p->tree, i))
			p->total_B += attr->size;
	}
}

/* Opening */

bool
sqpack_is_oci(const char *source)
{
	const char *tag;
	char *path = oci_split(source, &tag);
	bool found = path != NULL && oci_is_layout(path);

	sys_free(path);
	return found;
}

static int
open_layout(struct oci *o)
{
	int rc;

	o->dir = sys_openat(AT_FDCWD, o->path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (o->dir < 0)
		return oci_refuse(o, "cannot be opened", strerror(-o->dir));
	rc = find_layers(o);
	if (rc == 0)
		rc = oci_merge(o);
	if (rc != 0)
		return rc;
	sum_up(o);
	o->verified = true;
	o->layer = 0;
	return 0;
}

static int
oci_open(struct sqpack *p, void **state, struct sqw_source *files)
{
	struct oci *o = sys_calloc(1, sizeof(*o));

	*state = o;
	if (o != NULL) {
		o->p = p;
		o->dir = -1;
		o->path = oci_split(p->o.source, &o->tag);
		o->name = o->path == NULL ? NULL :
		    sys_malloc(strlen(o->path) + OCI_NAME_MORE);
	}
	if (o == NULL || o->name == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	*files = (struct sqw_source){ .next = oci_next, .read = oci_read,
		.skip = oci_skip, .arg = o };
	return open_layout(o);
}

static int
oci_finish(void *state)
{
	(void)state;
	return 0;
}

static void
oci_close(void *state)
{
	struct oci *o = state;

	if (o == NULL)
		return;
	if (o->open)
		archive_close(&o->archive);
	if (o->dir >= 0)
		sys_close(o->dir);
	sys_free(o->path);
	sys_free(o->name);
	sys_free(o->layers);
	sys_free(o->ids);
	sys_free(o->marks);
	sys_free(o);
}

const struct sqpack_source sqpack_oci = {
	.open = oci_open, .finish = oci_finish, .close = oci_close
};
