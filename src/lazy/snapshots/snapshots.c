/*
 * snapshots.c - a snapshotter of containerd whose layers may be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One lock orders all transactions.  It is held while a directory is made, so
 * that none is without its row for another thread, but not while a layer is
 * mounted, a tree is measured or a directory is removed, which may take long.
 */
#include "lazy/snapshots/snapshots.h"

#include "dirs.h"
#include "filter.h"
#include "meta.h"

#include "base/array.h"
#include "base/sys.h"
#include "base/utc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The labels of a layer, and of a snapshot that is one. */
#define TARGET "containerd.io/snapshot.ref"
#define REMOTE "containerd.io/snapshot/remote"
#define MANIFEST "containerd.io/snapshot/cri.manifest-digest"

/* Those with which clients name a layer: of the CRI plugin, and of stargz. */
static const char *const layer_labels[][2] = {
	{ "containerd.io/snapshot/cri.image-ref",
	    "containerd.io/snapshot/cri.layer-digest" },
	{ "containerd.io/snapshot/remote/stargz.reference",
	    "containerd.io/snapshot/remote/stargz.digest" },
};

/* A layer that a thread mounts. */
struct mounting {
	int64_t id;
	struct mounting *next;
};

struct snapshots {
	char *root;
	int dir;			/* of all snapshots */
	int guard;			/* locked while the root is in use */
	const struct snapshots_layers *layers;
	bool has_index;			/* overlayfs has the option */

	pthread_mutex_t lock;		/* of what follows */
	struct meta *meta;
	struct mounting *mounting;
	pthread_cond_t mounted;
};

/* Reasons */

/* Sets the reason, unless there is one. */
static int
refuse(int rc, char why[SNAPSHOTS_WHY], const char *what, const char *name)
{
	if (*why == '\0' && name != NULL)
		snprintf(why, SNAPSHOTS_WHY, "%s: %.300s", name, what);
	else if (*why == '\0')
		snprintf(why, SNAPSHOTS_WHY, "%s", what);
	return rc;
}

static int
refuse_errno(int rc, char why[SNAPSHOTS_WHY], const char *what)
{
	return rc == 0 ? 0 : refuse(rc, why, strerror(-rc), what);
}

static int
refuse_missing(int rc, char why[SNAPSHOTS_WHY], const char *key)
{
	return rc == -ENOENT ? refuse(rc, why, "there is no such snapshot",
	    key) : refuse_errno(rc, why, key);
}

static void
warn_about(struct snapshots *s, const char *what, int rc)
{
	s->layers->warn(s->layers->arg, what, strerror(-rc));
}

/* Transactions */

static int
begin(struct snapshots *s, char why[SNAPSHOTS_WHY])
{
	int rc;

	*why = '\0';
	pthread_mutex_lock(&s->lock);
	rc = meta_begin(s->meta);
	if (rc != 0)
		pthread_mutex_unlock(&s->lock);
	return refuse_errno(rc, why, "metadata.db");
}

static int
end(struct snapshots *s, int rc, char why[SNAPSHOTS_WHY])
{
	rc = meta_end(s->meta, rc);
	pthread_mutex_unlock(&s->lock);
	return refuse_errno(rc, why, "metadata.db");
}

/* Finds a snapshot, in a transaction. */
static int
find(struct snapshots *s, const char *key, struct meta_row *r,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	return refuse_missing(meta_find(s->meta, key, r, a), why, key);
}

/* Finds a snapshot, in a transaction of its own. */
static int
find_alone(struct snapshots *s, const char *key, struct meta_row *r,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	int rc = begin(s, why);

	if (rc != 0)
		return rc;
	return end(s, find(s, key, r, a, why), why);
}

/* Directories */

static char *
path_of(const struct snapshots *s, int64_t id, const char *what,
    struct arena *a)
{
	size_t size = strlen(s->root) + DIRS_NAME + 32;
	char *path = arena_take(a, size);

	if (path != NULL)
		snprintf(path, size, "%s/snapshots/%" PRId64 "/%s", s->root,
		    id, what);
	return path;
}

