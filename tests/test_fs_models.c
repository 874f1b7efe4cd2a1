/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/fs/btrfs/btrfs.h"
#include "../src/fs/btrfs/btrfs_leaves.h"
#include "../src/fs/btrfs/btrfs_names.h"
#include "fs/fs_model.h"
#include "engine/packer/packer.h"
#include "../src/fs/squashfs/sqfs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { K = 1024 };

/*
 * Makes noise with `bytes` different byte values; with 256 it is
 * incompressible.
 */
static void
noise(uint8_t *p, size_t len, unsigned bytes)
{
	uint32_t seed = 7;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)((seed >> 8) % 65536 * bytes / 65536);
	}
}

static int
setup(void **state)
{
	return (*state = calloc(1, BTRFS_CHUNK)) == NULL;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

static void
names(void **state)
{
	static const char *const btrfs[] = { "zlib-1", "zlib-9", "zstd-15",
	    "zlib", "off" };
	static const char *const no_btrfs[] = { "zlib-0", "zlib-10",
	    "zstd-16", "gzip-6", "lz4", "zstd-", "zstd3", "lzo-1", "" };
	static const char *const squashfs[] = { "gzip", "gzip-1", "lz4",
	    "lz4hc", "xz", "zstd-22" };
	static const char *const no_squashfs[] = { "zlib-1", "xz-6",
	    "zstd-23", "lz4-1", "zle", "gzip-10" };
	struct packer_name n;

	(void)state;
	for (size_t i = 0; i < sizeof(btrfs) / sizeof(btrfs[0]); i++)
		assert_int_equal(packer_by_name(packers_btrfs, btrfs[i], &n),
		    0);
	for (size_t i = 0; i < sizeof(no_btrfs) / sizeof(no_btrfs[0]); i++)
		assert_int_equal(packer_by_name(packers_btrfs, no_btrfs[i],
		    &n), -EINVAL);
	for (size_t i = 0; i < sizeof(squashfs) / sizeof(squashfs[0]); i++)
		assert_int_equal(packer_by_name(packers_squashfs, squashfs[i],
		    &n), 0);
	for (size_t i = 0; i < sizeof(no_squashfs) / sizeof(no_squashfs[0]);
	    i++)
		assert_int_equal(packer_by_name(packers_squashfs,
		    no_squashfs[i], &n), -EINVAL);
	assert_int_equal(packer_by_name(packers_squashfs, "gzip", &n), 0);
	assert_int_equal(n.level, 9);
	assert_int_equal(packer_by_name(packers_btrfs, "zlib", &n), 0);
	assert_int_equal(n.level, 3);
	assert_null(fs_model_by_name("ext4"));
	assert_ptr_equal(fs_model_by_name("btrfs"), &fs_model_btrfs);
}

/* How disks are laid out, by its name. */
static void
layouts(void **state)
{
	static const struct {
		const char *name;
		struct fs_layout is;
	} good[] = {
		{ "disk", { 0, 0, false } }, { "mirror", { 0, 0, false } },
		{ "raidz1:2", { 1, 1, false } }, { "raidz1:5", { 1, 4, false } },
		{ "raidz3:255", { 3, 252, false } },
		{ "draid1:1d", { 1, 1, true } }, { "draid2:255d", { 2, 255, true } },
		{ "draid3:8d:14c:2s", { 3, 8, true } },
	};
	static const char *const bad[] = { "", "disks", "raidz", "raidz1",
		"raidz1:", "raidz0:5", "raidz4:9", "raidz1:1", "raidz3:3",
		"raidz1:0", "raidz1:256", "raidz1:5x", "raidz1:5d", "raidz1:-5",
		"raidz1: 5", "draid1:8", "draid1:0d", "draid1:256d", "draid1:8x",
		"draid1:8dx", "draid1:8d:14c:2s!", "draid4:8d", "draid1:d" };
	struct fs_layout l;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(fs_layout_by_name(good[i].name, &l), 0);
		assert_int_equal(l.parity, good[i].is.parity);
		assert_int_equal(l.data, good[i].is.data);
		assert_int_equal(l.draid, good[i].is.draid);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (fs_layout_by_name(bad[i], &l) != -EINVAL)
			fail_msg("%s", bad[i]);
}

/* Noise of b bytes has an entropy of log2(b) bits. */
static void
samples(void **state)
{
	uint8_t *p = *state;

	assert_true(btrfs_looks_good(p, BTRFS_PIECE));
	noise(p, BTRFS_PIECE, 256);
	assert_false(btrfs_looks_good(p, BTRFS_PIECE));
	noise(p, BTRFS_PIECE, 128);
	assert_false(btrfs_looks_good(p, BTRFS_PIECE));
	noise(p, BTRFS_PIECE, 72);
	assert_true(btrfs_looks_good(p, BTRFS_PIECE));
	noise(p, BTRFS_PIECE, 60);
	assert_true(btrfs_looks_good(p, BTRFS_PIECE));
	/* noise twice: a repeating pattern */
	noise(p, BTRFS_PIECE / 2, 256);
	memcpy(p + BTRFS_PIECE / 2, p, BTRFS_PIECE / 2);
	assert_true(btrfs_looks_good(p, BTRFS_PIECE));
	/* a few bytes: the rest of the sector is zeros */
	memset(p, 0, BTRFS_PIECE);
	noise(p, 40, 256);
	assert_true(btrfs_looks_good(p, 40));
}

static struct btrfs_chunk
pack(const char *algorithm, const uint8_t *data, uint64_t offset,
    uint64_t size, unsigned good)
{
	const bool tries[BTRFS_PIECES] = { good & 1, good >> 1 & 1,
	    good >> 2 & 1, good >> 3 & 1 };
	struct packer_name name;
	struct btrfs_chunk c;
	struct packer *p;

	assert_int_equal(packer_by_name(packers_btrfs, algorithm, &name), 0);
	assert_int_equal(packer_open(&p, &name, BTRFS_PIECE), 0);
	btrfs_pack(p, data, offset, size, tries, &c);
	packer_close(p);
	return c;
}

static void
small_files(void **state)
{
	uint8_t *p = *state;
	struct btrfs_chunk c;

	memset(p, 'a', 8 * K);
	c = pack("zlib-3", p, 0, 4000, 15);	/* stored in the leaf,
						 * compressed */
	assert_true(c.in_leaf);
	assert_int_equal(c.logical_B, 4000);
	assert_in_range(c.physical_B, 5, 100);
	c = pack("zlib-3", p, 0, 4096, 15);
	assert_true(c.in_leaf);
	c = pack("zlib-3", p, 0, 4097, 15);	/* two sectors become one */
	assert_false(c.in_leaf);
	assert_int_equal(c.logical_B, 8192);
	assert_int_equal(c.physical_B, 4096);
	c = pack("zlib-3", p, 0, 2000, 0);	/* not tried because of its
						 * sample */
	assert_true(c.in_leaf);
	assert_int_equal(c.physical_B, 2000);

	noise(p, 8 * K, 256);
	c = pack("zlib-3", p, 0, 2048, 15);	/* stored in the leaf
						 * uncompressed */
	assert_true(c.in_leaf);
	assert_true(c.failed);
	assert_int_equal(c.physical_B, 2048);
	c = pack("zlib-3", p, 0, 2049, 15);
	assert_false(c.in_leaf);
	assert_int_equal(c.physical_B, 4096);
	assert_int_equal(c.filled_B, 2049);
	assert_int_equal(c.extents, 1);
	/* below three pages, nothing keeps lzo's output from growing */
	if (packer_by_name(packers_btrfs, "lzo", &(struct packer_name){
	    .level = 0 }) == 0) {
		c = pack("lzo", p, 0, 1000, 15);
		assert_true(c.in_leaf);
		assert_in_range(c.physical_B, 1001, 1100);
	}
}

static void
chunks(void **state)
{
	uint8_t *p = *state;
	struct btrfs_chunk c;

	memset(p, 'a', BTRFS_CHUNK);
	c = pack("zstd-3", p, 0, BTRFS_CHUNK, 15);
	assert_int_equal(c.physical_B, 4 * 4096);
	assert_int_equal(c.extents, 4);
	assert_false(c.failed);
	/* neither the second piece nor anything after it is tried */
	c = pack("zstd-3", p, 0, BTRFS_CHUNK, 13);
	assert_int_equal(c.physical_B, 4096 + 3 * BTRFS_PIECE);
	assert_int_equal(c.extents, 2);
	assert_false(c.failed);
	/* the second piece is tried, but does not shrink */
	noise(p + BTRFS_PIECE, BTRFS_PIECE, 256);
	c = pack("zlib-9", p, 0, BTRFS_CHUNK, 15);
	assert_int_equal(c.physical_B, 4096 + 3 * BTRFS_PIECE);
	assert_true(c.failed);
	/* the end of a file: a single sector saves nothing */
	c = pack("zlib-9", p, 3 * (uint64_t)BTRFS_CHUNK,
	    3 * (uint64_t)BTRFS_CHUNK + BTRFS_PIECE + 100, 15);
	assert_int_equal(c.physical_B, 8192);
	assert_false(c.failed);
	assert_int_equal(c.extents, 2);
}

/* A list sorted by path, as from a scan. */
static void
order(void **state)
{
	/* "", "a", "a-b", "a-b/1", "a.x", "a/link", "a/z", "b", "big" */
	static const char *const names[] = { "", "a", "a-b", "1", "a.x",
	    "link", "z", "b", "big" };
	static const uint32_t dirs[] = { 0, 0, 0, 2, 0, 1, 1, 0, 0 };
	static const char *const want[] = { "", "a", "link", "z", "a-b",
	    "1", "a.x", "b", "big" };
	static const uint32_t numbers[] = { 8, 1, 2, 3, 4, 5, 6, 2, 7 };
	static const size_t parents[] = { 0, 0, 1, 1, 0, 4, 0, 0, 0 },
	    ends[] = { 9, 4, 3, 4, 6, 6, 7, 8, 9 };
	struct fs_item items[9];
	struct fs_list l = { .items = items, .count = 9, .root_count = 1 };
	struct sqfs_tree t;

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		items[i] = (struct fs_item){ .name = names[i], .dir = dirs[i],
			.mode = i < 3 ? S_IFDIR : S_IFREG, .links = 1,
			.ino = i, .size = 1 };
	}
	/* b is the same file as a/link, which comes first in an image */
	items[5].links = items[7].links = 2;
	items[5].ino = 7;
	assert_int_equal(sqfs_tree_make(&t, &l), 0);
	assert_int_equal(t.tree.count, 9);
	assert_int_equal(t.tree.inodes, 8);
	for (unsigned i = 0; i < 9; i++) {
		assert_string_equal(t.tree.nodes[i].name, want[i]);
		assert_int_equal(t.tree.nodes[i].number, numbers[i]);
		assert_int_equal(t.tree.nodes[i].parent, parents[i]);
		assert_int_equal(t.tree.nodes[i].end, ends[i]);
	}
	assert_int_equal(t.tree.nodes[2].links, 2);
	assert_int_equal(t.tree.nodes[7].owner, 2);
	assert_true(sqw_has_data(&t.tree, 2));
	assert_false(sqw_has_data(&t.tree, 7));
	assert_false(sqw_has_data(&t.tree, 1));
	sqfs_tree_free(&t);
}

