/*
 * test_convert_refused.c - images whose conversion is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation, each call of the system and each of a library fails in turn.
 * What was refused is reported with a reason, and leaves no layout under the
 * name; or the layout is the same as ever.
 */
#include "suffers.h"

#include "base/progress.h"
#include "base/sys.h"
#include "kinds_made.h"
#include "lazy/convert/convert.h"
#include "scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define OCI "application/vnd.oci.image."

static char dir[SCRATCH_B];
static char said[512];
static int from;

/* What layers become. */
static enum layer_kind kind;

static void
report(void *arg, bool fatal, const char *what, const char *reason)
{
	(void)arg;
	if (*what == '\0' || *reason == '\0')
		fail_msg("%s: %s: no reason", suffers_run.call, what);
	snprintf(said, sizeof(said), "%s: %s", what, reason);
	got.warned |= !fatal;
}

static void
made(void *arg, const struct oci_blob *before, const struct oci_blob *after,
    const struct pack_result *r)
{
	(void)arg;
	take_text(before->hex);
	take_text(after->hex);
	take_number(r->entries);
}

/* Checks that all blobs to which a document refers are there. */
static void
check_references(const char *text)
{
	static const char mark[] = "\"digest\":\"sha256:";

	for (const char *at = text; (at = strstr(at, mark)) != NULL;) {
		char path[120];

		at += sizeof(mark) - 1;
		snprintf(path, sizeof(path), "to/blobs/sha256/%.64s", at);
		if (access(path, F_OK) != 0)
			fail_msg("%s: %s is missing", suffers_run.call, path);
	}
}

/* Takes the names of the blobs, which are their digests, and the index. */
static void
take_layout(void)
{
	struct dirent **names;
	char text[4096];
	FILE *f = fopen("to/index.json", "r");
	int n = scandir("to/blobs/sha256", &names, NULL, alphasort);
	size_t len;

	assert_non_null(f);
	len = fread(text, 1, sizeof(text) - 1, f);
	text[len] = '\0';
	take(text, len);
	fclose(f);
	check_references(text);
	assert_true(n > 2);
	for (int i = 0; i < n; i++) {
		char path[512];
		struct stat st;

		snprintf(path, sizeof(path), "to/blobs/sha256/%s",
		    names[i]->d_name);
		assert_int_equal(stat(path, &st), 0);
		take_text(names[i]->d_name);
		take_number(S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size);
		f = S_ISDIR(st.st_mode) ? NULL : fopen(path, "r");
		if (f != NULL) {
			len = fread(text, 1, sizeof(text) - 1, f);
			text[len] = '\0';
			fclose(f);
			if (strstr(text, "\"layers\"") != NULL)
				check_references(text);
		}
		free(names[i]);
	}
	free(names);
}

static int
convert(void)
{
	static struct progress progress = { .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct pack_options pack = { .kind = kind, .threads = 1,
		.level = -1, .chunk = KINDS_CHUNK, .tmpdir = dir,
		.progress = &progress };
	struct oci_new new;
	struct convert_options o = { .pack = &pack, .quiet = true,
		.dir = from, .new = &new, .new_path = "to", .report = report,
		.made = made };
	struct convert_result r = { .layers = 0 };
	struct convert *c = NULL;
	int rc = oci_new_open(&new, "to");

	*said = '\0';
	if (rc == 0) {
		rc = convert_images(&c, &o, &r);
		if (rc == 0)
			rc = convert_commit(c);
		if (rc != 0 && *said == '\0')
			fail_msg("%s: %d, but nothing is said", suffers_run.call,
			    rc);
		convert_close(c);
	}
	oci_new_abort(&new);
	fault_direct++;
	if (rc == 0) {
		take_number(r.layers);
		take_number(r.from_B);
		take_number(r.to_B);
		take_number(r.soci);
		take_layout();
	} else if (access("to", F_OK) == 0 &&
	    strstr(suffers_run.call, "fsync") == NULL) {
		fail_msg("%s: the layout is there", suffers_run.call);
	}
	if (access("to", F_OK) == 0)
		assert_int_equal(scratch_remove("to"), 0);
	/* what could not be removed has another name */
	(void)!system("rm -rf .to* to*");
	fault_direct--;
	return rc;
}

static void
refused(void **state)
{
	static const enum layer_kind kinds[] = { LAYER_ESTARGZ, LAYER_ZTOC };

	(void)state;
	suffers_run.first = suffers_run.last = 5;
	suffers_run.turns = 1;
	for (size_t i = 0; i < 2; i++) {
		kind = kinds[i];
		suffers(layer_kind_name(kind), convert);
	}
}

/* The layout */

static void
put_blob(struct oci_new *new, const void *data, size_t len, char hex[80])
{
	struct oci_blob b;

	assert_int_equal(oci_new_text(new, data, len, &b), 0);
	snprintf(hex, 80, "%s", b.hex);
}

static void
put_layout(void)
{
	static uint8_t plain[1 << 17], packed[1 << 17];
	struct oci_new new;
	char hex[2][80], of_plain[80], config[80], manifest[80], text[2000];
	int fd = kinds_file(0);
	ssize_t len = read(fd, plain, sizeof(plain));
	z_stream z = { .next_in = plain, .next_out = packed,
		.avail_out = sizeof(packed) };
	size_t n, config_len;

	assert_in_range(len, 1, sizeof(plain) - 1);
	close(fd);
	assert_int_equal(oci_new_open(&new, "from"), 0);
	z.avail_in = (uInt)len;
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = z.total_out;
	deflateEnd(&z);
	put_blob(&new, packed, n, hex[0]);
	put_blob(&new, plain, (size_t)len, of_plain);
	snprintf(text, sizeof(text), "{\"architecture\":\"toy\",\"os\":"
	    "\"linux\",\"rootfs\":{\"type\":\"layers\",\"diff_ids\":["
	    "\"sha256:%s\"]}}", of_plain);
	config_len = strlen(text);
	put_blob(&new, text, config_len, config);
	snprintf(text, sizeof(text), "{\"schemaVersion\":2,\"mediaType\":\""
	    OCI "manifest.v1+json\",\"config\":{\"mediaType\":\"" OCI
	    "config.v1+json\",\"digest\":\"sha256:%s\",\"size\":%zu},"
	    "\"layers\":[{\"mediaType\":\"" OCI "layer.v1.tar+gzip\","
	    "\"digest\":\"sha256:%s\",\"size\":%zu}]}", config, config_len,
	    hex[0], n);
	put_blob(&new, text, strlen(text), manifest);
	n = strlen(text);
	snprintf(text, sizeof(text), "{\"schemaVersion\":2,\"mediaType\":\""
	    OCI "index.v1+json\",\"manifests\":[{\"mediaType\":\"" OCI
	    "manifest.v1+json\",\"digest\":\"sha256:%s\",\"size\":%zu,"
	    "\"platform\":{\"os\":\"linux\",\"architecture\":\"toy\"},"
	    "\"annotations\":{\"org.opencontainers.image.ref.name\":"
	    "\"tag\"}}]}", manifest, n);
	assert_int_equal(oci_new_commit(&new, text, strlen(text)), 0);
	oci_new_abort(&new);
}

static int
begin_all(void **state)
{
	(void)state;
	if (scratch_enter(dir) != 0)
		return 1;
	assert_true(fault_plan(""));
	put_layout();
	from = open("from", O_RDONLY | O_DIRECTORY);
	return from < 0;
}

static int
end_all(void **state)
{
	(void)state;
	close(from);
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
