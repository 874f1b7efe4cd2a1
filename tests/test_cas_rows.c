/*
 * test_cas_rows.c - catalogs of which one value is wrong
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A catalog of a few rows is written by SQLite.  With one statement more it is
 * refused, for the right reason, or has the right entries.
 */
#include "cas_read.h"

#include "sys_fault.h"

#include "base/bytes.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SHA "'0123456789abcdef0123456789abcdef01234567'"
#define HASH "x" SHA

static const char schema[] =
    "CREATE TABLE catalog (md5path_1 INTEGER, md5path_2 INTEGER,"
    " parent_1 INTEGER, parent_2 INTEGER, hardlinks INTEGER, hash BLOB,"
    " size INTEGER, mode INTEGER, mtime INTEGER, mtimens INTEGER,"
    " flags INTEGER, name TEXT, symlink TEXT, uid INTEGER, gid INTEGER,"
    " xattr BLOB);"
    "CREATE TABLE chunks (md5path_1 INTEGER, md5path_2 INTEGER,"
    " offset INTEGER, size INTEGER, hash BLOB);"
    "CREATE TABLE nested_catalogs (path TEXT, sha1 TEXT, size INTEGER);";

/* The rows; flags, and modes, as in cas_format.h and stat(2). */
static const char rows[] =
    "INSERT INTO catalog VALUES"
    " (md5_1(''), md5_2(''), 0, 0, 0, NULL, 4096, 16877, 7, NULL, 1, '', '',"
    "  0, 0, NULL),"
    " (md5_1('/d'), md5_2('/d'), md5_1(''), md5_2(''), 0, NULL, 4096, 16877,"
    "  7, NULL, 1, 'd', '', 0, 0, NULL),"
    " (md5_1('/d/f'), md5_2('/d/f'), md5_1('/d'), md5_2('/d'), 1, " HASH ","
    "  100, 33188, 7, 999999999, 4, 'f', '', 1, 2, x'0101010361" "787a7a'),"
    " (md5_1('/c'), md5_2('/c'), md5_1(''), md5_2(''), 1, NULL,"
    "  300, 33188, 7, 0, 68, 'c', '', 1, 2, NULL),"
    " (md5_1('/n'), md5_2('/n'), md5_1(''), md5_2(''), 3, NULL, 4096, 16877,"
    "  7, NULL, 3, 'n', '', 0, 0, NULL),"
    " (md5_1('/s'), md5_2('/s'), md5_1(''), md5_2(''), 1, NULL, 3, 41471,"
    "  7, NULL, 12, 's', 'd/f', 0, 0, NULL),"
    " (md5_1('/a'), md5_2('/a'), md5_1(''), md5_2(''), (9 << 32) + 2, " HASH
    ", 5, 33188, 7, NULL, 4, 'a', '', 0, 0, NULL),"
    " (md5_1('/b'), md5_2('/b'), md5_1(''), md5_2(''), (9 << 32) + 2, " HASH
    ", 5, 33188, 7, NULL, 4, 'b', '', 0, 0, NULL);"
    "INSERT INTO chunks VALUES"
    " (md5_1('/c'), md5_2('/c'), 0, 200, " HASH "),"
    " (md5_1('/c'), md5_2('/c'), 200, 100, " HASH ");"
    "INSERT INTO nested_catalogs VALUES ('/n', " SHA ", 4096);";

