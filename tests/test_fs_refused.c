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

/* Called once, when the first bytes are to be read. */
static void (*at_first)(void);

static void
on_progress(void *arg, uint64_t bytes)
{
	void (*change)(void) = at_first;

	*(uint64_t *)arg += bytes;
	at_first = NULL;
	if (change != NULL)
		change();
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

/* The space of the metadata and of the data in the last row. */
static uint64_t metadata_B, physical_B;

static int
take_metadata(void *arg, const struct fs_row *r)
{
	(void)arg;
	metadata_B = r->metadata_B;
	physical_B = r->physical_B;
	return 0;
}

/* Lists a directory and, once it has changed, gives it to a model. */
static void
measure(const struct fs_model *m, const char *algorithm, const char *path,
    void (*change)(void), bool warns)
{
	const struct fs_params params = { .ashift = 12, .recordsize = BLOCK,
		.copies = 1, .dnodesize = 512, .special = UINT64_MAX,
		.block = BLOCK };
	struct fs_list l = { .with_children = true };
	struct packer_name name;
	uint64_t bytes = 0;
	struct fs_job job = { .model = m, .list = &l, .params = &params,
		.algorithms = &name, .count = 1, .threads = 1,
		.on_error = on_error, .on_progress = on_progress,
		.row = take_metadata, .arg = &bytes };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(packer_by_name(m->kinds, algorithm, &name), 0);
	assert_int_equal(fs_list_add(&l, fd, 1), 0);
	assert_int_equal(fs_list_end(&l), 0);
	if (change != NULL)
		change();
	got.warned = false;
	assert_int_equal(m->run(&job), 0);
	assert_int_equal(got.warned, warns);
	fs_list_free(&l);
}

/*
 * What mksquashfs writes of a compressor's options: a length, then 8 bytes, or
 * 4 for zstd, unless all are the usual ones.  So little is compressed in the
 * same way by all levels.
 */
static void
squashfs_options(void **state)
{
	static const struct {
		const char *usual, *other;
		unsigned more;
	} options[] = { { "gzip-9", "gzip-6", 10 }, { "gzip", "gzip-8", 10 },
	    { "zstd-15", "zstd-3", 6 }, { "zstd-15", "zstd-22", 6 } };
	uint64_t least;

	(void)state;
	assert_int_equal(mkdir("nothing", 0755), 0);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		measure(&fs_model_squashfs, options[i].usual, "nothing", NULL,
		    false);
		least = metadata_B;
		measure(&fs_model_squashfs, options[i].other, "nothing", NULL,
		    false);
		assert_int_equal(metadata_B, least + options[i].more);
	}
}

static void
remove_link(void)
{
	assert_int_equal(unlink("linked/soft"), 0);
}

/* A link that is gone takes as much as before. */
static void
link_is_gone(void **state)
{
	uint64_t before;

	(void)state;
	assert_int_equal(mkdir("linked", 0755), 0);
	assert_int_equal(symlink("a target of some length", "linked/soft"), 0);
	measure(&fs_model_squashfs, "off", "linked", NULL, false);
	before = metadata_B;
	measure(&fs_model_squashfs, "off", "linked", remove_link, false);
	assert_int_equal(metadata_B, before);
	assert_int_equal(symlink("a target of some length", "linked/soft"), 0);
	measure(&fs_model_zfs, "off", "linked", remove_link, true);
}

/* A chunk that begins with zeros, but goes on with what does not shrink. */
static void
not_zeros(void **state)
{
	enum { CHUNK = 512 << 10 };
	static const uint8_t zeros[2 * CHUNK];
	int fd;

	(void)state;
	assert_int_equal(mkdir("chunks", 0755), 0);
	/* it comes after zeros that are no hole */
	fd = open("chunks/a", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	close(fd);
	put_file("chunks/file", CHUNK + 4096, CHUNK - 4096, true);
	measure(&fs_model_btrfs, "zlib-1", "chunks", NULL, false);
	assert_true(physical_B >= CHUNK - 4096);
	assert_int_equal(unlink("chunks/file"), 0);
	measure(&fs_model_btrfs, "zlib-1", "chunks", NULL, false);
	assert_true(physical_B < CHUNK / 4);
}

static void
fill_hole(void)
{
	int fd = open("sparse/file", O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "new", 3, 5 << 19), 3);
	close(fd);
}

static void
fill_hole_later(void)
{
	at_first = fill_hole;
}

static void
shorten(void)
{
	assert_int_equal(truncate("sparse/file", 100), 0);
}

static void
remove_file(void)
{
	assert_int_equal(unlink("sparse/file"), 0);
}

/*
 * Data that was a hole, which only btrfs's list of chunks knows, a file that is
 * shorter, and one that is gone.
 */
static void
files_change(void **state)
{
	static void (*const changes[])(void) = { NULL, fill_hole_later, shorten,
		remove_file };

	(void)state;
	assert_int_equal(mkdir("sparse", 0755), 0);
	for (size_t m = 0; fs_models[m] != NULL; m++)
		for (size_t i = 0; i < 4; i++) {
			unlink("sparse/file");
			put_file("sparse/file", 4 << 20, 50, false);
			measure(fs_models[m], "off", "sparse", changes[i],
			    i > 1 || (i == 1 &&
			    fs_models[m] == &fs_model_btrfs));
		}
}

static int
begin_all(void **state)
{
	int fd;

	(void)state;
	if (scratch_enter(dir) != 0)
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
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(squashfs_options),
		cmocka_unit_test(link_is_gone),
		cmocka_unit_test(files_change),
		cmocka_unit_test(not_zeros),
		cmocka_unit_test(of_zfs),
		cmocka_unit_test(of_zfs_fuse),
		cmocka_unit_test(of_btrfs),
		cmocka_unit_test(of_squashfs),
		cmocka_unit_test(of_sqpack),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
