/*
 * cas_tree.c - dividing a merged tree among nested catalogs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * If a directory has too many names below it, its subdirectories get separate
 * catalogs, the largest first.  CVMFS's balancer
 * (cvmfs/catalog_balancer_impl.h) does the same, and also marks them with two
 * empty files.  A directory that contains such a marker file in the archive
 * also gets a catalog.
 *
 * In a tree, parents precede their children; catalogs are written in the
 * opposite order, because each catalog contains the hashes of those below it.
 */
#include "cas_impl.h"

#include "base/sys.h"
#include "cas_catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A catalog that has been written. */
struct made {
	struct cas_nested nested;
	struct cas_counts counts;
};

struct trees {
	struct cas *c;
	const struct merge *t;
	bool *root;			/* for each node: has a catalog, which
					 * also contains two marker files */
	uint32_t *weight;		/* for each node: number of names in its
					 * subtree and catalog, including
					 * itself */
	struct made **made;		/* for each root */
	uint32_t *same, *group;		/* for each inode: number of names in
					 * the current directory, and group */
	uint32_t groups;		/* groups in the current catalog */
	uint32_t *queue;		/* directories to be listed */
};

/* Dividing */

struct child {
	uint32_t node, weight;
};

static int
heaviest_first(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int
divide_dir(struct trees *s, uint32_t dir)
{
	const struct merge_node *n = merge_node(s->t, dir);
	uint64_t most = s->c->o->catalog, least = most / 10;
	struct child *children;
	size_t count = 0;

	if (s->weight[dir] <= most)
		return 0;
	children = sys_calloc(n->count + 1, sizeof(*children));
	if (children == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t node = merge_child(s->t, dir, i);

		if (merge_type(merge_node(s->t, node)) == TAR_DIR &&
		    !s->root[node] && s->weight[node] > least)
			children[count++] = (struct child){ node,
				s->weight[node] };
	}
	qsort(children, count, sizeof(*children), heaviest_first);
	for (size_t i = 0; i < count && s->weight[dir] > most; i++) {
		s->weight[dir] -= children[i].weight - 1;
		s->root[children[i].node] = true;
		s->weight[children[i].node] = 1;
	}
	sys_free(children);
	return 0;
}

/* Paths */

/* Writes the path of a node, "" or with a leading "/". */
static int
path_of_node(const struct trees *s, uint32_t node, struct strbuf *path)
{
	size_t len = 0, at;

	for (uint32_t i = node; i != MERGE_ROOT;
	    i = merge_node(s->t, i)->parent)
		len += strlen(merge_node(s->t, i)->name) + 1;
	strbuf_clear(path);
	if (strbuf_room(path, len + 1) == NULL)
		return -ENOMEM;
	path->len = at = len;
	path->data[len] = '\0';
	for (uint32_t i = node; i != MERGE_ROOT;
	    i = merge_node(s->t, i)->parent) {
		const char *name = merge_node(s->t, i)->name;

		at -= strlen(name) + 1;
		path->data[at] = '/';
		memcpy(path->data + at + 1, name, strlen(name));
	}
	return 0;
}

/* Appends a name to the first len bytes of a path, which name a directory. */
static int
append_name(struct strbuf *path, size_t len, const char *name)
{
	path->len = len;
	strbuf_char(path, '/');
	strbuf_add(path, name, strlen(name) + 1);
	if (path->failed)
		return -ENOMEM;
	path->len--;
	return 0;
}

/* Rows */

/* The entry of a directory that no layer contains. */
static const struct layer_entry implied = { .type = TAR_DIR, .path = "",
	.link = "", .uname = "", .gname = "", .mode = 0755 };

static int
explain_row(struct trees *s, const char *path, int rc)
{
	if (rc == -EINVAL)
		return layer_refuse(s->c->why, rc, "%.120s: the format allows "
		    "at most %d extended attributes of %d bytes each", path,
		    CAS_XATTR_MAX, CAS_XATTR_MAX);
	if (rc == -EFBIG)
		return layer_refuse(s->c->why, rc, "%.120s: a catalog would "
		    "be larger than 1 GiB", path);
	return rc;
}

/* Adds the row of a node; path is its path. */
static int
add_node(struct trees *s, struct cas_catalog *k, uint32_t node,
    const struct strbuf *path, unsigned flags)
{
	const struct merge_node *n = merge_node(s->t, node);
	const struct layer_entry *e = n->entry == NULL ? &implied : n->entry;
	struct cas_dirent d = { .path = path->data, .len = path->len,
		.name = n->name, .e = e, .flags = flags, .links = n->links,
		.objects = &s->c->empty };

	if (e->type != TAR_DIR) {
		d.links = s->same[n->inode];
		if (d.links > 1 && s->group[n->inode] == 0)
			s->group[n->inode] = ++s->groups;
		d.group = s->group[n->inode];
	}
	if (e->run_count > 0)
		d.objects = s->c->layers[n->layer]->objects;
	return explain_row(s, path->data, cas_catalog_add(k, &d));
}

/* Adds the row of a marker file, unless the directory already contains it. */
static int
add_mark(struct trees *s, struct cas_catalog *k, uint32_t dir,
    struct strbuf *path, const char *name)
{
	const struct merge_node *n = merge_node(s->t, dir);
	const struct layer_entry *of = n->entry == NULL ? &implied : n->entry;
	const struct layer_entry e = { .type = TAR_FILE, .path = "",
		.link = "", .uname = "", .gname = "", .mode = 0600,
		.uid = of->uid, .gid = of->gid, .mtime = of->mtime };
	size_t len = path->len;
	struct cas_dirent d = { .name = name, .e = &e, .links = 1,
		.objects = &s->c->empty };
	int rc;

	if (merge_lookup(s->t, dir, name) != MERGE_NONE)
		return 0;
	rc = append_name(path, len, name);
	d.path = path->data;
	d.len = path->len;
	if (rc == 0)
		rc = cas_catalog_add(k, &d);
	path->len = len;
	return rc;
}

/* Counts the names of each file in a directory, or resets the counts. */
static void
count_names(struct trees *s, uint32_t dir, bool forget)
{
	const struct merge_node *n = merge_node(s->t, dir);

	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t inode = merge_node(s->t, merge_child(s->t, dir,
		    i))->inode;

		s->same[inode] = forget ? 0 : s->same[inode] + 1;
		s->group[inode] = 0;
	}
}

