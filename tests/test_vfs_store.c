/*
 * test_vfs_store.c - an additional layer store: looking up, using, unloading
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_served.h"

#include "lazy/vfs/vfs_store.h"

#include "base/sys.h"

enum { TIME_MS = 20000, UNUSED_MS = 1600 };

/* A store, and what it asked for */
struct shop {
	struct fake_vfs w;
	struct vfs_store *s;
	_Atomic unsigned asked, asked_all, closed;
	_Atomic bool gives_back;
	struct vfs_store_layer *l;
};

static void
ask_back(void *arg, struct vfs_store_layer *l, bool all)
{
	struct shop *shop = arg;

	shop->asked++;
	shop->asked_all += all;
	if (all && shop->gives_back)
		vfs_store_forget(shop->s, l->number, MERGE_ROOT, 2);
}

static void
closing(void *arg, struct vfs_stack *s)
{
	struct shop *shop = arg;

	assert_non_null(s->tree);
	shop->closed++;
}

static void
open_shop(struct shop *shop, bool kept, char *const *registries)
{
	const struct vfs_store_options o = { .registries = registries,
		.registry_count = registries != NULL, .idle_s = 1,
		.ask_back = ask_back, .closing = closing, .arg = shop };

	served_begin(&shop->w, kept);
	assert_int_equal(vfs_store_open(&shop->s, shop->w.v, &o), 0);
}

static void
close_shop(struct shop *shop)
{
	assert_true(vfs_store_stop(shop->s));
	vfs_stop(shop->w.v);
	vfs_store_close(shop->s);
	vfs_close(shop->w.v);
	cache_store_close(shop->w.o.remote.cache);
	http_close(shop->w.o.remote.http);
}

static const char *
encode(const char *name, char text[2 * SERVED_NAME])
{
	base64_write(text, name, strlen(name));
	return text;
}

/* Looks up the image with a tag. */
static int64_t
image(struct shop *shop, const char *tag)
{
	char name[SERVED_NAME], text[2 * SERVED_NAME];

	snprintf(name, sizeof(name), "127.0.0.1:%u/img:%s",
	    server_port(server), tag);
	return vfs_store_find_image(shop->s, encode(name, text));
}

/* Opens the layer and lets go of it. */
static void
visit(struct shop *shop, bool opens)
{
	int64_t i = image(shop, "latest");
	bool opened;

	assert_true(i >= 0);
	assert_int_equal(vfs_store_find_layer(shop->s, (uint64_t)i,
	    layer_digest, &shop->l, &opened), 0);
	assert_int_equal(opened, opens);
	vfs_store_let_go(shop->s, shop->l);
}

static bool
reaches(_Atomic unsigned *count, unsigned n)
{
	for (int i = 0; i < TIME_MS && *count < n; i++)
		sys_sleep_ns(1000000);
	return *count >= n;
}

static void
images(void **state)
{
	static char one[] = "one.example", text[2 * SERVED_NAME];
	static char *const registries[] = { one };
	struct shop shop = { .s = NULL };

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	assert_int_equal(image(&shop, "latest"), 0);
	assert_int_equal(image(&shop, "other"), 1);
	assert_int_equal(image(&shop, "latest"), 0);
	assert_string_equal(vfs_store_image(shop.s, 1)->of.reference, "other");
	assert_null(vfs_store_image(shop.s, 2));
	assert_int_equal(vfs_store_find_image(shop.s, "*"), -ENOENT);
	assert_int_equal(vfs_store_find_image(shop.s, ""), -ENOENT);
	assert_int_equal(vfs_store_find_image(shop.s, encode("name", text)),
	    -ENOENT);
	base64_write(text, "h/n\0m", 5);
	assert_int_equal(vfs_store_find_image(shop.s, text), -ENOENT);
	close_shop(&shop);
	open_shop(&shop, false, registries);
	assert_int_equal(image(&shop, "latest"), -ENOENT);
	assert_int_equal(vfs_store_find_image(shop.s, encode("One.Example/n",
	    text)), 0);
	assert_int_equal(vfs_store_find_image(shop.s, encode("two.example/n",
	    text)), -ENOENT);
	close_shop(&shop);
	served_finish(&shop.w);
}

