/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/merge.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ENTRIES = 32 };

/* Replaces the library's layers. */
struct layer {
	struct layer_entry e[ENTRIES];
	size_t count;
};

const struct layer_entry *
layer_entries(const struct layer *l, size_t *count)
{
	*count = l->count;
	return l->e;
}

/*
 * Entries, separated by blanks: "d:" is a directory, "f:" a file, and
 * "h:NAME=TARGET" a hard link.
 */
static struct layer *
layer_of(const char *text)
{
	struct layer *l = calloc(1, sizeof(*l));
	char *copy = strdup(text), *rest = copy, *item, *link;

	assert_true(l != NULL && copy != NULL);
	while ((item = strsep(&rest, " ")) != NULL) {
		struct layer_entry *e = &l->e[l->count++];

		assert_true(l->count <= ENTRIES);
		e->type = *item == 'd' ? TAR_DIR : *item == 'f' ? TAR_FILE :
		    TAR_HARDLINK;
		link = strchr(item, '=');
		e->link = "";
		if (link != NULL) {
			*link++ = '\0';
			e->link = link;
		}
		e->path = item + 2;
		e->size = l->count;
	}
	return l;
}

/*
 * The text of all entries is one allocation, which begins just before the first
 * path.
 */
static void
layer_free(struct layer *l)
{
	char *copy;

	memcpy(&copy, &l->e[0].path, sizeof(copy));
	free(copy - 2);
	free(l);
}

static void
show(const struct merge *t, uint32_t node, char *path, char *out)
{
	const struct merge_node *n = merge_node(t, node);
	size_t len = strlen(path);

	for (uint32_t i = 0; i < n->count; i++) {
		uint32_t child = merge_child(t, node, i);
		const struct merge_node *c = merge_node(t, child);

		assert_int_equal(c->parent, node);
		assert_int_equal(merge_lookup(t, node, c->name), child);
		sprintf(path + len, "%s%s", len == 0 ? "" : "/", c->name);
		sprintf(out + strlen(out), "%s%s:%u%s ", path, c->whiteout ?
		    "!" : c->opaque ? "*" : merge_type(c) == TAR_DIR ? "/" :
		    "", c->layer, merge_node(t, c->inode)->links == 2 &&
		    merge_type(c) != TAR_DIR ? "+" : "");
		show(t, child, path, out);
	}
	path[len] = '\0';
}

/* Merges layers; NULL ends the list. */
static void
check(enum merge_mode mode, const char *want, ...)
{
	struct layer *layers[8];
	char why[LAYER_WHY], path[256] = "", out[2048] = "";
	const char *text;
	struct merge *t;
	size_t count = 0;
	va_list args;

	va_start(args, want);
	while ((text = va_arg(args, const char *)) != NULL)
		layers[count++] = layer_of(text);
	va_end(args);
	if (merge_build(&t, layers, count, mode, why) == 0) {
		show(t, MERGE_ROOT, path, out);
		merge_free(t);
	} else {
		snprintf(out, sizeof(out), "error: %s", why);
	}
	assert_string_equal(out, want);
	for (size_t i = 0; i < count; i++)
		layer_free(layers[i]);
}

static void
test_names(void **state)
{
	(void)state;
	check(MERGE_MERGED, "a/:0 a/b:0 a/c:0 z:0 ", "d:a f:z f:a/c f:a/b",
	    NULL);
	/* directories without an entry */
	check(MERGE_MERGED, "a/:0 a/b/:0 a/b/c:0 ", "f:a/b/c", NULL);
	/* the last entry for a name wins */
	check(MERGE_MERGED, "a:0 ", "d:a f:a/b f:a", NULL);
	check(MERGE_MERGED, "error: layer 1: a/b: one of its parents is "
	    "not a directory", "f:a f:a/b", NULL);
}

