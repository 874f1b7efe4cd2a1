/*
 * test_layer.c - reading valid handmade layers, and rejecting damaged ones
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layer_open.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