static void
layers(void **state)
{
	struct shop shop = { .s = NULL };
	struct vfs_store_layer *l;
	struct vfs_counts c;
	struct vfs_read r;
	char want[VFS_STORE_INFO], other[sizeof(index_digest)];
	uint64_t before;
	bool opened;

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	assert_int_equal(image(&shop, "latest"), 0);
	assert_null(vfs_store_hold(shop.s, 1));
	assert_int_equal(vfs_store_find_layer(shop.s, 0, layer_digest, &l,
	    &opened), 0);
	assert_true(opened);
	assert_int_equal(l->number, 1);
	assert_int_equal(l->size, served_layer.made.b.len);
	snprintf(want, sizeof(want), "{\"compressed-diff-digest\":\"%s\","
	    "\"compressed-size\":%zu,\"diff-digest\":\"%s\","
	    "\"diff-size\":%d,\"compression\":4}\n", layer_digest,
	    served_layer.made.b.len, index_digest,
	    3 * 512 + (SERVED_SIZE + 511) / 512 * 512);
	assert_int_equal(l->info_length, strlen(want));
	assert_memory_equal(l->info, want, strlen(want));
	before = server_requests(server);
	visit(&shop, false);
	assert_ptr_equal(shop.l, l);
	assert_int_equal(server_requests(server), before);
	assert_ptr_equal(vfs_store_hold(shop.s, 1), l);
	vfs_store_let_go(shop.s, l);
	assert_null(vfs_store_hold(shop.s, 0));
	assert_null(vfs_store_hold(shop.s, 2));
	r = (struct vfs_read){ .stack = &l->stack, .offset = CHUNK,
		.inode = (uint32_t)merge_lookup(l->stack.tree, MERGE_ROOT,
		"file") };
	assert_int_equal(vfs_read(&r, 500), 500);
	assert_true(fake_is(1, CHUNK, r.data, 500));
	vfs_read_end(&r);
	vfs_counted(shop.w.v, &c);
	assert_int_equal(c.layers, 1);
	vfs_store_let_go(shop.s, l);

	/*
	 * by the digest of its table of contents; what is known of the image is
	 * not asked for again
	 */
	serve_file("v2/img/manifests/latest", "", 0);
	assert_int_equal(vfs_store_find_layer(shop.s, 0, index_digest, &l,
	    &opened), 0);
	assert_true(opened);
	serve_image("latest", true, true);
	serve_image("undescribed", true, false);
	assert_int_equal(l->number, 2);
	assert_int_equal(l->size, served_layer.made.b.len);
	assert_string_equal(l->digest, layer_digest);
	snprintf(want, sizeof(want), "{\"toc-digest\":\"%s\","
	    "\"compressed-size\":%zu,"
	    "\"flags\":{\"expected-layer-diffid\":\"%s\"},"
	    "\"diff-size\":%d,\"compression\":4}\n", index_digest,
	    served_layer.made.b.len, index_digest,
	    3 * 512 + (SERVED_SIZE + 511) / 512 * 512);
	assert_int_equal(l->info_length, strlen(want));
	assert_memory_equal(l->info, want, strlen(want));
	vfs_store_use(shop.s, l);
	vfs_store_let_go(shop.s, l);
	vfs_store_release(shop.s, l->image, index_digest);
	assert_int_equal(l->uses, 0);

	/* no such layer */
	memcpy(other, index_digest, sizeof(other));
	other[10] = other[10] == '0' ? '1' : '0';
	assert_int_equal(vfs_store_find_layer(shop.s, 0, other, &l, &opened),
	    -ENOENT);
	assert_int_equal(vfs_store_find_layer(shop.s, 0, "use", &l, &opened),
	    -ENOENT);
	assert_int_equal(vfs_store_find_layer(shop.s, 7, layer_digest, &l,
	    &opened), -ENOENT);
	assert_string_equal(shop.w.said, "");
	close_shop(&shop);
	served_finish(&shop.w);
}

