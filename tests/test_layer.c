/*
 * test_layer.c - reading valid handmade layers, and rejecting invalid ones
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layer_made.h"

#include "base/hex.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char why[LAYER_WHY];

/* "sha256:..." of data */
static const char *
sum_of(const void *data, size_t len, char text[80])
{
	uint8_t sum[EVP_MAX_MD_SIZE];

	assert_int_equal(EVP_Digest(data, len, sum, NULL, EVP_sha256(), NULL),
	    1);
	strcpy(text, "sha256:");
	hex_write(text + 7, sum, 32);
	return text;
}

static int
open_made(struct layer **l, struct made *m, struct layer_blobs *b,
    const struct layer_expect *e)
{
	*l = NULL;
	*why = '\0';
	*b = made_blobs(m);
	return layer_open(l, b, e, why);
}

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

/* A layer with all kinds of entries, with any of the four footers */

static char json[8192];

static void
write_table(size_t first, size_t second)
{
	char a[80], b[80], c[80];

	snprintf(json, sizeof(json), "{\"other\":{\"entries\":[[1,{}]]},"
	    "\"version\":1,\"entries\":["
	    "{\"name\":\"d/\",\"type\":\"dir\",\"mode\":16877,\"uid\":1,"
	    "\"modtime\":\"2001-09-09T01:46:40Z\",\"userName\":\"u\"},"
	    "{\"name\":\"./d/one\",\"type\":\"reg\",\"size\":5,\"mode\":2541,"
	    "\"modtime\":\"1969-12-31T23:59:58.5Z\",\"offset\":%zu,"
	    "\"digest\":\"%s\",\"unknown\":[{\"size\":-1},null,true],"
	    "\"xattrs\":{\"user.a\":\"AP8B\",\"user.b\":\"\"}},"
	    "{\"name\":\"d/two\",\"type\":\"reg\",\"size\":3000008,"
	    "\"offset\":%zu,\"chunkSize\":4,\"chunkDigest\":\"%s\","
	    "\"digest\":\"%s\"},"
	    "{\"name\":\"d/two\",\"type\":\"chunk\",\"chunkOffset\":4,"
	    "\"chunkSize\":3000000,\"chunkType\":\"zeros\"},"
	    "{\"name\":\"d/two\",\"type\":\"chunk\",\"chunkOffset\":3000004,"
	    "\"offset\":%zu,\"innerOffset\":6,\"chunkDigest\":\"%s\"},"
	    "{\"name\":\".no.prefetch.landmark\",\"type\":\"reg\",\"size\":1,"
	    "\"offset\":%zu},"
	    "{\"name\":\"soft\",\"type\":\"symlink\",\"linkName\":\"d/one\"},"
	    "{\"name\":\"hard\",\"type\":\"hardlink\",\"linkName\":\"d/one\"},"
	    "{\"name\":\"null\",\"type\":\"char\",\"devMajor\":1,"
	    "\"devMinor\":3},"
	    "{\"name\":\"empty\",\"type\":\"reg\",\"gid\":null},"
	    "{\"name\":\"\\udcff\\u00e9\",\"type\":\"fifo\"}]}",
	    first, sum_of("12345", 5, a), second, sum_of("abcd", 4, b), a,
	    second, sum_of("efgh", 4, c), second + 1);
}

static void
make(struct made *m, enum made_footer footer)
{
	size_t (*add)(struct made *, const void *, size_t) =
	    footer < MADE_ZSTD ? made_member : made_frame;
	size_t first = add(m, "12345-and-a-header", 18);
	size_t second = add(m, "abcd..efgh-and-more", 19);

	write_table(first, second);
	made_end(m, footer, json, strlen(json));
}

static void
check_entries(const struct layer *l)
{
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);

	assert_int_equal(count, 8);
	assert_string_equal(e[0].path, "d");
	assert_int_equal(e[0].mode, 0755);
	assert_int_equal(e[0].mtime, 1000000000);
	assert_string_equal(e[0].uname, "u");
	assert_string_equal(e[1].path, "d/one");
	assert_int_equal(e[1].mode, 04755);
	assert_int_equal(e[1].mtime, -2);
	assert_int_equal(e[1].mtime_ns, 500000000);
	assert_int_equal(e[1].xattr_count, 2);
	assert_string_equal(e[1].xattrs[0].name, "user.a");
	assert_int_equal(e[1].xattrs[0].length, 3);
	assert_memory_equal(e[1].xattrs[0].value, "\0\xff\1", 3);
	assert_int_equal(e[1].xattrs[1].length, 0);
	assert_int_equal(e[2].run_count, 2);
	assert_int_equal(e[2].runs[1].offset, 3000004);
	assert_int_equal(e[2].runs[1].inner, 6);
	assert_int_equal(e[2].runs[1].unit, e[2].runs[0].unit);
	assert_string_equal(e[3].link, "d/one");
	assert_int_equal(e[4].type, TAR_HARDLINK);
	assert_int_equal(e[5].major, 1);
	assert_int_equal(e[5].minor, 3);
	assert_int_equal(e[6].run_count, 0);
	assert_string_equal(e[7].path, "\xff\xc3\xa9");
	assert_null(layer_file_digest(l, 1));
	assert_non_null(layer_file_digest(l, 2));
}

