/*
 * test_toc_values.c - tables of contents of which one value is wrong
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A table, as JSON, as a compact index or in a footer, is refused for the right
 * reason, or has the right entries.
 */
#include "layer_open.h"

#include <errno.h>

#define D "\"sha256:0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdef\""
#define E "\"sha256:0123456789abcdef0123456789abcdef" \
    "0123456789abcdef0123456789abcdee\""

/* The table of one layer, whose units are all of its first bytes. */
enum { STORED = 3000 };

static const char head[] = "{\"version\":1,\"entries\":[";

/* Entries, and what is said of them; NULL: what the layer then has. */
static const struct {
	const char *entries, *why;
	int rc;
	const char *list;
} cases[] = {
#define SAYS(text) , text, -EBADMSG, NULL
#define GIVES(text) , NULL, 0, text
#define FILE_(rest) "{\"name\":\"a\",\"type\":\"reg\",\"size\":9," rest "}"
#define CHUNK_(rest) ",{\"name\":\"a\",\"type\":\"chunk\"," rest "}"
	{ FILE_("\"digest\":" D) GIVES("a:9+1;1") },
	{ "" GIVES(";0") },
	/* names */
	{ "{\"name\":\"../a\",\"type\":\"dir\"}" SAYS("leads out") },
	{ "{\"name\":\"a/../../b\",\"type\":\"dir\"}" SAYS("leads out") },
	{ "{\"name\":\"./a//b/\",\"type\":\"dir\"}" GIVES("a/b:0+0;0") },
	{ "{\"name\":\"a\\u0000\",\"type\":\"dir\"}" SAYS("a NUL") },
	{ "{\"name\":\"a\",\"type\":\"door\"}" SAYS("unknown type door") },
	{ "{\"name\":\"a\"}" SAYS("unknown type") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"modtime\":\"now\"}"
	    SAYS("expected a date") },
	/* values of another kind */
	{ "{\"name\":7,\"type\":\"dir\"}" SAYS("number where text") },
	{ "{\"name\":-7,\"type\":\"dir\"}" SAYS("number where text") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":\"0\"}"
	    SAYS("text where a number") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":-1}"
	    SAYS("negative number") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":1.5}"
	    SAYS("wrong type") },
	{ "{\"name\":true,\"type\":\"dir\"}" SAYS("wrong type") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"gid\":false}"
	    SAYS("wrong type") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"other\":false,\"more\":1.5,"
	    "\"less\":-1}" GIVES("a:0+0;0") },
	{ "{\"name\":[],\"type\":\"dir\"}" SAYS("not a table") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":{}}" SAYS("not a table") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"xattrs\":{\"k\":{}}}"
	    SAYS("not a table") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"xattrs\":{\"k\":\"*\"}}"
	    SAYS("not base64") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"xattrs\":[\"k\"]}"
	    GIVES("a:0+0;0") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":4294967295}"
	    GIVES("a:0+0;0") },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"uid\":4294967296}",
	    "above 2^32 - 1", -EOVERFLOW, NULL },
	{ "{\"name\":\"a\",\"type\":\"dir\",\"gid\":4294967296}",
	    "above 2^32 - 1", -EOVERFLOW, NULL },
	/* digests */
	{ FILE_("\"uid\":0") SAYS("no digest for the data of a") },
	{ FILE_("\"digest\":\"sha256:01\"") SAYS("expected a SHA-256") },
	{ FILE_("\"chunkDigest\":\"md5:01\"") SAYS("expected a SHA-256") },
	{ FILE_("\"digest\":" D ",\"chunkDigest\":" D) GIVES("a:9+1;1") },
	{ FILE_("\"digest\":" D ",\"chunkDigest\":" E) SAYS("two digests") },
	{ FILE_("\"digest\":" D ",\"chunkSize\":4") SAYS("no digest") },
	{ FILE_("\"digest\":\"x\",\"chunkSize\":4,\"chunkDigest\":" E)
	    SAYS("expected a SHA-256") },
	/* chunks */
	{ FILE_("\"digest\":" D ",\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":4,\"chunkDigest\":" E ",\"offset\":100")
	    GIVES("a:9+2;2") },
	{ FILE_("\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":3,\"chunkDigest\":" E)
	    SAYS("overlaps") },
	{ FILE_("\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":4,\"chunkSize\":6,\"chunkDigest\":" E)
	    SAYS("beyond the end of a file") },
	{ FILE_("\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":9,\"chunkSize\":1,\"chunkDigest\":" E)
	    SAYS("beyond the end of a file") },
	{ FILE_("\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":9,\"chunkDigest\":" E)
	    GIVES("a:9+1;1") },
	{ FILE_("\"chunkSize\":4,\"chunkDigest\":" E)
	    CHUNK_("\"chunkOffset\":4,\"chunkType\":\"zeros\"")
	    GIVES("a:9+1;1") },
	{ "{\"name\":\"a\",\"type\":\"chunk\"}" SAYS("does not follow") },
	{ "{\"name\":\"a\",\"type\":\"dir\"}" CHUNK_("\"chunkSize\":1")
	    SAYS("does not follow") },
	{ "{\"name\":\".prefetch.landmark\",\"type\":\"reg\",\"size\":1,"
	    "\"offset\":50}" CHUNK_("\"chunkSize\":1") GIVES(";0") },
	/* the sizes of units */
	{ "{\"name\":\"a\",\"type\":\"reg\",\"size\":67108864,\"digest\":" D
	    "}" GIVES("a:67108864+1;1") },
	{ "{\"name\":\"a\",\"type\":\"reg\",\"size\":67108865,\"digest\":" D
	    "}", "larger than 64 MiB", -EFBIG, NULL },
	{ "{\"name\":\"a\",\"type\":\"reg\",\"size\":67108864,"
	    "\"innerOffset\":1,\"digest\":" D "}", "larger than 64 MiB",
	    -EFBIG, NULL },
	/* chunks of one unit are together no larger */
	{ "{\"name\":\"a\",\"type\":\"reg\",\"size\":67108864,\"digest\":" D
	    "},{\"name\":\"b\",\"type\":\"reg\",\"size\":1,\"digest\":" D
	    "}" GIVES("a:67108864+1b:1+1;2") },
	{ "{\"name\":\"a\",\"type\":\"reg\",\"size\":67108863,\"digest\":" D
	    "},{\"name\":\"b\",\"type\":\"reg\",\"size\":1,\"digest\":" D
	    "}" GIVES("a:67108863+1b:1+1;1") },
	/* where units are */
	{ FILE_("\"offset\":2999,\"digest\":" D) GIVES("a:9+1;1") },
	{ FILE_("\"offset\":3000,\"digest\":" D) SAYS("past the end") },
	{ FILE_("\"offset\":9223372036854775807,\"digest\":" D)
	    SAYS("past the end") },
	/* what is in another place */
	{ "{\"name\":\"a\",\"type\":\"dir\",\"x\":{\"name\":\"b\"}}"
	    GIVES("a:0+0;0") },
	{ "[]" GIVES(";0") },
	{ "\"text\",7,null,true" GIVES(";0") },
};

