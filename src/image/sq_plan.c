/*
 * sq_plan.c - which data a squashfs image holds, and in what order to read it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files with the same blocks and the same place in the same fragment share
 * their data, as those of one inode do.  A fragment comes after the blocks of
 * all files that end in it, if need be later than its place: whoever reads
 * it then waits only for what is already being read.
 */
#include "sq_walk.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct plan {
	struct sq_tree *t;
	const struct squashfs *q;
	uint32_t *table;		/* hash table: 1 + index of data */
	size_t mask;
	uint64_t seed;			/* that no image can know */
	struct sq_path paths[2];
};

uint32_t
sq_data_tail(const struct squashfs *q, const struct sq_data *d)
{
	if (d->fragment == SQUASHFS_NONE)
		return 0;
	return (uint32_t)(d->size & (q->super.block_B - 1));
}

/* Data that takes room in the image; without it only an inode is shared. */
static bool
is_stored(const struct sq_data *d)
{
	if (d->fragment != SQUASHFS_NONE)
		return true;
	for (uint32_t i = 0; i < d->block_count; i++)
		if (load_le32(d->blocks + 4 * (size_t)i) != 0)
			return true;
	return false;
}

static uint64_t
hash_data(const struct plan *p, const struct sq_data *d)
{
	const uint64_t key[] = { d->block_count > 0 ? d->start : 0, d->size,
	    d->fragment, d->fragment_offset, is_stored(d) ? 0 : d->ref };

	return XXH3_64bits_withSeed(key, sizeof(key), p->seed) ^
	    XXH3_64bits_withSeed(d->blocks, 4 * (size_t)d->block_count,
	    p->seed);
}

static bool
same_data(const struct sq_data *a, const struct sq_data *b)
{
	if (a->ref == b->ref)
		return true;
	return a->size == b->size && a->fragment == b->fragment &&
	    a->fragment_offset == b->fragment_offset &&
	    a->block_count == b->block_count &&
	    (a->block_count == 0 || a->start == b->start) &&
	    memcmp(a->blocks, b->blocks, 4 * (size_t)a->block_count) == 0 &&
	    is_stored(a);
}

/* The entry joins those of d, of which the first by path comes first. */
static int
join(struct plan *p, struct sq_data *d, uint32_t entry)
{
	struct sq_entry *entries = p->t->entries;
	const char *a, *b;

	p->t->links_to_data++;
	a = sq_tree_path(p->t, &entries[d->entry], &p->paths[0]);
	b = sq_tree_path(p->t, &entries[entry], &p->paths[1]);
	if (a == NULL || b == NULL)
		return -ENOMEM;
	if (strcmp(b, a) < 0) {
		entries[entry].next = d->entry;
		d->entry = entry;
	} else {
		entries[d->last].next = entry;
		d->last = entry;
	}
	return 0;
}

static int
add_data(struct plan *p, const struct sq_data *d)
{
	struct sq_tree *t = p->t;
	size_t i = hash_data(p, d) & p->mask;

	for (; p->table[i] != 0; i = (i + 1) & p->mask)
		if (same_data(&t->datas[p->table[i] - 1], d))
			return join(p, &t->datas[p->table[i] - 1], d->entry);
	t->datas[t->data_count++] = *d;
	p->table[i] = (uint32_t)t->data_count;
	t->bytes += d->size;
	return 0;
}

static int
add_file(struct plan *p, uint32_t entry)
{
	struct sq_entry *e = &p->t->entries[entry];
	struct squashfs_inode n;
	struct sq_data d;

	if (squashfs_inode(p->q, e->ref, &n) != 0 ||
	    n.type != SQUASHFS_FILE || n.block_count >= SQ_NIL) {
		e->bad = true;
		return 0;
	}
	d = (struct sq_data){
		.start = n.start, .size = n.size, .blocks = n.blocks,
		.block_count = (uint32_t)n.block_count,
		.fragment = n.fragment, .fragment_offset = n.fragment_offset,
		.entry = entry, .last = entry, .next = SQ_NIL,
		.first_ns = -1, .ref = e->ref,
	};
	/* a fragment that holds nothing of the file is none */
	if (sq_data_tail(p->q, &d) == 0)
		d.fragment = SQUASHFS_NONE;
	if (d.fragment == SQUASHFS_NONE)
		d.fragment_offset = 0;
	return add_data(p, &d);
}

