/*
 * layermount_source.c - a layer, and the source of its data
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The index is also read through the cache, so that a restart does not need the
 * server.  Blobs named by their digest never change.  For other URLs, the
 * validator and the size are requested and become part of the cache key.
 */
#include "layermount_expect.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading */

/*
 * Reads another object of the layer: a separate file, or a URL next to the
 * layer's.
 */
static int
read_beside(struct source *s, const struct layer_range *r,
    enum http_phase phase)
{
	struct layer_range own = *r;
	struct http_object *o;
	char url[8192];
	int rc, n;

	own.object = NULL;
	if (s->side != NULL) {
		const struct layer_blobs *b = blobs_file_blobs(s->side);

		return b->read(b->arg, &own, 1);
	}
	n = snprintf(url, sizeof(url), strcmp(r->object, "ztoc") == 0 ?
	    "%s.%s" : "%s/%s", s->name, r->object);
	if (n < 0 || (size_t)n >= sizeof(url))
		return -ENAMETOOLONG;
	rc = http_object_open(&o, s->m->http, url);
	if (rc == 0) {
		rc = http_read(o, &own, 1, phase);
		http_object_close(o);
	}
	return rc;
}

/*
 * Reports the first failure since the last success; programs see only EIO.
 * source_add() reports why an index cannot be read.
 */
static void
report(struct source *s, int rc, enum http_phase phase)
{
	char why[LAYER_WHY];

	if (atomic_exchange(&s->failing, rc != 0) || rc == 0 ||
	    phase == HTTP_INDEX)
		return;
	http_object_why(s->object, why);
	layermount_warn(s->m, s->name, why);
}

static int
read_remote(struct source *s, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct layer_range *own = sys_malloc(count * sizeof(*own));
	size_t n = 0;
	int rc = own == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (r[i].object != NULL)
			rc = read_beside(s, &r[i], phase);
		else
			own[n++] = r[i];
	if (rc == 0 && n > 0) {
		rc = http_read(s->object, own, n, phase);
		report(s, rc, phase);
	}
	sys_free(own);
	return rc;
}

