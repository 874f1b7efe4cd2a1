/*
 * test_imgsrc_append.c - adding to an image: what is kept, shared and refused
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "refused.h"

#include "base/sys.h"
#include "imgsrc_made.h"

#include <errno.h>
#include <sys/stat.h>

enum { LARGE = 3 * MADE_BLOCK, TURNS = 100, HEAD = 8192 };

static char dir[SCRATCH_B], text[MADE_TEXT], path[64];
static char large[LARGE + 100];
static struct made old;

static void
put(const char *name, const void *data, size_t len)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
start(struct made *m, const char *from)
{
	made_begin(m, from);
	m->image.o.has_uid = m->image.o.has_gid = m->image.o.has_mtime = true;
	m->image.o.uid = 1;
	m->image.o.gid = 2;
	m->image.o.mtime = 3;
	m->image.pack.threads = 1;
}

static void
start_append(struct made *m)
{
	start(m, "new");
	m->image.o.uid = 7;
	m->image.o.mtime = 9;
	m->image.o.append = path;
}

/* Sources that are names, two of which the image has. */
static void
start_renamed(struct made *m)
{
	static char from[3][SCRATCH_B + 32], names[3][8] = { "large", "small",
		"fresh" };
	static struct imgsrc_input in[3];

	for (int i = 0; i < 3; i++) {
		snprintf(from[i], sizeof(from[i]), "%s/%s", dir, names[i]);
		in[i] = (struct imgsrc_input){ .path = from[i],
			.real = from[i] + 1, .name = names[i],
			.is_dir = i == 0 };
	}
	start_append(m);
	m->image.o.path = from[0];
	m->image.o.inputs = in;
	m->image.o.input_count = m->image.o.top_count = 3;
}

static const char renamed_tree[] =
    "/ 40755 0:0 0 4\n"
    "/fresh 100644 7:2 9 1 5\n"
    "/large 100644 1:2 3 1 12288\n"
    "/large_1 40755 7:2 9 2\n"
    "/large_1/in 100644 7:2 9 1 3\n"
    "/small 100644 1:2 3 1 100\n"
    "/small_1 100644 7:2 9 1 6\n"
    "/sub 40755 1:2 3 2\n"
    "/sub/tail 100644 1:2 3 1 8195\n";

static void
check_renamed(const struct made *m)
{
	made_list(m, text);
	assert_string_equal(text, renamed_tree);
	made_content(m, "large", large, LARGE);
	made_content(m, "large_1/in", "in\n", 3);
	made_content(m, "small", large + 5, 100);
	made_content(m, "small_1", "small\n", 6);
	made_content(m, "fresh", "fresh", 5);
}

static const char merged[] =
    "/ 40755 7:2 9 3\n"
    "/alike 100644 7:2 9 1 12288\n"
    "/large 100644 1:2 3 1 12288\n"
    "/little 100644 7:2 9 1 100\n"
    "/other 100644 7:2 9 1 12387\n"
    "/small 100644 1:2 3 1 100\n"
    "/sub 40755 1:2 3 2\n"
    "/sub/tail 100644 1:2 3 1 8195\n";

static void
check_contents(const struct made *m)
{
	made_list(m, text);
	assert_string_equal(text, merged);
	made_content(m, "large", large, LARGE);
	made_content(m, "alike", large, LARGE);
	made_content(m, "small", large + 5, 100);
	made_content(m, "little", large + 5, 100);
	made_content(m, "other", large + 1, LARGE + 99);
	made_content(m, "sub/tail", large + 7, 2 * MADE_BLOCK + 3);
}

/* Old data stays where it is, and new files share it. */
static void
added(void **state)
{
	static uint8_t was[4 * LARGE], is[4 * LARGE];
	size_t len = made_start(&old, "small");
	struct made m;

	(void)state;
	start_append(&m);
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_string_equal(m.said, "");
	check_contents(&m);
	assert_int_equal(made_start(&m, "large"), made_start(&old, "large"));
	assert_int_equal(made_start(&m, "alike"), made_start(&old, "large"));
	assert_int_equal(made_start(&m, "small"), made_start(&old, "small"));
	assert_int_equal(made_start(&m, "little"), made_start(&old, "small"));
	assert_true(made_start(&m, "other") > made_start(&m, "small"));
	assert_int_equal(m.image.data.duplicates, 2);
	assert_in_range(len, LARGE / 2, sizeof(was));
	assert_int_equal(pread(old.fd, was, len, 0), len);
	assert_int_equal(pread(m.fd, is, len, 0), len);
	assert_memory_equal(is + SQUASHFS_SUPER_B, was + SQUASHFS_SUPER_B,
	    len - SQUASHFS_SUPER_B);
	made_end(&m);
}

