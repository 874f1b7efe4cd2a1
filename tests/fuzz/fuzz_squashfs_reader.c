/*
 * fuzz_squashfs_reader.c - arbitrary bytes as an image whose names, owners,
 * attributes and blocks are read: no crash, no hang, and bounded memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/read/reader.h"

#include "base/sys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limits on examined blocks and values and on memory for tables and names. */
enum { BLOCKS = 64, VALUES = 4096, MEMORY = 64 << 20 };

struct look {
	const struct sq_image *m;
	struct sq_decoder *decoder;
	uint8_t *out;
	char *path;
	size_t cap;
	unsigned blocks, values;
	unsigned sum;			/* ensures that all bytes are read */
};

static void
tell(void *arg, uint64_t at, const char *why)
{
	(void)arg;
	(void)at;
	if (why == NULL || *why == '\0')
		abort();
}

static int
attribute(void *arg, const char *name, const void *value, size_t len)
{
	struct look *l = arg;

	for (size_t i = 0; i < len; i++)
		l->sum += ((const uint8_t *)value)[i];
	if (strchr(name, '.') == NULL)
		abort();
	return l->values++ < VALUES ? 0 : 1;
}

static void
unpack(struct look *l, uint64_t at, uint32_t word, uint32_t want)
{
	const char *why = NULL;
	int64_t made;

	if (word == 0 || l->blocks++ >= BLOCKS)
		return;
	made = sq_unpack(l->decoder, at, word, want, l->out, &why);
	if (made < 0 ? why == NULL : want != 0 && made != want)
		abort();
}

static void
look_at(struct look *l, size_t n)
{
	uint64_t at, end = sq_end(l->m, n);
	struct sq_entry e;
	uint32_t word;

	sq_get(l->m, n, &e);
	if (e.parent > n || e.first > n || end <= n ||
	    end > sq_count(l->m))
		abort();
	if (n > 0 && (e.name_len == 0 ||
	    memchr(e.name, '/', e.name_len) != NULL))
		abort();
	if (sq_path(l->m, n, &l->path, &l->cap) != 0 ||
	    (*l->path == '\0') != (n == 0))
		abort();
	for (size_t i = 0; e.target != NULL && i < e.size; i++)
		l->sum += (uint8_t)e.target[i];
	if (e.xattr != SQUASHFS_NONE && l->values < VALUES)
		sq_xattrs(l->m, e.xattr, attribute, l);
	if (e.lost || e.sizes == NULL)
		return;
	at = e.start;
	for (uint32_t k = 0; k < e.blocks && l->blocks < BLOCKS; k++) {
		unpack(l, at, sq_word(&e, k), sq_block_len(l->m, &e, k));
		at += sq_word_len(sq_word(&e, k));
	}
	if (sq_tail_len(l->m, &e) == 0)
		return;
	sq_fragment(l->m, e.fragment, &at, &word);
	unpack(l, at, word, 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct look l = { .blocks = 0 };
	struct sq_image *m;
	const char *why;
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (sq_open(&m, fd, 0, 2, MEMORY, tell, NULL, &why) == 0) {
		l.m = m;
		l.out = malloc(sq_facts(m)->block);
		if (l.out == NULL || sq_decoder_open(&l.decoder, m) != 0)
			abort();
		for (size_t n = 0; n < sq_count(m); n++)
			look_at(&l, n);
		sq_decoder_close(l.decoder);
		free(l.out);
		sys_free(l.path);
		sq_close(m);
	}
	close(fd);
	return 0;
}
