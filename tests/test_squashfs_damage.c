/*
 * test_squashfs_damage.c - damaged images, and images with impossible counts
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/image/plan.h"
#include "../src/image/squashfs/read/squashfs.h"
#include "squashfs_tree.h"

#include "base/bytes.h"
#include "image/squashfs/read/reader.h"

#include <errno.h>
#include <sys/mman.h>

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
		store_le32(p + 8, apart == 0 ? 1 : i + 1);
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

/* A root without names is not one that cannot be read. */
static void
empty_root(void **state)
{
	struct walk_log log = { 0 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(walk_by_hand(hand_made(0, HAND_FILE, 0), &log, &why),
	    0);
	assert_int_equal(log.count, 0);
	assert_int_equal(log.damaged, 0);
	walk_log_free(&log);
}

/* An entry of the root's listing, as bytes of the image. */
static off_t
entry_at(int fd, unsigned number)
{
	uint8_t dirs[8];

	assert_int_equal(pread(fd, dirs, 8, SQUASHFS_S_DIR_TABLE), 8);
	return (off_t)load_le64(dirs) + 2 + number * (20 + HAND_NAME);
}

/* Of a root that is damaged further on, the names before that are read. */
static void
part_of_a_root(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 40; at += 13) {
		struct walk_log log = { 0 };
		const char *why = NULL;
		int fd = hand_made(40, HAND_FILE, 0), rc;

		/* a name cannot have a slash */
		assert_int_equal(pwrite(fd, "/", 1, entry_at(fd, at) + 22), 1);
		rc = walk_by_hand(fd, &log, &why);
		assert_int_equal(rc, at > 0 ? 0 : -EBADMSG);
		if (at == 0)
			assert_string_equal(why, "the root directory cannot "
			    "be read");
		else
			assert_int_equal(log.damaged, 1);
		for (unsigned i = 0; i < at; i++) {
			char line[32];

			snprintf(line, sizeof(line), "f%05u|", i);
			for (size_t k = 0; k < log.count; k++)
				if (strncmp(log.line[k], line,
				    strlen(line)) == 0)
					line[0] = '\0';
			assert_string_equal(line, "");
		}
		walk_log_free(&log);
	}
}

static void
tell(void *arg, uint64_t at, const char *why)
{
	(void)at;
	assert_non_null(why);
	++*(unsigned *)arg;
}

/* What the image says of its second name, of three. */
static void
second_name(int fd, const char *why)
{
	struct sq_image *m;
	struct sq_entry e;
	unsigned told = 0;
	const char *open_why;

	assert_int_equal(sq_open(&m, fd, 0, 1, 64 << 20, tell, &told,
	    &open_why), 0);
	assert_int_equal(sq_count(m), 4);
	for (size_t n = 1; n < 4; n++) {
		sq_get(m, n, &e);
		if (n != 2 || why == NULL)
			assert_null(e.why);
		else if (e.why == NULL || strcmp(e.why, why) != 0)
			fail_msg("%s, not %s", e.why, why);
	}
	sq_close(m);
}

static void
put_at(int fd, off_t at, unsigned value, size_t len)
{
	uint8_t p[4];

	store_le32(p, value);
	assert_int_equal(pwrite(fd, p, len, at), (ssize_t)len);
}

