/*
 * test_imgsrc_dir.c - images made from a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/twins.h"
#include "imgsrc_made.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static char dir[SCRATCH_B], text[MADE_TEXT], owner[32];

static int
begin(void **state)
{
	(void)state;
	snprintf(owner, sizeof(owner), "%u:%u", getuid(), getgid());
	return scratch_enter(dir) != 0 ||
	    chmod(".", 0755) != 0;
}

static int
end(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

/* Creates or replaces a file of `len` bytes. */
static void
put(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Options for a directory all of whose inodes have one owner and time. */
static void
start(struct made *m, const char *path)
{
	made_begin(m, path);
	m->image.o.has_uid = m->image.o.has_gid = m->image.o.has_mtime = true;
	m->image.o.uid = 1;
	m->image.o.gid = 2;
	m->image.o.mtime = 3;
}

static void
entries(void **state)
{
	static char large[3 * MADE_BLOCK + 5];
	const struct timespec times[2] = { { .tv_sec = 100 },
		{ .tv_sec = 100 } };
	char want[256];
	struct made m;

	(void)state;
	assert_int_equal(mkdir("t", 0750), 0);
	assert_int_equal(mkdir("t/sub", 0711), 0);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i % 23);
	put("t/large", large, sizeof(large));
	put("t/sub/small", "small", 5);
	put("t/empty", "", 0);
	assert_int_equal(link("t/sub/small", "t/a"), 0);
	assert_int_equal(symlink("sub/small", "t/link"), 0);
	assert_int_equal(mkfifo("t/fifo", 0600), 0);
	start(&m, "t");
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40750 1:2 3 3\n"
	    "/a 100644 1:2 3 2 5\n"
	    "/empty 100644 1:2 3 1 0\n"
	    "/fifo 10600 1:2 3 1\n"
	    "/large 100644 1:2 3 1 12293\n"
	    "/link 120777 1:2 3 1 sub/small\n"
	    "/sub 40711 1:2 3 2\n"
	    "/sub/small 100644 1:2 3 2 5\n");
	made_content(&m, "large", large, sizeof(large));
	made_content(&m, "a", "small", 5);
	made_content(&m, "sub/small", "small", 5);
	assert_string_equal(m.said, "");
	/* both names of one file count */
	assert_int_equal(m.image.total_B, sizeof(large) + 2 * 5);
	assert_int_equal(m.image.tables.mtime, 3);
	made_end(&m);
	/* without the options */
	assert_int_equal(utimensat(AT_FDCWD, "t/sub", times, 0), 0);
	made_begin(&m, "t/sub");
	m.image.o.no_links = true;
	m.image.o.has_epoch = true;
	m.image.o.epoch = 200;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	snprintf(want, sizeof(want), "/ 40711 %s 100 2\n"
	    "/small 100644 %s 200 1 5\n", owner, owner);
	assert_string_equal(text, want);
	assert_int_equal(m.image.newest, 200);
	assert_int_equal(m.image.tables.mtime, 200);
	made_end(&m);
}

/* Names are joined if they have one inode. */
static void
links(void **state)
{
	struct made m;

	(void)state;
	assert_int_equal(mkdir("li", 0755), 0);
	put("li/a", "one", 3);
	put("li/b", "other", 5);
	assert_int_equal(link("li/a", "li/y"), 0);
	assert_int_equal(link("li/b", "li/z"), 0);
	start(&m, "li");
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40755 1:2 3 2\n"
	    "/a 100644 1:2 3 2 3\n"
	    "/b 100644 1:2 3 2 5\n"
	    "/y 100644 1:2 3 2 3\n"
	    "/z 100644 1:2 3 2 5\n");
	made_content(&m, "y", "one", 3);
	made_content(&m, "z", "other", 5);
	made_end(&m);
}

