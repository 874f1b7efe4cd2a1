/*
 * test_pull_tree.c - layers that cannot be unpacked, or while calls are refused
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "suffers.h"

#include "kinds_made.h"
#include "scratch.h"

#include "pull_tree.h"

#include "base/fdio.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[SCRATCH_B];
static char why[LAYER_WHY];

static int
open_root(void)
{
	int fd;

	OWN((void)mkdir("root", 0700));
	OWN(fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_true(fd >= 0);
	return fd;
}

static void
remove_root(void)
{
	fault_direct++;
	assert_int_equal(scratch_remove("root"), 0);
	fault_direct--;
}

/* Entries, one after the other; PAX is a record of the next. */
struct line {
	char type;
	const char *name, *link, *pax;
};

enum { LINES = 4 };

static void
put_lines(struct archive *a, const struct line *l)
{
	begin(a);
	for (; l->name != NULL; l++) {
		const char *const records[] = { l->pax, NULL };
		uint8_t *h;

		if (l->pax != NULL)
			add_records(a, 'x', records);
		h = add(a, l->type, l->name, "x", l->type == '0');
		if (l->link != NULL)
			strcpy((char *)h + 157, l->link);
		sum(h);
	}
	a->len += 1024;
}

static int
unpack(struct pull_tree *t, struct archive *a)
{
	struct tar *tar = opened(a);
	int rc = pull_tree_layer(t, tar, why);

	tar_close(tar);
	return rc;
}

#define NAME_51 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define NAME_255 NAME_51 NAME_51 NAME_51 NAME_51 NAME_51

static const struct {
	struct line lines[LINES];
	int rc;
	const char *why;
} cases[] = {
	{ { { '0', "a", 0, 0 }, { '1', "b", "a", 0 } }, 0, NULL },
	{ { { '0', "a", 0, 0 }, { '1', "b", "./a", 0 } }, 0, NULL },
	{ { { '1', "b", "a", 0 } }, -EBADMSG, "no file before it" },
	{ { { '5', "d", 0, 0 }, { '1', "b", "d", 0 } }, -EBADMSG,
	    "no file before it" },
	{ { { '5', "d", 0, 0 }, { '1', "d/b", "d", 0 } }, -EBADMSG,
	    "no file before it" },
	{ { { '0', "a", 0, 0 }, { '1', "b", "../a", 0 } }, -EBADMSG,
	    "no file before it" },
	{ { { '2', "s", "a", 0 }, { '1', "b", "s", 0 } }, 0, NULL },
	{ { { '0', "../a", 0, 0 } }, -EBADMSG, "contains '..'" },
	{ { { '0', "d/../a", 0, 0 } }, -EBADMSG, "contains '..'" },
	{ { { '0', "a", 0, "uid=4294967294" } }, 0, NULL },
	{ { { '0', "a", 0, "uid=4294967295" } }, -EBADMSG, "an owner above" },
	{ { { '0', "a", 0, "gid=4294967294" } }, 0, NULL },
	{ { { '0', "a", 0, "gid=4294967295" } }, -EBADMSG, "an owner above" },
	{ { { '0', "a", 0, 0 }, { '0', "a/b", 0, 0 } }, -EBADMSG,
	    "below something that is not" },
	{ { { '2', "s", "d", 0 }, { '0', "s/b", 0, 0 } }, -EBADMSG,
	    "below something that is not" },
	{ { { '0', ".", 0, 0 } }, -EBADMSG, "root is not a directory" },
	{ { { '5', "./", 0, 0 }, { '0', "a", 0, 0 } }, 0, NULL },
	{ { { '0', "a", 0, "path=" NAME_255 } }, 0, NULL },
	{ { { '0', "a", 0, "path=" NAME_255 "n" } }, -ENAMETOOLONG,
	    "more than 255" },
	{ { { '0', "a", 0, "path=" NAME_255 "n/b" } }, -ENAMETOOLONG,
	    "more than 255" },
	{ { { '5', "a", 0, 0 }, { '0', "a", 0, 0 } }, 0, NULL },
	{ { { '5', "a", 0, 0 }, { '0', "a/b", 0, 0 }, { '0', "a", 0, 0 } }, 0,
	    NULL },
	{ { { '0', "a", 0, 0 }, { '5', "a", 0, 0 }, { '0', "a/b", 0, 0 } }, 0,
	    NULL },
	{ { { '5', "d", 0, "SCHILY.xattr.trusted.overlay.opaque=y" } }, 0,
	    NULL },
};

