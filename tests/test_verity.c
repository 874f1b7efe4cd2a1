/*
 * test_verity.c - hash trees of dm-verity, good and damaged
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The trees are compared with those of another builder, which has any salt.
 */
#include "image/verity.h"

#include "base/bytes.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	BLOCK = VERITY_BLOCK_B, HASH = VERITY_HASH_B, PER = BLOCK / HASH,
	MOST = 300,			/* blocks of data */
	/* the data's blocks, the superblock, and three levels at most */
	ROOM = (MOST + 1 + 8) * BLOCK
};

/* An image with its tree, and the tree's root hash. */
struct image {
	size_t blocks, len;
	uint8_t root[HASH];
	uint8_t p[ROOM];
};

static struct image made;
static uint8_t salt[BLOCK];

static void
hash_of(const uint8_t *block, size_t salt_B, uint8_t out[HASH])
{
	static uint8_t both[2 * BLOCK];
	uint8_t hash[DIGEST_MAX];

	memcpy(both, salt, salt_B);
	memcpy(both + salt_B, block, BLOCK);
	assert_int_equal(digest_sha256(both, salt_B + BLOCK, hash), 0);
	memcpy(out, hash, HASH);
}

/* The hashes of n blocks go to the end, and then those above before them. */
static size_t
hash_tree(const uint8_t *from, size_t n, size_t salt_B, uint8_t *to,
    uint8_t root[HASH])
{
	static uint8_t level[MOST * HASH + BLOCK];
	size_t above = (n + PER - 1) / PER, len;

	if (n == 1) {
		hash_of(from, salt_B, root);
		return 0;
	}
	memset(level, 0, sizeof(level));
	for (size_t i = 0; i < n; i++)
		hash_of(from + i * BLOCK, salt_B, level + i * HASH);
	memcpy(to, level, above * BLOCK);
	len = hash_tree(to, above, salt_B, to + above * BLOCK, root);
	if (len > 0) {
		/* what is above comes first */
		memcpy(level, to, above * BLOCK);
		memmove(to, to + above * BLOCK, len);
		memcpy(to + len, level, above * BLOCK);
	}
	return len + above * BLOCK;
}

static void
make(size_t blocks, size_t salt_B)
{
	uint8_t *p = made.p + blocks * BLOCK;

	memset(&made, 0, sizeof(made));
	made.blocks = blocks;
	for (size_t i = 0; i < blocks * BLOCK; i++)
		made.p[i] = (uint8_t)(i * i >> 7);
	memcpy(p, "verity", 6);
	p[8] = p[12] = 1;
	strcpy((char *)p + 32, "sha256");
	store_le32(p + 64, BLOCK);
	store_le32(p + 68, BLOCK);
	store_le64(p + 72, blocks);
	store_le16(p + 80, (uint16_t)salt_B);
	memcpy(p + 88, salt, salt_B);
	made.len = (blocks + 1) * BLOCK + hash_tree(made.p, blocks, salt_B,
	    p + BLOCK, made.root);
}

/* The salt that our own trees have. */
static void
usual_salt(void)
{
	uint8_t hash[DIGEST_MAX], block[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		block[i] = (uint8_t)(i * i >> 7);
	assert_int_equal(digest_sha256(block, BLOCK, hash), 0);
	memcpy(salt, hash, HASH);
}

/* The image in a file, `before` bytes into it. */
static int
file_of(size_t len, size_t before)
{
	int fd = memfd_create("verity", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)before), 0);
	assert_int_equal(pwrite(fd, made.p, len, (off_t)before),
	    (ssize_t)len);
	return fd;
}

static int
try_open(int fd, size_t before, const uint8_t root[HASH])
{
	const char *why = NULL;
	struct verity *v;
	int rc = verity_open(&v, fd, before, made.blocks * BLOCK, root, &why);

	if (rc == 0)
		verity_close(v);
	else
		assert_true(why != NULL && *why != '\0');
	return rc;
}

static const size_t sizes[] = { 1, 2, PER - 1, PER, PER + 1, MOST };

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void
appended(void **state)
{
	static uint8_t copy[ROOM];
	uint8_t root[HASH], uuid[DIGEST_MAX];
	uint64_t end;

	(void)state;
	usual_salt();
	for (size_t i = 0; i < SIZES; i++) {
		size_t data_B = sizes[i] * BLOCK;
		int fd;

		make(sizes[i], HASH);
		fd = file_of(data_B, 0);
		assert_int_equal(verity_append(fd, data_B, 2, root, &end), 0);
		assert_int_equal(end, made.len);
		assert_memory_equal(root, made.root, HASH);
		assert_int_equal(pread(fd, copy, sizeof(copy), 0), made.len);
		/* the UUID is of the salt, with the bits of version 4 */
		assert_int_equal(digest_sha256(salt, HASH, uuid), 0);
		uuid[6] = (uint8_t)(0x40 | (uuid[6] & 0x0f));
		uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
		assert_memory_equal(copy + data_B + 16, uuid, 16);
		memset(copy + data_B + 16, 0, 16);
		assert_memory_equal(copy, made.p, made.len);
		close(fd);
	}
	/* data that is not there has no tree */
	make(PER, HASH);
	for (size_t len = 0; len < PER * BLOCK; len += 3 * BLOCK + 5) {
		int fd = file_of(len, 0);

		assert_int_equal(verity_append(fd, PER * BLOCK, 2, root, &end),
		    -EIO);
		assert_int_equal(lseek(fd, 0, SEEK_END), len);
		close(fd);
	}
}

