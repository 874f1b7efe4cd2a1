/*
 * vfs_remote.c - a layer or a repository on a server, read through the cache
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blobs named by their digest never change.  For other URLs, the validator and
 * the size are requested and become part of the cache key.
 *
 * A CVMFS repository consists of objects.  The name of an object is its hash,
 * so the object never changes and is cached by name.  The manifest, which
 * changes, is always requested.
 *
 * The size of a layer is cached as 8 bytes at an impossible offset.
 */
#include "vfs_private.h"

#include "lazy/vfs/cache.h"

#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/blobs_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { KEY = 8192, URL = 8192 };

#define BLOB "/blobs/sha256:"

struct remote {
	const struct vfs_remote *of;
	char *url;
	struct http_object *object;	/* NULL: a repository */
	struct blobs_file *side;	/* the index, or NULL */
	struct cache *cache;		/* or NULL */
	_Atomic bool failing;		/* the last request failed */
	pthread_mutex_t lock;		/* protects why */
	char why[LAYER_WHY];		/* for a repository's index */
};

void
vfs_note(const struct vfs_remote *remote, bool fetched)
{
	if (remote->health != NULL)
		atomic_store(fetched ? &remote->health->fetched_ns :
		    &remote->health->failed_ns, sys_now_ns());
}

/*
 * Notes the result of a request.  An index that cannot be read is reported by
 * whoever opens the layer, and may be missing although all others are there.
 */
static void
note_request(const struct vfs_remote *remote, int rc, enum http_phase phase)
{
	if (rc == 0 || phase != HTTP_INDEX)
		vfs_note(remote, rc == 0);
}

/* A layer */

/* Reads another object: a separate file, or a URL next to the layer's. */
static int
read_beside(struct remote *m, const struct layer_range *r,
    enum http_phase phase)
{
	struct layer_range own = *r;
	struct http_object *o;
	char url[URL];
	int rc, n;

	own.object = NULL;
	if (m->side != NULL) {
		const struct layer_blobs *b = blobs_file_blobs(m->side);

		return b->read(b->arg, &own, 1);
	}
	n = snprintf(url, sizeof(url), strcmp(r->object, "ztoc") == 0 ?
	    "%s.%s" : "%s/%s", m->url, r->object);
	if (n < 0 || (size_t)n >= sizeof(url))
		return -ENAMETOOLONG;
	rc = http_object_open(&o, m->of->http, url);
	if (rc != 0)
		return rc;
	rc = http_read(o, &own, 1, phase);
	http_object_close(o);
	return rc;
}

static void
remote_why(void *arg, char why[LAYER_WHY])
{
	struct remote *m = arg;

	if (m->object != NULL) {
		http_object_why(m->object, why);
		return;
	}
	pthread_mutex_lock(&m->lock);
	memcpy(why, m->why, sizeof(m->why));
	pthread_mutex_unlock(&m->lock);
}

/*
 * Fetches all ranges of the layer that are missing from the cache in one batch,
 * and caches them.
 */
static int
read_layer(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct remote *m = arg;
	const struct vfs_report *report = &m->of->report;
	struct layer_range *missing = sys_calloc(count + 1, sizeof(*missing));
	char why[LAYER_WHY];
	size_t n = 0;
	int rc = 0;

	if (missing == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (m->cache != NULL && cache_read(m->cache, r[i].object,
		    r[i].offset, r[i].length, r[i].buf) == 0)
			continue;
		if (r[i].object == NULL) {
			missing[n++] = r[i];
			continue;
		}
		rc = read_beside(m, &r[i], phase);
		if (rc != 0)
			goto out;
		if (m->cache != NULL)
			(void)cache_write(m->cache, r[i].object, r[i].offset,
			    r[i].length, r[i].buf);
	}
	if (n == 0)
		goto out;
	rc = http_read(m->object, missing, n, phase);
	note_request(m->of, rc, phase);
	/*
	 * Reports the first failure since the last success; programs see only
	 * EIO.  Whoever opens the layer reports why its index cannot be read.
	 */
	if (!atomic_exchange(&m->failing, rc != 0) && rc != 0 &&
	    phase != HTTP_INDEX) {
		remote_why(m, why);
		report->warn(report->arg, m->url, why);
	}
	for (size_t i = 0; rc == 0 && m->cache != NULL && i < n; i++)
		(void)cache_write(m->cache, NULL, missing[i].offset,
		    missing[i].length, missing[i].buf);
out:
	sys_free(missing);
	return rc;
}

static int
fetch_layer(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct remote *m = arg;
	int rc = http_read(m->object, r, count, phase);

	note_request(m->of, rc, phase);
	return rc;
}

static int
size_of_layer(void *arg, const char *object, uint64_t *size)
{
	struct remote *m = arg;
	int rc;

	if (object != NULL && m->side != NULL) {
		const struct layer_blobs *b = blobs_file_blobs(m->side);

		return b->size(b->arg, NULL, size);
	}
	if (object != NULL)
		return -ENOENT;
	if (m->cache != NULL && cache_read(m->cache, NULL, UINT64_MAX,
	    sizeof(*size), size) == 0)
		return 0;
	rc = http_size(m->object, size);
	if (rc == 0 && m->cache != NULL)
		(void)cache_write(m->cache, NULL, UINT64_MAX, sizeof(*size),
		    size);
	return rc;
}

/* A repository */

/* Only these objects, data/..., never change. */
static bool
is_named_by_hash(const struct layer_range *r)
{
	return strchr(r->object, '/') != NULL;
}

