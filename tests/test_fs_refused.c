/*
 * test_fs_refused.c - models of filesystems whose calls are refused in turn
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of a run fails in turn: the run must report
 * that, or give the same rows as ever, and free and close what it has.
 */
#include "suffers.h"

#include "base/sys.h"
#include "engine/packer/packer.h"
#include "fs/fs_model.h"
#include "scratch.h"
#include "walk/fs_list.h"

#include <sys/stat.h>
#include <sys/xattr.h>

enum { ALGORITHMS = 3, BLOCK = 16 << 10 };

static char dir[SCRATCH_B];

/* What the models are asked about. */
static struct fs_list list;

static const struct fs_model *model;
static const char *const *algorithms;
static unsigned threads = 1;

/* Rows to be taken, after which one is refused. */
static unsigned rows_left;

static void
put_file(const char *path, off_t at, size_t len, bool noise)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0640);
	uint8_t *p = malloc(len);
	uint32_t seed = 7;

	assert_true(fd >= 0);
	assert_non_null(p);
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(noise ? seed >> 16 : 'a' + i * i / 9 % 23);
	}
	assert_int_equal(pwrite(fd, p, len, at), len);
	free(p);
	close(fd);
}

static void
on_error(void *arg, size_t item, int err)
{
	(void)arg;
	assert_in_range(item, 0, list.count - 1);
	assert_true(err < 0);
	got.warned = true;
}

static void
on_progress(void *arg, uint64_t bytes)
{
	*(uint64_t *)arg += bytes;
}

static int
take_row(void *arg, const struct fs_row *r)
{
	(void)arg;
	if (rows_left-- == 0)
		return -ENOMEM;
	take_text(r->algorithm);
	take_number((uint64_t)r->size_from_B);
	take_number(r->files);
	take_number(r->apparent_B);
	take_number(r->logical_B);
	take_number(r->physical_B);
	take_number(r->whole_B);
	take_number(r->metadata_B);
	take_number(r->padding_B);
	assert_true(r->metadata_B <= r->whole_B);
	return 0;
}

static int
run(void)
{
	struct fs_params params = { .ashift = 12, .recordsize = BLOCK,
		.early_abort = true, .copies = 1, .dnodesize = 512,
		.special = UINT64_MAX, .block = BLOCK };
	struct packer_name names[ALGORITHMS];
	uint64_t bytes = 0;
	struct fs_job job = { .model = model, .list = &list,
		.params = &params, .algorithms = names, .count = ALGORITHMS,
		.threads = threads, .by_size = true, .on_error = on_error,
		.on_progress = on_progress, .row = take_row, .arg = &bytes };

	for (unsigned i = 0; i < ALGORITHMS; i++)
		assert_int_equal(packer_by_name(model->kinds, algorithms[i],
		    &names[i]), 0);
	return model->run(&job);
}

/* A model, whose rows are refused one after another, too. */
static void
suffers_model(const struct fs_model *m, const char *const names[ALGORITHMS])
{
	unsigned rows;

	model = m;
	algorithms = names;
	rows_left = UINT32_MAX;
	suffers(m->name, run);
	rows_left = UINT32_MAX;
	assert_int_equal(suffers_once(run), 0);
	rows = UINT32_MAX - rows_left;
	assert_true(rows >= ALGORITHMS);
	for (unsigned i = 0; i < rows; i++) {
		rows_left = i;
		assert_int_equal(suffers_once(run), -ENOMEM);
	}
}

static void
of_zfs(void **state)
{
	static const char *const names[] = { "off", "lz4", "zstd-3" };

	(void)state;
	suffers_model(&fs_model_zfs, names);
}

static void
of_zfs_fuse(void **state)
{
	static const char *const names[] = { "off", "zle", "gzip-1" };

	(void)state;
	suffers_model(&fs_model_zfs_fuse, names);
}

static void
of_btrfs(void **state)
{
	static const char *const names[] = { "off", "zlib-1", "zstd-1" };

	(void)state;
	suffers_model(&fs_model_btrfs, names);
}

static void
of_squashfs(void **state)
{
	static const char *const names[] = { "off", "lz4", "gzip-1" };

	(void)state;
	suffers_model(&fs_model_squashfs, names);
}

static void
of_sqpack(void **state)
{
	static const char *const names[] = { "off", "lz4", "zstd-1" };

	(void)state;
	threads = 2;
	suffers_model(&fs_model_sqpack, names);
	threads = 1;
}

static int
begin_all(void **state)
{
	int fd;

	(void)state;
	if (scratch_make(dir) == NULL || chdir(dir) != 0)
		return 1;
	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/sub", 0755), 0);
	assert_int_equal(mkdir("tree/sub/empty", 0755), 0);
	put_file("tree/small", 0, 90, false);
	put_file("tree/a", 0, 3 * BLOCK + 5, false);
	put_file("tree/sub/noise", 0, BLOCK + 100, true);
	put_file("tree/sub/a name of more than fifty bytes, which is too long "
	    "for a small directory", 0, 5000, false);
	put_file("tree/sub/none", 0, 0, false);
	put_file("tree/sub/hole", 3 << 20, 3000, false);
	assert_int_equal(link("tree/a", "tree/sub/hard"), 0);
	assert_int_equal(symlink("sub/noise", "tree/soft"), 0);
	assert_int_equal(mkfifo("tree/pipe", 0600), 0);
	setxattr("tree/a", "user.x", "value", 5, 0);
	setxattr("tree/sub", "trusted.x", "value", 5, 0);
	/* what a compressor cannot do, does not shrink */
	suffers_kinds = ~SUFFERS_KIND(LIBRARY);
	fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	list.with_children = true;
	assert_int_equal(fs_list_add(&list, fd, 1), 0);
	assert_int_equal(fs_list_end(&list), 0);
	assert_int_equal(list.count, 12);
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	fs_list_free(&list);
	return chdir("/") != 0 || scratch_remove(dir) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_zfs),
		cmocka_unit_test(of_zfs_fuse),
		cmocka_unit_test(of_btrfs),
		cmocka_unit_test(of_squashfs),
		cmocka_unit_test(of_sqpack),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