/* Any number of contents is remembered. */
static void
many_contents(void **state)
{
	const struct sqw_data_options o = { .block = MADE_BLOCK };
	const XXH128_hash_t other = { .low64 = 5, .high64 = 1 };
	struct sqw_twins w;

	(void)state;
	assert_int_equal(sqw_twins_open(&w, &o), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		/* many begin their search at one place */
		XXH128_hash_t h = { .low64 = i / 7, .high64 = i + 2 };

		assert_null(sqw_twins_find(&w, 1 + i, h));
		assert_int_equal(sqw_twins_add(&w, 1 + i, h, i), 0);
	}
	for (uint32_t i = 0; i < 5000; i++) {
		XXH128_hash_t h = { .low64 = i / 7, .high64 = i + 2 };
		const struct sqw_twin *t = sqw_twins_find(&w, 1 + i, h);

		assert_non_null(t);
		assert_int_equal(t->id, i);
		assert_null(sqw_twins_find(&w, 9000 + i, h));
	}
	assert_null(sqw_twins_find(&w, 1, other));
	sqw_twins_close(&w);
}

/* Separate copies are stored once, links that are no longer links, too. */
static void
duplicates(void **state)
{
	char data[2 * MADE_BLOCK + 1];
	struct made m;

	(void)state;
	assert_int_equal(mkdir("twins", 0755), 0);
	memset(data, 'x', sizeof(data));
	put("twins/one", data, sizeof(data));
	put("twins/two", data, sizeof(data));
	assert_int_equal(link("twins/one", "twins/three"), 0);
	start(&m, "twins");
	m.image.o.no_links = true;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_int_equal(m.image.data.duplicates, 2);
	assert_int_equal(m.image.data.in_B, sizeof(data));
	made_content(&m, "three", data, sizeof(data));
	made_content(&m, "two", data, sizeof(data));
	made_end(&m);
	start(&m, "twins");
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_int_equal(m.image.data.duplicates, 1);
	made_end(&m);
}

static int
leaves_out(void *arg, const char *path, const struct stat *st)
{
	(void)arg;
	return S_ISREG(st->st_mode) && strcmp(path, "in/b") == 0;
}

static void
excludes(void **state)
{
	const char *globs[] = { "c", "in/d" };
	struct made m;

	(void)state;
	assert_int_equal(mkdir("ex", 0755), 0);
	assert_int_equal(mkdir("ex/in", 0755), 0);
	assert_int_equal(mkdir("ex/in/d", 0755), 0);
	put("ex/in/a", "1", 1);
	put("ex/in/b", "1", 1);
	put("ex/in/c", "1", 1);
	put("ex/in/d/e", "1", 1);
	put("ex/b", "1", 1);
	start(&m, "ex");
	m.image.o.excludes = globs;
	m.image.o.exclude_count = 2;
	m.image.o.left_out = leaves_out;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40755 1:2 3 3\n"
	    "/b 100644 1:2 3 1 1\n"
	    "/in 40755 1:2 3 2\n"
	    "/in/a 100644 1:2 3 1 1\n");
	made_end(&m);
}

/* Several sources are names in the root. */
static void
inputs(void **state)
{
	static char path[2][SCRATCH_B + 32], name[2][8] = { "tree", "leaf" };
	struct imgsrc_input in[2] = {
		{ .path = path[0], .real = path[0] + 1, .name = name[0],
		    .is_dir = true },
		{ .path = path[1], .real = path[1] + 1, .name = name[1] },
	};
	struct made m;

	(void)state;
	assert_int_equal(mkdir("in", 0700), 0);
	put("in/x", "from a tree", 11);
	put("y", "a leaf", 6);
	snprintf(path[0], sizeof(path[0]), "%s/in", dir);
	snprintf(path[1], sizeof(path[1]), "%s/y", dir);
	start(&m, path[0]);
	m.image.o.inputs = in;
	m.image.o.input_count = m.image.o.top_count = 2;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40755 0:0 0 3\n"
	    "/leaf 100644 1:2 3 1 6\n"
	    "/tree 40700 1:2 3 2\n"
	    "/tree/x 100644 1:2 3 1 11\n");
	made_content(&m, "leaf", "a leaf", 6);
	made_content(&m, "tree/x", "from a tree", 11);
	made_end(&m);
}

/* Returns whether the image has a table of attributes. */
static bool
has_table(const struct made *m)
{
	struct sq_image *image = made_open(m);
	bool has = sq_facts(image)->xattrs;

	sq_close(image);
	return has;
}

