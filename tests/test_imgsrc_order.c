/*
 * test_imgsrc_order.c - images in which listed files come first
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_made.h"
#include "tar_made.h"

#include <errno.h>
#include <sys/stat.h>

static char dir[SCRATCH_B];
static const char *const names[] = { "a", "b", "c", "d", "sub/e" };

enum { NAMES = sizeof(names) / sizeof(names[0]), LEN = MADE_BLOCK + 10 };

static int
begin_tree(void **state)
{
	static struct archive archive;
	char data[LEN];
	FILE *f;

	(void)state;
	if (scratch_enter(dir) != 0 ||
	    mkdir("tree", 0755) != 0 || mkdir("tree/sub", 0755) != 0 ||
	    chdir("tree") != 0)
		return 1;
	begin(&archive);
	for (size_t i = 0; i < NAMES; i++) {
		memset(data, names[i][0] + (int)i, sizeof(data));
		f = fopen(names[i], "w");
		if (f == NULL || fwrite(data, LEN, 1, f) != 1 ||
		    fclose(f) != 0)
			return 1;
		sum(add(&archive, '0', names[i], data, LEN));
	}
	archive.len += 1024;
	if (chdir("..") != 0)
		return 1;
	f = fopen("tar", "w");
	return f == NULL || fwrite(archive.data, archive.len, 1, f) != 1 ||
	    fclose(f) != 0;
}

static int
end_tree(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

/* Builds an image in the order of a list.  Returns imgsrc_build()'s result. */
static int
build(struct made *m, const struct imgsrc_source *source, const char *list,
    size_t len)
{
	FILE *f = fopen("list", "w");

	assert_non_null(f);
	assert_int_equal(fwrite(list, 1, len, f), len);
	fclose(f);
	made_begin(m, source == &imgsrc_dir ? "tree" : "tar");
	m->image.o.order = "list";
	m->image.o.null_ends = memchr(list, '\0', len) != NULL;
	return made_build(m, source);
}

/* The files' data must be in this order in the image. */
static void
is_order(const struct made *m, const char *const want[NAMES])
{
	char data[LEN];

	for (size_t i = 0; i < NAMES; i++) {
		memset(data, names[i][0] + (int)i, sizeof(data));
		made_content(m, names[i], data, LEN);
		if (i > 0)
			assert_true(made_start(m, want[i - 1]) <
			    made_start(m, want[i]));
	}
}

/* A directory's files are sorted; those of a stream are kept until then. */
static void
paths(void **state)
{
	static const char *const want[] = { "d", "sub/e", "b", "a", "c" };
	static const char list[] = "d\nsub/e\nb\nd\n";
	struct made m;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(build(&m, i == 0 ? &imgsrc_dir : &imgsrc_tar,
		    list, strlen(list)), 0);
		is_order(&m, want);
		assert_string_equal(m.said, "");
		made_end(&m);
	}
	assert_int_equal(build(&m, &imgsrc_dir, "d\0sub/e\0b", 10), 0);
	is_order(&m, want);
	made_end(&m);
}

/* Files with a negative priority come last. */
static void
priorities(void **state)
{
	static const char *const want[] = { "d", "b", "c", "sub/e", "a" };
	static const char list[] = "a -2\nsub -1\nd 5\n";
	struct made m;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(build(&m, i == 0 ? &imgsrc_dir : &imgsrc_tar,
		    list, strlen(list)), 0);
		is_order(&m, want);
		made_end(&m);
	}
}

/* An inode with several names has the rank of the best of them. */
static void
links(void **state)
{
	static const char *const want[] = { "c", "a", "b", "d", "sub/e" };
	static const char list[] = "z\n";
	struct made m;

	(void)state;
	assert_int_equal(link("tree/c", "tree/z"), 0);
	assert_int_equal(build(&m, &imgsrc_dir, list, strlen(list)), 0);
	is_order(&m, want);
	made_end(&m);
	assert_int_equal(unlink("tree/z"), 0);
}

static void
missing(void **state)
{
	static const char some[] = "x\nb\ny\n", none[] = "x\ny\n";
	struct made m;

	(void)state;
	assert_int_equal(build(&m, &imgsrc_dir, some, strlen(some)), 0);
	assert_string_equal(m.said, "N: list: 2 of 3 paths do not name a file "
	    "in the image, for example x\n");
	made_end(&m);
	assert_int_equal(build(&m, &imgsrc_tar, none, strlen(none)), -ENOENT);
	assert_string_equal(m.said, "E: list: none of the paths names a file "
	    "in the image, for example x\n");
	assert_true(m.image.told);
	made_end(&m);
}

static void
errors(void **state)
{
	static const char bad[] = "1\ta\t0\t1\n2\tb\n";
	struct made m;

	(void)state;
	assert_int_equal(build(&m, &imgsrc_dir, bad, strlen(bad)), -EINVAL);
	assert_string_equal(m.said, "E: list: line 2: expected a path, or a "
	    "number, a path, an offset and a length separated by tabs\n");
	made_end(&m);
	made_begin(&m, "tree");
	m.image.o.order = "no list";
	assert_int_equal(made_build(&m, &imgsrc_dir), -ENOENT);
	assert_string_equal(m.said, "E: no list: No such file or directory\n");
	made_end(&m);
	assert_int_equal(build(&m, &imgsrc_repack, "a\n", 2), -EINVAL);
	assert_string_equal(m.said, "E: tar: --order cannot be used with an "
	    "image, which keeps its order\n");
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(priorities),
		cmocka_unit_test(links),
		cmocka_unit_test(missing),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, begin_tree, end_tree);
}
