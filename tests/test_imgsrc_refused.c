/*
 * test_imgsrc_refused.c - images whose building, reading or checking is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of a run fails in turn.  The run must report
 * that, or give the same bytes or rows as ever, and free what it has.
 */
#include "refused.h"

#include "base/sys.h"
#include "imgsrc_made.h"
#include "image/verity.h"
#include "tar_made.h"
#include "walk_log.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { MOST = 1 << 20, TURNS = 120 };

/* What a run made, and what it said of what it left out. */
static struct {
	size_t len;
	uint8_t p[MOST];
	uint64_t blocks, copied;	/* copied: of another image */
	bool warned;
} got, want;

static char dir[SCRATCH_B];

/* The images that the runs read, and copy blocks from. */
static int image_fd, base_fd;
static char image_path[64], base_path[64];

static void
put_file(const char *path, size_t len, unsigned seed)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < len; i++)
		fputc((int)(seed + i * i / 9 % 50), f);
	assert_int_equal(fclose(f), 0);
}

static void
put_tar(void)
{
	static const char *const records[] = { "SCHILY.xattr.user.a=one",
		NULL };
	static struct archive a;
	char data[3 * MADE_BLOCK];
	FILE *f = fopen("tar", "w");
	uint8_t *h;

	assert_non_null(f);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i * i % 23);
	begin(&a);
	sum(add(&a, '5', "dir", "", 0));
	add_records(&a, 'x', records);
	sum(add(&a, '0', "dir/large", data, sizeof(data)));
	sum(add(&a, '0', "dir/small", "small", 5));
	sum(add(&a, '0', "twin", data, sizeof(data)));
	h = add(&a, '1', "link", "", 0);
	strcpy((char *)h + 157, "dir/small");
	sum(h);
	a.len += 1024;
	assert_int_equal(fwrite(a.data, 1, a.len, f), a.len);
	assert_int_equal(fclose(f), 0);
}

static void
take(const void *p, size_t len)
{
	assert_true(len <= MOST - got.len);
	memcpy(got.p + got.len, p, len);
	got.len += len;
}

/* Builds an image, whose bytes are what was made. */
static int
build(struct made *m, const struct imgsrc_source *source)
{
	int rc;

	m->image.pack.threads = 1;
	m->image.o.has_mtime = true;
	rc = made_build(m, source);
	if (rc == 0) {
		off_t len = lseek(m->fd, 0, SEEK_END);

		assert_in_range(len, 1, MOST);
		got.len = (size_t)len;
		assert_int_equal(pread(m->fd, got.p, got.len, 0), len);
		got.copied = m->image.data.copied;
		got.blocks = m->image.data.blocks;
	}
	got.warned = m->said[0] != '\0';
	return rc;
}

static int
build_dir(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tree");
	m.image.o.no_xattrs = false;
	rc = build(&m, &imgsrc_dir);
	made_end(&m);
	return rc;
}

/* As mksquashfs cuts files and finds twins. */
static int
build_exact(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tree");
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = 9;
	m.image.pack.exact = m.image.pack.tails = true;
	rc = build(&m, &imgsrc_dir);
	made_end(&m);
	return rc;
}

/* Inodes in the order of their numbers */
static int
build_gensquashfs(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tree");
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = 9;
	m.image.pack.gensquashfs = m.image.tables.gensquashfs = true;
	rc = build(&m, &imgsrc_dir);
	made_end(&m);
	return rc;
}

static int
build_order(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tree");
	m.image.o.order = "list";
	m.image.o.order_text = "sub/b\nd\n";
	rc = build(&m, &imgsrc_dir);
	made_end(&m);
	return rc;
}

static int
build_tar(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tar");
	m.image.o.no_xattrs = false;
	rc = build(&m, &imgsrc_tar);
	made_end(&m);
	return rc;
}

/* The listed files wait for all others in a file of their own. */
static int
build_tar_order(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tar");
	m.image.o.order = "list";
	m.image.o.order_text = "twin\ndir/small\n";
	rc = build(&m, &imgsrc_tar);
	made_end(&m);
	return rc;
}

static int
repack(int level)
{
	struct made m;
	int rc;

	made_begin(&m, image_path);
	m.image.o.no_xattrs = false;
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = level;
	rc = build(&m, &imgsrc_repack);
	made_end(&m);
	return rc;
}

static int
build_repack(void)
{
	return repack(6);
}

/* The blocks are those of the image. */
static int
build_copy(void)
{
	return repack(9);
}

static int
build_base(void)
{
	struct made m;
	int rc;

	made_begin(&m, "tree");
	m.image.o.base = base_path;
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = 9;
	rc = build(&m, &imgsrc_dir);
	made_end(&m);
	return rc;
}

