/*
 * toc_compact.c - fetching, reading and checking a compact index
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The columns of a block are turned back into the items of a table of contents,
 * which toc_read.c checks like those of the original.
 */
#include "lazy/toc/toc_compact.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/toc/toc_json.h"
#include "lazy/toc/toc_wrapping.h"

#include "toc_parts.h"

#include <errno.h>
#include <string.h>

struct compact_column {
	const uint8_t *at, *end;
};

struct compact {
	const struct toc_compact_source *source;
	uint64_t content;		/* bytes read */
	uint8_t *block;
	size_t cap;
	struct compact_column columns[COMPACT_COLUMNS];
	bool bad, no_memory;
	/* the previous entry */
	struct strbuf name;
	uint64_t names;			/* length of all names */
	uint64_t chunks;		/* entries of this type */
	char time[UTC_B];
	int64_t offset;
	int64_t file_at;		/* end of the entry's last chunk, in the
					 * file */
	struct tar_xattr *xattrs;
	size_t xattr_cap;
};

const char *const toc_compact_types[COMPACT_TYPES] = {
	[COMPACT_REG] = "reg", [COMPACT_HARDLINK] = "hardlink",
	[COMPACT_SYMLINK] = "symlink", [COMPACT_CHAR] = "char",
	[COMPACT_BLOCK] = "block", [COMPACT_DIR] = "dir",
	[COMPACT_FIFO] = "fifo", [COMPACT_CHUNK] = "chunk"
};

/* Values; after an error, the column is empty and c->bad is set */

static int
compact_damaged(char why[LAYER_WHY])
{
	return layer_refuse(why, -EBADMSG, "the compact index is damaged");
}

static uint8_t
next_byte(struct compact *c, size_t column)
{
	struct compact_column *from = &c->columns[column];

	c->bad = c->bad || from->at == from->end;
	return c->bad ? 0 : *from->at++;
}

static int64_t
next_number(struct compact *c, enum compact_number which)
{
	size_t column = COMPACT_TEXTS + (size_t)which * COMPACT_PLANES;
	uint64_t value = 0;
	unsigned shift = 0, plane = 0;
	uint8_t byte;

	do {
		byte = next_byte(c, column + plane);
		/* the result is at most 2^63 - 1 */
		if (shift > 56) {
			c->bad = true;
			return 0;
		}
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		plane += plane < COMPACT_PLANES - 1;
	} while ((byte & 0x80) != 0);
	return (int64_t)value;
}

/* Returns len bytes of a column, followed by a NUL; "" on error. */
static const char *
next_bytes(struct compact *c, size_t column, uint64_t len)
{
	struct compact_column *from = &c->columns[column];
	const char *next_text = (const char *)from->at;

	if (c->bad || len >= (uint64_t)(from->end - from->at) ||
	    next_text[len] != '\0') {
		c->bad = true;
		return "";
	}
	from->at += len + 1;
	return next_text;
}

static const char *
next_text(struct compact *c, size_t column)
{
	const struct compact_column *from = &c->columns[column];
	const uint8_t *nul = from->at == from->end ? NULL : memchr(from->at,
	    0, (size_t)(from->end - from->at));

	return next_bytes(c, column, nul == NULL ? UINT64_MAX :
	    (uint64_t)(nul - from->at));
}

/* Entries */

static void
read_xattrs(struct compact *c, struct toc_item *item)
{
	uint64_t count = (uint64_t)next_number(c, COMPACT_ATTRIBUTES);
	void *xattrs = c->xattrs;
	struct tar_xattr *x;

	/* each attribute takes at least two bytes of an entry's text */
	if (count > TAR_EXTENSION_MAX / 2)
		c->bad = true;
	for (uint64_t i = 0; i < count && !c->bad; i++) {
		if (array_grow(&xattrs, (size_t)i, &c->xattr_cap,
		    sizeof(*x)) != 0)
			c->no_memory = c->bad = true;
		c->xattrs = xattrs;
		if (c->bad)
			return;
		x = &c->xattrs[i];
		x->name = next_text(c, COMPACT_XATTRS);
		x->length = (size_t)next_number(c, COMPACT_VALUE);
		x->value = next_bytes(c, COMPACT_XATTRS, x->length);
	}
	item->xattrs = c->xattrs;
	item->xattr_count = (size_t)count;
}

