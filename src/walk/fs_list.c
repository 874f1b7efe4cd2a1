/*
 * fs_list.c - the contents of several directories, by path
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A tree's directories and entries, its nodes, are put in order by their names
 * alone.  Its entries then become items where they are, the items are examined
 * in the order in which the directories were read, which suits the disk, and
 * only then moved to their places.
 */
#include "walk/fs_list.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "walk/walk_trail.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 256,			/* items that a thread examines at a
					 * time */
	ROOT_MOST = (1 << 29) - 1	/* in fs_item.root */
};

#define NOWHERE UINT32_MAX

_Static_assert(sizeof(void *) != 8 || sizeof(struct fs_item) == 72,
    "items are small");

/* The names of a tree; items point to them. */
struct fs_list_text {
	struct fs_list_text *next;
	struct arena names;
};

/* Order */

/*
 * A name in a directory, of a node or, if below is set, of what is in it: in
 * the order of paths, "a-b" is between "a" and "a/b".
 */
struct key {
	uint64_t head;			/* eight bytes, from the first in which
					 * names of the directory differ */
	uint32_t node;
	bool below;
};

/* The nodes of a tree: first its directories, then its entries. */
struct order {
	const struct tree *t;
	uint32_t *place;		/* of each node, or NOWHERE */
	/*
	 * For each directory, its nodes in order, directories twice, and 0,
	 * which stands for the way back.
	 */
	uint32_t *steps;
	size_t *at;			/* next step of each directory */
	struct key *keys;		/* for one directory */
	size_t key_cap;
};

static const char *
node_name(const struct tree *t, size_t node)
{
	return node < t->dir_count ? t->dirs[node].name :
	    t->entries[node - t->dir_count].name;
}

static uint64_t
head_of(const char *name, bool below)
{
	uint64_t head = 0;
	unsigned shift = 56;

	for (; *name != '\0'; name++, shift -= 8) {
		head |= (uint64_t)(uint8_t)*name << shift;
		if (shift == 0)
			return head;
	}
	return below ? head | (uint64_t)'/' << shift : head;
}

