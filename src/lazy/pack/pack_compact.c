/*
 * pack_compact.c - writing the compact index
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/toc/toc_compact.h"
#include "lazy/toc/toc_json.h"

#include <errno.h>
#include <string.h>

enum {
	/*
	 * A block has this many entries, or slightly more than this much text
	 */
	ENTRIES = 16384, TEXT = 4 << 20,
	LEVEL = 19, FAST_LEVEL = 3
};

struct pack_compact {
	struct toc_json *json;
	struct pack_store store;	/* complete blocks */
	struct strbuf columns[COMPACT_COLUMNS];
	uint32_t entries;		/* in the columns */
	size_t text;			/* bytes of names and attributes */
	/* the previous entry */
	struct strbuf name;
	char time[UTC_B];
	int64_t offset, file_at;	/* of the previous chunk, and its end */
	bool internal;			/* the entry's chunks are not read */
	struct strbuf digests;
	char why[LAYER_WHY];
};

static void
put_number(struct pack_compact *c, enum compact_number which, int64_t number)
{
	struct strbuf *to = &c->columns[COMPACT_TEXTS + (size_t)which *
	    COMPACT_PLANES];
	uint64_t value = (uint64_t)number;
	int plane = 0;

	for (; value >= 0x80; value >>= 7) {
		strbuf_char(to + plane, (char)(value | 0x80));
		plane += plane < COMPACT_PLANES - 1;
	}
	strbuf_char(to + plane, (char)value);
}

/* Writes len bytes and a NUL. */
static void
put_text(struct pack_compact *c, size_t column, const char *text, size_t len)
{
	strbuf_add(&c->columns[column], text, len);
	strbuf_char(&c->columns[column], '\0');
	c->text += len;
}

static void
put_cstring(struct pack_compact *c, size_t column, const char *text)
{
	put_text(c, column, text, strlen(text));
}

/* Adds an entry that is not a chunk to the columns. */
static int
put_columns(struct pack_compact *c, int type, const struct toc_item *item)
{
	const int64_t *n = item->number;
	const char *name = item->text[TOC_NAME];
	const char *time = item->text[TOC_MODTIME];
	size_t len = strlen(name), shared = 0;

	while (shared < len && shared < c->name.len &&
	    name[shared] == c->name.data[shared])
		shared++;
	put_number(c, COMPACT_SHARED, (int64_t)shared);
	put_text(c, COMPACT_NAME, name + shared, len - shared);
	strbuf_clear(&c->name);
	strbuf_add(&c->name, name, len);
	put_cstring(c, COMPACT_USER, item->text[TOC_UNAME]);
	put_cstring(c, COMPACT_GROUP, item->text[TOC_GNAME]);
	put_number(c, COMPACT_MODE, n[TOC_MODE]);
	put_number(c, COMPACT_UID, n[TOC_UID]);
	put_number(c, COMPACT_GID, n[TOC_GID]);
	put_number(c, COMPACT_ATTRIBUTES, (int64_t)item->xattr_count);
	for (size_t i = 0; i < item->xattr_count; i++) {
		const struct tar_xattr *x = &item->xattrs[i];

		put_cstring(c, COMPACT_XATTRS, x->name);
		put_number(c, COMPACT_VALUE, (int64_t)x->length);
		put_text(c, COMPACT_XATTRS, x->value, x->length);
	}
	if (type == COMPACT_HARDLINK || type == COMPACT_SYMLINK)
		put_cstring(c, COMPACT_LINK, item->text[TOC_LINK]);
	if (type == COMPACT_CHAR || type == COMPACT_BLOCK) {
		put_number(c, COMPACT_MAJOR, n[TOC_MAJOR]);
		put_number(c, COMPACT_MINOR, n[TOC_MINOR]);
	}
	if (type == COMPACT_REG)
		put_number(c, COMPACT_SIZE, n[TOC_SIZE]);
	c->file_at = 0;
	c->internal = toc_is_internal(item);
	if (c->name.failed)
		return -ENOMEM;
	if (strlen(time) >= sizeof(c->time))
		return -EINVAL;
	put_cstring(c, COMPACT_TIME, strcmp(time, c->time) == 0 ? "=" : time);
	strcpy(c->time, time);
	return 0;
}

/* Compresses the columns as a block. */
static int
end_columns(struct pack_compact *c)
{
	uint8_t head[4 + 4 * COMPACT_COLUMNS];
	int rc;

	store_le32(head, c->entries);
	for (size_t i = 0; i < COMPACT_COLUMNS; i++) {
		if (c->columns[i].failed)
			return -ENOMEM;
		store_le32(head + 4 + 4 * i, (uint32_t)c->columns[i].len);
	}
	rc = c->entries == 0 ? 0 : pack_store_add(&c->store, head,
	    sizeof(head));
	for (size_t i = 0; rc == 0 && i < COMPACT_COLUMNS; i++) {
		rc = pack_store_add(&c->store, c->columns[i].data,
		    c->columns[i].len);
		strbuf_clear(&c->columns[i]);
	}
	c->entries = 0;
	c->text = 0;
	return rc;
}

