/*
 * walk_links.c - files with several names, which may be found in any order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk_links.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* Returns the slot of a file in the table, or the slot to insert it at. */
static size_t
slot_of_link(const struct walk_links *l, dev_t dev, ino_t ino)
{
	uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 32) *
	    UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(h >> 20) & (l->table_size - 1);

	while (l->table[i] != 0) {
		const struct walk_link *k = &l->all[l->table[i] - 1];

		if (k->dev == dev && k->ino == ino)
			break;
		i = (i + 1) & (l->table_size - 1);
	}
	return i;
}

/* Grows the table, which is never more than half full. */
static int
grow_table(struct walk_links *l)
{
	size_t size = l->table_size == 0 ? 256 : 2 * l->table_size;
	size_t *table;

	if (l->table_size > 2 * l->count)
		return 0;
	table = sys_calloc(size, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	sys_free(l->table);
	l->table = table;
	l->table_size = size;
	for (size_t i = 0; i < l->count; i++)
		table[slot_of_link(l, l->all[i].dev, l->all[i].ino)] = 1 + i;
	return 0;
}

int
walk_links_join(struct walk_links *l, const struct stat *st, size_t entry,
    size_t *index)
{
	int rc = grow_table(l);
	struct walk_link *k;
	void *items = l->all;
	size_t slot;
	bool first;

	if (rc != 0)
		return rc;
	slot = slot_of_link(l, st->st_dev, st->st_ino);
	first = l->table[slot] == 0;
	if (first) {
		rc = array_grow(&items, l->count, &l->cap, sizeof(*l->all));
		l->all = items;
		if (rc != 0)
			return rc;
		l->all[l->count++] = (struct walk_link){ .dev = st->st_dev,
		    .ino = st->st_ino };
		l->table[slot] = l->count;
	}
	*index = l->table[slot] - 1;
	k = &l->all[*index];
	items = k->entries;
	rc = array_grow(&items, k->count, &k->cap, sizeof(*k->entries));
	k->entries = items;
	if (rc != 0)
		return rc;
	k->entries[k->count++] = entry;
	return first;
}

/* Finds the first name in byte order. */
static int
first_name(const struct tree *t, const struct walk_link *k,
    struct tree_path *least)
{
	struct tree_path p = { NULL, 0 };
	int rc = tree_path(t, &t->entries[k->entries[0]], least);

	for (size_t i = 1; i < k->count && rc == 0; i++) {
		rc = tree_path(t, &t->entries[k->entries[i]], &p);
		if (rc == 0 && strcmp(p.s, least->s) < 0) {
			struct tree_path swap = p;

			p = *least;
			*least = swap;
		}
	}
	sys_free(p.s);
	return rc;
}

int
walk_links_tell(struct walk_links *l, const struct tree *t,
    int (*tell)(void *arg, const struct walk_file *f), void *arg)
{
	struct tree_path least = { NULL, 0 }, p = { NULL, 0 };
	int rc = 0;

	for (size_t i = 0; i < l->count && rc == 0; i++) {
		struct walk_link *k = &l->all[i];

		rc = first_name(t, k, &least);
		for (size_t n = 0; n < k->count && rc == 0; n++) {
			rc = tree_path(t, &t->entries[k->entries[n]], &p);
			if (rc != 0)
				break;
			k->file.path = p.s;
			k->file.duplicate_of = strcmp(p.s, least.s) == 0 ?
			    NULL : least.s;
			rc = tell(arg, &k->file);
			/* the file was read under only one of its names */
			k->file.first_read_ns = -1;
		}
	}
	sys_free(p.s);
	sys_free(least.s);
	return rc;
}

void
walk_links_free(struct walk_links *l)
{
	for (size_t i = 0; i < l->count; i++)
		sys_free(l->all[i].entries);
	sys_free(l->all);
	sys_free(l->table);
}
