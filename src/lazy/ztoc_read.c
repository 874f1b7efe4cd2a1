/*
 * ztoc_read.c - what a ztoc says, checked
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"
#include "base/utc.h"
#include "ztoc.h"

#include <errno.h>
#include <string.h>

/* Spans */

static int
damaged(char why[LAYER_WHY], const char *what)
{
	return layer_refuse(why, -EBADMSG, "its ztoc is damaged: %s", what);
}

static int
read_digests(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_refs refs;
	struct flatbuf_bytes s;
	int rc = flatbuf_refs(compression, COMPRESSION_DIGESTS, &refs);

	if (rc != 0 || refs.count != z->count)
		return -EBADMSG;
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_string(&refs, i, &s);
		if (rc == 0)
			rc = hex_read_sha256(z->spans[i].digest,
			    (const char *)s.data);
	}
	return rc;
}

static void
load_point(struct ztoc_span *s, const uint8_t *p)
{
	s->in = load_le64(p);
	s->out = load_le64(p + 8);
	s->bits = p[16];
}

/*
 * An early version of SOCI leaves out the first checkpoint, as that of a header
 * of ten bytes.
 */
static int
read_checkpoints(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	int rc = flatbuf_vector(compression, COMPRESSION_CHECKPOINTS, 1, &v);
	const uint8_t *p = v.data + ZTOC_CHECKPOINTS_HEAD;
	size_t first;

	if (rc != 0 || v.len < ZTOC_CHECKPOINTS_HEAD ||
	    load_le32(v.data) != z->count)
		return -EBADMSG;
	v.len -= ZTOC_CHECKPOINTS_HEAD;
	first = z->count - v.len / ZTOC_CHECKPOINT;
	if (v.len % ZTOC_CHECKPOINT != 0 || first > 1)
		return -EBADMSG;
	z->spans[0] = (struct ztoc_span){ .in = 10 };
	for (size_t i = first; i < z->count; i++, p += ZTOC_CHECKPOINT) {
		struct ztoc_span *s = &z->spans[i];

		load_point(s, p);
		s->window = p + ZTOC_CHECKPOINT_HEAD;
		s->window_len = ZTOC_WINDOW;
	}
	return 0;
}

static int
read_points(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	int rc = flatbuf_vector(compression, COMPRESSION_POINTS, 1, &v);
	uint64_t at = 0;

	if (rc != 0 || v.len / ZTOC_POINT != z->count ||
	    v.len % ZTOC_POINT != 0)
		return -EBADMSG;
	for (size_t i = 0; i < z->count; i++) {
		const uint8_t *p = v.data + i * ZTOC_POINT;
		struct ztoc_span *s = &z->spans[i];

		load_point(s, p);
		s->window_at = at;
		s->window_len = load_le32(p + 17);
		memcpy(s->window_digest, p + 21, LAYER_DIGEST);
		at += s->window_len;
		if (s->window_len > 2 * ZTOC_WINDOW)
			return -EBADMSG;
	}
	return at <= z->windows ? 0 : -EBADMSG;
}

/* Spans of equal length, in a buffer of their own. */
static int
read_plain(struct ztoc *z, const struct flatbuf_table *compression)
{
	struct flatbuf_bytes v;
	struct flatbuf_table root;
	uint64_t span = 0;
	int rc = flatbuf_vector(compression, COMPRESSION_CHECKPOINTS, 1, &v);
	struct flatbuf b = { v.data, v.len };

	if (rc == 0)
		rc = flatbuf_root(&b, &root);
	if (rc == 0)
		rc = flatbuf_u64(&root, PLAIN_SPAN, &span);
	if (rc != 0 || span == 0 || span > LAYER_UNIT_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < z->count; i++)
		z->spans[i].in = z->spans[i].out = i * span;
	return 0;
}

/* Points follow each other within the layer; sizes are bounded. */
static int
add_units(struct layer *l, const struct ztoc *z, char why[LAYER_WHY])
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < z->count; i++) {
		const struct ztoc_span *s = &z->spans[i];
		uint64_t in = i + 1 < z->count ? s[1].in : l->size;
		uint64_t out = i + 1 < z->count ? s[1].out : z->content;
		struct layer_unit u;

		/* zeros after the archive may have spans of their own */
		out = out > z->content ? z->content : out;
		if (s->bits > 7 || s->in < (s->bits != 0) || s->in > in ||
		    in > l->size || (i + 1 < z->count && s->out > s[1].out))
			return damaged(why, "spans are not in order");
		u.content = s->out < out ? out - s->out : 0;
		u.stored = ztoc_span_range(l, z, i).length;
		if (u.stored > LAYER_UNIT_MAX)
			return layer_refuse(why, -EFBIG, "a span has more "
			    "than 64 MiB");
		if (z->plain && u.stored < u.content)
			return damaged(why, "a span is too short");
		u.stored += z->packed ? s->window_len : 0;
		rc = index_unit(&l->index, &u, why);
	}
	return rc;
}

