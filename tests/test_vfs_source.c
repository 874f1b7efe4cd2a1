/*
 * test_vfs_source.c - layers on a server, and the cache in between
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_served.h"

#include "lazy/vfs/cache.h"
#include "lazy/vfs/vfs_image.h"

static char url[SERVED_NAME], blob_url[SERVED_NAME];

static void
set_urls(void)
{
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    server_port(server));
	snprintf(blob_url, sizeof(blob_url), "http://127.0.0.1:%u/v2/img/blobs/"
	    "%s", server_port(server), layer_digest);
}

/* Reads all of the file, and returns the number of requests that it took. */
static uint64_t
read_all(struct fake_vfs *w, const char *name, bool kept)
{
	uint64_t before = server_requests(server);

	served_begin(w, kept);
	assert_int_equal(vfs_stack_add(&w->s, name, NULL, 0), 0);
	assert_int_equal(vfs_stack_build(&w->s, MERGE_MERGED), 0);
	assert_true(vfs_gives(w, "file", 0, SERVED_SIZE, 1, SERVED_SIZE));
	served_end(w);
	return server_requests(server) - before;
}

/* What is kept needs no request, but for an object that may have changed. */
static void
kept(void **state)
{
	struct fake_vfs w;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	assert_true(read_all(&w, url, true) > 2);
	assert_int_equal(read_all(&w, url, true), 1);
	assert_true(read_all(&w, blob_url, true) > 1);
	assert_int_equal(read_all(&w, blob_url, true), 0);
	assert_true(read_all(&w, blob_url, false) > 1);
	assert_string_equal(w.said, "");
	/* nothing of another version is used, of which there is no end here */
	server_set(server, SERVER_CHANGES, 1);
	served_begin(&w, true);
	assert_int_equal(vfs_stack_add(&w.s, url, NULL, 0), -ESTALE);
	served_end(&w);
	server_set(server, SERVER_GOOD, 1);
	served_finish(&w);
}

/* An index that was wrong is not kept, nor is a unit. */
static void
wrong(void **state)
{
	struct fake_vfs w;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	server_set(server, SERVER_FLIPS, 1);
	served_begin(&w, true);
	assert_true(vfs_stack_add(&w.s, blob_url, NULL, 0) < 0);
	assert_memory_equal(w.said, blob_url, strlen(blob_url));
	served_end(&w);
	server_set(server, SERVER_GOOD, 1);
	*w.said = '\0';
	served_begin(&w, true);
	assert_int_equal(vfs_stack_add(&w.s, blob_url, NULL, 0), 0);
	assert_int_equal(vfs_stack_build(&w.s, MERGE_MERGED), 0);
	server_set(server, SERVER_FLIPS, 1);
	assert_false(vfs_gives(&w, "file", 0, 100, 1, 100));
	server_set(server, SERVER_GOOD, 1);
	assert_true(vfs_gives(&w, "file", 0, 100, 1, 100));
	served_end(&w);
	assert_true(read_all(&w, blob_url, true) > 0);
	assert_int_equal(read_all(&w, blob_url, true), 0);
	assert_string_equal(w.said, "");
	served_finish(&w);
}

static int
has_bytes(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)path;
	/* ranges are in directories */
	return type == FTW_F && st->st_size > 0 && f->level > 1;
}

/* Nor does what is in the cache prevent that a layer is opened. */
static void
spoilt(void **state)
{
	const uint64_t size = served_layer.made.b.len;
	const char tail[64] = "";
	struct cache_store *store;
	struct cache *c;
	struct fake_vfs w;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	assert_int_equal(cache_store_open(&store, &(struct cache_options){
	    .dir = w.o.remote.cache_dir, .kept = true, .limit = 1 << 20 }), 0);
	assert_int_equal(cache_open(&c, store, blob_url), 0);
	assert_int_equal(cache_write(c, NULL, UINT64_MAX, sizeof(size),
	    &size), 0);
	assert_int_equal(cache_write(c, NULL, size - sizeof(tail),
	    sizeof(tail), tail), 0);
	cache_close(c);
	cache_store_close(store);
	assert_true(read_all(&w, blob_url, true) > 1);
	assert_int_equal(read_all(&w, blob_url, true), 0);
	assert_string_equal(w.said, "");
	served_finish(&w);

	/* what was wrong twice is not left there */
	vfs_prepare(&w);
	server_set(server, SERVER_FLIPS, 1);
	served_begin(&w, true);
	assert_true(vfs_stack_add(&w.s, blob_url, NULL, 0) < 0);
	served_end(&w);
	server_set(server, SERVER_GOOD, 1);
	assert_int_equal(nftw(w.dir, has_bytes, 8, FTW_PHYS), 0);
	served_finish(&w);
}

