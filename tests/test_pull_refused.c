/*
 * test_pull_refused.c - images whose fetching or unpacking is refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of the system fails in turn, but not those of
 * libcurl and of the server.  What was refused is reported with a reason, or the
 * image is the same.  And images of which one value is wrong.
 */
#include "suffers.h"

#include "kinds_made.h"
#include "scratch.h"
#include "vfs_served.h"

#include "image/oci/oci_layout.h"
#include "lazy/pull/pull.h"

#include <zlib.h>

enum { LAYERS = 2 };

/* What an image says; texts of digests are without "sha256:". */
static struct image {
	char layer[LAYERS][80], diff_id[LAYERS][80];
	size_t size[LAYERS];
	const char *config_type, *manifest_type;
	int layers;		/* in the manifest */
	int ids;		/* in the config; -1: it is no JSON */
	bool number;		/* the first of these is one */
	unsigned more;		/* than the config's size */
	bool no_config;
} right;

/* Where the blobs and the manifest of the image served last are. */
static char config_at[120], manifest_at[120];

static unsigned failures;
static char said[512];

static void
note_failure(void *arg, const char *name, const char *reason)
{
	(void)arg;
	if (*name == '\0' || *reason == '\0')
		fail_msg("%s: %s: no reason", suffers_run.call, name);
	failures++;
	snprintf(said, sizeof(said), "%s", reason);
}

static void
ignore_warning(void *arg, const char *name, const char *reason)
{
	(void)arg;
	(void)name;
	(void)reason;
}

/* Serving */

static void
put_layer(unsigned n, bool gzipped)
{
	static uint8_t from[1 << 17], to[1 << 17];
	int fd = kinds_file(n);
	ssize_t len = read(fd, from, sizeof(from));
	z_stream z = { .next_in = from, .next_out = to,
		.avail_out = sizeof(to) };

	assert_in_range(len, 1, sizeof(from) - 1);
	close(fd);
	sum_of(from, (size_t)len, right.diff_id[n]);
	right.size[n] = (size_t)len;
	if (gzipped) {
		z.avail_in = (uInt)len;
		assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8,
		    Z_DEFAULT_STRATEGY), Z_OK);
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		right.size[n] = z.total_out;
		deflateEnd(&z);
	}
	sum_of(gzipped ? to : from, right.size[n], right.layer[n]);
	serve_blob(gzipped ? to : from, right.size[n]);
}

/* Serves the documents of an image under a tag, and below an index. */
static void
put_image(const struct image *m, const char *tag)
{
	char config[400], text[2000], name[120], sum[80], index[1000];
	int n = snprintf(config, sizeof(config),
	    "{\"rootfs\":{\"diff_ids\":[");

	for (int i = 0; i < m->ids; i++)
		n += snprintf(config + n, sizeof(config) - (size_t)n,
		    m->number && i == 0 ? "1" : "%s\"%s\"", i > 0 ? "," : "",
		    m->diff_id[i % 2]);
	strcat(config, m->ids < 0 ? "" : "]}}\n");
	serve_blob(config, strlen(config));
	snprintf(config_at, sizeof(config_at), "v2/img/blobs/%s",
	    sum_of(config, strlen(config), sum));
	n = snprintf(text, sizeof(text), "{\"schemaVersion\":2,"
	    "\"mediaType\":\"%s\",\"%s\":{\"mediaType\":\"%s\","
	    "\"digest\":\"%s\",\"size\":%zu},\"layers\":[", m->manifest_type,
	    m->no_config ? "none" : "config", m->config_type, sum,
	    strlen(config) + m->more);
	for (int i = 0; i < m->layers; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n,
		    "%s{\"mediaType\":"
		    "\"application/vnd.oci.image.layer.v1.tar%s\","
		    "\"digest\":\"%s\",\"size\":%zu}", i > 0 ? "," : "",
		    i == 0 ? "+gzip" : "", m->layer[i], m->size[i]);
	strcat(text, "]}\n");
	snprintf(name, sizeof(name), "v2/img/manifests/%s", tag);
	serve_file(name, text, strlen(text));
	sum_of(text, strlen(text), sum);
	snprintf(manifest_at, sizeof(manifest_at), "v2/img/manifests/%s", sum);
	serve_file(manifest_at, text, strlen(text));
	snprintf(index, sizeof(index), "{\"schemaVersion\":2,\"mediaType\":"
	    "\"application/vnd.oci.image.index.v1+json\",\"manifests\":["
	    "{\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\","
	    "\"digest\":\"%s\",\"size\":%zu,\"platform\":{\"os\":\"linux\","
	    "\"architecture\":\"toy\",\"variant\":\"v2\"}}]}", sum,
	    strlen(text));
	snprintf(name, sizeof(name), "v2/img/manifests/%s.index", tag);
	serve_file(name, index, strlen(index));
}