/* Adds the rows of a directory's names; its subdirectories are queued. */
static int
list_names(struct trees *s, struct cas_catalog *k, uint32_t dir,
    struct strbuf *path, size_t *queued)
{
	const struct merge_node *n = merge_node(s->t, dir);
	int rc = path_of_node(s, dir, path);
	size_t len = path->len;

	count_names(s, dir, false);
	for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
		uint32_t node = merge_child(s->t, dir, i);
		bool root = s->root[node];

		rc = append_name(path, len, merge_node(s->t, node)->name);
		if (rc == 0)
			rc = add_node(s, k, node, path,
			    root ? CAS_MOUNTPOINT : 0);
		if (rc == 0 && root) {
			/* it is not listed in this catalog */
			struct made *made = s->made[node];

			rc = cas_catalog_nest(k, path->data, &made->nested,
			    &made->counts);
			sys_free(made);
			s->made[node] = NULL;
		} else if (merge_type(merge_node(s->t, node)) == TAR_DIR) {
			s->queue[(*queued)++] = node;
		}
	}
	count_names(s, dir, true);
	return rc;
}

/* Catalogs */

/* Writes the catalog of a directory. */
static int
write_catalog(struct trees *s, uint32_t root)
{
	struct cas_object object = { .suffix = CAS_CATALOG_OBJECT };
	struct made *made = sys_calloc(1, sizeof(*made));
	struct cas_catalog *k = NULL;
	struct strbuf path = { 0 };
	const void *data = NULL;
	size_t len = 0, queued = 0;
	bool nested = root != MERGE_ROOT;
	int rc = made == NULL ? -ENOMEM : path_of_node(s, root, &path);

	s->made[root] = made;
	s->groups = 0;
	if (rc == 0)
		rc = cas_catalog_open(&k, path.data, s->c->md5);
	if (rc == 0)
		rc = add_node(s, k, root, &path, nested ? CAS_ROOT : 0);
	if (rc == 0 && nested)
		rc = add_mark(s, k, root, &path, CAS_MARKER);
	/* a marker from the archive was not created automatically */
	if (rc == 0 && nested &&
	    merge_lookup(s->t, root, CAS_MARKER) == MERGE_NONE)
		rc = add_mark(s, k, root, &path, CAS_AUTO);
	s->queue[queued++] = root;
	for (size_t i = 0; rc == 0 && i < queued; i++)
		rc = list_names(s, k, s->queue[i], &path, &queued);
	if (rc == 0)
		rc = cas_catalog_end(k, s->c->newest, &data, &len,
		    &made->counts);
	if (rc == 0)
		rc = cas_write(s->c->writer, data, len, &object);
	if (rc == 0) {
		memcpy(made->nested.hash, object.hash, CAS_HASH);
		made->nested.size = len;
		s->c->r->catalogs++;
		s->c->r->objects++;
		s->c->r->objects_B += object.stored;
	}
	cas_catalog_close(k);
	strbuf_free(&path);
	return rc;
}

int
cas_write_catalogs(struct cas *c, const struct merge *tree,
    struct cas_nested *root)
{
	struct trees s = { .c = c, .t = tree };
	size_t count = merge_count(tree), n = count + 1;
	int rc = -ENOMEM;

	s.root = sys_calloc(n, sizeof(*s.root));
	s.weight = sys_calloc(n, sizeof(*s.weight));
	s.made = sys_calloc(n, sizeof(struct made *));
	s.same = sys_calloc(n, sizeof(*s.same));
	s.group = sys_calloc(n, sizeof(*s.group));
	s.queue = sys_calloc(n, sizeof(*s.queue));
	if (s.root == NULL || s.weight == NULL || s.made == NULL ||
	    s.same == NULL || s.group == NULL || s.queue == NULL)
		goto out;
	for (size_t i = count; i-- > 0;) {
		uint32_t dir = (uint32_t)i;
		const struct merge_node *node = merge_node(tree, dir);

		s.weight[i]++;
		rc = merge_type(node) == TAR_DIR ? divide_dir(&s, dir) : 0;
		if (rc != 0)
			goto out;
		if (i == MERGE_ROOT || (merge_type(node) == TAR_DIR &&
		    merge_lookup(tree, dir, CAS_MARKER) != MERGE_NONE)) {
			s.root[i] = true;
			s.weight[i] = 1;
		}
		if (i != MERGE_ROOT)
			s.weight[node->parent] += s.weight[i];
	}
	for (size_t i = count; i-- > 0;) {
		rc = s.root[i] ? write_catalog(&s, (uint32_t)i) : 0;
		if (rc != 0)
			goto out;
	}
	*root = s.made[MERGE_ROOT]->nested;
out:
	for (size_t i = 0; s.made != NULL && i < count; i++)
		sys_free(s.made[i]);
	sys_free(s.root);
	sys_free(s.weight);
	sys_free(s.made);
	sys_free(s.same);
	sys_free(s.group);
	sys_free(s.queue);
	return rc;
}
