/*
 * test_sq_extract.c - extracting images, damaged ones, and with refused calls
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is extracted is compared with the tree that the image was made from.  A
 * file under its name is complete, or there has been a report.
 */
#include "refused.h"

#include "base/sys.h"
#include "image/squashfs/read/extract.h"
#include "imgsrc_made.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { MOST = 1 << 18, TURNS = 150 };

/* A listing of a tree, with all contents, in order. */
struct listing {
	size_t len;
	char p[MOST];
};

static char dir[SCRATCH_B], path[64], said[MADE_TEXT];
static struct listing want, got;
static struct made image;
static bool has_xattrs;
static size_t missed;		/* names that were not extracted */

static void
put_file(const char *name, size_t len, unsigned seed)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	for (size_t i = 0; i < len; i++)
		fputc((int)(seed + i * i / 9 % 50), f);
	assert_int_equal(fclose(f), 0);
}

/* Listing */

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
add_text(struct listing *l, const void *p, size_t len)
{
	assert_true(len <= sizeof(l->p) - l->len);
	memcpy(l->p + l->len, p, len);
	l->len += len;
}

static void
list_name(struct listing *l, const char *name)
{
	static char data[MOST];
	char line[512], value[64];
	struct dirent **names;
	struct stat st;
	ssize_t len = 0;
	int count = 0;

	assert_int_equal(lstat(name, &st), 0);
	if (S_ISREG(st.st_mode)) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);

		len = read(fd, data, sizeof(data));
		assert_int_equal(len, st.st_size);
		close(fd);
	} else if (S_ISLNK(st.st_mode)) {
		len = readlink(name, data, sizeof(data));
	} else if (S_ISDIR(st.st_mode)) {
		count = scandir(name, &names, NULL, by_name);
		assert_true(count >= 2);
	}
	assert_true(len >= 0);
	add_text(l, line, (size_t)snprintf(line, sizeof(line),
	    "%s %o %ld %d %zd ", name, st.st_mode, (long)st.st_mtim.tv_sec,
	    S_ISREG(st.st_mode) ? (int)st.st_nlink : 0, len));
	add_text(l, data, (size_t)len);
	len = S_ISLNK(st.st_mode) ? 0 :
	    getxattr(name, "user.x", value, sizeof(value));
	if (len > 0)
		add_text(l, value, (size_t)len);
	add_text(l, "\n", 1);
	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(line, sizeof(line), "%s/%s", name,
			    names[i]->d_name);
			list_name(l, line);
		}
		free(names[i]);
	}
	if (count > 0)
		free(names);
}

static void
list(struct listing *l, const char *at)
{
	l->len = 0;
	assert_int_equal(chdir(at), 0);
	list_name(l, ".");
	assert_int_equal(chdir(".."), 0);
}

/* Returns whether each line of what was extracted is one of the tree. */
static bool
is_part(void)
{
	size_t from = 0;

	for (size_t i = 0; i < got.len; i++) {
		if (got.p[i] != '\n')
			continue;
		if (memmem(want.p, want.len, got.p + from, i + 1 - from) ==
		    NULL)
			return false;
		from = i + 1;
	}
	return true;
}

/* Extracting */

static void
say(void *arg, enum extract_level level, const char *name, const char *text)
{
	size_t n = strlen(said);

	(void)arg;
	snprintf(said + n, sizeof(said) - n, "%d %s: %s\n", (int)level,
	    name != NULL ? name : "-", text);
}

static void
say_damage(void *arg, const char *name, uint64_t at, const char *why)
{
	size_t n = strlen(said);

	(void)arg;
	(void)at;
	snprintf(said + n, sizeof(said) - n, "D %s: %s\n", name, why);
}

static void
say_opened(void *arg, const char *place, const char *why)
{
	say_damage(arg, place, 0, why);
}

/* Extracts the image to "out", which is made anew. */
static int
extract(unsigned threads)
{
	struct sq_extract_options o = { .report = say, .damage = say_damage };
	struct sq_file_options from = { .path = path, .threads = 1,
		.memory = 64 << 20, .report = say_opened };
	struct sq_file f;
	const char *why;
	size_t count;
	int rc;

	said[0] = '\0';
	missed = 0;
	if (access("out", F_OK) == 0)
		assert_int_equal(scratch_remove("out"), 0);
	assert_int_equal(mkdir("out", 0700), 0);
	rc = sq_file_open(&f, &from, &why);
	if (rc == 0) {
		o.to = (struct extract_options){ .made_root = true,
			.threads = threads,
			.root = open("out", O_RDONLY | O_DIRECTORY) };
		count = sq_count(f.image);
		o.wanted = malloc(count);
		assert_non_null(o.wanted);
		memset(o.wanted, SQ_IN, count);
		rc = sq_extract(f.image, &o);
		for (size_t n = 0; n < count; n++)
			missed += o.wanted[n] == SQ_MISSED;
		free(o.wanted);
		close(o.to.root);
	}
	sq_file_close(&f);
	return rc;
}