static int
by_name(const void *a, const void *b, void *order)
{
	const struct tree *tree = ((const struct order *)order)->t;
	const struct key *x = a, *y = b;
	const char *s, *t;
	uint8_t m, n;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	s = node_name(tree, x->node);
	t = node_name(tree, y->node);
	while (*s == *t && *s != '\0') {
		s++;
		t++;
	}
	m = *s == '\0' && x->below ? '/' : (uint8_t)*s;
	n = *t == '\0' && y->below ? '/' : (uint8_t)*t;
	if (m != n)
		return m < n ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Sorts the steps of a directory. */
static int
sort_steps(struct order *o, uint32_t *steps, size_t count)
{
	void *keys = o->keys;
	const char *one;
	size_t same;
	int rc;

	if (count < 2)
		return 0;
	rc = array_reserve(&keys, count, &o->key_cap, sizeof(*o->keys));
	o->keys = keys;
	if (rc != 0)
		return rc;
	one = node_name(o->t, steps[0]);
	same = strlen(one);
	for (size_t i = 1; i < count && same > 0; i++) {
		const char *name = node_name(o->t, steps[i]);
		size_t n = 0;

		while (n < same && name[n] == one[n])
			n++;
		same = n;
	}
	for (size_t i = 0; i < count; i++) {
		bool below = i > 0 && steps[i] == steps[i - 1];

		o->keys[i] = (struct key){ .node = steps[i], .below = below,
			.head = head_of(node_name(o->t, steps[i]) + same,
			below) };
	}
	qsort_r(o->keys, count, sizeof(*o->keys), by_name, o);
	for (size_t i = 0; i < count; i++)
		steps[i] = o->keys[i].node;
	return 0;
}

/* Goes through the tree, from the root, and gives each node its place. */
static void
place_nodes(struct order *o)
{
	uint32_t dir = 0, next = 1, node;

	for (;;) {
		node = o->steps[o->at[dir]++];
		if (node == 0 && dir == 0)
			break;
		if (node == 0)
			dir = o->t->dirs[dir].parent;
		else if (o->place[node] == NOWHERE)
			o->place[node] = next++;
		else
			dir = node;
	}
}

/*
 * Finds the places of a tree's nodes by path, from 0.  Returns 0 or -ENOMEM;
 * *place must be freed even then.
 */
static int
find_order(const struct tree *t, uint32_t **place)
{
	struct order o = { .t = t };
	size_t nodes = t->dir_count + t->count, from = 0, count;
	int rc = 0;

	o.place = *place = sys_malloc(nodes * sizeof(*o.place));
	o.steps = sys_malloc((nodes + 2 * t->dir_count) * sizeof(*o.steps));
	o.at = sys_calloc(t->dir_count, sizeof(*o.at));
	if (o.place == NULL || o.steps == NULL || o.at == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	memset(o.place + 1, 0xff, (nodes - 1) * sizeof(*o.place));
	o.place[0] = 0;
	for (size_t i = 0; i < t->count; i++)
		o.at[t->entries[i].dir]++;
	for (size_t i = 1; i < t->dir_count; i++)
		o.at[t->dirs[i].parent] += 2;
	for (size_t i = 0; i < t->dir_count; i++) {
		count = o.at[i];
		o.at[i] = from;
		from += count;
		o.steps[from++] = 0;
	}
	for (size_t i = 1; i < t->dir_count; i++) {
		size_t *at = &o.at[t->dirs[i].parent];

		o.steps[(*at)++] = (uint32_t)i;
		o.steps[(*at)++] = (uint32_t)i;
	}
	for (size_t i = 0; i < t->count; i++)
		o.steps[o.at[t->entries[i].dir]++] =
		    (uint32_t)(t->dir_count + i);
	from = 0;
	for (size_t i = 0; rc == 0 && i < t->dir_count; i++) {
		count = o.at[i] - from;
		o.at[i] = from;
		rc = sort_steps(&o, o.steps + from, count);
		from += count + 1;
	}
	if (rc == 0)
		place_nodes(&o);
out:
	sys_free(o.keys);
	sys_free(o.at);
	sys_free(o.steps);
	return rc;
}

/* Items */

void
fs_item_set(struct fs_item *it, const struct stat *st)
{
	it->size = (uint64_t)st->st_size;
	it->ino = st->st_ino;
	it->mtime_s = st->st_mtim.tv_sec;
	it->mtime_ns = (uint32_t)st->st_mtim.tv_nsec;
	it->uid = st->st_uid;
	it->gid = st->st_gid;
	it->links = (uint32_t)st->st_nlink;
	it->dev = (uint32_t)st->st_dev;
	it->rdev = (uint32_t)st->st_rdev;
	it->mode = (uint16_t)st->st_mode;
	it->sparse = hole_possible(st);
	it->dense = (uint64_t)st->st_blocks * 512 >= it->size;
}

struct stat
fs_item_stat(const struct fs_item *it)
{
	struct stat st = { .st_mode = it->mode, .st_nlink = it->links,
		.st_uid = it->uid, .st_gid = it->gid, .st_dev = it->dev,
		.st_ino = it->ino, .st_rdev = it->rdev,
		.st_size = (off_t)it->size };

	st.st_mtim.tv_sec = (time_t)it->mtime_s;
	st.st_mtim.tv_nsec = (long)it->mtime_ns;
	if (!it->sparse)
		st.st_blocks = (blkcnt_t)(it->size / 512 + it->dense);
	return st;
}

bool
fs_item_has_data(const struct fs_item *it)
{
	return it->err == 0 && !it->again && S_ISREG(it->mode) &&
	    it->size > 0;
}

/* The items of a tree's nodes, which threads take in chunks. */
struct examination {
	const struct tree *t;
	int root;
	struct fs_item *items;		/* dir is still as in the tree */
	size_t count;
	atomic_size_t next;
};

static void
examine(void *arg, unsigned thread)
{
	struct examination *e = arg;
	struct walk_trail trail = { .count = 0 };
	struct tree_path p = { NULL, 0 };
	size_t i;

	(void)thread;
	while ((i = atomic_fetch_add(&e->next, CHUNK)) < e->count)
		for (size_t end = i + CHUNK; i < end && i < e->count; i++) {
			struct fs_item *it = &e->items[i];
			const struct tree_entry node = { .name = i == 0 ? "." :
				it->name, .dir = it->dir };
			int rc = tree_path(e->t, &node, &p), dir;
			const char *path = p.s;
			struct stat st;

			if (rc == 0) {
				dir = walk_trail_reach(&trail, e->root, &path);
				rc = dir < 0 ? dir : sys_fstatat(dir, path,
				    &st, AT_SYMLINK_NOFOLLOW |
				    AT_NO_AUTOMOUNT);
			}
			if (rc == 0)
				fs_item_set(it, &st);
			else
				it->err = (int16_t)rc;
		}
	walk_trail_close(&trail);
	sys_free(p.s);
}

static struct fs_item
new_item(const char *name, uint32_t dir, unsigned root)
{
	return (struct fs_item){ .name = name, .dir = dir,
		.root = root & ROOT_MOST };
}

/*
 * Makes items of a tree's nodes, in the same order, and frees its entries as
 * early as possible.
 */
static int
make_items(struct fs_list *l, struct tree *t)
{
	size_t n = t->dir_count + t->count;
	unsigned root = l->root_count - 1;
	struct fs_item *items = sys_realloc(l->items,
	    (l->count + n) * sizeof(*items));
	struct tree_entry e;
	char *from;

	if (items == NULL)
		return -ENOMEM;
	l->items = items;
	items += l->count;
	/* the entries take the place of the first items, the last is next */
	from = (char *)items;
	if (t->count > 0)
		memcpy(from, t->entries, t->count * sizeof(e));
	sys_free(t->entries);
	t->entries = NULL;
	for (size_t i = t->count; i-- > 0;) {
		memcpy(&e, from + i * sizeof(e), sizeof(e));
		items[t->dir_count + i] = new_item(e.name, e.dir, root);
		items[t->dir_count + i].err = e.err;
	}
	for (size_t i = 0; i < t->dir_count; i++)
		items[i] = new_item(t->dirs[i].name, t->dirs[i].parent, root);
	t->count = 0;
	return 0;
}

/* Moves each item to its place, and points it to that of its directory. */
static void
move_items(struct fs_list *l, size_t count, uint32_t *place)
{
	struct fs_item *items = l->items + l->count;

	for (size_t i = 0; i < count; i++)
		items[i].dir = (uint32_t)l->count + place[items[i].dir];
	for (size_t i = 0; i < count; i++) {
		while (place[i] != i) {
			uint32_t to = place[i];
			struct fs_item it = items[to];

			items[to] = items[i];
			items[i] = it;
			place[i] = place[to];
			place[to] = to;
		}
	}
}

int
fs_list_add(struct fs_list *l, int fd, unsigned threads)
{
	int *roots = sys_realloc(l->roots,
	    (l->root_count + 1) * sizeof(*roots));
	struct fs_list_text *x = sys_calloc(1, sizeof(*x));
	struct examination e = { .root = fd };
	struct tree t = { .count = 0 };
	uint32_t *place = NULL;
	size_t chunks;
	int rc;

	if (roots != NULL)
		l->roots = roots;
	if (roots == NULL || x == NULL) {
		sys_close(fd);
		sys_free(x);
		return -ENOMEM;
	}
	l->roots[l->root_count++] = fd;
	x->next = l->text;
	l->text = x;
	rc = tree_scan(&t, fd, threads, NULL);
	e.count = t.dir_count + t.count;
	if (rc == 0 && l->count + e.count >= NOWHERE)
		rc = -EFBIG;
	if (rc == 0)
		rc = find_order(&t, &place);
	if (rc == 0)
		rc = make_items(l, &t);
	if (rc != 0)
		goto out;
	e.t = &t;
	e.items = l->items + l->count;
	atomic_init(&e.next, 0);
	chunks = (e.count + CHUNK - 1) / CHUNK;
	parallel_run(chunks < threads ? (unsigned)chunks : threads, examine,
	    &e);
	move_items(l, e.count, place);
	l->count += e.count;
	x->names = t.names;
	t.names = (struct arena){ .left = 0 };
out:
	sys_free(place);
	tree_free(&t);
	return rc;
}

/* Hard links */

/* Puts hard links next to each other, in item order. */
static int
by_inode(const void *a, const void *b, void *items)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct fs_item *x = (const struct fs_item *)items + m,
	    *y = (const struct fs_item *)items + n;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return m < n ? -1 : m > n;
}

static bool
is_linked(const struct fs_item *it)
{
	return it->err == 0 && it->links > 1 && !S_ISDIR(it->mode);
}

static int
find_links(struct fs_list *l)
{
	size_t n = 0;
	uint32_t *linked;

	for (size_t i = 0; i < l->count; i++)
		n += is_linked(&l->items[i]);
	if (n == 0)
		return 0;
	linked = sys_calloc(n, sizeof(*linked));
	if (linked == NULL)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < l->count; i++)
		if (is_linked(&l->items[i]))
			linked[n++] = (uint32_t)i;
	qsort_r(linked, n, sizeof(*linked), by_inode, l->items);
	for (size_t i = 0, first = 0; i < n; i++) {
		struct fs_item *it = &l->items[linked[i]];
		const struct fs_item *at = &l->items[linked[first]];

		if (it->dev != at->dev || it->ino != at->ino)
			first = i;
		it->again = i != first;
		it->first = linked[first];
	}
	sys_free(linked);
	return 0;
}