/* What is changed, and what is said of it; NULL: entries, as below. */
static const struct {
	const char *change, *why;
	int rc;
	const char *entries;
} cases[] = {
#define GOOD "|d/|c:300+2|n/|a:5+1|b=a|s@d/f|d/f:100+1"
#define UP "UPDATE catalog SET "
#define ATTRIBUTES(hex) UP "xattr = x'" hex "' WHERE name = 'f'"
#define SAYS(text) , text, -EBADMSG, NULL
#define GIVES(text) , NULL, 0, text
	{ "SELECT 1" GIVES(GOOD) },
	/* of all rows */
	{ UP "name = NULL WHERE name = 'f'" SAYS("not a valid name") },
	{ UP "name = x'660067' WHERE name = 'f'" SAYS("contains a NUL") },
	{ UP "symlink = x'660067' WHERE name = 'f'" SAYS("contains a NUL") },
	{ UP "name = '.' WHERE name = 'f'" SAYS("not a valid name") },
	{ UP "name = '..' WHERE name = 'f'" SAYS("not a valid name") },
	{ UP "name = 'f/g' WHERE name = 'f'" SAYS("not a valid name") },
	{ UP "name = 'g' WHERE name = 'f'" SAYS("MD5 of the path is wrong") },
	{ UP "md5path_1 = 1 + md5path_1 WHERE name = 'f'"
	    SAYS("MD5 of the path is wrong") },
	{ UP "md5path_2 = 1 + md5path_2 WHERE name = 'f'"
	    SAYS("MD5 of the path is wrong") },
	{ "INSERT INTO catalog SELECT * FROM catalog WHERE name = 'f'"
	    SAYS("listed twice") },
	{ UP "mode = 16877 WHERE name = 'f'" SAYS("contradicts") },
	{ UP "flags = 5 WHERE name = 'f'" SAYS("contradicts") },
	{ UP "flags = 4 WHERE name = 'd'" SAYS("contradicts") },
	{ UP "size = -1 WHERE name = 'f'" SAYS("out of range") },
	{ UP "uid = -1 WHERE name = 'f'" SAYS("out of range") },
	{ UP "gid = -1 WHERE name = 'f'" SAYS("out of range") },
	{ UP "mtimens = -1 WHERE name = 'f'" SAYS("out of range") },
	{ UP "mtimens = 1000000000 WHERE name = 'f'" SAYS("out of range") },
	{ UP "uid = 1 << 32 WHERE name = 'f'", "above 2^32", -EOVERFLOW, NULL },
	{ UP "gid = 1 << 32 WHERE name = 'f'", "above 2^32", -EOVERFLOW, NULL },
	{ ATTRIBUTES("0101010361787a7a00") GIVES(GOOD) },
	{ ATTRIBUTES("0101010361787a") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0102010361787a7a") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0102010361787a7a0000") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0102010361787a7a0100") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0201010361787a7a") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0101000361787a7a") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0101010300787a7a") SAYS("attributes are damaged") },
	{ ATTRIBUTES("01") SAYS("attributes are damaged") },
	{ ATTRIBUTES("0100") GIVES(GOOD) },
	{ UP "mode = 49645 WHERE name = 'f'" GIVES("|d/|c:300+2|n/|a:5+1|b=a|"
	    "s@d/f") },
	{ UP "flags = 32772 WHERE name = 'f'" GIVES("|d/|c:300+2|n/|a:5+1|b=a|"
	    "s@d/f") },
	/* of files */
	{ UP "hash = NULL WHERE name = 'f'" SAYS("no hash") },
	{ UP "hash = x'0123' WHERE name = 'f'" SAYS("no hash") },
	{ UP "size = 0, hash = NULL WHERE name = 'f'" GIVES("|d/|c:300+2|n/|"
	    "a:5+1|b=a|s@d/f|d/f:0+0") },
	{ UP "flags = flags | 128 WHERE name = 'f'", "not in the repository",
	    -ENOTSUP, NULL },
	{ UP "flags = flags | 256 WHERE name = 'f'", "only SHA-1", -ENOTSUP,
	    NULL },
	{ UP "flags = flags | 4096 WHERE name = 'f'", "only SHA-1", -ENOTSUP,
	    NULL },
	{ UP "flags = flags | 2048 WHERE name = 'f'" GIVES(GOOD) },
	{ UP "size = 1 << 30 WHERE name = 'f'" GIVES("|d/|c:300+2|n/|a:5+1|"
	    "b=a|s@d/f|d/f:1073741824+1") },
	{ UP "size = (1 << 30) + 1 WHERE name = 'f'", "larger than 1 GiB",
	    -EFBIG, NULL },
	/* of chunks */
	{ UP "size = 299 WHERE name = 'c'" SAYS("not in sequence") },
	{ UP "size = 301 WHERE name = 'c'" SAYS("do not cover") },
	{ "UPDATE chunks SET offset = 201 WHERE offset = 200"
	    SAYS("not in sequence") },
	{ "UPDATE chunks SET offset = 1 WHERE offset = 0"
	    SAYS("not in sequence") },
	{ "UPDATE chunks SET size = 0 WHERE offset = 200"
	    SAYS("not in sequence") },
	{ "UPDATE chunks SET size = -1 WHERE offset = 200"
	    SAYS("not in sequence") },
	{ "UPDATE chunks SET hash = x'01' WHERE offset = 200"
	    SAYS("has 1 bytes instead of 20") },
	{ "UPDATE chunks SET hash = NULL WHERE offset = 200"
	    SAYS("has 0 bytes instead of 20") },
	{ "DELETE FROM chunks" SAYS("do not cover") },
	{ "DELETE FROM chunks;" UP "size = 0 WHERE name = 'c'"
	    GIVES("|d/|c:0+0|n/|a:5+1|b=a|s@d/f|d/f:100+1") },
	/* of hard links */
	{ UP "hardlinks = (8 << 32) + 2 WHERE name = 'b'" GIVES("|d/|c:300+2|"
	    "n/|a:5+1|b:5+1|s@d/f|d/f:100+1") },
	{ UP "hardlinks = (9 << 32) + 2 WHERE name = 'f'" GIVES(GOOD) },
	{ UP "hardlinks = 9 << 32 WHERE name = 'd'" GIVES(GOOD) },
	/* of nested catalogs */
	{ "DELETE FROM nested_catalogs" SAYS("nested catalog is missing") },
	{ "UPDATE nested_catalogs SET path = '/m'"
	    SAYS("nested catalog is missing") },
	{ "UPDATE nested_catalogs SET path = x'2f6e006e'"
	    SAYS("no SHA-1 hash") },
	{ "UPDATE nested_catalogs SET sha1 = NULL" SAYS("no SHA-1 hash") },
	{ "UPDATE nested_catalogs SET sha1 = x'00'" SAYS("no SHA-1 hash") },
	{ "UPDATE nested_catalogs SET sha1 = '0123'" SAYS("no SHA-1 hash") },
	{ "UPDATE nested_catalogs SET size = 0" SAYS("is not in 1..") },
	{ "UPDATE nested_catalogs SET size = -1" SAYS("is not in 1..") },
	{ "UPDATE nested_catalogs SET size = 268435457"
	    SAYS("is not in 1..") },
	{ "UPDATE nested_catalogs SET size = 1" GIVES(GOOD) },
	{ "UPDATE nested_catalogs SET size = 268435456" GIVES(GOOD) },
	{ UP "flags = flags | 16384 WHERE name = 'n'", "bind-mounted",
	    -ENOTSUP, NULL },
	/* of the root, which needs no row */
	{ "DELETE FROM catalog WHERE name = ''" GIVES(GOOD) },
	{ UP "mode = 33188, flags = 4 WHERE name = ''" GIVES(GOOD) },
	{ UP "uid = -1 WHERE name = ''" SAYS("out of range") },
	/* of the schema; revisions before 7 lack one or both columns */
	{ "ALTER TABLE catalog DROP COLUMN mtimens" GIVES(GOOD) },
	{ "ALTER TABLE catalog DROP COLUMN mtimens;"
	    "ALTER TABLE catalog DROP COLUMN xattr" GIVES(GOOD) },
	{ "ALTER TABLE catalog DROP COLUMN gid" SAYS("catalog is damaged") },
	{ "ALTER TABLE chunks DROP COLUMN size" SAYS("catalog is damaged") },
	{ "DROP TABLE nested_catalogs" SAYS("catalog is damaged") },
	/* what is no table, or computes more than it stores */
	{ "ALTER TABLE chunks RENAME TO other; CREATE VIEW chunks AS"
	    " SELECT * FROM other" SAYS("catalog is damaged") },
	{ "ALTER TABLE nested_catalogs ADD COLUMN more TEXT GENERATED ALWAYS"
	    " AS (upper(path)) VIRTUAL" GIVES(GOOD) },
	{ "DROP TABLE nested_catalogs; CREATE TABLE nested_catalogs (p TEXT,"
	    " sha1 TEXT, size INTEGER, path TEXT GENERATED ALWAYS AS"
	    " (p || p || p || p || p || p || p || p || p) VIRTUAL);"
	    "INSERT INTO nested_catalogs VALUES (hex(zeroblob(9000)), " SHA
	    ", 1)" SAYS("catalog is damaged") },
};

