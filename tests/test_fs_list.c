/*
 * test_fs_list.c - order, paths, links, children and errors of a list of files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/hole.h"
#include "base/sys.h"
#include "walk/fs_list.h"

#include "scratch.h"
#include "sys_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { MANY = 700, DEEP = 1500, THREADS = 3, ALLOCATIONS = 200 };

static char dir[SCRATCH_B];

/* What stands between "a" and "a/b", and names that begin alike. */
static const char *const dirs[] = { "a", "a/b", "a/b/c", "a-b", "a\x01",
    "a.x", "a0", "ab", "\xff\xfe", "\xff\xfe/\x80", "same-for-long",
    "same-for-long-1", "same-for-long-1/x", "same-for-long.", "empty",
    "many", "again" };

/* In the order of their paths. */
static const char *const files[] = { "a-b/1", "a.x/z", "a/b/c/f", "a/b/c0",
    "a/link", "a1", "same-for-long-1/f", "same-for-long-1/x/f",
    "same-for-long-2", "same-for-long.-", "z", "\xff\xfe/\x80/\x01" };

static void
put_file(int at, const char *path, off_t size, bool data)
{
	int fd = openat(at, path, O_CREAT | O_WRONLY | O_EXCL, 0640);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	if (data)
		assert_int_equal(pwrite(fd, "x", 1, size - 1), 1);
	close(fd);
}

static int
make_tree(void **state)
{
	const struct timespec times[2] = { { 1, 2 }, { -5, 999999999 } };
	char name[32];
	int at;

	(void)state;
	if (scratch_make(dir) == NULL)
		return 1;
	at = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(at >= 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		assert_int_equal(mkdirat(at, dirs[i], 0750), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put_file(at, files[i], (off_t)i, false);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many/%d-name", i * 37 % MANY);
		put_file(at, name, 1, true);
		snprintf(name, sizeof(name), "again/%d-name", i);
		assert_int_equal(symlinkat("nothing", at, name), 0);
	}
	put_file(at, "hole", 10 << 20, true);
	assert_int_equal(linkat(at, "a/link", at, "z-link", 0), 0);
	assert_int_equal(linkat(at, "a/link", at, "a-b/link", 0), 0);
	assert_int_equal(utimensat(at, "z", times, 0), 0);
	close(at);
	return 0;
}

static int
remove_tree(void **state)
{
	(void)state;
	return scratch_remove(dir);
}

static int
add_root(struct fs_list *l, const char *below)
{
	char path[SCRATCH_B + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, below);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fs_list_add(l, fd, THREADS);
}

/* Returns the item at a path of a root. */
static size_t
find(const struct fs_list *l, unsigned root, const char *path)
{
	struct fs_path p = { .s = NULL };
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].root == root &&
		    strcmp(fs_list_path(l, i, &p), path) == 0)
			found = i;
	free(p.s);
	assert_true(found < l->count);
	return found;
}

/* Items are sorted by path, and each follows its directory. */
static void
check_order(const struct fs_list *l)
{
	struct fs_path p = { .s = NULL }, up = { .s = NULL }, was;
	size_t depth;

	memset(&was, 0, sizeof(was));
	for (size_t i = 0; i < l->count; i++) {
		const struct fs_item *it = &l->items[i];
		const char *path = fs_list_path(l, i, &p), *above;

		depth = p.depth;
		if (it->dir == i) {
			assert_string_equal(path, "");
			assert_int_equal(depth, 0);
		} else {
			char *want;

			assert_true(it->dir < i);
			assert_true(strcmp(was.s, path) < 0);
			above = fs_list_path(l, it->dir, &up);
			assert_int_equal(depth, up.depth + 1);
			assert_true(asprintf(&want, "%s%s%s", above,
			    *above == '\0' ? "" : "/", it->name) > 0);
			assert_string_equal(path, want);
			free(want);
		}
		free(was.s);
		was.s = strdup(path);
	}
	free(was.s);
	free(p.s);
	free(up.s);
}

