/*
 * test_clash.c - tables of untrusted keys stay fast even if the keys would
 * collide in a table without a seed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/format.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/tree.h"
#include "lazy/merge.h"
#ifdef COLDPRESS_SQLITE
#include "../src/lazy/cvmfs/cas_read.h"
#endif

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <cmocka.h>

enum { KEYS = 100000, NAME = 40, NEAR = 1 << 14, SLOTS = 1 << 18 };

static char names[KEYS][NAME];
static char why[LAYER_WHY];

/* Returns the CPU time that this process has used, in seconds. */
static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Runs work with ordinary keys, and then with prepared ones: quadratic time
 * would be far longer.
 */
static void
compare(void (*ordinary)(void), void (*prepared)(void), void (*work)(void))
{
	double start, plain, other;

	ordinary();
	start = cpu_s();
	work();
	plain = cpu_s() - start;
	prepared();
	start = cpu_s();
	work();
	other = cpu_s() - start;
	if (other > 5 * plain + 0.1)
		fail_msg("%.3f s of CPU time instead of %.3f", other, plain);
}

static void
ordinary_names(void)
{
	for (unsigned i = 0; i < KEYS; i++)
		snprintf(names[i], NAME, "an ordinary name, number %08x", i);
}

/* Seeds and keys change the hash. */
static void
test_hash(void **state)
{
	(void)state;
	assert_true(hash_bytes(1, "key", 3) == hash_bytes(1, "key", 3));
	assert_true(hash_bytes(1, "key", 3) != hash_bytes(2, "key", 3));
	assert_true(hash_bytes(1, "key", 3) != hash_bytes(1, "kez", 3));
}

/* Layers */

/*
 * XXH3 multiplies the first two words of a name of 32 bytes, each combined with
 * the seed and a constant: if one factor is zero, the other has no effect.
 */
static void
names_for_xxh3(void)
{
	for (unsigned i = 0; i < KEYS; i++)
		snprintf(names[i], NAME, "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe"
		    "%08xsixteen bytes ..", i);
}

static void
merge_names(void)
{
	struct layer_entry *e = calloc(KEYS, sizeof(*e));
	struct layer l = { .index = { .entries = e, .entry_count = KEYS } };
	struct layer *layers[] = { &l };
	struct merge *t;

	assert_non_null(e);
	for (size_t i = 0; i < KEYS; i++) {
		e[i].type = TAR_FILE;
		e[i].path = names[i];
	}
	assert_int_equal(merge_build(&t, layers, 1, MERGE_MERGED, why), 0);
	assert_int_equal(merge_count(t), KEYS + 1);
	merge_free(t);
	free(e);
}

static void
test_merge(void **state)
{
	(void)state;
	compare(ordinary_names, names_for_xxh3, merge_names);
}

/* Images */

