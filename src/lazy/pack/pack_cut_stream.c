/*
 * pack_cut_stream.c - appending, hashing and cutting the bytes of a layer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive, and files with several pieces, must be hashed sequentially; both
 * are hashed here at the same time.
 */
#include "pack_cut.h"

#include <errno.h>
#include <string.h>

enum { HEADERS_MAX = 32 << 20 };	/* maximum bytes between two files */

/* Makes room for n more bytes in the stream. */
static int
reserve_stream(struct pack_cut *c, size_t n)
{
	struct buf *in = &c->s->in;

	if (in->cap - in->len >= n)
		return 0;
	return buf_reserve(in, in->len + n + in->len / 2);
}

int
pack_cut_append(struct pack_cut *c, const void *data, size_t n)
{
	struct buf *in = &c->s->in;
	int rc = reserve_stream(c, n);

	if (rc != 0)
		return rc;
	if (data == NULL)
		memset(in->data + in->len, 0, n);
	else
		memcpy(in->data + in->len, data, n);
	if (c->split != NULL)
		pack_split_bytes(c->split, in->data + in->len, n);
	in->len += n;
	return 0;
}

void
pack_cut_retract(struct pack_cut *c, size_t n)
{
	c->s->in.len -= n;
	if (c->split != NULL)
		pack_split_cut(c->split, n);
}

int
pack_cut_refuse(struct pack_cut *c, const char *why)
{
	c->p->why = why;
	return -EFBIG;
}

int
pack_cut_raw(void *arg, const void *data, size_t len)
{
	struct pack_cut *c = arg;
	size_t skip = len < c->drop ? len : (size_t)c->drop;

	c->raw += len;
	if (c->in_data)
		return 0;
	c->drop -= skip;
	if (c->s->in.len - c->loose > HEADERS_MAX)
		return pack_cut_refuse(c, "the headers between two files are "
		    "longer than 32 MiB");
	return pack_cut_append(c, (const char *)data + skip, len - skip);
}

size_t
pack_cut_padding(const struct pack_cut *c)
{
	return (size_t)(-c->raw % TAR_BLOCK);
}

int
pack_cut_hash(struct pack_cut *c)
{
	struct buf *in = &c->s->in;
	struct digest_piece p[2] = {
		{ c->p->content, in->data + c->hashed, in->len - c->hashed },
		{ c->file, in->data + c->file_from, in->len - c->file_from },
	};

	c->hashed = in->len;
	c->file_from = in->len;
	return digest_add_some(p, c->several ? 2 : 1, true);
}

/* Pieces */

/* Returns whether n bytes of data can be added to the current unit. */
static bool
joins(const struct pack_cut *c, size_t n)
{
	const struct pack_batch *b = c->b;
	size_t len = c->s->in.len - b->units[b->unit_count - 1].at;

	return len == 0 || (c->in_use && !c->alone && len <
	    c->p->o->min_chunk && len + n <= c->p->chunk);
}

int
pack_cut_item(struct pack_cut *c, size_t n)
{
	struct pack_batch *b = c->b;
	struct pack_item *item = pack_batch_item(b);
	int rc = 0;

	if (item == NULL)
		return -ENOMEM;
	item->has_piece = true;
	item->offset = c->at;
	item->last = c->left == n;
	if (c->at == 0) {
		item->text = b->text.len;
		item->text_len = c->head.len;
		strbuf_add(&b->text, c->head.data, c->head.len);
	}
	if (item->last && c->several) {
		rc = pack_cut_hash(c);
		if (rc == 0)
			rc = digest_end(c->file, item->digest);
	}
	return rc != 0 ? rc : b->text.failed ? -ENOMEM : 0;
}

/* Ends a file whose data is complete. */
static int
end_data(struct pack_cut *c)
{
	int rc = 0;

	c->in_data = c->several = c->alone = false;
	c->loose = c->s->in.len;
	if (c->split != NULL)
		rc = pack_split_file(c->split, c->e.path, c->e.size);
	if (!c->sparse)
		return rc;
	c->drop = pack_cut_padding(c);
	return rc != 0 ? rc :
	    pack_cut_append(c, NULL, (size_t)(-c->e.size % TAR_BLOCK));
}

int
pack_cut_piece(struct pack_cut *c)
{
	struct buf *in = &c->s->in;
	size_t n = (size_t)(c->left < c->p->chunk ? c->left : c->p->chunk);
	struct pack_piece piece = { .at = in->len, .len = n };
	int rc = 0;

	if (!joins(c, n)) {
		c->full = in->len >= PACK_CUT_BATCH;
		if (c->full)
			return 0;
		rc = pack_batch_unit(c->b, in->len);
	}
	c->in_data = c->in_use = true;
	piece.unit = c->b->unit_count - 1;
	if (rc == 0)
		rc = reserve_stream(c, n);
	if (rc == 0)
		rc = tar_content_read(&c->content, in->data + in->len, n);
	if (rc != 0)
		return rc;
	if (c->split != NULL)
		pack_split_data(c->split, in->data + in->len, n);
	in->len += n;
	if (c->e.type == TAR_FILE) {
		rc = pack_batch_piece(c->b, &piece);
		if (rc == 0)
			rc = pack_cut_item(c, n);
	}
	c->at += n;
	c->left -= n;
	return rc == 0 && c->left == 0 ? end_data(c) : rc;
}