static int
find_data(struct plan *p)
{
	struct sq_tree *t = p->t;
	size_t files = 0, size = 16;
	int rc = 0;

	for (size_t i = 0; i < t->count; i++)
		files += t->entries[i].type == SQUASHFS_FILE;
	while (size < 2 * files)
		size *= 2;
	p->mask = size - 1;
	p->table = sys_calloc(size, sizeof(*p->table));
	t->datas = sys_malloc((files + 1) * sizeof(*t->datas));
	if (p->table == NULL || t->datas == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		if (t->entries[i].type == SQUASHFS_FILE && !t->entries[i].bad)
			rc = add_file(p, (uint32_t)i);
	return rc;
}

/* From the last to the first, so that each list is in order. */
static int
find_fragments(struct sq_tree *t, const struct squashfs *q)
{
	size_t count = q->fragments.len / 16;

	/* a last one for all that do not exist */
	t->fragments = sys_malloc((count + 1) * sizeof(*t->fragments));
	if (t->fragments == NULL)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++)
		t->fragments[i] = SQ_NIL;
	for (size_t i = t->data_count; i-- > 0;) {
		struct sq_data *d = &t->datas[i];
		size_t f = d->fragment < count ? d->fragment : count;

		if (d->fragment == SQUASHFS_NONE)
			continue;
		d->next = t->fragments[f];
		t->fragments[f] = (uint32_t)i;
	}
	return 0;
}

static uint64_t
fragment_key(const struct sq_tree *t, const struct squashfs *q, uint32_t f)
{
	uint64_t key;
	uint32_t size;

	if (squashfs_fragment(q, f, &key, &size) != 0)
		key = 0;
	for (uint32_t i = t->fragments[f]; i != SQ_NIL; i = t->datas[i].next)
		if (t->datas[i].block_count > 0 && t->datas[i].start > key)
			key = t->datas[i].start;
	return key;
}

static int
compare_items(const void *va, const void *vb)
{
	const struct sq_item *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->is_fragment != b->is_fragment)
		return a->is_fragment ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static int
order_items(struct sq_tree *t, const struct squashfs *q)
{
	size_t fragments = q->fragments.len / 16 + 1;

	t->items = sys_malloc((t->data_count + fragments) *
	    sizeof(*t->items));
	if (t->items == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->data_count; i++)
		/* empty data is read as a file of no blocks */
		if (t->datas[i].block_count > 0 || t->datas[i].size == 0)
			t->items[t->item_count++] = (struct sq_item){
			    t->datas[i].size == 0 ? 0 : t->datas[i].start,
			    (uint32_t)i, false };
	for (size_t i = 0; i < fragments; i++)
		if (t->fragments[i] != SQ_NIL)
			t->items[t->item_count++] = (struct sq_item){
			    fragment_key(t, q, (uint32_t)i), (uint32_t)i,
			    true };
	qsort(t->items, t->item_count, sizeof(*t->items), compare_items);
	return 0;
}

int
sq_plan_make(struct sq_tree *t, const struct squashfs *q)
{
	struct plan p = { .t = t, .q = q, .seed = sys_now_ns() };
	int rc = find_data(&p);

	if (rc == 0)
		rc = find_fragments(t, q);
	if (rc == 0)
		rc = order_items(t, q);
	sys_free(p.table);
	sys_free(p.paths[0].s);
	sys_free(p.paths[1].s);
	return rc;
}