/*
 * Removes a directory that no row mentions.  If that fails, it is tried again
 * when the snapshotter starts, or by snapshots_cleanup().
 */
static void
remove_dir(struct snapshots *s, const char *name, const char *image,
    const char *digest)
{
	char *path;
	int rc;

	if (dirs_is_mounted(s->dir, name)) {
		if (asprintf(&path, "%s/snapshots/%s/fs", s->root, name) == -1)
			return;
		s->layers->unmount(s->layers->arg, image, digest, path);
		free(path);
	}
	rc = dirs_remove(s->dir, name);
	if (rc != 0)
		warn_about(s, name, rc);
}

static void
remove_row_dir(struct snapshots *s, const struct meta_row *r)
{
	char name[DIRS_NAME];

	snprintf(name, sizeof(name), "%" PRId64, r->id);
	remove_dir(s, name, r->image, r->digest);
}

/* Layers that are mounted lazily */

static const char *
label_of(const struct snapshots_labels *labels, const char *name)
{
	for (size_t i = labels->count; i-- > 0;)
		if (strcmp(labels->of[i].name, name) == 0)
			return *labels->of[i].value == '\0' ? NULL :
			    labels->of[i].value;
	return NULL;
}

/*
 * Finds the layer that labels name.  The image includes the digest of its
 * manifest if that is known: a tag may have changed since.
 */
static int
find_layer(const struct snapshots_labels *labels, struct meta_row *r,
    struct arena *a)
{
	const char *manifest = label_of(labels, MANIFEST);
	size_t size;
	char *image;

	r->image = r->digest = NULL;
	for (size_t i = 0; r->digest == NULL &&
	    i < sizeof(layer_labels) / sizeof(*layer_labels); i++) {
		r->image = label_of(labels, layer_labels[i][0]);
		r->digest = r->image == NULL ? NULL :
		    label_of(labels, layer_labels[i][1]);
	}
	if (r->digest == NULL || manifest == NULL ||
	    strchr(r->image, '@') != NULL)
		return 0;
	size = strlen(r->image) + strlen(manifest) + 2;
	image = arena_take(a, size);
	if (image == NULL)
		return -ENOMEM;
	snprintf(image, size, "%s@%s", r->image, manifest);
	r->image = image;
	return 0;
}

/* Waits until no thread mounts the layer, and enters this one. */
static void
mounting_begin(struct snapshots *s, struct mounting *own)
{
	struct mounting *m;

	pthread_mutex_lock(&s->lock);
	do {
		for (m = s->mounting; m != NULL && m->id != own->id;)
			m = m->next;
		if (m != NULL)
			pthread_cond_wait(&s->mounted, &s->lock);
	} while (m != NULL);
	own->next = s->mounting;
	s->mounting = own;
	pthread_mutex_unlock(&s->lock);
}

static void
mounting_end(struct snapshots *s, const struct mounting *own)
{
	struct mounting **m;

	pthread_mutex_lock(&s->lock);
	for (m = &s->mounting; *m != own;)
		m = &(*m)->next;
	*m = own->next;
	pthread_cond_broadcast(&s->mounted);
	pthread_mutex_unlock(&s->lock);
}

/* Mounts a layer unless it is mounted and its server alive. */
static int
mount_layer(struct snapshots *s, const struct meta_row *r, const char *path)
{
	const struct snapshots_layers *l = s->layers;
	struct mounting own = { .id = r->id };
	int rc = 0;

	if (l->is_mounted(l->arg, path))
		return 0;
	mounting_begin(s, &own);
	if (!l->is_mounted(l->arg, path)) {
		l->unmount(l->arg, NULL, NULL, path);
		rc = l->mount(l->arg, r->image, r->digest, path);
	}
	mounting_end(s, &own);
	return rc;
}

/* The rows of a snapshot and of those below it */
struct chain {
	struct meta_row *rows;
	size_t count, cap;
};

/* In a transaction. */
static int
find_chain(struct snapshots *s, const struct meta_row *r, struct chain *c,
    struct arena *a)
{
	struct meta_row next = *r;
	int rc = 0;

