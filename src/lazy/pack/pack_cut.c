/*
 * pack_cut.c - cutting an archive into units and pieces of files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the reader of the pipeline, which reads one entry at a time;
 * pack_cut_stream.c handles the bytes of the layer.
 *
 * The formats cannot represent holes, so sparse files are stored with their
 * holes as zeros, and with a new header.
 */
#include "pack_cut.h"

#include "base/sys.h"
#include "format/tar/tar_header.h"
#include "lazy/pack/pack_tree.h"

#include <errno.h>
#include <string.h>

enum {
	FIRST_ROOM = 64 << 10,
	TRAILER_MAX = 1 << 20		/* maximum bytes after the end of the
					 * archive */
};

#define HOLES_MAX (UINT64_C(1) << 36)	/* maximum total size of a file's
					 * holes */

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
	rc = digest_new(&c->file, p->sha256);
	if (rc == 0)
		rc = pack_names_open(&c->names);
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
	pack_names_free(c->names);
	pack_split_close(c->split);
	strbuf_free(&c->head);
	sys_free(c);
}

void
pack_cut_begin(struct pack_cut *c, const struct pack_source *source)
{
	c->from = *source;
}

uint64_t
pack_cut_read_B(const struct pack_cut *c)
{
	return c->raw;
}

int
pack_cut_tar_split(struct pack_cut *c, const struct pack_store **store)
{
	*store = c->split == NULL ? NULL : &c->split->store;
	return c->split == NULL ? 0 : pack_split_end(c->split);
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
	return !c->from.arranged && (strcmp(name, LAYER_LANDMARK) == 0 ||
	    strcmp(name, LAYER_NO_LANDMARK) == 0);
}

static int
new_header(struct pack_cut *c, const struct tar_entry *e)
{
	struct strbuf header = { 0 };
	int rc;

	tar_header_file(&header, e);
	rc = header.failed ? -ENOMEM :
	    pack_cut_append(c, header.data, header.len);
	strbuf_free(&header);
	return rc;
}

/* Converts a sparse file to an ordinary file. */
static int
fill_holes(struct pack_cut *c)
{
	if (c->e.size - c->e.stored > HOLES_MAX)
		return pack_cut_refuse(c, "a sparse file has more than 64 GiB "
		    "of holes, which the format cannot represent");
	pack_cut_retract(c, (size_t)(c->raw - c->e.header_offset));
	return new_header(c, &c->e);
}

/* Begins an entry whose header is in the stream. */
static int
begin_entry(struct pack_cut *c)
{
	struct tar_entry *e = &c->e;
	struct pack_item *item;
	int rc = 0;

	strbuf_clear(&c->head);
	pack_toc_entry(&c->head, e, c->names);
	c->left = e->type == TAR_FILE ? e->size : e->stored;
	c->at = 0;
	c->content = (struct tar_content){ .tar = c->from.tar, .e = e };
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
	item = pack_batch_item(c->b);
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
end_archive(struct pack_cut *c, size_t keep)
{
	struct buf *in = &c->s->in;
	size_t before;
	int rc;

	c->p->r->flaw = tar_flaw(c->from.tar);
	if (c->p->format->in_archive) {
		rc = in->len >= keep ? 0 :
		    pack_cut_append(c, NULL, keep - in->len);
		if (rc != 0)
			return rc;
		pack_cut_retract(c, in->len - keep);
		c->drop = UINT64_MAX;
	}
	before = in->len;
	rc = c->from.end(c->from.arg);
	c->ended = true;
	if (rc == 0 && in->len - before > TRAILER_MAX)
		rc = pack_cut_refuse(c, "more than 1 MiB follows the end of "
		    "the archive");
	return rc;
}

static int
cut_entry(struct pack_cut *c)
{
	size_t keep = c->s->in.len + (c->drop > 0 ? 0 : pack_cut_padding(c));
	int rc;

	c->full = c->s->in.len - c->loose >= PACK_CUT_BATCH;
	if (c->full)
		return 0;
	rc = tar_next(c->from.tar, &c->e);
	if (rc == 0)
		rc = pack_tree_end(c->p->tree, c->p->r, c->p->why_text);
	if (rc <= 0)
		return rc < 0 ? rc : end_archive(c, keep);
	rc = pack_tree_add(c->p->tree, &c->e, c->p->why_text);
	if (rc != 0)
		return rc;
	c->sparse = c->e.type == TAR_FILE && (c->e.extents != NULL ||
	    c->e.size != c->e.stored);
	c->alone = c->from.arranged && strcmp(c->e.path, LAYER_LANDMARK) == 0;
	if (is_ours(c)) {
		pack_cut_retract(c, (size_t)(c->raw - c->e.header_offset));
		c->drop = c->e.stored + (-(c->raw + c->e.stored) % TAR_BLOCK);
		return 0;
	}
	if (!c->alone) {
		c->p->r->entries++;
		c->p->r->files_B += c->e.type == TAR_FILE ? c->e.size : 0;
	}
	rc = c->sparse ? fill_holes(c) : 0;
	return rc != 0 ? rc : begin_entry(c);
}

/* Writes the landmark of a layer without prioritized files. */
static int
begin_archive(struct pack_cut *c)
{
	static const uint8_t content = 0x0f;
	struct tar_entry landmark = { .type = TAR_FILE, .path =
		LAYER_NO_LANDMARK, .mode = 0644, .size = 1, .stored = 1,
		.link = "", .uname = "", .gname = "" };
	struct pack_piece piece = { .unit = 1, .len = 1 };
	int rc;

	c->started = true;
	if (c->from.arranged ||
	    (!c->p->format->in_archive && !c->p->o->stargz))
		return 0;
	c->e = landmark;
	rc = new_header(c, &landmark);
	if (rc == 0)
		rc = begin_entry(c);
	if (rc != 0)
		return rc;
	piece.at = c->s->in.len;
	rc = pack_batch_unit(c->b, piece.at);
	if (rc == 0)
		rc = pack_cut_append(c, &content, 1);
	if (rc != 0)
		return rc;
	rc = pack_batch_piece(c->b, &piece);
	if (rc == 0)
		rc = pack_cut_item(c, 1);
	c->left = 0;
	return rc != 0 ? rc : pack_cut_append(c, NULL, TAR_BLOCK - 1);
}

/* Sets the length of each unit. */
static void
set_lengths(struct pack_batch *b, size_t end)
{
	for (size_t i = b->unit_count; i-- > 0; end = b->units[i].at)
		b->units[i].len = end - b->units[i].at;
}

int
pack_cut_fill(struct pack_cut *c, struct slot *s, struct pack_batch *b)
{
	int rc;

	c->s = s;
	c->b = b;
	c->full = c->in_use = false;
	c->loose = c->hashed = c->file_from = 0;
	pack_batch_clear(b);
	rc = buf_reserve(&s->in, FIRST_ROOM);
	if (rc == 0)
		rc = pack_batch_unit(b, 0);
	if (rc == 0 && !c->started)
		rc = begin_archive(c);
	while (rc == 0 && !c->ended && !c->full)
		rc = c->left > 0 ? pack_cut_piece(c) : cut_entry(c);
	if (rc == 0)
		rc = pack_cut_hash(c);
	set_lengths(b, s->in.len);
	c->p->r->content_size += s->in.len;
	s->last = c->ended;
	return rc;
}
