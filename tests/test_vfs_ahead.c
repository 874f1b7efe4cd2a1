/*
 * test_vfs_ahead.c - fetching ahead of reads, and in the background
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_made.h"

#include "vfs_private.h"

#include "base/sys.h"

enum { UNITS = 100, SIZE = UNITS * CHUNK, TIME_MS = 20000, IDLE_MS = 300 };

static void
sleep_ms(unsigned ms)
{
	sys_sleep_ns(ms * UINT64_C(1000000));
}

/* Waits until at least n reads in this phase have been made. */
static bool
comes_to(_Atomic unsigned *count, unsigned n)
{
	for (int i = 0; i < TIME_MS && *count < n; i++)
		sleep_ms(1);
	return *count >= n;
}

static bool
has_unit(struct fake_vfs *w, const char *path, uint64_t at)
{
	const struct merge_node *n = merge_node(w->s.tree,
	    (uint32_t)vfs_find(w, path));
	size_t run = layer_find_run(n->entry, at);

	return units_has(w->v->units, vfs_unit_of(&w->s, n,
	    n->entry->runs[run].unit));
}

/* Reads, and returns whether enough of the file has been read in sequence. */
static bool
read_on(struct fake_vfs *w, const char *path, uint64_t at, size_t size)
{
	struct vfs_read r;
	bool enough;

	assert_int_equal(vfs_read_at(w, &r, path, at, size), size);
	enough = vfs_read_ahead(&r);
	vfs_read_end(&r);
	return enough;
}

static void
begin(struct fake_vfs *w, struct fake *f, enum vfs_prefetch prefetch)
{
	memset(f, 0, sizeof(*f));
	fake_file(f, "file", 1, SIZE);
	fake_file(f, "other", 2, SIZE);
	fake_end(f);
	vfs_prepare(w);
	w->o.prefetch = prefetch;
	vfs_begin(w, f, 1, MERGE_MERGED);
	w->s.first_inode = 1;
}

static void
end(struct fake_vfs *w, struct fake *f)
{
	vfs_end(w);
	fake_free(f);
}

/* The units that follow are fetched, as far ahead as the file has been read. */
static void
sequential(void **state)
{
	struct vfs_counts c;
	struct fake_vfs w;
	uint64_t at = 0;
	struct fake f;

	(void)state;
	begin(&w, &f, VFS_PREFETCH_NONE);
	/* not yet */
	for (; at < 256 << 10; at += 32 << 10)
		assert_false(read_on(&w, "file", at, 32 << 10));
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_PREFETCH], 0);
	assert_false(has_unit(&w, "file", at + 2 * CHUNK));
	/* twice as much as was read */
	assert_false(read_on(&w, "file", at, 32 << 10));
	at += 32 << 10;
	assert_true(comes_to(&f.reads[HTTP_PREFETCH], 5));
	sleep_ms(IDLE_MS);
	assert_true(has_unit(&w, "file", at + (200 << 10)));
	assert_false(has_unit(&w, "file", at + (400 << 10)));
	vfs_counted(w.v, &c);
	assert_int_equal(c.ahead_units, f.reads[HTTP_PREFETCH]);
	/* startup has ended after 1 MiB since the first read */
	for (; at < (32 << 10) + (1 << 20); at += 32 << 10)
		assert_int_equal(read_on(&w, "file", at, 32 << 10), at >=
		    1 << 20);
	end(&w, &f);
}

/* Reads elsewhere, and of other files, are not sequential. */
static void
jumps(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	begin(&w, &f, VFS_PREFETCH_NONE);
	for (uint64_t at = 0; at < SIZE - CHUNK; at += 2 * CHUNK) {
		assert_false(read_on(&w, "file", at, CHUNK));
		assert_false(read_on(&w, "other", at, CHUNK - 1));
	}
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_PREFETCH], 0);
	/* nor do several files disturb each other */
	for (uint64_t at = 0; at < 1 << 20; at += 64 << 10) {
		(void)read_on(&w, "file", at, 64 << 10);
		(void)read_on(&w, "other", at, 64 << 10);
	}
	assert_true(read_on(&w, "file", 1 << 20, 64 << 10));
	assert_true(read_on(&w, "other", 1 << 20, 64 << 10));
	end(&w, &f);
}

/* Nor are files whose reads are tracked in the same place. */
static void
neighbours(void **state)
{
	struct fake f = { .reads = { 0 } };
	struct fake_vfs w;
	char name[8];

	(void)state;
	fake_file(&f, "a", 1, SIZE);
	for (int i = 0; i < 63; i++) {
		snprintf(name, sizeof(name), "b%02d", i);
		fake_file(&f, name, 0, 0);
	}
	fake_file(&f, "c", 2, SIZE);
	fake_end(&f);
	vfs_prepare(&w);
	w.o.prefetch = VFS_PREFETCH_NONE;
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_int_equal(vfs_find(&w, "c") - vfs_find(&w, "a"), 64);
	for (uint64_t at = 0; at < 2 << 20; at += 128 << 10) {
		assert_false(read_on(&w, "a", at, 64 << 10));
		assert_false(read_on(&w, "c", at + (64 << 10), 64 << 10));
	}
	end(&w, &f);
}

