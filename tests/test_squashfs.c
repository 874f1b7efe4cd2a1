/*
 * test_squashfs.c - an image gives the same rows as its source tree
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The images are made by mksquashfs; without it, this test is skipped.
 */
#include "base/bytes.h"
#include "scratch.h"
#include "walk_log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct digest_algo *algo;
static char dir[SCRATCH_B];

static void
put(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Makes files of many lengths, compressible and incompressible. */
static void
make_tree(void)
{
	static char data[700001];
	uint32_t seed = 5;
	char path[300];
	int fd;

	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/many", 0755), 0);
	assert_int_equal(mkdir("tree/empty", 0755), 0);
	for (size_t i = 0; i < sizeof(data); i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (char)(i / 30000 % 3 == 0 ? seed >> 24 :
		    (unsigned)"wide cold image of a disk"[seed >> 28]);
	}
	put("tree/nothing", data, 0);
	put("tree/byte", data, 1);
	put("tree/4096", data, 4096);
	put("tree/4097", data, 4097);
	put("tree/131072", data, 131072);
	put("tree/131073", data + 1, 131073);
	put("tree/large", data, sizeof(data));
	put("tree/many/twin", data, sizeof(data));
	put("tree/new\nline\\", data + 77, 1000);
	for (int i = 0; i < 700; i++) {
		snprintf(path, sizeof(path), "tree/many/a file number %d", i);
		put(path, data + i * 7, (size_t)(i * 13 % 3000));
	}
	memset(path, 'n', 255);
	memcpy(path, "tree/", 5);
	path[5 + 255] = '\0';
	memset(path + 5, 'n', 255);
	put(path, data, 300);
	fd = open("tree/holes", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 3000000), 0);
	assert_int_equal(pwrite(fd, data, 9000, 1500000), 9000);
	close(fd);
	fd = open("tree/void", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 400000), 0);
	close(fd);
	assert_int_equal(link("tree/large", "tree/hard"), 0);
	assert_int_equal(symlink("large", "tree/soft"), 0);
	assert_int_equal(mkfifo("tree/pipe", 0600), 0);
}