enum { LEAF_ITEMS = 20000, ITEM_B = 100 };

static void
add_item(struct btrfs_leaves *t, uint64_t owner, uint32_t size)
{
	const struct btrfs_item it = { .owner = owner, .size = size };

	assert_int_equal(btrfs_leaves_add(t, &it, 1), 0);
}

/* In ascending order, leaves become full; in random order, two thirds full. */
static void
leaves_fill(void **state)
{
	const unsigned full = BTRFS_ROOM / ITEM_B;
	struct btrfs_leaves up = { .count = 0 }, mixed = { .count = 0 };

	(void)state;
	for (uint32_t i = 0; i < LEAF_ITEMS; i++) {
		add_item(&up, i, ITEM_B);
		add_item(&mixed, i * UINT64_C(7919) % LEAF_ITEMS, ITEM_B);
	}
	assert_int_equal(up.count, (LEAF_ITEMS + full - 1) / full);
	assert_in_range(mixed.count, up.count * 105 / 100,
	    up.count * 160 / 100);
	btrfs_leaves_free(&up);
	btrfs_leaves_free(&mixed);
}

/* A large item between two others takes two splits, and a leaf of its own. */
static void
leaves_split_twice(void **state)
{
	struct btrfs_leaves t = { .count = 0 };

	(void)state;
	for (uint32_t i = 0; i < 160; i++)
		add_item(&t, 2 * i, ITEM_B);
	assert_int_equal(t.count, 1);
	add_item(&t, 81, BTRFS_ROOM);
	assert_int_equal(t.count, 3);
	btrfs_leaves_free(&t);
}