/* The image is made from its files once more, and compared. */
static int
rebuild(void)
{
	struct sq_file_options o = { .path = image_path, .threads = 1,
		.memory = 64 << 20 };
	struct imgsrc_difference d;
	const char *why;
	struct sq_file f;
	struct made m;
	int rc;

	made_begin(&m, image_path);
	m.image.o.no_xattrs = false;
	m.image.pack.method = NULL;
	rc = build(&m, &imgsrc_rebuild);
	if (rc == 0) {
		rc = sq_file_open(&f, &o, &why);
		if (rc == 0)
			rc = imgsrc_compare(&f, m.fd, &d);
		/* one that ends sooner is another image */
		if (rc == 1 && (d.old_ends || d.made_ends))
			rc = -ENODATA;
		sq_file_close(&f);
	}
	made_end(&m);
	return rc;
}

static void
tell(void *arg, uint64_t at, const char *why)
{
	(void)arg;
	(void)at;
	(void)why;
	got.warned = true;
}

static int
take_xattr(void *arg, const char *name, const void *value, size_t len)
{
	(void)arg;
	take(name, strlen(name));
	take(value, len);
	return 0;
}

/* All names, their attributes and their blocks */
static int
read_image(void)
{
	static uint8_t block[MADE_BLOCK];
	struct sq_decoder *d = NULL;
	struct sq_image *m;
	const char *why = NULL;
	char *path = NULL;
	size_t cap = 0;
	int rc = sq_open(&m, image_fd, 0, 1, 64 << 20, tell, NULL, &why);

	if (rc != 0)
		return rc;
	rc = sq_decoder_open(&d, m);
	for (size_t n = 0; rc == 0 && n < sq_count(m); n++) {
		struct sq_entry e;
		uint64_t at;
		int64_t made;

		sq_get(m, n, &e);
		at = e.start;
		rc = sq_path(m, n, &path, &cap);
		if (rc == 0)
			take(path, strlen(path));
		take(&e.mode, sizeof(e.mode));
		take(&e.uid, sizeof(e.uid));
		got.warned |= !e.has_owner;
		if (rc == 0 && e.xattr != SQUASHFS_NONE)
			rc = sq_xattrs(m, e.xattr, take_xattr, NULL);
		for (uint32_t k = 0; rc == 0 && k < e.blocks; k++) {
			made = sq_unpack(d, at, sq_word(&e, k),
			    sq_block_len(m, &e, k), block, &why);
			rc = made < 0 ? (int)made : 0;
			at += sq_word_len(sq_word(&e, k));
			if (rc == 0)
				take(block, (size_t)made);
		}
	}
	sys_free(path);
	sq_decoder_close(d);
	sq_close(m);
	return rc;
}

static int
walk_image(void)
{
	struct digest_algo *algo;
	struct walk_log log = { 0 };
	struct walk_result r;
	const char *why = NULL;
	int rc = digest_algo_open(&algo, "sha256");
	struct walk_options o = { .threads = 1, .row = walk_log_row,
	    .damage = walk_log_damage, .arg = &log };

	if (rc != 0)
		return rc;
	o.digest = algo;
	rc = walk_squashfs.walk(image_fd, 0, &o, &r, &why);
	walk_log_sort(&log);
	for (size_t i = 0; i < log.count; i++)
		take(log.line[i], strlen(log.line[i]));
	got.warned |= log.damaged > 0 || r.errors > 0;
	walk_log_free(&log);
	digest_algo_close(algo);
	return rc;
}

/* A hash tree of two levels is added to a copy, and read. */
static int
hash_tree(void)
{
	static uint8_t data[200 * VERITY_BLOCK_B];
	uint8_t root[VERITY_HASH_B];
	struct verity *v;
	const char *why;
	uint64_t end;
	int fd = memfd_create("verity", MFD_CLOEXEC), rc;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i >> 5);
	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	rc = verity_append(fd, sizeof(data), 1, root, &end);
	if (rc == 0) {
		take(root, sizeof(root));
		rc = verity_open(&v, fd, 0, sizeof(data), root, &why);
	}
	if (rc == 0) {
		int64_t n = verity_pread(v, data, 10000, 5000);

		rc = n < 0 ? (int)n : 0;
		if (rc == 0)
			take(data, (size_t)n);
		verity_close(v);
	}
	close(fd);
	return rc;
}