	for (;;) {
		void *rows = c->rows;

		rc = array_grow(&rows, c->count, &c->cap, sizeof(*c->rows));
		c->rows = rows;
		if (rc != 0)
			return rc;
		c->rows[c->count++] = next;
		if (next.parent == 0)
			return 0;
		rc = meta_find_id(s->meta, next.parent, &next, a);
		if (rc != 0)
			return rc == -ENOENT ? -EIO : rc;
	}
}

/* Mounts */

static int
add_option(struct snapshots_mount *m, struct arena *a, const char *name,
    const char *value)
{
	size_t size = strlen(name) + strlen(value) + 1;
	char *option = arena_take(a, size);

	if (option == NULL)
		return -ENOMEM;
	snprintf(option, size, "%s%s", name, value);
	m->options[m->option_count++] = option;
	return 0;
}

static int
bind_mount(struct snapshots *s, const struct meta_row *r, bool writable,
    struct snapshots_mount *m, struct arena *a)
{
	*m = (struct snapshots_mount){ .type = "bind",
		.source = path_of(s, r->id, "fs", a), .option_count = 2,
		.options = { writable ? "rw" : "ro", "rbind" } };
	return m->source == NULL ? -ENOMEM : 0;
}

static int
overlay_mount(struct snapshots *s, const struct chain *c,
    struct snapshots_mount *m, struct arena *a)
{
	struct strbuf lower = { .len = 0 };
	int64_t id = c->rows[0].id;
	int rc = 0;

	*m = (struct snapshots_mount){ .type = "overlay",
		.source = "overlay" };
	if (s->has_index)
		rc = add_option(m, a, "index=off", "");
	if (rc == 0 && c->rows[0].info.kind == SNAPSHOTS_ACTIVE) {
		const char *work = path_of(s, id, "work", a);
		const char *upper = path_of(s, id, "fs", a);

		rc = work == NULL || upper == NULL ? -ENOMEM :
		    add_option(m, a, "workdir=", work);
		if (rc == 0)
			rc = add_option(m, a, "upperdir=", upper);
	}
	for (size_t i = 1; rc == 0 && i < c->count; i++)
		strbuf_fmt(&lower, "%s%s/snapshots/%" PRId64 "/fs",
		    i == 1 ? "" : ":", s->root, c->rows[i].id);
	if (rc == 0)
		rc = lower.failed ? -ENOMEM :
		    add_option(m, a, "lowerdir=", lower.data);
	strbuf_free(&lower);
	return rc;
}

static int
describe_mount(struct snapshots *s, const struct chain *c,
    struct snapshots_mount *m, struct arena *a)
{
	bool active = c->rows[0].info.kind == SNAPSHOTS_ACTIVE;

	if (c->count == 1)
		return bind_mount(s, &c->rows[0], active, m, a);
	if (c->count == 2 && !active)
		return bind_mount(s, &c->rows[1], false, m, a);
	return overlay_mount(s, c, m, a);
}

/* Mounts the layers of a chain if necessary. */
static int
mount_chain(struct snapshots *s, const struct chain *c, struct arena *a,
    char why[SNAPSHOTS_WHY])
{
	for (size_t i = 1; i < c->count; i++) {
		const struct meta_row *r = &c->rows[i];
		const char *path;
		int rc;

		if (r->digest == NULL)
			continue;
		path = path_of(s, r->id, "fs", a);
		rc = path == NULL ? -ENOMEM : mount_layer(s, r, path);
		if (rc != 0)
			return refuse_errno(-EAGAIN, why, r->info.name);
	}
	return 0;
}

int
snapshots_mount_of(struct snapshots *s, const char *key,
    struct snapshots_mount *m, struct arena *a, char why[SNAPSHOTS_WHY])
{
	struct chain c = { .count = 0 };
	struct meta_row r;
	int rc = begin(s, why);

