/*
 * layermount_repository.c - the objects of a CVMFS repository on a server
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The name of an object is its hash, so the object never changes and is cached
 * by name.  Its length is cached as 8 bytes at an impossible offset.  The
 * manifest, which changes, is always requested.
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reads an object from the cache.  Returns false if it is not there. */
static bool
is_cached(struct source *s, const struct layer_range *r)
{
	uint64_t length;

	if (s->cache == NULL || cache_read(s->cache, r->object, UINT64_MAX,
	    sizeof(length), &length) != 0 || length > r->length ||
	    cache_read(s->cache, r->object, 0, length, r->buf) != 0)
		return false;
	memset((char *)r->buf + length, 0, (size_t)(r->length - length));
	return true;
}

static void
store(struct source *s, const struct layer_range *r, uint64_t length)
{
	/* only objects named by hash, data/..., never change */
	if (s->cache == NULL || strchr(r->object, '/') == NULL)
		return;
	if (cache_write(s->cache, r->object, 0, length, r->buf) == 0)
		(void)cache_write(s->cache, r->object, UINT64_MAX,
		    sizeof(length), &length);
}

int
repository_read(struct source *s, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct layer_range *missing = sys_calloc(count, sizeof(*missing));
	uint64_t *lengths = sys_calloc(count, sizeof(*lengths));
	char why[LAYER_WHY] = "";
	size_t n = 0;
	int rc = missing == NULL || lengths == NULL ? -ENOMEM : 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		if (!is_cached(s, &r[i]))
			missing[n++] = r[i];
	if (rc == 0 && n > 0)
		rc = http_read_whole(s->m->http, s->name, missing, n, lengths,
		    phase, why);
	for (size_t i = 0; rc == 0 && i < n; i++)
		store(s, &missing[i], lengths[i]);
	sys_free(missing);
	sys_free(lengths);
	if (rc != 0 && s->layer == NULL)
		memcpy(s->why, why, sizeof(why));
	return rc;
}

int
repository_open(struct source *s, char why[LAYER_WHY])
{
	char key[8192];
	size_t len = strlen(s->name);

	while (len > 0 && s->name[len - 1] == '/')
		s->name[--len] = '\0';
	snprintf(key, sizeof(key), "cas %.8000s", s->name);
	return source_open_cache(s, key, why);
}
