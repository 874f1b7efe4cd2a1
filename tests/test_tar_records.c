/*
 * test_tar_records.c - the records of pax headers, and sparse maps
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_made.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static struct archive archive;

/* An entry says whether global records concern it. */
static void
from_global(void **state)
{
	static const char *const comment[] = { "comment=x", NULL };
	static const char *const global[] = { "uid=77", NULL };
	static const char *const local[] = { "uid=78", NULL };
	struct tar_entry e;
	struct tar *t;

	(void)state;
	begin(&archive);
	add_records(&archive, 'g', comment);
	sum(add(&archive, '0', "a", "", 0));
	add_records(&archive, 'g', global);
	sum(add(&archive, '0', "b", "", 0));
	add_records(&archive, 'x', local);
	sum(add(&archive, '0', "c", "", 0));
	t = opened(&archive);
	assert_int_equal(tar_next(t, &e), 1);
	assert_false(e.from_global);
	assert_int_equal(tar_next(t, &e), 1);
	assert_true(e.from_global);
	assert_int_equal(tar_next(t, &e), 1);
	assert_false(e.from_global);
	assert_int_equal(e.uid, 78);
	tar_close(t);
}

static void
local_records_win(void **state)
{
	static const char *const global[] = { "uname=ab", "uid=77",
		"SCHILY.xattr.user.k=v1", "SCHILY.xattr.user.g=v2", NULL };
	static const char *const more[] = { "gid=99", NULL };
	char local[256];
	size_t len;
	struct tar_entry e;
	struct tar *t;

	(void)state;
	begin(&archive);
	add_records(&archive, 'g', global);
	add_records(&archive, 'g', more);
	len = record(local, "path", "a/b/c", 5);
	len += record(local + len, "mtime", "-1.5", 4);
	len += record(local + len, "SCHILY.xattr.user.k", "a\0b", 3);
	len += record(local + len, "comment", "", 0);
	add_pax(&archive, 'x', local, len);
	sum(add(&archive, '0', "a", "", 0));
	sum(add(&archive, '0', "b", "", 0));
	t = opened(&archive);
	assert_int_equal(tar_next(t, &e), 1);
	assert_string_equal(e.path, "a/b/c");
	assert_string_equal(e.uname, "ab");
	assert_int_equal(e.uid, 77);
	assert_int_equal(e.gid, 99);
	assert_int_equal(e.mtime, -2);
	assert_int_equal(e.mtime_ns, 500000000);
	assert_int_equal(e.xattr_count, 2);
	assert_string_equal(e.xattrs[0].name, "user.k");
	assert_int_equal(e.xattrs[0].length, 3);
	assert_memory_equal(e.xattrs[0].value, "a\0b", 3);
	assert_true(e.from_global);
	assert_int_equal(tar_next(t, &e), 1);
	assert_string_equal(e.path, "b");
	assert_int_equal(e.uid, 77);
	assert_int_equal(e.mtime, 0);
	assert_memory_equal(e.xattrs[0].value, "v1", 2);
	assert_int_equal(tar_next(t, &e), 0);
	tar_close(t);
}

static void
damaged_records(void **state)
{
	static const char *const bad[] = { "4 a=\n", "999 path=x\n",
		"8 path=x\n", "path=x\n", " 9 path=x\n", "0 a=b\n",
		"11 pathx11\n", "18446744073709551617 a=b\n" };
	static const char *const values[] = { "uid=-12", "uid=1x", "mtime=x",
		"GNU.sparse.offset=1", "GNU.sparse.map=1,2,3,4,5x",
		"GNU.sparse.map=1,2,3", "GNU.sparse.map=1,,3,4",
		"uid=99999999999999999999999999999" };
	struct tar_entry e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin(&archive);
		add_pax(&archive, 'x', bad[i], strlen(bad[i]));
		sum(add(&archive, '0', "a", "", 0));
		assert_int_equal(first(&archive, &e), -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		begin(&archive);
		add_records(&archive, 'x',
		    (const char *const[]){ values[i], NULL });
		sum(add(&archive, '0', "a", "", 0));
		assert_int_equal(first(&archive, &e), -EBADMSG);
	}
	begin(&archive);
	add_pax(&archive, 'x', "10 path=x\n9", 11);
	assert_int_equal(first(&archive, &e), -EBADMSG);
	/* an extension alone */
	begin(&archive);
	add_pax(&archive, 'x', "11 path=xy\n", 11);
	archive.len += 1024;
	assert_int_equal(first(&archive, &e), -EBADMSG);
	/* a NUL in a name */
	begin(&archive);
	add_pax(&archive, 'x', "12 path=a\0b\n", 12);
	sum(add(&archive, '0', "a", "", 0));
	assert_int_equal(first(&archive, &e), -EBADMSG);
}

