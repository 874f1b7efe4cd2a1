/*
 * test_walk_refused.c - walks, orders and extractions whose calls are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of a run fails in turn: the run must report
 * that, or give the same rows as ever, and free and close what it has.
 */
#include "suffers.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "scratch.h"
#include "walk/extract.h"
#include "walk/walk.h"
#include "walk/walk_order.h"
#include "walk/walk_trail.h"
#include "walk/walk_tree.h"

#include <limits.h>
#include <sys/stat.h>

enum { BIG = 3 << 19, DEEP = 4, ROWS = 16, ROW_B = 2048 };

static char dir[SCRATCH_B];
static const char *root = "tree", *const *only;

/* The error of a row that is not that of the call that was refused. */
static int odd;

static char rows[ROWS][ROW_B];
static size_t row_count;

static int
take_row(void *arg, const struct walk_file *f)
{
	const struct refusal *r = suffers_run.refusal;
	const char *name = r == NULL ? NULL : strchr(r->what, 'E');
	char *row = rows[row_count], hex[3];

	if (f->err != 0 && name != NULL && r->kind != FAULT_LIBRARY &&
	    r->kind != FAULT_STAT && strcmp(strerrorname_np(-f->err), name) != 0)
		odd = f->err;
	assert_true(row_count++ < ROWS);
	(void)arg;
	snprintf(row, ROW_B, "%s %d %d %d ", f->path, (int)f->type,
	    (int)f->size, f->err);
	for (unsigned i = 0; i < f->digest_len; i++) {
		snprintf(hex, sizeof(hex), "%02x", f->digest[i]);
		strcat(row, hex);
	}
	if (f->duplicate_of != NULL)
		strcat(strcat(row, " is "), f->duplicate_of);
	return 0;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What cannot be examined is counted as empty. */
static void
plan(void *arg, uint64_t files, uint64_t bytes)
{
	(void)arg;
	take_number(files);
	assert_true(bytes <= BIG + 8);
}

static int
walk(void)
{
	struct digest_algo *algo;
	struct walk_result r;
	int rc = digest_algo_open(&algo, "sha256");
	struct walk_options o = { .threads = 1, .row = take_row,
		.plan = plan };
	int fd;

	row_count = 0;
	if (rc != 0)
		return rc;
	if (only != NULL) {
		o.only = only;
		o.only_count = 2;
	}
	o.digest = algo;
	OWN(fd = open(root, O_RDONLY | O_CLOEXEC));
	assert_true(fd >= 0);
	rc = walk_dir(fd, root, &o, &r);
	OWN(close(fd));
	digest_algo_close(algo);
	if (odd != 0)
		fail_msg("%s: %d", suffers_run.call, odd);
	qsort(rows, row_count, ROW_B, by_text);
	for (size_t i = 0; i < row_count; i++)
		take_text(rows[i]);
	take_number(r.files);
	take_number(r.dirs);
	take_number(r.links);
	take_number(r.bytes);
	take_number(r.read_B);
	take_number(r.duplicates);
	got.warned |= r.errors > 0;
	return rc;
}

static void
walking(void **state)
{
	static const char *const some[] = { "big", "sub/two" };

	(void)state;
	suffers("a tree", walk);
	only = some;
	suffers("two files", walk);
	only = NULL;
	root = "tree/big";
	suffers("a file", walk);
	root = "tree";
}

/* Without memory, it does not matter that the scan was canceled, too. */
static void
canceled(void **state)
{
	atomic_bool cancel = true;
	int fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	unsigned k = 0;

	(void)state;
	assert_true(fd >= 0);
	do {
		struct tree t;
		char call[32];

		snprintf(call, sizeof(call), "malloc:%u:ENOMEM", ++k);
		assert_true(fault_plan(call));
		rc = tree_scan(&t, fd, 1, &cancel);
		assert_true(fault_plan(""));
		tree_free(&t);
		assert_true(rc == -ENOMEM || rc == -ECANCELED);
	} while (rc == -ENOMEM);
	assert_true(k > 3);
	close(fd);
}

static const char *order_text;
static bool order_nul;

static int
read_order(void)
{
	static const char *const paths[] = { "a", "b/c", "d e", "none" };
	size_t len = strlen(order_text), line;
	char *text = sys_malloc(len + 1);
	struct walk_order *o;
	struct walk_touch t;
	int rc;

	if (text == NULL)
		return -ENOMEM;
	memcpy(text, order_text, len + 1);
	for (size_t i = 0; order_nul && i < len; i++)
		if (text[i] == '\n')
			text[i] = '\0';
	rc = walk_order_read(&o, text, len, order_nul, &line);
	if (rc != 0)
		return rc;
	for (unsigned i = 0; i < 4; i++)
		take_number(walk_order_rank(o, paths[i]));
	for (size_t i = 0; walk_order_touch(o, i, &t); i++) {
		take_text(t.path);
		take_number(t.offset);
		take_number(t.length);
	}
	take_number(walk_order_count(o));
	take_number(walk_order_found(o));
	walk_order_free(o);
	return 0;
}

static void
orders(void **state)
{
	static const struct {
		const char *name, *text;
		bool nul;
	} forms[] = {
		{ "paths", "# c\nd e\n./b//c\nx\nd e\n", false },
		{ "paths with NUL", "#\nd e\nb/c\n", true },
		{ "touches", "order\tpath\toffset_B\tlength_B\n7\tb/c\t0\t5\n"
		    "2\ta\t100\t9\n", false },
		{ "priorities", "d\\ e 5\nb/c -7\na 32767\n", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		order_text = forms[i].text;
		order_nul = forms[i].nul;
		suffers(forms[i].name, read_order);
	}
}

/* Entries to be extracted; the text is a file's data or a link's target. */
static const struct entry {
	const char *path;
	mode_t mode;
	size_t parent, file;
	const char *text;
} entries[] = {
	{ "d", S_IFDIR | 0750, EXTRACT_NONE, 0, NULL },
	{ "d/e", S_IFDIR | 0700, 0, 1, NULL },
	{ "d/e/one", S_IFREG | 0640, 1, 2, "the data of a file" },
	{ "d/two", S_IFREG | 0600, 0, 3, "that of another" },
	{ "d/none", S_IFREG | 0604, 0, 4, "" },
	{ "link", S_IFLNK | 0777, EXTRACT_NONE, 5, "d/e/one" },
	{ "hard", S_IFREG | 0640, EXTRACT_NONE, 2, NULL },
	{ "fifo", S_IFIFO | 0666, EXTRACT_NONE, 7, NULL },
	{ "not/an/entry/f", S_IFREG | 0600, EXTRACT_NONE, 8, "deep" },
};

enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static bool
get_entry(void *arg, size_t n, struct extract_entry *out)
{
	const struct entry *e = &entries[n];
	size_t len = e->text == NULL ? 0 : strlen(e->text);

	(void)arg;
	*out = (struct extract_entry){ .mode = e->mode, .parent = e->parent,
		.file = e->file, .mtime = { 86400, 5 }, .size = len,
		.target = e->text, .target_len = len };
	return true;
}

static const char *
path_of(void *arg, size_t n, struct extract_text *text)
{
	(void)arg;
	(void)text;
	return entries[n].path;
}

static void
hear(void *arg, enum extract_level level, const char *path, const char *text)
{
	(void)arg;
	(void)level;
	(void)path;
	assert_true(*text != '\0');
	got.warned = true;
}

/* Two pieces of the first file, one of the others. */
static void
write_data(void *arg, struct extract *x)
{
	struct extract_place p;

	(void)arg;
	extract_place_open(&p, x);
	for (size_t n = 0; n < ENTRIES && !extract_ended(x); n++) {
		size_t len = entries[n].text == NULL ||
		    !S_ISREG(entries[n].mode) ? 0 : strlen(entries[n].text);
		size_t step = n == 2 ? len / 2 : len;

		for (size_t at = 0; at < len; at += step) {
			int fd = extract_file_open(&p, n);

			if (fd >= 0)
				extract_file_close(&p, fd, n, fdio_pwrite(fd,
				    entries[n].text + at, step, (off_t)at));
		}
	}
	extract_place_close(&p);
}

static int
extract_all(void)
{
	const struct extract_source s = { .count = ENTRIES, .get = get_entry,
		.path = path_of, .data = write_data, .report = hear };
	struct extract_options o = { .replace = true, .threads = 1 };
	struct extract *x = NULL;
	int rc;

	OWN(rc = mkdir("out", 0700));
	assert_int_equal(rc, 0);
	OWN(o.root = open("out", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_true(o.root >= 0);
	rc = extract_open(&x, &s, &o);
	if (rc == 0) {
		for (size_t n = 0; n < ENTRIES; n++)
			if (S_ISREG(entries[n].mode) && entries[n].text != NULL &&
			    *entries[n].text != '\0')
				extract_expect(x, n);
		extract_expect(x, 2);
		rc = extract_run(x);
	}
	for (size_t n = 0; rc == 0 && n < ENTRIES; n++)
		if (!extract_made(x, n) && !got.warned)
			fail_msg("%s: %s is not made, and why is not said",
			    suffers_run.call, entries[n].path);
	extract_close(x);
	OWN(close(o.root));
	return rc;
}

/* What has been extracted, which is then removed. */
static void
take_extracted(void)
{
	for (size_t n = 0; n < ENTRIES; n++) {
		char path[64], text[64];
		struct stat st;
		ssize_t len = 0;

		snprintf(path, sizeof(path), "out/%s", entries[n].path);
		if (lstat(path, &st) == -1)
			continue;
		take_text(path);
		take_number(st.st_mode);
		take_number((uint64_t)st.st_mtim.tv_sec * !S_ISLNK(st.st_mode));
		take_number(st.st_nlink);
		if (S_ISREG(st.st_mode)) {
			int fd = open(path, O_RDONLY | O_CLOEXEC);

			len = read(fd, text, sizeof(text));
			close(fd);
		} else if (S_ISLNK(st.st_mode))
			len = readlink(path, text, sizeof(text));
		assert_true(len >= 0);
		take(text, (size_t)len);
	}
	assert_int_equal(scratch_remove("out"), 0);
}

static void
extracting(void **state)
{
	(void)state;
	suffers_after = take_extracted;
	SUFFERS(extract_all);
	suffers_after = NULL;
}

static void
put_file(const char *path, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < len; i++)
		putc((int)(i * i >> 7), f);
	assert_int_equal(fclose(f), 0);
}

static int
begin_all(void **state)
{
	char name[NAME_MAX + 1], path[DEEP * (NAME_MAX + 1) + 16] = "tree";

	(void)state;
	umask(022);
	if (scratch_enter(dir) != 0)
		return 1;
	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/sub", 0755), 0);
	put_file("tree/big", BIG);
	put_file("tree/one", 1);
	put_file("tree/sub/two", 2);
	assert_int_equal(link("tree/one", "tree/sub/name"), 0);
	assert_int_equal(symlink("one", "tree/soft"), 0);
	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	for (int i = 0; i < DEEP; i++) {
		strcat(strcat(path, "/"), name);
		if (i + 1 < DEEP)
			assert_int_equal(mkdir(path, 0755), 0);
		else
			put_file(path, 5);
	}
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walking),
		cmocka_unit_test(canceled),
		cmocka_unit_test(orders),
		cmocka_unit_test(extracting),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
