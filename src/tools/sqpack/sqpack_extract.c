/*
 * sqpack_extract.c - extracting the tree of an image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "base/sandbox.h"
#include "base/sys.h"
#include "walk/node.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
report_name(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct sqpack *p = arg;
	const char *dir = p->o.directory, *slash = path == NULL ? "" : "/";

	path = path == NULL ? "" : path;
	if (level == EXTRACT_ERROR)
		msg_error(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (level == EXTRACT_WARNING)
		msg_warn(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s%s%s: %s", dir, slash, path, text);
}

static void
report_data(void *arg, const char *path, uint64_t at, const char *why)
{
	struct sqpack *p = arg;

	if (at == 0)
		msg_error(&p->msg, "%s: %s: %s", p->o.source, path, why);
	else
		msg_error(&p->msg, "%s: %s: offset %llu: %s", p->o.source,
		    path, (unsigned long long)at, why);
}

int
sqpack_extract(struct sqpack *p)
{
	struct sq_extract_options o = {
		.to = { .replace = p->o.force, .owner = geteuid() == 0,
		    .threads = p->o.data.threads },
		.no_xattrs = p->o.no_xattrs, .user_xattrs = p->o.user_xattrs,
		.show_progress = !p->msg.quiet,
		.report = report_name, .damage = report_data, .arg = p
	};
	struct sqpack_image i;
	bool confined;
	int rc = sqpack_image_open(&i, p);

	umask(077);
	if (rc != 0)
		goto out;
	o.wanted = i.wanted;
	o.to.root = node_root(p->o.directory, 0700, &o.to.made_root);
	if (o.to.root < 0) {
		rc = o.to.root;
		msg_error(&p->msg, "%s: %s", p->o.directory, strerror(-rc));
		goto out;
	}
	sandbox_enter_making(o.to.root, NULL, 0, &confined);
	rc = sq_extract(i.m, &o);
	sys_close(o.to.root);
out:
	sqpack_image_close(&i);
	return rc;
}
