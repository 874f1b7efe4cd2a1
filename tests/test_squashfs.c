/*
 * test_squashfs.c - an image gives the same rows as its source tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs_tree.h"

#include <errno.h>

/* Makes an image of the tree.  Returns mksquashfs's status. */
static int
make_image(const char *how)
{
	char command[200];

	snprintf(command, sizeof(command), "mksquashfs tree image %s "
	    "-noappend -no-progress >/dev/null 2>&1", how);
	return shell(command);
}

/* Checks that the directory and the image give the same rows. */
static void
same_as_tree(const char *image, uint64_t offset, unsigned threads,
    struct walk_log *tree)
{
	struct walk_log log = { 0 };
	struct walk_options o = options(threads, &log);
	struct walk_result r;
	const char *why = NULL;
	int fd = open(image, O_RDONLY | O_CLOEXEC);

	assert_int_equal(walk_squashfs.probe(fd, offset), 1);
	assert_int_equal(walk_squashfs.walk(fd, offset, &o, &r, &why), 0);
	assert_null(why);
	walk_log_sort(&log);
	assert_int_equal(log.count, tree->count);
	for (size_t i = 0; i < log.count; i++)
		assert_string_equal(log.line[i], tree->line[i]);
	assert_int_equal(log.damaged, 0);
	assert_int_equal(r.errors, 0);
	assert_int_equal(r.links, 1);
	assert_int_equal(r.others, 1);
	assert_true(r.duplicates >= 1);
	close(fd);
	walk_log_free(&log);
}

static void
walk_tree(struct walk_log *log)
{
	struct walk_options o = options(2, log);
	struct walk_result r;
	int fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(walk_dir(fd, NULL, &o, &r), 0);
	assert_int_equal(r.errors, 0);
	walk_log_sort(log);
	close(fd);
}

static void
every_compressor(void **state)
{
	static const char *const how[] = {
		"-comp gzip", "-comp gzip -b 4096", "-comp zstd -b 1M",
		"-comp zstd -Xcompression-level 1", "-comp lz4 -b 64K",
		"-comp lz4 -Xhc", "-comp xz -Xbcj x86", "-comp xz -b 8K",
		"-comp lzma", "-comp lzo", "-noI -noD -noF -noX",
		"-no-fragments", "-always-use-fragments", "-no-duplicates",
		"-no-exports -no-xattrs -nopad", "-comp zstd -no-sparse",
		"-noI", "-noD", "-noF -comp zstd"
	};
	struct walk_log tree = { 0 };
	unsigned done = 0;

	(void)state;
	walk_tree(&tree);
	assert_true(tree.count > 700);
	for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
		if (make_image(how[i]) != 0) {
			print_message("mksquashfs cannot: %s\n", how[i]);
			continue;
		}
#ifndef COLDPRESS_LZO
		if (strstr(how[i], "lzo") != NULL)
			continue;
#endif
		for (unsigned threads = 1; threads <= 4; threads++)
			same_as_tree("image", 0, threads, &tree);
		done++;
	}
	assert_true(done >= 10);
	walk_log_free(&tree);
}

/* An image may be preceded and followed by other data. */
static void
at_an_offset(void **state)
{
	struct walk_log tree = { 0 };

	(void)state;
	walk_tree(&tree);
	assert_int_equal(make_image("-nopad"), 0);
	assert_int_equal(shell("{ head -c 12345 /dev/urandom; cat image; "
	    "echo a signature; } >moved"), 0);
	same_as_tree("moved", 12345, 2, &tree);
	walk_log_free(&tree);
}

/* A row: path, type, size, error and digest, separated by bars. */
static void
begins(const char *row, const char *with)
{
	assert_int_equal(strncmp(row, with, strlen(with)), 0);
}

