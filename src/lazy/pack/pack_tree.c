/*
 * pack_tree.c - rejecting archives that cannot be extracted
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers handle ".."  differently: the stargz project's reader removes it,
 * containers/storage rejects the archive, and our reader rejects the index.
 * All of them interpret an absolute path relative to the layer's root.
 */
#include "lazy/pack/pack_tree.h"

#include "base/array.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/format.h"
#include "lazy/merge.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A hard link whose target has not been encountered yet. */
struct loose_link {
	const char *path, *target;	/* normalized */
};

struct pack_tree {
	struct merge tree;
	struct loose_link *loose;
	size_t loose_count, loose_cap;
	uint64_t globals;		/* entries with global records */
	bool again;			/* a name has occurred twice */
	bool root;			/* the root has an entry */
};

/* the entry of every node that is not a directory */
static const struct layer_entry not_dir = { .type = TAR_FILE };
/* that of a directory which has one in the archive */
static const struct layer_entry a_dir = { .type = TAR_DIR };

int
pack_tree_open(struct pack_tree **out)
{
	struct pack_tree *t = sys_calloc(1, sizeof(*t));
	int64_t root = t == NULL ? -ENOMEM :
	    merge_add(&t->tree, MERGE_ROOT, "");

	if (root < 0) {
		pack_tree_close(t);
		return (int)root;
	}
	*out = t;
	return 0;
}

void
pack_tree_close(struct pack_tree *t)
{
	if (t == NULL)
		return;
	sys_free(t->tree.nodes);
	sys_free(t->tree.table);
	sys_free(t->tree.gone);
	arena_free(&t->tree.names);
	sys_free(t->loose);
	sys_free(t);
}

/* One entry */

int
pack_check_entry(const struct tar_entry *e, char why[LAYER_WHY])
{
	const char *name = e->path;

	if (path_has_parent(e->path))
		return layer_refuse(why, -EINVAL, "the path %.160s contains "
		    ".., which may lead out of the layer", e->path);
	if (e->type == TAR_HARDLINK && path_has_parent(e->link))
		return layer_refuse(why, -EINVAL, "%.90s is a hard link to "
		    "%.90s, whose .. may lead out of the layer", e->path,
		    e->link);
	for (; *name != '\0'; name += *name == '/') {
		size_t n = strcspn(name, "/");

		if (n > NAME_MAX)
			return layer_refuse(why, -EINVAL, "the path %.120s... "
			    "contains a name of %zu bytes; at most %d are "
			    "allowed", e->path, n, NAME_MAX);
		name += n;
	}
	if (e->uid > UINT32_MAX || e->gid > UINT32_MAX)
		return layer_refuse(why, -EOVERFLOW, "%.160s: " LAYER_LARGE_ID,
		    e->path);
	return 0;
}

/* The tree */

static bool
is_dir(const struct pack_tree *t, int64_t node)
{
	return merge_type(&t->tree.nodes[node]) == TAR_DIR;
}

static int64_t
find_path(const struct pack_tree *t, const char *path)
{
	int64_t node = MERGE_ROOT;

	while (*path != '\0' && node >= 0) {
		size_t n = strcspn(path, "/");

		node = merge_find(&t->tree, (uint32_t)node, path, n);
		path += n + (path[n] == '/');
	}
	return node;
}

static int64_t
add_node(struct pack_tree *t, int64_t parent, const char *name, size_t len,
    bool dir)
{
	const char *copy = arena_copy(&t->tree.names, name, len);
	int64_t node = copy == NULL ? -ENOMEM :
	    merge_add(&t->tree, (uint32_t)parent, copy);

	if (node >= 0 && !dir)
		t->tree.nodes[node].entry = &not_dir;
	return node;
}