	if (rc != 0)
		return rc;
	rc = find(s, key, &r, a, why);
	if (rc == 0 && r.info.kind == SNAPSHOTS_COMMITTED)
		rc = refuse(-EBUSY, why, "the snapshot is committed", key);
	if (rc == 0)
		rc = find_chain(s, &r, &c, a);
	rc = end(s, rc, why);
	if (rc == 0)
		rc = mount_chain(s, &c, a, why);
	if (rc == 0)
		rc = refuse_errno(describe_mount(s, &c, m, a), why, key);
	sys_free(c.rows);
	return rc;
}

/* Creating */

/*
 * Commits a new snapshot as the layer that is now mounted there, unless another
 * thread was faster.
 */
static int
commit_layer(struct snapshots *s, struct meta_row *r, const char *target,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	struct snapshots_labels *labels = &r->info.labels;
	struct snapshots_label *of = arena_take(a, (labels->count + 1) *
	    sizeof(*of));
	struct meta_row now;
	int rc;

	if (of == NULL)
		return refuse_errno(-ENOMEM, why, target);
	for (size_t i = 0; i < labels->count; i++)
		of[i] = labels->of[i];
	of[labels->count] = (struct snapshots_label){ REMOTE,
		"remote snapshot" };
	labels->of = of;
	labels->count++;
	rc = begin(s, why);
	if (rc != 0)
		return rc;
	/* somebody may have removed it meanwhile */
	rc = meta_find_id(s->meta, r->id, &now, a);
	if (rc == 0) {
		r->info.name = target;
		r->info.kind = SNAPSHOTS_COMMITTED;
		r->info.created_ns = r->info.updated_ns = utc_now_ns();
		rc = meta_change(s->meta, r);
	}
	if (rc == -EEXIST)
		rc = refuse(rc, why, "there is such a snapshot", target);
	return end(s, rc, why);
}

/* Removes a snapshot that was only just created. */
static void
take_back(struct snapshots *s, const struct meta_row *r)
{
	char why[SNAPSHOTS_WHY];
	int rc = begin(s, why);

	if (rc == 0)
		rc = end(s, meta_remove(s->meta, r->id), why);
	if (rc == 0)
		remove_row_dir(s, r);
}

/*
 * Makes the layer that the labels of a new snapshot name, if any, in its place.
 * Returns -EEXIST if that was done, or 0 if it is to be filled by the caller.
 */
static int
try_layer(struct snapshots *s, struct meta_row *r, const char *target,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	const struct snapshots_layers *l = s->layers;
	const char *path;
	int rc = find_layer(&r->info.labels, r, a);

	if (rc != 0)
		return refuse_errno(rc, why, target);
	if (r->digest == NULL)
		return 0;
	path = path_of(s, r->id, "fs", a);
	if (path == NULL)
		return refuse_errno(-ENOMEM, why, target);
	rc = l->mount(l->arg, r->image, r->digest, path);
	if (rc != 0) {
		r->image = r->digest = NULL;
		return 0;
	}
	rc = commit_layer(s, r, target, a, why);
	if (rc == 0)
		return refuse(-EEXIST, why, "its layer is mounted lazily",
		    target);
	take_back(s, r);
	return rc;
}

/* Finds what a new snapshot needs, in a transaction, and adds its row. */
static int
add_snapshot(struct snapshots *s, struct meta_row *r, const char *target,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	struct meta_row other, parent = { .id = 0 };
	const char *key = r->info.name;
	int rc;

	if (*r->info.parent != '\0') {
		rc = find(s, r->info.parent, &parent, a, why);
		if (rc == 0 && parent.info.kind != SNAPSHOTS_COMMITTED)
			rc = refuse(-EINVAL, why, "the parent is not "
			    "committed", r->info.parent);
		if (rc != 0)
			return rc;
	}
	if (target != NULL &&
	    meta_find(s->meta, target, &other, a) == 0 &&
	    other.info.kind == SNAPSHOTS_COMMITTED &&
	    strcmp(other.info.parent, r->info.parent) == 0)
		return refuse(-EEXIST, why, "there is such a snapshot",
		    target);
	rc = meta_find(s->meta, key, &other, a);
	if (rc != -ENOENT)
		return rc == 0 ? refuse(-EEXIST, why, "there is such a "
		    "snapshot", key) : refuse_errno(rc, why, key);
	r->parent = parent.id;
	r->info.created_ns = r->info.updated_ns = utc_now_ns();
	rc = meta_add(s->meta, r);
	if (rc == 0)
		rc = dirs_make(s->dir, r->id, parent.id,
		    r->info.kind == SNAPSHOTS_ACTIVE);
	return refuse_errno(rc, why, key);
}