static void
describe(const struct layer *l, char text[200])
{
	size_t count, units, at = 0;
	const struct layer_entry *e = layer_entries(l, &count);

	layer_units(l, &units);
	*text = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(text + at, 200 - at, "%s:%llu+%zu",
		    e[i].path, (unsigned long long)e[i].size, e[i].run_count);
	snprintf(text + at, 200 - at, ";%zu", units);
}

/* Opens a layer with a document as its table. */
static int
open_document(const char *json, enum made_footer footer, char text[200])
{
	struct made m = { .index = 0 };
	struct layer_blobs b;
	struct layer *l;
	int rc;

	for (size_t i = 0; i < STORED; i++)
		strbuf_char(&m.b, 0);
	made_end(&m, footer, json, strlen(json));
	/* the table of zstd:chunked is not the end of the last unit */
	rc = open_made(&l, &m, &b, NULL);
	if (rc == 0) {
		describe(l, text);
		layer_close(l);
	}
	strbuf_free(&m.b);
	return rc;
}

static void
entries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char json[2000], text[200] = "";
		int rc;

		snprintf(json, sizeof(json), "%s%s]}", head, cases[i].entries);
		rc = open_document(json, MADE_ESTARGZ, text);
		if (rc != cases[i].rc || (rc != 0 ? strstr(why,
		    cases[i].why) == NULL : strcmp(text, cases[i].list) != 0))
			fail_msg("%s: %d, %s%s", cases[i].entries, rc, rc != 0 ?
			    why : "", text);
	}
}