static void
whole(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		assert_int_equal(extract(threads), 0);
		assert_string_equal(said, "");
		list(&got, "out");
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.p, want.p, want.len);
	}
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false },
	{ FAULT_MALLOC, "+:ENOMEM", 0, false },
	{ FAULT_OPENAT, ":EMFILE", 0, false },
	{ FAULT_PREAD, ":EIO", 0, false },
	{ FAULT_PREAD, ":short", 0, false },
	{ FAULT_PREAD, ":end", 0, false },
	{ FAULT_PWRITE, ":ENOSPC", 0, false },
	{ FAULT_PWRITE, ":EIO", 0, false },
	{ FAULT_PWRITE, ":short", 0, false },
	{ FAULT_FTRUNCATE, ":EIO", 0, false },
	{ FAULT_MKDIRAT, ":EIO", 0, false },
	{ FAULT_SYMLINKAT, ":EIO", 0, false },
	{ FAULT_MKNODAT, ":EIO", 0, false },
	{ FAULT_LINKAT, ":EIO", 0, false },
	{ FAULT_STAT, ":EIO", 0, false },
	{ FAULT_CHMOD, ":EIO", 0, false },
	{ FAULT_UTIMENS, ":EIO", 0, false },
	{ FAULT_SETXATTR, ":EIO", 0, false },
	{ FAULT_CLOSE, ":EIO", 0, false },
};

static void
refused(void **state)
{
	struct refused f = { .name = "extract", .refusals = refusals,
		.turns = TURNS, .refusal_count = sizeof(refusals) /
		sizeof(refusals[0]) };
	unsigned reported = 0;
	int rc;

	(void)state;
	assert_true(fault_plan(""));
	rc = extract(1);
	refused_count(&f);
	assert_int_equal(rc, 0);
	assert_string_equal(said, "");
	while (refused_next(&f)) {
		rc = extract(1);
		refused_end(&f);
		if (rc > 0)
			fail_msg("%s: %d", f.call, rc);
		list(&got, "out");
		if (rc == 0 && said[0] == '\0' && (got.len != want.len ||
		    memcmp(got.p, want.p, want.len) != 0))
			fail_msg("%s: another tree, and no report", f.call);
		if (missed > 0 && said[0] == '\0')
			fail_msg("%s: no report of %zu names", f.call, missed);
		reported += rc != 0 || said[0] != '\0';
	}
	assert_true(reported > 50);
}

/* Each stored byte of the data is another; the rest is still extracted. */
static void
damaged(void **state)
{
	struct sq_image *m = made_open(&image);
	struct sq_entry e;
	uint64_t from, until;
	size_t told = 0, tries = 0, parts = 0;
	uint8_t was, is;

	(void)state;
	made_find(m, "large", &e);
	from = e.start;
	until = from + sq_stored(&e);
	sq_close(m);
	for (uint64_t at = from; at < until; at += 7, tries++) {
		assert_int_equal(pread(image.fd, &was, 1, (off_t)at), 1);
		is = was ^ 0x41;
		assert_int_equal(pwrite(image.fd, &is, 1, (off_t)at), 1);
		assert_int_equal(extract(2), 0);
		list(&got, "out");
		/* gzip has a checksum */
		assert_string_not_equal(said, "");
		assert_non_null(strstr(said, "D large: "));
		assert_non_null(strstr(said, "D twin: "));
		assert_null(strstr(said, "small"));
		assert_int_equal(pwrite(image.fd, &was, 1, (off_t)at), 1);
		told++;
		parts += is_part();
	}
	assert_int_equal(told, tries);
	/* zeros instead of a block are not what was in it */
	assert_int_equal(parts, 0);
	assert_true(tries > 20);
}

/* A block that is intact, but has less in it than the file needs. */
static void
too_short(void **state)
{
	const struct sqw_method *gzip = sqw_method_by_name("gzip");
	struct sq_image *m = made_open(&image);
	uint8_t was[MADE_BLOCK], is[MADE_BLOCK];
	struct sqw_codec *c;
	struct sq_entry e;
	uint32_t stored;
	size_t len;

	(void)state;
	made_find(m, "large", &e);
	stored = sq_word_len(sq_word(&e, 0));
	assert_int_equal(sqw_codec_open(&c, gzip, 9, MADE_BLOCK, 0, SQW_OURS),
	    0);
	memset(was, 'z', sizeof(was));
	len = sqw_codec_pack(c, was, MADE_BLOCK - 1, is, sizeof(is));
	sqw_codec_close(c);
	assert_in_range(len, 1, stored);
	assert_int_equal(pread(image.fd, was, stored, (off_t)e.start), stored);
	assert_int_equal(pwrite(image.fd, is, len, (off_t)e.start), len);
	sq_close(m);
	assert_int_equal(extract(1), 0);
	assert_string_equal(said, "D large: the block decompresses to less "
	    "data than expected; replaced by zeros from byte 0 of the file "
	    "onward\nD twin: the block decompresses to less data than "
	    "expected; replaced by zeros from byte 0 of the file onward\n");
	assert_int_equal(pwrite(image.fd, was, stored, (off_t)e.start),
	    stored);
	assert_int_equal(extract(1), 0);
	assert_string_equal(said, "");
}

