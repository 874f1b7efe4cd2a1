/*
 * cache.c - a disk cache of fetched object ranges
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Records are found through a hash table of their numbers + 1.  A freed record
 * remains in the array.  The hash of an object's name also covers the file's
 * key, so records in a file with the contents of another cache file do not
 * match.
 *
 * Only whole blocks of a file can be freed, and headers must remain to be read.
 * So the oldest records are freed together, up to a fraction of the limit:
 * before their blocks are freed, the first record is replaced with one that
 * covers all of them and has the name of a nonexistent object.
 */
#include "cache_private.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define NO_OBJECT UINT64_MAX

enum { BATCH = 16, BLOCK = 4096 };

/* A range in the file. */
struct record {
	uint64_t offset, length;	/* range in the object */
	uint64_t object;		/* hash of the object's name */
	uint64_t sum;			/* checksum of the data */
	uint64_t at;			/* position of the data in the file */
	bool there;			/* false once freed; not in the
					 * header */
};

struct cache {
	int fd;
	bool writable;
	uint64_t limit;
	uint64_t key;			/* hash of the file's key */

	pthread_mutex_t lock;		/* protects the following */
	struct record *records;
	size_t count, cap;
	uint32_t *table;
	size_t slots;			/* a power of two, or 0 */
	uint64_t end;			/* end of the file */
	uint64_t used;			/* bytes of existing records */
	size_t oldest;			/* index of the oldest existing
					 * record */
};

/* The headers */

static const char magic[8] = { 'l', 'a', 'y', 'r', 'a', 'n', 'g', 'e' };

uint64_t
cache_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

static void
record_write(const struct record *r, uint8_t out[CACHE_HEADER])
{
	memcpy(out, magic, sizeof(magic));
	store_le64(out + 8, r->offset);
	store_le64(out + 16, r->length);
	store_le64(out + 24, r->object);
	store_le64(out + 32, r->sum);
	store_le64(out + 40, cache_hash(out, 40));
}

/*
 * Parses a header at a position in a file of size bytes.  Returns 0, or
 * -EBADMSG if there is no header or the file is too short for its data.
 */
static int
record_parse(struct record *r, const uint8_t in[CACHE_HEADER],
    uint64_t position, uint64_t size)
{
	if (memcmp(in, magic, sizeof(magic)) != 0 ||
	    load_le64(in + 40) != cache_hash(in, 40) ||
	    size < CACHE_HEADER || position > size - CACHE_HEADER)
		return -EBADMSG;
	r->offset = load_le64(in + 8);
	r->length = load_le64(in + 16);
	r->object = load_le64(in + 24);
	r->sum = load_le64(in + 32);
	r->at = position + CACHE_HEADER;
	return r->length <= size - r->at ? 0 : -EBADMSG;
}

/* The table */

static size_t
record_slot(const struct cache *c, uint64_t object, uint64_t offset)
{
	uint64_t key[2] = { object, offset };

	return (size_t)cache_hash(key, sizeof(key)) & (c->slots - 1);
}

/* Returns a record's slot, or the empty slot where it belongs. */
static size_t
find_slot(const struct cache *c, uint64_t object, uint64_t offset)
{
	size_t i = record_slot(c, object, offset);

	while (c->table[i] != 0) {
		const struct record *r = &c->records[c->table[i] - 1];

		if (r->object == object && r->offset == offset)
			break;
		i = (i + 1) & (c->slots - 1);
	}
	return i;
}

static int
grow_table(struct cache *c)
{
	size_t slots = c->slots == 0 ? 256 : 2 * c->slots;
	uint32_t *table;

	if (c->count < c->slots / 2)
		return 0;
	table = sys_calloc(slots, sizeof(*table));
	if (table == NULL)
		return -ENOMEM;
	sys_free(c->table);
	c->table = table;
	c->slots = slots;
	for (size_t i = 0; i < c->count; i++)
		c->table[find_slot(c, c->records[i].object,
		    c->records[i].offset)] = (uint32_t)(i + 1);
	return 0;
}