int
snapshots_create(struct snapshots *s, enum snapshots_kind kind,
    const char *key, const char *parent, const struct snapshots_labels *labels,
    struct snapshots_mount *m, struct arena *a, char why[SNAPSHOTS_WHY])
{
	const char *target = kind == SNAPSHOTS_ACTIVE ?
	    label_of(labels, TARGET) : NULL;
	struct meta_row r = { .info = { .name = key, .parent = parent,
		.kind = kind, .labels = *labels } };
	int rc;

	*why = '\0';
	if (*key == '\0')
		return refuse(-EINVAL, why, "the key is empty", NULL);
	rc = begin(s, why);
	if (rc != 0)
		return rc;
	rc = end(s, add_snapshot(s, &r, target, a, why), why);
	if (rc == 0 && target != NULL)
		rc = try_layer(s, &r, target, a, why);
	return rc == 0 ? snapshots_mount_of(s, key, m, a, why) : rc;
}

/* Committing and removing */

int
snapshots_commit(struct snapshots *s, const char *key, const char *name,
    const struct snapshots_labels *labels, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct meta_row r, other;
	struct snapshots_usage usage = { .bytes = 0 };
	int rc = find_alone(s, key, &r, &a, why);

	if (rc == 0 && *name == '\0')
		rc = refuse(-EINVAL, why, "the name is empty", key);
	if (rc == 0 && r.info.kind == SNAPSHOTS_ACTIVE)
		rc = refuse_errno(dirs_usage(s->dir, r.id, &usage), why, key);
	if (rc == 0)
		rc = begin(s, why);
	if (rc != 0)
		goto out;
	/* it may have changed meanwhile */
	rc = find(s, key, &r, &a, why);
	if (rc == 0 && meta_find(s->meta, name, &other, &a) == 0)
		rc = refuse(-EEXIST, why, "there is such a snapshot", name);
	if (rc == 0 && r.info.kind != SNAPSHOTS_ACTIVE)
		rc = refuse(-EBUSY, why, "the snapshot is not active", key);
	if (rc == 0) {
		r.info.name = name;
		r.info.kind = SNAPSHOTS_COMMITTED;
		r.info.labels = *labels;
		r.info.created_ns = r.info.updated_ns = utc_now_ns();
		r.usage = usage;
		rc = meta_change(s->meta, &r);
	}
	rc = end(s, rc, why);
out:
	arena_free(&a);
	return rc;
}

int
snapshots_remove(struct snapshots *s, const char *key, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct meta_row r;
	int rc = begin(s, why);

	if (rc != 0)
		return rc;
	rc = find(s, key, &r, &a, why);
	if (rc == 0) {
		rc = meta_has_child(s->meta, r.id);
		if (rc == 1)
			rc = refuse(-EBUSY, why, "cannot remove the parent "
			    "of others", key);
	}
	if (rc == 0)
		rc = meta_remove(s->meta, r.id);
	rc = end(s, rc, why);
	/* it has gone, whatever becomes of its directory */
	if (rc == 0)
		remove_row_dir(s, &r);
	arena_free(&a);
	return rc;
}

/* Describing */

int
snapshots_stat(struct snapshots *s, const char *key, struct snapshots_info *i,
    struct arena *a, char why[SNAPSHOTS_WHY])
{
	struct meta_row r;
	int rc = find_alone(s, key, &r, a, why);

	if (rc == 0)
		*i = r.info;
	return rc;
}

/* Sets one label, in a copy that has room for it. */
static void
set_label(struct snapshots_labels *labels, const char *name, const char *value)
{
	for (size_t i = 0; i < labels->count; i++)
		if (strcmp(labels->of[i].name, name) == 0) {
			labels->of[i].value = value;
			return;
		}
	labels->of[labels->count++] = (struct snapshots_label){ name, value };
}

