/*
 * feed_large.c - cutting files larger than a block into blocks and holes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A large file is hashed while it is read.  If an earlier file has the same
 * size, a duplicate must be detected before the file is stored: the file is
 * read twice or, if the source cannot be rewound, copied to an unlinked file.
 */
#include "feed_impl.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void
sqw_feed_close_spool(struct sqw_feed *f)
{
	if (f->spool >= 0)
		sys_close(f->spool);
	f->spool = -1;
}

/* Reads the next bytes of the current file, from the source or the spool. */
static int
read_open(struct sqw_feed *f, uint8_t *data, size_t len)
{
	ssize_t n;

	if (f->spool < 0)
		return f->source->read(f->source->arg, data, len);
	n = fdio_pread(f->spool, data, len, (off_t)f->spool_at);
	f->spool_at += len;
	return n < 0 ? (int)n : (size_t)n < len ? -EIO : 0;
}

/* Skips a hole in the current file, in the source or in the spool. */
static int64_t
skip_open(struct sqw_feed *f)
{
	uint64_t n;

	if (f->spool < 0)
		return f->source->skip == NULL ? 0 :
		    f->source->skip(f->source->arg);
	n = sqw_hole_blocks(hole_at(f->spool, &f->spool_st, f->spool_at),
	    f->left, f->o->block);
	f->spool_at += n;
	return (int64_t)n;
}

static uint32_t
blocks_of(const struct sqw_feed *f, uint64_t bytes)
{
	return (uint32_t)((bytes - 1) / f->o->block + 1);
}

/* Hashes a hole that starts on a block boundary. */
static void
hash_hole(struct sqw_feed *f, uint64_t bytes)
{
	sqw_content_add_hole(&f->content, bytes < f->o->block ? (size_t)bytes :
	    f->o->block, blocks_of(f, bytes));
}

static int
open_spool(struct sqw_feed *f)
{
	f->spool_at = 0;
	f->spool = sys_openat(f->o->tmpdir, ".",
	    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return f->spool < 0 ? f->spool : 0;
}

/* Hashes the next block or hole, and keeps it unless keep is -1. */
static int64_t
hash_piece(struct sqw_feed *f, uint8_t *room, uint64_t left, int keep)
{
	int64_t n = skip_open(f), at;
	int rc;

	if (n < 0)
		return n;
	if (n > 0) {
		hash_hole(f, (uint64_t)n);
		at = keep < 0 ? 0 : sys_lseek(keep, (off_t)n, SEEK_CUR);
		return at < 0 ? at : n;
	}
	n = left < f->o->block ? (int64_t)left : f->o->block;
	rc = f->source->read(f->source->arg, room, (size_t)n);
	if (rc == 0)
		sqw_content_add(&f->content, room, (size_t)n);
	if (rc == 0 && keep >= 0)
		rc = fdio_write(keep, room, (size_t)n);
	return rc != 0 ? rc : n;
}

/* The file may end in a hole. */
static int
end_spool(struct sqw_feed *f, int keep)
{
	int rc = sys_ftruncate(keep, (off_t)f->file.size);

	return rc != 0 ? rc : sys_fstat(keep, &f->spool_st);
}

/*
 * Reads the whole file to hash it.  A file that cannot be read again is kept in
 * the spool.
 */
static int
hash_ahead(struct sqw_feed *f, uint8_t *room, XXH128_hash_t *hash)
{
	int64_t n = 0;
	int keep = -1, rc = 0;

	if (f->source->rewind == NULL) {
		rc = open_spool(f);
		keep = f->spool;
		f->spool = -1;	/* until it is complete */
	}
	sqw_content_begin(&f->content);
	for (uint64_t left = f->file.size; rc == 0 && left > 0;
	    left -= (uint64_t)n) {
		n = hash_piece(f, room, left, keep);
		rc = n < 0 ? (int)n : 0;
	}
	if (rc == 0 && keep >= 0)
		rc = end_spool(f, keep);
	f->spool = keep;
	*hash = sqw_content_end(&f->content);
	return rc;
}

int
sqw_feed_begin_large(struct sqw_feed *f, uint8_t *room)
{
	struct sqw_position *d = &f->d->of[f->file.id];
	uint64_t size = f->file.size;
	XXH128_hash_t hash;
	int rc, seen = f->file.alone || f->o->no_duplicates ? 0 :
	    sqw_twins_size_seen(&f->twins, sqw_content_size(f->o, size));

	if (seen < 0)
		return seen;
	if ((size - 1) / f->o->block >= sqw_feed_units_left(f))
		return -EOVERFLOW;
	f->hashing = !f->file.alone && !f->o->no_duplicates;
	if (seen) {
		rc = hash_ahead(f, room, &hash);
		if (rc == 0 && sqw_feed_share(f, hash)) {
			sqw_feed_close_spool(f);
			return 0;
		}
		if (rc == 0 && f->source->rewind != NULL)
			rc = f->source->rewind(f->source->arg);
		if (rc != 0)
			return rc;
	}
	*d = (struct sqw_position){ .unit = (uint32_t)f->d->units,
		.blocks = blocks_of(f, size),
		.dense = f->file.dense };
	sqw_content_begin(&f->content);
	f->left = size;
	f->open = true;
	return 0;
}

static int
end_large(struct sqw_feed *f)
{
	f->open = false;
	sqw_feed_close_spool(f);
	return f->hashing ?
	    sqw_feed_remember(f, sqw_content_end(&f->content)) : 0;
}

/* Counts the bytes that u covers. */
static int
advance(struct sqw_feed *f, uint64_t bytes)
{
	int rc;

	f->d->in_B += bytes;
	f->left -= bytes;
	rc = f->left == 0 ? end_large(f) : 0;
	return rc != 0 ? rc : 1;
}

static int
next_hole(struct sqw_feed *f, struct sqw_feed_unit *u, uint64_t bytes)
{
	int rc;

	u->len = 0;
	u->count = blocks_of(f, bytes);
	rc = sqw_feed_new_units(f, SQUASHFS_NONE, u->count, &u->number);
	if (rc != 0)
		return rc;
	if (f->hashing)
		hash_hole(f, bytes);
	return advance(f, bytes);
}

int
sqw_feed_next_piece(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int64_t hole = skip_open(f);
	int rc;

	u->is_fragment = false;
	if (hole != 0)
		return hole < 0 ? (int)hole : next_hole(f, u, (uint64_t)hole);
	u->len = f->left < f->o->block ? (uint32_t)f->left : f->o->block;
	u->count = 1;
	rc = read_open(f, u->data, u->len);
	if (rc == 0)
		rc = sqw_feed_new_units(f, SQUASHFS_NONE, 1, &u->number);
	if (rc != 0)
		return rc;
	if (f->hashing)
		sqw_content_add(&f->content, u->data, u->len);
	return advance(f, u->len);
}
