/*
 * btrfs_leaves.c - the distribution of items over the leaves of a btrfs tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "btrfs_leaves.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { GROWTH = 64 };			/* items */

struct btrfs_leaf {
	uint32_t used;			/* bytes */
	unsigned count, cap;
	struct btrfs_item *items;
};

/*
 * The position of an item: before the item in this slot, or at the end of the
 * leaf.
 */
struct leaf_place {
	size_t leaf;
	unsigned slot;
};

static bool
is_before(const struct btrfs_item *a, const struct btrfs_item *b)
{
	return a->owner != b->owner ? a->owner < b->owner :
	    a->offset < b->offset;
}

static uint32_t
items_size(const struct btrfs_item *items, unsigned n)
{
	uint32_t size = 0;

	while (n-- > 0)
		size += items[n].size;
	return size;
}

static uint32_t
room_in(const struct btrfs_leaf *l)
{
	return BTRFS_ROOM - l->used;
}

static int
insert_items(struct btrfs_leaf *l, unsigned slot,
    const struct btrfs_item *items, unsigned n)
{
	if (l->count + n > l->cap) {
		unsigned cap = l->count + n + GROWTH;
		struct btrfs_item *p = sys_realloc(l->items,
		    cap * sizeof(*p));

		if (p == NULL)
			return -ENOMEM;
		l->items = p;
		l->cap = cap;
	}
	memmove(l->items + slot + n, l->items + slot,
	    (l->count - slot) * sizeof(*items));
	memcpy(l->items + slot, items, n * sizeof(*items));
	l->count += n;
	l->used += items_size(items, n);
	return 0;
}

static void
remove_items(struct btrfs_leaf *l, unsigned slot, unsigned n)
{
	l->used -= items_size(l->items + slot, n);
	l->count -= n;
	memmove(l->items + slot, l->items + slot + n,
	    (l->count - slot) * sizeof(*l->items));
}

/* Inserts an empty leaf at the given index. */
static int
add_leaf(struct btrfs_leaves *t, size_t at)
{
	struct btrfs_leaf *l = sys_calloc(1, sizeof(*l));
	void *leaves = t->leaves;
	int rc = l == NULL ? -ENOMEM :
	    array_grow(&leaves, t->count, &t->cap, sizeof(*t->leaves));

	t->leaves = leaves;
	if (rc != 0) {
		sys_free(l);
		return rc;
	}
	memmove(t->leaves + at + 1, t->leaves + at,
	    (t->count - at) * sizeof(*t->leaves));
	t->leaves[at] = l;
	t->count++;
	return 0;
}

/*
 * Finds the position of a key.  Returns whether an item with this key exists.
 */
static bool
find_place(const struct btrfs_leaves *t, const struct btrfs_item *key,
    struct leaf_place *p)
{
	size_t lo = 0, hi = t->count;
	const struct btrfs_leaf *l;
	unsigned from = 0, to;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (is_before(key, t->leaves[mid]->items))
			hi = mid;
		else
			lo = mid;
	}
	l = t->leaves[lo];
	for (to = l->count; from < to;) {
		unsigned mid = from + (to - from) / 2;

		if (is_before(l->items + mid, key))
			from = mid + 1;
		else
			to = mid;
	}
	*p = (struct leaf_place){ .leaf = lo, .slot = from };
	return from < l->count && !is_before(key, l->items + from);
}

/*
 * Returns how many items at one end of a leaf fit into `left' bytes of its
 * neighbour: from the last item down to item `last' (step -1), or from the
 * first item up to `last' (step 1).  At slot, where `need' bytes are needed,
 * counting continues only if the neighbour has more room left than this leaf.
 */