static int
sparse(const char *map, uint64_t *extents)
{
	struct tar_entry e;
	int rc;

	begin(&archive);
	add_records(&archive, 'x',
	    (const char *const[]){ "GNU.sparse.size=99", map, NULL });
	sum(add(&archive, '0', "s", "0123456789", 10));
	rc = first(&archive, &e);
	*extents = e.extent_count;
	return rc;
}

/*
 * An old sparse file of 20 bytes, whose map says that 5 are at 0 and 5 at 10;
 * len bytes at offset `at` of its header are then replaced.
 */
static int
old_sparse(size_t at, const void *with, size_t len)
{
	struct tar_entry e;
	uint8_t *h;
	int rc;

	begin(&archive);
	h = add(&archive, 'S', "s", "0123456789", 10);
	memcpy(h + 257, "ustar  ", 8);
	memcpy(h + 386, "00000000000\0" "00000000005", 24);
	memcpy(h + 410, "00000000012\0" "00000000005", 24);
	memcpy(h + 483, "00000000024", 12);
	memcpy(h + at, with, len);
	sum(h);
	rc = first(&archive, &e);
	if (rc == 1)
		assert_int_equal(e.size, 20);
	return rc;
}

static void
old_sparse_maps(void **state)
{
	static const char minus[12] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	    "\xff\xff\xff";

	(void)state;
	assert_int_equal(old_sparse(0, "", 0), 1);
	/* an extent without data is none */
	assert_int_equal(old_sparse(434, "00000000024\0" "00000000000", 24), 1);
	/* each number in turn: the first extent, the second, the size */
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(old_sparse(386 + 12 * i, "0000000000x", 11),
		    -EBADMSG);
		assert_int_equal(old_sparse(386 + 12 * i, minus, 12),
		    -EBADMSG);
	}
	assert_int_equal(old_sparse(483, "0000000000x", 11), -EBADMSG);
	assert_int_equal(old_sparse(483, minus, 12), -EBADMSG);
	assert_int_equal(old_sparse(483, "00000000015", 11), -EBADMSG);
}

/* Sparse files of version 2.0 and 1.1, which nobody has defined yet */
static void
later_sparse_formats(void **state)
{
	static const char *const versions[][2] = {
		{ "GNU.sparse.major=2", "GNU.sparse.minor=0" },
		{ "GNU.sparse.major=1", "GNU.sparse.minor=1" },
	};
	struct tar_entry e;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&archive);
		add_records(&archive, 'x', (const char *const[]){
		    versions[i][0], versions[i][1], "GNU.sparse.realsize=9",
		    NULL });
		sum(add(&archive, '0', "a", "5\n0\n", 4));
		assert_int_equal(first(&archive, &e), -ENOTSUP);
	}
}

static void
sparse_maps(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(sparse("GNU.sparse.map=5,4,20,6,99,0", &n), 1);
	assert_int_equal(n, 2);
	/* a number without digits */
	assert_int_equal(sparse("GNU.sparse.map=,10", &n), -EBADMSG);
	/* overlapping, beyond the end, or not as long as the data */
	assert_int_equal(sparse("GNU.sparse.map=5,4,8,6", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,95,6", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,20,7", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,18446744073709551615,6",
	    &n), -EBADMSG);
}

/* An extended header that occurs many times */

enum { AGAIN = 30000, EXTENDED = 1024 };

static ssize_t
give_again(void *arg, void *buf, size_t len)
{
	size_t *at = arg, in = *at % EXTENDED;

	len = len < EXTENDED - in ? len : EXTENDED - in;
	if (*at == (size_t)AGAIN * EXTENDED)
		return 0;
	memcpy(buf, archive.data + in, len);
	*at += len;
	return (ssize_t)len;
}

/* Returns the CPU time that it takes, in seconds. */
static double
read_again(char type)
{
	size_t at = 0;
	struct tar_source source = { .read = give_again, .arg = &at };
	struct timespec start, end;
	struct tar_entry e;
	struct tar *t;

	begin(&archive);
	add_pax(&archive, type, "12 a=bcdefg\n", 12);
	assert_int_equal(archive.len, EXTENDED);
	assert_int_equal(tar_open(&t, &source), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	assert_int_equal(tar_next(t, &e), type == 'g' ? 0 : -EBADMSG);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	assert_int_equal(at, AGAIN * EXTENDED);
	tar_close(t);
	return (double)(end.tv_sec - start.tv_sec) +
	    (double)(end.tv_nsec - start.tv_nsec) / 1e9;
}

/* Global headers accumulate, but each record is parsed once. */
static void
many_headers(void **state)
{
	double local = read_again('x'), global = read_again('g');

	(void)state;
	if (global > 5 * local + 0.1)
		fail_msg("%.3f s of CPU time instead of %.3f", global, local);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_global),
		cmocka_unit_test(local_records_win),
		cmocka_unit_test(damaged_records),
		cmocka_unit_test(later_sparse_formats),
		cmocka_unit_test(sparse_maps),
		cmocka_unit_test(old_sparse_maps),
		cmocka_unit_test(many_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