static void
order(void **state)
{
	struct fs_list l = { .count = 0 };
	const size_t all = 1 + sizeof(dirs) / sizeof(dirs[0]) +
	    sizeof(files) / sizeof(files[0]) + 2 * MANY + 3;
	struct fs_path p = { .s = NULL };
	char **paths;
	size_t at = 0;

	(void)state;
	assert_int_equal(add_root(&l, ""), 0);
	assert_int_equal(l.count, all);
	assert_int_equal(add_root(&l, "a"), 0);
	assert_int_equal(add_root(&l, "empty"), 0);
	assert_int_equal(fs_list_end(&l), 0);
	assert_int_equal(l.count, all + 7);
	check_order(&l);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t next = find(&l, 0, files[i]);

		assert_true(next > at);
		at = next;
		assert_int_equal(l.items[at].size, i);
	}
	/* in any order, and from one root to another */
	paths = calloc(l.count, sizeof(*paths));
	assert_non_null(paths);
	for (size_t i = 0; i < l.count; i++)
		paths[i] = strdup(fs_list_path(&l, i, &p));
	for (size_t i = 0; i < 5 * l.count; i++) {
		size_t k = i * 7919 % l.count;

		assert_string_equal(fs_list_path(&l, k, &p), paths[k]);
	}
	for (size_t i = 0; i < l.count; i++)
		free(paths[i]);
	free(paths);
	free(p.s);
	fs_list_free(&l);
}

static void
links(void **state)
{
	struct fs_list l = { .count = 0 };
	size_t first;

	(void)state;
	assert_int_equal(add_root(&l, "a"), 0);
	assert_int_equal(add_root(&l, ""), 0);
	assert_int_equal(fs_list_end(&l), 0);
	first = find(&l, 0, "link");
	assert_false(l.items[first].again);
	assert_true(fs_item_has_data(&l.items[first]));
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "a/link", "a-b/link",
		    "z-link" };
		const struct fs_item *it = &l.items[find(&l, 1, names[i])];

		assert_true(it->again);
		assert_int_equal(it->first, first);
		assert_int_equal(it->links, 3);
		assert_false(fs_item_has_data(it));
	}
	assert_false(l.items[find(&l, 1, "z")].again);
	fs_list_free(&l);
}

/* Compares what is left of the attributes with what they were. */
static void
attributes(void **state)
{
	struct fs_list l = { .count = 0 };
	struct fs_path p = { .s = NULL };
	struct fs_item big = { .size = 0 };
	struct stat st, was;

	(void)state;
	assert_int_equal(add_root(&l, ""), 0);
	for (size_t i = 0; i < l.count; i++) {
		const char *path = fs_list_path(&l, i, &p);

		assert_int_equal(fstatat(l.roots[0], *path == '\0' ? "." :
		    path, &was, AT_SYMLINK_NOFOLLOW), 0);
		st = fs_item_stat(&l.items[i]);
		assert_true(st.st_dev == was.st_dev);
		assert_true(st.st_ino == was.st_ino);
		assert_int_equal(st.st_mode, was.st_mode);
		assert_int_equal(st.st_nlink, was.st_nlink);
		assert_int_equal(st.st_uid, was.st_uid);
		assert_int_equal(st.st_gid, was.st_gid);
		assert_true(st.st_size == was.st_size);
		assert_true(st.st_mtim.tv_sec == was.st_mtim.tv_sec);
		assert_int_equal(st.st_mtim.tv_nsec, was.st_mtim.tv_nsec);
		assert_int_equal(hole_possible(&st), hole_possible(&was));
	}
	/* three states of blocks, and a device as the kernel encodes it */
	for (int i = 0; i < 4; i++) {
		was.st_size = ((off_t)1 << 40) + 100;
		was.st_blocks = ((off_t)1 << 31) + i - 1;
		was.st_rdev = 0xffffffff;
		fs_item_set(&big, &was);
		st = fs_item_stat(&big);
		assert_true(st.st_size == was.st_size);
		assert_true(st.st_rdev == was.st_rdev);
		assert_int_equal(hole_possible(&st), hole_possible(&was));
		assert_int_equal(st.st_blocks * 512 >= st.st_size,
		    was.st_blocks * 512 >= was.st_size);
	}
	free(p.s);
	fs_list_free(&l);
}

static void
children(void **state)
{
	struct fs_list l = { .with_children = true };
	const uint32_t *of[2];
	size_t n[2], all = 0, up = 0;

	(void)state;
	assert_int_equal(add_root(&l, ""), 0);
	assert_int_equal(add_root(&l, "a"), 0);
	assert_int_equal(fs_list_end(&l), 0);
	for (size_t i = 0; i < l.count; i++) {
		if (!S_ISDIR(l.items[i].mode))
			continue;
		of[0] = fs_list_children(&l, i, &n[0]);
		for (size_t k = 0; k < n[0]; k++) {
			assert_int_equal(l.items[of[0][k]].dir, i);
			for (size_t j = 0; j < k; j++)
				assert_true(of[0][j] != of[0][k]);
		}
		all += n[0];
	}
	assert_int_equal(all, l.count - l.root_count);
	/* the order depends on names alone, and is not that of the names */
	of[0] = fs_list_children(&l, find(&l, 0, "many"), &n[0]);
	of[1] = fs_list_children(&l, find(&l, 0, "again"), &n[1]);
	assert_int_equal(n[0], MANY);
	assert_int_equal(n[1], MANY);
	for (size_t k = 0; k < MANY; k++) {
		assert_string_equal(l.items[of[0][k]].name,
		    l.items[of[1][k]].name);
		up += k > 0 && of[0][k] > of[0][k - 1];
	}
	assert_in_range(up, MANY / 3, MANY * 2 / 3);
	of[0] = fs_list_children(&l, find(&l, 0, "empty"), &n[0]);
	assert_int_equal(n[0], 0);
	fs_list_free(&l);
}

