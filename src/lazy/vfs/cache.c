/*
 * cache.c - ranges of objects, stored on disk, and small documents
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The hash of an object's name also covers the layer's key, so a file with the
 * contents of another layer's does not match.
 *
 * Data that cannot be stored is no error for a reader.  After a failure, or if
 * another process was waited for in vain, nothing is stored for some time,
 * because each try would delay a read.
 */
#include "cache_private.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { NAMES_TRIED = 100, HEX = 2 * DIGEST_MAX };

#define RETRY_NS UINT64_C(5000000000)
#define BUSY_NS UINT64_C(1000000000)

struct cache_store {
	struct cache_options o;
	struct cache_dir *dir;		/* one of these, or none: there is no
					 * space for an unnamed file */
	struct cache_temp *temp;
	_Atomic bool failing;		/* the last range was not stored */
	_Atomic uint64_t retry_ns;	/* when to try again, or 0 */
	_Atomic uint64_t hits, hit_bytes, misses, stored, failures;
};

struct cache {
	struct cache_store *store;
	uint64_t key;			/* hash of the key */
	char layer[CACHE_NAME];		/* name in the directory */
};

/* Names and files */

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

int
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

uint64_t
cache_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

/* Stores */

static void
failed(struct cache_store *s, int rc)
{
	atomic_fetch_add(&s->failures, 1);
	atomic_store(&s->retry_ns, sys_now_ns() + RETRY_NS);
	if (!atomic_exchange(&s->failing, true) && s->o.warn != NULL)
		s->o.warn(s->o.arg, strerror(-rc));
}

int
cache_store_open(struct cache_store **out, const struct cache_options *o)
{
	struct cache_store *s = sys_calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->o = *o;
	rc = o->kept ? cache_dir_open(&s->dir, o->dir, o->limit) :
	    cache_temp_open(&s->temp, o->dir, o->limit);
	if (rc == -ENOSPC || rc == -EDQUOT) {
		failed(s, rc);
		rc = 0;
	}
	if (rc != 0)
		sys_free(s);
	else
		*out = s;
	return rc;
}

void
cache_store_close(struct cache_store *s)
{
	if (s == NULL)
		return;
	cache_dir_close(s->dir);
	cache_temp_close(s->temp);
	sys_free(s);
}

void
cache_store_counted(struct cache_store *s, struct cache_counts *c)
{
	*c = (struct cache_counts){ .limit = s->o.limit,
		.hits = atomic_load(&s->hits),
		.hit_bytes = atomic_load(&s->hit_bytes),
		.misses = atomic_load(&s->misses),
		.stored_bytes = atomic_load(&s->stored),
		.failures = atomic_load(&s->failures) };
	if (s->dir != NULL)
		cache_dir_counted(s->dir, c);
	else if (s->temp != NULL)
		cache_temp_counted(s->temp, c);
}

int
cache_open(struct cache **out, struct cache_store *s, const char *key)
{
	struct cache *c = sys_calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return -ENOMEM;
	c->store = s;
	c->key = cache_hash(key, strlen(key));
	rc = cache_name(key, CACHE_LAYER, c->layer);
	if (rc == 0 && s->dir != NULL)
		rc = cache_dir_check(s->dir, c->layer);
	if (rc != 0)
		sys_free(c);
	else
		*out = c;
	return rc;
}

void
cache_close(struct cache *c)
{
	sys_free(c);
}

/* Ranges */

static struct cache_place
range_place(const struct cache *c, const char *object, uint64_t offset)
{
	uint64_t hash[2] = { c->key, object == NULL ? 0 : cache_hash(object,
		strlen(object)) };

	return (struct cache_place){ .layer = c->layer, .key = c->key,
		.object = cache_hash(hash, sizeof(hash)), .offset = offset };
}

ssize_t
cache_find(struct cache *c, const char *object, uint64_t offset,
    uint64_t room, void *buf)
{
	const struct cache_place p = range_place(c, object, offset);
	struct cache_store *s = c->store;
	ssize_t n = s->dir != NULL ? cache_dir_find(s->dir, &p, room, buf) :
	    s->temp != NULL ? cache_temp_find(s->temp, &p, room, buf) :
	    -ENOENT;

	if (n < 0) {
		atomic_fetch_add(&s->misses, 1);
	} else {
		atomic_fetch_add(&s->hits, 1);
		atomic_fetch_add(&s->hit_bytes, (uint64_t)n);
	}
	return n;
}

int
cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf)
{
	ssize_t n = cache_find(c, object, offset, length, buf);

	return n < 0 ? (int)n : (uint64_t)n == length ? 0 : -ENOENT;
}

int
cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data)
{
	const struct cache_place p = range_place(c, object, offset);
	struct cache_store *s = c->store;
	uint64_t retry;
	int rc;

	if (length > s->o.limit / 4)
		return -EFBIG;
	retry = atomic_load(&s->retry_ns);
	if (retry != 0 && sys_now_ns() < retry)
		return -EAGAIN;
	rc = s->dir != NULL ? cache_dir_write(s->dir, &p, length, data) :
	    s->temp != NULL ? cache_temp_write(s->temp, &p, length, data) :
	    -ENOSPC;
	if (rc == 0) {
		atomic_fetch_add(&s->stored, length);
		atomic_store(&s->failing, false);
		atomic_store(&s->retry_ns, 0);
	} else if (rc == -EAGAIN) {
		atomic_store(&s->retry_ns, sys_now_ns() + BUSY_NS);
	} else {
		failed(s, rc);
	}
	return rc;
}

void
cache_drop(struct cache *c, const char *object, uint64_t offset)
{
	const struct cache_place p = range_place(c, object, offset);

	if (c->store->dir != NULL)
		cache_dir_drop(c->store->dir, &p);
	else if (c->store->temp != NULL)
		cache_temp_drop(c->store->temp, &p);
}

int
cache_clear(struct cache *c)
{
	if (c->store->dir != NULL)
		return cache_dir_clear(c->store->dir, c->layer);
	if (c->store->temp != NULL)
		cache_temp_clear(c->store->temp, c->key);
	return 0;
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
	/* the time of the last use */
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