/* A layer that nobody has vouched for, or described, is refused. */
static void
refused(void **state)
{
	static const char *const tags[] = { "unvouched", "undescribed" };
	static const char *const reasons[] = { "the manifest does not contain "
		"the digest of the layer's index",
		"the image's config has no valid diff_id for the layer" };
	struct shop shop = { .s = NULL };
	struct vfs_store_layer *l;
	struct vfs_counts c;
	char want[600];
	bool opened;

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(image(&shop, tags[i]), i);
		assert_int_equal(vfs_store_find_layer(shop.s, (uint64_t)i,
		    layer_digest, &l, &opened), -ENOENT);
		snprintf(want, sizeof(want), "http://127.0.0.1:%u/v2/img/blobs/"
		    "%s: %s\n", server_port(server), layer_digest, reasons[i]);
		assert_string_equal(shop.w.said, want);
		*shop.w.said = '\0';
		assert_null(vfs_store_hold(shop.s, (uint64_t)i + 1));
	}
	vfs_counted(shop.w.v, &c);
	assert_int_equal(c.layers, 0);
	close_shop(&shop);
	served_finish(&shop.w);
}

/* A config with another digest is not believed, and asked for again. */
static void
tampered(void **state)
{
	struct shop shop = { .s = NULL };
	struct vfs_store_layer *l;
	char name[120], text[200];
	bool opened;

	(void)state;
	/* it says what was missing */
	snprintf(name, sizeof(name), "v2/img/blobs/%s", config_digest);
	snprintf(text, sizeof(text), "{\"rootfs\":{\"diff_ids\":[\"%s\"]}}",
	    index_digest);
	serve_file(name, text, strlen(text));
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	assert_int_equal(image(&shop, "undescribed"), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(vfs_store_find_layer(shop.s, 0, layer_digest,
		    &l, &opened), -ENOENT);
		assert_non_null(strstr(shop.w.said, config_digest));
		*shop.w.said = '\0';
	}
	close_shop(&shop);
	served_finish(&shop.w);
	serve_image("undescribed", true, false);
}

/* A layer without users or references is closed, and can be opened again. */
static void
idle(void **state)
{
	struct shop shop = { .s = NULL };
	struct vfs_counts c;

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	visit(&shop, true);
	assert_true(reaches(&shop.closed, 1));
	assert_int_equal(shop.asked, 0);
	visit(&shop, true);
	vfs_counted(shop.w.v, &c);
	assert_int_equal(c.unloaded, 1);
	assert_int_equal(c.layers, 1);
	assert_int_equal(c.files, 2);
	/* unless it is used */
	assert_ptr_equal(vfs_store_hold(shop.s, 1), shop.l);
	vfs_store_use(shop.s, shop.l);
	vfs_store_let_go(shop.s, shop.l);
	sys_sleep_ns(UNUSED_MS * UINT64_C(1000000));
	assert_int_equal(shop.closed, 1);
	visit(&shop, false);
	vfs_store_release(shop.s, shop.l->image, layer_digest);
	assert_true(reaches(&shop.closed, 2));
	/* or held */
	visit(&shop, true);
	assert_ptr_equal(vfs_store_hold(shop.s, 1), shop.l);
	sys_sleep_ns(UNUSED_MS * UINT64_C(1000000));
	assert_int_equal(shop.closed, 2);
	vfs_store_let_go(shop.s, shop.l);
	assert_true(reaches(&shop.closed, 3));
	close_shop(&shop);
	served_finish(&shop.w);
}

