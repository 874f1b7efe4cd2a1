/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/table.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const columns[] = { "name", "wall_s", "in_B", "ok" };
static const size_t count = sizeof(columns) / sizeof(columns[0]);

static char dir[SCRATCH_B], path[SCRATCH_B + 8];

static int
setup(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/rows", dir);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void
append(const char *name, double wall, enum table_format format)
{
	struct table *t;

	assert_int_equal(table_append(&t, path, format, columns, count), 0);
	table_inline_comments(t);
	assert_int_equal(table_comment(t, "note", "about\n%s", name), 0);
	table_text(t, name);
	table_real(t, wall, 3);
	table_int(t, INT64_MIN);
	table_bool(t, true);
	assert_int_equal(table_end(t), 0);
	assert_int_equal(table_close(t), 0);
}

static const char *
content(void)
{
	static char text[4096];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static void
csv_is_rfc_4180(void **state)
{
	(void)state;
	append("a,\"b\"\nc", NAN, TABLE_CSV);
	append("#d", 1.25, TABLE_CSV);
	append("e#f", 2, TABLE_CSV);
	assert_string_equal(content(), "# note: about a,\"b\" c\n"
	    "name,wall_s,in_B,ok\n"
	    "\"a,\"\"b\"\"\nc\",,-9223372036854775808,1\n"
	    "# note: about #d\n"
	    "\"#d\",1.250,-9223372036854775808,1\n"
	    "# note: about e#f\n"
	    "\"e#f\",2.000,-9223372036854775808,1\n");
}

static void
comments_are_beside_the_rows(void **state)
{
	char name[PATH_MAX], line[64];
	struct table *t;
	FILE *f;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(table_append(&t, path, i == 0 ? TABLE_CSV :
		    TABLE_JSON, columns, 1), 0);
		assert_int_equal(table_comment(t, "run", "%d", i), 0);
		table_text(t, "x");
		assert_int_equal(table_end(t), 0);
		assert_int_equal(table_close(t), 0);
	}
	assert_string_equal(content(), "name\nx\n{\"name\":\"x\"}\n");
	f = table_open_comments(path, false);
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "# run: 0\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "# run: 1\n");
	assert_null(fgets(line, sizeof(line), f));
	fclose(f);
	snprintf(name, sizeof(name), "%s.provenance", path);
	assert_int_equal(unlink(name), 0);
	/* a directory is in the way */
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(table_append(&t, path, TABLE_CSV, columns, 1), 0);
	assert_int_equal(table_comment(t, "run", "%d", 2), -EISDIR);
	assert_int_equal(table_close(t), 0);
	assert_int_equal(rmdir(name), 0);
	/* rows that go elsewhere have none */
	assert_int_equal(table_append(&t, "/dev/null", TABLE_CSV, columns, 1),
	    0);
	assert_int_equal(table_comment(t, "run", "%d", 3), 0);
	assert_int_equal(table_close(t), 0);
	assert_null(table_open_comments("/dev/null", false));
	assert_int_equal(errno, ENOENT);
}

static void
json_escapes_what_is_not_text(void **state)
{
	(void)state;
	append("\xff\xc3\xa9\"\t\xed\xa0\x80", INFINITY, TABLE_JSON);
	assert_string_equal(content(), "{\"name\":\"\\udcff\xc3\xa9\\\"\\u0009"
	    "\\udced\\udca0\\udc80\",\"wall_s\":null,"
	    "\"in_B\":-9223372036854775808,\"ok\":true}\n");
}

static void
reads_what_it_wrote(void **state)
{
	struct table_reader *r;

	(void)state;
	append("a,\"b\"\nc", 0.5, TABLE_CSV);
	append("", NAN, TABLE_CSV);
	append("c#d", 1, TABLE_CSV);
	assert_int_equal(table_open(&r, path), 0);
	assert_int_equal(table_column(r, "in_B"), 2);
	assert_int_equal(table_column(r, "nope"), -ENOENT);
	assert_int_equal(table_next(r), 1);
	assert_string_equal(table_value(r, 0), "a,\"b\"\nc");
	assert_string_equal(table_value(r, 1), "0.500");
	assert_int_equal(table_next(r), 1);
	assert_string_equal(table_value(r, 0), "");
	assert_string_equal(table_value(r, 1), "");
	assert_int_equal(table_next(r), 1);
	assert_string_equal(table_value(r, 0), "c#d");
	assert_int_equal(table_next(r), 0);
	table_reader_free(r);
}

static void
write_text(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
refuses_another_header(void **state)
{
	struct table *t;

	(void)state;
	write_text("name,wall_s,in_B\nx,1,2\n");
	assert_int_equal(table_append(&t, path, TABLE_CSV, columns, count),
	    -EEXIST);
	write_text("name,in_B,wall_s,ok\n");
	assert_int_equal(table_append(&t, path, TABLE_CSV, columns, count),
	    -EEXIST);
	write_text("name,wall_s,in_B,ok,more\n");
	assert_int_equal(table_append(&t, path, TABLE_CSV, columns, count),
	    -EEXIST);
}

static void
cuts_a_partial_row(void **state)
{
	(void)state;
	write_text("name,wall_s,in_B,ok\nx,1,2,1\ny,1");
	append("z", 1, TABLE_CSV);
	assert_string_equal(content(), "name,wall_s,in_B,ok\nx,1,2,1\n"
	    "# note: about z\nz,1.000,-9223372036854775808,1\n");
}

static void
a_wrong_count_is_an_error(void **state)
{
	struct table *t;

	(void)state;
	assert_int_equal(table_append(&t, path, TABLE_CSV, columns, count), 0);
	table_text(t, "x");
	assert_int_equal(table_end(t), -EINVAL);
	for (size_t i = 0; i <= count; i++)
		table_int(t, 1);
	assert_int_equal(table_end(t), -EINVAL);
	assert_int_equal(table_close(t), 0);
	assert_string_equal(content(), "");
}

static void
bad_rows_are_refused(void **state)
{
	static const char *const bad[] = { "a,b\n1\n", "a,b\n1,2,3\n",
	    "a,b\n\"1,2\n" };
	struct table_reader *r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_text(bad[i]);
		assert_int_equal(table_open(&r, path), 0);
		assert_int_equal(table_next(r), -EINVAL);
		assert_int_equal(table_line(r), 2);
		table_reader_free(r);
	}
	write_text("# only\n");
	assert_int_equal(table_open(&r, path), -ENODATA);
	write_text("a,\"b");
	assert_int_equal(table_open(&r, path), -EINVAL);
	unlink(path);
	assert_int_equal(table_open(&r, path), -ENOENT);
}

/* A row has at most 1,024 values, in at most 1 MiB. */
static void
large_rows_are_refused(void **state)
{
	static char text[(1 << 20) + 2];
	struct table_reader *r;

	(void)state;
	for (size_t n = 1023; n <= 1024; n++) {
		memset(text, ',', n);
		memcpy(text + n, "\n", 2);
		write_text(text);
		assert_int_equal(table_open(&r, path), n < 1024 ? 0 : -EINVAL);
		if (n < 1024) {
			assert_int_equal(table_columns(r), 1024);
			table_reader_free(r);
		}
	}
	for (size_t n = (1 << 20) - 1; n <= 1 << 20; n++) {
		memset(text, 'a', n);
		text[n] = '\0';
		write_text(text);
		assert_int_equal(table_open(&r, path), n < 1 << 20 ? 0 :
		    -EINVAL);
		if (n < 1 << 20)
			table_reader_free(r);
	}
}

static void
joined_files_read_as_one(void **state)
{
	struct table_reader *r;
	int n = 0;

	(void)state;
	write_text("a,b\r\n1,2\r\na,b\n3,4");
	assert_int_equal(table_open(&r, path), 0);
	while (table_next(r) == 1)
		n++;
	assert_int_equal(n, 2);
	assert_string_equal(table_value(r, 1), "4");
	table_reader_free(r);
}

static void
a_byte_order_mark_is_skipped(void **state)
{
	struct table_reader *r;

	(void)state;
	write_text("\xef\xbb\xbf# note: x\na,b\n1,2\n");
	assert_int_equal(table_open(&r, path), 0);
	assert_int_equal(table_columns(r), 2);
	assert_string_equal(table_name(r, 0), "a");
	assert_int_equal(table_next(r), 1);
	assert_int_equal(table_line(r), 3);
	table_reader_free(r);
	write_text("\xef\xbb\xbf""a,b\n1,2\n");
	assert_int_equal(table_open(&r, path), 0);
	assert_int_equal(table_column(r, "a"), 0);
	table_reader_free(r);
	write_text("\xef\xbb");
	assert_int_equal(table_open(&r, path), -EINVAL);
	write_text("");
	assert_int_equal(table_open(&r, path), -ENODATA);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(csv_is_rfc_4180), T(comments_are_beside_the_rows),
		T(json_escapes_what_is_not_text),
		T(reads_what_it_wrote), T(refuses_another_header),
		T(cuts_a_partial_row), T(a_wrong_count_is_an_error),
		T(bad_rows_are_refused), T(joined_files_read_as_one),
		T(a_byte_order_mark_is_skipped), T(large_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
