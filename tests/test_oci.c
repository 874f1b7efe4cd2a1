/*
 * test_oci.c - what a manifest says of its layers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/oci/oci.h"

#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define SIXTY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

/* Reads a manifest with one layer.  Returns the result, and the layer. */
static int
layer(const char *digest, const char *size, struct oci_blob *b)
{
	char text[1024], why[OCI_WHY] = "";
	struct oci_document *d;
	struct oci_blob *all;
	size_t count;
	int rc, len = snprintf(text, sizeof(text), "{\"layers\":[{"
	    "\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\"%s%s%s%s"
	    "}]}", digest[0] != '\0' ? ",\"digest\":" : "", digest,
	    size[0] != '\0' ? ",\"size\":" : "", size);

	assert_in_range(len, 1, sizeof(text) - 1);
	rc = oci_parse(&d, text, (size_t)len, why);
	if (rc != 0)
		return rc;
	rc = oci_layers(d, &all, &count, why);
	if (rc == 0) {
		assert_int_equal(count, 1);
		*b = all[0];
		sys_free(all);
	} else {
		assert_true(why[0] != '\0');
	}
	oci_free(d);
	return rc;
}

/* A size is a whole number that a file can have. */
static void
sizes(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t size;
	} rows[] = {
		{ "0", 0, 0 }, { "1", 0, 1 }, { "4294967296", 0, 1ULL << 32 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "9223372036854775808", -EBADMSG, 0 },
		{ "18446744073709551616", -EBADMSG, 0 },
		{ "-1", -EBADMSG, 0 }, { "-9223372036854775808", -EBADMSG, 0 },
		{ "", -EBADMSG, 0 }, { "\"1\"", -EBADMSG, 0 },
		{ "null", -EBADMSG, 0 }, { "true", -EBADMSG, 0 },
		{ "[1]", -EBADMSG, 0 }, { "1.5", -EBADMSG, 0 },
		{ "1e3", -EBADMSG, 0 }, { "1e400", -EBADMSG, 0 },
	};
	struct oci_blob b;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int rc = layer("\"sha256:" SIXTY "cdef\"", rows[i].text, &b);

		if (rc != rows[i].rc)
			fail_msg("%s: %d", rows[i].text, rc);
		if (rc != 0)
			continue;
		assert_int_equal(b.size, rows[i].size);
		assert_string_equal(b.hex, SIXTY "cdef");
	}
}

/* A digest becomes a file's name. */
static void
digests(void **state)
{
	static const char *const bad[] = { "", "7", "null", "\"\"",
		"\"sha256:\"", "\"sha256:" SIXTY "cde\"",
		"\"sha256:" SIXTY "cdef0\"", "\"sha256:" SIXTY "cdeg\"",
		"\"sha256:" SIXTY "cdeF\"", "\"sha256:" SIXTY "cd/f\"",
		"\"sha256:" SIXTY "cde.\"", "\"sha512:" SIXTY "cdef\"",
		"\"SHA256:" SIXTY "cdef\"", "\"sha256-" SIXTY "cdef\"",
		"\"" SIXTY "cdef\"", "\" sha256:" SIXTY "cdef\"" };
	struct oci_blob b;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int rc = layer(bad[i], "5", &b);

		if (rc != -EBADMSG)
			fail_msg("%s: %d", bad[i], rc);
	}
	assert_int_equal(layer("\"sha256:" SIXTY "cdef\"", "5", &b), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(digests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