/* The old root becomes a directory. */
static void
added_under(void **state)
{
	struct made m;

	(void)state;
	start_append(&m);
	m.image.o.append_under = "was";
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	made_list(&m, text);
	assert_string_equal(text,
	    "/ 40755 7:2 9 3\n"
	    "/alike 100644 7:2 9 1 12288\n"
	    "/little 100644 7:2 9 1 100\n"
	    "/other 100644 7:2 9 1 12387\n"
	    "/was 40755 1:2 3 3\n"
	    "/was/large 100644 1:2 3 1 12288\n"
	    "/was/small 100644 1:2 3 1 100\n"
	    "/was/sub 40755 1:2 3 2\n"
	    "/was/sub/tail 100644 1:2 3 1 8195\n");
	made_content(&m, "was/large", large, LARGE);
	made_content(&m, "alike", large, LARGE);
	made_content(&m, "was/sub/tail", large + 7, 2 * MADE_BLOCK + 3);
	made_end(&m);
}

/* An image behind something else, which is kept, too. */
static void
added_behind(void **state)
{
	static uint8_t data[1 << 20], is[HEAD];
	ssize_t n = pread(old.fd, data + HEAD, sizeof(data) - HEAD, 0);
	char was[sizeof(path)];
	int fd = memfd_create("behind", MFD_CLOEXEC), rc;
	struct sq_image *image;
	struct sq_entry e;
	const char *why;
	struct made m;

	(void)state;
	assert_in_range(n, 1, sizeof(data) - HEAD - 1);
	for (size_t i = 0; i < HEAD; i++)
		data[i] = (uint8_t)(i * i >> 4);
	assert_int_equal(write(fd, data, HEAD + (size_t)n), HEAD + n);
	strcpy(was, path);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	start_append(&m);
	m.image.tables.offset = HEAD;
	rc = made_build(&m, &imgsrc_dir);
	if (rc != 0)
		fail_msg("%d, %s", rc, m.said);
	assert_int_equal(pread(m.fd, is, HEAD, 0), HEAD);
	assert_memory_equal(is, data, HEAD);
	assert_int_equal(sq_open(&image, m.fd, HEAD, 1, 64 << 20, made_refuse,
	    NULL, &why), 0);
	made_find(image, "alike", &e);
	assert_int_equal(e.start, made_start(&old, "large"));
	sq_close(image);
	made_end(&m);
	/* all of what is before it must be there */
	start_append(&m);
	m.image.tables.offset = HEAD + 4096;
	assert_int_equal(made_build(&m, &imgsrc_dir), -EBADMSG);
	assert_true(m.image.told);
	made_end(&m);
	strcpy(path, was);
	close(fd);
}

