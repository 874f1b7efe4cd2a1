/*
 * sqpack_extract.c - extracting the tree of an image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_extract.h"

#include "base/sandbox.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool
get_name(void *arg, size_t n, struct extract_entry *out)
{
	const struct extraction *t = arg;
	struct sq_entry e;
	bool above = t->i.wanted[n] == SQPACK_ABOVE;

	if (t->i.wanted[n] == SQPACK_OUT)
		return false;
	sq_get(t->i.m, n, &e);
	/* what is wrong with the inode has been reported */
	if (!S_ISDIR(e.mode) && (e.mode == 0 || e.lost || above))
		return false;
	*out = (struct extract_entry){
		.mode = e.mode, .parent = e.parent, .above = above,
		.file = S_ISDIR(e.mode) ? n : t->as[e.first],
		.has_owner = e.has_owner, .uid = e.uid, .gid = e.gid,
		.mtime = { .tv_sec = e.mtime },
		.device = S_ISBLK(e.mode) || S_ISCHR(e.mode) ?
		    makedev(squashfs_major(e.rdev), squashfs_minor(e.rdev)) : 0,
		.size = e.size, .target = e.target,
		.target_len = (size_t)e.size
	};
	return true;
}

static const char *
name_path(void *arg, size_t n, struct extract_text *text)
{
	const struct extraction *t = arg;

	return sq_path(t->i.m, n, &text->text, &text->cap) == 0 ? text->text :
	    NULL;
}

/* The attributes that are wanted are passed on. */
struct attribute_filter {
	const struct sqpack *p;
	extract_attribute_fn *set;
	void *to;
};

static int
pass_attribute(void *arg, const char *name, const void *value, size_t len)
{
	const struct attribute_filter *f = arg;

	if (!f->p->o.user_xattrs || strncmp(name, "user.", 5) == 0)
		f->set(f->to, name, value, len);
	return 0;
}

static void
pass_attributes(void *arg, size_t n, extract_attribute_fn *set, void *to)
{
	struct extraction *t = arg;
	struct attribute_filter f = { t->i.p, set, to };
	struct sq_entry e;

	sq_get(t->i.m, n, &e);
	if (e.xattr == SQUASHFS_NONE || t->i.p->o.no_xattrs ||
	    (e.why != NULL && e.lost))
		return;
	/* what is wrong with the name has been reported */
	if (sq_xattrs(t->i.m, e.xattr, pass_attribute, &f) != 0 &&
	    e.why == NULL)
		extraction_damage(t, n, 0,
		    "the extended attributes cannot be read");
}

static void
report_name(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct extraction *t = arg;
	struct sqpack *p = t->i.p;
	const char *dir = p->o.directory, *slash = path == NULL ? "" : "/";

	path = path == NULL ? "" : path;
	pthread_mutex_lock(&t->lock);
	progress_erase(&p->progress);
	if (level == EXTRACT_ERROR)
		msg_error(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (level == EXTRACT_WARNING)
		msg_warn(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	else if (p->msg.verbose > 0)
		msg_note(&p->msg, "%s%s%s: %s", dir, slash, path, text);
	pthread_mutex_unlock(&t->lock);
}

void
extraction_damage(struct extraction *t, size_t number, uint64_t at,
    const char *why)
{
	struct sqpack *p = t->i.p;
	const char *path;

	pthread_mutex_lock(&t->lock);
	progress_erase(&p->progress);
	path = sqpack_image_path(&t->i, number);
	if (path == NULL)
		path = "?";
	if (at == 0)
		msg_error(&p->msg, "%s: %s: %s", p->o.source, path, why);
	else
		msg_error(&p->msg, "%s: %s: offset %llu: %s", p->o.source,
		    path, (unsigned long long)at, why);
	pthread_mutex_unlock(&t->lock);
}

/* Chooses the name of each inode: the first of its selected names. */
static int
choose_names(struct extraction *t)
{
	size_t count = sq_count(t->i.m);
	struct sq_entry e;

	t->as = sys_malloc(count * sizeof(*t->as));
	if (t->as == NULL)
		return -ENOMEM;
	memset(t->as, 0xff, count * sizeof(*t->as));
	for (uint32_t n = 0; n < count; n++) {
		if (t->i.wanted[n] == SQPACK_OUT)
			continue;
		sq_get(t->i.m, n, &e);
		if (t->as[e.first] == UINT32_MAX)
			t->as[e.first] = n;
	}
	return 0;
}

/* Announces every piece that extraction_data() will write. */
static void
expect_pieces(struct extraction *t)
{
	const struct extraction_plan *p = &t->plan;

	for (size_t k = 0; k < p->unit_count; k++) {
		const struct extraction_unit *u = &p->units[k];
		const struct extraction_file *f = &p->files[u->index];

		if (u->count == EXTRACTION_FRAGMENT)
			for (size_t i = p->from[u->index];
			    i < p->from[u->index + (size_t)1]; i++)
				extract_expect(t->x, p->tails[i]);
		else
			for (uint32_t i = 0; i < f->twins; i++)
				extract_expect(t->x, f[i].number);
	}
}

static int
extract_to(struct extraction *t, int root, bool made_root)
{
	struct sqpack *p = t->i.p;
	const struct extract_options o = {
		.root = root, .made_root = made_root,
		.replace = p->o.force, .owner = geteuid() == 0,
		.threads = p->o.data.threads
	};
	const struct extract_source s = {
		.count = sq_count(t->i.m), .get = get_name, .path = name_path,
		.attributes = pass_attributes, .data = extraction_data,
		.report = report_name, .arg = t
	};
	int rc = choose_names(t);

	t->plan.t = t;
	if (rc == 0)
		rc = extraction_plan_make(&t->plan);
	if (rc == 0)
		rc = extract_open(&t->x, &s, &o);
	if (rc != 0) {
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
		return rc;
	}
	expect_pieces(t);
	rc = extract_run(t->x);
	extract_close(t->x);
	return rc;
}

int
sqpack_extract(struct sqpack *p)
{
	struct extraction t = { .as = NULL };
	bool made_root, confined;
	int rc = sqpack_image_open(&t.i, p), root;

	umask(077);
	if (rc != 0)
		goto out;
	root = node_root(p->o.directory, 0700, &made_root);
	if (root < 0) {
		rc = root;
		msg_error(&p->msg, "%s: %s", p->o.directory, strerror(-rc));
		goto out;
	}
	sandbox_enter_making(root, NULL, 0, &confined);
	pthread_mutex_init(&t.lock, NULL);
	rc = extract_to(&t, root, made_root);
	pthread_mutex_destroy(&t.lock);
	sys_close(root);
	extraction_plan_free(&t.plan);
	sys_free(t.as);
out:
	sqpack_image_close(&t.i);
	return rc;
}
