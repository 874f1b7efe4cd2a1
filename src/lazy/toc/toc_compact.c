/*
 * toc_compact.c - reading the entries of a compact index
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The columns of a block are turned back into the items of a table of contents,
 * which toc_read.c checks like those of the original.
 */
#include "lazy/toc/toc_compact.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "toc_compact_impl.h"
#include "lazy/toc/toc_json.h"

#include <errno.h>
#include <string.h>

const char *const toc_compact_types[COMPACT_TYPES] = {
	[COMPACT_REG] = "reg", [COMPACT_HARDLINK] = "hardlink",
	[COMPACT_SYMLINK] = "symlink", [COMPACT_CHAR] = "char",
	[COMPACT_BLOCK] = "block", [COMPACT_DIR] = "dir",
	[COMPACT_FIFO] = "fifo", [COMPACT_CHUNK] = "chunk"
};

/* Values; after an error, the column is empty and c->bad is set */

static uint8_t
next_byte(struct compact *c, size_t column)
{
	struct compact_column *from = &c->columns[column];

	c->bad = c->bad || from->at == from->end;
	return c->bad ? 0 : *from->at++;
}

static int64_t
number(struct compact *c, enum compact_number which)
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
bytes(struct compact *c, size_t column, uint64_t len)
{
	struct compact_column *from = &c->columns[column];
	const char *text = (const char *)from->at;

	if (c->bad || len >= (uint64_t)(from->end - from->at) ||
	    text[len] != '\0') {
		c->bad = true;
		return "";
	}
	from->at += len + 1;
	return text;
}

static const char *
text(struct compact *c, size_t column)
{
	const struct compact_column *from = &c->columns[column];
	const uint8_t *nul = from->at == from->end ? NULL : memchr(from->at,
	    0, (size_t)(from->end - from->at));

	return bytes(c, column, nul == NULL ? UINT64_MAX :
	    (uint64_t)(nul - from->at));
}

/* Entries */

/* Rebuilds a name from the previous one. */
static const char *
name(struct compact *c)
{
	uint64_t shared = (uint64_t)number(c, COMPACT_SHARED);
	const char *rest = text(c, COMPACT_NAME);

	if (shared > c->name.len) {
		c->bad = true;
		return "";
	}
	c->name.len = (size_t)shared;
	strbuf_add(&c->name, rest, strlen(rest) + 1);
	if (c->name.failed)
		return "";
	c->names += c->name.len;
	c->name.len--;
	return c->name.data;
}

static const char *
time_of(struct compact *c)
{
	const char *when = text(c, COMPACT_TIME);

	if (strcmp(when, "=") == 0)
		return c->time;
	if (strlen(when) >= sizeof(c->time))
		c->bad = true;
	else
		strcpy(c->time, when);
	return c->time;
}

static void
read_xattrs(struct compact *c, struct toc_item *item)
{
	uint64_t count = (uint64_t)number(c, COMPACT_ATTRIBUTES);
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
		x->name = text(c, COMPACT_XATTRS);
		x->length = (size_t)number(c, COMPACT_VALUE);
		x->value = bytes(c, COMPACT_XATTRS, x->length);
	}
	item->xattrs = c->xattrs;
	item->xattr_count = (size_t)count;
}

/* Reads the location of a chunk. */
static void
read_data(struct compact *c, struct toc_item *item)
{
	int64_t step = number(c, COMPACT_STEP);

	if (step > INT64_MAX - c->offset) {
		c->bad = true;
		return;
	}
	c->offset += step;
	item->number[TOC_OFFSET] = c->offset;
	item->number[TOC_INNER] = number(c, COMPACT_INNER);
	item->number[TOC_CHUNK_OFFSET] = c->file_at;
	item->number[TOC_CHUNK_SIZE] = number(c, COMPACT_LENGTH);
	if (item->number[TOC_CHUNK_SIZE] > INT64_MAX - c->file_at)
		c->bad = true;
	else
		c->file_at += item->number[TOC_CHUNK_SIZE];
}

