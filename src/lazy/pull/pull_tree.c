/*
 * pull_tree.c - unpacking layers, one over the other, into a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pull_tree.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/oci/changes.h"
#include "lazy/format.h"
#include "walk/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	PIECE = 256 << 10,
	SLOTS_FIRST = 1024,
	/* of the attributes of directories, which are kept until the end */
	KEPT_MAX = 256 << 20
};

struct kept_xattr {
	const char *name;
	const void *value;
	size_t length;
};

/* The attributes of a directory. */
struct dir_attributes {
	uint32_t mode;
	uint32_t uid, gid;
	struct timespec mtime;
	struct kept_xattr *xattrs;
	size_t xattr_count;
};

/* A name; the root is node 0, and a node has a higher number than its parent. */
struct pull_node {
	uint32_t parent;		/* OCI_NOWHERE: removed */
	uint32_t child, next, before;	/* what is in a directory; 0: none */
	uint32_t chain;			/* the next in the slot; 0: none */
	bool dir;
	const char *name;
	struct dir_attributes *attributes;	/* NULL: it was implied */
};

struct pull_tree {
	int root;
	bool owner;
	struct pull_node *nodes;
	size_t count, cap;
	uint32_t *slots;		/* of a hash table; 0: empty */
	size_t slot_count;
	uint64_t seed;
	struct arena arena;		/* names and attributes */
	uint64_t kept_B;
	struct oci_changes *changes;
	uint32_t bottom;		/* the layer's first node */
	int dir;			/* the last directory used, or -1, */
	uint32_t dir_node;		/* and which it is */
	uint8_t *piece;
	int failed;			/* -errno from removing a name */
	struct pull_tree_counts counts;
	/* the entry being applied */
	const struct tar_entry *entry;
	int entry_fd;			/* or -1: the next two */
	int entry_dir;
	const char *entry_name;
	int entry_failed;
	const char *entry_what;
};

/* Nodes */

static uint32_t *
slot_of(const struct pull_tree *t, uint32_t parent, const char *name, size_t len)
{
	return &t->slots[hash_bytes(t->seed + parent, name, len) &
	    (t->slot_count - 1)];
}

static uint32_t
find_node(const struct pull_tree *t, uint32_t parent, const char *name,
    size_t len)
{
	uint32_t i = *slot_of(t, parent, name, len);

	for (; i != 0; i = t->nodes[i].chain)
		if (t->nodes[i].parent == parent &&
		    strncmp(t->nodes[i].name, name, len) == 0 &&
		    t->nodes[i].name[len] == '\0')
			return i;
	return OCI_NOWHERE;
}