/* Documents that are no table, or hold one among other things */
static void
documents(void **state)
{
	static const struct {
		const char *json, *why;
	} rows[] = {
		{ "{\"entries\":[]}", NULL },
		{ "{\"x\":[[{\"entries\":7}]],\"entries\":[],\"y\":{}}", NULL },
		{ "{}", "no entries" },
		{ "{\"entries\":{}}", "no entries" },
		{ "{\"entries\":null}", "no entries" },
		{ "{\"x\":{\"entries\":[]}}", "no entries" },
		{ "[]", "not a table" },
		{ "", "not JSON" },
		{ "{\"entries\":[]", "not JSON" },
		{ "{\"entries\":[]}}", "not JSON" },
		{ "{\"entries\":[{\"name\":\"a\"", "not JSON" },
		{ "{\"coldpressTrace\":{\"offset\":1,\"length\":2,\"digest\":"
		    D "},\"entries\":[]}", NULL },
		{ "{\"coldpressTrace\":{\"offset\":1,\"length\":2},"
		    "\"entries\":[]}", "a trace without" },
		{ "{\"coldpressIndex\":{\"offset\":1,\"length\":2},"
		    "\"entries\":[]}", "a compact index without" },
		{ "{\"coldpressTrace\":[],\"entries\":[]}", NULL },
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int k = MADE_ESTARGZ; k <= MADE_ZSTD_LONG; k++) {
			int rc = open_document(rows[i].json,
			    (enum made_footer)k, text);

			if (rc != (rows[i].why == NULL ? 0 : -EBADMSG) ||
			    (rc != 0 && strstr(why, rows[i].why) == NULL))
				fail_msg("%s: %d, %s", rows[i].json, rc, why);
		}
	/* 64 levels in what is skipped, or more */
	for (size_t levels = 64; levels <= 65; levels++) {
		char deep[200] = "{\"entries\":[],\"x\":";

		memset(deep + strlen(deep), '[', levels);
		memset(deep + strlen(deep), ']', levels);
		strcat(deep, "}");
		assert_int_equal(open_document(deep, MADE_ESTARGZ, text),
		    levels == 64 ? 0 : -EBADMSG);
	}
	assert_non_null(strstr(why, "too deeply"));
}

/* Footers whose numbers are wrong */

static int
open_changed(struct made *m, size_t from_end, const void *bytes, size_t len)
{
	uint8_t *at = (uint8_t *)m->b.data + m->b.len - from_end;
	uint8_t before[64];
	struct layer_blobs b;
	struct layer *l;
	int rc;

	memcpy(before, at, len);
	memcpy(at, bytes, len);
	rc = open_made(&l, m, &b, NULL);
	layer_close(l);
	memcpy(at, before, len);
	return rc;
}

