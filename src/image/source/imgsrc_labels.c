/*
 * imgsrc_labels.c - SELinux labels from a file_contexts
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source/imgsrc.h"

#include <errno.h>

#ifdef COLDPRESS_SELINUX

#include "base/sys.h"
#include "image/squashfs/format.h"

#include <selinux/label.h>
#include <selinux/selinux.h>
#include <stdio.h>
#include <string.h>

/* Labels a node, given its path. */
static int
label_node(struct imgsrc_image *to, struct selabel_handle *policy, size_t i,
    const char *path)
{
	struct sqw_attr *attr = &to->tree.nodes[i].attr;
	char *context;
	int rc;

	if (selabel_lookup_raw(policy, &context, path, attr->mode) != 0)
		/* <<none>>, or nothing matches */
		return errno == ENOENT ? 0 : imgsrc_fail(to, -errno,
		    "%s: no label for %s: %s", to->o.labels, path,
		    strerror(errno));
	/* the kernel stores the NUL, too */
	rc = sqt_xattrs_amend(to->xattrs, &attr->xattr, "security.selinux",
	    context, strlen(context) + 1);
	freecon(context);
	return rc != 0 ? imgsrc_no_memory(to) : 0;
}

/* The image's policy is not that of this machine. */
static int
accept_context(char **context)
{
	(void)context;
	return 0;
}

int
imgsrc_labels_apply(struct imgsrc_image *to)
{
	/* "validate" also compiles all expressions at once */
	const struct selinux_opt options[] = {
		{ SELABEL_OPT_PATH, to->o.labels },
		{ SELABEL_OPT_VALIDATE, "1" } };
	struct selabel_handle *policy;
	const struct sqw_tree *t = &to->tree;
	char *path = NULL;
	size_t room = 0;
	int rc = 0;

	selinux_set_callback(SELINUX_CB_VALIDATE,
	    (union selinux_callback){ .func_validate = accept_context });
	policy = selabel_open(SELABEL_CTX_FILE, options, 2);
	if (policy == NULL)
		return imgsrc_fail(to, errno != 0 ? -errno : -EINVAL,
		    "%s: not a valid file_contexts: %s", to->o.labels,
		    strerror(errno));
	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		char *whole;
		size_t len;

		/* another name of an inode has no attributes of its own */
		if (!sqw_tree_holds(t, (uint32_t)i) || t->nodes[i].owner != i)
			continue;
		rc = sqw_tree_path(t, i, &path, &room);
		if (rc != 0) {
			imgsrc_no_memory(to);
			break;
		}
		len = strlen(path) + 2;
		whole = sys_malloc(len);
		if (whole == NULL) {
			rc = imgsrc_no_memory(to);
			break;
		}
		snprintf(whole, len, "/%s", path);
		rc = label_node(to, policy, i, whole);
		sys_free(whole);
	}
	sys_free(path);
	selabel_close(policy);
	return rc;
}

#else

int
imgsrc_labels_apply(struct imgsrc_image *to)
{
	return imgsrc_fail(to, -ENOTSUP, "%s: this sqpack was built without "
	    "libselinux", to->o.labels);
}

#endif