/* Fetches all ranges missing from the cache in one batch, and caches them. */
static int
read_cached(struct source *s, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct layer_range *missing = sys_calloc(count, sizeof(*missing));
	size_t n = 0;
	int rc;

	if (missing == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (cache_read(s->cache, r[i].object, r[i].offset,
		    r[i].length, r[i].buf) != 0)
			missing[n++] = r[i];
	rc = n == 0 ? 0 : read_remote(s, missing, n, phase);
	for (size_t i = 0; rc == 0 && i < n; i++)
		(void)cache_write(s->cache, missing[i].object,
		    missing[i].offset, missing[i].length, missing[i].buf);
	sys_free(missing);
	return rc;
}

int
source_read(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct source *s = arg;
	const struct layer_blobs *b;

	if (count == 0)
		return 0;
	if (s->repository)
		return repository_read(s, r, count, phase);
	if (s->object == NULL) {
		b = blobs_file_blobs(s->file);
		return b->read(b->arg, r, count);
	}
	return s->cache == NULL ? read_remote(s, r, count, phase) :
	    read_cached(s, r, count, phase);
}

void
source_forget(void *arg, const struct layer_range *r)
{
	struct source *s = arg;

	if (s->cache != NULL)
		cache_drop(s->cache, r->object, r->offset);
}

/* Loading the index */

static int
read_index(void *arg, const struct layer_range *r, size_t count)
{
	return source_read(arg, r, count, HTTP_INDEX);
}

/*
 * Determines a size, which is cached as a range of 8 bytes at an impossible
 * offset.
 */
static int
size_of(void *arg, const char *object, uint64_t *size)
{
	struct source *s = arg;
	const struct layer_blobs *b;
	int rc;

	if (s->repository)
		return -ENOENT;
	if (s->object == NULL || (object != NULL && s->side != NULL)) {
		b = blobs_file_blobs(s->object == NULL ? s->file : s->side);
		return b->size(b->arg, s->object == NULL ? object : NULL,
		    size);
	}
	if (object != NULL)
		return -ENOENT;
	if (s->cache != NULL && cache_read(s->cache, NULL, UINT64_MAX,
	    sizeof(*size), size) == 0)
		return 0;
	rc = http_size(s->object, size);
	if (rc == 0 && s->cache != NULL)
		(void)cache_write(s->cache, NULL, UINT64_MAX, sizeof(*size),
		    size);
	return rc;
}

/* Opening */

/*
 * Writes the cache key for the layer's data.  It contains the server's name,
 * because another server may return different data for the same digest, which
 * cannot be verified until all data has arrived.
 */
static int
key_of(struct source *s, char key[8192])
{
	char validator[160];
	uint64_t size;
	int rc;

	if (strstr(s->name, "/blobs/sha256:") != NULL) {
		snprintf(key, 8192, "%.8000s", s->name);
		return 0;
	}
	rc = http_size(s->object, &size);
	http_validator(s->object, validator, sizeof(validator));
	snprintf(key, 8192, "%.7900s %s %" PRIu64, s->name, validator, size);
	return rc;
}

int
source_open_cache(struct source *s, const char *key, char why[LAYER_WHY])
{
	int rc = cache_open(&s->cache, s->m->cache_dir, s->m->o.cache == NULL ?
	    NULL : key, s->m->o.cache_bytes);

	if (rc != 0)
		snprintf(why, LAYER_WHY, "the cache: %s", rc == -EINVAL ?
		    "the name of this layer's file is not that of a regular "
		    "file" : strerror(-rc));
	return rc;
}

static int
open_remote(struct source *s, char why[LAYER_WHY])
{
	char key[8192];
	int rc = http_object_open(&s->object, s->m->http, s->name);

	if (rc != 0) {
		snprintf(why, LAYER_WHY, "%s", rc == -EINVAL ?
		    "not an http or https URL" : strerror(-rc));
		return rc;
	}
	if (s->m->o.side != NULL)
		rc = blobs_file_open(&s->side, s->m->o.side, NULL);
	if (rc == 0)
		rc = key_of(s, key);
	if (rc == 0)
		return source_open_cache(s, key, why);
	http_object_why(s->object, why);
	return rc;
}

static int
open_local(struct source *s, char why[LAYER_WHY])
{
	int rc = blobs_file_open(&s->file, s->name, s->m->o.side);

	if (rc != 0)
		snprintf(why, LAYER_WHY, "%s", rc == -EINVAL ?
		    "not a regular file or directory" : strerror(-rc));
	return rc;
}

/* Returns whether the error was caused by wrong data in the layer. */
static bool
is_wrong(int rc)
{
	return rc == -EBADMSG || rc == -EINVAL || rc == -EFBIG ||
	    rc == -ENODATA;
}

/* Empties a damaged cache, so that later processes do not use it. */
static void
empty_cache(struct source *s)
{
	if (cache_clear(s->cache) == 0)
		return;
	cache_close(s->cache);
	s->cache = NULL;
}

static int
open_layer(struct source *s, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	int rc = layer_open(&s->layer, &s->blobs, e, why);

	if (is_wrong(rc) && s->cache != NULL) {
		empty_cache(s);
		rc = layer_open(&s->layer, &s->blobs, e, why);
	}
	/* the next process must not use these bytes either */
	if (is_wrong(rc) && s->cache != NULL)
		empty_cache(s);
	return rc;
}

/* A wrong compact index does no harm if the digest of the full one is known. */
static int
open_either(struct source *s, struct layer_expect *e, char why[LAYER_WHY])
{
	char text[LAYER_WHY + 64];
	int rc = open_layer(s, e, why);

	if (!is_wrong(rc) || e->compact_digest == NULL ||
	    e->index_digest == NULL)
		return rc;
	snprintf(text, sizeof(text), "%s; using the other index", why);
	layermount_warn(s->m, s->name, text);
	e->compact_digest = NULL;
	return open_layer(s, e, why);
}

static int
load(struct source *s, const struct oci_document *manifest, size_t which,
    char why[LAYER_WHY])
{
	struct source_digests d;
	struct layer_expect e;
	int rc = source_expect(s->m, manifest, which, &e, &d);

	if (rc != 0) {
		snprintf(why, LAYER_WHY, "the digest of the index is not "
		    "sha256: followed by 64 hexadecimal digits");
		return rc;
	}
	s->vouched = e.index_digest != NULL || e.compact_digest != NULL;
	s->blobs = (struct layer_blobs){ .read = read_index, .size = size_of,
		.arg = s };
	rc = open_either(s, &e, why);
	if (rc != 0 && s->object != NULL && rc != -EBADMSG && rc != -EINVAL)
		http_object_why(s->object, why);
	else if (rc != 0 && *s->why != '\0' && rc != -EBADMSG)
		memcpy(why, s->why, sizeof(s->why));
	return rc;
}

static bool
is_url(const char *name)
{
	return strncmp(name, "http://", 7) == 0 ||
	    strncmp(name, "https://", 8) == 0;
}

/* Adds an empty source to a stack, or returns NULL. */
static struct source *
new_source(struct stack *to)
{
	void *all = to->sources;
	struct source *s = sys_calloc(1, sizeof(*s));
	int rc = array_grow(&all, to->source_count, &to->source_cap,
	    sizeof(*to->sources));

	to->sources = all;
	if (rc != 0 || s == NULL) {
		sys_free(s);
		return NULL;
	}
	s->m = to->m;
	to->sources[to->source_count++] = s;
	return s;
}

int
source_add(struct stack *to, const char *name,
    const struct oci_document *manifest, size_t which)
{
	char why[LAYER_WHY] = "";
	struct source *s = new_source(to);
	int rc = -ENOMEM;

	if (s != NULL)
		s->name = strdup(name);
	if (s != NULL && s->name != NULL) {
		s->repository = is_url(name) && to->m->o.kind != NULL &&
		    strcmp(to->m->o.kind, "cas") == 0;
		rc = s->repository ? repository_open(s, why) :
		    is_url(name) ? open_remote(s, why) : open_local(s, why);
	}
	if (rc == 0)
		rc = load(s, manifest, which, why);
	if (rc != 0)
		return layermount_refuse(to->m, name, rc, *why == '\0' ?
		    strerror(-rc) : why);
	s->units = (struct units_source){ .layer = s->layer,
		.read = source_read, .forget = source_forget, .arg = s };
	return 0;
}

void
sources_close(struct stack *from)
{
	for (size_t i = 0; i < from->source_count; i++) {
		struct source *s = from->sources[i];

		if (from->m->units != NULL)
			units_forget(from->m->units, &s->units);
		layer_close(s->layer);
		cache_close(s->cache);
		blobs_file_close(s->file);
		blobs_file_close(s->side);
		http_object_close(s->object);
		free(s->name);
		sys_free(s);
	}
	sys_free(from->sources);
	from->sources = NULL;
	from->source_count = 0;
}
