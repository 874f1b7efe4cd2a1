/*
 * as_tree.c - what options of mksquashfs change in the tree of an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Adds the attributes of the options to all inodes. */
static int
add_xattrs(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;

	for (size_t k = 0; k < a->xattrs.count; k++) {
		const char *text = a->xattrs.items[k];
		bool is_user = strncmp(text, "user.", 5) == 0;
		uint8_t *value;
		size_t len;
		ssize_t n = imgsrc_xattr_parse(text, &value, &len);
		char *name = n < 0 ? NULL : strcopy_part(text, (size_t)n);
		int rc = n < 0 ? (int)n : name == NULL ? -ENOMEM : 0;

		for (size_t i = 0; rc == 0 && i < t->count; i++) {
			struct sqw_node *node = &t->nodes[i];

			/* only files and directories have user attributes */
			if (node->owner == i && node->parent != SQW_NOWHERE &&
			    !imgsrc_is_kept(&p->image, (uint32_t)i) &&
			    (!is_user || S_ISREG(node->attr.mode) ||
			    S_ISDIR(node->attr.mode)))
				rc = sqt_xattrs_amend(p->image.xattrs,
				    &node->attr.xattr, name, value, len);
		}
		sys_free(name);
		if (n >= 0)
			sys_free(value);
		if (rc != 0) {
			msg_error(&p->msg, "-xattrs-add: '%s': %s", text,
			    rc == -EINVAL ? "expected name=value" :
			    rc == -ENOTSUP ? "the name must begin with user., "
			    "trusted. or security." : strerror(-rc));
			return rc;
		}
	}
	return 0;
}

static void
force_modes(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;

	for (size_t i = 0; i < t->count; i++) {
		struct sqw_attr *attr = &t->nodes[i].attr;
		const char *mode = S_ISDIR(attr->mode) ? a->dir_mode :
		    a->file_mode;

		if (mode != NULL && !imgsrc_is_kept(&p->image, (uint32_t)i))
			as_mode_apply(mode, &attr->mode);
	}
}

/* Actions */

struct action_target {
	struct sqpack *p;
	struct sqw_attr *attr;
};

/* Adds an attribute, given as NAME=VALUE, which has been checked. */
static int
add_action_xattr(void *arg, const char *text)
{
	struct action_target *to = arg;
	uint8_t *value;
	size_t len;
	ssize_t n;
	char *name;
	int rc;

	if (to->p->image.xattrs == NULL)
		return 0;
	n = imgsrc_xattr_parse(text, &value, &len);
	if (n < 0)
		return (int)n;
	name = strcopy_part(text, (size_t)n);
	rc = name == NULL ? -ENOMEM : sqt_xattrs_amend(to->p->image.xattrs,
	    &to->attr->xattr, name, value, len);
	sys_free(name);
	sys_free(value);
	return rc;
}

/* Runs the actions of a stage on a node with this path. */
static int
act_on(struct sqpack *p, enum as_stage stage, uint32_t id, const char *path)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;
	uint32_t owner = id;
	struct as_effect e = { .out = false };
	struct action_target to = { .p = p };
	struct as_subject s;
	int rc;

	/* the attributes are those of the inode */
	while (t->nodes[owner].owner != owner)
		owner = t->nodes[owner].owner;
	to.attr = &t->nodes[owner].attr;
	s = (struct as_subject){ .path = path, .mode = to.attr->mode,
		.uid = to.attr->uid, .gid = to.attr->gid,
		.size = to.attr->size, .target = to.attr->target,
		.block = p->image.pack.block };
	rc = as_actions_run(a->actions, stage, &s, &e, add_action_xattr, &to);
	if (rc != 0)
		return rc;
	to.attr->mode = s.mode;
	to.attr->uid = s.uid;
	to.attr->gid = s.gid;
	if (e.has_raw)
		to.attr->raw = e.raw;
	if (e.out && id != 0)
		sqw_tree_remove(t, id);
	return 0;
}

