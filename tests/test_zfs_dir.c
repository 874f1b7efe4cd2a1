/*
 * test_zfs_dir.c - how many blocks the large directories of ZFS have
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/fs/zfs/zfs_meta.h"
#include "sys_fault.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

enum { NAMES = 3000, NAME_B = 64, CHUNKS = 638 };

/* The blocks of the last object added. */
static uint64_t blocks;

int __wrap_zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t);

int
__wrap_zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t)
{
	(void)d;
	(void)t;
	blocks = o->blocks;
	return 0;
}

/*
 * Returns the leaves of the names whose hashes begin with these bits: one, or
 * those of both halves if it cannot hold them.
 */
static unsigned
leaves(const char *const *names, size_t count, unsigned bits, uint64_t prefix)
{
	size_t chunks = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t hash = lzma_crc64((const uint8_t *)names[i],
		    strlen(names[i]), 0);

		if (bits == 0 || hash >> (64 - bits) == prefix)
			chunks += 3 + strlen(names[i]) / 21;
	}
	return chunks <= CHUNKS ? 1 : leaves(names, count, bits + 1,
	    2 * prefix) + leaves(names, count, bits + 1, 2 * prefix + 1);
}

static const char *
get_name(const void *names, size_t i, uint64_t *value)
{
	*value = 0;
	return ((const char *const *)names)[i];
}

static int
add_dir(const char *const *names, size_t count)
{
	static const struct zfs_pool pool = { .features = true, .ashift = 12,
		.recordsize = 128 << 10, .copies = 1, .meta_copies = 2,
		.dnode_copies = 2, .dnode = 512 };
	static struct zfs_scratch scratch;
	static const struct stat st = { .st_mode = S_IFDIR | 0755 };
	const struct zfs_names n = { count, get_name, names };
	struct zfs_blocks *b = calloc(1, sizeof(*b));
	struct zfs_dnodes *d = calloc(1, sizeof(*d));
	int rc;

	assert_non_null(b);
	assert_non_null(d);
	zfs_blocks_init(b, &pool, &scratch);
	zfs_dnodes_init(d, b);
	rc = zfs_dir_add(d, 1, &st, &n);
	free(d);
	free(b);
	return rc;
}

static void
large(void **state)
{
	static char text[NAMES][NAME_B];
	static const char *names[NAMES];

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		snprintf(text[i], NAME_B, "a name of more than fifty bytes, "
		    "which is too long, %d", i);
		names[i] = text[i];
	}
	for (size_t n = 1; n <= NAMES; n += n < 200 ? 1 : 97) {
		assert_int_equal(add_dir(names, n), 0);
		/* and the table of the leaves */
		assert_int_equal(blocks, 1 + leaves(names, n, 0, 0));
	}
	assert_true(blocks > 20);
}

/* Each allocation fails in turn: the first two, and one for each split. */
static void
no_memory(void **state)
{
	static char text[NAMES][NAME_B];
	static const char *names[NAMES];
	long before = fault_blocks();
	int failed = 0;

	(void)state;
	for (int i = 0; i < NAMES; i++) {
		snprintf(text[i], NAME_B, "%d names in a directory that is "
		    "too large for a small one", i);
		names[i] = text[i];
	}
	for (;;) {
		char plan[32];
		int rc;

		snprintf(plan, sizeof(plan), "malloc:%d:ENOMEM", failed + 1);
		assert_true(fault_plan(plan));
		rc = add_dir(names, NAMES);
		assert_true(fault_plan(""));
		assert_int_equal(fault_blocks(), before);
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		failed++;
	}
	/* each split makes one leaf more, and one block is their table */
	assert_int_equal(failed, 2 + blocks - 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
