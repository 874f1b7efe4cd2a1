/*
 * cache_temp.c - a cache in an unnamed file, for one process
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ranges are appended.  When the limit is reached, the blocks of the oldest are
 * freed by punching a hole, several at a time.  Records are found through a hash
 * table of their numbers + 1; those that were freed are at the beginning of the
 * array, and are removed from it when they are the greater part.
 */
#include "cache_private.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

enum { FREED_MAX = 4096 };		/* records kept in the array */

struct record {
	uint64_t key, object, offset;	/* as in struct cache_place */
	uint64_t length;
	uint64_t sum;			/* checksum of the data */
	uint64_t at;			/* position in the file */
	bool there;			/* false once dropped or freed */
};

struct cache_temp {
	int fd;
	uint64_t limit;

	pthread_mutex_t lock;		/* protects the following */
	struct record *records;
	size_t count, cap;
	uint32_t *table;
	size_t slots;			/* a power of two, or 0 */
	size_t oldest;			/* first record not freed */
	uint64_t start, end;		/* of what is not freed */
	uint64_t evicted;		/* bytes */
};

int
cache_temp_open(struct cache_temp **out, int dir, uint64_t limit)
{
	struct cache_temp *t = sys_calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->limit = limit;
	t->fd = cache_unnamed(dir);
	if (t->fd < 0) {
		int rc = t->fd;

		sys_free(t);
		return rc;
	}
	pthread_mutex_init(&t->lock, NULL);
	*out = t;
	return 0;
}

void
cache_temp_close(struct cache_temp *t)
{
	if (t == NULL)
		return;
	sys_close(t->fd);
	pthread_mutex_destroy(&t->lock);
	sys_free(t->records);
	sys_free(t->table);
	sys_free(t);
}

/* The table; all that follow are called with the lock held */

/* Returns a record's slot, or the empty slot where it belongs. */
static size_t
find_slot(const struct cache_temp *t, uint64_t object, uint64_t offset)
{
	uint64_t key[2] = { object, offset };
	size_t i = (size_t)cache_hash(key, sizeof(key)) & (t->slots - 1);

	while (t->table[i] != 0) {
		const struct record *r = &t->records[t->table[i] - 1];

		if (r->object == object && r->offset == offset)
			break;
		i = (i + 1) & (t->slots - 1);
	}
	return i;
}

/* Makes a table of this size, for the records but the first `freed`. */
static int
make_table(struct cache_temp *t, size_t slots, size_t freed)
{
	uint32_t *table = sys_calloc(slots, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	t->count -= freed;
	t->oldest -= freed;
	if (freed > 0)
		memmove(t->records, t->records + freed, t->count *
		    sizeof(*t->records));
	sys_free(t->table);
	t->table = table;
	t->slots = slots;
	/* of several for one place, the last is found */
	for (size_t i = 0; i < t->count; i++)
		t->table[find_slot(t, t->records[i].object,
		    t->records[i].offset)] = (uint32_t)(i + 1);
	return 0;
}

static struct record *
find_record(struct cache_temp *t, const struct cache_place *p)
{
	struct record *r;
	size_t slot;

	if (t->slots == 0)
		return NULL;
	slot = find_slot(t, p->object, p->offset);
	if (t->table[slot] == 0)
		return NULL;
	r = &t->records[t->table[slot] - 1];
	return r->there ? r : NULL;
}

/* Makes room for one more record. */
static int
grow(struct cache_temp *t)
{
	void *records = t->records;
	int rc = 0;

	if (t->oldest > FREED_MAX && t->oldest > t->count / 2)
		rc = make_table(t, t->slots, t->oldest);
	else if (t->count >= t->slots / 2)
		rc = make_table(t, t->slots == 0 ? 256 : 2 * t->slots, 0);
	if (rc == 0)
		rc = array_grow(&records, t->count, &t->cap,
		    sizeof(*t->records));
	t->records = records;
	return rc;
}

/* Frees the oldest ranges until there is space. */
static void
free_oldest(struct cache_temp *t, uint64_t length)
{
	uint64_t most = t->limit - t->limit / CACHE_BATCH, start = t->start;
	int rc;

	if (t->end - start + length <= t->limit)
		return;
	while (t->oldest < t->count && t->end - start + length > most) {
		struct record *r = &t->records[t->oldest++];

		r->there = false;
		start = r->at + r->length;
	}
	t->evicted += start - t->start;
	do
		rc = fallocate(t->fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, (off_t)t->start, (off_t)(start -
		    t->start));
	while (rc == -1 && errno == EINTR);
	t->start = start;
}

/* Ranges */

ssize_t
cache_temp_find(struct cache_temp *t, const struct cache_place *p,
    uint64_t room, void *buf)
{
	struct record *found, r = { .there = false };
	ssize_t n;

	pthread_mutex_lock(&t->lock);
	found = find_record(t, p);
	if (found != NULL)
		r = *found;
	pthread_mutex_unlock(&t->lock);
	if (!r.there || r.length > room)
		return -ENOENT;
	n = fdio_pread(t->fd, buf, r.length, (off_t)r.at);
	if (n == (ssize_t)r.length && cache_hash(buf, r.length) == r.sum)
		return n;
	cache_temp_drop(t, p);
	return n < 0 ? n : -ENOENT;
}

int
cache_temp_write(struct cache_temp *t, const struct cache_place *p,
    uint64_t length, const void *data)
{
	struct record r = { .key = p->key, .object = p->object,
		.offset = p->offset, .length = length, .there = true,
		.sum = cache_hash(data, length) };
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	if (find_record(t, p) != NULL)
		goto out;
	rc = grow(t);
	if (rc != 0)
		goto out;
	free_oldest(t, length);
	r.at = t->end;
	/* what was written in part will be overwritten */
	rc = fdio_pwrite(t->fd, data, length, (off_t)r.at);
	if (rc != 0)
		goto out;
	t->records[t->count++] = r;
	t->table[find_slot(t, r.object, r.offset)] = (uint32_t)t->count;
	t->end += length;
out:
	pthread_mutex_unlock(&t->lock);
	return rc;
}

void
cache_temp_drop(struct cache_temp *t, const struct cache_place *p)
{
	struct record *r;

	pthread_mutex_lock(&t->lock);
	r = find_record(t, p);
	if (r != NULL)
		r->there = false;
	pthread_mutex_unlock(&t->lock);
}

void
cache_temp_clear(struct cache_temp *t, uint64_t key)
{
	pthread_mutex_lock(&t->lock);
	for (size_t i = t->oldest; i < t->count; i++)
		if (t->records[i].key == key)
			t->records[i].there = false;
	pthread_mutex_unlock(&t->lock);
}

void
cache_temp_counted(struct cache_temp *t, struct cache_counts *c)
{
	pthread_mutex_lock(&t->lock);
	c->used = t->end - t->start;
	c->evicted_bytes = t->evicted;
	pthread_mutex_unlock(&t->lock);
}
