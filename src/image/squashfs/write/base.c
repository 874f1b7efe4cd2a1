/*
 * base.c - the blocks of an older image, to be copied instead of compressed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/base.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

struct known {
	XXH128_hash_t hash;
	uint64_t at;
	uint32_t word, len;		/* len: unpacked; 0: damaged */
};

struct sqw_base {
	const struct sq_file *file;
	uint64_t seed;
	struct known *blocks;		/* by hash, once it is open */
	size_t count, cap;
	atomic_size_t next;
};

static int
by_at(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int
by_content(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->hash.high64 != y->hash.high64)
		return x->hash.high64 < y->hash.high64 ? -1 : 1;
	if (x->hash.low64 != y->hash.low64)
		return x->hash.low64 < y->hash.low64 ? -1 : 1;
	return x->len < y->len ? -1 : x->len > y->len;
}

static int
add_block(struct sqw_base *b, uint64_t at, uint32_t word, uint32_t want)
{
	void *items = b->blocks;
	int rc = array_grow(&items, b->count, &b->cap, sizeof(*b->blocks));

	b->blocks = items;
	if (rc == 0)
		b->blocks[b->count++] = (struct known){ .at = at,
			.word = word, .len = want };
	return rc;
}

/* Hashes the content of blocks, which threads claim one after another. */
static void
hash_some(void *arg, unsigned thread)
{
	struct sqw_base *b = arg;
	const struct sq_image *m = b->file->image;
	uint8_t *data = sys_malloc(sq_facts(m)->block);
	struct sq_decoder *decoder = NULL;
	bool ready = data != NULL && sq_decoder_open(&decoder, m) == 0;
	const char *why;
	size_t i;

	(void)thread;
	while (ready && (i = atomic_fetch_add(&b->next, 1)) < b->count) {
		struct known *k = &b->blocks[i];
		int64_t made = sq_unpack(decoder, k->at, k->word, k->len, data,
		    &why);

		k->len = made <= 0 ? 0 : (uint32_t)made;
		if (made > 0)
			k->hash = XXH3_128bits_withSeed(data, (size_t)made,
			    b->seed);
	}
	sq_decoder_close(decoder);
	sys_free(data);
}

int
sqw_base_open(struct sqw_base **out, const struct sq_file *f,
    unsigned threads)
{
	struct sqw_base *b = sys_calloc(1, sizeof(*b));
	const struct sq_image *m = f->image;
	size_t kept = 0;
	struct sq_entry e;
	uint64_t at;
	uint32_t word;
	int rc = 0;

	*out = b;
	if (b == NULL)
		return -ENOMEM;
	b->file = f;
	b->seed = hash_seed();
	for (uint32_t k = 0; rc == 0 && k < sq_facts(m)->fragments; k++) {
		sq_fragment(m, k, &at, &word);
		rc = add_block(b, at, word, 0);
	}
	for (size_t n = 1; rc == 0 && n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (!S_ISREG(e.mode) || e.first != n || e.lost)
			continue;
		at = e.start;
		for (uint32_t k = 0; rc == 0 && k < e.blocks; k++) {
			word = sq_word(&e, k);
			if (word != 0)
				rc = add_block(b, at, word,
				    sq_block_len(m, &e, k));
			at += sq_word_len(word);
		}
	}
	if (rc != 0)
		return rc;
	/* each block once, in the order of the image */
	if (b->count > 0)
		qsort(b->blocks, b->count, sizeof(*b->blocks), by_at);
	for (size_t i = 0; i < b->count; i++)
		if (kept == 0 || b->blocks[kept - 1].at != b->blocks[i].at)
			b->blocks[kept++] = b->blocks[i];
	b->count = kept;
	parallel_run(threads, hash_some, b);
	if (atomic_load(&b->next) < b->count)
		return -ENOMEM;
	if (b->count > 0)
		qsort(b->blocks, b->count, sizeof(*b->blocks), by_content);
	return 0;
}

void
sqw_base_close(struct sqw_base *b)
{
	if (b == NULL)
		return;
	sys_free(b->blocks);
	sys_free(b);
}

static bool
find_content(const void *arg, const uint8_t *data, size_t len, uint64_t *at,
    uint32_t *word)
{
	const struct sqw_base *b = arg;
	struct known key = { .len = (uint32_t)len,
		.hash = XXH3_128bits_withSeed(data, len, b->seed) };
	const struct known *k = bsearch(&key, b->blocks, b->count,
	    sizeof(*b->blocks), by_content);

	if (k == NULL)
		return false;
	*at = k->at;
	*word = k->word;
	return true;
}

static int
read_stored(const void *arg, uint64_t at, uint8_t *out, size_t len)
{
	const struct sqw_base *b = arg;
	ssize_t n = fdio_pread(b->file->fd, out, len,
	    (off_t)(b->file->offset + at));

	return n < 0 ? (int)n : (size_t)n < len ? -EIO : 0;
}

struct sqw_known
sqw_base_known(const struct sqw_base *b)
{
	return (struct sqw_known){ find_content, read_stored, b };
}