/* Pulling */

static void
take_tree(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		static uint8_t data[1 << 16];
		char sub[512];
		struct stat st;

		snprintf(sub, sizeof(sub), "%s/%s", path, names[i]->d_name);
		assert_int_equal(lstat(sub, &st), 0);
		if (*names[i]->d_name != '.' || names[i]->d_name[1] == 'w') {
			take_text(sub);
			take_number(S_ISDIR(st.st_mode) ? 0 : st.st_nlink);
			/* a layout's files are of now */
			if (*path == 'r') {
				take_number(st.st_mode);
				take_number((uint64_t)st.st_mtim.tv_nsec);
			}
			if (S_ISREG(st.st_mode)) {
				int fd = open(sub, O_RDONLY);
				ssize_t len = read(fd, data, sizeof(data));

				assert_true(len >= 0);
				take(data, (size_t)len);
				close(fd);
			} else if (S_ISDIR(st.st_mode)) {
				take_tree(sub);
			}
		}
		free(names[i]);
	}
	free(names);
}

/* What is pulled, and how. */
static const char *tag, *platform;
static uint64_t max_B;

static int
pull(int (*to)(struct pull *p))
{
	const struct http_options ho = { .timeout_s = 3, .connections = 2 };
	static struct progress progress = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct pull_options o = { .plain_http = true, .threads = 1,
		.platform = platform, .connections = 2, .max_B = max_B,
		.report = { .warn = ignore_warning, .fail = note_failure },
		.progress = &progress, .quiet = true };
	char ref[100], reason[LAYER_WHY] = "";
	struct pull p = { .count = 0 };
	int rc = http_open(&o.http, &ho, reason);

	if (rc != 0)
		return explained(rc, reason);
	failures = 0;
	snprintf(ref, sizeof(ref), "docker://127.0.0.1:%u/img:%s",
	    server_port(server), tag);
	rc = pull_open(&p, ref, &o);
	if (rc == 0)
		assert_string_equal(p.tag, tag);
	if (rc == 0)
		rc = to(&p);
	if ((rc != 0) != (failures > 0))
		fail_msg("%s: %d, reported %u times", suffers_run.call, rc,
		    failures);
	pull_close(&p);
	http_close(o.http);
	return rc;
}