int
ztoc_read_spans(struct layer *l, struct ztoc *z,
    const struct flatbuf_table *compression, char why[LAYER_WHY])
{
	uint8_t kind = ZTOC_GZIP;
	uint32_t last = 0;
	int rc = flatbuf_u8(compression, COMPRESSION_KIND, &kind);

	if (rc == 0)
		rc = flatbuf_u32(compression, COMPRESSION_LAST, &last);
	if (rc != 0 || kind < ZTOC_GZIP || kind > ZTOC_PLAIN)
		return damaged(why, "its compression");
	z->plain = kind == ZTOC_PLAIN;
	z->count = (size_t)(uint32_t)(last + 1);
	/* each has a digest, of more bytes than this */
	if (z->count > z->len / LAYER_DIGEST)
		return damaged(why, "the number of spans");
	z->spans = sys_calloc(z->count + 1, sizeof(*z->spans));
	if (z->spans == NULL)
		return -ENOMEM;
	rc = z->plain ? read_plain(z, compression) :
	    z->packed ? read_points(z, compression) :
	    read_checkpoints(z, compression);
	if (rc == 0)
		rc = read_digests(z, compression);
	return rc != 0 ? damaged(why, "the spans") : add_units(l, z, why);
}

/* Entries */

/* bytes, of its reference, table and strings together */
enum { ENTRY_LEAST = 64 };

struct reader {
	struct layer *l;
	const struct ztoc *z;
	char *why;
	struct layer_entry e;
	struct tar_xattr *xattrs;
	size_t xattr_cap;
	uint64_t at, stored;		/* of the data in the archive */
	uint64_t end;			/* where that of the entry before ended */
	size_t unit;			/* that contains the end */
	uint64_t text;			/* bytes of strings so far */
};

/*
 * A string without NUL.  No string of a real ztoc occurs twice, so all of them
 * together are no longer than the index.
 */
static int
read_string(struct reader *k, const struct flatbuf_table *t, unsigned slot,
    const char **text)
{
	struct flatbuf_bytes s;
	int rc = flatbuf_string(t, slot, &s);

	if (rc != 0)
		return rc;
	k->text += s.len;
	*text = (const char *)s.data;
	return k->text > k->z->len || strlen(*text) != s.len ? -EBADMSG : 0;
}

static int
read_type(struct reader *k, const struct flatbuf_table *t)
{
	static const char *const types[] = ZTOC_TYPES;
	const char *name;
	int rc = read_string(k, t, ENTRY_TYPE, &name);

	for (size_t i = 0; rc == 0 && i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(types[i], name) == 0) {
			k->e.type = (enum tar_type)i;
			return 0;
		}
	return -EBADMSG;
}

static int
read_strings(struct reader *k, const struct flatbuf_table *t)
{
	const char *mtime;
	int rc = read_string(k, t, ENTRY_NAME, &k->e.path);

	if (rc == 0)
		rc = read_string(k, t, ENTRY_LINK, &k->e.link);
	if (rc == 0)
		rc = read_string(k, t, ENTRY_UNAME, &k->e.uname);
	if (rc == 0)
		rc = read_string(k, t, ENTRY_GNAME, &k->e.gname);
	if (rc == 0)
		rc = read_string(k, t, ENTRY_MTIME, &mtime);
	if (rc != 0 || *k->e.path == '\0')
		return -EBADMSG;
	/* SOCI leaves it empty if it has no such form */
	return *mtime == '\0' ||
	    utc_parse(mtime, &k->e.mtime, &k->e.mtime_ns) == 0 ? 0 : -EBADMSG;
}

static int
read_numbers(struct reader *k, const struct flatbuf_table *t)
{
	uint64_t mode = 0, major = 0, minor = 0;
	uint32_t uid = 0, gid = 0;
	int rc = flatbuf_u64(t, ENTRY_MODE, &mode);

	if (rc == 0)
		rc = flatbuf_u32(t, ENTRY_UID, &uid);
	if (rc == 0)
		rc = flatbuf_u32(t, ENTRY_GID, &gid);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_MAJOR, &major);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_MINOR, &minor);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_OFFSET, &k->at);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_STORED, &k->stored);
	k->e.mode = (uint32_t)mode & 07777;
	k->e.uid = uid;
	k->e.gid = gid;
	k->e.major = (uint32_t)major;
	k->e.minor = (uint32_t)minor;
	return rc != 0 || major > UINT32_MAX || minor > UINT32_MAX ?
	    -EBADMSG : 0;
}

