/*
 * cas.c - writing a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cas_impl.h"

#include "base/array.h"
#include "base/sys.h"
#include "format/tar/tar_archive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Opening */

/* Describes an error in why, unless a clause is already there. */
static int
explain(int rc, char why[LAYER_WHY])
{
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", strerror(-rc));
	return rc;
}

int
cas_open(struct cas **out, const struct cas_options *o, const char *path,
    char why[LAYER_WHY])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	struct cas *c = sys_calloc(1, sizeof(*c));
	char data[CAS_PATH];
	int rc = -ENOMEM;

	*why = '\0';
	if (c == NULL)
		return explain(rc, why);
	*c = (struct cas){ .o = o, .tree = OUTPUT_TREE_NONE, .why = why };
	if (*o->name == '\0' || o->name[strspn(o->name, allowed)] != '\0') {
		rc = layer_refuse(why, -EINVAL, "%.120s is not a repository "
		    "name: only letters, digits, \".\", \"-\" and \"_\" are "
		    "allowed", o->name);
		goto fail;
	}
	rc = cas_signer_open(&c->signer, o, why);
	if (rc != 0)
		goto fail;
	c->slots = pipeline_slots(o->threads);
	c->batches = sys_calloc(c->slots, sizeof(*c->batches));
	if (c->batches == NULL) {
		rc = -ENOMEM;
		goto fail;
	}
	rc = digest_algo_open(&c->sha1, "sha1");
	if (rc == 0)
		rc = digest_algo_open(&c->md5, "md5");
	if (rc == 0)
		rc = output_tree_create(&c->tree, path);
	/* create all 256 object directories, as CVMFS does */
	if (rc == 0)
		rc = sys_mkdirat(c->tree.dir, "data", 0755);
	for (unsigned i = 0; rc == 0 && i < 256; i++) {
		snprintf(data, sizeof(data), "data/%02x", i);
		rc = sys_mkdirat(c->tree.dir, data, 0755);
	}
	if (rc == 0)
		rc = cas_writer_open(&c->writer, c);
	if (rc == 0)
		rc = cas_write(c->writer, "", 0, &c->empty);
	if (rc != 0)
		goto fail;
	*out = c;
	return 0;
fail:
	cas_close(c);
	return explain(rc, why);
}

void
cas_close(struct cas *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->layer_count; i++) {
		index_free(&c->layers[i]->l.index);
		sys_free(c->layers[i]->objects);
		sys_free(c->layers[i]);
	}
	for (size_t i = 0; c->batches != NULL && i < c->slots; i++)
		sys_free(c->batches[i].pieces);
	sys_free(c->layers);
	sys_free(c->batches);
	cas_writer_close(c->writer);
	cas_signer_close(c->signer);
	digest_algo_close(c->sha1);
	digest_algo_close(c->md5);
	output_tree_abort(&c->tree);
	sys_free(c);
}

/* Layers */

int
cas_add(struct cas *c, int in, char why[LAYER_WHY])
{
	const struct tar_archive_options o = { .threads = c->o->threads,
		.refuse_empty = c->o->refuse_empty };
	struct cas_layer *layer = sys_calloc(1, sizeof(*layer));
	struct cas_cut cut = { .c = c, .layer = layer };
	void *layers = c->layers;
	struct tar_archive a;
	int rc = layer == NULL ? -ENOMEM : array_grow(&layers, c->layer_count,
	    &c->layer_cap, sizeof(struct cas_layer *));

	*why = '\0';
	c->why = why;
	c->layers = layers;
	if (rc != 0) {
		sys_free(layer);
		return explain(rc, why);
	}
	c->layers[c->layer_count++] = layer;
	rc = tar_archive_open(&a, in, &o);
	if (rc == 0) {
		cut.tar = a.tar;
		rc = cas_run(&cut);
	}
	if (rc == 0)
		rc = tar_archive_end(&a);
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", tar_archive_why(&a, rc));
	if (rc == 0 && tar_flaw(a.tar) != NULL)
		snprintf(why, LAYER_WHY, "%s", tar_flaw(a.tar));
	tar_archive_close(&a);
	index_finish(&layer->l.index);
	return explain(rc, why);
}

