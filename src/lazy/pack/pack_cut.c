/*
 * pack_cut.c - cutting an archive into units and pieces of files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the reader of the pipeline, which reads one entry at a time.  The
 * archive, and files with several pieces, must be hashed sequentially; both are
 * hashed here at the same time.
 *
 * The formats cannot represent holes, so sparse files are stored with their
 * holes as zeros, and with a new header.
 */
#include "pack_impl.h"

#include "base/array.h"
#include "base/sys.h"
#include "format/tar/tar.h"
#include "format/tar/tar_header.h"
#include "lazy/pack/pack_tree.h"
#include "pack_split.h"

#include <errno.h>
#include <string.h>

enum {
	BATCH = 1 << 20,		/* a batch ends with the unit in which
					 * it reaches this size */
	FIRST_ROOM = 64 << 10,
	HEADERS_MAX = 32 << 20,		/* maximum bytes between two files */
	TRAILER_MAX = 1 << 20		/* maximum bytes after the end of the
					 * archive */
};

#define HOLES_MAX (UINT64_C(1) << 36)	/* maximum total size of a file's
					 * holes */

struct pack_cut {
	struct pack *p;
	struct pack_names names;
	struct pack_split *split;	/* NULL: none */
	bool started, ended;
	uint64_t raw;			/* archive bytes read so far */
	uint64_t drop;			/* number of bytes still to be
					 * omitted */
	/* the current batch */
	struct slot *s;
	struct pack_batch *b;
	bool full;
	bool in_use;			/* the last unit contains a piece */
	size_t loose;			/* end of the last piece in s->in */
	size_t hashed;			/* end of the hashed data in s->in */
	/* the current entry */
	struct tar_entry e;
	struct strbuf head;		/* JSON of the entry */
	bool in_data, sparse;
	bool alone;			/* the file has a separate unit */
	struct tar_content content;
	uint64_t at, left;		/* position in the file and bytes left,
					 * including holes */
	bool several;			/* the file has more than one piece */
	struct digest *file;
	size_t file_from;		/* start of the file's unhashed data */
};

int
pack_cut_open(struct pack_cut **out, struct pack *p)
{
	struct pack_cut *c = sys_calloc(1, sizeof(*c));
	bool split = !p->format->in_archive && !p->o->no_tar_split &&
	    !p->o->stargz;
	int rc;

	if (c == NULL)
		return -ENOMEM;
	c->p = p;
	rc = digest_new_sha256(&c->file);
	if (rc == 0 && split)
		rc = pack_split_open(&c->split, p->level);
	if (rc != 0)
		pack_cut_close(c);
	else
		*out = c;
	return rc;
}

void
pack_cut_close(struct pack_cut *c)
{
	if (c == NULL)
		return;
	digest_free(c->file);
	pack_split_close(c->split);
	strbuf_free(&c->head);
	sys_free(c);
}

int
pack_cut_tar_split(struct pack_cut *c, const struct pack_store **store)
{
	*store = c->split == NULL ? NULL : &c->split->store;
	return c->split == NULL ? 0 : pack_split_end(c->split);
}

/* The batch; these return -ENOMEM, or NULL */

static int
add_unit(struct pack_batch *b, size_t at)
{
	void *p = b->units;
	int rc = array_grow(&p, b->unit_count, &b->unit_cap,
	    sizeof(*b->units));

	b->units = p;
	if (rc == 0)
		b->units[b->unit_count++] = (struct pack_unit){ .at = at };
	return rc;
}

static int
add_piece(struct pack_batch *b, const struct pack_piece *piece)
{
	void *p = b->pieces;
	int rc = array_grow(&p, b->piece_count, &b->piece_cap,
	    sizeof(*b->pieces));

	b->pieces = p;
	if (rc == 0)
		b->pieces[b->piece_count++] = *piece;
	return rc;
}

static struct pack_item *
new_item(struct pack_batch *b)
{
	void *p = b->items;
	int rc = array_grow(&p, b->item_count, &b->item_cap,
	    sizeof(*b->items));

	b->items = p;
	if (rc != 0)
		return NULL;
	b->items[b->item_count] = (struct pack_item){ .last = true };
	return &b->items[b->item_count++];
}

/* The stream */

/* Makes room for n more bytes in the stream. */
static int
reserve_stream(struct pack_cut *c, size_t n)
{
	struct buf *in = &c->s->in;

	if (in->cap - in->len >= n)
		return 0;
	return buf_reserve(in, in->len + n + in->len / 2);
}

/*
 * Appends n bytes that are not file data (NULL: zeros) to the stream.
 */
static int
append_stream(struct pack_cut *c, const void *data, size_t n)
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

/* Removes the last n bytes, which are not file data. */
static void
retract_stream(struct pack_cut *c, size_t n)
{
	c->s->in.len -= n;
	if (c->split != NULL)
		pack_split_cut(c->split, n);
}

