/*
 * test_vfs_refused.c - files of layers, read while calls are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of the system fails in turn, but not those of
 * libcurl and of the server.  A read fails, or gives the right bytes; what fails
 * is said once, with a reason.
 */
#include "suffers.h"

#include "vfs_served.h"

#include "lazy/vfs/vfs_image.h"
#include "lazy/vfs/vfs_store.h"

#include "base/hex.h"

enum { LENGTH = 3 * CHUNK };

/* Two layers in memory, each with a trace of two sections. */
static struct fake fakes[2];

/* The filesystem, and a directory for its files. */
static struct fake_vfs w;
static char name[SERVED_NAME];
static bool kept;

static void
put_fake(struct fake *f, unsigned file)
{
	const struct fake_piece p[] = {
		{ .entry = 0, .offset = 0, .length = 1000, .file = file },
		{ .entry = 1, .offset = 0, .length = 500, .file = file + 1 },
		{ .entry = 0, .offset = 2000, .length = 3000, .file = file,
			.section = 1 },
	};
	char path[16];

	snprintf(path, sizeof(path), "one%u", file);
	fake_file(f, path, file, LENGTH);
	fake_file(f, "two", file + 1, 1000);
	fake_trace(f, p, sizeof(p) / sizeof(*p), false);
	fake_end(f);
}

/* Reads a part of a file.  What is read is right. */
static int
read_part(const char *path, unsigned file, uint64_t at, size_t size)
{
	struct vfs_read r;
	ssize_t n = vfs_read_at(&w, &r, path, at, size);
	uint8_t *buf = malloc(size);
	uint64_t from = at;
	size_t copied;

	if (n >= 0 && (n != (ssize_t)size || !fake_is(file, at, r.data, size)))
		fail_msg("%s: %s at %u", suffers_run.call, path, (unsigned)at);
	if (n >= 0)
		take(r.data, size < 100 ? size : 100);
	if (n >= 0)
		(void)vfs_read_ahead(&r);
	vfs_read_end(&r);
	copied = w.s.trace == NULL ? 0 : vfs_copy_traced(&w.s, (uint32_t)
	    vfs_find(&w, path), &from, size, buf);
	if (!fake_is(file, from, buf, copied))
		fail_msg("%s: a copy of %s", suffers_run.call, path);
	free(buf);
	return n < 0 ? (int)n : 0;
}

static int
read_parts(void)
{
	int rc = read_part("one1", 1, 10, 900);

	if (rc == 0)
		rc = read_part("one1", 1, 2000, 2500);
	if (rc == 0)
		rc = read_part("one1", 1, 900, LENGTH - 1000);
	if (rc == 0)
		rc = read_part("one5", 5, CHUNK - 10, 20);
	if (rc == 0)
		rc = read_part("two", 6, 0, 1000);
	return rc;
}

/* Whoever opens it is told of an error, once. */
static void
judge(int rc)
{
	if (rc != 0 && *w.said == '\0')
		fail_msg("%s: %d, but nothing is said", suffers_run.call, rc);
	got.warned = rc == 0 && *w.said != '\0';
}

static int
read_fakes(void)
{
	int rc;

	*w.said = '\0';
	w.o.remote.http = NULL;
	w.o.remote.cache = NULL;
	w.s = (struct vfs_stack){ .v = NULL };
	rc = vfs_open(&w.v, &w.o);
	w.s.v = w.v;
	for (int i = 0; rc == 0 && i < 2; i++) {
		rc = vfs_stack_add_ops(&w.s, i == 0 ? "a" : "b", &fake_ops,
		    &fakes[i]);
		judge(rc);
	}
	if (rc == 0) {
		rc = vfs_stack_build(&w.s, MERGE_MERGED);
		judge(rc);
	}
	if (rc == 0)
		rc = read_parts();
	vfs_stop(w.v);
	vfs_stack_close(&w.s);
	vfs_close(w.v);
	return rc;
}

/* A layer on a server, through the cache */

static int
read_served(void)
{
	const struct http_options o = { .timeout_s = 3, .connections = 2 };
	char reason[LAYER_WHY] = "";
	int rc = http_open(&w.o.remote.http, &o, reason);

	*w.said = '\0';
	w.s = (struct vfs_stack){ .v = NULL };
	w.v = NULL;
	if (rc != 0)
		return explained(rc, reason);
	w.o.remote.cache_kept = kept;
	w.o.remote.plain_http = true;
	w.o.remote.cache = NULL;
	rc = cache_store_open(&w.o.remote.cache, &(struct cache_options){
	    .dir = w.o.remote.cache_dir, .kept = kept, .limit = 1 << 24 });
	if (rc == 0)
		rc = vfs_open(&w.v, &w.o);
	if (rc == 0) {
		w.s.v = w.v;
		rc = vfs_image_add(&w.s, name);
		if (rc == 0)
			rc = vfs_stack_build(&w.s, MERGE_MERGED);
		judge(rc);
	}
	if (rc == 0)
		rc = read_part("file", 1, 5, CHUNK);
	if (rc == 0)
		rc = read_part("file", 1, 3 * CHUNK, SERVED_SIZE - 3 * CHUNK);
	served_end(&w);
	return rc;
}