static int
grow_slots(struct pull_tree *t)
{
	size_t count = t->slot_count == 0 ? SLOTS_FIRST : 2 * t->slot_count;
	uint32_t *slots = sys_calloc(count, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	sys_free(t->slots);
	t->slots = slots;
	t->slot_count = count;
	for (uint32_t i = 1; i < t->count; i++) {
		struct pull_node *n = &t->nodes[i];
		uint32_t *slot;

		if (n->parent == OCI_NOWHERE)
			continue;
		slot = slot_of(t, n->parent, n->name, strlen(n->name));
		n->chain = *slot;
		*slot = i;
	}
	return 0;
}

/* Adds a name to a directory.  Returns 0, -EFBIG or -ENOMEM. */
static int
add_node(struct pull_tree *t, uint32_t parent, const char *name, size_t len,
    bool dir, uint32_t *id)
{
	void *nodes = t->nodes;
	struct pull_node *n;
	uint32_t *slot;
	int rc;

	if (t->count == LAYER_ENTRIES_MAX)
		return -EFBIG;
	rc = array_grow(&nodes, t->count, &t->cap, sizeof(*t->nodes));
	t->nodes = nodes;
	if (rc == 0 && t->count >= t->slot_count)
		rc = grow_slots(t);
	if (rc != 0)
		return rc;
	n = &t->nodes[t->count];
	*n = (struct pull_node){ .parent = parent, .dir = dir,
		.name = arena_copy(&t->arena, name, len) };
	if (n->name == NULL)
		return -ENOMEM;
	*id = (uint32_t)t->count++;
	if (*id == 0)
		return 0;
	slot = slot_of(t, parent, name, len);
	n->chain = *slot;
	*slot = *id;
	n->next = t->nodes[parent].child;
	if (n->next != 0)
		t->nodes[n->next].before = *id;
	t->nodes[parent].child = *id;
	return 0;
}

static void
forget_node(struct pull_tree *t, uint32_t id)
{
	struct pull_node *n = &t->nodes[id];
	uint32_t *at = slot_of(t, n->parent, n->name, strlen(n->name));

	while (*at != id)
		at = &t->nodes[*at].chain;
	*at = n->chain;
	if (n->before != 0)
		t->nodes[n->before].next = n->next;
	else
		t->nodes[n->parent].child = n->next;
	if (n->next != 0)
		t->nodes[n->next].before = n->before;
	n->parent = OCI_NOWHERE;
}

/* Directories */

/*
 * Opens the directory of a node, and keeps it until another one is opened.
 * Returns a descriptor, which is not to be closed, or -errno.
 */
static int
enter_node(struct pull_tree *t, uint32_t id)
{
	/* with a slash before it */
	char path[1 + PATH_MAX], *p = path + sizeof(path);
	int fd;

	if (id == 0)
		return t->root;
	if (t->dir >= 0 && t->dir_node == id)
		return t->dir;
	*--p = '\0';
	for (uint32_t i = id; i != 0; i = t->nodes[i].parent) {
		size_t len = strlen(t->nodes[i].name);

		if ((size_t)(p - path) < len + 1)
			return -ENAMETOOLONG;
		p -= len;
		memcpy(p, t->nodes[i].name, len);
		*--p = '/';
	}
	p++;
	fd = sys_open_beneath(t->root, p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -ENOSYS || fd == -EPERM) {
		/* one component after the other */
		int at = t->root;

		for (char *end; p != NULL; p = end) {
			end = strchr(p, '/');
			if (end != NULL)
				*end++ = '\0';
			fd = sys_openat(at, p, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC, 0);
			if (at != t->root)
				sys_close(at);
			if (fd < 0)
				return fd;
			at = fd;
		}
	}
	if (fd < 0)
		return fd;
	if (t->dir >= 0)
		sys_close(t->dir);
	t->dir = fd;
	t->dir_node = id;
	return fd;
}

/* Removes a name, and everything in it if it is a directory. */
static int
remove_node(struct pull_tree *t, uint32_t id)
{
	uint32_t at = id;
	int rc = 0;

	while (rc == 0) {
		uint32_t parent = t->nodes[at].parent;
		int dir;

		if (t->nodes[at].child != 0) {
			at = t->nodes[at].child;
			continue;
		}
		if (t->dir >= 0 && t->dir_node == at) {
			sys_close(t->dir);
			t->dir = -1;
		}
		dir = enter_node(t, parent);
		rc = dir < 0 ? dir : sys_unlinkat(dir, t->nodes[at].name,
		    t->nodes[at].dir ? AT_REMOVEDIR : 0);
		/* a device that was left out is not there */
		if (rc == -ENOENT)
			rc = 0;
		forget_node(t, at);
		if (at == id)
			break;
		at = parent;
	}
	return rc;
}

static uint32_t
find_path(void *arg, const char *path)
{
	const struct pull_tree *t = arg;
	uint32_t at = 0;

	while (*path != '\0' && at != OCI_NOWHERE) {
		size_t len = strcspn(path, "/");

		at = find_node(t, at, path, len);
		path += len;
		path += *path == '/';
	}
	return at;
}

static uint32_t
parent_of(void *arg, uint32_t node)
{
	const struct pull_tree *t = arg;

	return t->nodes[node].parent;
}

static void
hide_node(void *arg, uint32_t node)
{
	struct pull_tree *t = arg;
	int rc = remove_node(t, node);

	if (t->failed == 0)
		t->failed = rc;
}

/* Opening and closing */

int
pull_tree_open(struct pull_tree **out, int root, bool owner)
{
	struct pull_tree *t = sys_calloc(1, sizeof(*t));
	const struct oci_changes_tree tree = { .find = find_path,
		.parent = parent_of, .remove = hide_node, .arg = t };
	uint32_t id;
	int rc = -ENOMEM;

	if (t == NULL)
		return rc;
	t->root = root;
	t->owner = owner;
	t->dir = -1;
	t->seed = hash_seed();
	t->piece = sys_malloc(PIECE);
	if (t->piece != NULL)
		rc = oci_changes_open(&t->changes, &tree);
	if (rc == 0)
		rc = add_node(t, 0, "", 0, true, &id);
	if (rc == 0)
		*out = t;
	else
		pull_tree_close(t);
	return rc;
}

void
pull_tree_close(struct pull_tree *t)
{
	if (t == NULL)
		return;
	if (t->dir >= 0)
		sys_close(t->dir);
	oci_changes_close(t->changes);
	arena_free(&t->arena);
	sys_free(t->nodes);
	sys_free(t->slots);
	sys_free(t->piece);
	sys_free(t);
}

void
pull_tree_counted(const struct pull_tree *t, struct pull_tree_counts *c)
{
	*c = t->counts;
}

/* Attributes */

/* Sets one, or counts that it could not be set. */
static void
set_xattr(struct pull_tree *t, const char *name, const void *value, size_t len)
{
	/* in the lower directory of an overlay, these would give orders */
	bool overlay = strncmp(name, "trusted.overlay.", 16) == 0 ||
	    strncmp(name, "user.overlay.", 13) == 0;
	int rc = overlay ? -EPERM : node_xattr(t->entry_fd, t->entry_dir,
	    t->entry_name, name, value, len);

	if (rc == -ENOTSUP || rc == -EPERM)
		t->counts.attributes++;
	else if (rc != 0 && t->entry_failed == 0) {
		t->entry_failed = rc;
		t->entry_what = "cannot set an extended attribute: ";
	}
}

static bool
set_xattrs(void *arg)
{
	struct pull_tree *t = arg;

	for (size_t i = 0; i < t->entry->xattr_count; i++)
		set_xattr(t, t->entry->xattrs[i].name,
		    t->entry->xattrs[i].value, t->entry->xattrs[i].length);
	return true;
}

static void
status_failed(void *arg, const char *what, int rc)
{
	struct pull_tree *t = arg;

	if (t->entry_failed == 0) {
		t->entry_failed = rc;
		t->entry_what = what;
	}
}

/* Sets the attributes of the open file fd or, if it is -1, of name in dir. */
static int
finish_entry(struct pull_tree *t, int fd, int dir, const char *name)
{
	const struct tar_entry *e = t->entry;
	const struct node_status s = { .mode = tar_type_mode(e->type) | e->mode,
		.size = e->size, .owner = t->owner,
		.uid = (uid_t)e->uid, .gid = (gid_t)e->gid,
		.mtime = { .tv_sec = e->mtime, .tv_nsec = (long)e->mtime_ns },
		.attributes = e->xattr_count > 0 ? set_xattrs : NULL,
		.fail = status_failed, .arg = t };
	int rc;

	t->entry_fd = fd;
	t->entry_dir = dir;
	t->entry_name = name;
	rc = node_finish(fd >= 0 ? fd : dir, fd >= 0 ? NULL : name, &s);
	return rc != 0 ? rc : t->entry_failed;
}

/* Keeps the entry's attributes for its directory. */
static int
keep_attributes(struct pull_tree *t, uint32_t id)
{
	const struct tar_entry *e = t->entry;
	struct dir_attributes *a = t->nodes[id].attributes;

	t->kept_B += sizeof(*a);
	for (size_t i = 0; i < e->xattr_count; i++)
		t->kept_B += sizeof(*a->xattrs) + e->xattrs[i].length +
		    strlen(e->xattrs[i].name);
	if (t->kept_B > KEPT_MAX)
		return -EFBIG;
	if (a == NULL)
		a = arena_take(&t->arena, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	*a = (struct dir_attributes){ .mode = e->mode,
		.uid = (uint32_t)e->uid, .gid = (uint32_t)e->gid,
		.mtime = { .tv_sec = e->mtime, .tv_nsec = (long)e->mtime_ns } };
	t->nodes[id].attributes = a;
	if (e->xattr_count == 0)
		return 0;
	a->xattrs = arena_take(&t->arena, e->xattr_count *
	    sizeof(*a->xattrs));
	if (a->xattrs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < e->xattr_count; i++) {
		struct kept_xattr *x = &a->xattrs[i];

		x->name = arena_copy(&t->arena, e->xattrs[i].name,
		    strlen(e->xattrs[i].name));
		x->value = arena_copy(&t->arena, e->xattrs[i].value,
		    e->xattrs[i].length);
		x->length = e->xattrs[i].length;
		if (x->name == NULL || x->value == NULL)
			return -ENOMEM;
		a->xattr_count++;
	}
	return 0;
}

/* Entries */

static int
write_piece(struct pull_tree *t, struct tar *tar, int fd, uint64_t offset,
    uint64_t len)
{
	ssize_t n = 0;
	int rc = 0;

	for (; len > 0 && rc == 0; len -= (uint64_t)n, offset += (uint64_t)n) {
		n = tar_read(tar, t->piece, len < PIECE ? (size_t)len : PIECE);
		if (n <= 0)
			return n == 0 ? -ENODATA : (int)n;
		rc = fdio_pwrite(fd, t->piece, (size_t)n, (off_t)offset);
	}
	return rc;
}

static int
make_file(struct pull_tree *t, struct tar *tar, int dir, const char *name)
{
	const struct tar_entry *e = t->entry;
	bool sparse = e->extents != NULL;
	int fd, rc = 0;

	if (e->size > INT64_MAX)
		return -EFBIG;
	fd = node_file(dir, name, e->mode, false);
	if (fd < 0)
		return fd;
	if (!sparse)
		rc = write_piece(t, tar, fd, 0, e->size);
	for (size_t i = 0; sparse && rc == 0 && i < e->extent_count; i++)
		rc = write_piece(t, tar, fd, e->extents[i].offset,
		    e->extents[i].length);
	if (rc == 0)
		rc = finish_entry(t, fd, dir, name);
	if (rc == 0)
		return sys_close(fd);
	sys_close(fd);
	return rc;
}

static int
make_special(struct pull_tree *t, int dir, const char *name)
{
	const struct tar_entry *e = t->entry;
	bool fifo = e->type == TAR_FIFO;
	int rc;

	if (!fifo && !t->owner) {
		t->counts.devices++;
		return 0;
	}
	rc = node_special(dir, name, tar_type_mode(e->type), fifo ? 0 :
	    makedev(e->major, e->minor), false);
	/* in a user namespace, root may not create devices */
	if (rc == -EPERM && !fifo) {
		t->counts.devices++;
		return 0;
	}
	return rc != 0 ? rc : finish_entry(t, -1, dir, name);
}

static int
make_link(struct pull_tree *t, int dir, uint32_t parent, const char *name,
    char why[LAYER_WHY])
{
	const struct tar_entry *e = t->entry;
	uint32_t target = OCI_NOWHERE;
	char *path = strcopy(e->link);
	int from, rc;

	if (path == NULL)
		return -ENOMEM;
	if (path_clean(path) == 0)
		target = find_path(t, path);
	sys_free(path);
	if (target == OCI_NOWHERE || t->nodes[target].dir)
		return layer_refuse(why, -EBADMSG, "%.100s: a hard link to "
		    "%.100s, which is no file before it", e->path, e->link);
	if (t->nodes[target].parent == parent)
		return node_link(dir, t->nodes[target].name, dir, name, false);
	/* the directory of the name is opened again, if it was only kept */
	dir = dir == t->root ? dir : sys_dup(dir);
	if (dir < 0)
		return dir;
	from = enter_node(t, t->nodes[target].parent);
	rc = from < 0 ? from : node_link(from, t->nodes[target].name, dir, name,
	    false);
	if (dir != t->root)
		sys_close(dir);
	return rc;
}

/* Finds or makes the directory of a path, and sets *name to the last part. */
static int
make_parents(struct pull_tree *t, const char *path, uint32_t *parent,
    const char **name, char why[LAYER_WHY])
{
	uint32_t at = 0, id;
	int rc, dir;

	for (;;) {
		size_t len = strcspn(path, "/");

		if (len > NAME_MAX)
			return layer_refuse(why, -ENAMETOOLONG, "a name of "
			    "more than 255 bytes");
		if (path[len] == '\0')
			break;
		id = find_node(t, at, path, len);
		if (id != OCI_NOWHERE && !t->nodes[id].dir) {
			if (id >= t->bottom)
				return layer_refuse(why, -EBADMSG, "%.160s: an "
				    "entry below something that is not a "
				    "directory", t->entry->path);
			rc = remove_node(t, id);
			if (rc != 0)
				return rc;
			id = OCI_NOWHERE;
		}
		if (id == OCI_NOWHERE) {
			rc = add_node(t, at, path, len, true, &id);
			if (rc != 0)
				return rc;
			dir = enter_node(t, at);
			rc = dir < 0 ? dir : node_dir(dir, t->nodes[id].name,
			    false);
			if (rc < 0)
				return rc;
		}
		at = id;
		path += len + 1;
	}
	*parent = at;
	*name = path;
	return 0;
}

/* Applies an entry whose path is clean. */
static int
make_entry(struct pull_tree *t, struct tar *tar, const char *path,
    char why[LAYER_WHY])
{
	const struct tar_entry *e = t->entry;
	bool dir = e->type == TAR_DIR;
	uint32_t parent = 0, id = 0, old;
	const char *name = path;
	int fd, rc;

	if (*path == '\0')
		return dir ? keep_attributes(t, 0) : layer_refuse(why,
		    -EBADMSG, "the root is not a directory");
	rc = make_parents(t, path, &parent, &name, why);
	if (rc != 0)
		return rc;
	old = find_node(t, parent, name, strlen(name));
	if (old != OCI_NOWHERE && dir && t->nodes[old].dir) {
		rc = keep_attributes(t, old);
		return rc != 0 ? rc : oci_changes_keep(t->changes, old);
	}
	/* a link to the file that has the name already */
	if (old != OCI_NOWHERE && e->type == TAR_HARDLINK) {
		char *link = strcopy(e->link);
		bool same = link != NULL && path_clean(link) == 0 &&
		    find_path(t, link) == old;

		sys_free(link);
		if (same)
			return oci_changes_keep(t->changes, old);
	}
	if (old != OCI_NOWHERE)
		rc = remove_node(t, old);
	fd = rc != 0 ? rc : enter_node(t, parent);
	if (fd < 0)
		return fd;
	switch (e->type) {
	case TAR_DIR:
		rc = node_dir(fd, name, false);
		rc = rc < 0 ? rc : 0;
		break;
	case TAR_FILE:
		rc = make_file(t, tar, fd, name);
		break;
	case TAR_SYMLINK:
		rc = node_symlink(fd, name, e->link, false);
		if (rc == 0)
			rc = finish_entry(t, -1, fd, name);
		break;
	case TAR_HARDLINK:
		rc = make_link(t, fd, parent, name, why);
		break;
	default:
		rc = make_special(t, fd, name);
	}
	if (rc == 0)
		rc = add_node(t, parent, name, strlen(name), dir, &id);
	if (rc == 0 && dir)
		rc = keep_attributes(t, id);
	return rc != 0 ? rc : oci_changes_keep(t->changes, id);
}

static int
apply_entry(struct pull_tree *t, struct tar *tar, char why[LAYER_WHY])
{
	const struct tar_entry *e = t->entry;
	char *path;
	int rc;

	t->entry_failed = 0;
	if (e->uid >= UINT32_MAX || e->gid >= UINT32_MAX)
		return layer_refuse(why, -EBADMSG, "%.160s: an owner above "
		    "2^32 - 2", e->path);
	if (strlen(e->path) >= PATH_MAX)
		return layer_refuse(why, -ENAMETOOLONG, "a path of more than "
		    "%d bytes", PATH_MAX - 1);
	path = strcopy(e->path);
	if (path == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	if (path_clean(path) != 0) {
		rc = layer_refuse(why, -EBADMSG, "%.160s: a path that contains "
		    "'..'", e->path);
		goto out;
	}
	rc = oci_changes_whiteout(t->changes, path);
	if (rc == 0)
		rc = make_entry(t, tar, path, why);
	else if (rc > 0)
		rc = t->failed;
out:
	sys_free(path);
	if (rc != 0 && *why == '\0')
		layer_refuse(why, rc, "%.160s: %s%s", e->path,
		    t->entry_failed != 0 ? t->entry_what : "", strerror(-rc));
	return rc;
}

int
pull_tree_layer(struct pull_tree *t, struct tar *tar, char why[LAYER_WHY])
{
	struct tar_entry e;
	int rc;

	*why = '\0';
	t->bottom = (uint32_t)t->count;
	oci_changes_layer(t->changes, t->bottom);
	for (;;) {
		rc = tar_next(tar, &e);
		if (rc <= 0)
			break;
		t->counts.entries++;
		t->entry = &e;
		rc = apply_entry(t, tar, why);
		if (rc != 0)
			return rc;
	}
	if (rc < 0)
		layer_refuse(why, rc, "%s", tar_why(tar) != NULL ?
		    tar_why(tar) : strerror(-rc));
	return rc;
}

/* The end */

static int
finish_dir(struct pull_tree *t, uint32_t id, char why[LAYER_WHY])
{
	static const struct dir_attributes implied = { .mode = 0755 };
	const struct dir_attributes *a = t->nodes[id].attributes;
	struct node_status s = { .owner = t->owner, .fail = status_failed,
		.arg = t };
	int fd = enter_node(t, id);

	if (a == NULL)
		a = &implied;
	t->entry_failed = fd < 0 ? fd : 0;
	t->entry_what = "";
	if (fd >= 0) {
		s.mode = S_IFDIR | a->mode;
		s.uid = a->uid;
		s.gid = a->gid;
		s.mtime = a->mtime;
		t->entry_fd = fd;
		for (size_t i = 0; i < a->xattr_count; i++)
			set_xattr(t, a->xattrs[i].name, a->xattrs[i].value,
			    a->xattrs[i].length);
		node_finish(fd, NULL, &s);
	}
	return t->entry_failed == 0 ? 0 : layer_refuse(why, t->entry_failed,
	    "%.160s: %s%s", id == 0 ? "the root" : t->nodes[id].name,
	    t->entry_what, strerror(-t->entry_failed));
}

int
pull_tree_finish(struct pull_tree *t, char why[LAYER_WHY])
{
	int rc = 0;

	/* contents first: then a directory may become inaccessible */
	for (size_t i = t->count; rc == 0 && i-- > 0;)
		if (t->nodes[i].dir && t->nodes[i].parent != OCI_NOWHERE)
			rc = finish_dir(t, (uint32_t)i, why);
	return rc;
}