/* Children */

/*
 * Computes FNV-1a and mixes its bits, so that the last bytes of a name also
 * affect all bits.
 */
static uint64_t
hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325U;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3U;
	h = (h ^ h >> 31) * 0x9e3779b97f4a7c15U;
	return h ^ h >> 32;
}

/* Compares the high half of a hash, followed by an item's index. */
static int
by_hash(const void *a, const void *b, void *items)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b, m, n;
	const char *s, *t;

	if (x >> 32 != y >> 32)
		return x < y ? -1 : 1;
	s = ((const struct fs_item *)items)[x & UINT32_MAX].name;
	t = ((const struct fs_item *)items)[y & UINT32_MAX].name;
	m = hash_of(s);
	n = hash_of(t);
	return m != n ? m < n ? -1 : 1 : strcmp(s, t);
}

/*
 * Lists the items of each directory in hash order, after their number.  A
 * directory's `first` is where that is.
 */
static int
list_children(struct fs_list *l)
{
	struct fs_item *items = l->items;
	size_t dirs = 0, at = 0, cap = 0;
	void *keys = NULL;
	uint64_t *key;
	int rc = 0;

	for (size_t i = 0; i < l->count; i++)
		if (S_ISDIR(items[i].mode)) {
			items[i].first = 0;
			dirs++;
		}
	if (l->count + dirs >= NOWHERE)
		return -EFBIG;
	l->children = sys_malloc((l->count + dirs + 1) * sizeof(uint32_t));
	if (l->children == NULL)
		return -ENOMEM;
	/* a directory may have been replaced since it was read */
	for (size_t i = 0; i < l->count; i++)
		if (items[i].dir != i && S_ISDIR(items[items[i].dir].mode))
			items[items[i].dir].first++;
	for (size_t i = 0; i < l->count; i++)
		if (S_ISDIR(items[i].mode)) {
			uint32_t n = items[i].first;

			items[i].first = (uint32_t)at;
			l->children[at] = 0;
			at += n + 1;
		}
	for (size_t i = 0; i < l->count; i++)
		if (items[i].dir != i && S_ISDIR(items[items[i].dir].mode)) {
			uint32_t *of = l->children + items[items[i].dir].first;

			of[++*of] = (uint32_t)i;
		}
	for (size_t i = 0; i < l->count; i++) {
		uint32_t *of = l->children + items[i].first;

		if (!S_ISDIR(items[i].mode) || *of == 0)
			continue;
		rc = array_reserve(&keys, *of, &cap, sizeof(*key));
		if (rc != 0)
			break;
		key = keys;
		for (uint32_t k = 0; k < *of; k++)
			key[k] = (hash_of(items[of[1 + k]].name) >> 32 << 32) |
			    of[1 + k];
		qsort_r(key, *of, sizeof(*key), by_hash, items);
		for (uint32_t k = 0; k < *of; k++)
			of[1 + k] = (uint32_t)key[k];
	}
	sys_free(keys);
	return rc;
}