static void
entries(void **state)
{
	struct archive *a = malloc(sizeof(*a));

	(void)state;
	assert_true(fault_plan(""));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int root = open_root(), rc;
		struct pull_tree *t;

		put_lines(a, cases[i].lines);
		assert_int_equal(pull_tree_open(&t, root, false), 0);
		*why = '\0';
		rc = unpack(t, a);
		if (rc == 0)
			rc = pull_tree_finish(t, why);
		if (rc != cases[i].rc || (rc != 0 && strstr(why,
		    cases[i].why) == NULL))
			fail_msg("case %zu, %s: %d, %s", i,
			    cases[i].lines[0].name, rc, why);
		pull_tree_close(t);
		close(root);
		remove_root();
	}
	free(a);
}

/* A path of as many bytes as the kernel takes, or one more */
static void
long_paths(void **state)
{
	struct archive *a = malloc(sizeof(*a));
	char *records = malloc(PATH_MAX + 100), *path = malloc(PATH_MAX + 2);

	(void)state;
	for (int i = 0; i < 4; i++) {
		size_t len = PATH_MAX - 1 + (size_t)(i / 2);
		int root = open_root(), rc;
		struct pull_tree *t;
		uint8_t *h;

		for (size_t k = 0; k < len; k++)
			path[k] = k % 200 == 199 && k + 1 < len ? '/' : 'p';
		begin(a);
		add_pax(a, 'x', records, record(records, "path", path, len));
		h = i % 2 == 0 ? add(a, '0', "a", "x", 1) :
		    add(a, '5', "a", "", 0);
		sum(h);
		a->len += 1024;
		assert_int_equal(pull_tree_open(&t, root, false), 0);
		rc = unpack(t, a);
		if (rc == 0)
			rc = pull_tree_finish(t, why);
		if (len == PATH_MAX) {
			assert_int_equal(rc, -ENAMETOOLONG);
			assert_non_null(strstr(why, "a path of more than"));
		} else {
			assert_int_equal(rc, 0);
		}
		pull_tree_close(t);
		close(root);
		assert_int_equal(system("rm -rf root"), 0);
	}
	free(records);
	free(path);
	free(a);
}

/* While calls are refused */

static void
take_tree(int fd)
{
	struct dirent **names;
	int n = scandirat(fd, ".", &names, NULL, alphasort);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		struct stat st;
		int sub;

		assert_int_equal(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW),
		    0);
		sub = S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) ?
		    openat(fd, name, O_RDONLY | O_CLOEXEC) : -1;
		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			take_text(name);
			take_number(st.st_mode);
			take_number((uint64_t)st.st_mtim.tv_sec);
			take_number(S_ISDIR(st.st_mode) ? 0 : st.st_nlink);
			if (S_ISDIR(st.st_mode))
				take_tree(sub);
			if (S_ISREG(st.st_mode)) {
				static char data[1 << 15];

				take(data, (size_t)read(sub, data,
				    sizeof(data)));
			}
		}
		if (sub >= 0)
			close(sub);
		free(names[i]);
	}
	free(names);
}

static ssize_t
give(void *arg, void *buf, size_t len)
{
	int *fd = arg;
	ssize_t n;

	OWN(n = read(*fd, buf, len));
	return n;
}

/* What the layer above the first removes, and adds. */
static struct archive above;
static int below;

static int
unpack_both(void)
{
	const struct tar_source s = { .read = give, .arg = &below };
	int root = open_root(), rc;
	struct pull_tree_counts counts;
	struct pull_tree *t;
	struct tar *tar = NULL;

	OWN((void)lseek(below, 0, SEEK_SET));
	*why = '\0';
	rc = pull_tree_open(&t, root, false);
	if (rc != 0)
		goto out;
	rc = tar_open(&tar, &s);
	if (rc == 0)
		rc = explained(pull_tree_layer(t, tar, why), why);
	tar_close(tar);
	if (rc == 0) {
		const struct tar_source more = { .read = archive_give,
			.arg = &above };

		above.at = 0;
		rc = tar_open(&tar, &more);
		if (rc == 0) {
			rc = explained(pull_tree_layer(t, tar, why), why);
			tar_close(tar);
		}
	}
	if (rc == 0)
		rc = explained(pull_tree_finish(t, why), why);
	if (rc == 0) {
		pull_tree_counted(t, &counts);
		take_number(counts.entries);
		/* an attribute that cannot be set is counted */
		got.warned = counts.attributes > 0 &&
		    strstr(suffers_run.call, "xattr") != NULL;
		fault_direct++;
		take_tree(root);
		fault_direct--;
	}
	pull_tree_close(t);
out:
	OWN(close(root));
	remove_root();
	return rc;
}