/* What is fetched once is not kept. */
static void
fetched(void **state)
{
	uint8_t buf[1000];
	const struct layer_range r = { .offset = 5, .length = sizeof(buf),
		.buf = buf };
	struct vfs_source *s;
	struct fake_vfs w;
	uint64_t before;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	served_begin(&w, true);
	assert_int_equal(vfs_stack_add(&w.s, url, NULL, 0), 0);
	s = w.s.sources[0];
	assert_false(s->local || s->vouched);
	before = server_requests(server);
	for (int i = 0; i < 3; i++) {
		memset(buf, 0, sizeof(buf));
		assert_int_equal(vfs_source_fetch(s, &r, 1, HTTP_READ), 0);
		assert_memory_equal(buf, served_layer.made.b.data + 5,
		    sizeof(buf));
	}
	assert_int_equal(server_requests(server), before + 3);
	for (int i = 0; i < 3; i++) {
		memset(buf, 0, sizeof(buf));
		assert_int_equal(vfs_source_read(s, &r, 1, HTTP_READ), 0);
		assert_memory_equal(buf, served_layer.made.b.data + 5,
		    sizeof(buf));
	}
	assert_int_equal(server_requests(server), before + 4);
	vfs_source_forget(s, &r);
	assert_int_equal(vfs_source_read(s, &r, 1, HTTP_READ), 0);
	assert_int_equal(server_requests(server), before + 5);
	served_end(&w);
	served_finish(&w);
}

/* What cannot be asked for its size is not opened, with or without a cache. */
static void
missing(void **state)
{
	char line[SERVED_NAME + 80];
	struct fake_vfs w;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	snprintf(line, sizeof(line), "%s: the server returned status 404\n",
	    url);
	server_set(server, SERVER_404, 1);
	for (int kept = 0; kept < 2; kept++) {
		uint64_t before = server_requests(server);

		*w.said = '\0';
		served_begin(&w, kept);
		assert_int_equal(vfs_stack_add(&w.s, url, NULL, 0), -ENOENT);
		assert_string_equal(w.said, line);
		assert_int_equal(server_requests(server), before + 1);
		served_end(&w);
	}
	server_set(server, SERVER_GOOD, 1);
	served_finish(&w);
}

/* The first failure after a success is reported. */
static void
failing(void **state)
{
	uint8_t buf[10];
	struct layer_range r = { .length = sizeof(buf), .buf = buf };
	char line[SERVED_NAME + 80];
	struct fake_vfs w;

	(void)state;
	set_urls();
	vfs_prepare(&w);
	served_begin(&w, true);
	assert_int_equal(vfs_stack_add(&w.s, url, NULL, 0), 0);
	snprintf(line, sizeof(line), "%s: the server returned status 404\n",
	    url);
	for (int i = 0; i < 2; i++) {
		server_set(server, SERVER_404, 1);
		for (int k = 0; k < 3; k++) {
			r.offset += 20;
			assert_int_equal(vfs_source_read(w.s.sources[0], &r, 1,
			    HTTP_READ), -ENOENT);
		}
		assert_string_equal(w.said, line);
		*w.said = '\0';
		server_set(server, SERVER_GOOD, 1);
		assert_int_equal(vfs_source_read(w.s.sources[0], &r, 1,
		    HTTP_READ), 0);
	}
	assert_string_equal(w.said, "");
	served_end(&w);
	served_finish(&w);
}

