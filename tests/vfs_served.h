/*
 * vfs_served.h - a registry with one image, for tests of lazy/vfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_VFS_SERVED_H
#define COLDPRESS_TESTS_VFS_SERVED_H

#include "vfs_made.h"

#include "base/hex.h"
#include "http_server.h"
#include "lazy/vfs/cache.h"
#include "scratch.h"

#include <sys/stat.h>

enum { SERVED_NAME = 200, SERVED_SIZE = 10 * CHUNK };

static char served[SCRATCH_B];		/* the directory served */
static struct server *server;
static struct fake served_layer;	/* with the file "file", number 1 */
static char layer_digest[80], index_digest[80];
static char config_digest[80];		/* of the image served last */

static inline void
serve_file(const char *name, const void *data, size_t len)
{
	char path[2 * SCRATCH_B + 80];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", served, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void
serve_blob(const void *data, size_t len)
{
	char name[120] = "v2/img/blobs/", sum[80];

	strcat(name, sum_of(data, len, sum));
	serve_file(name, data, len);
}

/*
 * Serves the image's documents under a tag; the digest of the layer's index is
 * in an annotation, if wanted, and so is the diff_id in the config.
 */
static inline void
serve_image(const char *tag, bool vouched, bool described)
{
	char config[300], manifest[1000], name[80];

	snprintf(config, sizeof(config), "{\"rootfs\":{\"diff_ids\":[%s%s%s]}}",
	    described ? "\"" : "", described ? index_digest : "",
	    described ? "\"" : "");
	serve_blob(config, strlen(config));
	snprintf(manifest, sizeof(manifest), "{\"schemaVersion\":2,"
	    "\"config\":{\"mediaType\":"
	    "\"application/vnd.oci.image.config.v1+json\",\"digest\":\"%s\","
	    "\"size\":%zu},\"layers\":[{\"mediaType\":"
	    "\"application/vnd.oci.image.layer.v1.tar+zstd\","
	    "\"digest\":\"%s\",\"size\":%zu%s%s%s}]}",
	    sum_of(config, strlen(config), config_digest), strlen(config),
	    layer_digest,
	    served_layer.made.b.len, vouched ? ",\"annotations\":{"
	    "\"io.github.containers.zstd-chunked.manifest-checksum\":\"" : "",
	    vouched ? index_digest : "", vouched ? "\"}" : "");
	snprintf(name, sizeof(name), "v2/img/manifests/%s", tag);
	serve_file(name, manifest, strlen(manifest));
}

static inline int
serve_begin(void **state)
{
	static const char *const dirs[] = { "v2", "v2/img", "v2/img/blobs",
		"v2/img/manifests" };
	struct made *m = &served_layer.made;
	char path[SCRATCH_B + 40];

	(void)state;
	if (scratch_make(served) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", served, dirs[i]);
		if (mkdir(path, 0700) != 0)
			return -1;
	}
	fake_file(&served_layer, "file", 1, SERVED_SIZE);
	fake_end(&served_layer);
	sum_of(m->b.data, m->b.len, layer_digest);
	sum_of(m->b.data + m->index, m->index_len, index_digest);
	serve_blob(m->b.data, m->b.len);
	serve_file("blob", m->b.data, m->b.len);
	serve_image("latest", true, true);
	serve_image("unvouched", false, true);
	serve_image("undescribed", true, false);
	server = server_start(served);
	return 0;
}

static inline int
serve_end(void **state)
{
	(void)state;
	server_stop(server);
	assert_int_equal(scratch_remove(served), 0);
	fake_free(&served_layer);
	return 0;
}

/* Opens a filesystem that reads from the server. */
static inline void
served_begin(struct fake_vfs *w, bool kept)
{
	const struct http_options o = { .timeout_s = 3, .connections = 4 };
	char reason[LAYER_WHY];

	assert_int_equal(http_open(&w->o.remote.http, &o, reason), 0);
	w->o.remote.cache_kept = kept;
	assert_int_equal(cache_store_open(&w->o.remote.cache,
	    &(struct cache_options){ .dir = w->o.remote.cache_dir,
	    .kept = kept, .limit = 1 << 30 }), 0);
	assert_int_equal(vfs_open(&w->v, &w->o), 0);
	w->s.v = w->v;
}

/* Closes it; its cache remains. */
static inline void
served_end(struct fake_vfs *w)
{
	vfs_stop(w->v);
	vfs_stack_close(&w->s);
	vfs_close(w->v);
	cache_store_close(w->o.remote.cache);
	http_close(w->o.remote.http);
}

static inline void
served_finish(struct fake_vfs *w)
{
	close(w->o.remote.cache_dir);
	assert_int_equal(scratch_remove(w->dir), 0);
}

#endif
