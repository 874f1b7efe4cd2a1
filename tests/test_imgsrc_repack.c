/*
 * test_imgsrc_repack.c - images made from another image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_made.h"
#include "tar_made.h"

#include <errno.h>
#include <sys/stat.h>

static struct archive archive;
static struct made old;
static char text[MADE_TEXT], copy[MADE_TEXT], path[64];
static char large[2 * MADE_BLOCK + 7], zeros[3 * MADE_BLOCK];

static void
put(char type, const char *name, const char *link, const void *data,
    size_t len)
{
	uint8_t *h = add(&archive, type, name, data, len);

	strcpy((char *)h + 157, link);
	sum(h);
}

/* Builds the image to be repacked, compressed by gzip. */
static void
make(void)
{
	static const char *const records[] = { "SCHILY.xattr.user.a=one",
		NULL };
	char name[64];
	int fd = memfd_create("archive", MFD_CLOEXEC);

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)('a' + i * i % 29);
	begin(&archive);
	put('5', "dir", "", "", 0);
	add_records(&archive, 'x', records);
	put('0', "dir/large", "", large, sizeof(large));
	put('0', "dir/small", "", "small", 5);
	put('0', "hole", "", zeros, sizeof(zeros));
	put('1', "link", "dir/small", "", 0);
	put('2', "symbolic", "dir", "", 0);
	put('0', "twin", "", large, sizeof(large));
	archive.len += 1024;
	assert_int_equal(write(fd, archive.data, archive.len), archive.len);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	made_begin(&old, name);
	old.image.o.no_xattrs = false;
	old.image.pack.method = sqw_method_by_name("gzip");
	old.image.pack.level = 6;
	old.image.tables.no_export = true;
	assert_int_equal(made_build(&old, &imgsrc_tar), 0);
	close(fd);
	made_list(&old, text);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", old.fd);
}

static int
begin_old(void **state)
{
	(void)state;
	make();
	return 0;
}

static int
end_old(void **state)
{
	(void)state;
	made_end(&old);
	return 0;
}

/* Options for the old image as the source. */
static void
start(struct made *m)
{
	made_begin(m, path);
	m->image.o.no_xattrs = false;
	m->image.pack.block = 131072;	/* replaced by the old image's */
}

/* The tree, the contents and what is shared are those of the old image. */
static void
recompressed(void **state)
{
	struct made m;

	(void)state;
	start(&m);
	m.image.pack.method = sqw_method_by_name("zstd");
	m.image.pack.level = 3;
	assert_int_equal(made_build(&m, &imgsrc_repack), 0);
	assert_string_equal(m.said, "");
	made_list(&m, copy);
	assert_string_equal(copy, text);
	assert_string_equal(strstr(text, "/twin"), "/twin 100644 1:2 0 1 "
	    "8199\n");
	assert_non_null(strstr(text, "/dir/large 100644 1:2 0 1 8199 "
	    "user.a=one\n"));
	made_content(&m, "dir/large", large, sizeof(large));
	made_content(&m, "twin", large, sizeof(large));
	made_content(&m, "link", "small", 5);
	made_content(&m, "hole", zeros, sizeof(zeros));
	assert_int_equal(made_start(&m, "dir/large"), made_start(&m, "twin"));
	assert_int_equal(m.image.pack.block, MADE_BLOCK);
	assert_true(m.image.tables.no_export);
	/* the blocks of the large file, and the small file's fragment block */
	assert_int_equal(m.image.data.blocks, 3 + 1);
	assert_int_equal(m.image.data.fragments, 1);
	/* counted once a name, before duplicates are found */
	assert_int_equal(m.image.total_B, 2 * sizeof(large));
	made_end(&m);
}

static void
attributes(void **state)
{
	struct made m;

	(void)state;
	start(&m);
	m.image.o.no_xattrs = true;
	m.image.o.has_uid = true;
	m.image.o.uid = 9;
	assert_int_equal(made_build(&m, &imgsrc_repack), 0);
	made_list(&m, copy);
	assert_non_null(strstr(copy, "/dir/large 100644 9:2 0 1 8199\n"));
	made_end(&m);
}