static void
only_some(void **state)
{
	static const char *const only[] = { "byte", "many",
	    "many/a file number 7", "not there", "soft" };
	struct walk_log log = { 0 };
	struct walk_options o = options(2, &log);
	struct walk_result r;
	const char *why;
	int fd;

	(void)state;
	assert_int_equal(make_image(""), 0);
	fd = open("image", O_RDONLY | O_CLOEXEC);
	o.only = only;
	o.only_count = 5;
	assert_int_equal(walk_squashfs.walk(fd, 0, &o, &r, &why), 0);
	walk_log_sort(&log);
	assert_int_equal(log.count, 5);
	begins(log.line[0], "byte|0|1|0|");
	begins(log.line[1], "many/a file number 7|0|91|0|");
	begins(log.line[2], "many|1|0|-21|");
	begins(log.line[3], "not there|3|0|-2|");
	begins(log.line[4], "soft|2|0|0|");
	assert_int_equal(r.errors, 2);
	close(fd);
	walk_log_free(&log);
}

/*
 * Tests files longer than all buffers together, with and without tails, so that
 * threads run out of buffers and take from each other's queues.
 */
static void
large_files(void **state)
{
	static const char *const how[] = { "-b 1M -comp lz4", "-comp zstd",
		"-b 4096 -comp lz4 -no-fragments", "-noD -noF",
		"-always-use-fragments -comp lz4 -b 64K" };
	static const char *const hashes[] = { "sha256", "md5", "none" };
	struct digest_algo *sha256 = algo;

	(void)state;
	assert_int_equal(shell("rm -rf tree.small && mv tree tree.small && "
	    "mkdir tree && cp -a tree.small/many tree/ && "
	    "seq 4000000 >tree/1 && seq 3 2000000 >tree/2 && "
	    "head -c 9437184 tree/1 >tree/3 && cp tree/2 tree/4 && "
	    "truncate -s 50M tree/5 && echo x >>tree/5 && "
	    "ln -s x tree/link && mkfifo tree/fifo"), 0);
	for (size_t h = 0; h < 3; h++) {
		struct walk_log tree = { 0 };

		assert_int_equal(digest_algo_open(&algo, hashes[h]), 0);
		walk_tree(&tree);
		for (size_t i = 0; i < sizeof(how) / sizeof(*how); i++) {
			if (make_image(how[i]) != 0)
				continue;
			for (unsigned threads = 1; threads <= 9; threads += 2)
				same_as_tree("image", 0, threads, &tree);
		}
		walk_log_free(&tree);
		digest_algo_close(algo);
	}
	algo = sha256;
	assert_int_equal(shell("rm -rf tree && mv tree.small tree"), 0);
}

/* The state of a callback that fails at a given row. */
struct ending {
	unsigned rows, last;
};

static int
end_at_row(void *arg, const struct walk_file *f)
{
	struct ending *e = arg;

	(void)f;
	return ++e->rows == e->last ? -EDOM : 0;
}

/* A walk that ends early leaves no thread waiting. */
static void
ended_early(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(shell("mkdir big && seq 1500000 >big/1 && "
	    "seq 2 1200000 >big/2 && cp -a tree/many big/ && "
	    "mksquashfs big image -noappend -b 1M -comp lz4 -no-progress "
	    ">/dev/null; rm -rf big"), 0);
	fd = open("image", O_RDONLY | O_CLOEXEC);
	for (unsigned threads = 1; threads <= 8; threads++)
		for (unsigned last = 1; last < 300; last += 37) {
			struct ending e = { 0, last };
			struct walk_options o = options(threads, NULL);
			struct walk_result r;
			const char *why;

			o.row = end_at_row;
			o.damage = NULL;
			o.arg = &e;
			assert_int_equal(walk_squashfs.walk(fd, 0, &o, &r,
			    &why), -EDOM);
		}
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_compressor),
		cmocka_unit_test(at_an_offset),
		cmocka_unit_test(only_some),
		cmocka_unit_test(large_files),
		cmocka_unit_test(ended_early),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