/* References are asked back: first those to the top, then all. */
static void
referenced(void **state)
{
	struct shop shop = { .s = NULL };

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	visit(&shop, true);
	assert_ptr_equal(vfs_store_hold(shop.s, 1), shop.l);
	atomic_fetch_add(&shop.l->stack.references, 1);
	vfs_stack_reference(&shop.l->stack, MERGE_ROOT, 2);
	vfs_store_let_go(shop.s, shop.l);
	assert_true(reaches(&shop.asked, 1));
	assert_int_equal(shop.asked_all, 0);
	assert_true(reaches(&shop.asked_all, 1));
	assert_int_equal(shop.closed, 0);
	shop.gives_back = true;
	assert_true(reaches(&shop.asked_all, 2));
	assert_int_equal(shop.closed, 0);
	/* the last one, to a name outside the tree */
	vfs_store_forget(shop.s, 1, MERGE_NONE, 1);
	assert_true(reaches(&shop.closed, 1));
	vfs_store_forget(shop.s, 1, MERGE_NONE, 1);
	close_shop(&shop);
	served_finish(&shop.w);
}

/* The whole layer, verified */
static void
blobs(void **state)
{
	const struct strbuf *b = &served_layer.made.b;
	struct shop shop = { .s = NULL };
	char *buf = malloc(b->len + 10);
	struct vfs_store_layer *l;

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	visit(&shop, true);
	l = vfs_store_hold(shop.s, 1);
	server_set(server, SERVER_FLIPS, 1);
	assert_int_equal(vfs_store_blob_open(l), -EIO);
	assert_non_null(strstr(shop.w.said, ": the digest does not match\n"));
	server_set(server, SERVER_GOOD, 1);
	assert_int_equal(vfs_store_blob_open(l), 0);
	assert_int_equal(vfs_store_blob_open(l), 0);
	assert_int_equal(vfs_store_blob_read(l, buf, b->len + 10, 0), b->len);
	assert_memory_equal(buf, b->data, b->len);
	vfs_store_blob_close(l);
	assert_int_equal(vfs_store_blob_read(l, buf, 100, 50), 100);
	assert_memory_equal(buf, b->data + 50, 100);
	vfs_store_blob_close(l);
	assert_int_equal(l->blob, -1);
	vfs_store_let_go(shop.s, l);
	close_shop(&shop);
	served_finish(&shop.w);
	free(buf);
}

/* A later process needs no server for what is in the cache. */
static void
remembered(void **state)
{
	struct shop shop = { .s = NULL };
	uint64_t before;

	(void)state;
	vfs_prepare(&shop.w);
	open_shop(&shop, true, NULL);
	visit(&shop, true);
	close_shop(&shop);
	before = server_requests(server);
	server_set(server, SERVER_404, 1);
	open_shop(&shop, true, NULL);
	visit(&shop, true);
	close_shop(&shop);
	assert_int_equal(server_requests(server), before);
	server_set(server, SERVER_GOOD, 1);
	assert_string_equal(shop.w.said, "");
	served_finish(&shop.w);
}

/* A manifest that was damaged on its way is fetched again. */
static void
damaged(void **state)
{
	struct shop shop = { .s = NULL };
	char *last = index_digest + strlen(index_digest) - 1, was = *last;
	struct vfs_store_layer *l;
	uint64_t before;
	bool opened;

	(void)state;
	*last = was == '0' ? '1' : '0';
	serve_image("damaged", true, true);
	*last = was;
	vfs_prepare(&shop.w);
	open_shop(&shop, false, NULL);
	assert_int_equal(image(&shop, "damaged"), 0);
	assert_int_equal(vfs_store_find_layer(shop.s, 0, layer_digest, &l,
	    &opened), -ENOENT);
	serve_image("damaged", true, true);
	assert_int_equal(vfs_store_find_layer(shop.s, 0, layer_digest, &l,
	    &opened), 0);
	vfs_store_let_go(shop.s, l);
	before = server_requests(server);
	assert_int_equal(vfs_store_find_layer(shop.s, 0, layer_digest, &l,
	    &opened), 0);
	vfs_store_let_go(shop.s, l);
	assert_int_equal(server_requests(server), before);
	close_shop(&shop);
	served_finish(&shop.w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images),
		cmocka_unit_test(layers),
		cmocka_unit_test(refused),
		cmocka_unit_test(tampered),
		cmocka_unit_test(idle),
		cmocka_unit_test(referenced),
		cmocka_unit_test(blobs),
		cmocka_unit_test(remembered),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, serve_begin, serve_end);
}