static void
ranges(void **state)
{
	static const size_t from[] = { 0, 1, BLOCK - 1, BLOCK, 5 * BLOCK - 7,
		(MOST - 1) * BLOCK, MOST * BLOCK - 1 };
	static const size_t lens[] = { 0, 1, 7, BLOCK - 1, BLOCK, BLOCK + 1,
		3 * BLOCK, 4 * BLOCK + 9 };
	static uint8_t copy[5 * BLOCK];
	const char *why;
	struct verity *v;
	int fd;

	(void)state;
	make(MOST, HASH);
	fd = file_of(made.len, 3 * BLOCK);
	assert_int_equal(verity_open(&v, fd, 3 * BLOCK, MOST * BLOCK,
	    made.root, &why), 0);
	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++)
		for (size_t k = 0; k < sizeof(lens) / sizeof(*lens); k++) {
			size_t end = from[i] + lens[k];
			int64_t n = verity_pread(v, copy, lens[k], from[i]);

			if (end > MOST * BLOCK) {
				assert_int_equal(n, -EBADMSG);
				continue;
			}
			assert_int_equal(n, lens[k]);
			assert_memory_equal(copy, made.p + from[i], lens[k]);
		}
	/* a byte of its block that is not asked for is wrong */
	for (size_t at = 2 * BLOCK; at < 3 * BLOCK; at += 511) {
		uint8_t b = made.p[at] ^ 0x40;

		assert_int_equal(pwrite(fd, &b, 1, (off_t)(3 * BLOCK + at)),
		    1);
		assert_int_equal(verity_pread(v, copy, 1, 2 * BLOCK + 700),
		    -EBADMSG);
		assert_int_equal(verity_pread(v, copy, 3 * BLOCK, BLOCK),
		    -EBADMSG);
		assert_int_equal(verity_pread(v, copy, BLOCK, 3 * BLOCK),
		    BLOCK);
		assert_int_equal(verity_pread(v, copy, 2 * BLOCK, 0),
		    2 * BLOCK);
		assert_int_equal(pwrite(fd, made.p + at, 1,
		    (off_t)(3 * BLOCK + at)), 1);
	}
	assert_int_equal(verity_pread(v, copy, 3 * BLOCK, BLOCK), 3 * BLOCK);
	assert_int_equal(ftruncate(fd, 3 * BLOCK + 2 * BLOCK + 9), 0);
	assert_int_equal(verity_pread(v, copy, 1, 2 * BLOCK), -ENODATA);
	assert_int_equal(verity_pread(v, copy, 10, 2 * BLOCK), -ENODATA);
	assert_int_equal(verity_pread(v, copy, BLOCK, BLOCK), BLOCK);
	verity_close(v);
	close(fd);
}

static void
salts(void **state)
{
	static const size_t len[] = { 0, 1, 32, 255, 256 };
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(salt); i++)
		salt[i] = (uint8_t)(i ^ i >> 3);
	for (size_t i = 0; i < SIZES; i++)
		for (size_t k = 0; k < sizeof(len) / sizeof(*len); k++) {
			make(sizes[i], len[k]);
			fd = file_of(made.len, 0);
			assert_int_equal(try_open(fd, 0, made.root), 0);
			close(fd);
		}
	make(2, 257);
	fd = file_of(made.len, 0);
	assert_int_equal(try_open(fd, 0, made.root), -EBADMSG);
	close(fd);
}

/* Any other byte of what counts is refused, and so is any other root. */
static void
damaged(void **state)
{
	size_t super = 2 * PER * BLOCK, step = 1;
	int fd;

	(void)state;
	usual_salt();
	make(2 * PER, HASH);
	fd = file_of(made.len, 0);
	for (size_t at = super; at < made.len; at += step) {
		size_t in = at - super;
		uint8_t b = made.p[at] ^ (uint8_t)(1 << in % 8);
		/* UUID, the rest of the algorithm's name, padding */
		bool free = in < BLOCK && ((in >= 16 && in < 32) ||
		    (in >= 39 && in < 64) || (in >= 82 && in < 88) ||
		    in >= 88 + HASH);

		assert_int_equal(pwrite(fd, &b, 1, (off_t)at), 1);
		if (try_open(fd, 0, made.root) != (free ? 0 : -EBADMSG))
			fail_msg("byte %zu", in);
		assert_int_equal(pwrite(fd, made.p + at, 1, (off_t)at), 1);
		step = in < 130 ? 1 : in < BLOCK ? 397 : 31;
	}
	for (size_t i = 0; i < HASH; i++) {
		made.root[i] ^= 0x80;
		assert_int_equal(try_open(fd, 0, made.root), -EBADMSG);
		made.root[i] ^= 0x80;
	}
	/* nor is a tree that is cut off */
	assert_int_equal(try_open(fd, 0, made.root), 0);
	for (size_t len = made.len - 1; len > super; len -= len % 700 + 1) {
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		if (try_open(fd, 0, made.root) != -EBADMSG)
			fail_msg("%zu bytes", len - super);
	}
	close(fd);
	/* nor one for more or less data, wherever it is */
	fd = file_of(made.len, 0);
	for (int i = -1; i <= 1; i++) {
		made.blocks = (size_t)(2 * PER + i);
		assert_int_equal(try_open(fd, (size_t)(i < 0 ? BLOCK : 0),
		    made.root), i == 0 ? 0 : -EBADMSG);
	}
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended),
		cmocka_unit_test(ranges),
		cmocka_unit_test(salts),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