static void
footer_of_gzip(bool old)
{
	/* bytes from its digits to its end */
	enum { DIGITS = 35 };
	struct made m = { .index = 0 };
	size_t footer = old ? 47 : 51;
	char text[17];

	for (size_t i = 0; i < STORED; i++)
		strbuf_char(&m.b, 0);
	made_end(&m, old ? MADE_OLD : MADE_ESTARGZ, "{\"entries\":[]}", 14);
	snprintf(text, sizeof(text), "%016zx", m.b.len - footer);
	assert_int_equal(open_changed(&m, DIGITS, text, 16), -EBADMSG);
	assert_non_null(strstr(why, "past the end"));
	snprintf(text, sizeof(text), "%016zx", m.b.len - footer - 1);
	assert_int_equal(open_changed(&m, DIGITS, text, 16), -EBADMSG);
	assert_null(strstr(why, "past the end"));
	assert_int_equal(open_changed(&m, DIGITS, "00000000000000g0", 16),
	    -EINVAL);
	assert_int_equal(open_changed(&m, DIGITS, "000000000000000\0", 16),
	    -EINVAL);
	/* of its header only the start, the flag and the length count */
	assert_int_equal(open_changed(&m, footer, "\x1f\x8b\x08\x00", 4),
	    -EINVAL);
	assert_int_equal(open_changed(&m, footer, "\x1f\x8b\x09\x04", 4),
	    -EINVAL);
	assert_int_equal(open_changed(&m, footer - 10, "\x1b", 1), -EINVAL);
	assert_int_equal(open_changed(&m, DIGITS - 16, "STARGY", 6), -EINVAL);
	assert_int_equal(open_changed(&m, footer - 4, "\1", 1), 0);
	if (!old)
		assert_int_equal(open_changed(&m, footer - 12, "SH", 2),
		    -EINVAL);
	/* what is there is another archive, or none */
	m.b.data[m.index + 20] ^= 1;
	assert_int_equal(open_changed(&m, 1, "", 1), -EBADMSG);
	strbuf_free(&m.b);
}

static void
footers(void **state)
{
	struct made m = { .index = 0 };
	uint8_t raw[8];

	(void)state;
	footer_of_gzip(true);
	footer_of_gzip(false);
	for (size_t i = 0; i < STORED; i++)
		strbuf_char(&m.b, 0);
	made_end(&m, MADE_ZSTD, "{\"entries\":[]}", 14);
	assert_int_equal(open_changed(&m, 1, "x", 1), 0);
	for (int i = 0; i < 2; i++) {
		store_le64(raw, m.b.len - m.index_len + (uint64_t)i);
		assert_int_equal(open_changed(&m, 40, raw, 8), -EBADMSG);
		assert_true((strstr(why, "past the end") != NULL) == (i == 1));
	}
	store_le64(raw, m.b.len + 1);
	assert_int_equal(open_changed(&m, 40, raw, 8), -EBADMSG);
	assert_non_null(strstr(why, "past the end"));
	store_le64(raw, 0);
	assert_int_equal(open_changed(&m, 32, raw, 8), -EBADMSG);
	assert_non_null(strstr(why, "past the end"));
	store_le64(raw, UINT64_MAX);
	assert_int_equal(open_changed(&m, 32, raw, 8), -EBADMSG);
	assert_non_null(strstr(why, "past the end"));
	/* the size of the document */
	store_le64(raw, 15);
	assert_int_equal(open_changed(&m, 24, raw, 8), -EBADMSG);
	assert_non_null(strstr(why, "shorter than the footer says"));
	store_le64(raw, 13);
	assert_int_equal(open_changed(&m, 24, raw, 8), -EBADMSG);
	assert_non_null(strstr(why, "not JSON"));
	store_le64(raw, LAYER_INDEX_MAX + 1ULL);
	assert_int_equal(open_changed(&m, 24, raw, 8), -EFBIG);
	store_le64(raw, LAYER_INDEX_MAX);
	assert_int_equal(open_changed(&m, 24, raw, 8), -EBADMSG);
	store_le64(raw, 2);
	assert_int_equal(open_changed(&m, 16, raw, 8), -EINVAL);
	assert_int_equal(open_changed(&m, 8, "GnUlInUy", 8), -EINVAL);
	assert_int_equal(open_changed(&m, 8, "GNUlInUx", 8), 0);
	strbuf_free(&m.b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(documents),
		cmocka_unit_test(footers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
