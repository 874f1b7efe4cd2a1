/*
 * test_oci.c - layers in manifests, and blobs by their digests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "refused.h"

#include "image/oci/oci_edit.h"
#include "image/oci/oci_layout.h"
#include "image/oci/oci_new.h"

#include "base/sys.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
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

/* The blobs of a layout, in a directory that is removed at the end. */
static int
layout(char dir[SCRATCH_B])
{
	char path[SCRATCH_B + 32];

	assert_non_null(scratch_make(dir));
	snprintf(path, sizeof(path), "%s/blobs", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/blobs/sha256", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void
remove_layout(const char *dir, int fd)
{
	close(fd);
	assert_int_equal(scratch_remove(dir), 0);
}

/* "abc" has this digest, says FIPS 180-2. */
static struct oci_blob
put_abc(int layout_fd)
{
	struct oci_blob b = { .size = 3, .hex = "ba7816bf8f01cfea414140de5dae"
	    "2223b00361a396177a9cb410ff61f20015ad" };
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "blobs/sha256/%s", b.hex);
	fd = openat(layout_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_int_equal(write(fd, "abc", 3), 3);
	close(fd);
	return b;
}

/* Neither size nor digest may be another. */
static void
verified(void **state)
{
	char dir[SCRATCH_B];
	int at = layout(dir), fd;
	struct oci_blob b = put_abc(at), other;

	(void)state;
	fd = oci_blob_open(at, &b);
	assert_true(fd >= 0);
	assert_int_equal(oci_blob_verify(fd, &b), 0);
	for (int i = -1; i <= 1; i += 2) {
		other = b;
		other.size += (uint64_t)i;
		assert_int_equal(oci_blob_verify(fd, &other), -EBADMSG);
	}
	for (size_t i = 0; i < OCI_HEX; i++) {
		other = b;
		other.hex[i] = b.hex[i] == 'a' ? 'b' : 'a';
		assert_int_equal(oci_blob_verify(fd, &other), -EBADMSG);
	}
	assert_int_equal(oci_blob_verify(fd, &b), 0);
	close(fd);
	remove_layout(dir, at);
}

/* What does not have its digest is not copied. */
static void
copied(void **state)
{
	char dir[SCRATCH_B], path[SCRATCH_B + 128], got[8];
	int at = layout(dir), fd, dirfd;
	struct oci_blob b = put_abc(at), wrong = b;
	struct oci_new n;

	(void)state;
	snprintf(path, sizeof(path), "%s/blobs/sha256/%s", dir, b.hex);
	wrong.size = 2;
	for (int i = 0; i < 2; i++) {
		char to[SCRATCH_B + 32];

		snprintf(to, sizeof(to), "%s/new%d", dir, i);
		assert_int_equal(oci_new_open(&n, to), 0);
		assert_int_equal(oci_new_copy(&n, at, i == 0 ? &b : &wrong),
		    i == 0 ? 0 : -EBADMSG);
		assert_int_equal(oci_new_commit(&n, "{}", 2), 0);
		oci_new_abort(&n);
		dirfd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = oci_blob_open(dirfd, &b);
		assert_int_equal(fd >= 0, i == 0);
		if (fd >= 0) {
			assert_int_equal(read(fd, got, sizeof(got)), 3);
			assert_memory_equal(got, "abc", 3);
			close(fd);
		}
		close(dirfd);
	}
	/* nor is one that is not there */
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/new2", dir);
	assert_int_equal(oci_new_open(&n, path), 0);
	assert_int_equal(oci_new_copy(&n, at, &b), -ENOENT);
	oci_new_abort(&n);
	assert_int_equal(access(path, F_OK), -1);
	remove_layout(dir, at);
}

/* A layer has a digest of its own in the config, if it has that layer. */
static void
diff_ids(void **state)
{
	static const char config[] = "{\"rootfs\":{\"diff_ids\":[\"a\","
	    "\"b\"]}}";
	char why[OCI_WHY], *text;
	struct oci_document *d;
	size_t len;

	(void)state;
	assert_int_equal(oci_parse(&d, config, sizeof(config) - 1, why), 0);
	assert_int_equal(oci_set_diff_id(d, 1, SIXTY "cdef"), 0);
	assert_int_equal(oci_set_diff_id(d, 2, SIXTY "cdef"), -EBADMSG);
	assert_int_equal(oci_set_diff_id(d, SIZE_MAX, SIXTY "cdef"),
	    -EBADMSG);
	assert_int_equal(oci_write(d, &text, &len), 0);
	assert_non_null(memmem(text, len, "\"sha256:" SIXTY "cdef\"", 73));
	assert_non_null(memmem(text, len, "\"a\"", 3));
	assert_null(memmem(text, len, "\"b\"", 3));
	sys_free(text);
	oci_free(d);
	assert_int_equal(oci_parse(&d, "{\"rootfs\":{}}", 13, why), 0);
	assert_int_equal(oci_set_diff_id(d, 0, SIXTY "cdef"), -EBADMSG);
	oci_free(d);
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false },
	{ FAULT_LIBRARY, ":ENOMEM", 0, false },
};

/* Changes a manifest in all ways.  *text becomes NULL, or the new one. */
static int
edit(char **text, size_t *len)
{
	static const char manifest[] = "{\"layers\":[{\"mediaType\":\"t\","
	    "\"digest\":\"sha256:" SIXTY "cdef\",\"size\":5}],\"rootfs\":"
	    "{\"diff_ids\":[\"a\"]}}";
	const struct oci_blob b = { .size = 77, .hex = SIXTY "0000" };
	const struct oci_descriptor x = { .os = "linux", .variant = "",
		.architecture = "amd64" };
	char why[OCI_WHY];
	struct oci_document *d;
	int rc = oci_parse(&d, manifest, sizeof(manifest) - 1, why);

	*text = NULL;
	if (rc != 0)
		return rc;
	rc = oci_set(d, OCI_LAYERS, 0, &b, "other");
	if (rc == 0)
		rc = oci_annotate(d, OCI_LAYERS, 0, "name", "value");
	if (rc == 0)
		rc = oci_set_text(d, OCI_LAYERS, 0, "artifactType", "kind");
	if (rc == 0)
		rc = oci_set_platform(d, OCI_LAYERS, 0, &x);
	if (rc == 0)
		rc = oci_add(d, OCI_LAYERS, &b, "added");
	if (rc == 0)
		rc = oci_set_diff_id(d, 0, SIXTY "1111");
	if (rc == 0)
		rc = oci_write(d, text, len);
	oci_free(d);
	return rc;
}

/* Without memory there is an error, or the same text. */
static void
refused(void **state)
{
	struct refused f = { .name = "edit", .refusals = refusals,
		.turns = 400, .refusal_count = sizeof(refusals) /
		sizeof(refusals[0]) };
	char *whole, *text;
	size_t len, n;
	unsigned failed = 0;

	(void)state;
	assert_true(fault_plan(""));
	assert_int_equal(edit(&whole, &len), 0);
	refused_count(&f);
	assert_non_null(memmem(whole, len, SIXTY "0000", 64));
	assert_non_null(memmem(whole, len, SIXTY "1111", 64));
	assert_non_null(memmem(whole, len, "\"amd64\"", 7));
	assert_non_null(memmem(whole, len, "\"value\"", 7));
	assert_non_null(memmem(whole, len, "\"added\"", 7));
	while (refused_next(&f)) {
		int rc = edit(&text, &n);

		if (rc > 0 || (rc == 0 && (n != len ||
		    memcmp(text, whole, len) != 0)))
			fail_msg("%s: %d", f.call, rc);
		if (rc == 0)
			sys_free(text);
		refused_end(&f);
		failed += rc != 0;
	}
	assert_true(failed > 20);
	sys_free(whole);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(digests),
		cmocka_unit_test(verified),
		cmocka_unit_test(copied),
		cmocka_unit_test(diff_ids),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