static void
attributes(void **state)
{
	struct sq_image *image;
	struct sq_entry e;
	struct made m;
	char path[32];

	(void)state;
	assert_int_equal(mkdir("at", 0755), 0);
	put("at/plain", "1", 1);
	put("at/with", "1", 1);
	/* without any there is no table */
	start(&m, "at");
	m.image.o.no_xattrs = false;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_false(has_table(&m));
	made_end(&m);
	if (setxattr("at/with", "user.color", "red", 3, 0) != 0)
		skip();
	start(&m, "at");
	m.image.o.no_xattrs = false;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40755 1:2 3 2\n"
	    "/plain 100644 1:2 3 1 1\n"
	    "/with 100644 1:2 3 1 1 user.color=red\n");
	assert_true(has_table(&m));
	made_end(&m);
	/* in a long list they are searched by all threads */
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), "at/x%d", i);
		put(path, "", 0);
	}
	start(&m, "at");
	m.image.o.no_xattrs = false;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	image = made_open(&m);
	made_find(image, "with", &e);
	assert_int_not_equal(e.xattr, SQUASHFS_NONE);
	made_find(image, "x299", &e);
	assert_int_equal(e.xattr, SQUASHFS_NONE);
	sq_close(image);
	made_end(&m);
}

/* Called between the listing and the reading of the files. */
static int
change(void *arg)
{
	(void)arg;
	const struct timespec times[2] = { { .tv_sec = 9 }, { .tv_sec = 9 } };

	return utimensat(AT_FDCWD, "ch/b", times, 0) == 0 ? unlink("ch/c") :
	    -EIO;
}

static void
changes(void **state)
{
	struct made m;

	(void)state;
	assert_int_equal(mkdir("ch", 0755), 0);
	put("ch/a", "1", 1);
	put("ch/b", "2", 1);
	put("ch/c", "3", 1);
	start(&m, "ch");
	m.image.o.complete = change;
	assert_int_equal(made_build(&m, &imgsrc_dir), -EAGAIN);
	assert_string_equal(m.said, "E: ch/b: changed while it was being "
	    "read\n");
	assert_true(m.image.told);
	made_end(&m);
	put("ch/b", "2", 1);
	put("ch/c", "3", 1);
	start(&m, "ch");
	m.image.o.complete = change;
	m.image.o.keep_going = true;
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_string_equal(m.said, "E: ch/b: changed while it was being "
	    "read\nE: ch/c: No such file or directory\n");
	made_list(&m, text);
	assert_string_equal(text, "/ 40755 1:2 3 2\n/a 100644 1:2 3 1 1\n");
	assert_false(m.image.told);
	made_end(&m);
}

/* Owners are shifted, and none goes out of range. */
static void
owners(void **state)
{
	static const struct {
		uint32_t uid, gid;
		int64_t shift;
		const char *shifted;	/* NULL: out of range */
	} rows[] = {
		{ 5, 3, -3, "2:0" }, { 5, 3, -4, NULL }, { 3, 5, -3, "0:2" },
		{ 3, 5, -4, NULL }, { UINT32_MAX, UINT32_MAX, 0,
		    "4294967295:4294967295" },
		{ UINT32_MAX - 1, 7, 1, "4294967295:8" },
		{ UINT32_MAX - 1, 7, 2, NULL },
		{ 7, UINT32_MAX - 1, 1, "8:4294967295" },
		{ 7, UINT32_MAX - 1, 2, NULL },
		{ 0, 0, INT64_C(1) << 32, NULL },
		{ 0, 0, -(INT64_C(1) << 32), NULL },
	};
	char want[128];
	struct made m;

	(void)state;
	assert_int_equal(mkdir("owned", 0755), 0);
	put("owned/a", "1", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		start(&m, "owned");
		m.image.o.uid = rows[i].uid;
		m.image.o.gid = rows[i].gid;
		m.image.o.owner_shift = rows[i].shift;
		assert_int_equal(made_build(&m, &imgsrc_dir),
		    rows[i].shifted != NULL ? 0 : -ERANGE);
		if (rows[i].shifted == NULL) {
			assert_true(m.image.told);
			assert_non_null(strstr(m.said, " is out of range "));
			made_end(&m);
			continue;
		}
		made_list(&m, text);
		snprintf(want, sizeof(want), "/ 40755 %s 3 2\n"
		    "/a 100644 %s 3 1 1\n", rows[i].shifted, rows[i].shifted);
		assert_string_equal(text, want);
		made_end(&m);
	}
}