/* Nothing but tails, in several fragment blocks */
static void
only_tails(void **state)
{
	struct made all = image, small;

	(void)state;
	assert_int_equal(mkdir("small", 0755), 0);
	put_file("small/a", 3000, 1);
	put_file("small/b", 3000, 5);
	put_file("small/c", 3000, 9);
	made_begin(&small, "small");
	assert_int_equal(made_build(&small, &imgsrc_dir), 0);
	assert_int_equal(small.image.data.fragments, 3);
	image = small;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", small.fd);
	assert_int_equal(extract(1), 0);
	assert_string_equal(said, "");
	list(&want, "small");
	list(&got, "out");
	assert_int_equal(got.len, want.len);
	made_end(&small);
	image = all;
}

/* A file of more blocks than are written at a time, some of them holes. */
static void
several_runs(void **state)
{
	enum { LEN = 700 * MADE_BLOCK + 5 };
	static char data[LEN], copy[LEN];
	struct made all = image, runs;
	uint32_t x = 1;
	int fd;

	(void)state;
	for (size_t i = 0; i < LEN; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = i / MADE_BLOCK % 9 == 0 ? 0 : (char)(x >> 28);
	}
	/* a run of holes, too */
	memset(data + 256 * MADE_BLOCK, 0, 256 * MADE_BLOCK);
	assert_int_equal(mkdir("runs", 0755), 0);
	fd = open("runs/a", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, data, LEN), LEN);
	close(fd);
	made_begin(&runs, "runs");
	runs.image.pack.method = sqw_method_by_name("lz4");
	assert_int_equal(made_build(&runs, &imgsrc_dir), 0);
	image = runs;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", runs.fd);
	for (unsigned threads = 1; threads < 4; threads++) {
		assert_int_equal(extract(threads), 0);
		assert_string_equal(said, "");
		memset(copy, 'x', LEN);
		fd = open("out/a", O_RDONLY | O_CLOEXEC);
		assert_int_equal(read(fd, copy, LEN), LEN);
		assert_int_equal(lseek(fd, 0, SEEK_END), LEN);
		close(fd);
		assert_memory_equal(copy, data, LEN);
	}
	made_end(&runs);
	image = all;
}

static int
begin(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 1000 } };
	static const char *const names[] = { "large", "twin", "small", "tail",
		"empty", "hole", "sub/other", "sub", "fifo", "." };

	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	umask(022);
	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(chdir("tree"), 0);
	assert_int_equal(mkdir("sub", 0711), 0);
	put_file("large", 3 * MADE_BLOCK, 1);
	put_file("twin", 3 * MADE_BLOCK, 1);
	put_file("small", 100, 2);
	put_file("tail", 2 * MADE_BLOCK + 9, 3);
	put_file("empty", 0, 0);
	put_file("hole", 0, 0);
	assert_int_equal(truncate("hole", 3 * MADE_BLOCK), 0);
	put_file("sub/other", 200, 4);
	/* directories of one name, with files of one name */
	for (char top[] = "p"; *top < 't'; ++*top) {
		char name[16];

		assert_int_equal(mkdir(top, 0755), 0);
		snprintf(name, sizeof(name), "%s/same", top);
		assert_int_equal(mkdir(name, 0755), 0);
		snprintf(name, sizeof(name), "%s/same/file", top);
		put_file(name, 20, (unsigned)*top);
		assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
		snprintf(name, sizeof(name), "%s/same", top);
		assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
		assert_int_equal(utimensat(AT_FDCWD, top, times, 0), 0);
	}
	assert_int_equal(mkfifo("fifo", 0640), 0);
	assert_int_equal(chmod("sub/other", 0600), 0);
	assert_int_equal(link("small", "sub/link"), 0);
	assert_int_equal(symlink("sub/other", "soft"), 0);
	has_xattrs = setxattr("small", "user.x", "value", 5, 0) == 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(utimensat(AT_FDCWD, names[i], times, 0), 0);
	assert_int_equal(utimensat(AT_FDCWD, "soft", times,
	    AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(chdir(".."), 0);
	list(&want, "tree");
	made_begin(&image, "tree");
	image.image.o.no_xattrs = !has_xattrs;
	image.image.pack.method = sqw_method_by_name("gzip");
	image.image.pack.level = 9;
	image.image.pack.tails = true;
	assert_int_equal(made_build(&image, &imgsrc_dir), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", image.fd);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	made_end(&image);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(refused),
		cmocka_unit_test(damaged),
		cmocka_unit_test(too_short),
		cmocka_unit_test(only_tails),
		cmocka_unit_test(several_runs),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
