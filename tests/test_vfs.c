/*
 * test_vfs.c - stacks of layers, and reading their files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_made.h"

/* Stacks */

static void
stacked(void **state)
{
	struct fake f[3] = { { .reads = { 0 } } };
	struct fake_vfs w;

	(void)state;
	fake_dir(&f[0], "d");
	fake_file(&f[0], "d/low", 1, 100);
	fake_file(&f[0], "d/both", 2, 100);
	fake_file(&f[0], "d/gone", 3, 100);
	fake_dir(&f[0], "e");
	fake_file(&f[0], "e/hidden", 4, 100);
	fake_file(&f[1], "d/both", 5, 200);
	fake_file(&f[1], "d/.wh.gone", 0, 0);
	fake_file(&f[1], "e/.wh..wh..opq", 0, 0);
	fake_file(&f[1], "e/seen", 6, 100);
	fake_file(&f[2], "d/gone", 7, 300);
	fake_entry(&f[2], "\"name\":\"d/link\",\"type\":\"hardlink\","
	    "\"linkName\":\"d/gone\"");
	for (int i = 0; i < 3; i++)
		fake_end(&f[i]);
	vfs_prepare(&w);

	/* the upper two layers show what the lowest one does not */
	vfs_begin(&w, f, 2, MERGE_MERGED);
	assert_true(vfs_gives(&w, "d/low", 0, 1000, 1, 100));
	assert_true(vfs_gives(&w, "d/both", 0, 1000, 5, 200));
	assert_int_equal(vfs_find(&w, "d/gone"), MERGE_NONE);
	assert_int_equal(vfs_find(&w, "d/.wh.gone"), MERGE_NONE);
	assert_int_equal(vfs_find(&w, "e/hidden"), MERGE_NONE);
	assert_true(vfs_gives(&w, "e/seen", 0, 1000, 6, 100));
	assert_null(w.s.lookups);
	vfs_stop(w.v);
	vfs_stack_close(&w.s);
	vfs_close(w.v);

	vfs_begin(&w, f, 3, MERGE_MERGED);
	assert_true(vfs_gives(&w, "d/gone", 0, 1000, 7, 300));
	assert_true(vfs_gives(&w, "d/link", 10, 20, 7, 20));
	assert_int_equal(vfs_find(&w, "d/link"), vfs_find(&w, "d/gone"));
	assert_int_equal(vfs_find(&w, "e/hidden"), MERGE_NONE);
	assert_string_equal(w.said, "");
	vfs_end(&w);
	for (int i = 0; i < 3; i++)
		fake_free(&f[i]);
}

/* For overlayfs, whiteouts are nodes, and references are counted. */
static void
overlay(void **state)
{
	struct fake f = { .reads = { 0 } };
	struct vfs_counts c;
	struct fake_vfs w;
	uint32_t file;

	(void)state;
	fake_dir(&f, "d");
	fake_file(&f, "d/.wh.gone", 0, 0);
	fake_file(&f, "d/file", 1, 100);
	fake_end(&f);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_OVERLAY);
	assert_true(merge_node(w.s.tree, (uint32_t)vfs_find(&w,
	    "d/gone"))->whiteout);
	file = (uint32_t)vfs_find(&w, "d/file");
	vfs_stack_reference(&w.s, file, 3);
	vfs_stack_reference(&w.s, MERGE_ROOT, 1);
	vfs_stack_unreference(&w.s, file, 1);
	assert_int_equal(w.s.references, 3);
	assert_int_equal(w.s.lookups[file], 2);
	assert_int_equal(w.s.lookups[MERGE_ROOT], 1);
	vfs_counted(w.v, &c);
	assert_int_equal(c.layers, 1);
	assert_int_equal(c.files, 4);
	vfs_end(&w);
	fake_free(&f);
}

/* What cannot be opened is reported once, by name. */
static void
refused(void **state)
{
	struct fake f[2] = { { .reads = { 0 } } };
	struct fake_vfs w;
	char digest[80];

	(void)state;
	fake_file(&f[0], "a", 1, 100);
	fake_end(&f[0]);
	strbuf_str(&f[1].made.b, "neither an index nor a footer");
	vfs_prepare(&w);
	assert_int_equal(vfs_open(&w.v, &w.o), 0);
	w.s.v = w.v;
	assert_int_equal(vfs_stack_add_ops(&w.s, "none", &fake_ops, &f[1]),
	    -EINVAL);
	assert_memory_equal(w.said, "none: ", 6);
	assert_ptr_equal(strchr(w.said, '\n'), w.said + strlen(w.said) - 1);
	*w.said = '\0';
	vfs_stack_close(&w.s);
	vfs_stop(w.v);
	vfs_close(w.v);

	/* an index with another digest */
	w.o.expect.index_digest = sum_of("", 0, digest);
	assert_int_equal(vfs_open(&w.v, &w.o), 0);
	w.s.v = w.v;
	assert_int_equal(vfs_stack_add_ops(&w.s, "other", &fake_ops, &f[0]),
	    -EBADMSG);
	assert_memory_equal(w.said, "other: ", 7);
	*w.said = '\0';
	vfs_stop(w.v);
	vfs_stack_close(&w.s);
	vfs_close(w.v);
	w.o.expect.index_digest = "sha256:1234";
	assert_int_equal(vfs_open(&w.v, &w.o), 0);
	w.s.v = w.v;
	assert_int_equal(vfs_stack_add_ops(&w.s, "short", &fake_ops, &f[0]),
	    -EINVAL);
	assert_string_equal(w.said, "short: the digest of the index is not "
	    "sha256: followed by 64 hexadecimal digits\n");
	vfs_end(&w);
	for (int i = 0; i < 2; i++)
		fake_free(&f[i]);
}