/* The lists of blocks have just as much memory as they are allowed. */
static void
block_lists(void **state)
{
	enum { UNIT_B = 16 };
	static char large[5 * MADE_BLOCK];
	static const struct {
		const char *path;
		unsigned units;
		bool tails;
	} rows[] = { { "large", 5, false }, { "small", 1, false },
		{ "tail", 3, false }, { "tail", 2 + 1, true },
		{ "both", 5 + 2, false }, { "hole", 4, false } };
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i * i / 7 % 23);
	assert_int_equal(mkdir("bl", 0755), 0);
	assert_int_equal(chdir("bl"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(mkdir(rows[i].path, 0755) == 0 ||
		    errno == EEXIST);
	put("large/a", large, sizeof(large));
	put("small/a", large, 100);
	put("small/b", large + 1, 100);
	put("tail/a", large, 2 * MADE_BLOCK + 9);
	/* the small ones fill more than one fragment block */
	put("both/a", large, sizeof(large));
	put("both/b", large + 1, 3000);
	put("both/c", large + 2, 3000);
	put("hole/a", "", 0);
	assert_int_equal(truncate("hole/a", 4 * MADE_BLOCK), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (unsigned less = 0; less < 2; less++) {
			start(&m, rows[i].path);
			m.image.pack.tails = rows[i].tails;
			m.image.pack.memory = UNIT_B * rows[i].units - less;
			assert_int_equal(made_build(&m, &imgsrc_dir),
			    less == 0 ? 0 : -EOVERFLOW);
			if (less == 0)
				assert_int_equal(m.image.data.units,
				    rows[i].units);
			else
				assert_non_null(strstr(m.said, "the block "
				    "lists need more memory"));
			made_end(&m);
		}
	assert_int_equal(chdir(".."), 0);
}

/*
 * Noise with so few repetitions that zstd, tried first, saves less than 1/128,
 * while LZ4 still makes it shorter.  Only slow methods are tried.
 */
static void
hardly_shrinks(void **state)
{
	enum { LEN = 32 << 10, AGAIN = 200 };
	static const struct {
		const char *method;
		int level;
		bool no_probe, raw;
	} rows[] = {
		{ "lz4", 0, false, false }, { "lz4hc", 0, false, true },
		{ "lz4hc", 0, true, false }, { "gzip", 4, false, false },
		{ "gzip", 5, false, true }, { "gzip", 9, false, true },
		{ "gzip", 9, true, false }, { "xz", 0, false, true },
	};
	static char data[LEN];
	uint32_t x = 1;
	struct made m;

	(void)state;
	for (size_t i = 0; i < LEN; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = (char)(x >> 24);
	}
	memcpy(data + LEN / 2, data + 100, AGAIN);
	assert_int_equal(mkdir("noise", 0755), 0);
	put("noise/a", data, LEN);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		start(&m, "noise");
		m.image.pack.block = LEN;
		m.image.pack.method = sqw_method_by_name(rows[i].method);
		m.image.pack.level = rows[i].level;
		m.image.pack.no_probe = rows[i].no_probe;
		assert_int_equal(made_build(&m, &imgsrc_dir), 0);
		assert_int_equal(m.image.data.blocks, 1);
		if (m.image.data.raw_blocks != rows[i].raw)
			fail_msg("%s -%d", rows[i].method, rows[i].level);
		made_end(&m);
	}
}

/*
 * As mksquashfs does, a file that is compared with others has its tail before
 * its blocks; it is if there is another tail of that length.
 */
static void
tails_first(void **state)
{
	static char data[4 * MADE_BLOCK];
	static const struct {
		unsigned tail;
		bool no_duplicates, first;
	} rows[] = { { 3000, false, true }, { 3001, false, false },
		{ 3000, true, false } };
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i * i / 11 % 25);
	assert_int_equal(mkdir("tails", 0755), 0);
	put("tails/a", data, 2 * MADE_BLOCK + 3000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct sq_image *image;
		uint64_t at;
		uint32_t word;

		put("tails/b", data + 1, 3 * MADE_BLOCK + rows[i].tail);
		start(&m, "tails");
		m.image.pack.method = sqw_method_by_name("gzip");
		m.image.pack.level = 9;
		m.image.pack.exact = m.image.pack.tails = true;
		m.image.pack.no_duplicates = rows[i].no_duplicates;
		assert_int_equal(made_build(&m, &imgsrc_dir), 0);
		/* both tails do not fit in one fragment block */
		assert_int_equal(m.image.data.fragments, 2);
		image = made_open(&m);
		sq_fragment(image, 0, &at, &word);
		sq_close(image);
		assert_int_equal(at < made_start(&m, "b"), rows[i].first);
		made_content(&m, "b", data + 1, 3 * MADE_BLOCK +
		    rows[i].tail);
		made_end(&m);
	}
}

