/*
 * sqpack_tar_entry.c - an archive entry as a node of the tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_archive.h"

#include "base/path.h"
#include "base/strcopy.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int
archive_take_xattrs(struct archive *a, uint32_t *index)
{
	const struct tar_entry *e = &a->entry;
	int rc;

	*index = SQUASHFS_NONE;
	if (a->p->xattrs == NULL || e->xattr_count == 0)
		return 0;
	rc = sqt_xattrs_begin(a->p->xattrs);
	for (size_t i = 0; rc == 0 && i < e->xattr_count; i++) {
		const struct tar_xattr *x = &e->xattrs[i];

		rc = sqt_xattrs_add(a->p->xattrs, x->name, x->value,
		    x->length);
		if (rc == -ENOTSUP) {
			msg_warn(&a->p->msg, "%s: attribute %s omitted: "
			    "squashfs supports only user, trusted and security",
			    e->path, x->name);
			rc = 0;
		}
	}
	return rc != 0 ? rc : sqt_xattrs_end(a->p->xattrs, index);
}

/*
 * Normalizes the path of the entry or of its link target into *path, which must
 * be freed.
 */
static int
clean(const char *text, char **path)
{
	*path = strcopy(text);
	return *path == NULL ? -ENOMEM : path_clean(*path);
}

/*
 * Finds the node that a hard link refers to.  Returns 1 if the entry is a link
 * to itself, as when the same file was archived twice.
 */
static int
find_linked(struct archive *a, const char *path, uint32_t *first)
{
	char *target;
	int rc = clean(a->entry.link, &target);

	*first = rc == 0 ? sqw_tree_find(&a->p->tree, target) : SQW_NOWHERE;
	if (rc == 0 && (*first == SQW_NOWHERE ||
	    S_ISDIR(a->p->tree.nodes[*first].attr.mode))) {
		progress_erase(&a->p->progress);
		msg_error(&a->p->msg, "%s: %s is a link to %s, which does not "
		    "precede it in the archive", a->name,
		    a->entry.path, a->entry.link);
		rc = -EBADMSG;
	}
	if (rc == 0)
		rc = strcmp(target, path) == 0;
	sys_free(target);
	return rc;
}

static int
add_entry(struct archive *a, const char *path, uint32_t *id)
{
	const struct tar_entry *e = &a->entry;
	struct sqw_attr attr = {
		.mode = (uint16_t)(tar_type_mode(e->type) | e->mode),
		.uid = (uint32_t)e->uid, .gid = (uint32_t)e->gid,
		.rdev = sqpack_device(e->major, e->minor),
		.size = e->type == TAR_FILE ? e->size : 0,
	};
	uint32_t first = SQW_NOWHERE;
	int rc = e->type == TAR_HARDLINK ? find_linked(a, path, &first) : 0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (e->type == TAR_SYMLINK) {
		attr.mode = S_IFLNK | 0777;
		attr.target = e->link;
		attr.size = strlen(e->link);
	}
	if (e->uid > UINT32_MAX || e->gid > UINT32_MAX)
		return -EOVERFLOW;
	sqpack_adjust(a->p, &attr, e->mtime);
	attr.xattr = SQUASHFS_NONE;
	if (a->filter == NULL)
		rc = archive_take_xattrs(a, &attr.xattr);
	if (rc == 0)
		rc = sqw_tree_add(&a->p->tree, path, &attr, id);
	if (rc == 0 && e->type == TAR_HARDLINK)
		sqw_tree_link(&a->p->tree, *id, first);
	return rc;
}

int
archive_take(struct archive *a, uint32_t *id)
{
	char *path;
	int rc = clean(a->entry.path, &path);

	if (rc == -EINVAL) {
		progress_erase(&a->p->progress);
		msg_error(&a->p->msg, "%s: the name %s contains '..'",
		    a->name, a->entry.path);
	} else if (rc != 0) {
		archive_fail(a, rc);
	}
	*id = SQW_NOWHERE;
	if (rc == 0 && (sqpack_excluded(a->p, path) || (a->filter != NULL &&
	    a->filter(a->filter_arg, path)))) {
		sys_free(path);
		return 0;
	}
	if (rc == 0) {
		rc = add_entry(a, path, id);
		if (rc != 0 && rc != -EBADMSG)
			msg_error(&a->p->msg, "%s: %s: %s", a->name,
			    a->entry.path, strerror(-rc));
	}
	sys_free(path);
	return rc != 0 ? rc : a->entry.type == TAR_FILE &&
	    a->entry.size > 0;
}
