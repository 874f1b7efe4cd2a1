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
#include <string.h>

/* Opening */

static bool
is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

	return *name != '\0' && name[strspn(name, allowed)] == '\0';
}

/* Creates all 256 object directories, as CVMFS does. */
static int
make_directories(const struct cas *c)
{
	char path[CAS_PATH];
	int rc = sys_mkdirat(c->tree.dir, "data", 0755);

	for (unsigned i = 0; rc == 0 && i < 256; i++) {
		snprintf(path, sizeof(path), "data/%02x", i);
		rc = sys_mkdirat(c->tree.dir, path, 0755);
	}
	return rc;
}

static int
start(struct cas *c, const char *path)
{
	int rc = cas_signer_open(&c->signer, c->o, c->why);

	c->slots = pipeline_slots(c->o->threads);
	c->batches = sys_calloc(c->slots, sizeof(*c->batches));
	if (rc == 0 && c->batches == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = digest_algo_open(&c->sha1, "sha1");
	if (rc == 0)
		rc = digest_algo_open(&c->md5, "md5");
	if (rc == 0)
		rc = output_tree_create(&c->tree, path);
	if (rc == 0)
		rc = make_directories(c);
	if (rc == 0)
		rc = cas_writer_open(&c->writer, c);
	return rc != 0 ? rc : cas_write(c->writer, "", 0, &c->empty);
}

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
	struct cas *c = sys_calloc(1, sizeof(*c));
	int rc;

	*why = '\0';
	if (c == NULL)
		return explain(-ENOMEM, why);
	*c = (struct cas){ .o = o, .tree = OUTPUT_TREE_NONE, .why = why };
	rc = is_name(o->name) ? start(c, path) : layer_refuse(why, -EINVAL,
	    "%.120s is not a repository name: only letters, digits, \".\", "
	    "\"-\" and \"_\" are allowed", o->name);
	if (rc != 0)
		cas_close(c);
	else
		*out = c;
	return explain(rc, why);
}

static void
free_layer(struct cas_layer *l)
{
	index_free(&l->l.index);
	sys_free(l->objects);
	sys_free(l);
}

void
cas_close(struct cas *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->layer_count; i++)
		free_layer(c->layers[i]);
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

static int
read_archive(struct cas *c, struct cas_layer *layer, int in)
{
	const struct tar_archive_options o = { .threads = c->o->threads,
		.refuse_empty = c->o->refuse_empty };
	struct cas_cut cut = { .c = c, .layer = layer };
	struct tar_archive a;
	int rc = tar_archive_open(&a, in, &o);

	if (rc == 0) {
		cut.tar = a.tar;
		rc = cas_run(&cut);
	}
	if (rc == 0)
		rc = tar_archive_end(&a);
	if (rc != 0 && *c->why == '\0')
		snprintf(c->why, LAYER_WHY, "%s", tar_archive_why(&a, rc));
	if (rc == 0 && tar_flaw(a.tar) != NULL)
		snprintf(c->why, LAYER_WHY, "%s", tar_flaw(a.tar));
	tar_archive_close(&a);
	index_finish(&layer->l.index);
	return rc;
}

int
cas_add(struct cas *c, int in, char why[LAYER_WHY])
{
	struct cas_layer *layer = sys_calloc(1, sizeof(*layer));
	void *layers = c->layers;
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
	return explain(read_archive(c, layer, in), why);
}

/* The end */

static int
merge(struct cas *c, struct merge **tree)
{
	struct layer **layers = sys_calloc(c->layer_count + 1,
	    sizeof(struct layer *));
	int rc;

	if (layers == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->layer_count; i++)
		layers[i] = &c->layers[i]->l;
	rc = merge_build(tree, layers, c->layer_count, MERGE_MERGED, c->why);
	sys_free(layers);
	return rc;
}

int
cas_finish(struct cas *c, struct cas_result *r, char why[LAYER_WHY])
{
	struct merge *tree = NULL;
	struct cas_nested root;
	int rc;

	*why = '\0';
	*r = (struct cas_result){ .objects = 1, .objects_B = c->empty.stored };
	c->why = why;
	c->r = r;
	rc = merge(c, &tree);
	if (rc == 0) {
		r->entries = merge_count(tree);
		rc = cas_sweep(c, tree);
	}
	if (rc == 0)
		rc = cas_write_catalogs(c, tree, &root);
	if (rc == 0)
		rc = cas_publish(c, &root);
	if (rc == 0)
		rc = sys_syncfs(c->tree.dir);
	if (rc == 0)
		rc = output_tree_commit(&c->tree);
	merge_free(tree);
	return explain(rc, why);
}
