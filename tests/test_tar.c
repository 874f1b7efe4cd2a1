/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/tar/tar.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

/* An archive in memory, read in pieces of at most `step` bytes. */
struct archive {
	uint8_t data[64 << 10];
	size_t len, at, step;
};

static struct archive archive;

static ssize_t
give(void *arg, void *buf, size_t len)
{
	struct archive *a = arg;

	if (len > a->step)
		len = a->step;
	if (len > a->len - a->at)
		len = a->len - a->at;
	memcpy(buf, a->data + a->at, len);
	a->at += len;
	return (ssize_t)len;
}

static void
begin(void)
{
	memset(&archive, 0, sizeof(archive));
	archive.step = 100;
}

static void
set_size(uint8_t *h, unsigned size)
{
	snprintf((char *)h + 124, 12, "%011o", size);
}

static uint8_t *
add(char type, const char *name, const void *data, size_t len)
{
	uint8_t *h = archive.data + archive.len;

	snprintf((char *)h, 100, "%s", name);
	memcpy(h + 100, "0000644\0000000001\0000000002\0", 24);
	set_size(h, (unsigned)len);
	memcpy(h + 136, "00000000000", 12);
	h[156] = (uint8_t)type;
	memcpy(h + 257, "ustar\00000", 8);
	memcpy(h + 512, data, len);
	archive.len += 512 + (len + 511) / 512 * 512;
	return h;
}

static void
sum(uint8_t *h)
{
	unsigned n = 0;

	memset(h + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		n += h[i];
	snprintf((char *)h + 148, 8, "%06o", n);
}

static void
add_pax(char type, const char *records, size_t len)
{
	sum(add(type, "pax", records, len));
}

/* Writes one record, preceded by its length, which includes itself. */
static size_t
record(char *to, const char *key, const char *value, size_t len)
{
	size_t body = strlen(key) + len + 3, total = body + 1;

	while (total != body + (size_t)snprintf(NULL, 0, "%zu", total))
		total++;
	to += sprintf(to, "%zu %s=", total, key);
	memcpy(to, value, len);
	to[len] = '\n';
	return total;
}

/* Adds records of "key=value" texts; NULL ends the list. */
static void
add_records(char type, const char *const *texts)
{
	char all[1024], key[64];
	size_t len = 0;

	for (; *texts != NULL; texts++) {
		const char *equals = strchr(*texts, '=');

		snprintf(key, sizeof(key), "%.*s", (int)(equals - *texts),
		    *texts);
		len += record(all + len, key, equals + 1, strlen(equals + 1));
	}
	add_pax(type, all, len);
}

static struct tar *
opened(void)
{
	struct tar_source s = { .read = give, .arg = &archive };
	struct tar *t;

	archive.at = 0;
	assert_int_equal(tar_open(&t, &s), 0);
	return t;
}

/* Reads the first entry.  Returns the result. */
static int
first(struct tar_entry *e)
{
	struct tar *t = opened();
	int rc = tar_next(t, e);

	if (rc < 0)
		assert_non_null(tar_why(t));
	e->path = e->link = e->uname = e->gname = NULL;
	tar_close(t);
	return rc;
}

static void
data_is_read_or_skipped(void **state)
{
	char text[1500], got[1500];
	struct tar_entry e;
	struct tar *t;
	size_t have = 0;

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t step = 1; step <= 2000; step += 499) {
		begin();
		archive.step = step;
		sum(add('0', "a", text, sizeof(text)));
		sum(add('0', "b", text, 10));
		archive.len += 1024;
		t = opened();
		assert_int_equal(tar_next(t, &e), 1);
		assert_string_equal(e.path, "a");
		assert_int_equal(e.data_offset, 512);
		for (have = 0; have < sizeof(text);) {
			ssize_t n = tar_read(t, got + have,
			    sizeof(got) - have);

			assert_true(n > 0);
			have += (size_t)n;
		}
		assert_memory_equal(got, text, sizeof(text));
		assert_int_equal(tar_read(t, got, 1), 0);
		assert_int_equal(tar_next(t, &e), 1);
		assert_string_equal(e.path, "b");
		assert_int_equal(e.header_offset, 512 + 1536);
		assert_int_equal(tar_next(t, &e), 0);
		assert_int_equal(tar_next(t, &e), 0);
		assert_int_equal(tar_drain(t), 0);
		assert_int_equal(tar_offset(t), archive.len);
		tar_close(t);
	}
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
	begin();
	add_records('g', global);
	add_records('g', more);
	len = record(local, "path", "a/b/c", 5);
	len += record(local + len, "mtime", "-1.5", 4);
	len += record(local + len, "SCHILY.xattr.user.k", "a\0b", 3);
	len += record(local + len, "comment", "", 0);
	add_pax('x', local, len);
	sum(add('0', "a", "", 0));
	sum(add('0', "b", "", 0));
	t = opened();
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
		"GNU.sparse.map=1,2,3", "uid=99999999999999999999999999999" };
	struct tar_entry e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		begin();
		add_pax('x', bad[i], strlen(bad[i]));
		sum(add('0', "a", "", 0));
		assert_int_equal(first(&e), -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		begin();
		add_records('x', (const char *const[]){ values[i], NULL });
		sum(add('0', "a", "", 0));
		assert_int_equal(first(&e), -EBADMSG);
	}
	begin();
	add_pax('x', "10 path=x\n9", 11);
	assert_int_equal(first(&e), -EBADMSG);
	/* an extension alone */
	begin();
	add_pax('x', "11 path=xy\n", 11);
	archive.len += 1024;
	assert_int_equal(first(&e), -EBADMSG);
	/* a NUL in a name */
	begin();
	add_pax('x', "12 path=a\0b\n", 12);
	sum(add('0', "a", "", 0));
	assert_int_equal(first(&e), -EBADMSG);
}