/*
 * Adds a record of the file to the table, replacing an earlier record of the
 * same range.
 */
static int
add_record(struct cache *c, const struct record *r)
{
	void *records = c->records;
	size_t slot;
	int rc = grow_table(c);

	if (rc != 0)
		return rc;
	rc = array_grow(&records, c->count, &c->cap, sizeof(*c->records));
	c->records = records;
	if (rc != 0)
		return rc;
	slot = find_slot(c, r->object, r->offset);
	if (c->table[slot] != 0)
		c->records[c->table[slot] - 1].there = false;
	c->records[c->count] = *r;
	c->records[c->count++].there = true;
	c->table[slot] = (uint32_t)c->count;
	c->used += CACHE_HEADER + r->length;
	c->end = r->at + r->length;
	return 0;
}

/* The file */

/* Frees the blocks covered by the first record of the file. */
static void
punch(struct cache *c, uint64_t end)
{
	int rc = end > BLOCK ? -1 : 0;

	while (rc == -1) {
		rc = fallocate(c->fd, FALLOC_FL_PUNCH_HOLE |
		    FALLOC_FL_KEEP_SIZE, BLOCK, (off_t)(end - BLOCK));
		if (rc == -1 && errno != EINTR)
			break;
	}
}

/* Adds a record that was read, or skips a freed range. */
static int
take_record(struct cache *c, const struct record *r)
{
	if (r->object != NO_OBJECT)
		return add_record(c, r);
	c->end = r->at + r->length;
	/* the writer may have been killed */
	if (c->writable)
		punch(c, c->end);
	return 0;
}

/* Reads the headers, and truncates the file after the last valid record. */
static int
read_headers(struct cache *c)
{
	uint8_t header[CACHE_HEADER];
	struct record r;
	struct stat st;
	int rc = sys_fstat(c->fd, &st);

	while (rc == 0 && fdio_pread(c->fd, header, sizeof(header),
	    (off_t)c->end) == CACHE_HEADER && record_parse(&r, header,
	    c->end, (uint64_t)st.st_size) == 0)
		rc = take_record(c, &r);
	if (rc == 0 && c->writable && c->end < (uint64_t)st.st_size)
		rc = sys_ftruncate(c->fd, (off_t)c->end);
	return rc;
}

static int
open_ranges(int dir, const char *key)
{
	char name[CACHE_NAME];
	int rc;

	if (key == NULL)
		return cache_unnamed(dir);
	rc = cache_name(key, CACHE_RANGES, name);
	return rc != 0 ? rc : cache_file(dir, name, O_RDWR | O_CREAT);
}

int
cache_open(struct cache **out, int dir, const char *key, uint64_t limit)
{
	struct cache *c = sys_calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return -ENOMEM;
	c->limit = limit;
	c->key = key == NULL ? 0 : cache_hash(key, strlen(key));
	pthread_mutex_init(&c->lock, NULL);
	rc = c->fd = open_ranges(dir, key);
	if (rc < 0)
		goto fail;
	c->writable = flock(c->fd, LOCK_EX | LOCK_NB) == 0;
	rc = read_headers(c);
	if (rc != 0)
		goto fail;
	/* the time of the last use, for cache_trim() */
	(void)sys_utimens(c->fd, NULL, NULL, 0);
	*out = c;
	return 0;
fail:
	cache_close(c);
	return rc;
}

void
cache_close(struct cache *c)
{
	if (c == NULL)
		return;
	if (c->fd >= 0)
		sys_close(c->fd);
	pthread_mutex_destroy(&c->lock);
	sys_free(c->records);
	sys_free(c->table);
	sys_free(c);
}

/* Ranges */

static uint64_t
name_hash(const struct cache *c, const char *object)
{
	uint64_t hash[2] = { c->key, object == NULL ? 0 : cache_hash(object,
		strlen(object)) };

	return cache_hash(hash, sizeof(hash));
}

