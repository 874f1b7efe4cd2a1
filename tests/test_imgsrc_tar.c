/*
 * test_imgsrc_tar.c - images made from tar archives
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_made.h"
#include "tar_made.h"

#include <errno.h>

static struct archive archive;
static char text[MADE_TEXT], path[64];

/* Builds an image of the archive, and lists it in text. */
static int
build(struct made *m)
{
	int fd = memfd_create("archive", MFD_CLOEXEC), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, archive.data, archive.len), archive.len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	m->image.o.path = path;
	rc = made_build(m, &imgsrc_tar);
	close(fd);
	*text = '\0';
	if (rc == 0)
		made_list(m, text);
	return rc;
}

/* Ends the archive as tar(1) does. */
static void
end(void)
{
	memset(archive.data + archive.len, 0, 1024);
	archive.len += 1024;
}

static void
put(char type, const char *name, const char *link, const char *data)
{
	uint8_t *h = add(&archive, type, name, data, strlen(data));

	strcpy((char *)h + 157, link);
	sum(h);
}

static void
entries(void **state)
{
	struct made m;
	uint8_t *h;

	(void)state;
	begin(&archive);
	put('0', "dir/file", "", "content");
	put('1', "twin", "dir/file", "");
	put('2', "link", "dir/file", "");
	h = add(&archive, '3', "device", "", 0);
	strcpy((char *)h + 329, "0000001");
	strcpy((char *)h + 337, "0001010");
	sum(h);
	put('6', "fifo", "", "");
	h = add(&archive, '5', "dir", "", 0);
	memcpy(h + 100, "0000700", 7);
	memcpy(h + 108, "0000017", 7);
	memcpy(h + 116, "0000021", 7);
	memcpy(h + 136, "00000000144", 11);
	sum(h);
	end();
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	assert_string_equal(text,
	    "/ 40755 0:0 0 3\n"
	    "/device 20644 1:2 0 1 1,520\n"
	    "/dir 40700 15:17 100 2\n"
	    "/dir/file 100644 1:2 0 2 7\n"
	    "/fifo 10644 1:2 0 1\n"
	    "/link 120777 1:2 0 1 dir/file\n"
	    "/twin 100644 1:2 0 2 7\n");
	made_content(&m, "twin", "content", 7);
	assert_string_equal(m.said, "");
	assert_int_equal(m.image.newest, 100);
	made_end(&m);
}

/* The largest owner that an image has, and one that it has not. */
static void
owners(void **state)
{
	static const char *const most[] = { "uid=4294967295",
		"gid=4294967295", NULL };
	static const char *const more[][2] = { { "uid=4294967296", NULL },
		{ "gid=4294967296", NULL } };
	struct made m;

	(void)state;
	begin(&archive);
	add_records(&archive, 'x', most);
	put('0', "file", "", "content");
	end();
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	assert_string_equal(text, "/ 40755 0:0 0 2\n"
	    "/file 100644 4294967295:4294967295 0 1 7\n");
	made_end(&m);
	for (int i = 0; i < 2; i++) {
		begin(&archive);
		add_records(&archive, 'x', more[i]);
		put('0', "file", "", "content");
		end();
		made_begin(&m, NULL);
		assert_int_equal(build(&m), -EOVERFLOW);
		made_end(&m);
	}
}

/*
 * A file that was archived twice is a link to itself the second time, which
 * changes nothing.
 */
static void
self_links(void **state)
{
	struct made m;
	uint8_t *h;

	(void)state;
	begin(&archive);
	put('0', "file", "", "content");
	h = add(&archive, '1', "./file", "", 0);
	strcpy((char *)h + 157, "file");
	memcpy(h + 100, "0000600", 7);
	sum(h);
	put('1', "twin", "file", "");
	put('1', "twin", "twin", "");
	end();
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	assert_string_equal(text, "/ 40755 0:0 0 2\n"
	    "/file 100644 1:2 0 2 7\n"
	    "/twin 100644 1:2 0 2 7\n");
	made_content(&m, "file", "content", 7);
	made_end(&m);
}

/* An entry with holes is stored without them. */
static void
holes(void **state)
{
	static const char *const sparse[] = { "GNU.sparse.major=0",
		"GNU.sparse.minor=1", "GNU.sparse.name=sparse",
		"GNU.sparse.size=12292", "GNU.sparse.numblocks=2",
		"GNU.sparse.map=0,2,12288,4", NULL };
	char data[12292] = "ab";
	struct made m;

	(void)state;
	memcpy(data + 12288, "cdef", 4);
	begin(&archive);
	add_records(&archive, 'x', sparse);
	sum(add(&archive, '0', "GNUSparseFile.0/sparse", "abcdef", 6));
	end();
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	made_content(&m, "sparse", data, sizeof(data));
	assert_int_equal(m.image.data.raw_B, 4096 + 4);
	made_end(&m);
}

