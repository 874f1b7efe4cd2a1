/*
 * verity.c - the hash tree of dm-verity behind an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/verity.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum {
	PER_BLOCK = VERITY_BLOCK_B / VERITY_HASH_B,
	LEVELS_MAX = 10,		/* more than 2^64 bytes need */
	CHUNK = 256,			/* blocks that are read at a time */
	SALT_MAX = 256,
	/* the superblock */
	SUPER_B = 512, VERSION_AT = 8, TYPE_AT = 12, UUID_AT = 16,
	ALGORITHM_AT = 32, DATA_BLOCK_AT = 64, HASH_BLOCK_AT = 68,
	DATA_BLOCKS_AT = 72, SALT_B_AT = 80, SALT_AT = 88
};

static const char signature[8] = "verity";

struct tree {
	uint64_t blocks;		/* of data */
	uint64_t count[LEVELS_MAX];	/* blocks of each level, the lowest
					 * first */
	uint8_t *level[LEVELS_MAX];
	unsigned levels;
	uint8_t salt[SALT_MAX];
	size_t salt_B;
};

struct verity {
	struct tree tree;
	int fd;
	uint64_t offset;
};

static int
hash_block(const struct tree *t, struct digest *d, const uint8_t *block,
    uint8_t out[DIGEST_MAX])
{
	int rc = digest_start(d);

	if (rc == 0 && t->salt_B > 0)
		rc = digest_add(d, t->salt, t->salt_B);
	if (rc == 0)
		rc = digest_add(d, block, VERITY_BLOCK_B);
	return rc == 0 ? digest_end(d, out) : rc;
}