static int
shell(const char *command)
{
	int rc = system(command);

	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

/* Makes an image of the tree.  Returns mksquashfs's status. */
static int
make_image(const char *how)
{
	char command[200];

	snprintf(command, sizeof(command), "mksquashfs tree image %s "
	    "-noappend -no-progress >/dev/null 2>&1", how);
	return shell(command);
}

static int
begin(void **state)
{
	(void)state;
	if (shell("mksquashfs -version >/dev/null 2>&1") > 1)
		exit(77);
	if (scratch_make(dir) == NULL || chdir(dir) == -1)
		return -1;
	make_tree();
	return digest_algo_open(&algo, "sha256");
}

static int
end(void **state)
{
	char command[SCRATCH_B + 16];

	(void)state;
	digest_algo_close(algo);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return shell(command);
}

static struct walk_options
options(unsigned threads, struct walk_log *log)
{
	return (struct walk_options){ .threads = threads, .digest = algo,
	    .row = walk_log_row, .damage = walk_log_damage, .arg = log };
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

/*
 * Copies the image in memory, with one byte changed, or truncated at that byte.
 */
static int
damaged(const uint8_t *p, size_t len, size_t at, uint8_t flip, bool cut)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	uint8_t b = p[at] ^ flip;

	assert_int_equal(write(fd, p, len), (ssize_t)len);
	if (cut)
		assert_int_equal(ftruncate(fd, (off_t)at), 0);
	else
		assert_int_equal(pwrite(fd, &b, 1, (off_t)at), 1);
	return fd;
}

static void
walk_damaged(int fd, size_t *told)
{
	struct walk_log log = { 0 };
	struct walk_options o = options(2, &log);
	struct walk_result r;
	const char *why;
	int rc = walk_squashfs.walk(fd, 0, &o, &r, &why);

	assert_true(rc == 0 || rc == -EBADMSG || rc == -ENOTSUP ||
	    rc == -EFBIG || rc == -ENOMEM);
	if (rc != 0 && rc != -ENOMEM)
		assert_non_null(why);
	*told += rc != 0 || log.damaged > 0 || r.errors > 0;
	walk_log_free(&log);
	close(fd);
}

/* No change causes a crash or a hang, and most changes are detected. */
static void
flips_and_cuts(void **state)
{
	static uint8_t image[1 << 22];
	size_t len, told = 0, tries = 0;
	ssize_t n;
	int fd;

	(void)state;
	assert_int_equal(shell("mksquashfs tree image -noappend -b 16K "
	    "-no-progress -e many >/dev/null"), 0);
	fd = open("image", O_RDONLY | O_CLOEXEC);
	n = read(fd, image, sizeof(image));
	assert_true(n > 0);
	close(fd);
	len = (size_t)n;
	for (size_t at = 0; at < 96; at++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			walk_damaged(damaged(image, len, at,
			    (uint8_t)(1U << bit), false), &told);
			tries++;
		}
	assert_true(told > tries / 8);
	told = tries = 0;
	for (size_t at = 100; at < len; at += len / 150, tries++)
		walk_damaged(damaged(image, len, at, 0x15, false), &told);
	/* stored blocks have no checksum */
	assert_true(told > tries / 3);
	told = tries = 0;
	for (size_t at = 1; at < len - 4096; at += len / 60, tries++)
		walk_damaged(damaged(image, len, at, 0, true), &told);
	assert_int_equal(told, tries);
	for (size_t at = len - len / 8; at < len; at += len / 2500)
		walk_damaged(damaged(image, len, at, 0xff, false), &told);
}

/*
 * An uncompressed image built by hand: files of 4 KiB blocks, all of them
 * holes, and a root with a name for each.  The inodes are `apart` bytes apart,
 * which may be less than their size; 0 means that all names share one.
 */
enum { HAND_INODES = 3 * 8192, HAND_FILE = 56, HAND_NAME = 6 };

static size_t
hand_meta(uint8_t *to, const uint8_t *table, size_t len)
{
	size_t out = 0;

	for (size_t at = 0; at < len; at += 8192) {
		size_t n = len - at < 8192 ? len - at : 8192;

		store_le16(to + out, (uint16_t)(0x8000 | n));
		memcpy(to + out + 2, table + at, n);
		out += 2 + n;
	}
	return out;
}

static void
hand_file(uint8_t *p, uint32_t number, uint32_t blocks)
{
	store_le16(p, 9);
	store_le32(p + 12, number);
	store_le64(p + 16, 96);
	store_le64(p + 24, (uint64_t)blocks * 4096);
	store_le32(p + 44, UINT32_MAX);
	store_le32(p + 52, UINT32_MAX);
}

static size_t
hand_list(uint8_t *to, unsigned files, size_t apart)
{
	uint8_t *p = to;

	for (unsigned i = 0; i < files; i++) {
		size_t at = i * apart;

		store_le32(p, 0);
		store_le32(p + 4, (uint32_t)(at / 8192 * 8194));
		store_le32(p + 8, 1);
		store_le16(p + 12, (uint16_t)(at % 8192));
		store_le16(p + 16, 2);
		store_le16(p + 18, HAND_NAME - 1);
		snprintf((char *)p + 20, HAND_NAME + 1, "f%05u", i);
		p += 20 + HAND_NAME;
	}
	return (size_t)(p - to);
}

static int
hand_made(unsigned files, size_t apart, uint32_t blocks)
{
	static uint8_t inodes[HAND_INODES], list[200000], image[300000];
	size_t listed, dirs, end, root = HAND_INODES - 40;
	int fd = memfd_create("image", MFD_CLOEXEC);

	memset(inodes, 0, sizeof(inodes));
	memset(image, 0, sizeof(image));
	for (unsigned i = files; i-- > 0;)
		hand_file(inodes + i * apart, i + 1, blocks);
	listed = hand_list(list, files, apart);
	store_le16(inodes + root, 8);
	store_le32(inodes + root + 12, files + 1);
	store_le32(inodes + root + 20, (uint32_t)listed + 3);
	dirs = 96 + hand_meta(image + 96, inodes, sizeof(inodes));
	end = dirs + hand_meta(image + dirs, list, listed);
	/* one owner, and the index of its table */
	store_le16(image + end, 0x8000 | 4);
	store_le64(image + end + 6, end);
	end += 6;
	store_le32(image, 0x73717368);
	store_le32(image + 4, files + 1);
	store_le32(image + 12, 4096);
	store_le16(image + 20, 1);
	store_le16(image + 22, 12);
	store_le16(image + 26, 1);
	store_le16(image + 28, 4);
	store_le64(image + 32, (uint64_t)(2 * 8194) << 16 | root % 8192);
	store_le64(image + 40, end + 8);
	for (size_t at = 48; at < 96; at += 8)
		store_le64(image + at, UINT64_MAX);
	store_le64(image + 48, end);
	store_le64(image + 64, 96);
	store_le64(image + 72, dirs);
	end += 8;
	assert_int_equal(write(fd, image, end), (ssize_t)end);
	return fd;
}

static int
walk_by_hand(int fd, struct walk_log *log, const char **why)
{
	struct walk_options o = options(2, log);
	struct walk_result r;
	int rc = walk_squashfs.walk(fd, 0, &o, &r, why);

	close(fd);
	return rc;
}

/* Files cannot have more blocks in total than their inodes have size words. */
static void
more_blocks_than_words(void **state)
{
	struct walk_log log = { 0 };
	const char *why;

	(void)state;
	/* each has its own 100 words: possible */
	assert_int_equal(walk_by_hand(hand_made(40, HAND_FILE + 400, 100),
	    &log, &why), 0);
	assert_int_equal(log.count, 40);
	assert_int_equal(log.damaged, 0);
	walk_log_free(&log);
	/* two names of one inode with 5000 words, out of 6144: also possible */
	log = (struct walk_log){ 0 };
	assert_int_equal(walk_by_hand(hand_made(2, 0, 5000), &log, &why), 0);
	assert_int_equal(log.count, 2);
	walk_log_free(&log);
	/* two inodes that share the words: impossible */
	log = (struct walk_log){ 0 };
	assert_int_equal(walk_by_hand(hand_made(2, HAND_FILE, 5000), &log,
	    &why), -EBADMSG);
	assert_non_null(why);
	walk_log_free(&log);
}

/*
 * Tests a fragment count that no inode table can have, in a file of matching
 * length.
 */
static void
more_fragments_than_files(void **state)
{
	struct walk_log log = { 0 };
	const char *why;
	int fd = hand_made(1, HAND_FILE, 1);
	uint8_t word[8];

	(void)state;
	store_le32(word, 1U << 31);
	assert_int_equal(pwrite(fd, word, 4, 16), 4);
	store_le64(word, UINT64_C(3) << 30);
	assert_int_equal(pwrite(fd, word, 8, 40), 8);
	store_le64(word, UINT64_C(1) << 20);
	assert_int_equal(pwrite(fd, word, 8, 80), 8);
	assert_int_equal(ftruncate(fd, (off_t)3 << 30), 0);
	assert_int_equal(walk_by_hand(fd, &log, &why), -EBADMSG);
	assert_non_null(why);
	assert_int_equal(log.count, 0);
	walk_log_free(&log);
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
		cmocka_unit_test(flips_and_cuts),
		cmocka_unit_test(more_blocks_than_words),
		cmocka_unit_test(more_fragments_than_files),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
