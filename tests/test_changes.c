/*
 * test_changes.c - whiteouts hide lower layers, whatever their order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "image/oci/changes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { NODES = 32 };

/* A tree as a list of paths: node 0, the root, is "". */
struct toy {
	char path[NODES][32];
	uint32_t parent[NODES];
	uint32_t count;
	struct oci_changes *changes;
};

static uint32_t
parent_of(void *arg, uint32_t node)
{
	const struct toy *t = arg;

	return t->parent[node];
}

static uint32_t
find(void *arg, const char *path)
{
	const struct toy *t = arg;

	for (uint32_t i = 0; i < t->count; i++) {
		uint32_t up = i;

		if (strcmp(t->path[i], path) != 0)
			continue;
		while (up != 0 && up != OCI_NOWHERE)
			up = t->parent[up];
		if (up == 0)
			return i;
	}
	return OCI_NOWHERE;
}

static void
remove_node(void *arg, uint32_t node)
{
	struct toy *t = arg;

	assert_true(node != 0 && t->parent[node] != OCI_NOWHERE);
	t->parent[node] = OCI_NOWHERE;
}

/* Adds a path, with its parents, to the current layer. */
static uint32_t
add(struct toy *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	uint32_t node = find(t, path), up;
	char dir[32];

	if (node == OCI_NOWHERE) {
		snprintf(dir, sizeof(dir), "%.*s", slash == NULL ? 0 :
		    (int)(slash - path), path);
		up = *dir == '\0' ? 0 : add(t, dir);
		node = t->count++;
		assert_true(node < NODES);
		snprintf(t->path[node], sizeof(t->path[node]), "%s", path);
		t->parent[node] = up;
	}
	assert_int_equal(oci_changes_keep(t->changes, node), 0);
	return node;
}

/*
 * Applies layers, separated by "|", of paths, separated by blanks, and compares
 * the paths that remain, in the order in which they were added.
 */
static void
check(const char *layers, const char *want)
{
	struct toy t = { .count = 1 };
	const struct oci_changes_tree tree = { .find = find,
		.parent = parent_of, .remove = remove_node, .arg = &t };
	char copy[256], got[256] = "", *rest = copy, *layer;

	snprintf(copy, sizeof(copy), "%s", layers);
	assert_int_equal(oci_changes_open(&t.changes, &tree), 0);
	while ((layer = strsep(&rest, "|")) != NULL) {
		char *path;

		oci_changes_layer(t.changes, t.count);
		while ((path = strsep(&layer, " ")) != NULL) {
			int rc = oci_changes_whiteout(t.changes, path);

			assert_true(rc == 0 || rc == 1);
			if (rc == 0)
				add(&t, path);
		}
	}
	oci_changes_close(t.changes);
	for (uint32_t i = 1; i < t.count; i++)
		if (find(&t, t.path[i]) == i)
			snprintf(got + strlen(got), sizeof(got) - strlen(got),
			    " %s", t.path[i]);
	assert_string_equal(got, want);
}

static void
test_whiteouts(void **state)
{
	(void)state;
	check("a b/c b/d|.wh.a", " b b/c b/d");
	check("a b/c b/d|b/.wh.c", " a b b/d");
	check("a b/c b/d|.wh.b", " a");
	check("a b/c b/d|b/.wh..wh..opq", " a b");
	check("a b/c|.wh..wh..opq", "");
	check("a|.wh.b c/.wh.a c/.wh..wh..opq", " a");
	/* only names of lower layers, in every later layer */
	check(".wh.a a", " a");
	check("a|.wh.a|a", " a");
	check("a|.wh.a|b|.wh.b|a", " a");
}

/* The order within a layer has no effect. */
static void
test_order(void **state)
{
	(void)state;
	check("b/c b/d|.wh.b b/e", " b b/e");
	check("b/c b/d|b/e .wh.b", " b b/e");
	check("b/c b/d|b/.wh..wh..opq b/e", " b b/e");
	check("b/c b/d|b/e b/.wh..wh..opq", " b b/e");
	check("b/c b/d|b/d b/.wh..wh..opq", " b b/d");
	check("b/c b/d|b/d b/.wh.d", " b b/c b/d");
	/* lower names in directories of both layers */
	check("a/b/c a/b/d a/e|a/b/c .wh.a", " a a/b a/b/c");
	check("a/b/c a/b/d a/e|a/b/c a/.wh..wh..opq .wh.a a/b/.wh.d",
	    " a a/b a/b/c");
}

/* Names that are not whiteouts of anything */
static void
test_names(void **state)
{
	(void)state;
	check("a/b|a/.wh. a/.wh.. a/.wh... a/.wh..wh.plnk", " a a/b");
	check("a/b|a/.wh", " a a/b a/.wh");
	check("a/b|a/.wx.b", " a a/b a/.wx.b");
}

/* Without memory nothing is hidden, and that is said. */
static void
test_no_memory(void **state)
{
	static const char *const paths[] = { "a/.wh.b", "a/.wh..wh..opq" };
	struct toy t = { .count = 1 };
	const struct oci_changes_tree tree = { .find = find,
		.parent = parent_of, .remove = remove_node, .arg = &t };
	long blocks = fault_blocks();

	(void)state;
	assert_true(fault_plan("malloc:1+:ENOMEM"));
	assert_int_equal(oci_changes_open(&t.changes, &tree), -ENOMEM);
	assert_true(fault_plan(""));
	assert_int_equal(oci_changes_open(&t.changes, &tree), 0);
	oci_changes_layer(t.changes, t.count);
	add(&t, "a/b");
	oci_changes_layer(t.changes, t.count);
	for (int i = 0; i < 2; i++) {
		assert_true(fault_plan("malloc:1:ENOMEM"));
		assert_int_equal(oci_changes_whiteout(t.changes, paths[i]),
		    -ENOMEM);
		assert_int_equal(find(&t, "a/b"), 2);
		assert_true(fault_plan(""));
	}
	assert_int_equal(oci_changes_whiteout(t.changes, paths[0]), 1);
	assert_int_equal(find(&t, "a/b"), OCI_NOWHERE);
	oci_changes_close(t.changes);
	assert_int_equal(fault_blocks(), blocks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whiteouts), cmocka_unit_test(test_order),
		cmocka_unit_test(test_names), cmocka_unit_test(test_no_memory)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