/* A tree of a single block has no levels. */
static int
hash_block(void)
{
	uint8_t data[VERITY_BLOCK_B] = "one", root[VERITY_HASH_B];
	struct verity *v;
	const char *why;
	uint64_t end;
	int fd = memfd_create("verity", MFD_CLOEXEC), rc;

	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	rc = verity_append(fd, sizeof(data), 1, root, &end);
	if (rc == 0) {
		take(root, sizeof(root));
		rc = verity_open(&v, fd, 0, sizeof(data), root, &why);
	}
	if (rc == 0)
		verity_close(v);
	close(fd);
	return rc;
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false },
	{ FAULT_MALLOC, "+:ENOMEM", 0, false },
	{ FAULT_READ, ":EIO", 0, false },
	{ FAULT_READ, ":short", 0, false }, { FAULT_READ, ":end", 0, false },
	{ FAULT_PREAD, ":EIO", 0, false },
	{ FAULT_PREAD, ":short", 0, false },
	{ FAULT_PREAD, ":end", 0, false },
	{ FAULT_WRITE, ":ENOSPC", 0, false },
	{ FAULT_WRITE, ":short", 0, false },
	{ FAULT_PWRITE, ":ENOSPC", 0, false },
	{ FAULT_LSEEK, ":EIO", 0, false },
	{ FAULT_FTRUNCATE, ":EIO", 0, false },
	{ FAULT_DUP, ":EMFILE", 0, false },
	{ FAULT_GETDENTS, ":EIO", 0, false },
	{ FAULT_STAT, ":EIO", 0, false },
	{ FAULT_READLINKAT, ":EIO", 0, false },
	{ FAULT_GETXATTR, ":EIO", 0, false },
	{ FAULT_OPENAT, ":EMFILE", -EMFILE, false },
	{ FAULT_THREAD, ":EAGAIN", 0, false },
};

static int
once(int (*run)(void))
{
	got.len = got.copied = 0;
	got.warned = false;
	return run();
}

/* Each call is refused in turn, or that call and all later ones. */
static void
suffers(const char *name, int (*run)(void))
{
	struct refused f = { .name = name, .refusals = refusals,
		.turns = TURNS, .refusal_count = sizeof(refusals) / sizeof(refusals[0]) };
	int rc;

	assert_true(fault_plan(""));
	rc = once(run);
	if (rc != 0 || got.warned)
		fail_msg("%s: %d", name, rc);
	refused_count(&f);
	want = got;
	while (refused_next(&f)) {
		rc = once(run);
		refused_end(&f);
		if (rc > 0 || (rc == 0 && !got.warned &&
		    (got.len != want.len ||
		    memcmp(got.p, want.p, got.len) != 0)))
			fail_msg("%s, %s: %d, other bytes", name, f.call, rc);
		if (rc != 0 && f.refusal->want != 0 && rc != f.refusal->want)
			fail_msg("%s, %s: %d", name, f.call, rc);
		/* a block that cannot be read is not copied, and that is all */
		if (rc == 0 && f.refusal->kind == FAULT_MALLOC &&
		    got.copied != want.copied)
			fail_msg("%s, %s: not copied", name, f.call);
	}
}

#define SUFFERS(run) suffers(#run, run)

static void
building(void **state)
{
	(void)state;
	SUFFERS(build_dir);
	SUFFERS(build_exact);
	SUFFERS(build_gensquashfs);
	SUFFERS(build_order);
	SUFFERS(build_tar);
	SUFFERS(build_tar_order);
	SUFFERS(build_base);
	assert_int_equal(want.copied, want.blocks);
	SUFFERS(build_repack);
	assert_int_equal(want.copied, 0);
	SUFFERS(build_copy);
	assert_int_equal(want.copied, want.blocks);
	SUFFERS(rebuild);
}

static void
reading(void **state)
{
	(void)state;
	SUFFERS(read_image);
	SUFFERS(walk_image);
}

static void
verifying(void **state)
{
	(void)state;
	SUFFERS(hash_tree);
	SUFFERS(hash_block);
}

/* Makes an image by gzip, so that reading it takes memory. */
static int
packed_image(const struct imgsrc_source *source, const char *from, char *path)
{
	static struct made m;
	int fd;

	made_begin(&m, from);
	m.image.o.no_xattrs = false;
	m.image.pack.method = sqw_method_by_name("gzip");
	m.image.pack.level = 9;
	assert_int_equal(build(&m, source), 0);
	fd = dup(m.fd);
	made_end(&m);
	snprintf(path, sizeof(image_path), "/proc/self/fd/%d", fd);
	return fd;
}

static int
begin_all(void **state)
{
	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/sub", 0755), 0);
	put_file("tree/a", 3 * MADE_BLOCK + 5, 1);
	put_file("tree/sub/b", 100, 2);
	put_file("tree/sub/c", 2 * MADE_BLOCK, 3);
	put_file("tree/d", 3 * MADE_BLOCK + 5, 1);
	assert_int_equal(link("tree/a", "tree/hard"), 0);
	assert_int_equal(symlink("sub/c", "tree/soft"), 0);
	setxattr("tree/a", "user.x", "value", 5, 0);
	put_tar();
	assert_true(fault_plan(""));
	image_fd = packed_image(&imgsrc_tar, "tar", image_path);
	base_fd = packed_image(&imgsrc_dir, "tree", base_path);
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	close(image_fd);
	close(base_fd);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(building),
		cmocka_unit_test(reading),
		cmocka_unit_test(verifying),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
