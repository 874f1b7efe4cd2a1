/*
 * toc_read.c - building an index from the entries of a table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/toc/toc_json.h"

#include <errno.h>
#include <string.h>

struct toc_reader {
	struct toc_json *json;		/* NULL: the items have no digests */
	struct toc *t;
	struct lazy_index *x;
	uint64_t hashed;		/* bytes of the last unit's chunks */
	bool file;			/* chunks may follow the last entry */
	bool landmark;			/* the last entry is a landmark */
};

/* Units and chunks */

static int
parse_digest(const char *text, uint8_t digest[LAYER_DIGEST],
    char why[LAYER_WHY])
{
	return hex_read_sha256(digest, text) == 0 ? 0 : layer_refuse(why,
	    -EBADMSG, "expected a SHA-256 digest in the index, found %.80s",
	    text);
}

/* Adds data to the last entry, which is a file. */
static int
add_data(struct toc_reader *r, const struct toc_item *item,
    char why[LAYER_WHY])
{
	static const struct layer_unit empty;
	struct lazy_index *x = r->x;
	struct toc *t = r->t;
	uint64_t size = x->entries[x->entry_count - 1].size;
	uint64_t offset = (uint64_t)item->number[TOC_OFFSET];
	struct layer_run run = {
		.offset = (uint64_t)item->number[TOC_CHUNK_OFFSET],
		.inner = (uint64_t)item->number[TOC_INNER],
		.length = (uint64_t)item->number[TOC_CHUNK_SIZE] };
	void *units = t->units, *chunks = t->chunks, *digests = t->digests;
	const char *chunk = item->text[TOC_CHUNK_DIGEST], *file;
	size_t n = x->unit_count;
	struct layer_unit *u;
	int rc;

	/* the size may be omitted for the last chunk */
	if (run.length == 0 && run.offset < size)
		run.length = size - run.offset;
	if (run.length == 0 || strcmp(item->text[TOC_CHUNK_TYPE],
	    "zeros") == 0)
		return 0;
	/*
	 * All chunks of a unit are hashed when the unit is read, so overlapping
	 * chunks, which no real layer has, become several units at the same
	 * offset.
	 */
	if (n == 0 || t->units[n - 1].offset != offset ||
	    run.length > LAYER_UNIT_MAX - r->hashed) {
		rc = array_grow(&units, n, &t->unit_cap, sizeof(*t->units));
		t->units = units;
		if (rc != 0)
			return rc;
		t->units[n] = (struct toc_unit){ .offset = offset,
		    .first_chunk = t->chunk_count };
		r->hashed = 0;
		rc = index_unit(x, &empty, why);
		if (rc != 0)
			return rc;
	}
	u = &x->units[x->unit_count - 1];
	/* both are at most INT64_MAX, so the sum does not overflow */
	if (run.inner + run.length > LAYER_UNIT_MAX)
		return layer_refuse(why, -EFBIG, "a unit is larger than "
		    "64 MiB");
	if (run.inner + run.length > u->content)
		u->content = run.inner + run.length;
	r->hashed += run.length;
	run.unit = (uint32_t)(x->unit_count - 1);
	rc = array_grow(&chunks, t->chunk_count, &t->chunk_cap,
	    sizeof(*t->chunks));
	t->chunks = chunks;
	if (rc != 0)
		return rc;
	t->chunks[t->chunk_count] = (struct toc_chunk){ .inner = run.inner,
		.length = run.length };
	if (r->json != NULL) {
		rc = array_grow(&digests, t->chunk_count, &t->digest_cap,
		    sizeof(*t->digests));
		t->digests = digests;
		if (rc != 0)
			return rc;
		/* the digest may be that of the whole file */
		file = run.length == size ? item->text[TOC_DIGEST] : "";
		if (*chunk == '\0' && *file == '\0')
			return layer_refuse(why, -EBADMSG, "the index has no "
			    "digest for the data of %.120s",
			    item->text[TOC_NAME]);
		if (*chunk != '\0' && *file != '\0' &&
		    strcmp(chunk, file) != 0)
			return layer_refuse(why, -EBADMSG, "the index has two "
			    "digests for the data of %.120s",
			    item->text[TOC_NAME]);
		rc = parse_digest(*chunk != '\0' ? chunk : file,
		    t->digests[t->chunk_count], why);
		if (rc != 0)
			return rc;
	}
	rc = index_run(x, &run, why);
	if (rc == 0)
		t->chunk_count++;
	return rc;
}

/* Entries */