static int
read_objects(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct remote *m = arg;
	const struct vfs_report *report = &m->of->report;
	struct layer_range *missing = sys_calloc(count + 1, sizeof(*missing));
	uint64_t *lengths = sys_calloc(count + 1, sizeof(*lengths));
	char why[LAYER_WHY] = "";
	ssize_t length;
	size_t n = 0;
	int rc = -ENOMEM;

	if (missing == NULL || lengths == NULL)
		goto out;
	for (size_t i = 0; i < count; i++) {
		length = m->cache == NULL || !is_named_by_hash(&r[i]) ?
		    -ENOENT : cache_find(m->cache, r[i].object, 0,
		    r[i].length, r[i].buf);
		if (length < 0)
			missing[n++] = r[i];
		else
			memset((char *)r[i].buf + length, 0,
			    (size_t)r[i].length - (size_t)length);
	}
	rc = n == 0 ? 0 : http_read_whole(m->of->http, m->url, missing, n,
	    lengths, phase, why);
	if (n > 0)
		note_request(m->of, rc, phase);
	for (size_t i = 0; rc == 0 && m->cache != NULL && i < n; i++)
		if (is_named_by_hash(&missing[i]))
			(void)cache_write(m->cache, missing[i].object, 0,
			    lengths[i], missing[i].buf);
out:
	if (rc != 0 && phase == HTTP_INDEX) {
		pthread_mutex_lock(&m->lock);
		memcpy(m->why, why, sizeof(why));
		pthread_mutex_unlock(&m->lock);
	} else if (phase != HTTP_INDEX && !atomic_exchange(&m->failing,
	    rc != 0) && rc != 0) {
		report->warn(report->arg, m->url, *why != '\0' ? why :
		    strerror(-rc));
	}
	sys_free(missing);
	sys_free(lengths);
	return rc;
}

static int
size_of_object(void *arg, const char *object, uint64_t *size)
{
	(void)arg;
	(void)object;
	(void)size;
	return -ENOENT;
}

/* Both */

static void
remote_forget(void *arg, const struct layer_range *r)
{
	struct remote *m = arg;

	if (m->cache != NULL)
		cache_drop(m->cache, r->object, r->offset);
}

/* Empties a damaged cache, so that later processes do not use it. */
static bool
remote_forget_all(void *arg)
{
	struct remote *m = arg;

	if (m->cache == NULL)
		return false;
	if (cache_clear(m->cache) != 0) {
		cache_close(m->cache);
		m->cache = NULL;
	}
	return true;
}

static void
remote_close(void *arg)
{
	struct remote *m = arg;

	cache_close(m->cache);
	if (m->side != NULL)
		blobs_file_close(m->side);
	http_object_close(m->object);
	pthread_mutex_destroy(&m->lock);
	sys_free(m->url);
	sys_free(m);
}

int
vfs_remote_open(struct vfs_source *s, const struct vfs_remote *remote,
    const char *side, bool repository, char why[LAYER_WHY])
{
	static const struct vfs_source_ops layer = { .read = read_layer,
		.size = size_of_layer, .fetch = fetch_layer,
		.forget = remote_forget, .forget_all = remote_forget_all,
		.why = remote_why, .close = remote_close };
	static const struct vfs_source_ops objects = { .read = read_objects,
		.size = size_of_object, .forget = remote_forget,
		.forget_all = remote_forget_all, .why = remote_why,
		.close = remote_close };
	struct remote *m = sys_calloc(1, sizeof(*m));
	char key[KEY], validator[160];
	const char *digest;
	uint64_t size = 0;
	int rc = 0;

	if (m == NULL)
		return -ENOMEM;
	s->ops = repository ? &objects : &layer;
	s->arg = m;
	m->of = remote;
	pthread_mutex_init(&m->lock, NULL);
	m->url = strcopy(s->name);
	if (m->url == NULL)
		return -ENOMEM;
	if (repository) {
		for (size_t n = strlen(m->url); n > 0 &&
		    m->url[n - 1] == '/'; )
			m->url[--n] = '\0';
		snprintf(key, sizeof(key), "cas %.8000s", m->url);
		goto cache;
	}
	rc = http_object_open(&m->object, remote->http, m->url);
	if (rc != 0) {
		snprintf(why, LAYER_WHY, "%s", rc == -EINVAL ?
		    "not an http or https URL" : strerror(-rc));
		return rc;
	}
	if (side != NULL)
		rc = blobs_file_open(&m->side, side, NULL);
	/*
	 * Another server may return different data for the same digest, which
	 * cannot be verified until all data has arrived.  That does no harm if
	 * the index is known, and thereby each of its units.
	 */
	digest = strstr(m->url, BLOB);
	if (digest != NULL) {
		snprintf(key, sizeof(key), "%.8000s", s->vouched ? digest +
		    strlen("/blobs/") : m->url);
	} else if (rc == 0) {
		rc = http_size(m->object, &size);
		http_validator(m->object, validator, sizeof(validator));
		snprintf(key, sizeof(key), "%.7900s %s %" PRIu64, m->url,
		    validator, size);
	}
	if (rc != 0) {
		http_object_why(m->object, why);
		return rc;
	}
cache:
	if (remote->cache == NULL)
		return 0;
	rc = cache_open(&m->cache, remote->cache, key);
	if (rc != 0)
		snprintf(why, LAYER_WHY, "the cache: %s", rc == -EINVAL ?
		    "the name of this layer's directory is not that of a "
		    "directory" : strerror(-rc));
	return rc;
}