/* The options replace owners and times, and leave names out. */
static void
options(void **state)
{
	const char *excludes[] = { "*.o", "a/b" };
	struct made m;

	(void)state;
	begin(&archive);
	put('0', "a/x.o", "", "1");
	put('0', "a/b/c", "", "2");
	put('0', "a/kept", "", "3");
	put('0', "b/kept", "", "4");
	end();
	made_begin(&m, NULL);
	m.image.o.excludes = excludes;
	m.image.o.exclude_count = 2;
	m.image.o.has_uid = m.image.o.has_gid = m.image.o.has_mtime = true;
	m.image.o.uid = 5;
	m.image.o.gid = 6;
	m.image.o.mtime = 30;
	m.image.o.has_epoch = true;
	m.image.o.epoch = 20;
	assert_int_equal(build(&m), 0);
	assert_string_equal(text,
	    "/ 40755 0:0 0 4\n"
	    "/a 40755 0:0 0 2\n"
	    "/a/kept 100644 5:6 20 1 1\n"
	    "/b 40755 0:0 0 2\n"
	    "/b/kept 100644 5:6 20 1 1\n");
	assert_int_equal(m.image.tables.mtime, 30);
	made_end(&m);
}

static void
attributes(void **state)
{
	static const char *const records[] = { "SCHILY.xattr.user.a=one",
		"SCHILY.xattr.system.b=two", NULL };
	struct made m;

	(void)state;
	begin(&archive);
	add_records(&archive, 'x', records);
	put('0', "file", "", "1");
	end();
	made_begin(&m, NULL);
	m.image.o.no_xattrs = false;
	assert_int_equal(build(&m), 0);
	assert_string_equal(text,
	    "/ 40755 0:0 0 2\n"
	    "/file 100644 1:2 0 1 1 user.a=one\n");
	assert_string_equal(m.said, "W: file: attribute system.b omitted: "
	    "squashfs supports only user, trusted and security\n");
	made_end(&m);
}

/* Builds an image of a bad archive: it is told why, once. */
static void
refused(int rc, const char *why)
{
	char want[256];
	struct made m;

	made_begin(&m, NULL);
	assert_int_equal(build(&m), rc);
	snprintf(want, sizeof(want), "E: %s%s\n", path, why);
	assert_string_equal(m.said, want);
	assert_true(m.image.told);
	made_end(&m);
}

static void
errors(void **state)
{
	static const char *const large[] = { "uid=4294967296", NULL };
	struct made m;

	(void)state;
	begin(&archive);
	put('1', "link", "later", "");
	put('0', "later", "", "1");
	end();
	refused(-EBADMSG, ": link is a link to later, which does not precede "
	    "it in the archive");
	begin(&archive);
	put('5', "dir", "", "");
	put('1', "link", "dir", "");
	end();
	refused(-EBADMSG, ": link is a link to dir, which does not precede "
	    "it in the archive");
	begin(&archive);
	put('0', "a/../b", "", "1");
	end();
	refused(-EINVAL, ": the name a/../b contains '..'");
	begin(&archive);
	put('0', "a", "", "1");
	put('0', "a/b", "", "1");
	end();
	refused(-ENOTDIR, ": a/b: Not a directory");
	begin(&archive);
	add_records(&archive, 'x', large);
	put('0', "a", "", "1");
	end();
	refused(-EOVERFLOW, ": a: Value too large for defined data type");
	/* a link to itself is the file that is there */
	begin(&archive);
	put('0', "a", "", "1");
	put('1', "a", "a", "");
	end();
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	made_content(&m, "a", "1", 1);
	assert_string_equal(text, "/ 40755 0:0 0 2\n/a 100644 1:2 0 1 1\n");
	made_end(&m);
	/* without its end, the archive may be incomplete */
	begin(&archive);
	put('0', "a", "", "1");
	made_begin(&m, NULL);
	assert_int_equal(build(&m), 0);
	assert_string_equal(text, "/ 40755 0:0 0 2\n/a 100644 1:2 0 1 1\n");
	assert_int_equal(strncmp(m.said, "W: ", 3), 0);
	made_end(&m);
}

/* The caller may change the tree before it is complete, or refuse it. */
static int
add_more(void *arg)
{
	struct made *m = arg;
	struct sqw_attr attr = { .mode = S_IFDIR | 0711,
		.xattr = SQUASHFS_NONE };
	uint32_t id;

	if (sqw_tree_find(&m->image.tree, "refuse") != SQW_NOWHERE)
		return -EPERM;
	return sqw_tree_add(&m->image.tree, "more", &attr, &id);
}

static void
completion(void **state)
{
	struct made m;

	(void)state;
	begin(&archive);
	put('0', "a", "", "1");
	end();
	made_begin(&m, NULL);
	m.image.o.complete = add_more;
	assert_int_equal(build(&m), 0);
	assert_string_equal(text, "/ 40755 0:0 0 3\n/a 100644 1:2 0 1 1\n"
	    "/more 40711 0:0 0 2\n");
	made_end(&m);
	begin(&archive);
	put('0', "refuse", "", "1");
	end();
	made_begin(&m, NULL);
	m.image.o.complete = add_more;
	assert_int_equal(build(&m), -EPERM);
	assert_true(m.image.told);
	assert_string_equal(m.said, "");
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(owners),
		cmocka_unit_test(self_links),
		cmocka_unit_test(holes),
		cmocka_unit_test(options),
		cmocka_unit_test(attributes),
		cmocka_unit_test(errors),
		cmocka_unit_test(completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
