/*
 * pack_ztoc_entries.c - writing the entries of an archive to a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The FlatBuffer is written back to front, so the entries are kept in a spool:
 * numbers, strings, and key-value pairs, each string after its length.
 */
#include "pack_ztoc.h"

#include "base/array.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/format.h"
#include "spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRINGS = 5 };

/* The beginning of an entry in the spool. */
struct kept {
	uint64_t offset, stored, size, mode, major, minor;
	uint32_t uid, gid, pax, extents;	/* the last two are counts */
	enum tar_type type;
};

struct pack_ztoc_entries {
	struct spool *spool;
	uint64_t count;
	struct strbuf b;
	struct tar_xattr *pax;		/* an entry's records, by key */
	size_t pax_count, pax_cap;
	uint32_t *refs;			/* positions of the entry's Pax
					 * tables */
	size_t refs_cap;
};

int
pack_ztoc_entries_open(struct pack_ztoc_entries **out, const char *tmpdir)
{
	struct pack_ztoc_entries *x = sys_calloc(1, sizeof(*x));
	int rc = x == NULL ? -ENOMEM : spool_open(&x->spool, tmpdir);

	*out = x;
	return rc;
}

void
pack_ztoc_entries_close(struct pack_ztoc_entries *x)
{
	if (x == NULL)
		return;
	spool_close(x->spool);
	strbuf_free(&x->b);
	sys_free(x->pax);
	sys_free(x->refs);
	sys_free(x);
}

/* Adding */

static void
keep_string(struct strbuf *b, const void *s, size_t len)
{
	uint32_t n = (uint32_t)len;

	strbuf_add(b, &n, sizeof(n));
	strbuf_add(b, s, len);
}

/* Orders records by key, then by their order in the archive. */
static int
by_key(const void *a, const void *b)
{
	const struct tar_xattr *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order != 0 ? order : x->name < y->name ? -1 : 1;
}

static bool
has_key(const struct pack_ztoc_entries *x, const char *key)
{
	size_t low = 0, high = x->pax_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(x->pax[mid].name, key);

		if (order == 0)
			return true;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/*
 * Keeps the records, sorted, and only the last one for each key; then global
 * attributes, that is, those that are not among the records of the entry.  No
 * filesystem supports names longer than 255 bytes.
 */
static int
keep_pax(struct pack_ztoc_entries *x, const struct tar_entry *e, struct kept *k)
{
	char key[sizeof(ZTOC_XATTR) + 256];
	void *items = x->pax;
	size_t n = 0;
	int rc = array_reserve(&items, e->record_count, &x->pax_cap,
	    sizeof(*x->pax));

	x->pax = items;
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < e->record_count; i++)
		x->pax[i] = e->records[i];
	if (e->record_count > 0)
		qsort(x->pax, e->record_count, sizeof(*x->pax), by_key);
	for (size_t i = 0; i < e->record_count; i++) {
		if (n > 0 && strcmp(x->pax[n - 1].name, x->pax[i].name) == 0)
			n--;
		x->pax[n++] = x->pax[i];
	}
	for (size_t i = 0; i < n; i++) {
		keep_string(&x->b, x->pax[i].name, strlen(x->pax[i].name));
		keep_string(&x->b, x->pax[i].value, x->pax[i].length);
	}
	x->pax_count = n;
	k->pax = (uint32_t)n;
	for (size_t i = 0; i < e->xattr_count; i++) {
		const struct tar_xattr *a = &e->xattrs[i];
		int len = snprintf(key, sizeof(key), ZTOC_XATTR "%s", a->name);

		if (len >= (int)sizeof(key) || has_key(x, key))
			continue;
		keep_string(&x->b, key, (size_t)len);
		keep_string(&x->b, a->value, a->length);
		k->pax++;
	}
	return 0;
}

int
pack_ztoc_entries_add(struct pack_ztoc_entries *x, const struct tar_entry *e,
    bool packed, char why[LAYER_WHY])
{
	bool sparse = e->size != e->stored;
	struct kept k = { .offset = e->data_offset, .stored = e->stored,
		.size = sparse ? e->size : 0, .mode = e->mode,
		.major = e->major, .minor = e->minor, .uid = (uint32_t)e->uid,
		.gid = (uint32_t)e->gid, .type = e->type,
		.extents = sparse ? (uint32_t)e->extent_count : 0 };
	char mtime[UTC_B];
	int rc;

	if (sparse && !packed)
		return layer_refuse(why, -EINVAL, "%.160s: a sparse file "
		    "cannot be represented in SOCI's format", e->path);
	strbuf_clear(&x->b);
	strbuf_add(&x->b, &k, sizeof(k));
	if (!utc_rfc3339(mtime, e->mtime, e->mtime_ns))
		*mtime = '\0';
	keep_string(&x->b, e->path, strlen(e->path));
	keep_string(&x->b, e->link, strlen(e->link));
	keep_string(&x->b, e->uname, strlen(e->uname));
	keep_string(&x->b, e->gname, strlen(e->gname));
	keep_string(&x->b, mtime, strlen(mtime));
	rc = keep_pax(x, e, &k);
	for (size_t i = 0; sparse && i < e->extent_count; i++) {
		strbuf_add(&x->b, &e->extents[i].offset, sizeof(uint64_t));
		strbuf_add(&x->b, &e->extents[i].length, sizeof(uint64_t));
	}
	if (rc == 0 && x->b.failed)
		rc = -ENOMEM;
	if (rc != 0)
		return rc;
	memcpy(x->b.data, &k, sizeof(k));
	x->count++;
	return spool_push(x->spool, x->b.data, x->b.len);
}