static int
take_item(void *arg, const struct toc_item *item, char why[LAYER_WHY])
{
	struct pack_compact *c = arg;
	const int64_t *n = item->number;
	uint8_t digest[LAYER_DIGEST] = { 0 };
	int type = 0, rc = 0;

	(void)why;
	while (type < COMPACT_TYPES && strcmp(toc_compact_types[type],
	    item->text[TOC_TYPE]) != 0)
		type++;
	if (type == COMPACT_TYPES || item->what != TOC_ENTRY)
		return -EINVAL;
	strbuf_char(&c->columns[COMPACT_TYPE], (char)type);
	c->entries++;
	if (type != COMPACT_CHUNK)
		rc = put_columns(c, type, item);
	if (rc != 0)
		return rc;
	if (type == COMPACT_CHUNK || n[TOC_SIZE] > 0) {
		if (n[TOC_OFFSET] < c->offset ||
		    n[TOC_CHUNK_OFFSET] != c->file_at)
			return -EINVAL;
		put_number(c, COMPACT_STEP, n[TOC_OFFSET] - c->offset);
		put_number(c, COMPACT_INNER, n[TOC_INNER]);
		put_number(c, COMPACT_LENGTH, n[TOC_CHUNK_SIZE]);
		c->offset = n[TOC_OFFSET];
		c->file_at += n[TOC_CHUNK_SIZE];
		if (!c->internal) {
			rc = hex_read_sha256(digest,
			    item->text[TOC_CHUNK_DIGEST]);
			strbuf_add(&c->digests, digest, sizeof(digest));
			if (c->digests.failed)
				return -ENOMEM;
		}
	}
	return rc == 0 && (c->entries == ENTRIES || c->text >= TEXT) ?
	    end_columns(c) : rc;
}

int
pack_compact_open(struct pack_compact **out, const struct pack *p)
{
	struct pack_compact *c = sys_calloc(1, sizeof(*c));
	int rc = c == NULL ? -ENOMEM : pack_store_open(&c->store,
	    p->level < p->format->levels.usual ? FAST_LEVEL : LEVEL);

	if (rc == 0)
		rc = toc_json_open(&c->json, take_item, c);
	if (rc != 0)
		pack_compact_close(c);
	else
		*out = c;
	return rc;
}

void
pack_compact_close(struct pack_compact *c)
{
	if (c == NULL)
		return;
	toc_json_close(c->json);
	pack_store_close(&c->store);
	for (size_t i = 0; i < COMPACT_COLUMNS; i++)
		strbuf_free(&c->columns[i]);
	strbuf_free(&c->name);
	strbuf_free(&c->digests);
	sys_free(c);
}

int
pack_compact_text(struct pack_compact *c, const char *text, size_t len)
{
	int rc = toc_json_add(c->json, text, len, c->why);

	return rc == 0 || rc == -ENOMEM ? rc : -EINVAL;
}

int
pack_compact_write(struct pack *p, uint64_t end, const uint8_t *trace_digest)
{
	struct pack_compact *c = p->toc.compact;
	const struct toc_wrapping *w = p->wrapping;
	const struct strbuf *frame = &c->store.frame;
	struct pack_result *r = p->r;
	uint8_t raw[4 + COMPACT_TRAILER] = { 0 }, *to = raw + 4;
	uint8_t digest[DIGEST_MAX];
	struct strbuf trailer = { 0 };
	size_t most = TOC_BLOCK * LAYER_DIGEST, n;
	uint64_t from = p->out.at;
	int rc = end_columns(c);

	if (rc != 0)
		goto out;
	store_le64(to, end);
	if (trace_digest != NULL) {
		store_le64(to + 8, r->trace_offset);
		store_le64(to + 16, r->trace_length);
		memcpy(to + 24, trace_digest, LAYER_DIGEST);
	}
	store_le64(to + 56, c->digests.len / LAYER_DIGEST);
	store_le64(to + 64, p->out.at + w->before);
	store_le64(to + 72, w->before + most + w->after);
	strbuf_add(&trailer, raw, sizeof(raw));
	/* the digests in blocks, each wrapped; the trailer has their digests */
	for (size_t at = 0; at < c->digests.len; at += most) {
		const char *data = c->digests.data + at;

		n = c->digests.len - at < most ? c->digests.len - at : most;
		rc = digest_sha256(data, n, digest);
		if (rc == 0)
			rc = pack_out_wrapped(p, data, n);
		if (rc != 0)
			goto out;
		strbuf_add(&trailer, digest, LAYER_DIGEST);
	}
	r->digests_length = p->out.at - from;
	rc = trailer.failed ? -ENOMEM :
	    pack_store_add(&c->store, trailer.data, trailer.len);
	if (rc == 0)
		rc = pack_store_end(&c->store);
	if (rc != 0)
		goto out;

	/* the frame in wrapped parts, and their digest */
	rc = digest_new_sha256(&p->out.also);
	if (rc == 0)
		rc = digest_start(p->out.also);
	r->compact_offset = p->out.at;
	for (size_t at = 0; rc == 0 && at < frame->len; at += n) {
		n = frame->len - at < w->max ? frame->len - at : w->max;
		rc = pack_out_wrapped(p, frame->data + at, n);
	}
	r->compact_length = p->out.at - r->compact_offset;
	if (rc == 0)
		rc = digest_end(p->out.also, digest);
	if (rc == 0)
		memcpy(r->compact_digest, digest, LAYER_DIGEST);
	digest_free(p->out.also);
	p->out.also = NULL;
out:
	strbuf_free(&trailer);
	pack_compact_close(c);
	p->toc.compact = NULL;
	return rc;
}