/* Allocates the levels for so much data.  Returns 0, -EFBIG or -ENOMEM. */
static int
plan_levels(struct tree *t, uint64_t data_B)
{
	uint64_t n = t->blocks = data_B / VERITY_BLOCK_B;

	while (n > 1) {
		n = (n + PER_BLOCK - 1) / PER_BLOCK;
		if (t->levels == LEVELS_MAX || n > SIZE_MAX / VERITY_BLOCK_B)
			return -EFBIG;
		t->count[t->levels] = n;
		t->level[t->levels] = sys_calloc((size_t)n, VERITY_BLOCK_B);
		if (t->level[t->levels++] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void
free_levels(struct tree *t)
{
	for (unsigned i = 0; i < t->levels; i++)
		sys_free(t->level[i]);
}

/* Hashes each block of a level into the one above.  The root is the last. */
static int
hash_levels(const struct tree *t, bool only_compare,
    uint8_t root[DIGEST_MAX])
{
	uint8_t hash[DIGEST_MAX];
	struct digest *d = NULL;
	int rc = digest_new_sha256(&d);

	for (unsigned i = 0; rc == 0 && i < t->levels; i++)
		for (uint64_t k = 0; rc == 0 && k < t->count[i]; k++) {
			uint8_t *to = i + 1 == t->levels ? root :
			    t->level[i + 1] + k * VERITY_HASH_B;

			rc = hash_block(t, d, t->level[i] +
			    k * VERITY_BLOCK_B, hash);
			if (rc == 0 && only_compare &&
			    memcmp(hash, to, VERITY_HASH_B) != 0)
				rc = -EBADMSG;
			memcpy(to, hash, only_compare ? 0 : VERITY_HASH_B);
		}
	digest_free(d);
	return rc;
}

/* Hashing the data */

struct hashing {
	const struct tree *t;
	int fd;
	uint8_t *root;			/* of data that is one block */
	atomic_uint_fast64_t next;
	atomic_int rc;
};

static void
hash_data(void *arg, unsigned thread)
{
	struct hashing *h = arg;
	uint8_t *data = sys_malloc((size_t)CHUNK * VERITY_BLOCK_B);
	struct digest *d = NULL;
	uint8_t hash[DIGEST_MAX];
	int rc = data == NULL ? -ENOMEM : digest_new_sha256(&d);
	uint64_t k;

	(void)thread;
	while (rc == 0 && atomic_load(&h->rc) == 0 &&
	    (k = atomic_fetch_add(&h->next, CHUNK)) < h->t->blocks) {
		uint64_t left = h->t->blocks - k;
		size_t n = left < CHUNK ? (size_t)left : CHUNK;
		ssize_t got = fdio_pread(h->fd, data, n * VERITY_BLOCK_B,
		    (off_t)(k * VERITY_BLOCK_B));

		if (got < 0 || (size_t)got < n * VERITY_BLOCK_B)
			rc = got < 0 ? (int)got : -EIO;
		for (size_t i = 0; rc == 0 && i < n; i++) {
			rc = hash_block(h->t, d, data + i * VERITY_BLOCK_B,
			    hash);
			memcpy(h->t->levels == 0 ? h->root : h->t->level[0] +
			    (k + i) * VERITY_HASH_B, hash, VERITY_HASH_B);
		}
	}
	if (rc != 0)
		atomic_store(&h->rc, rc);
	digest_free(d);
	sys_free(data);
}

int
verity_append(int fd, uint64_t data_B, unsigned threads,
    uint8_t root[VERITY_HASH_B], uint64_t *end)
{
	struct tree t = { .salt_B = VERITY_HASH_B };
	struct hashing h = { .t = &t, .fd = fd, .root = root };
	uint8_t block[VERITY_BLOCK_B], hash[DIGEST_MAX];
	uint64_t at = data_B;
	ssize_t n = fdio_pread(fd, block, sizeof(block), 0);
	int rc = n < 0 ? (int)n : (size_t)n < sizeof(block) ? -EIO : 0;

	if (rc == 0)
		rc = digest_sha256(block, sizeof(block), t.salt);
	if (rc == 0)
		rc = digest_sha256(t.salt, VERITY_HASH_B, hash);
	if (rc == 0)
		rc = plan_levels(&t, data_B);
	if (rc != 0)
		goto out;
	parallel_run(threads, hash_data, &h);
	rc = atomic_load(&h.rc);
	if (rc == 0)
		rc = hash_levels(&t, false, root);
	if (rc != 0)
		goto out;
	memset(block, 0, sizeof(block));
	memcpy(block, signature, sizeof(signature));
	store_le32(block + VERSION_AT, 1);
	store_le32(block + TYPE_AT, 1);
	/* a UUID of version 4, RFC 9562 */
	hash[6] = (hash[6] & 0x0f) | 0x40;
	hash[8] = (hash[8] & 0x3f) | 0x80;
	memcpy(block + UUID_AT, hash, 16);
	strcpy((char *)block + ALGORITHM_AT, "sha256");
	store_le32(block + DATA_BLOCK_AT, VERITY_BLOCK_B);
	store_le32(block + HASH_BLOCK_AT, VERITY_BLOCK_B);
	store_le64(block + DATA_BLOCKS_AT, t.blocks);
	store_le16(block + SALT_B_AT, (uint16_t)t.salt_B);
	memcpy(block + SALT_AT, t.salt, t.salt_B);
	if (sys_lseek(fd, (off_t)at, SEEK_SET) < 0) {
		rc = -EIO;
		goto out;
	}
	rc = fdio_write(fd, block, sizeof(block));
	at += sizeof(block);
	for (unsigned i = t.levels; rc == 0 && i-- > 0;) {
		rc = fdio_write(fd, t.level[i], (size_t)t.count[i] *
		    VERITY_BLOCK_B);
		at += t.count[i] * VERITY_BLOCK_B;
	}
	*end = at;
out:
	free_levels(&t);
	return rc;
}

/* Reading */

int
verity_open(struct verity **out, int fd, uint64_t offset, uint64_t data_B,
    const uint8_t root[VERITY_HASH_B], const char **why)
{
	struct verity *v = sys_calloc(1, sizeof(*v));
	uint64_t at = offset + data_B;
	uint8_t p[SUPER_B], copy[DIGEST_MAX];
	ssize_t n;
	int rc = -ENOMEM;

	*why = "not enough memory";
	if (v == NULL)
		return rc;
	v->fd = fd;
	v->offset = offset;
	n = fdio_pread(fd, p, sizeof(p), (off_t)at);
	rc = n < 0 ? (int)n : -EBADMSG;
	*why = n < 0 ? strerror((int)-n) :
	    "there is no hash tree of dm-verity behind the image";
	if (n < (ssize_t)sizeof(p) || memcmp(p, signature,
	    sizeof(signature)) != 0)
		goto fail;
	*why = "the hash tree is not of version 1 with SHA-256 and blocks of "
	    "4096 bytes";
	v->tree.salt_B = load_le16(p + SALT_B_AT);
	if (load_le32(p + VERSION_AT) != 1 || load_le32(p + TYPE_AT) != 1 ||
	    memcmp(p + ALGORITHM_AT, "sha256", sizeof("sha256")) != 0 ||
	    load_le32(p + DATA_BLOCK_AT) != VERITY_BLOCK_B ||
	    load_le32(p + HASH_BLOCK_AT) != VERITY_BLOCK_B ||
	    v->tree.salt_B > SALT_MAX)
		goto fail;
	*why = "the hash tree is for data of another size";
	if (load_le64(p + DATA_BLOCKS_AT) != data_B / VERITY_BLOCK_B)
		goto fail;
	memcpy(v->tree.salt, p + SALT_AT, v->tree.salt_B);
	rc = plan_levels(&v->tree, data_B);
	*why = strerror(-rc);
	at += VERITY_BLOCK_B;
	for (unsigned i = v->tree.levels; rc == 0 && i-- > 0;) {
		size_t len = (size_t)v->tree.count[i] * VERITY_BLOCK_B;

		n = fdio_pread(fd, v->tree.level[i], len, (off_t)at);
		rc = n < 0 ? (int)n : (size_t)n < len ? -EBADMSG : 0;
		*why = n < 0 ? strerror((int)-n) : "the hash tree is cut off";
		at += len;
	}
	if (rc != 0)
		goto fail;
	memcpy(copy, root, VERITY_HASH_B);
	if (v->tree.levels > 0)
		rc = hash_levels(&v->tree, true, copy);
	else				/* the root is that of the only block */
		v->tree.level[0] = sys_calloc(1, VERITY_BLOCK_B);
	*why = "the hash tree does not have this root hash";
	if (rc == 0 && v->tree.level[0] == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto fail;
	if (v->tree.levels == 0) {
		memcpy(v->tree.level[0], root, VERITY_HASH_B);
		v->tree.levels = 1;
	}
	*out = v;
	return 0;
fail:
	verity_close(v);
	return rc;
}

void
verity_close(struct verity *v)
{
	if (v == NULL)
		return;
	free_levels(&v->tree);
	sys_free(v);
}

int64_t
verity_pread(const struct verity *v, void *buf, size_t len, uint64_t at)
{
	uint8_t block[VERITY_BLOCK_B], hash[DIGEST_MAX], *to = buf;
	ssize_t n = fdio_pread(v->fd, buf, len, (off_t)(v->offset + at));
	uint64_t end = at + len;
	struct digest *d = NULL;
	int rc = n < 0 ? (int)n : (size_t)n < len ? -ENODATA :
	    end > v->tree.blocks * VERITY_BLOCK_B ? -EBADMSG :
	    digest_new_sha256(&d);

	for (uint64_t k = at / VERITY_BLOCK_B; rc == 0 &&
	    k * VERITY_BLOCK_B < end; k++) {
		uint64_t from = k * VERITY_BLOCK_B, first, last;
		const uint8_t *data = block;

		first = at > from ? at : from;
		last = end < from + VERITY_BLOCK_B ? end :
		    from + VERITY_BLOCK_B;
		if (last - first == VERITY_BLOCK_B) {
			data = to + (from - at);
		} else {
			n = fdio_pread(v->fd, block, sizeof(block),
			    (off_t)(v->offset + from));
			rc = n < 0 ? (int)n : (size_t)n < sizeof(block) ?
			    -ENODATA : 0;
			/* what was verified is what is used */
			memcpy(to + (first - at), block + (first - from),
			    (size_t)(last - first));
		}
		if (rc == 0)
			rc = hash_block(&v->tree, d, data, hash);
		if (rc == 0 && memcmp(hash, v->tree.level[0] +
		    k * VERITY_HASH_B, VERITY_HASH_B) != 0)
			rc = -EBADMSG;
	}
	digest_free(d);
	return rc != 0 ? rc : (int64_t)len;
}
