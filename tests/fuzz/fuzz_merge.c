/*
 * fuzz_merge.c - arbitrary names as layers: merging them gives a sound tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the mode.  The rest is a list of entries, separated by
 * newlines: a type ('d', 'f', 'c', or 'h' for a hard link) followed by a path,
 * and for a hard link a tab and its target.  '/' begins the next layer.
 */
#include "lazy/format.h"

#include "base/path.h"
#include "lazy/merge.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LAYERS = 8 };

static void
require(bool holds)
{
	if (!holds)
		abort();
}

static void
add_entry(struct layer *l, char *line)
{
	char *tab = strchr(line, '\t'), why[LAYER_WHY];
	struct layer_entry e = { .path = line + 1, .link = "", .uname = "",
		.gname = "" };

	e.type = *line == 'd' ? TAR_DIR : *line == 'c' ? TAR_CHAR :
	    *line == 'h' ? TAR_HARDLINK : TAR_FILE;
	if (e.type == TAR_HARDLINK && tab != NULL) {
		*tab = '\0';
		e.link = tab + 1;
	}
	/* names that lead out of the layer are refused */
	if (*line != '\0')
		(void)index_entry(&l->index, &e, why);
}

/* Fills in the layers.  Returns the number of layers. */
static size_t
read_layers(char *text, struct layer *layers)
{
	size_t count = 1;

	for (char *line; (line = strsep(&text, "\n")) != NULL; ) {
		if (*line == '/' && count < LAYERS)
			count++;
		else
			add_entry(&layers[count - 1], line);
	}
	for (size_t i = 0; i < count; i++)
		index_finish(&layers[i].index);
	return count;
}

static void
check_children(const struct merge *t, uint32_t dir)
{
	const struct merge_node *n = merge_node(t, dir);
	const char *before = "";
	uint32_t links = 2;

	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t child = merge_child(t, dir, i);
		const struct merge_node *c = merge_node(t, child);

		require(c->parent == dir && child > dir);
		require(strcmp(before, c->name) < 0);
		require(strchr(c->name, '/') == NULL &&
		    !path_is_dots(c->name));
		require(merge_lookup(t, dir, c->name) == (int64_t)child);
		links += merge_type(c) == TAR_DIR;
		before = c->name;
	}
	require(n->links == links);
}

/* Checks that each file has as many links as names. */
static void
check_links(const struct merge *t)
{
	uint32_t *names = calloc(merge_count(t), sizeof(*names));

	require(names != NULL);
	for (uint32_t i = 0; i < merge_count(t); i++)
		names[merge_node(t, i)->inode]++;
	for (uint32_t i = 0; i < merge_count(t); i++)
		if (merge_type(merge_node(t, i)) == TAR_DIR)
			require(names[i] == 1);
		else
			require(merge_node(t, i)->links == names[i]);
	free(names);
}

static void
check_tree(const struct merge *t, enum merge_mode mode)
{
	size_t reached = 1;

	require(merge_type(merge_node(t, MERGE_ROOT)) == TAR_DIR);
	for (uint32_t i = 0; i < merge_count(t); i++) {
		const struct merge_node *n = merge_node(t, i);
		const struct merge_node *inode = merge_node(t, n->inode);

		require(inode->inode == n->inode && inode->entry == n->entry);
		require(mode == MERGE_OVERLAY || (!n->opaque && !n->whiteout));
		require(n->count == 0 || merge_type(n) == TAR_DIR);
		if (merge_type(n) == TAR_DIR)
			check_children(t, i);
		reached += n->count;
	}
	require(reached == merge_count(t));
	check_links(t);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct layer layers[LAYERS] = { 0 }, *all[LAYERS];
	enum merge_mode mode;
	char *text, why[LAYER_WHY];
	struct merge *t;
	size_t count;

	if (size == 0)
		return 0;
	mode = (data[0] & 1) != 0 ? MERGE_OVERLAY : MERGE_MERGED;
	text = strndup((const char *)data + 1, size - 1);
	require(text != NULL);
	count = read_layers(text, layers);
	/* only a single layer is merged for overlayfs */
	count = mode == MERGE_OVERLAY ? 1 : count;
	for (size_t i = 0; i < LAYERS; i++)
		all[i] = &layers[i];
	if (merge_build(&t, all, count, mode, why) == 0) {
		check_tree(t, mode);
		merge_free(t);
	} else {
		require(*why != '\0');
	}
	for (size_t i = 0; i < LAYERS; i++)
		index_free(&layers[i].index);
	free(text);
	return 0;
}