static void
read_entry(struct compact *c, unsigned type, struct toc_item *item)
{
	item->text[TOC_NAME] = name(c);
	item->text[TOC_MODTIME] = time_of(c);
	item->text[TOC_UNAME] = text(c, COMPACT_USER);
	item->text[TOC_GNAME] = text(c, COMPACT_GROUP);
	item->number[TOC_MODE] = number(c, COMPACT_MODE);
	item->number[TOC_UID] = number(c, COMPACT_UID);
	item->number[TOC_GID] = number(c, COMPACT_GID);
	read_xattrs(c, item);
	if (type == COMPACT_HARDLINK || type == COMPACT_SYMLINK)
		item->text[TOC_LINK] = text(c, COMPACT_LINK);
	if (type == COMPACT_CHAR || type == COMPACT_BLOCK) {
		item->number[TOC_MAJOR] = number(c, COMPACT_MAJOR);
		item->number[TOC_MINOR] = number(c, COMPACT_MINOR);
	}
	if (type == COMPACT_REG)
		item->number[TOC_SIZE] = number(c, COMPACT_SIZE);
	c->file_at = 0;
}

static int
read_item(struct compact *c, struct toc_reader *r, char why[LAYER_WHY])
{
	unsigned type = next_byte(c, COMPACT_TYPE);
	struct toc_item item = { .what = TOC_ENTRY };

	if (c->bad || type >= COMPACT_TYPES)
		return compact_damaged(why);
	for (int i = 0; i < TOC_TEXTS; i++)
		item.text[i] = "";
	item.text[TOC_TYPE] = toc_compact_types[type];
	if (type != COMPACT_CHUNK)
		read_entry(c, type, &item);
	if (type == COMPACT_CHUNK || item.number[TOC_SIZE] > 0)
		read_data(c, &item);
	if (c->name.failed || c->no_memory)
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

static int
make_room(struct compact *c, size_t n)
{
	if (c->block != NULL && n <= c->cap)
		return 0;
	sys_free(c->block);
	/* empty columns, too, point into it */
	c->block = sys_malloc(n + 1);
	c->cap = c->block == NULL ? 0 : n;
	return c->block == NULL ? -ENOMEM : 0;
}

/* Reads the columns of a block. */
static int
read_columns(struct compact *c, char why[LAYER_WHY])
{
	uint8_t raw[4 * COMPACT_COLUMNS];
	uint64_t total = 0;
	int rc = c->source->read(c->source->arg, raw, sizeof(raw));

	for (size_t i = 0; rc == 0 && i < COMPACT_COLUMNS; i++)
		total += load_le32(raw + 4 * i);
	c->content += sizeof(raw) + total;
	if (rc == 0 && (total > COMPACT_BLOCK_MAX ||
	    c->content > LAYER_INDEX_MAX))
		return layer_refuse(why, -EFBIG, "the compact index is too "
		    "large");
	if (rc == 0)
		rc = make_room(c, (size_t)total);
	if (rc == 0)
		rc = c->source->read(c->source->arg, c->block, (size_t)total);
	total = 0;
	for (size_t i = 0; rc == 0 && i < COMPACT_COLUMNS; i++) {
		c->columns[i].at = c->block + total;
		total += load_le32(raw + 4 * i);
		c->columns[i].end = c->block + total;
	}
	return rc;
}

static bool
is_used_up(const struct compact *c)
{
	for (size_t i = 0; i < COMPACT_COLUMNS; i++)
		if (c->columns[i].at != c->columns[i].end)
			return false;
	return true;
}

int
compact_blocks(struct compact *c, struct toc_reader *r, char why[LAYER_WHY])
{
	uint8_t raw[4];
	int rc;

	while ((rc = c->source->read(c->source->arg, raw, sizeof(raw))) == 0 &&
	    load_le32(raw) != 0) {
		rc = read_columns(c, why);
		for (uint32_t i = 0; rc == 0 && i < load_le32(raw); i++)
			rc = read_item(c, r, why);
		if (rc != 0)
			return rc;
		if (!is_used_up(c))
			return compact_damaged(why);
	}
	return rc;
}
