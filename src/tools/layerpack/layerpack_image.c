/*
 * layerpack_image.c - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_make.h"

#include "base/sys.h"
#include "lazy/convert/convert.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* A conversion, for its messages. */
struct conversion {
	struct layerpack *p;
	struct pack_options pack;
	struct progress progress;
	char *path;			/* path of the old layout */
};

static void
report_image(void *arg, bool fatal, const char *what, const char *why)
{
	struct conversion *v = arg;

	progress_erase(&v->progress);
	if (fatal)
		msg_error(&v->p->msg, "%s: %s: %s", v->path, what, why);
	else
		msg_warn(&v->p->msg, "%s: no ztoc created: %s", what, why);
}

static void
layer_made(void *arg, const struct oci_blob *from, const struct oci_blob *to,
    const struct pack_result *r)
{
	const struct conversion *v = arg;
	bool ztoc = v->pack.kind == LAYER_ZTOC;

	if (v->p->msg.verbose > 0)
		msg_note(&v->p->msg, "%s: %" PRIu64 " bytes, %s %" PRIu64
		    " in %" PRIu64 " %s", from->hex, from->size, ztoc ?
		    "with a ztoc of" : "now", to->size, r->units, ztoc ?
		    "spans" : "units");
	layerpack_warn(v->p, from->hex, to->hex, r);
}

static int
convert_all(struct conversion *v, const struct convert_options *o)
{
	struct layerpack *p = v->p;
	bool ztoc = v->pack.kind == LAYER_ZTOC;
	struct convert_result r;
	struct convert *c;
	int rc = convert_images(&c, o, &r);

	if (rc == 0)
		rc = layerpack_check_order(p, v->pack.order);
	if (rc == 0 && ztoc && r.soci == 0) {
		report_image(v, true, p->o.source, "no layer is a "
		    "gzip-compressed or uncompressed archive of at least "
		    "--min-layer");
		rc = -ENOENT;
	}
	if (rc == 0)
		rc = convert_commit(c);
	if (rc == 0 && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu layers, %" PRIu64 " bytes, %s %"
		    PRIu64, p->o.image, r.layers, r.from_B, ztoc ?
		    "with ztocs of" : "now", r.to_B);
	convert_close(c);
	return rc;
}

static void
confine_image(struct layerpack *p, const struct convert_options *o)
{
	struct sandbox_dirs d = { .reading = o->dir, .naming = -1,
		.making = o->new->tree.dir, .renaming = o->new->tree.parent,
		.spooling = layerpack_open_tmpdir(p) };

	layerpack_confine(p, &d);
	if (d.spooling >= 0)
		sys_close(d.spooling);
}

int
layerpack_image(struct layerpack *p)
{
	struct conversion v = { .p = p };
	struct oci_new new = { .tree = OUTPUT_TREE_NONE, .blobs = -1 };
	struct convert_options o = { .pack = &v.pack, .quiet = p->msg.quiet,
		.min_layer = p->o.make.min_layer, .platform = p->o.platform,
		.dir = -1, .new = &new, .new_path = p->o.image,
		.report = report_image, .made = layer_made, .arg = &v };
	int rc = layerpack_make_prepare(p, &v.pack);

	v.pack.progress = &v.progress;
	if (rc != 0)
		goto out;
	v.path = oci_split(p->o.source, &o.tag);
	if (v.path == NULL) {
		rc = -ENOMEM;
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
		goto out;
	}
	o.dir = sys_openat(AT_FDCWD, v.path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (o.dir < 0 || !oci_is_layout(v.path)) {
		rc = -EINVAL;
		msg_error(&p->msg, "%s: %s", p->o.source, o.dir < 0 ?
		    strerror(-o.dir) : "not an OCI image layout");
		goto out;
	}
	rc = oci_new_open(&new, p->o.image);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.image, strerror(-rc));
		goto out;
	}
	confine_image(p, &o);
	rc = convert_all(&v, &o);
out:
	oci_new_abort(&new);
	if (o.dir >= 0)
		sys_close(o.dir);
	walk_order_free(v.pack.order);
	sys_free(v.path);
	return rc;
}