const uint32_t *
fs_list_children(const struct fs_list *l, size_t i, size_t *count)
{
	const uint32_t *of = l->children + l->items[i].first;

	*count = *of;
	return of + 1;
}

int
fs_list_end(struct fs_list *l)
{
	int rc = find_links(l);

	return rc == 0 && l->with_children ? list_children(l) : rc;
}

void
fs_list_free(struct fs_list *l)
{
	while (l->text != NULL) {
		struct fs_list_text *x = l->text;

		l->text = x->next;
		arena_free(&x->names);
		sys_free(x);
	}
	for (unsigned i = 0; i < l->root_count; i++)
		sys_close(l->roots[i]);
	sys_free(l->roots);
	sys_free(l->children);
	sys_free(l->items);
	*l = (struct fs_list){ .items = NULL };
}

/* Paths */

/* Returns 1 + the index of what is above a directory given so; 0: nothing. */
static size_t
above(const struct fs_list *l, size_t dir)
{
	size_t up = l->items[dir - 1].dir + (size_t)1;

	return up == dir ? 0 : up;
}

/* Returns the length of a directory's name in a path. */
static size_t
step_len(const struct fs_list *l, size_t dir)
{
	size_t n = strlen(l->items[dir - 1].name);

	return n == 0 ? 0 : n + 1;
}