/* Adds an attribute, if the record is one. */
static int
read_record(struct reader *k, const struct flatbuf_table *t)
{
	void *items = k->xattrs;
	struct flatbuf_bytes value;
	const char *key;
	int rc = read_string(k, t, PAX_KEY, &key);

	if (rc == 0)
		rc = flatbuf_string(t, PAX_VALUE, &value);
	if (rc != 0 || strncmp(key, ZTOC_XATTR, strlen(ZTOC_XATTR)) != 0)
		return rc;
	k->text += value.len;
	if (k->text > k->z->len)
		return -EBADMSG;
	rc = array_grow(&items, k->e.xattr_count, &k->xattr_cap,
	    sizeof(*k->xattrs));
	k->xattrs = items;
	if (rc == 0)
		k->xattrs[k->e.xattr_count++] = (struct tar_xattr){
			key + strlen(ZTOC_XATTR), value.data, value.len };
	return rc;
}

static int
read_xattrs(struct reader *k, const struct flatbuf_table *t)
{
	struct flatbuf_refs refs;
	struct flatbuf_table record;
	int rc = flatbuf_refs(t, ENTRY_PAX, &refs);

	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_table(&refs, i, &record);
		if (rc == 0)
			rc = read_record(k, &record);
	}
	k->e.xattrs = k->xattrs;
	return rc;
}

/* Data */

/* Adds runs for data at k->at of the archive that is at offset of its file. */
static int
add_runs(struct reader *k, uint64_t offset, uint64_t length)
{
	const struct ztoc_span *spans = k->z->spans;
	int rc = 0;

	while (rc == 0 && length > 0) {
		struct layer_run r = { .offset = offset };
		uint64_t content;

		while (k->unit + 1 < k->z->count &&
		    spans[k->unit + 1].out <= k->at)
			k->unit++;
		if (k->unit >= k->z->count || spans[k->unit].out > k->at)
			return damaged(k->why, "data lies in no span");
		content = k->l->index.units[k->unit].content;
		r.unit = (uint32_t)k->unit;
		r.inner = k->at - spans[k->unit].out;
		if (r.inner >= content)
			return damaged(k->why, "data lies in no span");
		r.length = content - r.inner < length ? content - r.inner :
		    length;
		rc = index_run(&k->l->index, &r, k->why);
		k->at += r.length;
		offset += r.length;
		length -= r.length;
	}
	return rc;
}

static int
add_extents(struct reader *k, const struct flatbuf_bytes *v)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->len; i += ZTOC_EXTENT) {
		uint64_t length = load_le64(v->data + i + 8);

		if (length > k->stored)
			return damaged(k->why, "the extents of a sparse file");
		k->stored -= length;
		rc = add_runs(k, load_le64(v->data + i), length);
	}
	return rc == 0 && k->stored > 0 ?
	    damaged(k->why, "the extents of a sparse file") : rc;
}

/* Data of entries does not overlap, so there are few runs. */
static int
add_entry(struct reader *k, const struct flatbuf_bytes *extents)
{
	int rc = index_entry(&k->l->index, &k->e, k->why);

	if (rc != 0 || k->e.type != TAR_FILE)
		return rc;
	if (k->at < k->end || k->at > k->z->content ||
	    k->stored > k->z->content - k->at)
		return damaged(k->why, "the data of two entries overlaps, or "
		    "it lies outside the archive");
	k->end = k->at + k->stored;
	return extents->len > 0 ? add_extents(k, extents) :
	    add_runs(k, 0, k->stored);
}

static int
read_entry(struct reader *k, const struct flatbuf_table *t)
{
	struct flatbuf_bytes extents;
	uint64_t size = 0;
	int rc;

	k->e = (struct layer_entry){ .mode = 0 };
	k->at = k->stored = 0;
	rc = read_type(k, t);
	if (rc == 0)
		rc = read_strings(k, t);
	if (rc == 0)
		rc = read_numbers(k, t);
	if (rc == 0)
		rc = read_xattrs(k, t);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_SIZE, &size);
	if (rc == 0)
		rc = flatbuf_vector(t, ENTRY_EXTENTS, ZTOC_EXTENT, &extents);
	if (rc != 0)
		return rc == -EBADMSG ? damaged(k->why, "an entry") : rc;
	if (k->e.type == TAR_FILE)
		k->e.size = size > 0 ? size : k->stored;
	return add_entry(k, &extents);
}

int
ztoc_read_entries(struct layer *l, const struct ztoc *z,
    const struct flatbuf_table *toc, char why[LAYER_WHY])
{
	struct reader k = { .l = l, .z = z, .why = why };
	struct flatbuf_refs refs;
	struct flatbuf_table t;
	int rc = flatbuf_refs(toc, TOC_ENTRIES, &refs);

	if (rc != 0 || refs.count > z->len / ENTRY_LEAST)
		return damaged(why, "the entries");
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_table(&refs, i, &t);
		if (rc != 0)
			damaged(why, "an entry");
		else
			rc = read_entry(&k, &t);
	}
	sys_free(k.xattrs);
	return rc;
}