/* Functions that give the halves of a text's MD5 */
static void
half(sqlite3_context *c, int count, sqlite3_value **v)
{
	const int *which = sqlite3_user_data(c);
	const char *text = (const char *)sqlite3_value_text(v[0]);
	uint8_t md5[EVP_MAX_MD_SIZE];

	(void)count;
	assert_int_equal(EVP_Digest(text, strlen(text), md5, NULL, EVP_md5(),
	    NULL), 1);
	sqlite3_result_int64(c, (int64_t)load_le64(md5 + *which));
}

static void
execute(sqlite3 *db, const char *text)
{
	char *message = NULL;

	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
}

static uint8_t *
make(const char *change, size_t *len)
{
	static int halves[2] = { 0, 8 };
	sqlite3_int64 size;
	uint8_t *data;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	sqlite3_create_function(db, "md5_1", 1, SQLITE_UTF8, &halves[0], half,
	    NULL, NULL);
	sqlite3_create_function(db, "md5_2", 1, SQLITE_UTF8, &halves[1], half,
	    NULL, NULL);
	execute(db, schema);
	execute(db, rows);
	execute(db, change);
	data = sqlite3_serialize(db, "main", &size, 0);
	assert_non_null(data);
	*len = (size_t)size;
	sqlite3_close(db);
	return data;
}