static int
read_item(struct compact *c, struct toc_reader *r, char why[LAYER_WHY])
{
	unsigned type = next_byte(c, COMPACT_TYPE);
	struct toc_item item = { .what = TOC_ENTRY };
	const char *when, *rest;
	uint64_t shared;

	if (c->bad || type >= COMPACT_TYPES)
		return compact_damaged(why);
	for (int i = 0; i < TOC_TEXTS; i++)
		item.text[i] = "";
	item.text[TOC_TYPE] = toc_compact_types[type];
	if (type != COMPACT_CHUNK) {
		/* the name shares a prefix with the previous one */
		shared = (uint64_t)next_number(c, COMPACT_SHARED);
		rest = next_text(c, COMPACT_NAME);
		if (shared > c->name.len)
			return compact_damaged(why);
		c->name.len = (size_t)shared;
		strbuf_add(&c->name, rest, strlen(rest) + 1);
		if (c->name.failed)
			return layer_refuse(why, -ENOMEM, "%s",
			    strerror(ENOMEM));
		c->names += c->name.len--;
		item.text[TOC_NAME] = c->name.data;
		when = next_text(c, COMPACT_TIME);
		if (strlen(when) >= sizeof(c->time))
			c->bad = true;
		else if (strcmp(when, "=") != 0)
			strcpy(c->time, when);
		item.text[TOC_MODTIME] = c->time;
		item.text[TOC_UNAME] = next_text(c, COMPACT_USER);
		item.text[TOC_GNAME] = next_text(c, COMPACT_GROUP);
		item.number[TOC_MODE] = next_number(c, COMPACT_MODE);
		item.number[TOC_UID] = next_number(c, COMPACT_UID);
		item.number[TOC_GID] = next_number(c, COMPACT_GID);
		read_xattrs(c, &item);
		if (type == COMPACT_HARDLINK || type == COMPACT_SYMLINK)
			item.text[TOC_LINK] = next_text(c, COMPACT_LINK);
		if (type == COMPACT_CHAR || type == COMPACT_BLOCK) {
			item.number[TOC_MAJOR] = next_number(c, COMPACT_MAJOR);
			item.number[TOC_MINOR] = next_number(c, COMPACT_MINOR);
		}
		if (type == COMPACT_REG)
			item.number[TOC_SIZE] = next_number(c, COMPACT_SIZE);
		c->file_at = 0;
	}
	if (type == COMPACT_CHUNK || item.number[TOC_SIZE] > 0) {
		/* the location of a chunk */
		int64_t step = next_number(c, COMPACT_STEP), length;

		if (step > INT64_MAX - c->offset)
			return compact_damaged(why);
		c->offset += step;
		length = next_number(c, COMPACT_LENGTH);
		if (length > INT64_MAX - c->file_at)
			return compact_damaged(why);
		item.number[TOC_OFFSET] = c->offset;
		item.number[TOC_INNER] = next_number(c, COMPACT_INNER);
		item.number[TOC_CHUNK_OFFSET] = c->file_at;
		item.number[TOC_CHUNK_SIZE] = length;
		c->file_at += length;
	}
	if (c->no_memory)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	if (c->names > LAYER_INDEX_MAX)
		return layer_refuse(why, -EFBIG, "the compact index has more "
		    "than 256 MiB of names");
	if (c->bad)
		return compact_damaged(why);
	if (type == COMPACT_CHUNK && ++c->chunks > LAYER_ENTRIES_MAX)
		return layer_refuse(why, -EFBIG, "the compact index has too "
		    "many chunks");
	return toc_reader_take(r, &item, why);
}

/* Blocks */

/* Reads all blocks, and adds their entries. */
static int
read_blocks(struct compact *c, struct toc_reader *r, char why[LAYER_WHY])
{
	const struct toc_compact_source *s = c->source;
	uint8_t raw[4], lengths[4 * COMPACT_COLUMNS];
	uint64_t total;
	int rc;

	while ((rc = s->read(s->arg, raw, sizeof(raw))) == 0 &&
	    load_le32(raw) != 0) {
		rc = s->read(s->arg, lengths, sizeof(lengths));
		if (rc != 0)
			return rc;
		total = 0;
		for (size_t i = 0; i < COMPACT_COLUMNS; i++)
			total += load_le32(lengths + 4 * i);
		c->content += sizeof(lengths) + total;
		if (total > COMPACT_BLOCK_MAX || c->content > LAYER_INDEX_MAX)
			return layer_refuse(why, -EFBIG, "the compact index is "
			    "too large");
		if (c->block == NULL || total > c->cap) {
			sys_free(c->block);
			/* empty columns, too, point into it */
			c->block = sys_malloc((size_t)total + 1);
			c->cap = c->block == NULL ? 0 : (size_t)total;
			if (c->block == NULL)
				return -ENOMEM;
		}
		rc = s->read(s->arg, c->block, (size_t)total);
		total = 0;
		for (size_t i = 0; i < COMPACT_COLUMNS; i++) {
			c->columns[i].at = c->block + total;
			total += load_le32(lengths + 4 * i);
			c->columns[i].end = c->block + total;
		}
		for (uint32_t i = 0; rc == 0 && i < load_le32(raw); i++)
			rc = read_item(c, r, why);
		if (rc != 0)
			return rc;
		for (size_t i = 0; i < COMPACT_COLUMNS; i++)
			if (c->columns[i].at != c->columns[i].end)
				return compact_damaged(why);
	}
	return rc;
}

