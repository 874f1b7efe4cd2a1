/*
 * test_layer_table.c - valid and invalid tables of contents of eStargz layers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layer_open.h"

/* Makes an eStargz layer from a table of contents, with payload before it. */
static int
open_table(struct layer **l, struct made *m, struct layer_blobs *b,
    const char *json)
{
	made_end(m, MADE_ESTARGZ, json, strlen(json));
	return open_made(l, m, b, NULL);
}

static void
refuses(const char *entries, int want, const char *clause)
{
	struct strbuf json = { .len = 0 };
	struct made m = { .index = 0 };
	struct layer_blobs b;
	struct layer *l;

	made_member(&m, "payload", 7);
	strbuf_fmt(&json, "{\"version\":1,\"entries\":[%s]}", entries);
	strbuf_char(&json, '\0');
	assert_int_equal(open_table(&l, &m, &b, json.data), want);
	if (strstr(why, clause) == NULL)
		fail_msg("%s: not %s", why, clause);
	layer_close(l);
	strbuf_free(&json);
	strbuf_free(&m.b);
}

#define FILE_A "{\"name\":\"a\",\"type\":\"reg\",\"size\":5,\"offset\":0"

static void
test_refused(void **state)
{
	(void)state;
	refuses("{\"name\":\"../a\",\"type\":\"dir\"}", -EBADMSG, "leads out");
	refuses("{\"name\":\"a\\u0000b\",\"type\":\"dir\"}", -EBADMSG, "NUL");
	refuses("{\"name\":\"a\",\"type\":\"what\"}", -EBADMSG, "type what");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"uid\":-1}", -EBADMSG,
	    "negative");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"uid\":\"1\"}", -EBADMSG,
	    "text where");
	refuses("{\"name\":1,\"type\":\"dir\"}", -EBADMSG, "number where");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"uid\":1.5}", -EBADMSG,
	    "the wrong type");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"uid\":{}}", -EBADMSG,
	    "not a table");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"modtime\":\"now\"}",
	    -EBADMSG, "date");
	refuses("{\"name\":\"a\",\"type\":\"dir\",\"xattrs\":{\"x\":\"%\"}}",
	    -EBADMSG, "base64");
	refuses(FILE_A "}", -EBADMSG, "no digest");
	refuses(FILE_A ",\"chunkDigest\":\"md5:00\"}", -EBADMSG, "SHA-256");
	refuses("{\"name\":\"a\",\"type\":\"chunk\",\"chunkSize\":1}",
	    -EBADMSG, "does not follow");
	refuses("{\"name\":\"a\",\"type\":\"reg\",\"size\":99999999}",
	    -EFBIG, "64 MiB");
	refuses("{\"name\":\"a\",\"type\":\"reg\",\"size\":"
	    "9999999999999999999999}", -EBADMSG, "JSON");
	refuses("{\"name\":\"a\"", -EBADMSG, "JSON");
}

static void
test_deep(void **state)
{
	struct strbuf text = { .len = 0 };
	struct made m = { .index = 0 };
	struct layer_blobs b;
	struct layer *l;

	(void)state;
	strbuf_str(&text, "{\"x\":");
	for (int i = 0; i < 100000; i++)
		strbuf_char(&text, '[');
	strbuf_char(&text, '\0');
	assert_int_equal(open_table(&l, &m, &b, text.data), -EBADMSG);
	assert_non_null(strstr(why, "too deeply"));
	strbuf_free(&text);
	strbuf_free(&m.b);
}

/* Tests offsets in any order, and a file whose chunks overlap. */
static void
test_order(void **state)
{
	char a[80], text[1024];
	struct made m = { .index = 0 };
	struct layer_blobs b;
	const char *reason;
	size_t first, second;
	struct layer *l;

	(void)state;
	first = made_member(&m, "12345", 5);
	second = made_member(&m, "12345", 5);
	snprintf(text, sizeof(text), "{\"entries\":[{\"name\":\"b\","
	    "\"type\":\"reg\",\"size\":5,\"offset\":%zu,\"digest\":\"%s\"},"
	    "{\"name\":\"a\",\"type\":\"reg\",\"size\":5,\"offset\":%zu,"
	    "\"digest\":\"%s\"}]}", second, sum_of("12345", 5, a), first, a);
	assert_int_equal(open_table(&l, &m, &b, text), 0);
	for (uint32_t u = 0; u < 2; u++) {
		uint8_t *content = made_decode(l, &m, u, &reason);

		assert_non_null(content);
		free(content);
	}
	layer_close(l);
	strbuf_free(&m.b);
	snprintf(text, sizeof(text), FILE_A ",\"chunkSize\":3,\"chunkDigest\":"
	    "\"%s\"},{\"type\":\"chunk\",\"chunkOffset\":2,\"chunkDigest\":"
	    "\"%s\"}", a, a);
	refuses(text, -EBADMSG, "overlaps");
}

/* Opens a layer of two files at one offset.  Returns its number of units. */
static size_t
units_of_two(unsigned size)
{
	char text[512], sum[80];
	struct made m = { .index = 0 };
	struct layer_blobs b;
	struct layer *l;
	size_t count;

	made_member(&m, "12345", 5);
	sum_of("12345", 5, sum);
	snprintf(text, sizeof(text), "{\"entries\":[{\"name\":\"a\","
	    "\"type\":\"reg\",\"size\":%u,\"digest\":\"%s\"},"
	    "{\"name\":\"b\",\"type\":\"reg\",\"size\":%u,"
	    "\"digest\":\"%s\"}]}", size, sum, size, sum);
	assert_int_equal(open_table(&l, &m, &b, text), 0);
	layer_units(l, &count);
	layer_close(l);
	strbuf_free(&m.b);
	return count;
}

/* All chunks of a unit are hashed together, at most 64 MiB of them. */
static void
test_overlap(void **state)
{
	(void)state;
	assert_int_equal(units_of_two(LAYER_UNIT_MAX / 2), 1);
	assert_int_equal(units_of_two(LAYER_UNIT_MAX / 2 + 1), 2);
	assert_int_equal(units_of_two(LAYER_UNIT_MAX), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
