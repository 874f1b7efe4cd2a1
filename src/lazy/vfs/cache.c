/*
 * cache.c - a disk cache of fetched object ranges, and of small documents
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
#include "lazy/vfs/cache.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <dirent.h>
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

#define CACHE_RANGES ".ranges"
#define CACHE_TEXT ".text"

#define NO_OBJECT UINT64_MAX

enum {
	CACHE_NAME = 80, NAMES_TRIED = 100, BATCH = 16, BLOCK = 4096,
	HEX = 2 * DIGEST_MAX
};

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

/* The files of the directory */

/*
 * Writes the file name for a key: the key's SHA-256, in hexadecimal, and a
 * suffix.  Returns 0, -ENOMEM or -EIO.
 */
static int
cache_name(const char *key, const char *suffix, char name[CACHE_NAME])
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_sha256(key, strlen(key), sum);

	if (rc == 0) {
		hex_write(name, sum, sizeof(sum));
		strcat(name, suffix);
	}
	return rc;
}

/*
 * Opens a file for reading or writing, and creates it if flags say so.  Returns
 * its descriptor; -EINVAL if the name is not that of a regular file; or another
 * -errno.
 */
static int
cache_file(int dir, const char *name, int flags)
{
	/* a FIFO must not block */
	int fd = sys_openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY, 0600), rc;
	struct stat st;

	if (fd == -ELOOP || fd == -EISDIR || fd == -ENXIO)
		return -EINVAL;
	if (fd < 0)
		return fd;
	rc = sys_fstat(fd, &st);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = -EINVAL;
	if (rc == 0)
		return fd;
	sys_close(fd);
	return rc;
}

int
cache_unnamed(int dir)
{
	int fd = sys_openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	char name[CACHE_NAME];
	int rc;

	if (fd != -EOPNOTSUPP && fd != -EISDIR)
		return fd;
	/* a filesystem without O_TMPFILE, such as NFS */
	fd = -EEXIST;
	for (int i = 0; fd == -EEXIST && i < NAMES_TRIED; i++) {
		snprintf(name, sizeof(name), ".%ld.%llu.%d", (long)getpid(),
		    (unsigned long long)sys_now_ns(), i);
		fd = sys_openat(dir, name, O_RDWR | O_CREAT | O_EXCL |
		    O_CLOEXEC, 0600);
	}
	rc = fd < 0 ? fd : sys_unlinkat(dir, name, 0);
	if (rc != 0 && fd >= 0)
		sys_close(fd);
	return rc != 0 ? rc : fd;
}

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

/* The table */

/* Returns a record's slot, or the empty slot where it belongs. */
static size_t
find_slot(const struct cache *c, uint64_t object, uint64_t offset)
{
	uint64_t key[2] = { object, offset };
	size_t i = (size_t)cache_hash(key, sizeof(key)) & (c->slots - 1);

	while (c->table[i] != 0) {
		const struct record *r = &c->records[c->table[i] - 1];

		if (r->object == object && r->offset == offset)
			break;
		i = (i + 1) & (c->slots - 1);
	}
	return i;
}

/*
 * Adds a record of the file to the table, replacing an earlier record of the
 * same range.
 */