/* Rejects the archive because it exceeds a limit. */
static int
refuse_archive(struct pack_cut *c, const char *why)
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
		return refuse_archive(c, "the headers between two files are "
		    "longer than 32 MiB");
	return append_stream(c, (const char *)data + skip, len - skip);
}

/* Returns the length of the padding at the current position in the archive. */
static size_t
padding_here(const struct pack_cut *c)
{
	return (size_t)(-c->raw % TAR_BLOCK);
}

/*
 * Hashes the stream up to its current end and, if a file with several pieces is
 * being read, hashes that file as well.
 */
static int
hash_stream(struct pack_cut *c)
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

/*
 * Adds an item for a piece of n bytes; the first item of a file contains the
 * text of its entry.
 */
static int
add_item(struct pack_cut *c, size_t n)
{
	struct pack_batch *b = c->b;
	struct pack_item *item = new_item(b);
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
		rc = hash_stream(c);
		if (rc == 0)
			rc = digest_end(c->file, item->digest);
	}
	return rc != 0 ? rc : b->text.failed ? -ENOMEM : 0;
}

/* Reads the next piece of the current file, unless the batch is full. */
static int
cut_piece(struct pack_cut *c)
{
	struct buf *in = &c->s->in;
	struct pack_batch *b = c->b;
	size_t n = (size_t)(c->left < c->p->chunk ? c->left : c->p->chunk);
	size_t used = in->len - b->units[b->unit_count - 1].at;
	struct pack_piece piece = { .at = in->len, .len = n };
	int rc = 0;

	/* small files share a unit */
	if (used > 0 && (!c->in_use || c->alone ||
	    used >= c->p->o->min_chunk || used + n > c->p->chunk)) {
		c->full = in->len >= BATCH;
		if (c->full)
			return 0;
		rc = add_unit(b, in->len);
	}
	c->in_data = c->in_use = true;
	piece.unit = b->unit_count - 1;
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
		rc = add_piece(b, &piece);
		if (rc == 0)
			rc = add_item(c, n);
	}
	c->at += n;
	c->left -= n;
	if (rc != 0 || c->left > 0)
		return rc;

	/* the file's data is complete */
	c->in_data = c->several = c->alone = false;
	c->loose = in->len;
	if (c->split != NULL)
		rc = pack_split_file(c->split, c->e.path, c->e.size);
	if (!c->sparse)
		return rc;
	c->drop = padding_here(c);
	return rc != 0 ? rc :
	    append_stream(c, NULL, (size_t)(-c->e.size % TAR_BLOCK));
}

/* Entries */

/*
 * Returns whether the entry exists only for the format, and must be
 * regenerated.
 */
static bool
is_ours(const struct pack_cut *c)
{
	const char *name = c->e.path;

	if (strncmp(name, "./", 2) == 0)
		name += 2;
	name += strspn(name, "/");
	if (c->e.type != TAR_FILE)
		return false;
	if (strcmp(name, LAYER_TOC) == 0)
		return true;
	return !c->p->source.arranged && (strcmp(name, LAYER_LANDMARK) == 0 ||
	    strcmp(name, LAYER_NO_LANDMARK) == 0);
}

static int
new_header(struct pack_cut *c, const struct tar_entry *e)
{
	struct strbuf header = { 0 };
	int rc;

	tar_header_file(&header, e);
	rc = header.failed ? -ENOMEM :
	    append_stream(c, header.data, header.len);
	strbuf_free(&header);
	return rc;
}

/* Begins an entry whose header is in the stream. */
static int
begin_entry(struct pack_cut *c)
{
	struct tar_entry *e = &c->e;
	struct pack_item *item;
	int rc = 0;

	strbuf_clear(&c->head);
	pack_toc_entry(&c->head, e, &c->names, c->split != NULL);
	c->left = e->type == TAR_FILE ? e->size : e->stored;
	c->at = 0;
	c->content = (struct tar_content){ .tar = c->p->source.tar, .e = e };
	c->several = e->type == TAR_FILE && c->left > c->p->chunk;
	if (c->several)
		rc = digest_start(c->file);
	if (rc == 0 && c->several)
		rc = digest_add(c->p->content, c->s->in.data + c->hashed,
		    c->s->in.len - c->hashed);
	c->hashed = c->several ? c->s->in.len : c->hashed;
	c->file_from = c->s->in.len;
	if (rc == 0 && c->split != NULL)
		rc = pack_split_header(c->split);
	if (rc != 0 || c->head.failed)
		return rc != 0 ? rc : -ENOMEM;
	if (e->type == TAR_FILE && c->left > 0)
		return 0;	/* the item is added with the file's first
				 * piece */
	item = new_item(c->b);
	if (item == NULL)
		return -ENOMEM;
	item->text = c->b->text.len;
	item->text_len = c->head.len;
	strbuf_add(&c->b->text, c->head.data, c->head.len);
	return c->b->text.failed ? -ENOMEM : 0;
}

/*
 * Ends the archive after its last entry, whose padding ends, or should end, at
 * keep.
 */