static unsigned
count_pushed(const struct btrfs_leaf *l, unsigned slot, uint32_t need,
    uint32_t left, int step, unsigned last)
{
	unsigned at = step < 0 ? l->count - 1 : 0, n = 0;
	uint32_t pushed = 0;

	for (;; at = step < 0 ? at - 1 : at + 1) {
		if (n > 0 && (step < 0 ? slot > at : slot < at))
			break;
		if (n > 0 && slot == at && room_in(l) + 2 * pushed > left)
			break;
		pushed += slot == at ? need : 0;
		if (l->items[at].size + pushed > left)
			break;
		pushed += l->items[at].size;
		n++;
		if (at == last)
			break;
	}
	return n;
}

/*
 * Pushes the items after the first `keep' to the next leaf, if that has `need'
 * bytes of room.  Returns 1 if items were pushed, 0 if not, or -ENOMEM.
 */
static int
push_right(struct btrfs_leaves *t, struct leaf_place *p, uint32_t need,
    unsigned keep)
{
	struct btrfs_leaf *l = t->leaves[p->leaf], *next;
	unsigned n;

	if (p->leaf + 1 == t->count || need > room_in(t->leaves[p->leaf + 1]))
		return 0;
	next = t->leaves[p->leaf + 1];
	if (p->slot == l->count) {
		*p = (struct leaf_place){ .leaf = p->leaf + 1 };
		return 1;
	}
	keep = keep > 1 ? keep : 1;
	n = keep >= l->count ? 0 :
	    count_pushed(l, p->slot, need, room_in(next), -1, keep);
	if (n == 0)
		return 0;
	if (insert_items(next, 0, l->items + l->count - n, n) != 0)
		return -ENOMEM;
	remove_items(l, l->count - n, n);
	if (p->slot >= l->count)
		*p = (struct leaf_place){ .leaf = p->leaf + 1,
		    .slot = p->slot - l->count };
	return 1;
}

/* Likewise pushes up to `most' items to the previous leaf. */
static int
push_left(struct btrfs_leaves *t, struct leaf_place *p, uint32_t need,
    unsigned most)
{
	struct btrfs_leaf *l = t->leaves[p->leaf], *prev;
	unsigned n, was;

	if (p->leaf == 0 || need > room_in(t->leaves[p->leaf - 1]))
		return 0;
	prev = t->leaves[p->leaf - 1];
	was = prev->count;
	most = most < l->count - 1 ? most : l->count - 1;
	n = most == 0 ? 0 :
	    count_pushed(l, p->slot, need, room_in(prev), 1, most - 1);
	if (n == 0)
		return 0;
	if (insert_items(prev, was, l->items, n) != 0)
		return -ENOMEM;
	remove_items(l, 0, n);
	if (p->slot < n)
		*p = (struct leaf_place){ .leaf = p->leaf - 1,
		    .slot = p->slot + was };
	else
		p->slot -= n;
	return 1;
}

/*
 * Returns how many bytes pushing must free.  at_end is set if p is at that end
 * of its leaf.
 */
static uint32_t
lacking(const struct btrfs_leaves *t, const struct leaf_place *p, uint32_t need,
    bool at_end)
{
	return at_end ? need : need - room_in(t->leaves[p->leaf]);
}

static bool
has_room(const struct btrfs_leaves *t, const struct leaf_place *p,
    uint32_t need)
{
	return room_in(t->leaves[p->leaf]) >= need;
}

static bool
is_at_end(const struct btrfs_leaves *t, const struct leaf_place *p)
{
	return p->slot == t->leaves[p->leaf]->count;
}

enum { EMPTY_LEAF = -1, TWICE = -2 };

/*
 * Returns the item before which to split a leaf, in the middle or at slot;
 * EMPTY_LEAF if the new item gets a separate leaf; TWICE if two splits are
 * needed.
 */
static int
split_at(const struct btrfs_leaf *l, unsigned slot, uint32_t need, bool grows)
{
	unsigned mid = (l->count + 1) / 2;
	bool left = mid > slot;

	if (l->count > 1 && need + (left ? items_size(l->items, mid) :
	    items_size(l->items + mid, l->count - mid)) <= BTRFS_ROOM)
		return (int)mid;
	if (left && slot == 0)
		return grows ? 1 : EMPTY_LEAF;
	if (slot == l->count)
		return EMPTY_LEAF;
	if (items_size(l->items + slot, l->count - slot) + need > BTRFS_ROOM)
		return TWICE;
	return (int)slot;
}