static int
nest(void *arg, const char *path, const struct cas_nested *n, uint32_t links)
{
	unsigned *count = arg;

	assert_string_equal(path, "/n");
	assert_int_equal(n->hash[0], 0x01);
	assert_int_equal(n->hash[19], 0x67);
	assert_int_equal(links, 3);
	++*count;
	return 0;
}

/* The entries, in order, except for that of the root. */
static void
list(const struct lazy_index *x, struct strbuf *b)
{
	for (size_t i = 0; i < x->entry_count; i++) {
		const struct layer_entry *e = &x->entries[i];

		if (*e->path == '\0')
			continue;
		strbuf_fmt(b, "|%s", e->path);
		if (e->type == TAR_DIR)
			strbuf_char(b, '/');
		else if (e->type == TAR_SYMLINK)
			strbuf_fmt(b, "@%s", e->link);
		else if (e->type == TAR_HARDLINK)
			strbuf_fmt(b, "=%s", e->link);
		else
			strbuf_fmt(b, ":%llu+%zu", (unsigned long long)e->size,
			    e->run_count);
		if (strcmp(e->path, "d/f") == 0 && e->xattr_count == 1) {
			assert_string_equal(e->xattrs[0].name, "a");
			assert_memory_equal(e->xattrs[0].value, "xzz", 3);
		}
	}
	strbuf_char(b, '\0');
}

static int
same_entry(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether both lists have the same entries; a catalog's have no order. */
static bool
same_list(const char *a, const char *b)
{
	char copy[2][400], *words[2][20];
	size_t count[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		char *rest = copy[i], *word;

		snprintf(copy[i], sizeof(copy[i]), "%s", i == 0 ? a : b);
		while ((word = strsep(&rest, "|")) != NULL)
			words[i][count[i]++] = word;
		qsort(words[i], count[i], sizeof(*words[i]), same_entry);
	}
	if (count[0] != count[1])
		return false;
	for (size_t i = 0; i < count[0]; i++)
		if (strcmp(words[0][i], words[1][i]) != 0)
			return false;
	return true;
}

static void
values(void **state)
{
	struct digest_algo *md5;

	(void)state;
	assert_int_equal(digest_algo_open(&md5, "md5"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cas_state s = { .slots = 0 };
		struct layer l = { .state = &s, .index = {
			.unit_most = CAS_WHOLE_MAX } };
		char why[LAYER_WHY] = "";
		struct strbuf got = { 0 };
		struct cas_rows r;
		unsigned nested = 0;
		size_t len;
		uint8_t *data = make(cases[i].change, &len);
		int rc = cas_rows_read(&r, data, len, why);

		if (rc == 0)
			rc = cas_entries_add(&(struct cas_entries){ .l = &l,
			    .rows = &r, .directory = "", .md5 = md5,
			    .nest = nest, .arg = &nested }, why);
		if (rc == 0)
			index_finish(&l.index);
		if (rc == 0)
			list(&l.index, &got);
		if (rc != cases[i].rc || (rc != 0 &&
		    strstr(why, cases[i].why) == NULL))
			fail_msg("%s: %d, %s", cases[i].change, rc, why);
		if (rc == 0 && (nested != 1 || !same_list(got.data,
		    cases[i].entries)))
			fail_msg("%s: %s", cases[i].change, got.data);
		strbuf_free(&got);
		cas_rows_free(&r);
		index_free(&l.index);
		sys_free(s.units);
		sys_free(s.table);
		sqlite3_free(data);
	}
	digest_algo_close(md5);
}

/* Attributes are unpacked whole, or not at all if memory runs out. */
static void
attributes(void **state)
{
	enum { CHUNK = (256 << 10) - 16, MOST = 200 };
	static const uint8_t packed[] = { 1, 2, 1, 3, 'a', 'x', 'y', 'z', 2,
		0, 'b', 'c' };
	unsigned done = 0;

	(void)state;
	for (size_t left = 0; left < MOST; left++) {
		struct arena a = { .chunks = NULL };
		struct tar_xattr *x = NULL;
		size_t count;
		int rc;

		assert_true(fault_plan(""));
		assert_non_null(arena_take(&a, CHUNK - left));
		assert_true(fault_plan("malloc:1+:ENOMEM"));
		rc = cas_unpack_xattrs(&a, packed, sizeof(packed), &x, &count);
		assert_true(fault_plan(""));
		if (rc == 0) {
			assert_int_equal(count, 2);
			assert_string_equal(x[0].name, "a");
			assert_memory_equal(x[0].value, "xyz", 3);
			assert_string_equal(x[1].name, "bc");
			assert_int_equal(x[1].length, 0);
			done++;
		} else {
			assert_int_equal(rc, -ENOMEM);
		}
		arena_free(&a);
	}
	assert_in_range(done, 50, MOST - 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