/* What cannot be opened, and why */
static void
unopened(void **state)
{
	char none[SERVED_NAME + 10], want[2 * SERVED_NAME];
	struct fake_vfs w;

	(void)state;
	set_urls();
	snprintf(none, sizeof(none), "%s-none", url);
	vfs_prepare(&w);
	served_begin(&w, false);
	assert_int_equal(vfs_stack_add(&w.s, none, NULL, 0), -ENOENT);
	snprintf(want, sizeof(want), "%s: the server returned status 404\n",
	    none);
	assert_string_equal(w.said, want);
	*w.said = '\0';
	assert_int_equal(vfs_stack_add(&w.s, "/dev/null", NULL, 0), -EINVAL);
	assert_string_equal(w.said, "/dev/null: not a regular file or "
	    "directory\n");
	*w.said = '\0';
	assert_int_equal(vfs_stack_add(&w.s, "http://", NULL, 0), -EINVAL);
	assert_string_equal(w.said, "http://: not an http or https URL\n");
	served_end(&w);
	served_finish(&w);
}

/* A file, and an image */
static void
operands(void **state)
{
	char file[SCRATCH_B + 8], name[SERVED_NAME];
	struct fake_vfs w;

	(void)state;
	snprintf(file, sizeof(file), "%s/blob", served);
	snprintf(name, sizeof(name), "docker://127.0.0.1:%u/img",
	    server_port(server));
	vfs_prepare(&w);
	for (int i = 0; i < 2; i++) {
		served_begin(&w, false);
		assert_int_equal(vfs_image_add(&w.s, i == 0 ? file : name), 0);
		assert_int_equal(w.s.source_count, 1);
		assert_int_equal(w.s.sources[0]->local, i == 0);
		assert_int_equal(w.s.sources[0]->vouched, i == 1);
		assert_int_equal(vfs_stack_build(&w.s, MERGE_MERGED), 0);
		assert_true(vfs_gives(&w, "file", 7, 100, 1, 100));
		served_end(&w);
	}
	assert_string_equal(w.said, "");
	served_finish(&w);
}

/* Names of images */
static void
names(void **state)
{
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *text, *host, *base, *reference;
	} good[] = {
		{ "docker://h/n", "h", "https://h/v2/n", "latest" },
		{ "h:5000/a/b:1.0", "h:5000", "https://h:5000/v2/a/b", "1.0" },
		{ "127.9.9.9/n:t", "127.9.9.9", "http://127.9.9.9/v2/n", "t" },
		{ "LocalHost:1/n", "LocalHost:1", "http://LocalHost:1/v2/n",
			"latest" },
		{ "[::1]:80/n", "[::1]:80", "http://[::1]:80/v2/n", "latest" },
		{ "[::2]/n", "[::2]", "https://[::2]/v2/n", "latest" },
		{ "h/n:t@sha256:" HEX, "h", "https://h/v2/n", "sha256:" HEX },
	};
	static const char *const bad[] = { "", "n", "docker://n", "h/", "h//n",
		"h/../n", "h/a/../n", "u@h/n", "h:x/n", "h:99999/n", "[::1/n",
		"[x]/n", "h?/n", "h/n:", "h/n:a b", "h/n@sha256:12", "h/n?",
		/* another algorithm */
		"h/n@sha512:0123456789abcdef0123456789abcdef" };
	struct vfs_image_name n;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(vfs_image_parse(good[i].text, false, &n, why),
		    0);
		assert_string_equal(n.host, good[i].host);
		assert_string_equal(n.base, good[i].base);
		assert_string_equal(n.reference, good[i].reference);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(vfs_image_parse(bad[i], false, &n, why),
		    -EINVAL);
	assert_int_equal(vfs_image_parse("u:p@h/n", false, &n, why), -EINVAL);
	assert_non_null(strstr(why, "credentials"));
	assert_int_equal(vfs_image_parse("h/n", true, &n, why), 0);
	assert_string_equal(n.base, "http://h/v2/n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept),
		cmocka_unit_test(wrong),
		cmocka_unit_test(spoilt),
		cmocka_unit_test(fetched),
		cmocka_unit_test(missing),
		cmocka_unit_test(failing),
		cmocka_unit_test(unopened),
		cmocka_unit_test(operands),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, serve_begin, serve_end);
}