/* What cannot be read is not shared, and new files are right. */
static void
damaged(void **state)
{
	uint64_t first = made_start(&old, "large"), at;
	uint64_t last = made_start(&old, "small");
	unsigned apart = 0;
	uint8_t was, is;

	(void)state;
	for (at = first; at < last; at += (last - first) / 40) {
		struct made m;

		assert_int_equal(pread(old.fd, &was, 1, (off_t)at), 1);
		is = was ^ 0x10;
		assert_int_equal(pwrite(old.fd, &is, 1, (off_t)at), 1);
		start_append(&m);
		assert_int_equal(made_build(&m, &imgsrc_dir), 0);
		made_list(&m, text);
		assert_string_equal(text, merged);
		made_content(&m, "alike", large, LARGE);
		made_content(&m, "other", large + 1, LARGE + 99);
		made_content(&m, "little", large + 5, 100);
		apart += made_start(&m, "alike") != first;
		assert_int_equal(pread(m.fd, &was, 1, (off_t)at), 1);
		assert_int_equal(was, is);
		was ^= 0x10;
		assert_int_equal(pwrite(old.fd, &was, 1, (off_t)at), 1);
		made_end(&m);
	}
	assert_true(apart > 20);
	/* nothing is added to what is no image */
	for (uint64_t i = 0; i < 96; i += i < 4 ? 1 : 8) {
		struct made m;

		assert_int_equal(pread(old.fd, &was, 1, (off_t)i), 1);
		is = was ^ 0xff;
		assert_int_equal(pwrite(old.fd, &is, 1, (off_t)i), 1);
		start_append(&m);
		if (made_build(&m, &imgsrc_dir) != 0) {
			assert_true(m.image.told);
			assert_string_not_equal(m.said, "");
		} else {
			/* the time is not told from another */
			assert_int_equal(i, SQUASHFS_S_MTIME);
		}
		made_end(&m);
		assert_int_equal(pwrite(old.fd, &was, 1, (off_t)i), 1);
	}
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false },
	{ FAULT_MALLOC, "+:ENOMEM", 0, false },
	{ FAULT_OPENAT, ":EMFILE", 0, false },
	{ FAULT_PREAD, ":EIO", 0, false },
	{ FAULT_PREAD, ":short", 0, false },
	{ FAULT_PREAD, ":end", 0, false },
	{ FAULT_READ, ":EIO", 0, false },
	{ FAULT_WRITE, ":ENOSPC", 0, false },
	{ FAULT_WRITE, ":short", 0, false },
	{ FAULT_PWRITE, ":ENOSPC", 0, false },
	{ FAULT_LSEEK, ":EIO", 0, false },
	{ FAULT_FTRUNCATE, ":EIO", 0, false },
	{ FAULT_STAT, ":EIO", 0, false },
};

static void
refuse_all(const char *name, void (*begin_it)(struct made *m),
    void (*check)(const struct made *m), unsigned least)
{
	struct refused f = { .name = name, .refusals = refusals,
		.turns = TURNS, .refusal_count = sizeof(refusals) /
		sizeof(refusals[0]) };
	unsigned failed = 0;
	struct made m;
	int rc;

	assert_true(fault_plan(""));
	begin_it(&m);
	rc = made_build(&m, &imgsrc_dir);
	refused_count(&f);
	assert_int_equal(rc, 0);
	check(&m);
	made_end(&m);
	while (refused_next(&f)) {
		begin_it(&m);
		rc = made_build(&m, &imgsrc_dir);
		assert_true(fault_plan(""));
		if (rc > 0 || (rc != 0 && m.image.told && m.said[0] == '\0'))
			fail_msg("%s: %d", f.call, rc);
		if (rc == 0)
			check(&m);
		made_end(&m);
		refused_end(&f);
		failed += rc != 0;
	}
	assert_true(failed > least);
}

static void
refused(void **state)
{
	(void)state;
	refuse_all("append", start_append, check_contents, 80);
	refuse_all("renamed", start_renamed, check_renamed, 80);
}

/* Sources get other names than those that the image has. */
static void
renamed(void **state)
{
	struct made m;

	(void)state;
	start_renamed(&m);
	assert_int_equal(made_build(&m, &imgsrc_dir), 0);
	assert_string_equal(m.said, "W: small: the image has this name "
	    "already; added as small_1\nW: large: the image has this name "
	    "already; added as large_1\n");
	check_renamed(&m);
	made_end(&m);
}

static int
begin(void **state)
{
	uint32_t x = 1;

	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	umask(022);
	for (size_t i = 0; i < sizeof(large); i++) {
		x = x * 1664525 + 1013904223;
		large[i] = (char)('a' + (x >> 24) % 23);
	}
	assert_int_equal(mkdir("old", 0755), 0);
	assert_int_equal(mkdir("old/sub", 0755), 0);
	put("old/large", large, LARGE);
	put("old/small", large + 5, 100);
	put("old/sub/tail", large + 7, 2 * MADE_BLOCK + 3);
	assert_int_equal(mkdir("new", 0755), 0);
	put("new/alike", large, LARGE);
	put("new/little", large + 5, 100);
	put("new/other", large + 1, LARGE + 99);
	assert_int_equal(mkdir("large", 0755), 0);
	put("large/in", "in\n", 3);
	put("small", "small\n", 6);
	put("fresh", "fresh", 5);
	start(&old, "old");
	old.image.pack.method = sqw_method_by_name("gzip");
	old.image.pack.level = 9;
	assert_int_equal(made_build(&old, &imgsrc_dir), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", old.fd);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	made_end(&old);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),
		cmocka_unit_test(added_under),
		cmocka_unit_test(added_behind),
		cmocka_unit_test(damaged),
		cmocka_unit_test(renamed),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