static int
to_directory(struct pull *p)
{
	int fd, rc;

	assert_int_equal(mkdir("root", 0700), 0);
	fd = open("root", O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	rc = pull_tree(p, fd, false);
	close(fd);
	if (rc == 0) {
		take_number(p->entries);
		take_number(p->unpacked_B);
		take_number(p->attributes);
		take_tree("root");
	}
	assert_int_equal(scratch_remove("root"), 0);
	return rc;
}

/* The index names the manifest as what the server said that it is. */
static void
check_index(void)
{
	char text[1000] = "", want[200];
	FILE *f = fopen("layout/index.json", "r");

	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	snprintf(want, sizeof(want), "{\"mediaType\":\"%s\",\"digest\":\"%s\"",
	    right.manifest_type, strrchr(manifest_at, '/') + 1);
	if (strstr(text, want) == NULL)
		fail_msg("no %s in %s", want, text);
}

static int
to_layout(struct pull *p)
{
	struct oci_new new;
	int rc = oci_new_open(&new, "layout");

	if (rc == 0)
		rc = pull_layout(p, &new, "layout", "tag");
	else
		failures++;		/* the caller reports it */
	oci_new_abort(&new);
	if (rc == 0) {
		check_index();
		take_tree("layout");
	} else if (access("layout", F_OK) == 0 &&
	    strstr(suffers_run.call, "fsync") == NULL)
		fail_msg("%s: the layout is there", suffers_run.call);
	if (access("layout", F_OK) == 0)
		assert_int_equal(scratch_remove("layout"), 0);
	return rc;
}

static int
unpack(void)
{
	return pull(to_directory);
}

static int
keep(void)
{
	return pull(to_layout);
}

/* The tests */

static void
refused(void **state)
{
	(void)state;
	tag = "right.index";
	platform = "linux/toy";
	max_B = 1 << 20;
	suffers_run.first = 20;
	suffers_run.turns = 20;
	SUFFERS(unpack);
	SUFFERS(keep);
	/* each allocation */
	suffers_run.first = 1000;
	suffers_kinds = SUFFERS_KIND(MALLOC);
	SUFFERS(unpack);
	SUFFERS(keep);
}

/* Images of which one value is wrong */

static void
swap(char *a, char *b)
{
	char t[80];

	strcpy(t, a);
	strcpy(a, b);
	strcpy(b, t);
}

static void
spoil(char *digest)
{
	digest[20] = digest[20] == '0' ? '1' : '0';
}

#define OCI "application/vnd.oci.image."
#define WRONG(X) \
	X(nothing, (void)m, 0, "") \
	X(artifact, m->config_type = "application/x", -EBADMSG, "an artifact") \
	X(no_ids, m->ids = 0, -EBADMSG, "does not describe") \
	X(one_id, m->ids = 1, -EBADMSG, "does not describe") \
	X(three_ids, m->ids = 3, -EBADMSG, "does not describe") \
	X(no_json, m->ids = -1, -EBADMSG, "") \
	X(swapped, swap(m->diff_id[0], m->diff_id[1]), -EBADMSG, \
	    "does not match the diff_id") \
	X(other_id, spoil(m->diff_id[1]), -EBADMSG, \
	    "does not match the diff_id") \
	X(no_layer, spoil(m->layer[1]), -ENOENT, "") \
	X(huge, m->size[0] = m->size[1] = INT64_MAX / 4 + 1, -EFBIG, \
	    "too large") \
	X(empty, m->layers = m->ids = 0, 0, "") \
	X(other_size, m->more = 1, -EBADMSG, OCI_NOT_ITS) \
	X(number, m->number = true, -EBADMSG, "does not describe") \
	X(no_config, m->no_config = true, -ENOENT, "no config") \
	X(longer, m->size[1]++, -ENODATA, "") \
	X(shorter, m->size[1]--, -EBADMSG, "")

#define CHANGE(name, how, rc, text) \
	static void change_##name(struct image *m) { how; }
WRONG(CHANGE)
#define ROW(name, how, rc, text) { #name, change_##name, rc, text },

static void
values(void **state)
{
	static const struct {
		const char *name;
		void (*apply)(struct image *m);
		int rc;
		const char *text;
	} rows[] = { WRONG(ROW) };

	(void)state;
	platform = NULL;
	max_B = 1 << 20;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct image m = right;
		int rc;

		rows[i].apply(&m);
		put_image(&m, rows[i].name);
		tag = rows[i].name;
		got.len = 0;
		*said = '\0';
		rc = unpack();
		if (rc != rows[i].rc || strstr(said, rows[i].text) == NULL)
			fail_msg("%s: %d, %s", tag, rc, said);
	}
}