static void
leaves_grow(void **state)
{
	struct btrfs_item it = { .owner = 5, .size = 300 };
	struct btrfs_leaves t = { .count = 0 };

	(void)state;
	assert_int_equal(btrfs_leaves_grow(&t, &it), -ENOENT);
	for (uint32_t i = 0; i < 160; i++)
		add_item(&t, i, ITEM_B);
	assert_int_equal(btrfs_leaves_grow(&t, &it), 0);
	assert_int_equal(t.count, 2);
	it.owner = 1000;
	assert_int_equal(btrfs_leaves_grow(&t, &it), -ENOENT);
	it = (struct btrfs_item){ .owner = 7, .size = BTRFS_ROOM };
	assert_int_equal(btrfs_leaves_grow(&t, &it), -EOVERFLOW);
	/* an item may fill a leaf */
	it.size = BTRFS_ROOM - ITEM_B + 1;
	assert_int_equal(btrfs_leaves_grow(&t, &it), -EOVERFLOW);
	it.size = BTRFS_ROOM - ITEM_B;
	assert_int_equal(btrfs_leaves_grow(&t, &it), 0);
	btrfs_leaves_free(&t);
}

/* Two values from a filesystem made by Linux. */
static void
name_hashes(void **state)
{
	(void)state;
	assert_true(btrfs_name_hash("cold") == 3953295019);
	assert_true(btrfs_name_hash("default") == 2378154706);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(layouts),
		cmocka_unit_test_setup_teardown(samples, setup, teardown),
		cmocka_unit_test_setup_teardown(small_files, setup, teardown),
		cmocka_unit_test_setup_teardown(chunks, setup, teardown),
		cmocka_unit_test(order),
		cmocka_unit_test(leaves_fill),
		cmocka_unit_test(leaves_split_twice),
		cmocka_unit_test(leaves_grow),
		cmocka_unit_test(name_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