/* Changes the labels in *r as the paths say. */
static int
change_labels(struct meta_row *r, const struct snapshots_labels *to,
    const char *const *paths, size_t path_count, struct arena *a,
    char why[SNAPSHOTS_WHY])
{
	static const char prefix[] = "labels.";
	struct snapshots_labels labels = { .count = 0 };
	const char *value;

	labels.of = arena_take(a, (r->info.labels.count + to->count +
	    path_count) * sizeof(*labels.of));
	if (labels.of == NULL)
		return -ENOMEM;
	for (size_t i = 0; path_count > 0 && i < r->info.labels.count; i++)
		labels.of[labels.count++] = r->info.labels.of[i];
	for (size_t i = 0; i < path_count; i++) {
		const char *path = paths[i];

		if (strcmp(path, "labels") == 0) {
			labels.count = 0;
			for (size_t k = 0; k < to->count; k++)
				set_label(&labels, to->of[k].name,
				    to->of[k].value);
		} else if (strncmp(path, prefix, sizeof(prefix) - 1) == 0) {
			path += sizeof(prefix) - 1;
			value = label_of(to, path);
			set_label(&labels, path, value == NULL ? "" : value);
		} else {
			return refuse(-EINVAL, why, "this field cannot be "
			    "changed", path);
		}
	}
	r->info.labels = path_count == 0 ? *to : labels;
	return 0;
}

int
snapshots_update(struct snapshots *s, struct snapshots_info *i,
    const char *const *paths, size_t path_count, struct arena *a,
    char why[SNAPSHOTS_WHY])
{
	const char *name = i->name;
	struct meta_row r;
	int rc = begin(s, why);

	if (rc != 0)
		return rc;
	rc = find(s, name, &r, a, why);
	if (rc == 0)
		rc = change_labels(&r, &i->labels, paths, path_count, a, why);
	if (rc == 0) {
		r.info.updated_ns = utc_now_ns();
		rc = meta_change(s->meta, &r);
	}
	if (rc == 0)
		rc = meta_find(s->meta, name, &r, a);
	rc = end(s, rc, why);
	if (rc == 0)
		*i = r.info;
	return rc;
}

int
snapshots_usage(struct snapshots *s, const char *key,
    struct snapshots_usage *u, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct meta_row r;
	int rc = find_alone(s, key, &r, &a, why);

	if (rc == 0 && r.info.kind == SNAPSHOTS_ACTIVE)
		rc = refuse_errno(dirs_usage(s->dir, r.id, u), why, key);
	else if (rc == 0)
		*u = r.usage;
	arena_free(&a);
	return rc;
}

/* Listing */

struct listing {
	struct filter **filters;
	size_t filter_count;
	int (*take)(void *arg, const struct snapshots_info *i);
	void *arg;
};

/* Returns what a filter calls by these names, or NULL. */
static const char *
value_of(void *arg, const char *field, const char *rest)
{
	static const char *const kinds[] = { [SNAPSHOTS_VIEW] = "view",
		[SNAPSHOTS_ACTIVE] = "active",
		[SNAPSHOTS_COMMITTED] = "committed" };
	const struct snapshots_info *i = arg;

	if (strcmp(field, "name") == 0)
		return i->name;
	if (strcmp(field, "parent") == 0)
		return i->parent;
	if (strcmp(field, "kind") == 0)
		return kinds[i->kind];
	return strcmp(field, "labels") == 0 ? label_of(&i->labels, rest) :
	    NULL;
}

static int
list_row(void *arg, const struct meta_row *r)
{
	struct listing *l = arg;
	struct snapshots_info i = r->info;
	bool matches = l->filter_count == 0;

	for (size_t k = 0; !matches && k < l->filter_count; k++)
		matches = filter_match(l->filters[k], value_of, &i);
	return matches ? l->take(l->arg, &i) : 0;
}

