/*
 * pack_toc.c - writing the table of contents of estargz and zstd:chunked
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * toc.h lists the members of the JSON document.  The entry of a file contains
 * the digest of the whole file, so the pieces of a large file are kept until
 * its end.
 */
#include "pack_impl.h"

#include "base/hex.h"
#include "base/quote.h"
#include "base/utc.h"
#include "lazy/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void
put_text(struct strbuf *b, const char *key, const char *value)
{
	strbuf_fmt(b, ",\"%s\":", key);
	quote_json(b, value);
}

/* Writes a member unless its value is zero. */
static void
put_number(struct strbuf *b, const char *key, uint64_t value)
{
	if (value != 0)
		strbuf_fmt(b, ",\"%s\":%" PRIu64, key, value);
}

static void
put_digest(struct strbuf *b, const char *key,
    const uint8_t digest[LAYER_DIGEST])
{
	char text[HEX_SHA256];

	hex_write_sha256(text, digest);
	strbuf_fmt(b, ",\"%s\":\"%s\"", key, text);
}

/*
 * A name is written only if it differs from the last name written for this ID,
 * which readers remember.
 */
static void
put_owner(struct strbuf *b, const char *key, struct pack_name *names,
    uint64_t id, const char *text)
{
	struct pack_name *n = &names[id % PACK_NAMES];
	size_t len = strlen(text);

	if (len == 0 || (n->id == id && strcmp(n->text, text) == 0))
		return;
	put_text(b, key, text);
	n->id = id;
	n->text[0] = '\0';
	if (len < sizeof(n->text))
		memcpy(n->text, text, len + 1);
}

static void
put_time(struct strbuf *b, const char *key, const struct tar_time *t)
{
	char text[UTC_B];

	if (t->known && utc_rfc3339(text, t->seconds, t->ns))
		put_text(b, key, text);
}

void
pack_toc_entry(struct strbuf *b, const struct tar_entry *e,
    struct pack_names *names, bool exact)
{
	char time[UTC_B];

	strbuf_str(b, "\"name\":");
	quote_json(b, e->path);
	strbuf_fmt(b, ",\"type\":\"%s\"", layer_type_name(e->type));
	if (e->type == TAR_FILE)
		put_number(b, "size", e->size);
	/* a year after 9999 cannot be represented */
	if ((e->mtime != 0 || e->mtime_ns != 0) &&
	    utc_rfc3339(time, e->mtime, e->mtime_ns))
		put_text(b, "modtime", time);
	if (exact) {
		put_time(b, "accesstime", &e->atime);
		put_time(b, "changetime", &e->ctime);
	}
	if (e->type == TAR_HARDLINK || e->type == TAR_SYMLINK)
		put_text(b, "linkName", e->link);
	put_number(b, "mode", e->mode);
	put_number(b, "uid", e->uid);
	put_number(b, "gid", e->gid);
	put_owner(b, "userName", names->users, e->uid, e->uname);
	put_owner(b, "groupName", names->groups, e->gid, e->gname);
	if (e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE) {
		put_number(b, "devMajor", e->major);
		put_number(b, "devMinor", e->minor);
	}
	for (size_t i = 0; i < e->xattr_count; i++) {
		strbuf_str(b, i == 0 ? ",\"xattrs\":{" : ",");
		quote_json(b, e->xattrs[i].name);
		strbuf_char(b, ':');
		pack_put_base64(b, e->xattrs[i].value, e->xattrs[i].length);
	}
	if (e->xattr_count > 0)
		strbuf_char(b, '}');
}

int
pack_toc_level(const struct pack *p)
{
	struct pack_levels l = p->format->levels;

	return p->level < l.usual ? p->level : l.most;
}

int
pack_toc_open(struct pack_toc *t, const struct pack *p)
{
	int level = p->format->store_level;
	int rc = pack_store_open(&t->store, level != 0 ? level :
	    pack_toc_level(p));

	if (rc == 0 && !p->o->no_compact)
		rc = pack_compact_open(&t->compact, p);
	if (rc == 0)
		rc = digest_new_sha256(&t->digest);
	return rc != 0 ? rc : digest_start(t->digest);
}

void
pack_toc_close(struct pack_toc *t)
{
	pack_store_close(&t->store);
	pack_compact_close(t->compact);
	digest_free(t->digest);
	strbuf_free(&t->line);
	strbuf_free(&t->head);
	strbuf_free(&t->first);
	strbuf_free(&t->chunks);
}

