/*
 * advise_image.c - the files of a squashfs image, as if they were in a directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise/advise.h"

#include "base/array.h"
#include "base/sys.h"
#include "image/squashfs/read/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The most memory for the names and tables of an image. */
enum { TABLES_MOST_B = 512 << 20 };

struct advise_image {
	struct sq_file file;
	struct sq_decoder *decoder;
	struct advise_file *files;
	size_t count, room;
	uint8_t *block;			/* the last block that was unpacked, */
	uint64_t block_at;		/* where it is, or UINT64_MAX, */
	size_t block_len;		/* and its length */
};

/* Hears of damage, which the files concerned would be left out for. */
static void
note_damage(void *sound, const char *place, const char *why)
{
	(void)place;
	(void)why;
	*(bool *)sound = false;
}

int
advise_image_open(struct advise_image **out, const char *path)
{
	bool sound = true;
	const struct sq_file_options o = { .path = path, .threads = 1,
		.memory = TABLES_MOST_B, .report = note_damage, .arg = &sound };
	struct advise_image *m = sys_calloc(1, sizeof(*m));
	const char *why;
	int rc;

	*out = NULL;
	if (m == NULL)
		return -ENOMEM;
	m->file.fd = -1;
	m->block_at = UINT64_MAX;
	rc = sq_file_open(&m->file, &o, &why);
	if (rc == 0 && !sound)
		rc = -EBADMSG;
	if (rc == 0) {
		m->block = sys_malloc(sq_facts(m->file.image)->block);
		rc = m->block == NULL ? -ENOMEM :
		    sq_decoder_open(&m->decoder, m->file.image);
	}
	if (rc != 0) {
		advise_image_close(m);
		return rc;
	}
	*out = m;
	return 0;
}

void
advise_image_close(struct advise_image *m)
{
	if (m == NULL)
		return;
	sq_decoder_close(m->decoder);
	sq_file_close(&m->file);
	sys_free(m->block);
	sys_free(m->files);
	sys_free(m);
}

uint64_t
advise_image_offset(const struct advise_image *m)
{
	return m->file.offset;
}

uint32_t
advise_image_block(const struct advise_image *m)
{
	return sq_facts(m->file.image)->block;
}

/* A file of the image, and what tells where its data is. */
struct member {
	size_t number;
	uint64_t start, size;
	uint32_t fragment, tail_at, mtime;
};

static int
by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->fragment != y->fragment)
		return x->fragment < y->fragment ? -1 : 1;
	if (x->tail_at != y->tail_at)
		return x->tail_at < y->tail_at ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool
same_data(const struct member *x, const struct member *y)
{
	return x->start == y->start && x->fragment == y->fragment &&
	    x->tail_at == y->tail_at && x->size == y->size;
}

static int
by_entry(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Lists the regular files with data, each inode once. */
static size_t
list_members(const struct sq_image *m, struct member *all)
{
	size_t n = 0;

	for (size_t i = 0; i < sq_count(m); i++) {
		struct sq_entry e;

		sq_get(m, i, &e);
		if (S_ISREG(e.mode) && e.size > 0 && e.first == i && !e.lost)
			all[n++] = (struct member){ i, e.start, e.size,
			    e.fragment, e.tail_at, e.mtime };
	}
	return n;
}

int
advise_image_list(struct advise_image *m, struct advise_group *g)
{
	const struct sq_image *image = m->file.image;
	struct member *all = sys_malloc(sq_count(image) * sizeof(*all) + 1);
	size_t n, left = 0;
	int rc = 0;

	if (all == NULL)
		return -ENOMEM;
	n = list_members(image, all);
	if (n > 0)
		qsort(all, n, sizeof(*all), by_place);
	for (size_t i = 0; i < n; i++)
		if (left == 0 || !same_data(&all[left - 1], &all[i]))
			all[left++] = all[i];
	g->twins += n - left;
	/* in the order in which they are stored */
	if (left > 0)
		qsort(all, left, sizeof(*all), by_entry);
	m->files = sys_calloc(left + 1, sizeof(*m->files));
	if (m->files == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; i < left && rc == 0; i++) {
		void *files = g->files;

		m->files[i] = (struct advise_file){ .path = "",
			.size = all[i].size, .mtime = all[i].mtime,
			.image = m, .number = all[i].number };
		rc = array_grow(&files, g->count, &g->room, sizeof(*g->files));
		g->files = files;
		if (rc == 0)
			g->files[g->count++] = &m->files[i];
	}
	sys_free(all);
	return rc;
}

/* Has m->block contain the block at a place.  Returns 0 or -errno. */
static int
unpack_block(struct advise_image *m, uint64_t at, uint32_t word, size_t want)
{
	const char *why;
	int64_t n;

	if (m->block_at == at && m->block_len >= want)
		return 0;
	m->block_at = UINT64_MAX;
	n = sq_unpack(m->decoder, at, word, want, m->block, &why);
	if (n < 0)
		return (int)n;
	m->block_at = at;
	m->block_len = (size_t)n;
	return 0;
}

/* Reads a part of a file's tail, `at` bytes from its beginning. */
static int
read_tail(struct advise_image *m, const struct sq_entry *e, size_t at,
    uint8_t *to, size_t len)
{
	uint64_t place;
	uint32_t word;
	int rc;

	sq_fragment(m->file.image, e->fragment, &place, &word);
	rc = unpack_block(m, place, word, 0);
	if (rc == 0 && (at + len > m->block_len || e->tail_at > m->block_len -
	    at - len))
		rc = -EBADMSG;
	if (rc == 0)
		memcpy(to, m->block + e->tail_at + at, len);
	return rc;
}

ssize_t
advise_image_read(struct advise_image *m, size_t number, uint64_t offset,
    uint8_t *to, size_t len)
{
	const struct sq_image *image = m->file.image;
	uint64_t at, first = 0;
	struct sq_entry e;
	size_t got = 0;

	sq_get(image, number, &e);
	at = e.start;
	for (uint32_t k = 0; got < len && first < e.size; k++) {
		bool tail = k >= e.blocks;
		size_t n = tail ? sq_tail_len(image, &e) :
		    sq_block_len(image, &e, k);
		uint32_t word = tail ? 0 : sq_word(&e, k);
		size_t from = offset > first ? (size_t)(offset - first) : 0;
		int rc = 0;

		if (n == 0)
			break;
		if (from < n) {
			size_t part = n - from < len - got ? n - from :
			    len - got;

			if (tail)
				rc = read_tail(m, &e, from, to + got, part);
			else if (sq_word_len(word) == 0)
				memset(to + got, 0, part);
			else {
				rc = unpack_block(m, at, word, n);
				if (rc == 0)
					memcpy(to + got, m->block + from, part);
			}
			if (rc != 0)
				return rc;
			got += part;
			offset += part;
		}
		first += n;
		at += sq_word_len(word);
	}
	return (ssize_t)got;
}