/* What cannot be examined, or read, is an item all the same. */
static void
errors(void **state)
{
	struct fs_list l = { .with_children = true };
	size_t bad = 0, count;

	(void)state;
	assert_true(fault_plan("stat:3:EIO"));
	assert_int_equal(add_root(&l, ""), 0);
	assert_true(fault_plan(""));
	count = l.count;
	for (size_t i = 0; i < l.count; i++)
		if (l.items[i].err != 0) {
			assert_int_equal(l.items[i].err, -EIO);
			assert_false(fs_item_has_data(&l.items[i]));
			bad++;
		}
	assert_int_equal(bad, 1);
	assert_int_equal(fs_list_end(&l), 0);
	check_order(&l);
	fs_list_free(&l);

	/* a directory that cannot be read stands there twice */
	l = (struct fs_list){ .with_children = true };
	assert_true(fault_plan("getdents:1:EACCES"));
	assert_int_equal(add_root(&l, "a"), 0);
	assert_true(fault_plan(""));
	assert_int_equal(l.count, 2);
	assert_int_equal(fs_list_end(&l), 0);
	assert_int_equal(l.items[0].err, 0);
	assert_string_equal(l.items[1].name, ".");
	assert_int_equal(l.items[1].err, -EACCES);
	assert_true(S_ISDIR(l.items[1].mode));
	fs_list_free(&l);
	assert_true(count > 2 * MANY);
}

/* Each allocation fails in turn; some are for threads, which may be fewer. */
static void
no_memory(void **state)
{
	long before = fault_blocks();
	int failed = 0, rc = -1;

	(void)state;
	for (int nth = 1; nth <= ALLOCATIONS; nth++) {
		struct fs_list l = { .with_children = true };
		struct fs_path p = { .s = NULL };
		char plan[32];
		bool marked = false;

		snprintf(plan, sizeof(plan), "malloc:%d:ENOMEM", nth);
		assert_true(fault_plan(plan));
		rc = add_root(&l, "a");
		if (rc == 0)
			rc = add_root(&l, "same-for-long-1");
		if (rc == 0)
			rc = fs_list_end(&l);
		for (size_t i = 0; rc == 0 && i < l.count; i++) {
			/* what a thread had no memory for has an error */
			marked |= l.items[i].err == -ENOMEM;
			if (fs_list_path(&l, i, &p) == NULL)
				rc = -ENOMEM;
		}
		if (marked)
			rc = -ENOMEM;
		assert_true(rc == 0 || rc == -ENOMEM);
		failed += rc != 0;
		assert_true(fault_plan(""));
		sys_free(p.s);
		fs_list_free(&l);
		assert_int_equal(fault_blocks(), before);
	}
	assert_int_equal(rc, 0);
	assert_true(failed > 20);
}

/* A chain of directories whose path is far longer than PATH_MAX. */
static void
deep(void **state)
{
	struct fs_list l = { .with_children = true };
	struct fs_path p = { .s = NULL };
	int at, next;
	size_t n;

	(void)state;
	at = open(dir, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < DEEP; i++) {
		assert_int_equal(mkdirat(at, "directory", 0700), 0);
		next = openat(at, "directory", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	put_file(at, "end", 1, true);
	close(at);
	assert_int_equal(add_root(&l, "directory"), 0);
	assert_int_equal(fs_list_end(&l), 0);
	assert_int_equal(l.count, DEEP + 1);
	for (size_t i = 0; i < l.count; i++)
		assert_int_equal(l.items[i].err, 0);
	check_order(&l);
	n = strlen(fs_list_path(&l, DEEP, &p));
	assert_int_equal(n, (DEEP - 1) * 10 + 3);
	assert_true(n > 3 * PATH_MAX);
	assert_int_equal(p.depth, DEEP);
	assert_string_equal(fs_list_path(&l, 0, &p), "");
	assert_string_equal(fs_list_path(&l, 1, &p), "directory");
	free(p.s);
	fs_list_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(links),
		cmocka_unit_test(attributes),
		cmocka_unit_test(children),
		cmocka_unit_test(errors),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(deep),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
