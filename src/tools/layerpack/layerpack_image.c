/*
 * layerpack_image.c - converting the layers of all images in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/sys.h"
#include "lazy/convert/convert.h"

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

void
layerpack_image(struct layerpack *p)
{
	bool ztoc = p->o.make.kind == LAYER_ZTOC;
	struct conversion v = { .p = p };
	struct oci_new new = { .tree = OUTPUT_TREE_NONE, .blobs = -1 };
	struct convert_options o = { .pack = &v.pack, .quiet = p->msg.quiet,
		.min_layer = p->o.make.min_layer, .platform = p->o.platform,
		.dir = -1, .new = &new, .new_path = p->o.image,
		.report = report_image, .made = layer_made, .arg = &v };
	struct sandbox_dirs d = { .naming = -1 };
	struct convert_result r;
	struct convert *c = NULL;
	int rc = layerpack_make_prepare(p, &v.pack);

	v.pack.progress = &v.progress;
	if (rc != 0)
		goto out;
	v.path = oci_split(p->o.source, &o.tag);
	if (v.path == NULL) {
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(ENOMEM));
		goto out;
	}
	o.dir = sys_openat(AT_FDCWD, v.path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (o.dir < 0 || !oci_is_layout(v.path)) {
		msg_error(&p->msg, "%s: %s", p->o.source, o.dir < 0 ?
		    strerror(-o.dir) : "not an OCI image layout");
		goto out;
	}
	rc = oci_new_open(&new, p->o.image);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.image, strerror(-rc));
		goto out;
	}
	d.reading = o.dir;
	d.making = new.tree.dir;
	d.renaming = new.tree.parent;
	layerpack_confine(p, &d);
	if (convert_images(&c, &o, &r) != 0 ||
	    layerpack_check_orders(p) != 0)
		goto out;
	if (ztoc && r.soci == 0) {
		report_image(&v, true, p->o.source, "no layer is a "
		    "gzip-compressed or uncompressed archive of at least "
		    "--min-layer");
		goto out;
	}
	if (convert_commit(c) == 0 && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu layers, %" PRIu64 " bytes, %s %"
		    PRIu64, p->o.image, r.layers, r.from_B, ztoc ?
		    "with ztocs of" : "now", r.to_B);
out:
	convert_close(c);
	oci_new_abort(&new);
	if (o.dir >= 0)
		sys_close(o.dir);
	layerpack_free_orders(p);
	sys_free(v.path);
}
