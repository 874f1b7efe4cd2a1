/*
 * sq_names.c - an image's names, sorted
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names are grouped by their directory, each group is sorted, and then the tree
 * is walked depth first.  Each directory has the index of its parent, so no
 * stack is needed.
 */
#include "sq_reader.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Groups of names: those of directory i are at[from[i]..from[i + 1]). */
struct groups {
	uint32_t *at;
	size_t *from;
	size_t *next;			/* one per group, during the walk */
};

static const uint8_t *
name_of(const struct sq_image *m, uint32_t id, size_t *len)
{
	const struct image_dir *d = sq_dir_of(m, id);

	*len = d != NULL ? d->name_len : sq_file_of(m, id)->name_len;
	return d != NULL ? d->name : sq_file_of(m, id)->name;
}

static uint32_t
parent_of(const struct sq_image *m, uint32_t id)
{
	const struct image_dir *d = sq_dir_of(m, id);

	return d != NULL ? d->parent : sq_file_of(m, id)->dir;
}

static int
by_entry_name(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t n, k;
	const uint8_t *s = name_of(arg, x, &n), *t = name_of(arg, y, &k);
	int order = memcmp(s, t, n < k ? n : k);

	if (order != 0 || n != k)
		return order != 0 ? order : n < k ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int
group(struct sq_image *m, struct groups *g)
{
	size_t dirs = m->image.dir_count;

	g->at = sys_malloc(m->count * sizeof(*g->at));
	g->from = sys_calloc(dirs + 2, sizeof(*g->from));
	g->next = sys_malloc(dirs * sizeof(*g->next));
	if (g->at == NULL || g->from == NULL || g->next == NULL)
		return -ENOMEM;
	for (uint32_t id = 1; id < m->count; id++)
		g->from[parent_of(m, id) + (size_t)2]++;
	for (size_t i = 2; i < dirs + 2; i++)
		g->from[i] += g->from[i - 1];
	for (uint32_t id = 1; id < m->count; id++)
		g->at[g->from[parent_of(m, id) + (size_t)1]++] = id;
	for (size_t i = 0; i < dirs; i++) {
		g->next[i] = g->from[i];
		qsort_r(g->at + g->from[i], g->from[i + 1] - g->from[i],
		    sizeof(*g->at), by_entry_name, m);
	}
	return 0;
}

static void
walk_names(struct sq_image *m, struct groups *g)
{
	uint32_t dir = 0, n = 0;

	m->order[n++] = 0;
	m->dir_at[0] = 0;
	for (;;) {
		if (g->next[dir] < g->from[dir + (size_t)1]) {
			uint32_t id = g->at[g->next[dir]++];

			if (sq_dir_of(m, id) != NULL) {
				m->dir_at[id] = n;
				dir = id;
			}
			m->order[n++] = id;
			continue;
		}
		m->dir_end[dir] = n;
		if (dir == 0)
			return;
		dir = m->image.dir[dir].parent;
	}
}

/* Finds the first name of each inode that is not a directory. */
static int
find_first(struct sq_image *m)
{
	size_t slots = 64, i;
	uint32_t *table;		/* numbers; 0, the root, means free */

	while (slots < 2 * m->count)
		slots *= 2;
	table = sys_calloc(slots, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	for (uint32_t n = 0; n < m->count; n++) {
		uint64_t ref;

		m->first[n] = n;
		if (sq_dir_of(m, m->order[n]) != NULL)
			continue;
		ref = sq_file_of(m, m->order[n])->ref;
		i = (size_t)(ref * 0x9e3779b97f4a7c15U >> 32) & (slots - 1);
		while (table[i] != 0 &&
		    sq_file_of(m, m->order[table[i]])->ref != ref)
			i = (i + 1) & (slots - 1);
		if (table[i] == 0)
			table[i] = n;
		m->first[n] = table[i];
	}
	sys_free(table);
	return 0;
}

int
sq_names_make(struct sq_image *m)
{
	struct groups g = { .at = NULL };
	size_t dirs = m->image.dir_count;
	int rc;

	/* file 0 does not exist */
	m->count = dirs + m->image.file_count - 1;
	if (m->count >= UINT32_MAX)
		return -EFBIG;
	rc = image_take(m->image.memory, m->count * 7 * sizeof(uint32_t) +
	    dirs * 3 * sizeof(size_t));
	if (rc != 0)
		return rc;
	m->order = sys_malloc(m->count * sizeof(*m->order));
	m->first = sys_malloc(m->count * sizeof(*m->first));
	m->dir_at = sys_malloc(dirs * sizeof(*m->dir_at));
	m->dir_end = sys_malloc(dirs * sizeof(*m->dir_end));
	if (m->order == NULL || m->first == NULL || m->dir_at == NULL ||
	    m->dir_end == NULL)
		return -ENOMEM;
	rc = group(m, &g);
	if (rc == 0)
		walk_names(m, &g);
	sys_free(g.at);
	sys_free(g.from);
	sys_free(g.next);
	return rc != 0 ? rc : find_first(m);
}

void
sq_names_free(struct sq_image *m)
{
	sys_free(m->order);
	sys_free(m->first);
	sys_free(m->dir_at);
	sys_free(m->dir_end);
}

int
sq_path(const struct sq_image *m, size_t number, char **path, size_t *cap)
{
	uint32_t id = m->order[number];
	size_t len = 1, n;
	char *p = *path;

	for (uint32_t i = id; i != 0; i = parent_of(m, i)) {
		name_of(m, i, &n);
		len += n + 1;
	}
	if (len > *cap) {
		p = sys_realloc(*path, 2 * len);
		if (p == NULL)
			return -ENOMEM;
		*path = p;
		*cap = 2 * len;
	}
	/* no slash before the first name */
	len -= id == 0 ? 1 : 2;
	p[len] = '\0';
	for (uint32_t i = id; i != 0; i = parent_of(m, i)) {
		const uint8_t *name = name_of(m, i, &n);

		len -= n;
		memcpy(p + len, name, n);
		if (len > 0)
			p[--len] = '/';
	}
	return 0;
}
