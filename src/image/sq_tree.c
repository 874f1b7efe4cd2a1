/*
 * sq_tree.c - the names in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directories wait in a list of their own, so nothing recurs.  A directory
 * has one parent and its list is no other's: one that is met twice is a loop
 * or a bomb and is refused, which bounds the tree by its tables.
 */
#include "sq_walk.h"

#include "sys.h"

#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 4096 };

struct scan {
	struct sq_tree *t;
	const struct squashfs *q;
	sq_damage_fn *damage;
	void *arg;
	uint8_t *seen;			/* a bit for each byte of the inodes */
	uint64_t list_B;		/* of all lists so far */
	struct sq_path path;
};

/* Room for one more of an array that doubles.  0 or -ENOMEM. */
static int
grow(void **array, size_t *cap, size_t count, size_t size)
{
	size_t more = *cap == 0 ? 256 : 2 * *cap;
	void *p;

	if (count < *cap)
		return 0;
	if (more >= SQ_NIL)
		return -ENOMEM;
	p = sys_realloc(*array, more * size);
	if (p == NULL)
		return -ENOMEM;
	*array = p;
	*cap = more;
	return 0;
}

static int
add_dir(struct sq_tree *t, const struct squashfs_entry *e, uint32_t parent)
{
	void *p = t->dirs;
	int rc = grow(&p, &t->dir_cap, t->dir_count, sizeof(*t->dirs));

	t->dirs = p;
	if (rc != 0)
		return rc;
	t->dirs[t->dir_count] = (struct sq_dir){
		.name = e->name, .name_len = e->name_len,
		.parent = parent, .ref = e->ref,
		.depth = t->dir_count == 0 ? 0 : t->dirs[parent].depth + 1,
	};
	t->dir_count++;
	return 0;
}

static int
add_entry(struct sq_tree *t, const struct squashfs_entry *e, uint32_t dir,
    bool bad)
{
	void *p = t->entries;
	int rc = grow(&p, &t->cap, t->count, sizeof(*t->entries));

	t->entries = p;
	if (rc == 0)
		t->entries[t->count++] = (struct sq_entry){
			.name = e->name, .name_len = e->name_len, .dir = dir,
			.ref = e->ref, .next = SQ_NIL,
			.type = (uint8_t)e->type, .bad = bad,
		};
	return rc;
}

static int
path_room(struct sq_path *p, size_t need)
{
	char *s;

	if (need <= p->cap)
		return 0;
	s = sys_realloc(p->s, 2 * need);
	if (s == NULL)
		return -ENOMEM;
	p->s = s;
	p->cap = 2 * need;
	return 0;
}

/* From its end to its beginning, each name with a slash behind it. */
static int
set_dir(const struct sq_tree *t, uint32_t dir, struct sq_path *p)
{
	size_t len = 0;

	for (uint32_t i = dir; i != 0; i = t->dirs[i].parent)
		len += t->dirs[i].name_len + 1;
	if (path_room(p, len + SQUASHFS_NAME_MAX + 2) != 0)
		return -ENOMEM;
	p->dir = dir;
	p->dir_len = len;
	for (uint32_t i = dir; i != 0; i = t->dirs[i].parent) {
		p->s[--len] = '/';
		len -= t->dirs[i].name_len;
		memcpy(p->s + len, t->dirs[i].name, t->dirs[i].name_len);
	}
	return 0;
}

const char *
sq_tree_path(const struct sq_tree *t, const struct sq_entry *e,
    struct sq_path *p)
{
	if ((p->s == NULL || p->dir != e->dir) && set_dir(t, e->dir, p) != 0)
		return NULL;
	memcpy(p->s + p->dir_len, e->name, e->name_len);
	p->s[p->dir_len + e->name_len] = '\0';
	return p->s;
}

const char *
sq_tree_dir_path(const struct sq_tree *t, uint32_t dir, struct sq_path *p)
{
	const struct sq_dir *d = &t->dirs[dir];
	const struct sq_entry e = { .name = d->name, .name_len = d->name_len,
	    .dir = d->parent };

	return sq_tree_path(t, &e, p);
}

/* A directory that is left out has a row, since it has an error. */
static int
refuse(struct scan *s, uint32_t dir, uint64_t offset, const char *reason)
{
	const struct sq_dir *d = &s->t->dirs[dir];
	const struct squashfs_entry e = { .name = d->name,
	    .name_len = d->name_len, .type = SQUASHFS_DIR, .ref = d->ref };
	const char *path = NULL;

	if (dir != 0) {
		path = sq_tree_dir_path(s->t, dir, &s->path);
		if (path == NULL)
			return -ENOMEM;
	}
	s->damage(s->arg, offset, path, reason);
	return dir == 0 ? 0 : add_entry(s->t, &e, d->parent, true);
}

static int
read_list(struct scan *s, uint32_t dir, struct squashfs_dir *list,
    uint64_t at)
{
	struct squashfs_entry e;
	int rc;

	while ((rc = squashfs_dir_next(list, &e)) == 1) {
		if (e.type == SQUASHFS_DIR)
			rc = add_dir(s->t, &e, dir);
		else
			rc = add_entry(s->t, &e, dir, false);
		if (rc != 0)
			return rc;
	}
	if (rc == -EBADMSG)
		return refuse(s, dir, at, "the list of a directory is damaged");
	return rc;
}

static int
read_dir(struct scan *s, uint32_t dir)
{
	uint64_t ref = s->t->dirs[dir].ref;
	uint64_t at = squashfs_inode_at(s->q, ref);
	uint64_t pos = sq_meta_pos(&s->q->inodes, ref >> 16, ref & 0xffff);
	struct squashfs_inode inode;
	struct squashfs_dir list;

	if (squashfs_inode(s->q, ref, &inode) != 0 ||
	    inode.type != SQUASHFS_DIR)
		return refuse(s, dir, at,
		    "the inode of a directory is damaged");
	if (s->seen[pos / 8] & 1 << pos % 8)
		return refuse(s, dir, at, "a directory is in two places");
	s->seen[pos / 8] |= (uint8_t)(1 << pos % 8);
	if (s->t->dirs[dir].depth > DEPTH_MAX)
		return refuse(s, dir, at,
		    "directories are more than 4096 deep");
	at = s->q->dirs.start + inode.dir_block;
	if (squashfs_dir_open(s->q, &inode, &list) != 0)
		return refuse(s, dir, at, "the list of a directory is damaged");
	s->list_B += (uint64_t)(list.end - list.p);
	if (s->list_B > s->q->dirs.len)
		return refuse(s, dir, at, "the lists of directories overlap");
	return read_list(s, dir, &list, at);
}

int
sq_tree_read(struct sq_tree *t, const struct squashfs *q,
    sq_damage_fn *damage, void *arg)
{
	struct scan s = { .t = t, .q = q, .damage = damage, .arg = arg };
	const struct squashfs_entry root = { .name = (const uint8_t *)"",
	    .ref = q->super.root };
	int rc;

	s.seen = sys_calloc(q->inodes.len / 8 + 1, 1);
	if (s.seen == NULL)
		return -ENOMEM;
	rc = add_dir(t, &root, 0);
	for (size_t i = 0; rc == 0 && i < t->dir_count; i++)
		rc = read_dir(&s, (uint32_t)i);
	sys_free(s.seen);
	sys_free(s.path.s);
	return rc;
}

void
sq_tree_free(struct sq_tree *t)
{
	sys_free(t->dirs);
	sys_free(t->entries);
	sys_free(t->datas);
	sys_free(t->fragments);
	sys_free(t->items);
}