/* Stores the text, and clears the buffer. */
static int
store_text(struct pack_toc *t, struct strbuf *b)
{
	int rc = b->failed ? -ENOMEM : digest_add(t->digest, b->data, b->len);

	if (rc == 0)
		rc = pack_store_add(&t->store, b->data, b->len);
	if (rc == 0 && t->compact != NULL)
		rc = pack_compact_text(t->compact, b->data, b->len);
	if (rc == 0 && t->store.content > LAYER_INDEX_MAX)
		rc = -EFBIG;
	strbuf_clear(b);
	return rc;
}

/* Writes the members that describe a piece; size 0: to the end of the file. */
static void
put_piece(struct strbuf *b, const struct pack_piece *piece,
    const struct pack_place *place, uint64_t offset, uint64_t size)
{
	put_number(b, "offset", place->offset);
	put_number(b, "endOffset", place->end);
	put_number(b, "innerOffset", place->inner);
	put_number(b, "chunkOffset", offset);
	put_number(b, "chunkSize", size);
	put_digest(b, "chunkDigest", piece->digest);
}

int
pack_toc_add(struct pack_toc *t, const char *text,
    const struct pack_item *item, const struct pack_piece *piece,
    const struct pack_place *place)
{
	bool chunk = item->text_len == 0;
	struct strbuf *b = chunk ? &t->chunks : item->last ? &t->line :
	    &t->head;
	int rc;

	strbuf_str(b, t->entries++ == 0 ? "{\"version\":1,\"entries\":[\n{" :
	    ",\n{");
	if (chunk) {
		strbuf_str(b, "\"name\":\"\",\"type\":\"chunk\"");
		put_piece(b, piece, place, item->offset,
		    item->last ? 0 : piece->len);
		strbuf_char(b, '}');
		if (!item->last)
			return 0;
		/* the file is complete */
		put_digest(&t->head, "digest", item->digest);
		rc = store_text(t, &t->head);
		if (rc == 0)
			rc = store_text(t, &t->first);
		return rc != 0 ? rc : store_text(t, &t->chunks);
	}
	strbuf_add(b, text, item->text_len);
	if (!item->last) {
		put_piece(&t->first, piece, place, 0, piece->len);
		strbuf_char(&t->first, '}');
		return 0;
	}
	if (item->has_piece) {
		put_digest(b, "digest", piece->digest);
		put_piece(b, piece, place, 0, 0);
	}
	strbuf_char(b, '}');
	return store_text(t, b);
}

static void
put_stored(struct strbuf *b, const char *key, uint64_t offset,
    uint64_t length, const uint8_t digest[LAYER_DIGEST])
{
	strbuf_fmt(b, ",\"%s\":{\"offset\":%" PRIu64 ",\"length\":%" PRIu64,
	    key, offset, length);
	put_digest(b, "digest", digest);
	strbuf_char(b, '}');
}

int
pack_toc_finish(struct pack *p, const uint8_t *tar_split_digest)
{
	struct pack_toc *t = &p->toc;
	struct pack_result *r = p->r;
	struct strbuf *b = &t->line;
	uint8_t trace[LAYER_DIGEST], digest[DIGEST_MAX];
	uint64_t end = p->out.at;
	int rc = 0;

	if (p->order != NULL && p->o->trace)
		rc = pack_trace_write(p, trace);
	if (rc == 0 && t->compact != NULL)
		rc = pack_compact_write(p, end, r->trace_length > 0 ? trace :
		    NULL);
	if (rc != 0)
		return rc;
	strbuf_str(b, t->entries == 0 ? "{\"version\":1,\"entries\":[]" :
	    "\n]");
	if (tar_split_digest != NULL)
		put_digest(b, "tarSplitDigest", tar_split_digest);
	if (r->trace_length > 0)
		put_stored(b, "coldpressTrace", r->trace_offset,
		    r->trace_length, trace);
	if (r->compact_length > 0)
		put_stored(b, "coldpressIndex", r->compact_offset,
		    r->compact_length, r->compact_digest);
	strbuf_char(b, '}');
	rc = store_text(t, b);
	if (rc == 0)
		rc = digest_end(t->digest, digest);
	if (rc != 0)
		return rc;
	memcpy(r->toc_digest, digest, LAYER_DIGEST);
	return pack_store_end(&t->store);
}