/* Cut and compressed once more, it is the same to the byte. */
static void
rebuilt(void **state)
{
	struct sq_file_options o = { .path = path, .threads = 1,
		.memory = 64 << 20 };
	struct imgsrc_difference d;
	struct sq_file f;
	struct made m;
	const char *why;

	(void)state;
	start(&m);
	m.image.pack.method = NULL;
	assert_int_equal(made_build(&m, &imgsrc_rebuild), 0);
	assert_string_equal(m.said, "");
	assert_int_equal(sq_file_open(&f, &o, &why), 0);
	assert_int_equal(imgsrc_compare(&f, m.fd, &d), 0);
	/* a difference is found, and where it is */
	assert_int_equal(pwrite(m.fd, "\1", 1, SQUASHFS_S_MTIME), 1);
	assert_int_equal(imgsrc_compare(&f, m.fd, &d), 1);
	assert_int_equal(d.at, SQUASHFS_S_MTIME);
	assert_int_equal(d.name, 0);
	assert_string_equal(d.where, "in the superblock");
	assert_int_equal(pwrite(m.fd, "\0", 1,
	    (off_t)made_start(&m, "dir/large") + 3), 1);
	assert_int_equal(imgsrc_compare(&f, m.fd, &d), 1);
	assert_int_equal(d.at, made_start(&old, "dir/large") + 3);
	assert_string_equal(sq_file_path(&f, d.name), "dir/large");
	assert_false(d.old_ends || d.made_ends);
	assert_int_equal(ftruncate(m.fd, SQUASHFS_SUPER_B), 0);
	assert_int_equal(imgsrc_compare(&f, m.fd, &d), 1);
	assert_true(d.made_ends && !d.old_ends);
	sq_file_close(&f);
	made_end(&m);
	/* with another level it is not */
	start(&m);
	m.image.pack.level = 1;
	assert_int_equal(made_build(&m, &imgsrc_rebuild), 0);
	assert_string_equal(m.image.pack.method->name, "gzip");
	assert_int_equal(m.image.pack.level, 1);
	made_end(&m);
}