/* A caller that keeps whole units reads on at the next one. */
static void
kept_units(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		bool enough = false;

		memset(&f, 0, sizeof(f));
		fake_file(&f, "file", 1, SIZE);
		fake_end(&f);
		vfs_prepare(&w);
		w.o.prefetch = VFS_PREFETCH_NONE;
		w.o.keeps_units = keeps;
		vfs_begin(&w, &f, 1, MERGE_MERGED);
		for (uint64_t at = 0; at < 2 << 20; at += CHUNK)
			enough = read_on(&w, "file", at, 4096);
		assert_int_equal(enough, keeps);
		end(&w, &f);
	}
}

/* Nothing of a stack that is closed is fetched. */
static void
forgotten(void **state)
{
	struct fake_vfs w;
	struct fake f;
	unsigned before;

	(void)state;
	begin(&w, &f, VFS_PREFETCH_NONE);
	for (uint64_t at = 0; at < 1 << 20; at += 64 << 10)
		(void)read_on(&w, "file", at, 64 << 10);
	vfs_stack_forget(&w.s);
	before = f.reads[HTTP_PREFETCH];
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_PREFETCH], before);
	/* and the file's reads begin anew */
	assert_false(read_on(&w, "file", 1 << 20, 64 << 10));
	end(&w, &f);
}

/* The background */

static void
all(void **state)
{
	struct vfs_counts c;
	struct fake_vfs w;
	struct fake f;

	(void)state;
	begin(&w, &f, VFS_PREFETCH_ALL);
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], 0);
	vfs_stack_fetch(&w.s);
	assert_true(comes_to(&f.reads[HTTP_BACKGROUND], 2 * UNITS));
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], 2 * UNITS);
	vfs_counted(w.v, &c);
	assert_int_equal(c.reads, 0);
	assert_int_equal(c.units.decoded, 2 * UNITS);
	end(&w, &f);
}

/* What comes before the landmark is fetched, unless nothing is to be. */
static void
marked(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		memset(&f, 0, sizeof(f));
		fake_file(&f, "first", 1, 5 * CHUNK);
		fake_file(&f, LAYER_LANDMARK, 3, 1);
		fake_file(&f, "later", 2, 5 * CHUNK);
		fake_end(&f);
		vfs_prepare(&w);
		w.o.prefetch = i == 0 ? VFS_PREFETCH_AUTO : VFS_PREFETCH_NONE;
		vfs_begin(&w, &f, 1, MERGE_MERGED);
		vfs_stack_fetch(&w.s);
		if (i == 0)
			assert_true(comes_to(&f.reads[HTTP_BACKGROUND], 5));
		sleep_ms(IDLE_MS);
		assert_int_equal(f.reads[HTTP_BACKGROUND], i == 0 ? 5 : 0);
		assert_int_equal(has_unit(&w, "first", 4 * CHUNK), i == 0);
		assert_false(has_unit(&w, "later", 0));
		end(&w, &f);
	}
}

/* Reads come first. */
static void
yielding(void **state)
{
	struct fake_vfs w;
	struct vfs_read r;
	struct fake f;
	unsigned before;

	(void)state;
	begin(&w, &f, VFS_PREFETCH_ALL);
	assert_int_equal(vfs_read_at(&w, &r, "file", 0, 100), 100);
	before = f.reads[HTTP_BACKGROUND];
	vfs_stack_fetch(&w.s);
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], before);
	vfs_read_end(&r);
	assert_true(comes_to(&f.reads[HTTP_BACKGROUND], 1));
	end(&w, &f);
}

/* The rate is kept, and a stack that is closed does not wait for it. */
static void
paced(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	memset(&f, 0, sizeof(f));
	fake_file(&f, "file", 1, SIZE);
	fake_end(&f);
	vfs_prepare(&w);
	w.o.prefetch = VFS_PREFETCH_ALL;
	w.o.rate = 1;
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	vfs_stack_fetch(&w.s);
	assert_true(comes_to(&f.reads[HTTP_BACKGROUND], 1));
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], 1);
	vfs_stack_forget(&w.s);
	sleep_ms(IDLE_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], 1);
	end(&w, &f);
}

/* What is not fetched while others read is not fetched faster later. */
static void
not_saved(void **state)
{
	enum { PER_S = 20, READ_MS = 3000, REST_MS = 500 };
	struct fake_vfs w;
	struct vfs_read r;
	struct fake f;
	size_t count;

	(void)state;
	memset(&f, 0, sizeof(f));
	fake_file(&f, "file", 1, SIZE);
	fake_end(&f);
	vfs_prepare(&w);
	w.o.prefetch = VFS_PREFETCH_ALL;
	/* units are alike */
	w.o.rate = 1;
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	w.v->o.rate = PER_S * layer_units(w.s.sources[0]->layer,
	    &count)[0].stored;
	assert_int_equal(vfs_read_at(&w, &r, "file", 0, 100), 100);
	vfs_stack_fetch(&w.s);
	sleep_ms(READ_MS);
	assert_int_equal(f.reads[HTTP_BACKGROUND], 0);
	vfs_read_end(&r);
	sleep_ms(REST_MS);
	/* a second's, and those of this time */
	assert_true(f.reads[HTTP_BACKGROUND] > 3);
	assert_true(f.reads[HTTP_BACKGROUND] < PER_S + PER_S * (REST_MS + 300)
	    / 1000);
	end(&w, &f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequential),
		cmocka_unit_test(jumps),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(kept_units),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(all),
		cmocka_unit_test(marked),
		cmocka_unit_test(yielding),
		cmocka_unit_test(paced),
		cmocka_unit_test(not_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