/* Finds an existing record.  Called with the lock held. */
static struct record *
find_record(struct cache *c, uint64_t object, uint64_t offset)
{
	size_t slot;

	if (c->slots == 0)
		return NULL;
	slot = find_slot(c, object, offset);
	if (c->table[slot] == 0 || !c->records[c->table[slot] - 1].there)
		return NULL;
	return &c->records[c->table[slot] - 1];
}

void
cache_drop(struct cache *c, const char *object, uint64_t offset)
{
	struct record *r;

	pthread_mutex_lock(&c->lock);
	r = find_record(c, name_hash(c, object), offset);
	if (r != NULL)
		r->there = false;
	pthread_mutex_unlock(&c->lock);
}

int
cache_clear(struct cache *c)
{
	int rc = -EROFS;

	pthread_mutex_lock(&c->lock);
	if (c->writable)
		rc = sys_ftruncate(c->fd, 0);
	if (rc == 0) {
		for (size_t i = 0; i < c->slots; i++)
			c->table[i] = 0;
		c->count = c->oldest = 0;
		c->end = c->used = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf)
{
	struct record *found, r = { .there = false };
	ssize_t n;

	pthread_mutex_lock(&c->lock);
	found = find_record(c, name_hash(c, object), offset);
	if (found != NULL)
		r = *found;
	pthread_mutex_unlock(&c->lock);
	if (!r.there || r.length != length)
		return -ENOENT;
	n = fdio_pread(c->fd, buf, length, (off_t)r.at);
	if (n == (ssize_t)length && cache_hash(buf, length) == r.sum)
		return 0;
	cache_drop(c, object, offset);
	return n < 0 ? (int)n : -ENOENT;
}

/* Covers all data before end with one record, and frees its blocks. */
static int
cover(struct cache *c, uint64_t end)
{
	const struct record r = { .object = NO_OBJECT,
		.length = end - CACHE_HEADER };
	uint8_t header[CACHE_HEADER];
	int rc;

	record_write(&r, header);
	rc = fdio_pwrite(c->fd, header, sizeof(header), 0);
	if (rc == 0)
		punch(c, end);
	return rc;
}

/* Frees the oldest ranges until there is space.  Returns 0 or -errno. */
static int
free_oldest(struct cache *c, uint64_t length)
{
	uint64_t most = c->limit - c->limit / BATCH, end = 0;

	if (c->used + length <= c->limit)
		return 0;
	while (c->oldest < c->count && c->used + length > most) {
		struct record *r = &c->records[c->oldest++];

		c->used -= CACHE_HEADER + r->length;
		r->there = false;
		end = r->at + r->length;
	}
	return end == 0 ? 0 : cover(c, end);
}

static int
append_record(struct cache *c, const struct record *r, const void *data)
{
	uint8_t header[CACHE_HEADER];
	struct iovec v[2] = { { .iov_base = header,
		.iov_len = sizeof(header) }, { .iov_len = r->length } };
	ssize_t n;

	memcpy(&v[1].iov_base, &data, sizeof(data));
	record_write(r, header);
	do
		n = pwritev(c->fd, v, 2, (off_t)c->end);
	while (n == -1 && errno == EINTR);
	if (n == (ssize_t)(CACHE_HEADER + r->length))
		return add_record(c, r);
	/* the partial record will be overwritten or truncated */
	return n < 0 ? -errno : -ENOSPC;
}

int
cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data)
{
	struct record r = { .offset = offset, .length = length,
		.object = name_hash(c, object) };
	int rc = 0;

	if (!c->writable || length > c->limit / 4)
		return -ENOSPC;
	r.sum = cache_hash(data, length);
	pthread_mutex_lock(&c->lock);
	if (find_record(c, r.object, offset) == NULL) {
		rc = free_oldest(c, CACHE_HEADER + length);
		r.at = c->end + CACHE_HEADER;
		if (rc == 0)
			rc = append_record(c, &r, data);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}