static int
sparse(const char *map, uint64_t *extents)
{
	struct tar_entry e;
	int rc;

	begin();
	add_records('x', (const char *const[]){ "GNU.sparse.size=99", map,
		NULL });
	sum(add('0', "s", "0123456789", 10));
	rc = first(&e);
	*extents = e.extent_count;
	return rc;
}

static void
sparse_maps(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(sparse("GNU.sparse.map=5,4,20,6,99,0", &n), 1);
	assert_int_equal(n, 2);
	/* overlapping, beyond the end, or not as long as the data */
	assert_int_equal(sparse("GNU.sparse.map=5,4,8,6", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,95,6", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,20,7", &n), -EBADMSG);
	assert_int_equal(sparse("GNU.sparse.map=5,4,18446744073709551615,6",
	    &n), -EBADMSG);
}

static void
damaged_headers(void **state)
{
	struct tar_entry e;
	uint8_t *h;

	(void)state;
	begin();
	h = add('0', "a", "", 0);
	sum(h);
	h[5] ^= 1;
	assert_int_equal(first(&e), -EBADMSG);
	begin();
	sum(add('0', "", "", 0));
	assert_int_equal(first(&e), -EBADMSG);
	begin();
	h = add('0', "a", "", 0);
	memcpy(h + 124, "0000000001x", 11);
	sum(h);
	assert_int_equal(first(&e), -EBADMSG);
	/* a negative size, and one that exceeds 64 bits */
	begin();
	h = add('0', "a", "", 0);
	memset(h + 124, 0xff, 12);
	sum(h);
	assert_int_equal(first(&e), -EBADMSG);
	begin();
	h = add('0', "a", "", 0);
	h[124] = 0x80;
	h[125] = 1;
	sum(h);
	assert_int_equal(first(&e), -EBADMSG);
	/* a name longer than the cap is not allocated */
	begin();
	h = add('L', "a", "", 0);
	set_size(h, 1 << 30);
	sum(h);
	assert_int_equal(first(&e), -EFBIG);
}

static void
hard_links(void **state)
{
	struct tar_entry e;
	uint8_t *h;

	(void)state;
	/* old archives state the target's size and store nothing */
	begin();
	h = add('1', "link", "", 0);
	set_size(h, 5);
	snprintf((char *)h + 157, 100, "target");
	sum(h);
	sum(add('0', "b", "12345", 5));
	assert_int_equal(first(&e), 1);
	assert_int_equal(e.type, TAR_HARDLINK);
	assert_int_equal(e.stored, 0);
	/* pax archives may store the data */
	begin();
	add_records('x', (const char *const[]){ "uname=ab", NULL });
	sum(add('1', "link", "12345", 5));
	assert_int_equal(first(&e), 1);
	assert_int_equal(e.stored, 5);
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

	begin();
	add_pax(type, "12 a=bcdefg\n", 12);
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
		cmocka_unit_test(data_is_read_or_skipped),
		cmocka_unit_test(local_records_win),
		cmocka_unit_test(damaged_records),
		cmocka_unit_test(sparse_maps),
		cmocka_unit_test(damaged_headers),
		cmocka_unit_test(hard_links),
		cmocka_unit_test(many_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