static int
add_toc_entry(struct toc_reader *r, const struct toc_item *item,
    char why[LAYER_WHY])
{
	const int64_t *n = item->number;
	const char *const *text = item->text;
	const struct lazy_index *x = r->x;
	struct toc *t = r->t;
	struct layer_entry e = {
		.path = text[TOC_NAME], .link = text[TOC_LINK],
		.uname = text[TOC_UNAME], .gname = text[TOC_GNAME],
		.mode = (uint32_t)n[TOC_MODE] & 07777,
		.uid = (uint64_t)n[TOC_UID], .gid = (uint64_t)n[TOC_GID],
		.major = (uint32_t)n[TOC_MAJOR],
		.minor = (uint32_t)n[TOC_MINOR],
		.xattrs = item->xattrs, .xattr_count = item->xattr_count
	};
	const struct layer_entry *last;
	void *files = t->files;
	int rc;

	if (!layer_type_find(text[TOC_TYPE], &e.type))
		return layer_refuse(why, -EBADMSG, "the index has an entry of "
		    "unknown type %.40s", text[TOC_TYPE]);
	if (*text[TOC_MODTIME] != '\0' &&
	    utc_parse(text[TOC_MODTIME], &e.mtime, &e.mtime_ns) != 0)
		return layer_refuse(why, -EBADMSG, "expected a date in the "
		    "index, found %.60s", text[TOC_MODTIME]);
	if (e.type == TAR_FILE)
		e.size = (uint64_t)n[TOC_SIZE];
	r->file = e.type == TAR_FILE;
	rc = index_entry(r->x, &e, why);
	if (rc != 0 || !r->file)
		return rc;
	rc = add_data(r, item, why);
	if (rc != 0 || *text[TOC_DIGEST] == '\0')
		return rc;
	/* keep the digest of the file unless it is that of its only chunk */
	last = &x->entries[x->entry_count - 1];
	if (last->run_count == 1 &&
	    x->runs[x->run_count - 1].length == last->size)
		return 0;
	rc = array_grow(&files, t->file_count, &t->file_cap,
	    sizeof(*t->files));
	t->files = files;
	if (rc != 0)
		return rc;
	t->files[t->file_count].entry = x->entry_count - 1;
	rc = parse_digest(text[TOC_DIGEST], t->files[t->file_count].digest,
	    why);
	if (rc == 0)
		t->file_count++;
	return rc;
}

static bool
is_called(const struct toc_item *item, const char *landmark)
{
	const char *name = item->text[TOC_NAME];

	if (strncmp(name, "./", 2) == 0)
		name += 2;
	return strcmp(name, landmark) == 0;
}

bool
toc_is_internal(const struct toc_item *item)
{
	return is_called(item, LAYER_LANDMARK) ||
	    is_called(item, LAYER_NO_LANDMARK);
}

int
toc_reader_take(void *arg, const struct toc_item *item, char why[LAYER_WHY])
{
	struct toc_reader *r = arg;
	int rc = 0;

	if (item->what != TOC_ENTRY) {
		bool trace = item->what == TOC_TRACE;
		struct toc_stored *s = trace ? &r->t->trace : &r->t->compact;

		s->offset = (uint64_t)item->number[TOC_OFFSET];
		s->length = (uint64_t)item->number[TOC_LENGTH];
		return hex_read_sha256(s->digest, item->text[TOC_DIGEST]) == 0 ?
		    0 : layer_refuse(why, -EBADMSG, "the index has a %s "
		    "without a SHA-256 digest", trace ? "trace" :
		    "compact index");
	}
	if (strcmp(item->text[TOC_TYPE], "chunk") != 0) {
		r->landmark = toc_is_internal(item);
		/* the prefetched part ends here */
		if (is_called(item, LAYER_LANDMARK))
			r->t->prefetch = (uint64_t)item->number[TOC_OFFSET];
		if (!r->landmark)
			rc = add_toc_entry(r, item, why);
	} else if (!r->landmark) {
		if (!r->file || r->x->entry_count == 0)
			return layer_refuse(why, -EBADMSG, "a chunk of %.120s "
			    "in the index does not follow its file",
			    item->text[TOC_NAME]);
		rc = add_data(r, item, why);
	}
	return rc == -ENOMEM ? layer_refuse(why, rc, "%s", strerror(ENOMEM)) :
	    rc;
}

int
toc_reader_open(struct toc_reader **out, struct toc *t, struct lazy_index *x,
    bool json)
{
	struct toc_reader *r = sys_calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->t = t;
	r->x = x;
	if (json && toc_json_open(&r->json, toc_reader_take, r) != 0) {
		sys_free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void
toc_reader_close(struct toc_reader *r)
{
	if (r == NULL)
		return;
	toc_json_close(r->json);
	sys_free(r);
}

int
toc_reader_add(struct toc_reader *r, const void *data, size_t len,
    char why[LAYER_WHY])
{
	return toc_json_add(r->json, data, len, why);
}

int
toc_reader_end(struct toc_reader *r, uint64_t end, char why[LAYER_WHY])
{
	int rc = toc_json_end(r->json, why);

	return rc != 0 ? rc : toc_place_units(r->t, r->x, end, why);
}