/* Splits p's leaf before item mid. */
static int
split_leaf(struct btrfs_leaves *t, struct leaf_place *p, unsigned mid)
{
	struct btrfs_leaf *l;
	int rc = add_leaf(t, p->leaf + 1);

	if (rc != 0)
		return rc;
	l = t->leaves[p->leaf];
	rc = insert_items(t->leaves[p->leaf + 1], 0, l->items + mid,
	    l->count - mid);
	if (rc != 0)
		return rc;
	remove_items(l, mid, l->count - mid);
	if (p->slot >= mid)
		*p = (struct leaf_place){ .leaf = p->leaf + 1,
		    .slot = p->slot - mid };
	return 0;
}

/*
 * Makes `need' bytes of room at p.  grows is set if they are for the existing
 * item.
 */
static int
make_leaf_room(struct btrfs_leaves *t, struct leaf_place *p, uint32_t need,
    bool grows)
{
	bool pushed = false;
	int rc;

	if (has_room(t, p, need))
		return 0;
	/* push to one neighbour */
	rc = push_right(t, p, lacking(t, p, need, is_at_end(t, p)), 0);
	if (rc == 0)
		rc = push_left(t, p, lacking(t, p, need, p->slot == 0),
		    UINT32_MAX);
	while (rc >= 0 && !has_room(t, p, need)) {
		int mid = split_at(t->leaves[p->leaf], p->slot, need, grows);

		if (mid == EMPTY_LEAF) {
			if (p->slot > 0)
				*p = (struct leaf_place){ .leaf = p->leaf + 1 };
			rc = add_leaf(t, p->leaf);
		} else if (mid == TWICE && !pushed) {
			/* move p to an end, by pushing to both neighbours */
			pushed = true;
			rc = push_right(t, p, lacking(t, p, need,
			    is_at_end(t, p)), p->slot);
			if (rc >= 0 && p->slot != 0 && !is_at_end(t, p) &&
			    !has_room(t, p, need))
				rc = push_left(t, p, lacking(t, p, need,
				    false), p->slot);
		} else {
			rc = split_leaf(t, p, mid == TWICE ? p->slot :
			    (unsigned)mid);
		}
	}
	return rc < 0 ? rc : 0;
}

int
btrfs_leaves_add(struct btrfs_leaves *t, const struct btrfs_item *items,
    unsigned n)
{
	struct leaf_place p;
	int rc = t->count > 0 ? 0 : add_leaf(t, 0);

	if (rc != 0)
		return rc;
	find_place(t, items, &p);
	rc = make_leaf_room(t, &p, items_size(items, n), false);
	return rc != 0 ? rc : insert_items(t->leaves[p.leaf], p.slot, items, n);
}

int
btrfs_leaves_grow(struct btrfs_leaves *t, const struct btrfs_item *item)
{
	struct btrfs_leaf *l;
	struct leaf_place p;
	int rc;

	if (t->count == 0 || !find_place(t, item, &p))
		return -ENOENT;
	if (t->leaves[p.leaf]->items[p.slot].size + item->size > BTRFS_ROOM)
		return -EOVERFLOW;
	rc = make_leaf_room(t, &p, item->size, true);
	if (rc != 0)
		return rc;
	l = t->leaves[p.leaf];
	l->items[p.slot].size += item->size;
	l->used += item->size;
	return 0;
}

void
btrfs_leaves_free(struct btrfs_leaves *t)
{
	for (size_t i = 0; i < t->count; i++) {
		sys_free(t->leaves[i]->items);
		sys_free(t->leaves[i]);
	}
	sys_free(t->leaves);
	*t = (struct btrfs_leaves){ .count = 0 };
}