/* A program may be started without standard input: 0 is a good descriptor. */
static void
descriptor_0(void **state)
{
	int was = dup(0);
	struct made m;

	(void)state;
	assert_int_equal(mkdir("zero", 0755), 0);
	put("zero/a", "1", 1);
	put("zero/b", "23", 2);
	start(&m, "zero");
	m.fd = memfd_create("image", MFD_CLOEXEC);
	close(0);
	assert_int_equal(imgsrc_build(&m.image, &imgsrc_dir, m.fd, AT_FDCWD),
	    0);
	if (was >= 0) {
		assert_int_equal(dup2(was, 0), 0);
		close(was);
	}
	assert_string_equal(m.said, "");
	made_content(&m, "a", "1", 1);
	made_content(&m, "b", "23", 2);
	made_end(&m);
}

static void
errors(void **state)
{
	struct made m;

	(void)state;
	start(&m, "nowhere");
	assert_int_equal(made_build(&m, &imgsrc_dir), -ENOENT);
	assert_string_equal(m.said, "E: nowhere: No such file or directory\n");
	assert_true(m.image.told);
	made_end(&m);
	/* an error of the image's file is not one of the source */
	assert_int_equal(mkdir("full", 0755), 0);
	put("full/a", "1", 1);
	start(&m, "full");
	assert_int_equal(imgsrc_build(&m.image, &imgsrc_dir, -1, AT_FDCWD),
	    -EBADF);
	assert_string_equal(m.said, "");
	assert_false(m.image.told);
	made_end(&m);
}

/* What a path names determines the source. */
static void
kinds(void **state)
{
	struct made m;
	char path[64];

	(void)state;
	assert_int_equal(mkdir("kind", 0755), 0);
	put("kind/a", "1", 1);
	assert_ptr_equal(imgsrc_of("kind"), &imgsrc_dir);
	assert_ptr_equal(imgsrc_of("kind/a"), &imgsrc_tar);
	assert_ptr_equal(imgsrc_of("kind/none"), &imgsrc_tar);
	assert_ptr_equal(imgsrc_of("-"), &imgsrc_tar);
#ifdef COLDPRESS_OCI
	assert_int_equal(mkdir("layout", 0755), 0);
	assert_ptr_equal(imgsrc_of("layout"), &imgsrc_dir);
	put("layout/oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}", 30);
	assert_ptr_equal(imgsrc_of("layout"), &imgsrc_oci);
	assert_ptr_equal(imgsrc_of("layout:tag"), &imgsrc_oci);
#endif
	start(&m, "kind");
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", m.fd);
	assert_ptr_equal(imgsrc_of(path), &imgsrc_repack);
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(links),
		cmocka_unit_test(many_contents),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(excludes),
		cmocka_unit_test(inputs),
		cmocka_unit_test(attributes),
		cmocka_unit_test(changes),
		cmocka_unit_test(owners),
		cmocka_unit_test(block_lists),
		cmocka_unit_test(hardly_shrinks),
		cmocka_unit_test(tails_first),
		cmocka_unit_test(descriptor_0),
		cmocka_unit_test(errors),
		cmocka_unit_test(kinds),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