static void
check_units(const struct layer *l, struct made *m)
{
	size_t count;
	const struct layer_unit *u = layer_units(l, &count);
	const char *reason;
	uint8_t *content;

	assert_int_equal(count, 2);
	assert_int_equal(u[0].content, 5);
	assert_int_equal(u[1].content, 10);
	content = made_decode(l, m, 0, &reason);
	assert_non_null(content);
	assert_memory_equal(content, "12345", 5);
	free(content);
	content = made_decode(l, m, 1, &reason);
	assert_non_null(content);
	assert_memory_equal(content, "abcd..efgh", 10);
	free(content);
}

static void
test_formats(void **state)
{
	(void)state;
	for (int i = MADE_ESTARGZ; i <= MADE_ZSTD_LONG; i++) {
		struct made m = { .index = 0 };
		struct layer_blobs b;
		struct layer *l;

		make(&m, (enum made_footer)i);
		assert_int_equal(open_made(&l, &m, &b, NULL), 0);
		assert_int_equal(layer_kind(l), i < MADE_ZSTD ?
		    LAYER_ESTARGZ : LAYER_ZSTD_CHUNKED);
		check_entries(l);
		check_units(l, &m);
		layer_close(l);
		strbuf_free(&m.b);
	}
}

/* Checks that a unit is rejected, or reads as before. */
static void
check_unit(const struct layer *l, struct made *m, uint32_t unit)
{
	const char *reason = NULL;
	uint8_t *content = made_decode(l, m, unit, &reason);

	if (content == NULL)
		assert_non_null(reason);
	else
		assert_memory_equal(content, unit == 0 ? "12345" :
		    "abcd..efgh", unit == 0 ? 5 : 4);
	free(content);
}

/* Changes every byte of a layer, which is then rejected, or reads as before. */
static void
test_changes(void **state)
{
	(void)state;
	for (int i = MADE_ESTARGZ; i <= MADE_ZSTD_LONG; i++) {
		struct made m = { .index = 0 };
		struct layer_expect e = { .kind = NULL };
		uint8_t sum[EVP_MAX_MD_SIZE];

		make(&m, (enum made_footer)i);
		EVP_Digest(json, strlen(json), sum, NULL, EVP_sha256(), NULL);
		e.index_digest = sum;
		for (size_t at = 0; at < m.b.len; at++) {
			struct layer_blobs b;
			struct layer *l;

			m.b.data[at] ^= 0x11;
			if (open_made(&l, &m, &b, &e) == 0) {
				check_entries(l);
				check_unit(l, &m, 0);
				check_unit(l, &m, 1);
			} else {
				assert_true(*why != '\0');
			}
			layer_close(l);
			m.b.data[at] ^= 0x11;
		}
		strbuf_free(&m.b);
	}
}

/* A layer truncated anywhere is rejected. */
static void
test_cuts(void **state)
{
	(void)state;
	for (int i = MADE_ESTARGZ; i <= MADE_ZSTD_LONG; i++) {
		struct made m = { .index = 0 };
		size_t len;

		make(&m, (enum made_footer)i);
		len = m.b.len;
		for (m.b.len = 0; m.b.len < len; m.b.len++) {
			struct layer_blobs b;
			struct layer *l;

			assert_int_not_equal(open_made(&l, &m, &b, NULL), 0);
			layer_close(l);
		}
		strbuf_free(&m.b);
	}
}

static void
test_digests(void **state)
{
	struct made m = { .index = 0 };
	struct layer_expect e = { .kind = "zstd-chunked" };
	uint8_t sum[EVP_MAX_MD_SIZE];
	struct layer_blobs b;
	struct layer *l;

	(void)state;
	make(&m, MADE_ZSTD_LONG);
	EVP_Digest(m.b.data + m.index, m.index_len, sum, NULL, EVP_sha256(),
	    NULL);
	e.index_digest = sum;
	assert_int_equal(open_made(&l, &m, &b, &e), 0);
	layer_close(l);
	sum[31] ^= 1;
	assert_int_equal(open_made(&l, &m, &b, &e), -EBADMSG);
	assert_non_null(strstr(why, "the expected digest"));
	e = (struct layer_expect){ .kind = "estargz" };
	assert_int_equal(open_made(&l, &m, &b, &e), -EINVAL);
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
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