/* Adds or replaces the name at path, after any missing directories. */
static int
place_path(struct pack_tree *t, const char *path, bool dir, char why[LAYER_WHY])
{
	const char *last = path_name(path), *name = path;
	int64_t node = MERGE_ROOT, next;

	for (; name < last && node >= 0; node = next) {
		size_t n = strcspn(name, "/");

		next = merge_find(&t->tree, (uint32_t)node, name, n);
		if (next < 0)
			next = add_node(t, node, name, n, true);
		else if (!is_dir(t, next))
			return layer_refuse(why, -EINVAL, "%.120s: %.*s is "
			    "not a directory", path,
			    (int)(name + n - path < 90 ? name + n - path : 90),
			    path);
		name += n + 1;
	}
	if (node < 0)
		return (int)node;
	next = merge_find(&t->tree, (uint32_t)node, last, strlen(last));
	if (next >= 0 && t->tree.nodes[next].entry != NULL)
		t->again = true;
	if (next >= 0 && !(dir && is_dir(t, next))) {
		merge_remove(&t->tree, (uint32_t)next);
		next = -1;
	}
	if (next < 0)
		next = add_node(t, node, last, strlen(last), dir);
	if (next < 0)
		return (int)next;
	if (dir)
		t->tree.nodes[next].entry = &a_dir;
	return 0;
}

/*
 * Adds a hard link.  If its target has not been encountered, it is kept until
 * the end of the archive.
 */
static int
add_link(struct pack_tree *t, const char *path, const char *target,
    char why[LAYER_WHY])
{
	int64_t to = find_path(t, target);
	void *items = t->loose;
	struct loose_link *new;

	if (to >= 0 && is_dir(t, to))
		return layer_refuse(why, -EINVAL, "%.90s is a hard link to "
		    "%.90s, which is a directory", path, target);
	t->again |= strcmp(path, target) == 0;
	if (strcmp(path, target) == 0)
		/* not an error if the same file was archived twice */
		return to >= 0 ? 0 : layer_refuse(why, -EINVAL,
		    "%.160s is a hard link to itself", path);
	if (to < 0) {
		if (array_grow(&items, t->loose_count, &t->loose_cap,
		    sizeof(*t->loose)) != 0)
			return -ENOMEM;
		t->loose = items;
		new = &t->loose[t->loose_count];
		new->path = arena_copy(&t->tree.names, path, strlen(path));
		new->target = arena_copy(&t->tree.names, target,
		    strlen(target));
		if (new->path == NULL || new->target == NULL)
			return -ENOMEM;
		t->loose_count++;
	}
	return place_path(t, path, false, why);
}

int
pack_tree_add(struct pack_tree *t, const struct tar_entry *e,
    char why[LAYER_WHY])
{
	bool link = e->type == TAR_HARDLINK;
	char *path, *target;
	int rc = pack_check_entry(e, why);

	if (rc != 0)
		return rc;
	t->globals += e->from_global;
	path = strcopy(e->path);
	target = strcopy(link ? e->link : "");
	if (path == NULL || target == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = path_clean(path);
	if (rc == 0)
		rc = path_clean(target);
	if (rc == 0 && *path == '\0') {
		t->again |= t->root;
		t->root = true;
	}
	if (rc == 0 && *path == '\0')
		rc = e->type == TAR_DIR ? 0 : layer_refuse(why, -EINVAL,
		    "the layer's root is not a directory");
	else if (rc == 0)
		rc = link ? add_link(t, path, target, why) :
		    place_path(t, path, e->type == TAR_DIR, why);
	sys_free(path);
	sys_free(target);
	return rc != -EFBIG ? rc : layer_refuse(why, rc, "the archive has more "
	    "than %d names", LAYER_ENTRIES_MAX);
}

bool
pack_tree_again(const struct pack_tree *t)
{
	return t->again;
}

int
pack_tree_end(const struct pack_tree *t, struct pack_result *r,
    char why[LAYER_WHY])
{
	for (size_t i = 0; i < t->loose_count; i++) {
		const struct loose_link *l = &t->loose[i];

		if (find_path(t, l->target) >= 0)
			return layer_refuse(why, -EINVAL, "%.90s is a hard "
			    "link to %.90s, which does not precede it in the "
			    "archive", l->path, l->target);
		if (r->lower_links++ == 0)
			snprintf(r->lower_link, sizeof(r->lower_link),
			    "%.90s is a hard link to %.90s, which is not in "
			    "the archive", l->path, l->target);
	}
	r->globals = t->globals;
	return 0;
}