/* Chooses names whose FNV-1a hashes are near each other. */
static void
names_for_fnv(void)
{
	unsigned n = 0;

	for (unsigned i = 0; n < KEYS; i++) {
		uint64_t h = UINT64_C(0xcbf29ce484222325);

		snprintf(names[n], NAME, "%08x", i);
		for (const char *p = names[n]; *p != '\0'; p++)
			h = (h ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
		n += ((h ^ h >> 29) & (SLOTS - 1)) < NEAR;
	}
}

static const struct sqw_attr file = { .mode = S_IFREG | 0644,
	.xattr = SQUASHFS_NONE }, dir = { .mode = S_IFDIR | 0755,
	.xattr = SQUASHFS_NONE };

static void
plant(struct sqw_tree *t)
{
	uint32_t id;

	assert_int_equal(sqw_tree_open(t), 0);
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(sqw_tree_add(t, names[i], &file, &id), 0);
}

static void
tree_names(void)
{
	struct sqw_tree t;

	plant(&t);
	assert_int_equal(t.count, KEYS + 1);
	sqw_tree_close(&t);
}

static void
test_tree(void **state)
{
	(void)state;
	compare(ordinary_names, names_for_fnv, tree_names);
}

/* Replaces a directory and its contents with a file, many times. */
static void
replace_names(void)
{
	struct sqw_tree t;
	uint32_t id, below, last;

	plant(&t);
	for (size_t i = 0; i < KEYS / 4; i++) {
		assert_int_equal(sqw_tree_add(&t, "dir/sub/file", &file,
		    &below), 0);
		assert_int_equal(sqw_tree_add(&t, "dir", &file, &id), 0);
		assert_true(sqw_tree_find(&t, "dir/sub/file") == SQW_NOWHERE);
		assert_int_equal(sqw_tree_add(&t, "dir", &dir, &last), 0);
	}
	assert_int_equal(sqw_tree_finish(&t), 0);
	assert_int_equal(t.count, KEYS + 2);
	assert_true(t.at[below] == SQW_NOWHERE && t.at[id] == SQW_NOWHERE);
	assert_true(t.at[last] != SQW_NOWHERE);
	sqw_tree_close(&t);
}

static void
test_replaced(void **state)
{
	double start, plain;

	(void)state;
	ordinary_names();
	start = cpu_s();
	tree_names();
	plain = cpu_s() - start;
	start = cpu_s();
	replace_names();
	if (cpu_s() - start > 5 * plain + 0.1)
		fail_msg("removing takes %.3f s of CPU time", cpu_s() - start);
}

/* Repositories */

#ifdef COLDPRESS_SQLITE
static uint8_t hashes[KEYS][CAS_HASH];
static uint32_t groups[KEYS];

static void
ordinary_objects(void)
{
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(EVP_Digest(&i, sizeof(i), hashes[i], NULL,
		    EVP_sha1(), NULL), 1);
}

/* SHA-1s with the same first 8 bytes; a catalog can claim any SHA-1 */
static void
similar_objects(void)
{
	for (uint32_t i = 0; i < KEYS; i++) {
		memset(hashes[i], 0, CAS_HASH);
		store_le32(hashes[i] + 8, i);
	}
}

static void
find_objects(void)
{
	struct cas_state state = { .slots = 0 };
	struct layer l = { .state = &state };

	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(cas_unit_add(&l, hashes[i], '\0', false, 1,
		    why), i);
	assert_int_equal(cas_unit_add(&l, hashes[7], '\0', false, 1, why), 7);
	assert_int_equal(cas_unit_add(&l, hashes[7], '\0', false, 2, why),
	    KEYS);
	index_free(&l.index);
	free(state.units);
	free(state.table);
}

static void
test_objects(void **state)
{
	(void)state;
	compare(ordinary_objects, similar_objects, find_objects);
}

static void
ordinary_groups(void)
{
	ordinary_names();
	for (uint32_t i = 0; i < KEYS; i++)
		groups[i] = i + 1;
}

/* Chooses numbers whose products with the golden ratio are near each other. */
static void
near_groups(void)
{
	uint32_t n = 0;

	for (uint32_t i = 1; n < KEYS; i++) {
		groups[n] = i;
		n += (i * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (SLOTS - 1)) <
		    NEAR;
	}
}

static struct cas_path
path_md5(const char *path)
{
	uint8_t sum[EVP_MAX_MD_SIZE];

	assert_int_equal(EVP_Digest(path, strlen(path), sum, NULL, EVP_md5(),
	    NULL), 1);
	return (struct cas_path){ (int64_t)load_le64(sum),
		(int64_t)load_le64(sum + 8) };
}

/* Empty files in the root, each in its own group of hard links */
static void
add_groups(void)
{
	struct cas_row *rows = calloc(KEYS, sizeof(*rows));
	struct cas_rows all = { .rows = rows, .row_count = KEYS };
	struct cas_state state = { .slots = 0 };
	struct layer l = { .state = &state };
	struct digest_algo *md5;
	char path[NAME + 1] = "/";

	assert_non_null(rows);
	assert_int_equal(digest_algo_open(&md5, "md5"), 0);
	for (size_t i = 0; i < KEYS; i++) {
		strcpy(path + 1, names[i]);
		rows[i] = (struct cas_row){ .path = path_md5(path),
			.parent = path_md5(""), .name = names[i], .link = "",
			.hardlinks = (uint64_t)groups[i] << 32 | 1,
			.mode = S_IFREG | 0644, .flags = CAS_FILE };
	}
	assert_int_equal(cas_entries_add(&(struct cas_entries){ .l = &l,
	    .rows = &all, .directory = "", .md5 = md5 }, why), 0);
	assert_int_equal(l.index.entry_count, KEYS);
	digest_algo_close(md5);
	index_free(&l.index);
	free(rows);
}

static void
test_groups(void **state)
{
	(void)state;
	compare(ordinary_groups, near_groups, add_groups);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_replaced),
#ifdef COLDPRESS_SQLITE
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_groups),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