enum { STRIDE_MIN = TOC_BLOCK * LAYER_DIGEST, STRIDE_MAX = STRIDE_MIN + 64 };

int
toc_compact_read(struct layer *l, const struct toc_compact_source *source,
    char why[LAYER_WHY])
{
	struct compact *c = sys_calloc(1, sizeof(*c));
	struct toc *t = sys_calloc(1, sizeof(*t));
	struct toc_reader *r = NULL;
	uint8_t raw[COMPACT_TRAILER];
	struct toc_blocks *b;
	size_t count, last;
	uint64_t length;
	int rc = -ENOMEM;

	l->state = t;
	if (c == NULL || t == NULL)
		goto out;
	c->source = source;
	rc = toc_reader_open(&r, t, &l->index, false);
	if (rc == 0)
		rc = read_blocks(c, r, why);
	if (rc == 0)
		rc = source->read(source->arg, raw, sizeof(raw));
	if (rc != 0)
		goto out;
	/* the trailer */
	t->trace.offset = load_le64(raw + 8);
	t->trace.length = load_le64(raw + 16);
	memcpy(t->trace.digest, raw + 24, LAYER_DIGEST);
	b = &t->blocks;
	b->first = load_le64(raw + 64);
	b->stride = load_le64(raw + 72);
	/* all digest blocks must be within the layer */
	count = (t->chunk_count + TOC_BLOCK - 1) / TOC_BLOCK;
	last = count == 0 ? 0 : count - 1;
	length = last * b->stride + toc_block_length(t->chunk_count, last);
	if (load_le64(raw) > l->size ||
	    load_le64(raw + 56) != t->chunk_count ||
	    b->stride < STRIDE_MIN || b->stride > STRIDE_MAX ||
	    length > l->size || b->first > l->size - length) {
		rc = compact_damaged(why);
		goto out;
	}
	b->digests = sys_malloc((count + 1) * LAYER_DIGEST);
	rc = b->digests == NULL ? -ENOMEM : source->read(source->arg,
	    b->digests, count * LAYER_DIGEST);
	if (rc == 0)
		rc = toc_place_units(t, &l->index, load_le64(raw), why);
	for (size_t i = 0; rc == 0 && i < l->index.unit_count; i++)
		l->index.units[i].stored += toc_block_bytes(l, (uint32_t)i);
out:
	toc_reader_close(r);
	if (c != NULL) {
		strbuf_free(&c->name);
		sys_free(c->xattrs);
		sys_free(c->block);
	}
	sys_free(c);
	return rc;
}

/* The input */

struct fetched {
	struct toc_input in;
	const uint8_t *first;		/* the first piece; NULL: used */
	size_t first_len;
	struct toc_parts parts;
	char *why;
};

static ssize_t
next_piece(void *arg, const uint8_t **data)
{
	struct fetched *i = arg;

	if (i->first == NULL)
		return toc_input_next(&i->in, data, i->why);
	*data = i->first;
	i->first = NULL;
	return (ssize_t)i->first_len;
}

static int
read_parts(void *arg, void *buf, size_t len)
{
	struct fetched *i = arg;
	int rc = toc_parts_read(&i->parts, buf, len);

	return rc == -EBADMSG ? compact_damaged(i->why) : rc;
}

int
toc_compact_load(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct fetched i = { .in = { .l = l, .at = e->compact_offset,
		.left = e->compact_length }, .why = why };
	const struct toc_compact_source source = { .read = read_parts,
		.arg = &i };
	int rc = 0, end;
	/* the first piece reveals the format */
	ssize_t n = toc_input_next(&i.in, &i.first, why);

	if (n <= 0) {
		rc = n < 0 ? (int)n : compact_damaged(why);
		goto out;
	}
	i.first_len = (size_t)n;
	rc = l->blobs->size(l->blobs->arg, NULL, &l->size);
	if (rc != 0) {
		layer_refuse(why, rc, "%s", strerror(-rc));
		goto out;
	}
	l->format = i.first[0] == 0x1f ? &format_estargz :
	    &format_zstd_chunked;
	i.parts = (struct toc_parts){ .wrapping = toc_wrapping_of(
		l->format->kind), .next = next_piece, .arg = &i,
		.left = e->compact_length };
	rc = toc_parts_open(&i.parts, COMPACT_WINDOW_LOG);
	if (rc != 0)
		goto out;
	rc = toc_compact_read(l, &source, why);
	if (rc != 0 && rc != -EBADMSG && rc != -EFBIG)
		goto out;
	/*
	 * verify the digest of everything, also if an entry is invalid: then
	 * damage is the likely reason
	 */
	end = toc_parts_end(&i.parts, e->compact_digest);
	if (end == -EBADMSG)
		layer_refuse(why, end, "the compact index does not match the "
		    "expected digest");
	rc = end == 0 ? rc : end;
out:
	toc_parts_close(&i.parts);
	toc_input_close(&i.in);
	return rc;
}

