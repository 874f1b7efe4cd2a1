/*
 * cas_sweep.c - removing objects that the merged tree does not use
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cas_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All objects, and whether the tree uses them. */
struct sweep {
	const struct cas_object **all;
	bool *live;
	size_t *first;			/* first object of each layer, in
					 * live */
	size_t count;
};

static int
compare(const void *a, const void *b)
{
	const struct cas_object *x = *(struct cas_object *const *)a;
	const struct cas_object *y = *(struct cas_object *const *)b;
	int order = memcmp(x->hash, y->hash, CAS_HASH);

	return order != 0 ? order : x->suffix - y->suffix;
}

static int
start(struct sweep *s, const struct cas *c)
{
	s->first = sys_calloc(c->layer_count + 1, sizeof(*s->first));
	if (s->first == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->layer_count; i++)
		s->first[i + 1] = s->first[i] + c->layers[i]->object_count;
	s->count = s->first[c->layer_count];
	s->all = sys_calloc(s->count + 1, sizeof(*s->all));
	s->live = sys_calloc(s->count + 1, sizeof(*s->live));
	return s->all == NULL || s->live == NULL ? -ENOMEM : 0;
}

static void
mark(struct sweep *s, const struct merge *tree, struct cas_result *r)
{
	size_t nodes = merge_count(tree);

	for (size_t i = 0; i < nodes; i++) {
		const struct merge_node *n = merge_node(tree, (uint32_t)i);

		if (merge_type(n) != TAR_FILE || n->inode != i)
			continue;
		r->files_B += n->entry->size;
		r->chunks += n->entry->run_count > 1 ? n->entry->run_count : 0;
		for (size_t k = 0; k < n->entry->run_count; k++)
			s->live[s->first[n->layer] + n->entry->runs[k].unit] =
			    true;
	}
}

/* Puts the live objects first, sorted and without duplicates. */
static size_t
sort_live(struct sweep *s, const struct cas *c)
{
	size_t n = 0, distinct = 0;

	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++)
			if (s->live[s->first[i] + k])
				s->all[n++] = &c->layers[i]->objects[k];
	qsort(s->all, n, sizeof(*s->all), compare);
	for (size_t i = 0; i < n; i++)
		if (distinct == 0 ||
		    compare(&s->all[distinct - 1], &s->all[i]) != 0)
			s->all[distinct++] = s->all[i];
	return distinct;
}

static int
remove_dead(const struct sweep *s, const struct cas *c, size_t distinct)
{
	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++) {
			const struct cas_object *o = &c->layers[i]->objects[k];
			int rc;

			if (s->live[s->first[i] + k] || bsearch(&o, s->all,
			    distinct, sizeof(*s->all), compare) != NULL)
				continue;
			rc = cas_remove(c, o);
			/* several units may share an object */
			if (rc != 0 && rc != -ENOENT)
				return rc;
		}
	return 0;
}

int
cas_sweep(struct cas *c, const struct merge *tree)
{
	struct sweep s = { .all = NULL };
	int rc = start(&s, c);

	if (rc == 0) {
		size_t distinct;

		mark(&s, tree, c->r);
		distinct = sort_live(&s, c);
		for (size_t i = 0; i < distinct; i++)
			c->r->objects_B += s.all[i]->stored;
		c->r->objects += distinct;
		rc = remove_dead(&s, c, distinct);
	}
	sys_free(s.all);
	sys_free(s.live);
	sys_free(s.first);
	return rc;
}