/* The end */

static int
by_hash(const void *a, const void *b)
{
	const struct cas_object *x = *(struct cas_object *const *)a;
	const struct cas_object *y = *(struct cas_object *const *)b;
	int order = memcmp(x->hash, y->hash, CAS_HASH);

	return order != 0 ? order : x->suffix - y->suffix;
}

/*
 * Removes the objects that the tree does not use, and counts the others.
 * live[i] tells whether the tree uses object i of all layers, of which layer k
 * has those from first[k] on.
 */
static int
sweep_objects(struct cas *c, const struct merge *tree)
{
	size_t *first = sys_calloc(c->layer_count + 1, sizeof(*first));
	size_t nodes = merge_count(tree), n = 0, distinct = 0;
	const struct cas_object **all = NULL;
	bool *live = NULL;
	int rc = -ENOMEM;

	if (first == NULL)
		return rc;
	for (size_t i = 0; i < c->layer_count; i++)
		first[i + 1] = first[i] + c->layers[i]->object_count;
	all = sys_calloc(first[c->layer_count] + 1, sizeof(*all));
	live = sys_calloc(first[c->layer_count] + 1, sizeof(*live));
	if (all == NULL || live == NULL)
		goto out;
	for (size_t i = 0; i < nodes; i++) {
		const struct merge_node *node = merge_node(tree, (uint32_t)i);
		const struct layer_entry *e = node->entry;

		if (merge_type(node) != TAR_FILE || node->inode != i)
			continue;
		c->r->files_B += e->size;
		c->r->chunks += e->run_count > 1 ? e->run_count : 0;
		for (size_t k = 0; k < e->run_count; k++)
			live[first[node->layer] + e->runs[k].unit] = true;
	}
	/* the live objects, sorted and without duplicates */
	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++)
			if (live[first[i] + k])
				all[n++] = &c->layers[i]->objects[k];
	qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 0; i < n; i++)
		if (distinct == 0 || by_hash(&all[distinct - 1], &all[i]) != 0)
			all[distinct++] = all[i];
	for (size_t i = 0; i < distinct; i++)
		c->r->objects_B += all[i]->stored;
	c->r->objects += distinct;
	for (size_t i = 0; i < c->layer_count; i++)
		for (size_t k = 0; k < c->layers[i]->object_count; k++) {
			const struct cas_object *o = &c->layers[i]->objects[k];

			if (live[first[i] + k] || bsearch(&o, all, distinct,
			    sizeof(*all), by_hash) != NULL)
				continue;
			rc = cas_remove(c, o);
			/* several units may share an object */
			if (rc != 0 && rc != -ENOENT)
				goto out;
		}
	rc = 0;
out:
	sys_free(all);
	sys_free(live);
	sys_free(first);
	return rc;
}

int
cas_finish(struct cas *c, struct cas_result *r, char why[LAYER_WHY])
{
	struct layer **layers = sys_calloc(c->layer_count + 1,
	    sizeof(struct layer *));
	struct merge *tree = NULL;
	struct cas_nested root;
	int rc = layers == NULL ? -ENOMEM : 0;

	*why = '\0';
	*r = (struct cas_result){ .objects = 1, .objects_B = c->empty.stored };
	c->why = why;
	c->r = r;
	for (size_t i = 0; rc == 0 && i < c->layer_count; i++)
		layers[i] = &c->layers[i]->l;
	if (rc == 0)
		rc = merge_build(&tree, layers, c->layer_count, MERGE_MERGED,
		    why);
	sys_free(layers);
	if (rc != 0)
		goto out;
	r->entries = merge_count(tree);
	rc = sweep_objects(c, tree);
	if (rc == 0)
		rc = cas_write_catalogs(c, tree, &root);
	if (rc == 0)
		rc = cas_publish(c, &root);
	if (rc == 0)
		rc = sys_syncfs(c->tree.dir);
	if (rc == 0)
		rc = output_tree_commit(&c->tree);
out:
	merge_free(tree);
	return explain(rc, why);
}