/* An entry that is not that of its inode. */
static void
other_inodes(void **state)
{
	static const struct {
		/* in the entry, with its header; or in the inode */
		bool inode;
		off_t at;
		unsigned value;
		size_t len;
		const char *why;
	} rows[] = {
		{ false, 16, 2, 2, NULL },
		{ false, 16, 3, 2, "the directory entry and the inode have "
		    "different types" },
		{ false, 8, 7, 4, "the directory entry and the inode have "
		    "different numbers, so Linux may open another inode" },
		{ false, 12, 1, 2, "the inode cannot be read" },
		{ false, 4, 1, 4, "the inode cannot be read" },
		{ false, 4, 2 * 8194, 4, "the inode cannot be read" },
		{ true, 0, 0, 2, "the inode cannot be read" },
		{ true, 0, 15, 2, "the inode cannot be read" },
		{ true, 2, 0100644, 2, "the mode contains a file type, so "
		    "Linux would not open the file" },
		{ true, 4, 1, 2, "the owner or group is not in the id "
		    "table, so Linux would not open the file" },
		{ true, 6, 1, 2, "the owner or group is not in the id table, "
		    "so Linux would not open the file" },
		{ true, 12, 0, 4, "the inode number is 0, so Linux would not "
		    "open the file" },
		{ true, 12, 5, 4, "the inode number exceeds the number of "
		    "inodes" },
		{ true, 44, 0, 4, "the file has a fragment although its size "
		    "is a multiple of the block size, so Linux would not open "
		    "the file" },
	};
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fd = hand_made(3, HAND_FILE, 0);
		put_at(fd, rows[i].at + (rows[i].inode ? 96 + 2 + HAND_FILE :
		    entry_at(fd, 1)), rows[i].value, rows[i].len);
		second_name(fd, rows[i].why);
		close(fd);
	}
	/* the root, as a file */
	fd = hand_made(3, HAND_FILE, 0);
	put_at(fd, entry_at(fd, 1) + 4, 2 * 8194, 4);
	put_at(fd, entry_at(fd, 1) + 12, 8192 - 40, 2);
	second_name(fd, "the inode is a directory, but the directory entry is "
	    "not");
	/* and as a directory */
	put_at(fd, entry_at(fd, 1) + 16, 1, 2);
	second_name(fd, "the directory contains itself or has two parents");
	/* a directory without an inode */
	put_at(fd, entry_at(fd, 1) + 4, 2 * 8194 + 1, 4);
	second_name(fd, "the inode cannot be read");
	/* and one that is a file */
	put_at(fd, entry_at(fd, 1) + 4, 0, 4);
	put_at(fd, entry_at(fd, 1) + 12, HAND_FILE, 2);
	second_name(fd, "the inode cannot be read");
	close(fd);
}

/* Returns the least memory with which an image of so many fragments is read. */
static uint64_t
least_memory(uint32_t fragments)
{
	int fd = hand_made(3, HAND_FILE, 0), rc;
	uint64_t low = 0, high = 64 << 20;
	uint8_t word[8];

	put_at(fd, SQUASHFS_S_FRAGMENTS, fragments, 4);
	store_le64(word, 96);
	assert_int_equal(pwrite(fd, word, 8, SQUASHFS_S_FRAGMENT_TABLE), 8);
	while (low + 1 < high) {
		uint64_t left = low + (high - low) / 2, most = left;
		struct walk_log log = { 0 };
		struct walk_options o = options(1, &log);
		struct walk_result r;
		const char *why;

		o.memory_left = &left;
		rc = walk_squashfs.walk(fd, 0, &o, &r, &why);
		assert_true(rc == 0 || rc == -EDQUOT);
		assert_int_equal(left, most);
		walk_log_free(&log);
		if (rc == 0)
			high = most;
		else
			low = most;
	}
	close(fd);
	return high;
}

/* Each has an entry, and its place, job and extent in the plan. */
static void
memory_of_fragments(void **state)
{
	(void)state;
	/* even the fewer need more than reading the tables does */
	assert_int_equal(least_memory(1200) - least_memory(900), 300 *
	    (sizeof(struct sq_fragment_entry) + sizeof(size_t) +
	    sizeof(struct image_job) + sizeof(struct image_extent)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_fragments),
		cmocka_unit_test(empty_root),
		cmocka_unit_test(part_of_a_root),
		cmocka_unit_test(other_inodes),
		cmocka_unit_test(flips_and_cuts),
		cmocka_unit_test(more_blocks_than_words),
		cmocka_unit_test(more_fragments_than_files),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