/* Without a table of attributes, and with one that has none in it. */
static void
rebuilt_without_attributes(void **state)
{
	struct imgsrc_difference d;
	struct made plain, m;
	const char *why;

	(void)state;
	for (int without = 0; without < 2; without++) {
		struct sq_file_options o = { .path = path, .threads = 1,
			.memory = 64 << 20 };
		struct sq_file f;

		/* of a tree that has attributes or, from itself, none */
		start(&plain);
		plain.image.o.no_xattrs = without;
		assert_int_equal(made_build(&plain, &imgsrc_repack), 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", plain.fd);
		start(&m);
		m.image.pack.method = NULL;
		assert_int_equal(made_build(&m, &imgsrc_rebuild), 0);
		assert_int_equal(sq_file_open(&f, &o, &why), 0);
		assert_int_equal(imgsrc_compare(&f, m.fd, &d), 0);
		sq_file_close(&f);
		made_end(&m);
		made_end(&plain);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", old.fd);
	}
}

static void
refused(const struct imgsrc_source *source, struct made *m, int rc,
    const char *why)
{
	char want[512];

	assert_int_equal(made_build(m, source), rc);
	snprintf(want, sizeof(want), "E: %s: %s\n", path, why);
	assert_string_equal(m->said, want);
	assert_true(m->image.told);
	made_end(m);
}

static void
options(void **state)
{
	struct made m;

	(void)state;
	start(&m);
	m.image.o.has_block = true;
	refused(&imgsrc_repack, &m, -EBADMSG,
	    "the block size is 4096 and cannot be changed");
	start(&m);
	m.image.pack.no_fragments = true;
	refused(&imgsrc_repack, &m, -EBADMSG, "an image keeps its tree and "
	    "blocks: --exclude, --no-fragments and --no-duplicates cannot be "
	    "used");
	start(&m);
	m.image.pack.level = 99;
	refused(&imgsrc_rebuild, &m, -EBADMSG, "the compressor has no such "
	    "level");
	start(&m);
	m.image.o.has_offset = true;
	m.image.o.offset = 8192;
	assert_int_equal(made_build(&m, &imgsrc_repack), -EBADMSG);
	assert_true(m.image.told);
	made_end(&m);
}

/* Writes a byte into the old image for one test, and restores it after. */
static void
damage(struct made *m, const struct imgsrc_source *source, uint64_t at,
    uint8_t to, const char *why)
{
	uint8_t was;

	assert_int_equal(pread(old.fd, &was, 1, (off_t)at), 1);
	assert_int_equal(pwrite(old.fd, &to, 1, (off_t)at), 1);
	start(m);
	refused(source, m, -EBADMSG, why);
	assert_int_equal(pwrite(old.fd, &was, 1, (off_t)at), 1);
}

static void
errors(void **state)
{
	uint64_t at = made_start(&old, "dir/large");
	char why[128], ids;
	struct made m;

	(void)state;
	damage(&m, &imgsrc_repack, 0, 'x', "not a squashfs image");
	snprintf(why, sizeof(why), "offset %llu: the block cannot be "
	    "decompressed", (unsigned long long)at);
	damage(&m, &imgsrc_repack, at, 0xff, why);
	snprintf(why, sizeof(why), "dir/large: offset %llu: the block cannot "
	    "be decompressed", (unsigned long long)at);
	damage(&m, &imgsrc_rebuild, at, 0xff, why);
	/* Linux would not mount it, although all names can be read */
	assert_int_equal(pread(old.fd, &ids, 1, SQUASHFS_S_IDS), 1);
	assert_int_equal(pwrite(old.fd, "\143", 1, SQUASHFS_S_IDS), 1);
	start(&m);
	assert_int_equal(made_build(&m, &imgsrc_repack), -EBADMSG);
	assert_true(m.image.told);
	assert_non_null(strstr(m.said, ": a block of the id table does not "
	    "decompress to 396 bytes\n"));
	assert_string_equal(strchr(m.said, '\n'), "\n");
	made_end(&m);
	assert_int_equal(pwrite(old.fd, &ids, 1, SQUASHFS_S_IDS), 1);
	start(&m);
	m.image.pack.memory = 100;
	refused(&imgsrc_repack, &m, -EDQUOT, "the tables and names need more "
	    "memory than --memory allows");
}

/* Writes what is stored at a place of which the image has only one. */
static void
replace(int fd, const void *was, const void *is, size_t len)
{
	static uint8_t data[1 << 20];
	ssize_t n = pread(fd, data, sizeof(data), 0);
	uint8_t *at;

	assert_in_range(n, 1, sizeof(data) - 1);
	at = memmem(data, (size_t)n, was, len);
	assert_non_null(at);
	assert_null(memmem(at + 1, (size_t)(data + n - at) - 1, was, len));
	assert_int_equal(pwrite(fd, is, len, at - data), (ssize_t)len);
}

/* A value that is longer than the table is not passed over. */
static void
bad_attributes(void **state)
{
	struct made plain, m;
	char why[128];

	(void)state;
	/* without compression, so that the table can be changed */
	start(&plain);
	assert_int_equal(made_build(&plain, &imgsrc_repack), 0);
	replace(plain.fd, "\3\0\0\0one", "\3\0\1\0one", 7);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", plain.fd);
	start(&m);
	snprintf(why, sizeof(why), "E: %s: dir/large: the extended "
	    "attributes cannot be read\n", path);
	assert_int_equal(made_build(&m, &imgsrc_repack), -EBADMSG);
	if (strcmp(m.said, why) != 0)
		fail_msg("%s", m.said);
	made_end(&m);
	made_end(&plain);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", old.fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recompressed),
		cmocka_unit_test(attributes),
		cmocka_unit_test(rebuilt),
		cmocka_unit_test(rebuilt_without_attributes),
		cmocka_unit_test(options),
		cmocka_unit_test(errors),
		cmocka_unit_test(bad_attributes),
	};

	return cmocka_run_group_tests(tests, begin_old, end_old);
}