int
snapshots_list(struct snapshots *s, const char *const *filters,
    size_t filter_count, int (*take)(void *arg, const struct snapshots_info *i),
    void *arg, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct listing l = { .filter_count = filter_count, .take = take,
		.arg = arg };
	int rc = 0;

	*why = '\0';
	l.filters = arena_take(&a, filter_count * sizeof(*l.filters) + 1);
	if (l.filters == NULL)
		rc = refuse_errno(-ENOMEM, why, "the filters");
	for (size_t i = 0; rc == 0 && i < filter_count; i++) {
		const char *reason = "";

		rc = filter_parse(&l.filters[i], filters[i], &a, &reason);
		if (rc != 0)
			rc = refuse(rc, why, rc == -ENOMEM ? strerror(ENOMEM) :
			    reason, filters[i]);
	}
	if (rc == 0)
		rc = begin(s, why);
	if (rc == 0)
		rc = end(s, meta_each(s->meta, &a, list_row, &l), why);
	arena_free(&a);
	return rc;
}

/* All layers */

/* Copies the rows of the layers that are mounted lazily. */
static int
take_lazy(void *arg, const struct meta_row *r)
{
	struct chain *c = arg;
	void *rows = c->rows;
	int rc = r->digest == NULL ? 0 : array_grow(&rows, c->count, &c->cap,
	    sizeof(*c->rows));

	c->rows = rows;
	if (rc == 0 && r->digest != NULL)
		c->rows[c->count++] = *r;
	return rc;
}

static int
find_lazy(struct snapshots *s, struct chain *c, struct arena *a,
    char why[SNAPSHOTS_WHY])
{
	int rc = begin(s, why);

	return rc != 0 ? rc : end(s, meta_each(s->meta, a, take_lazy, c), why);
}

int64_t
snapshots_lazy_count(struct snapshots *s)
{
	char why[SNAPSHOTS_WHY];
	int64_t n, rc = begin(s, why);

	if (rc != 0)
		return rc;
	n = meta_lazy_count(s->meta);
	rc = end(s, n < 0 ? (int)n : 0, why);
	return rc != 0 ? rc : n;
}

int
snapshots_unmount(struct snapshots *s, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct chain c = { .count = 0 };
	int rc = find_lazy(s, &c, &a, why);

	for (size_t i = 0; rc == 0 && i < c.count; i++) {
		const char *path = path_of(s, c.rows[i].id, "fs", &a);

		if (path != NULL)
			s->layers->unmount(s->layers->arg, c.rows[i].image,
			    c.rows[i].digest, path);
	}
	sys_free(c.rows);
	arena_free(&a);
	return rc;
}

int
snapshots_remount(struct snapshots *s, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct chain c = { .count = 0 };
	int rc = find_lazy(s, &c, &a, why), failed;

	for (size_t i = 0; rc == 0 && i < c.count; i++) {
		const char *path = path_of(s, c.rows[i].id, "fs", &a);

		failed = path == NULL ? -ENOMEM :
		    mount_layer(s, &c.rows[i], path);
		if (failed != 0)
			warn_about(s, c.rows[i].info.name, failed);
	}
	sys_free(c.rows);
	arena_free(&a);
	return rc;
}

/* Cleaning */

struct cleaning {
	struct snapshots *s;
	struct arena *a;
	bool starting;			/* no thread mounts anything */
	struct item {
		const char *name;	/* of a directory */
		bool known;		/* there is a row */
	} *items;
	size_t count, cap;
};

static int
take_name(void *arg, const char *name)
{
	struct cleaning *c = arg;
	void *items = c->items;
	int rc = array_grow(&items, c->count, &c->cap, sizeof(*c->items));
	const char *copy;

	c->items = items;
	if (rc != 0)
		return rc;
	copy = arena_copy(c->a, name, strlen(name));
	if (copy == NULL)
		return -ENOMEM;
	c->items[c->count++] = (struct item){ copy, false };
	return 0;
}