/* Writing */

static uint32_t
push_string(struct flatbuf_writer *w, const char **p)
{
	uint32_t len, at;

	memcpy(&len, *p, sizeof(len));
	*p += sizeof(len);
	at = flatbuf_put_string(w, *p, len);
	*p += len;
	return at;
}

/*
 * Writes an entry, with its strings in SOCI's order, so that the output is
 * identical to SOCI's.
 */
static int
push_entry(struct pack_ztoc_entries *x, struct flatbuf_writer *w, const char *p,
    uint32_t *at)
{
	uint32_t s[STRINGS], type, pax, extents = 0;
	void *items = x->refs;
	const char *name;
	struct kept k;
	int rc;

	memcpy(&k, p, sizeof(k));
	p += sizeof(k);
	name = layer_type_name(k.type);
	s[0] = push_string(w, &p);
	type = flatbuf_put_string(w, name, strlen(name));
	for (int i = 1; i < STRINGS; i++)
		s[i] = push_string(w, &p);

	/* a vector of Pax tables */
	rc = array_reserve(&items, k.pax, &x->refs_cap, sizeof(*x->refs));
	x->refs = items;
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < k.pax; i++) {
		uint32_t key = push_string(w, &p);
		uint32_t value = push_string(w, &p);

		flatbuf_table_begin(w);
		flatbuf_put_ref(w, PAX_KEY, key);
		flatbuf_put_ref(w, PAX_VALUE, value);
		x->refs[i] = flatbuf_table_end(w);
	}
	pax = flatbuf_put_refs(w, x->refs, k.pax);
	if (k.size > 0)
		extents = flatbuf_put_bytes(w, p,
		    (size_t)k.extents * ZTOC_EXTENT);

	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ENTRY_NAME, s[0]);
	flatbuf_put_ref(w, ENTRY_TYPE, type);
	flatbuf_put_u64(w, ENTRY_OFFSET, k.offset);
	flatbuf_put_u64(w, ENTRY_STORED, k.stored);
	flatbuf_put_ref(w, ENTRY_LINK, s[1]);
	flatbuf_put_u64(w, ENTRY_MODE, k.mode);
	flatbuf_put_u32(w, ENTRY_UID, k.uid);
	flatbuf_put_u32(w, ENTRY_GID, k.gid);
	flatbuf_put_ref(w, ENTRY_UNAME, s[2]);
	flatbuf_put_ref(w, ENTRY_GNAME, s[3]);
	flatbuf_put_ref(w, ENTRY_MTIME, s[4]);
	flatbuf_put_u64(w, ENTRY_MAJOR, k.major);
	flatbuf_put_u64(w, ENTRY_MINOR, k.minor);
	flatbuf_put_ref(w, ENTRY_PAX, pax);
	flatbuf_put_u64(w, ENTRY_SIZE, k.size);
	flatbuf_put_ref(w, ENTRY_EXTENTS, extents);
	*at = flatbuf_table_end(w);
	return 0;
}

int
pack_ztoc_entries_write(struct pack_ztoc_entries *x, struct flatbuf_writer *w,
    uint32_t *at)
{
	uint32_t *refs = sys_malloc((x->count + 1) * sizeof(*refs)), all;
	const void *p;
	size_t len;
	int rc = refs == NULL ? -ENOMEM : 0, more = 1;

	for (uint64_t i = x->count; rc == 0 && i > 0; i--) {
		more = spool_pop(x->spool, &p, &len);
		rc = more < 0 ? more : push_entry(x, w, p, &refs[i - 1]);
	}
	if (rc == 0) {
		all = flatbuf_put_refs(w, refs, x->count);
		flatbuf_table_begin(w);
		flatbuf_put_ref(w, TOC_ENTRIES, all);
		*at = flatbuf_table_end(w);
	}
	sys_free(refs);
	return rc;
}
