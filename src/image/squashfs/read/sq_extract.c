/*
 * sq_extract.c - extracting names of an image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_extract.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool
get_name(void *arg, size_t n, struct extract_entry *out)
{
	const struct sq_extraction *t = arg;
	struct sq_entry e;
	bool above = t->o->wanted[n] == SQ_ABOVE;

	if (t->o->wanted[n] == SQ_OUT)
		return false;
	sq_get(t->m, n, &e);
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
	const struct sq_extraction *t = arg;

	return sq_path(t->m, n, &text->text, &text->cap) == 0 ? text->text :
	    NULL;
}

/* The attributes that are wanted are passed on. */
struct attribute_filter {
	const struct sq_extract_options *o;
	extract_attribute_fn *set;
	void *to;
};

static int
pass_attribute(void *arg, const char *name, const void *value, size_t len)
{
	const struct attribute_filter *f = arg;

	if (!f->o->user_xattrs || strncmp(name, "user.", 5) == 0)
		f->set(f->to, name, value, len);
	return 0;
}

static void
pass_attributes(void *arg, size_t n, extract_attribute_fn *set, void *to)
{
	struct sq_extraction *t = arg;
	struct attribute_filter f = { t->o, set, to };
	struct sq_entry e;

	sq_get(t->m, n, &e);
	if (e.xattr == SQUASHFS_NONE || t->o->no_xattrs ||
	    (e.why != NULL && e.lost))
		return;
	/* what is wrong with the name has been reported */
	if (sq_xattrs(t->m, e.xattr, pass_attribute, &f) != 0 &&
	    e.why == NULL)
		sq_extract_damage(t, n, 0,
		    "the extended attributes cannot be read");
}

static void
report_name(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct sq_extraction *t = arg;

	pthread_mutex_lock(&t->lock);
	progress_erase(&t->progress);
	t->o->report(t->o->arg, level, path, text);
	pthread_mutex_unlock(&t->lock);
}

void
sq_extract_damage(struct sq_extraction *t, size_t number, uint64_t at,
    const char *why)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	progress_erase(&t->progress);
	rc = sq_path(t->m, number, &t->path, &t->path_cap);
	t->o->damage(t->o->arg, rc == 0 ? t->path : "?", at, why);
	pthread_mutex_unlock(&t->lock);
}

/* Chooses the name of each inode: the first of its selected names. */
static int
choose_names(struct sq_extraction *t)
{
	size_t count = sq_count(t->m);
	struct sq_entry e;

	t->as = sys_malloc(count * sizeof(*t->as));
	if (t->as == NULL)
		return -ENOMEM;
	memset(t->as, 0xff, count * sizeof(*t->as));
	for (uint32_t n = 0; n < count; n++) {
		if (t->o->wanted[n] == SQ_OUT)
			continue;
		sq_get(t->m, n, &e);
		if (t->as[e.first] == UINT32_MAX)
			t->as[e.first] = n;
	}
	return 0;
}

/* Announces every piece that sq_extract_data() will write. */
static void
expect_pieces(struct sq_extraction *t)
{
	const struct sq_extract_plan *p = &t->plan;

	for (size_t k = 0; k < p->unit_count; k++) {
		const struct sq_extract_unit *u = &p->units[k];
		const struct sq_extract_file *f = &p->files[u->index];

		if (u->count == SQ_EXTRACT_FRAGMENT)
			for (size_t i = p->from[u->index];
			    i < p->from[u->index + (size_t)1]; i++)
				extract_expect(t->x, p->tails[i]);
		else
			for (uint32_t i = 0; i < f->twins; i++)
				extract_expect(t->x, f[i].number);
	}
}

int
sq_extract(const struct sq_image *m, const struct sq_extract_options *o)
{
	struct sq_extraction t = { .m = m, .o = o, .plan.t = &t };
	const struct extract_source s = {
		.count = sq_count(m), .get = get_name, .path = name_path,
		.attributes = pass_attributes, .data = sq_extract_data,
		.report = report_name, .arg = &t
	};
	int rc;

	pthread_mutex_init(&t.lock, NULL);
	rc = choose_names(&t);
	if (rc == 0)
		rc = sq_extract_plan_make(&t.plan);
	if (rc == 0)
		rc = extract_open(&t.x, &s, &o->to);
	if (rc == 0) {
		expect_pieces(&t);
		rc = extract_run(t.x);
		extract_close(t.x);
	} else {
		report_name(&t, EXTRACT_ERROR, NULL, strerror(-rc));
	}
	pthread_mutex_destroy(&t.lock);
	sq_extract_plan_free(&t.plan);
	sys_free(t.as);
	sys_free(t.path);
	return rc;
}