static int
compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int
take_known(void *arg, const struct meta_row *r)
{
	struct cleaning *c = arg;
	const struct snapshots_layers *l = c->s->layers;
	char name[DIRS_NAME];
	const struct item item = { name, true };
	struct item *found;
	const char *path;

	snprintf(name, sizeof(name), "%" PRId64, r->id);
	found = c->count == 0 ? NULL : bsearch(&item, c->items, c->count,
	    sizeof(*c->items), compare_items);
	if (found != NULL)
		found->known = true;
	/* the process was killed before the snapshot was committed */
	if (c->starting && found != NULL && r->digest == NULL &&
	    dirs_is_mounted(c->s->dir, name)) {
		path = path_of(c->s, r->id, "fs", c->a);
		if (path == NULL)
			return -ENOMEM;
		l->unmount(l->arg, NULL, NULL, path);
	}
	return 0;
}

static int
clean(struct snapshots *s, bool starting, char why[SNAPSHOTS_WHY])
{
	struct arena a = { .chunks = NULL };
	struct cleaning c = { .s = s, .a = &a, .starting = starting };
	int rc = begin(s, why);

	if (rc != 0)
		return rc;
	rc = dirs_each(s->dir, take_name, &c);
	if (rc == 0 && c.count > 0)
		qsort(c.items, c.count, sizeof(*c.items), compare_items);
	if (rc == 0)
		rc = meta_each(s->meta, &a, take_known, &c);
	rc = end(s, rc, why);
	for (size_t i = 0; rc == 0 && i < c.count; i++)
		if (!c.items[i].known)
			remove_dir(s, c.items[i].name, NULL, NULL);
	sys_free(c.items);
	arena_free(&a);
	return rc;
}

int
snapshots_cleanup(struct snapshots *s, char why[SNAPSHOTS_WHY])
{
	return clean(s, false, why);
}

/* Opening and closing */

static int
make_dir(const char *path, int *fd)
{
	int rc = sys_mkdirat(AT_FDCWD, path, 0700);

	if (rc != 0 && rc != -EEXIST)
		return rc;
	*fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);
	return *fd < 0 ? *fd : 0;
}

/* Locks the root.  Children of this process do not inherit such a lock. */
static int
lock_root(struct snapshots *s, const char *path)
{
	const struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	s->guard = sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (s->guard < 0)
		return s->guard;
	return fcntl(s->guard, F_SETLK, &all) == 0 ? 0 : -errno;
}

int
snapshots_open(struct snapshots **out, const char *root,
    const struct snapshots_layers *l, char why[SNAPSHOTS_WHY])
{
	struct snapshots *s = sys_calloc(1, sizeof(*s));
	struct arena a = { .chunks = NULL };
	size_t size = strlen(root) + 16;
	char *path = arena_take(&a, size);
	int rc = -ENOMEM;

	*why = '\0';
	*out = s;
	if (s == NULL)
		goto out;
	s->dir = s->guard = -1;
	s->layers = l;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->mounted, NULL);
	s->root = strcopy(root);
	if (s->root == NULL || path == NULL)
		goto out;
	s->has_index = access("/sys/module/overlay/parameters/index", F_OK) ==
	    0;
	snprintf(path, size, "%s/lock", root);
	rc = lock_root(s, path);
	if (rc == -EACCES || rc == -EAGAIN)
		rc = refuse(-EBUSY, why, "in use by another process", NULL);
	if (rc != 0)
		goto out;
	snprintf(path, size, "%s/snapshots", root);
	rc = make_dir(path, &s->dir);
	if (rc != 0)
		goto out;
	snprintf(path, size, "%s/metadata.db", root);
	rc = meta_open(&s->meta, path, why);
	if (rc == 0)
		rc = clean(s, true, why);
out:
	rc = refuse_errno(rc, why, path);
	arena_free(&a);
	if (rc != 0) {
		snapshots_close(s);
		*out = NULL;
	}
	return rc;
}

void
snapshots_close(struct snapshots *s)
{
	if (s == NULL)
		return;
	meta_close(s->meta);
	if (s->dir >= 0)
		sys_close(s->dir);
	if (s->guard >= 0)
		sys_close(s->guard);
	pthread_cond_destroy(&s->mounted);
	pthread_mutex_destroy(&s->lock);
	sys_free(s->root);
	sys_free(s);
}
