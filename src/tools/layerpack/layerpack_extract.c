/*
 * layerpack_extract.c - extracting the entries of a layer to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/sys.h"
#include "lazy/extract.h"
#include "walk/node.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
report_entry(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct layerpack *p = arg;
	const char *dir = p->o.directory, *slash = path == NULL ? "" : "/";

	path = path == NULL ? "" : path;
	if (level == EXTRACT_ERROR)
		msg_error(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (level == EXTRACT_WARNING)
		msg_warn(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s%s%s: %s", dir, slash, path, text);
}

int
layerpack_extract(struct layerpack *p)
{
	struct layer_extract_options o = {
		.to = { .replace = p->o.force, .owner = geteuid() == 0,
		    .threads = p->o.threads },
		.no_xattrs = p->o.no_xattrs, .overlay = p->o.overlay,
		.report = report_entry, .arg = p
	};
	struct layerpack_source s;
	int rc = layerpack_open(p, &s), from;
	bool confined;

	if (rc != 0)
		goto out;
	from = blobs_file_dir(s.blobs);
	umask(022);
	o.to.root = node_root(p->o.directory, 0755, &o.to.made_root);
	if (o.to.root < 0) {
		rc = o.to.root;
		msg_error(&p->msg, "%s: %s", p->o.directory, strerror(-rc));
		goto out;
	}
	umask(077);
	sandbox_enter_making(o.to.root, &from, from >= 0, &confined);
	rc = layer_extract(s.l, blobs_file_blobs(s.blobs), &o);
	sys_close(o.to.root);
out:
	layerpack_close(&s);
	return p->msg.status == MSG_OK ? 0 : rc != 0 ? rc : -EIO;
}