/* Reads */

static void
pieces(void **state)
{
	enum { SIZE = 5 * CHUNK + 100 };
	struct fake f = { .reads = { 0 } };
	struct vfs_counts c;
	struct vfs_read r;
	struct fake_vfs w;

	(void)state;
	fake_file(&f, "file", 1, SIZE);
	fake_file(&f, "empty", 0, 0);
	fake_end(&f);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);

	/* from a unit, in place */
	assert_int_equal(vfs_read_at(&w, &r, "file", CHUNK + 7, 1000), 1000);
	assert_true(fake_is(1, CHUNK + 7, r.data, 1000));
	assert_non_null(r.unit);
	assert_ptr_equal(r.data, unit_data(r.unit) + 7);
	vfs_read_end(&r);
	assert_int_equal(f.reads[HTTP_READ], 1);
	/* of one that is in memory */
	assert_true(vfs_gives(&w, "file", CHUNK, CHUNK, 1, CHUNK));
	assert_int_equal(f.reads[HTTP_READ], 1);
	/* from several, with one request */
	assert_int_equal(vfs_read_at(&w, &r, "file", CHUNK - 1, 2 * CHUNK + 2),
	    2 * CHUNK + 2);
	assert_true(fake_is(1, CHUNK - 1, r.data, 2 * CHUNK + 2));
	assert_null(r.unit);
	vfs_read_end(&r);
	assert_int_equal(f.reads[HTTP_READ], 2);
	/* at the end, and beyond it */
	assert_true(vfs_gives(&w, "file", SIZE - 10, 1000, 1, 10));
	assert_true(vfs_gives(&w, "file", SIZE - 200, 1000, 1, 200));
	assert_true(vfs_gives(&w, "file", SIZE, 1000, 1, 0));
	assert_true(vfs_gives(&w, "file", UINT64_MAX, SIZE_MAX, 1, 0));
	assert_true(vfs_gives(&w, "empty", 0, 1000, 0, 0));
	assert_true(vfs_gives(&w, "file", 0, SIZE_MAX, 1, SIZE));
	vfs_counted(w.v, &c);
	assert_int_equal(c.reads, 9);
	assert_int_equal(c.read_bytes, 1000 + CHUNK + 2 * CHUNK + 2 + 210 +
	    SIZE);
	assert_int_equal(c.first_reads, 2);
	assert_int_equal(c.failures, 0);
	assert_int_equal(c.units.decoded, 6);
	vfs_end(&w);
	fake_free(&f);
}

/* Where a file has no run there are zeros. */
static void
holes(void **state)
{
	struct fake f = { .reads = { 0 } };
	struct vfs_read r;
	struct fake_vfs w;

	(void)state;
	fake_file_after(&f, "file", 1, 4 * CHUNK, 2);
	fake_end(&f);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_int_equal(vfs_read_at(&w, &r, "file", 10, CHUNK), CHUNK);
	for (size_t i = 0; i < CHUNK; i++)
		assert_int_equal(r.data[i], 0);
	vfs_read_end(&r);
	assert_int_equal(f.reads[HTTP_READ], 0);
	assert_int_equal(vfs_read_at(&w, &r, "file", CHUNK, 2 * CHUNK), 2 *
	    CHUNK);
	assert_int_equal(r.data[CHUNK - 1], 0);
	assert_true(fake_is(1, 2 * CHUNK, r.data + CHUNK, CHUNK));
	vfs_read_end(&r);
	vfs_end(&w);
	fake_free(&f);
}

/* More units than one request may have, and more bytes than one may decode */
static void
large(void **state)
{
	enum { SIZE = 300 * CHUNK };
	struct fake f = { .reads = { 0 } };
	struct fake_vfs w;

	(void)state;
	fake_file(&f, "file", 1, SIZE);
	fake_end(&f);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_true(vfs_gives(&w, "file", 0, SIZE, 1, SIZE));
	assert_int_equal(f.reads[HTTP_READ], (300 + UNITS_MAX - 1) / UNITS_MAX);
	vfs_end(&w);
	fake_free(&f);
}

static void
failures(void **state)
{
	struct fake f = { .reads = { 0 } };
	struct vfs_counts c;
	struct vfs_read r;
	struct fake_vfs w;

	(void)state;
	fake_file(&f, "file", 1, 3 * CHUNK);
	fake_end(&f);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	f.fails = -ETIMEDOUT;
	assert_int_equal(vfs_read_at(&w, &r, "file", 0, 100), -ETIMEDOUT);
	assert_null(r.unit);
	vfs_read_end(&r);
	assert_int_equal(vfs_read_at(&w, &r, "file", 0, 2 * CHUNK),
	    -ETIMEDOUT);
	vfs_read_end(&r);
	f.fails = 0;
	/* wrong bytes are forgotten, and read again */
	f.wrong = 1;
	assert_true(vfs_gives(&w, "file", 0, 100, 1, 100));
	assert_int_equal(f.forgotten, 1);
	f.wrong = UNITS_TRIES;
	assert_int_equal(vfs_read_at(&w, &r, "file", CHUNK, 100), -EIO);
	vfs_read_end(&r);
	assert_true(vfs_gives(&w, "file", CHUNK, 100, 1, 100));
	vfs_counted(w.v, &c);
	assert_int_equal(c.failures, 3);
	assert_int_equal(c.reads, 2);
	assert_int_equal(c.units.wrong, 1 + UNITS_TRIES);
	vfs_end(&w);
	fake_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacked),
		cmocka_unit_test(overlay),
		cmocka_unit_test(refused),
		cmocka_unit_test(pieces),
		cmocka_unit_test(holes),
		cmocka_unit_test(large),
		cmocka_unit_test(failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