const char *
fs_list_path(const struct fs_list *l, size_t i, struct fs_path *p)
{
	const struct fs_item *it = &l->items[i];
	size_t dir = it->dir == i ? 0 : it->dir + (size_t)1, to = dir;
	size_t n = strlen(it->name) + 1, more = 0;
	char *end, *s;

	/* an item follows its directory, so that the later one is left first */
	while (p->dir != to)
		if (p->dir > to) {
			p->len -= step_len(l, p->dir);
			p->dir = above(l, p->dir);
			p->depth--;
		} else {
			more += step_len(l, to);
			to = above(l, to);
			p->depth++;
		}
	if (p->len + more + n > p->cap) {
		size_t cap = 2 * (p->len + more + n) + 256;

		s = sys_realloc(p->s, cap);
		if (s == NULL) {
			*p = (struct fs_path){ .s = p->s, .cap = p->cap };
			return NULL;
		}
		p->s = s;
		p->cap = cap;
	}
	end = p->s + p->len + more;
	memcpy(end, it->name, n);
	p->len += more;
	p->dir = dir;
	for (; dir != to; dir = above(l, dir)) {
		size_t len = step_len(l, dir);

		if (len == 0)
			continue;
		end -= len;
		memcpy(end, l->items[dir - 1].name, len - 1);
		end[len - 1] = '/';
	}
	return p->s;
}