/* Comparing it with the table of contents */

static bool
same_entry(const struct layer_entry *a, const struct layer_entry *b)
{
	if (a->type != b->type || strcmp(a->path, b->path) != 0 ||
	    strcmp(a->link, b->link) != 0 ||
	    strcmp(a->uname, b->uname) != 0 ||
	    strcmp(a->gname, b->gname) != 0 || a->mode != b->mode ||
	    a->major != b->major || a->minor != b->minor ||
	    a->uid != b->uid || a->gid != b->gid || a->mtime != b->mtime ||
	    a->mtime_ns != b->mtime_ns || a->size != b->size ||
	    a->run_count != b->run_count || a->xattr_count != b->xattr_count)
		return false;
	for (size_t i = 0; i < a->run_count; i++) {
		const struct layer_run *x = &a->runs[i], *y = &b->runs[i];

		if (x->offset != y->offset || x->length != y->length ||
		    x->inner != y->inner || x->unit != y->unit)
			return false;
	}
	for (size_t i = 0; i < a->xattr_count; i++) {
		const struct tar_xattr *x = &a->xattrs[i], *y = &b->xattrs[i];

		if (strcmp(x->name, y->name) != 0 || x->length != y->length ||
		    memcmp(x->value, y->value, x->length) != 0)
			return false;
	}
	return true;
}

int
layer_check_compact(const struct layer *l, char why[LAYER_WHY])
{
	const struct toc *t = l->state, *u;
	struct layer_expect e = { .kind = layer_kind_name(layer_kind(l)) };
	uint8_t block[TOC_BLOCK * LAYER_DIGEST], sum[DIGEST_MAX];
	const struct layer_entry *a, *b;
	size_t count, other;
	struct layer *c;
	bool same;
	int rc;

	if (toc_wrapping_of(layer_kind(l)) == NULL || t->compact.length == 0)
		return 0;
	e.compact_digest = t->compact.digest;
	e.compact_offset = t->compact.offset;
	e.compact_length = t->compact.length;
	rc = layer_open(&c, l->blobs, &e, why);
	if (rc != 0)
		return rc;
	rc = -EBADMSG;
	a = layer_entries(l, &count);
	b = layer_entries(c, &other);
	for (size_t i = 0; i < count && i < other; i++)
		if (!same_entry(&a[i], &b[i])) {
			layer_refuse(why, rc, "the compact index differs from "
			    "the index at %.150s", a[i].path);
			goto out;
		}
	if (count != other) {
		layer_refuse(why, rc, "the compact index has %zu entries, but "
		    "the index has %zu", other, count);
		goto out;
	}
	/* the positions of the units, and those of other parts */
	u = c->state;
	same = l->index.unit_count == c->index.unit_count &&
	    t->chunk_count == u->chunk_count && t->prefetch == u->prefetch &&
	    t->trace.length == u->trace.length && (t->trace.length == 0 ||
	    (t->trace.offset == u->trace.offset &&
	    memcmp(t->trace.digest, u->trace.digest, LAYER_DIGEST) == 0));
	for (size_t i = 0; same && i < l->index.unit_count; i++)
		same = t->units[i].offset == u->units[i].offset &&
		    l->index.units[i].content == c->index.units[i].content;
	if (!same) {
		layer_refuse(why, rc, "the compact index and the index "
		    "disagree on where data is stored");
		goto out;
	}
	for (size_t n = 0; n < t->chunk_count; n += TOC_BLOCK) {
		const uint8_t *digest = u->blocks.digests[n / TOC_BLOCK];
		struct layer_range r = { .offset = u->blocks.first +
			n / TOC_BLOCK * u->blocks.stride, .buf = block,
			.length = toc_block_length(u->chunk_count,
			n / TOC_BLOCK) };

		rc = c->blobs->read(c->blobs->arg, &r, 1);
		if (rc == 0)
			rc = digest_sha256(block, (size_t)r.length, sum);
		if (rc != 0) {
			layer_refuse(why, rc, "the digests cannot be read: %s",
			    strerror(-rc));
			goto out;
		}
		rc = -EBADMSG;
		if (memcmp(sum, digest, LAYER_DIGEST) != 0) {
			layer_refuse(why, rc, "the digests from chunk %zu do "
			    "not match the compact index", n);
			goto out;
		}
		if (memcmp(block, t->digests[n], (size_t)r.length) != 0) {
			layer_refuse(why, rc, "the digests from chunk %zu "
			    "differ from the index", n);
			goto out;
		}
	}
	rc = 0;
out:
	layer_close(c);
	return rc;
}