static void
test_layers(void **state)
{
	(void)state;
	check(MERGE_MERGED, "a/:1 a/b:0 a/c:1 ", "d:a f:a/b", "d:a f:a/c",
	    NULL);
	check(MERGE_MERGED, "a:1 ", "d:a f:a/b", "f:a", NULL);
	check(MERGE_MERGED, "a/:0 a/b:1 ", "f:a", "f:a/b", NULL);
}

static void
test_whiteouts(void **state)
{
	(void)state;
	check(MERGE_MERGED, "a/:0 a/c:0 ", "d:a f:a/b f:a/c", "f:a/.wh.b",
	    NULL);
	check(MERGE_MERGED, "b:0 ", "d:a f:a/b f:b", "f:.wh.a f:.wh.none",
	    NULL);
	/* a layer's whiteouts apply before its other entries */
	check(MERGE_MERGED, "a/:1 a/d:1 ", "d:a f:a/b f:a/c",
	    "d:a f:a/d f:a/.wh..wh..opq", NULL);
	check(MERGE_MERGED, "a:1 ", "d:a f:a/b", "f:a f:.wh.a", NULL);
	check(MERGE_MERGED, "x:1 ", "d:a f:a/b f:c",
	    "f:x f:.wh..wh..opq f:.wh..wh..opq", NULL);
	check(MERGE_MERGED, "a/:0 a/b:2 ", "d:a f:a/b", "f:a/.wh.b",
	    "f:a/b", NULL);
}

static void
test_links(void **state)
{
	(void)state;
	check(MERGE_MERGED, "a:0+ b:0+ ", "f:a h:b=a", NULL);
	check(MERGE_MERGED, "a:0+ b:0+ ", "h:b=/a f:a", NULL);
	check(MERGE_MERGED, "a:0+ b:0+ ", "f:a", "h:b=./a", NULL);
	/* the first name is removed, but the file remains */
	check(MERGE_MERGED, "b:0+ c:0+ ", "f:a h:b=a h:c=a", "f:.wh.a", NULL);
	check(MERGE_MERGED, "a:0 ", "f:a h:a=a", NULL);
	check(MERGE_MERGED, "error: layer 1: b: a hard link to a name that "
	    "does not exist", "f:a h:b=c", NULL);
	check(MERGE_MERGED, "error: layer 1: b: a hard link to a directory",
	    "d:a h:b=a", NULL);
}

static void
test_overlay(void **state)
{
	(void)state;
	check(MERGE_OVERLAY, "a/:0 a/b!:0 c*:0 d*:0 ",
	    "d:a f:a/.wh.b d:c f:c/.wh..wh..opq d:d f:.wh.d", NULL);
	/* a directory that comes back without an entry of its own */
	check(MERGE_OVERLAY, "a*:0 a/b:0 ", "f:.wh.a f:a/b", NULL);
	check(MERGE_OVERLAY, "a*:0 a/b!:0 ", "f:.wh.a f:a/.wh.b", NULL);
	check(MERGE_OVERLAY, "a*:0 a/b!:0 ", "f:a/.wh.b f:.wh.a", NULL);
	check(MERGE_OVERLAY, "a!:0 ", "f:.wh.a f:.wh.a", NULL);
	check(MERGE_OVERLAY, "a:0 ", "f:.wh.a f:a", NULL);
	/* refers to a whiteout */
	check(MERGE_OVERLAY, "error: layer 1: b: a hard link to a name that "
	    "does not exist", "f:.wh.a h:b=a", NULL);
}

/* Whiteouts of names that no directory can have, and aufs records */
static void
test_strange_whiteouts(void **state)
{
	static const char strange[] =
	    "f:.wh. f:.wh.. f:.wh... f:d/.wh. f:.wh..wh.plnk f:.wh..wh.aufs";

	(void)state;
	check(MERGE_MERGED, "d/:0 d/x:0 ", "d:d f:d/x", strange, NULL);
	check(MERGE_OVERLAY, "d/:0 ", strange, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_whiteouts),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_strange_whiteouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