static int
end_entries(struct pack_cut *c, size_t keep)
{
	struct buf *in = &c->s->in;
	size_t before;
	int rc;

	c->p->r->flaw = tar_flaw(c->p->source.tar);
	if (c->p->format->in_archive) {
		rc = in->len >= keep ? 0 :
		    append_stream(c, NULL, keep - in->len);
		if (rc != 0)
			return rc;
		retract_stream(c, in->len - keep);
		c->drop = UINT64_MAX;
	}
	before = in->len;
	rc = c->p->source.end(c->p->source.arg);
	c->ended = true;
	if (rc == 0 && in->len - before > TRAILER_MAX)
		rc = refuse_archive(c, "more than 1 MiB follows the end of "
		    "the archive");
	return rc;
}

static int
cut_entry(struct pack_cut *c)
{
	struct pack *p = c->p;
	size_t keep = c->s->in.len + (c->drop > 0 ? 0 : padding_here(c));
	size_t header;
	int rc;

	c->full = c->s->in.len - c->loose >= BATCH;
	if (c->full)
		return 0;
	rc = tar_next(p->source.tar, &c->e);
	if (rc == 0)
		rc = pack_tree_end(p->tree, p->r, p->why_text);
	if (rc <= 0)
		return rc < 0 ? rc : end_entries(c, keep);
	rc = pack_tree_add(p->tree, &c->e, p->why_text);
	if (rc != 0)
		return rc;
	if (c->split != NULL && (pack_tree_again(p->tree) ||
	    !pack_split_fits(&c->e))) {
		pack_split_close(c->split);
		c->split = NULL;
	}
	c->sparse = c->e.type == TAR_FILE && (c->e.extents != NULL ||
	    c->e.size != c->e.stored);
	c->alone = p->source.arranged &&
	    strcmp(c->e.path, LAYER_LANDMARK) == 0;
	header = (size_t)(c->raw - c->e.header_offset);
	if (is_ours(c)) {
		retract_stream(c, header);
		c->drop = c->e.stored + (-(c->raw + c->e.stored) % TAR_BLOCK);
		return 0;
	}
	if (!c->alone) {
		p->r->entries++;
		p->r->files_B += c->e.type == TAR_FILE ? c->e.size : 0;
	}
	if (c->sparse) {
		/* converts the file to an ordinary one */
		if (c->e.size - c->e.stored > HOLES_MAX)
			return refuse_archive(c, "a sparse file has more than "
			    "64 GiB of holes, which the format cannot "
			    "represent");
		retract_stream(c, header);
		c->e.atime.known = c->e.ctime.known = false;
		rc = new_header(c, &c->e);
		if (rc != 0)
			return rc;
	}
	return begin_entry(c);
}

/* Writes the landmark of a layer without prioritized files. */
static int
add_no_landmark(struct pack_cut *c)
{
	static const uint8_t content = 0x0f;
	struct tar_entry landmark = { .type = TAR_FILE, .path =
		LAYER_NO_LANDMARK, .mode = 0644, .size = 1, .stored = 1,
		.link = "", .uname = "", .gname = "" };
	struct pack_piece piece = { .unit = 1, .len = 1 };
	int rc;

	c->started = true;
	if (c->p->source.arranged ||
	    (!c->p->format->in_archive && !c->p->o->stargz))
		return 0;
	c->e = landmark;
	rc = new_header(c, &landmark);
	if (rc == 0)
		rc = begin_entry(c);
	if (rc != 0)
		return rc;
	piece.at = c->s->in.len;
	rc = add_unit(c->b, piece.at);
	if (rc == 0)
		rc = append_stream(c, &content, 1);
	if (rc != 0)
		return rc;
	rc = add_piece(c->b, &piece);
	if (rc == 0)
		rc = add_item(c, 1);
	c->left = 0;
	return rc != 0 ? rc : append_stream(c, NULL, TAR_BLOCK - 1);
}

int
pack_cut_fill(void *job, struct input *in, struct slot *s)
{
	struct pack *p = job;
	struct pack_batch *b = &p->batches[s->seq % p->slots];
	struct pack_cut *c = p->cut;
	int rc;

	c->s = s;
	c->b = b;
	c->full = c->in_use = false;
	c->loose = c->hashed = c->file_from = 0;
	b->unit_count = b->piece_count = b->item_count = 0;
	strbuf_clear(&b->text);
	rc = buf_reserve(&s->in, FIRST_ROOM);
	if (rc == 0)
		rc = add_unit(b, 0);
	if (rc == 0 && !c->started)
		rc = add_no_landmark(c);
	while (rc == 0 && !c->ended && !c->full)
		rc = c->left > 0 ? cut_piece(c) : cut_entry(c);
	if (rc == 0)
		rc = hash_stream(c);
	for (size_t i = b->unit_count, end = s->in.len; i-- > 0;
	    end = b->units[i].at)
		b->units[i].len = end - b->units[i].at;
	p->r->content_size += s->in.len;
	s->last = c->ended;
	in->bytes = c->raw;
	return rc;
}