/* As large as all layers may be, which the server is not. */
static void
largest(void **state)
{
	struct image m = right;

	(void)state;
	platform = NULL;
	m.size[0] = INT64_MAX / 4;
	m.size[1] = INT64_MAX / 2 - m.size[0];
	put_image(&m, "largest");
	tag = "largest";
	assert_int_not_equal(unpack(), 0);
	assert_null(strstr(said, "too large"));
}

/* Changes a byte of what is served. */
static void
tamper(const char *at, long offset, int by)
{
	FILE *f = fopen(at, "r+");
	int c;

	assert_non_null(f);
	assert_int_equal(fseek(f, offset, offset < 0 ? SEEK_END : SEEK_SET),
	    0);
	c = getc(f);
	assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
	putc(c + by, f);
	assert_int_equal(fclose(f), 0);
}

/* Even what means the same, of the same size, has another digest. */
static void
tampered(void **state)
{
	enum { GZIP_OS = 9 };
	char layer[LAYERS][120];
	const struct {
		const char *at;
		long offset;
	} rows[] = { { config_at, -1 }, { manifest_at, -1 },
		{ layer[0], GZIP_OS }, { layer[1], -1 } };

	(void)state;
	platform = NULL;
	put_image(&right, "right");
	for (int i = 0; i < LAYERS; i++)
		snprintf(layer[i], sizeof(layer[i]), "v2/img/blobs/%s",
		    right.layer[i]);
	tag = "right.index";
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		int (*run)(void) = i % 2 == 0 ? unpack : keep;

		got.len = 0;
		tamper(rows[i / 2].at, rows[i / 2].offset, -1);
		assert_int_equal(run(), -EBADMSG);
		if (strcmp(said, OCI_NOT_ITS) != 0)
			fail_msg("%s: %s", rows[i / 2].at, said);
		tamper(rows[i / 2].at, rows[i / 2].offset, 1);
		assert_int_equal(run(), 0);
	}
}

static void
platforms(void **state)
{
	static const struct {
		const char *platform;
		int rc;
	} rows[] = { { "linux/toy", 0 }, { "linux/toy/v2", 0 },
		{ "linux/toy/v3", -ENOENT }, { "linux/to", -ENOENT },
		{ "linux/toyv2", -ENOENT },
		/* the only one there is */
		{ NULL, 0 } };

	(void)state;
	tag = "right.index";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc;

		platform = rows[i].platform;
		got.len = 0;
		rc = unpack();
		if (rc != rows[i].rc)
			fail_msg("%s: %d, %s", platform, rc, said);
	}
}

/* The limit is of all archives together. */
static void
limit(void **state)
{
	(void)state;
	tag = "right";
	platform = NULL;
	max_B = 1 << 20;
	got.len = 0;
	assert_int_equal(unpack(), 0);
	/* entries, and bytes */
	memcpy(&max_B, got.p + 8, 8);
	assert_int_equal(unpack(), 0);
	max_B--;
	assert_int_equal(unpack(), -EFBIG);
	assert_non_null(strstr(said, "--max-size"));
}

static int
begin_all(void **state)
{
	int rc = serve_begin(state);

	if (rc != 0 || chdir(served) != 0)
		return 1;
	assert_true(fault_plan(""));
	put_layer(0, true);
	put_layer(1, false);
	right.layers = right.ids = LAYERS;
	right.config_type = OCI "config.v1+json";
	right.manifest_type = OCI "manifest.v1+json";
	put_image(&right, "right");
	return 0;
}

static int
end_all(void **state)
{
	return chdir("/") != 0 || serve_end(state) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(values),
		cmocka_unit_test(largest),
		cmocka_unit_test(tampered),
		cmocka_unit_test(platforms),
		cmocka_unit_test(limit),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