static void
refused(void **state)
{
	static const struct line lines[] = { { '0', "d/.wh.file1", 0, 0 },
		{ '0', "few/.wh..wh..opq", 0, 0 }, { '0', "few/new", 0, 0 },
		{ '5', "d/sub", 0, "SCHILY.xattr.user.b=two" },
		{ '1', "d/sub/link", "d/hard", 0 },
		{ '0', "soft/in", 0, 0 }, { 0, NULL, 0, 0 } };

	(void)state;
	put_lines(&above, lines);
	assert_true(fault_plan(""));
	below = kinds_file(0);
	suffers_run.first = 40;
	suffers_run.turns = 20;
	SUFFERS(unpack_both);
	close(below);
}

/*
 * Long attributes of directories, each of which needs memory of its own, as does
 * what is kept next
 */

enum { LONG = 300 << 10 };

static struct {
	uint8_t p[8 << 20];
	size_t len, at;
} large;

static ssize_t
give_large(void *arg, void *buf, size_t len)
{
	size_t left = large.len - large.at;

	(void)arg;
	len = len < left ? len : left;
	memcpy(buf, large.p + large.at, len);
	large.at += len;
	return (ssize_t)len;
}

static void
put(const void *data, size_t len)
{
	assert_true(len <= sizeof(large.p) - large.len - 512);
	memcpy(large.p + large.len, data, len);
	large.len += (len + 511) / 512 * 512;
}

/* Adds a directory with so many attributes of this length. */
static void
put_dir(const char *name, int count, size_t len)
{
	static char records[4 * LONG], value[LONG];
	struct archive *a = malloc(sizeof(*a));
	size_t n = 0;
	uint8_t *h;

	assert_non_null(a);
	memset(value, 'v', sizeof(value));
	for (int i = 0; i < count; i++) {
		char key[64];

		/* such as are not set */
		snprintf(key, sizeof(key), "SCHILY.xattr.trusted.overlay.%d",
		    i);
		n += record(records + n, key, value, len);
	}
	begin(a);
	h = add(a, 'x', "pax", "", 0);
	set_size(h, (unsigned)n);
	sum(h);
	put(h, 512);
	put(records, n);
	begin(a);
	sum(add(a, '5', name, "", 0));
	put(a->data, a->len);
	free(a);
}

static int
unpack_large(void)
{
	const struct tar_source s = { .read = give_large };
	int root = open_root(), rc;
	struct pull_tree_counts counts;
	struct pull_tree *t = NULL;
	struct tar *tar;

	large.at = 0;
	*why = '\0';
	rc = pull_tree_open(&t, root, false);
	if (rc == 0)
		rc = tar_open(&tar, &s);
	if (rc == 0) {
		rc = explained(pull_tree_layer(t, tar, why), why);
		tar_close(tar);
	}
	if (rc == 0)
		rc = explained(pull_tree_finish(t, why), why);
	if (rc == 0) {
		pull_tree_counted(t, &counts);
		take_number(counts.entries);
		take_number(counts.attributes);
	}
	pull_tree_close(t);
	OWN(close(root));
	remove_root();
	return rc;
}

static void
lengths(void **state)
{
	(void)state;
	put_dir("implied/first", 0, 0);
	put_dir("several", 2, LONG);
	put_dir("implied", 1, 1);
	put_dir("last", 1, LONG);
	put_dir("several", 1, 1);
	put_dir("last", 1, LONG);
	put_dir("both", 2, LONG);
	put_dir("new", 0, 0);
	large.len += 1024;
	suffers_run.first = 1000;
	suffers_kinds = SUFFERS_KIND(MALLOC);
	SUFFERS(unpack_large);
}

static int
begin_all(void **state)
{
	(void)state;
	assert_true(fault_plan(""));
	return scratch_enter(dir);
}

static int
end_all(void **state)
{
	(void)state;
	return chdir("/") != 0 || rmdir(dir) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(long_paths),
		cmocka_unit_test(refused),
		cmocka_unit_test(lengths),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