/* Runs the actions of a stage on all names but those of an old image. */
static int
act(struct sqpack *p, enum as_stage stage)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *t = &p->image.tree;
	char *path = NULL;
	size_t room = 0;
	int rc = 0;

	if (!as_actions_has(a->actions, stage))
		return 0;
	for (uint32_t i = 0; rc == 0 && i < t->count; i++) {
		if (!sqw_tree_holds(t, i) || imgsrc_is_kept(&p->image, i))
			continue;
		rc = sqw_tree_path(t, i, &path, &room);
		if (rc == 0)
			rc = act_on(p, stage, i, path);
	}
	sys_free(path);
	if (rc != 0)
		msg_error(&p->msg, "an action fails: %s", strerror(-rc));
	return rc;
}

/*
 * Counts the steps of the bar: the blocks of all files, and a twentieth for the
 * names.
 */
static void
count_steps(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *t = &p->image.tree;
	uint64_t block = p->image.pack.block, n = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (sqw_has_data(t, i) && sqw_tree_holds(t, i) &&
		    !imgsrc_is_kept(&p->image, i))
			n += (t->nodes[i].attr.size + block - 1) / block;
	a->bar.data = n;
	a->bar.all = n + n / 19;
}

/*
 * Applies the options for the root, which those for all inodes override, and
 * adds pseudo files.
 */
int
as_tree_complete(void *arg)
{
	struct sqpack *p = arg;
	struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;
	uint32_t latest = 0;
	struct sqw_attr *root;
	int rc;

	root = &t->nodes[0].attr;
	/* without a source, options prevail over the root's definition */
	if (a->pseudo_root) {
		rc = imgsrc_pseudo_apply(&p->image, a->pseudo);
		if (rc != 0)
			return rc;
		root = &t->nodes[0].attr;
	} else if (a->root_is_made) {
		root->mode = S_IFDIR | 0777;
		root->uid = getuid();
		root->gid = getgid();
		root->mtime = (uint32_t)time(NULL);
	}
	/* mksquashfs ignores it beside -force-dir-mode */
	if (a->root_mode != NULL && a->dir_mode == NULL)
		as_mode_apply(a->root_mode, &root->mode);
	if (a->has_root_uid)
		root->uid = a->root_uid;
	if (a->has_root_gid)
		root->gid = a->root_gid;
	imgsrc_adjust(&p->image, root, a->root_time.given ? a->root_time.s :
	    root->mtime);
	if (p->o.from.pseudo_first)
		force_modes(p);
	rc = a->pseudo_root ? 0 : imgsrc_pseudo_apply(&p->image, a->pseudo);
	if (rc != 0)
		return rc;
	if (!p->o.from.pseudo_first)
		force_modes(p);
	rc = act(p, AS_CHANGE);
	if (rc == 0)
		rc = act(p, AS_PRUNE);
	if (rc != 0)
		return rc;
	for (size_t i = a->root_is_made && !a->pseudo_root &&
	    !a->root_time.given; i < t->count; i++)
		if (sqw_tree_holds(t, (uint32_t)i) &&
		    !imgsrc_is_kept(&p->image, (uint32_t)i) &&
		    t->nodes[i].attr.mtime > latest &&
		    t->nodes[i].attr.mtime != UINT32_MAX)
			latest = t->nodes[i].attr.mtime;
	root = &t->nodes[0].attr;
	if (a->root_time.latest || (a->root_is_made && !a->root_time.given &&
	    (a->mkfs_time.latest || a->all_time.latest)))
		root->mtime = latest;
	for (size_t i = 0; i < t->count; i++)
		if (!imgsrc_is_kept(&p->image, (uint32_t)i) &&
		    (a->all_time.latest || (p->image.o.pseudo_untimed &&
		    t->nodes[i].attr.mtime == UINT32_MAX)))
			t->nodes[i].attr.mtime = latest;
	if (a->mkfs_time.latest && !p->o.from.has_epoch) {
		p->image.o.has_image_mtime = true;
		p->image.o.image_mtime = latest;
	}
	count_steps(p);
	return p->image.xattrs == NULL ? 0 : add_xattrs(p);
}