static int
add_record(struct cache *c, const struct record *r)
{
	size_t slots = c->slots == 0 ? 256 : 2 * c->slots, slot;
	void *records = c->records;
	uint32_t *table;
	int rc;

	if (c->count >= c->slots / 2) {
		table = sys_calloc(slots, sizeof(*table));
		if (table == NULL)
			return -ENOMEM;
		sys_free(c->table);
		c->table = table;
		c->slots = slots;
		for (size_t i = 0; i < c->count; i++)
			c->table[find_slot(c, c->records[i].object,
			    c->records[i].offset)] = (uint32_t)(i + 1);
	}
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

/*
 * Reads the headers, and truncates the file before the first that is invalid or
 * whose data is incomplete.
 */
static int
read_headers(struct cache *c)
{
	uint8_t header[CACHE_HEADER];
	uint64_t size;
	struct stat st;
	int rc = sys_fstat(c->fd, &st);

	if (rc != 0)
		return rc;
	size = (uint64_t)st.st_size;
	while (fdio_pread(c->fd, header, sizeof(header), (off_t)c->end) ==
	    CACHE_HEADER) {
		struct record r = { .offset = load_le64(header + 8),
			.length = load_le64(header + 16),
			.object = load_le64(header + 24),
			.sum = load_le64(header + 32),
			.at = c->end + CACHE_HEADER };

		if (memcmp(header, magic, sizeof(magic)) != 0 ||
		    load_le64(header + 40) != cache_hash(header, 40) ||
		    size < CACHE_HEADER || c->end > size - CACHE_HEADER ||
		    r.length > size - r.at)
			break;
		if (r.object != NO_OBJECT) {
			rc = add_record(c, &r);
			if (rc != 0)
				return rc;
			continue;
		}
		/* a freed range; the writer may have been killed */
		c->end = r.at + r.length;
		if (c->writable)
			punch(c, c->end);
	}
	if (c->writable && c->end < size)
		rc = sys_ftruncate(c->fd, (off_t)c->end);
	return rc;
}

int
cache_open(struct cache **out, int dir, const char *key, uint64_t limit)
{
	struct cache *c = sys_calloc(1, sizeof(*c));
	char name[CACHE_NAME];
	int rc = 0;

	if (c == NULL)
		return -ENOMEM;
	c->limit = limit;
	c->key = key == NULL ? 0 : cache_hash(key, strlen(key));
	pthread_mutex_init(&c->lock, NULL);
	c->fd = -1;
	if (key != NULL)
		rc = cache_name(key, CACHE_RANGES, name);
	if (rc != 0)
		goto fail;
	rc = c->fd = key == NULL ? cache_unnamed(dir) :
	    cache_file(dir, name, O_RDWR | O_CREAT);
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

/* Frees the oldest ranges until there is space.  Returns 0 or -errno. */
static int
free_oldest(struct cache *c, uint64_t length)
{
	uint64_t most = c->limit - c->limit / BATCH, end = 0;
	struct record freed = { .object = NO_OBJECT };
	uint8_t header[CACHE_HEADER];
	int rc;

	if (c->used + length <= c->limit)
		return 0;
	while (c->oldest < c->count && c->used + length > most) {
		struct record *r = &c->records[c->oldest++];

		c->used -= CACHE_HEADER + r->length;
		r->there = false;
		end = r->at + r->length;
	}
	if (end == 0)
		return 0;
	/* one record covers all data before the end */
	freed.length = end - CACHE_HEADER;
	record_write(&freed, header);
	rc = fdio_pwrite(c->fd, header, sizeof(header), 0);
	if (rc == 0)
		punch(c, end);
	return rc;
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

/*
 * Small documents.  A file contains the SHA-256, in hexadecimal, of the key, a
 * newline and the text; then a newline and the text.  So a truncated file, or a
 * file with a different key, is not used.
 */

/* Writes the first line of the file. */
static int
sum_of(const char *key, const char *text, size_t len, char line[HEX + 1])
{
	struct strbuf b = { .len = 0 };
	uint8_t sum[DIGEST_MAX];
	int rc;

	strbuf_str(&b, key);
	strbuf_char(&b, '\n');
	strbuf_add(&b, text, len);
	rc = b.failed ? -ENOMEM : digest_sha256(b.data, b.len, sum);
	strbuf_free(&b);
	hex_write(line, sum, sizeof(sum));
	return rc;
}

int
cache_text_write(int dir, const char *key, const char *text, size_t len)
{
	char name[CACHE_NAME], line[HEX + 1];
	int fd, rc = cache_name(key, CACHE_TEXT, name);

	if (rc != 0)
		return rc;
	rc = sum_of(key, text, len, line);
	if (rc != 0)
		return rc;
	fd = cache_file(dir, name, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	line[HEX] = '\n';
	rc = fdio_write(fd, line, sizeof(line));
	if (rc == 0)
		rc = fdio_write(fd, text, len);
	sys_close(fd);
	return rc;
}

int
cache_text_read(int dir, const char *key, size_t max, char **text, size_t *len)
{
	char name[CACHE_NAME], line[HEX + 1], *file;
	int fd, rc = cache_name(key, CACHE_TEXT, name);

	*text = NULL;
	if (rc != 0)
		return rc;
	fd = cache_file(dir, name, O_RDONLY);
	if (fd < 0)
		return fd;
	rc = fdio_read_all(fd, max + HEX + 1, text, len);
	if (rc != 0)
		goto out;
	file = *text;
	rc = -ENOENT;
	if (*len <= HEX || file[HEX] != '\n')
		goto out;
	*len -= HEX + 1;
	rc = sum_of(key, file + HEX + 1, *len, line);
	if (rc != 0)
		goto out;
	rc = memcmp(line, file, HEX) == 0 ? 0 : -ENOENT;
	/* including the NUL after the text */
	memmove(file, file + HEX + 1, *len + 1);
	/* the time of the last use, for cache_trim() */
	if (rc == 0)
		(void)sys_utimens(fd, NULL, NULL, 0);
out:
	sys_close(fd);
	if (rc != 0) {
		sys_free(*text);
		*text = NULL;
	}
	return rc;
}

/* Removing the least recently used files */

struct cached_file {
	char name[CACHE_NAME];
	struct timespec used;
	uint64_t bytes;
};

static int
by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct cached_file *)a)->used;
	const struct timespec *y = &((const struct cached_file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? 1 : -1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool
ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), len = strlen(suffix);

	return n > len && strcmp(name + n - len, suffix) == 0;
}

int
cache_trim(int dir, uint64_t limit)
{
	int fd = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct cached_file *files = NULL;
	size_t count = 0, cap = 0;
	struct dirent *e;
	struct stat st;
	void *all = NULL;
	uint64_t sum = 0;
	int rc = 0;

	if (d == NULL) {
		rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			sys_close(fd);
		return rc;
	}
	while (errno = 0, (e = readdir(d)) != NULL) {
		if (strlen(e->d_name) >= CACHE_NAME ||
		    (!ends_with(e->d_name, CACHE_RANGES) &&
		    !ends_with(e->d_name, CACHE_TEXT)) ||
		    sys_fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) !=
		    0 || !S_ISREG(st.st_mode))
			continue;
		rc = array_grow(&all, count, &cap, sizeof(*files));
		files = all;
		if (rc != 0)
			break;
		files[count] = (struct cached_file){ .used = st.st_mtim,
			.bytes = (uint64_t)st.st_blocks * 512 };
		strcpy(files[count].name, e->d_name);
		sum += files[count++].bytes;
	}
	if (rc == 0)
		rc = -errno;
	closedir(d);
	if (rc == 0 && count > 0)
		qsort(files, count, sizeof(*files), by_use);
	for (size_t i = 0; rc == 0 && i < count && sum > limit; i++) {
		rc = sys_unlinkat(dir, files[i].name, 0);
		/* another process may have removed it */
		if (rc == 0 || rc == -ENOENT)
			sum -= files[i].bytes;
		rc = rc == -ENOENT ? 0 : rc;
	}
	sys_free(files);
	return rc;
}