/* A store of images */

static void
ask_back(void *arg, struct vfs_store_layer *l, bool all)
{
	(void)arg;
	(void)l;
	(void)all;
}

static void
closing(void *arg, struct vfs_stack *s)
{
	(void)arg;
	(void)s;
}

static int
visit(struct vfs_store *s)
{
	char text[2 * SERVED_NAME] = { 0 };
	uint8_t buf[1000];
	struct vfs_store_layer *l;
	int64_t i;
	bool opened;
	ssize_t n;
	int rc;

	/* without its scheme */
	base64_write(text, name + 9, strlen(name + 9));
	i = vfs_store_find_image(s, text);
	if (i < 0)
		return (int)i;
	rc = vfs_store_find_layer(s, (uint64_t)i, layer_digest, &l, &opened);
	/* a layer that cannot be opened is not there, after a report */
	if (rc == -ENOENT && strstr(w.said, strerror(ENOMEM)) != NULL)
		rc = -ENOMEM;
	if (rc != 0)
		return rc;
	take(l->info, l->info_length);
	take_number(l->size);
	rc = vfs_store_blob_open(l);
	/* it is said what was refused, and not what that led to */
	if (rc != 0 && strstr(suffers_run.call, "openat") != NULL)
		assert_int_equal(rc, -EMFILE);
	if (rc == 0) {
		n = vfs_store_blob_read(l, buf, sizeof(buf), 100);
		if (n >= 0 && (n != sizeof(buf) || memcmp(buf,
		    served_layer.made.b.data + 100, sizeof(buf)) != 0))
			fail_msg("%s: a blob", suffers_run.call);
		rc = n < 0 ? (int)n : 0;
		vfs_store_blob_close(l);
	}
	vfs_store_let_go(s, l);
	return rc;
}

static int
shop(void)
{
	const struct http_options o = { .timeout_s = 3, .connections = 2 };
	const struct vfs_store_options so = { .idle_s = 100,
		.ask_back = ask_back, .closing = closing };
	char reason[LAYER_WHY] = "";
	struct vfs_store *s = NULL;
	int rc = http_open(&w.o.remote.http, &o, reason);

	*w.said = '\0';
	w.v = NULL;
	if (rc != 0)
		return explained(rc, reason);
	w.o.remote.cache = NULL;
	w.o.remote.plain_http = true;
	rc = vfs_open(&w.v, &w.o);
	if (rc == 0)
		rc = vfs_store_open(&s, w.v, &so);
	if (rc == 0)
		rc = visit(s);
	assert_true(vfs_store_stop(s));
	vfs_stop(w.v);
	vfs_store_close(s);
	vfs_close(w.v);
	http_close(w.o.remote.http);
	return rc;
}

/* What is kept is not for the next run. */
static void
empty(void)
{
	char command[2 * SCRATCH_B + 32];

	snprintf(command, sizeof(command), "rm -rf %s/* %s/.space", w.dir,
	    w.dir);
	assert_int_equal(system(command), 0);
}

/* The tests */

static void
local(void **state)
{
	(void)state;
	suffers_run.first = 60;
	suffers_run.turns = 20;
	SUFFERS(read_fakes);
}

static void
remote(void **state)
{
	(void)state;
	snprintf(name, sizeof(name), "docker://127.0.0.1:%u/img:latest",
	    server_port(server));
	suffers_run.first = 40;
	suffers_run.turns = 20;
	SUFFERS(read_served);
	kept = true;
	suffers_run.first = suffers_run.turns = 15;
	suffers_after = empty;
	SUFFERS(read_served);
	suffers_after = NULL;
}

static void
store(void **state)
{
	(void)state;
	suffers_run.first = 30;
	w.o.remote.cache_kept = false;
	SUFFERS(shop);
	/* then the manifest is asked for by the digest that it had */
	w.o.remote.cache_kept = true;
	SUFFERS(shop);
	empty();
	/* each of these calls */
	w.o.remote.cache_kept = false;
	suffers_run.first = 1000;
	suffers_kinds = SUFFERS_KIND(MALLOC) | SUFFERS_KIND(OPENAT);
	SUFFERS(shop);
	empty();
}

/* Serves the manifest by its digest, too. */
static void
serve_by_digest(void)
{
	char path[SCRATCH_B + 40], text[2000], to[120], sum[80];
	FILE *f;
	size_t len;

	snprintf(path, sizeof(path), "%s/v2/img/manifests/latest", served);
	f = fopen(path, "r");
	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	snprintf(to, sizeof(to), "v2/img/manifests/%s", sum_of(text, len,
	    sum));
	serve_file(to, text, len);
}

static int
begin_all(void **state)
{
	assert_true(fault_plan(""));
	if (serve_begin(state) != 0)
		return 1;
	serve_by_digest();
	put_fake(&fakes[0], 1);
	put_fake(&fakes[1], 5);
	vfs_prepare(&w);
	return 0;
}

static int
end_all(void **state)
{
	served_finish(&w);
	fake_free(&fakes[0]);
	fake_free(&fakes[1]);
	return serve_end(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local),
		cmocka_unit_test(remote),
		cmocka_unit_test(store),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
