/*
 * ztoc.c - reading an ordinary layer with a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/ztoc/ztoc.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hex.h"
#include "base/sys.h"
#include "base/utc.h"
#include "engine/deflate/inflater.h"
#include "engine/digest/digest.h"
#include "format/gzip/gzip_points.h"
#include "lazy/format.h"
#include "lazy/ztoc/flatbuf.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/* The name of the side object; see struct layer_range. */
#define ZTOC_OBJECT "ztoc"

/* A span is a unit of the layer. */
struct ztoc_span {
	uint64_t in, out;		/* see gzip_points.h */
	uint64_t window_at;		/* position of the span's window in the
					 * side file */
	const uint8_t *window;		/* the span's window in memory, or
					 * NULL */
	uint32_t window_len;		/* length of the window */
	uint8_t bits;
	uint8_t digest[LAYER_DIGEST];
	uint8_t window_digest[LAYER_DIGEST];	/* for a window in the side
						 * file */
};

struct ztoc {
	bool plain;			/* the layer is not compressed */
	bool packed;			/* windows are in the side file */
	struct ztoc_span *spans;
	size_t count;
	uint64_t content;		/* size of the archive */
	uint8_t *data;			/* the index, as long as it is needed */
	size_t len;
	uint64_t windows;		/* size of the windows in the side
					 * file */
};

/* Fetching the index */

/* Fetches a part of the ztoc, whose digest is expected unless it is NULL. */
static int
fetch_part(struct layer *l, uint64_t offset, uint64_t length,
    const uint8_t *expected, uint8_t **data, char why[LAYER_WHY])
{
	struct layer_range r = { .object = ZTOC_OBJECT,
		.offset = offset, .length = length };
	uint8_t found[DIGEST_MAX];
	int rc;

	if (length > LAYER_INDEX_MAX)
		return layer_refuse(why, -EFBIG, "the ztoc is larger than "
		    "256 MiB");
	r.buf = *data = sys_malloc(length + 1);
	rc = *data == NULL ? -ENOMEM : layer_fetch(l, &r, why);
	if (rc == 0 && expected != NULL)
		rc = digest_sha256(*data, length, found);
	if (rc == 0 && expected != NULL &&
	    memcmp(found, expected, LAYER_DIGEST) != 0)
		return layer_refuse(why, -EBADMSG, "the ztoc does not match "
		    "the expected digest");
	return rc;
}

/* Fetches the index into z.  Returns 0, or -errno with a clause in why. */
static int
fetch_index(struct layer *l, struct ztoc *z, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	uint8_t footer[ZTOC_FOOTER] = { 0 }, *frame = NULL;
	struct layer_range r = { .object = ZTOC_OBJECT,
		.length = ZTOC_FOOTER, .buf = footer };
	uint64_t size, length, content;
	size_t n;
	int rc = l->blobs->size(l->blobs->arg, ZTOC_OBJECT, &size);

	if (rc != 0)
		return layer_refuse(why, rc, "the ztoc: %s", strerror(-rc));
	if (size >= ZTOC_FOOTER) {
		r.offset = size - ZTOC_FOOTER;
		rc = layer_fetch(l, &r, why);
	}
	if (rc != 0)
		return rc;
	if (load_le32(footer) != ZTOC_FOOTER_MAGIC ||
	    load_le64(footer + 32) != ZTOC_MAGIC) {
		z->len = size;
		return fetch_part(l, 0, size, e->index_digest, &z->data, why);
	}
	/* the packed variant */
	z->packed = true;
	z->windows = load_le64(footer + 8);
	length = load_le64(footer + 16);
	content = load_le64(footer + 24);
	if (z->windows > r.offset || length != r.offset - z->windows)
		return layer_refuse(why, -EBADMSG, "the ztoc's footer is "
		    "damaged");
	rc = fetch_part(l, z->windows, length, e->index_digest, &frame, why);
	if (rc != 0)
		goto out;
	if (content > LAYER_INDEX_MAX) {
		rc = layer_refuse(why, -EFBIG, "the index is larger than "
		    "256 MiB");
		goto out;
	}
	z->data = sys_malloc(content + 1);
	if (z->data == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	n = ZSTD_decompress(z->data, content, frame, length);
	z->len = content;
	if (ZSTD_isError(n) || n != content)
		rc = layer_refuse(why, -EBADMSG, "the index is damaged");
out:
	sys_free(frame);
	return rc;
}

/* The spans: the units of the layer */

/* Returns the offset and length of a span in the layer. */
static struct layer_range
span_range(const struct layer *l, const struct ztoc *z, size_t i)
{
	const struct ztoc_span *s = &z->spans[i];
	uint64_t from = s->in - (s->bits != 0);
	uint64_t to = i + 1 < z->count ? s[1].in : l->size;

	return (struct layer_range){ .offset = from, .length = to - from };
}

/* Rejects the index as damaged.  Returns -EBADMSG. */
static int
refuse_ztoc(char why[LAYER_WHY], const char *what)
{
	return layer_refuse(why, -EBADMSG, "the ztoc is damaged: %s", what);
}

static void
load_point(struct ztoc_span *s, const uint8_t *p)
{
	s->in = load_le64(p);
	s->out = load_le64(p + 8);
	s->bits = p[16];
}

/*
 * Reads the checkpoints. An early version of SOCI omits the first checkpoint,
 * which always follows a ten-byte header.
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

/* Reads the common length of the spans, which is in a nested FlatBuffer. */
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

/* Reads the spans, the units of the index. */
static int
read_spans(struct layer *l, struct ztoc *z,
    const struct flatbuf_table *compression, char why[LAYER_WHY])
{
	struct flatbuf_refs digests;
	struct flatbuf_bytes s;
	uint8_t kind = ZTOC_GZIP;
	uint32_t last = 0;
	int rc = flatbuf_u8(compression, COMPRESSION_KIND, &kind);

	if (rc == 0)
		rc = flatbuf_u32(compression, COMPRESSION_LAST, &last);
	if (rc != 0 || kind < ZTOC_GZIP || kind > ZTOC_PLAIN)
		return refuse_ztoc(why, "the compression");
	z->plain = kind == ZTOC_PLAIN;
	z->count = (size_t)(uint32_t)(last + 1);
	/* the digest of a span needs at least this many bytes */
	if (z->count > z->len / LAYER_DIGEST)
		return refuse_ztoc(why, "the number of spans");
	z->spans = sys_calloc(z->count + 1, sizeof(*z->spans));
	if (z->spans == NULL)
		return -ENOMEM;
	if (z->plain)
		rc = read_plain(z, compression);
	else if (z->packed)
		rc = read_points(z, compression);
	else
		rc = read_checkpoints(z, compression);
	if (rc == 0)
		rc = flatbuf_refs(compression, COMPRESSION_DIGESTS, &digests);
	if (rc != 0 || digests.count != z->count)
		return refuse_ztoc(why, "the spans");
	for (uint32_t i = 0; i < digests.count; i++)
		if (flatbuf_ref_string(&digests, i, &s) != 0 ||
		    hex_read_sha256(z->spans[i].digest,
		    (const char *)s.data) != 0)
			return refuse_ztoc(why, "the spans");
	/* points must be in ascending order, and sizes within limits */
	for (size_t i = 0; i < z->count; i++) {
		const struct ztoc_span *x = &z->spans[i];
		uint64_t in = i + 1 < z->count ? x[1].in : l->size;
		uint64_t out = i + 1 < z->count ? x[1].out : z->content;
		struct layer_unit u;

		/*
		 * there may be spans that contain only zeros after the archive
		 */
		out = out > z->content ? z->content : out;
		if (x->bits > 7 || x->in < (x->bits != 0) || x->in > in ||
		    in > l->size || (i + 1 < z->count && x->out > x[1].out))
			return refuse_ztoc(why, "spans are out of order");
		u.content = x->out < out ? out - x->out : 0;
		u.stored = span_range(l, z, i).length;
		if (u.stored > LAYER_UNIT_MAX)
			return layer_refuse(why, -EFBIG, "a span is "
			    "larger than 64 MiB");
		if (z->plain && u.stored < u.content)
			return refuse_ztoc(why, "a span is too short");
		u.stored += z->packed ? x->window_len : 0;
		rc = index_unit(&l->index, &u, why);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The entries */

/* minimum total size of an entry's reference, table and strings */
enum { ENTRY_LEAST = 64 };

struct entry_reader {
	struct layer *l;
	const struct ztoc *z;
	char *why;
	struct layer_entry e;
	struct tar_xattr *xattrs;
	size_t xattr_cap;
	uint64_t at, stored;		/* range of the data in the archive */
	uint64_t end;			/* end of the last entry's data */
	size_t unit;			/* unit that contains this end */
	uint64_t taken;			/* total length of strings and vectors
					 * so far */
};

/*
 * Counts the bytes of a string or a vector.  In a real ztoc each is stored
 * separately, so their total length cannot exceed that of the index.
 */
static int
count_bytes(struct entry_reader *k, uint64_t bytes)
{
	k->taken += bytes;
	return k->taken > k->z->len ? -EBADMSG : 0;
}

/* Reads a string, which must not contain a NUL. */
static int
read_string(struct entry_reader *k, const struct flatbuf_table *t,
    unsigned slot, const char **text)
{
	struct flatbuf_bytes s;
	int rc = flatbuf_string(t, slot, &s);

	if (rc != 0)
		return rc;
	*text = (const char *)s.data;
	rc = count_bytes(k, s.len);
	return rc == 0 && strlen(*text) != s.len ? -EBADMSG : rc;
}

static int
read_xattrs(struct entry_reader *k, const struct flatbuf_table *t)
{
	struct flatbuf_refs refs;
	int rc = flatbuf_refs(t, ENTRY_PAX, &refs);

	if (rc == 0)
		rc = count_bytes(k, refs.count * sizeof(uint32_t));
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		void *items = k->xattrs;
		struct flatbuf_table record;
		struct flatbuf_bytes value;
		const char *key;

		rc = flatbuf_ref_table(&refs, i, &record);
		if (rc == 0)
			rc = read_string(k, &record, PAX_KEY, &key);
		if (rc == 0)
			rc = flatbuf_string(&record, PAX_VALUE, &value);
		if (rc != 0 ||
		    strncmp(key, ZTOC_XATTR, strlen(ZTOC_XATTR)) != 0)
			continue;
		rc = count_bytes(k, value.len);
		if (rc != 0)
			break;
		rc = array_grow(&items, k->e.xattr_count, &k->xattr_cap,
		    sizeof(*k->xattrs));
		k->xattrs = items;
		if (rc == 0)
			k->xattrs[k->e.xattr_count++] = (struct tar_xattr){
				key + strlen(ZTOC_XATTR), value.data,
				value.len };
	}
	k->e.xattrs = k->xattrs;
	return rc;
}

/* Data */

/*
 * Adds runs for length bytes at k->at in the archive, which are at offset in
 * the file.
 */
static int
add_runs(struct entry_reader *k, uint64_t offset, uint64_t length)
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
			return refuse_ztoc(k->why, "data is not in any span");
		content = k->l->index.units[k->unit].content;
		r.unit = (uint32_t)k->unit;
		r.inner = k->at - spans[k->unit].out;
		if (r.inner >= content)
			return refuse_ztoc(k->why, "data is not in any span");
		r.length = content - r.inner < length ? content - r.inner :
		    length;
		rc = index_run(&k->l->index, &r, k->why);
		k->at += r.length;
		offset += r.length;
		length -= r.length;
	}
	return rc;
}

/* Reads an entry's members.  *extents are those of a sparse file. */
static int
read_members(struct entry_reader *k, const struct flatbuf_table *t,
    struct flatbuf_bytes *extents)
{
	uint64_t size = 0, mode = 0, major = 0, minor = 0;
	uint32_t uid = 0, gid = 0;
	const char *type, *mtime;
	struct layer_entry *e = &k->e;
	int rc;

	if (read_string(k, t, ENTRY_TYPE, &type) != 0 ||
	    !layer_type_find(type, &e->type) ||
	    read_string(k, t, ENTRY_NAME, &e->path) != 0 ||
	    read_string(k, t, ENTRY_LINK, &e->link) != 0 ||
	    read_string(k, t, ENTRY_UNAME, &e->uname) != 0 ||
	    read_string(k, t, ENTRY_GNAME, &e->gname) != 0 ||
	    read_string(k, t, ENTRY_MTIME, &mtime) != 0 || *e->path == '\0')
		return -EBADMSG;
	/* SOCI leaves the time empty if RFC 3339 cannot represent it */
	if (*mtime != '\0' && utc_parse(mtime, &e->mtime, &e->mtime_ns) != 0)
		return -EBADMSG;
	if (flatbuf_u64(t, ENTRY_MODE, &mode) != 0 ||
	    flatbuf_u32(t, ENTRY_UID, &uid) != 0 ||
	    flatbuf_u32(t, ENTRY_GID, &gid) != 0 ||
	    flatbuf_u64(t, ENTRY_MAJOR, &major) != 0 ||
	    flatbuf_u64(t, ENTRY_MINOR, &minor) != 0 ||
	    flatbuf_u64(t, ENTRY_OFFSET, &k->at) != 0 ||
	    flatbuf_u64(t, ENTRY_STORED, &k->stored) != 0 ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	e->mode = (uint32_t)mode & 07777;
	e->uid = uid;
	e->gid = gid;
	e->major = (uint32_t)major;
	e->minor = (uint32_t)minor;
	rc = read_xattrs(k, t);
	if (rc != 0)
		return rc;
	if (flatbuf_u64(t, ENTRY_SIZE, &size) != 0 ||
	    flatbuf_vector(t, ENTRY_EXTENTS, ZTOC_EXTENT, extents) != 0 ||
	    count_bytes(k, extents->len) != 0)
		return -EBADMSG;
	if (e->type == TAR_FILE)
		e->size = size > 0 ? size : k->stored;
	return 0;
}

/*
 * Adds an entry.  Entry data must not overlap, which limits the number of runs.
 */
static int
add_entry(struct entry_reader *k, const struct flatbuf_table *t)
{
	struct flatbuf_bytes extents;
	int rc;

	k->e = (struct layer_entry){ .mode = 0 };
	k->at = k->stored = 0;
	rc = read_members(k, t, &extents);
	if (rc != 0)
		return rc == -EBADMSG ? refuse_ztoc(k->why, "an entry") : rc;
	rc = index_entry(&k->l->index, &k->e, k->why);
	if (rc != 0 || k->e.type != TAR_FILE)
		return rc;
	if (k->at < k->end || k->at > k->z->content ||
	    k->stored > k->z->content - k->at)
		return refuse_ztoc(k->why, "the data of two entries overlaps "
		    "or is outside the archive");
	k->end = k->at + k->stored;
	if (extents.len == 0)
		return add_runs(k, 0, k->stored);
	for (size_t i = 0; rc == 0 && i < extents.len; i += ZTOC_EXTENT) {
		uint64_t length = load_le64(extents.data + i + 8);

		if (length > k->stored)
			return refuse_ztoc(k->why, "a sparse file's extents");
		k->stored -= length;
		rc = add_runs(k, load_le64(extents.data + i), length);
	}
	return rc == 0 && k->stored > 0 ?
	    refuse_ztoc(k->why, "a sparse file's extents") : rc;
}

/* Opening */

static int
open_ztoc(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct ztoc *z = sys_calloc(1, sizeof(*z));
	struct entry_reader k = { .l = l, .z = z, .why = why };
	struct flatbuf_table root, toc, compression, entry;
	struct flatbuf_refs entries;
	struct flatbuf_bytes version;
	struct flatbuf b;
	uint64_t stored = 0;
	int rc;

	if (z == NULL)
		return -ENOMEM;
	l->state = z;
	rc = fetch_index(l, z, e, why);
	if (rc != 0)
		return rc;
	b = (struct flatbuf){ z->data, z->len };
	rc = flatbuf_root(&b, &root);
	if (rc == 0)
		rc = flatbuf_string(&root, ZTOC_VERSION, &version);
	if (rc == 0)
		rc = flatbuf_u64(&root, ZTOC_STORED, &stored);
	if (rc == 0)
		rc = flatbuf_u64(&root, ZTOC_CONTENT, &z->content);
	if (rc == 0)
		rc = flatbuf_table(&root, ZTOC_COMPRESSION, &compression);
	if (rc == 0)
		rc = flatbuf_table(&root, ZTOC_TOC, &toc);
	if (rc != 0)
		return layer_refuse(why, rc, "the ztoc is damaged");
	if (version.len != strlen(ZTOC_THE_VERSION) ||
	    memcmp(version.data, ZTOC_THE_VERSION, version.len) != 0)
		return layer_refuse(why, -EBADMSG, "the ztoc's version is "
		    "not " ZTOC_THE_VERSION);
	if (stored != l->size)
		return layer_refuse(why, -EBADMSG, "the ztoc describes a layer "
		    "of %llu bytes, but this one has %llu",
		    (unsigned long long)stored, (unsigned long long)l->size);
	rc = read_spans(l, z, &compression, why);
	if (rc != 0)
		return rc;
	if (flatbuf_refs(&toc, TOC_ENTRIES, &entries) != 0 ||
	    entries.count > z->len / ENTRY_LEAST)
		return refuse_ztoc(why, "the entries");
	for (uint32_t i = 0; rc == 0 && i < entries.count; i++) {
		rc = flatbuf_ref_table(&entries, i, &entry);
		rc = rc != 0 ? refuse_ztoc(why, "an entry") :
		    add_entry(&k, &entry);
	}
	sys_free(k.xattrs);
	if (rc == 0 && (z->packed || z->plain)) {
		sys_free(z->data);
		z->data = NULL;
	}
	return rc;
}

static void
close_ztoc(struct layer *l)
{
	struct ztoc *z = l->state;

	if (z == NULL)
		return;
	sys_free(z->spans);
	sys_free(z->data);
	sys_free(z);
}

static bool
probe(const struct layer *l)
{
	uint64_t size;

	return l->blobs->size(l->blobs->arg, ZTOC_OBJECT, &size) == 0;
}

/* Units */

static size_t
ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	const struct ztoc *z = l->state;
	const struct ztoc_span *s = &z->spans[unit];

	r[0] = span_range(l, z, unit);
	if (!z->packed || s->window_len == 0)
		return 1;
	r[1] = (struct layer_range){ .object = ZTOC_OBJECT,
		.offset = s->window_at, .length = s->window_len };
	return 2;
}

struct span_decoder {
	struct inflater *inflater;
	ZSTD_DCtx *unpacker;
	uint8_t window[ZTOC_WINDOW];
};

static int
open_decoder(struct layer_decoder *d)
{
	struct span_decoder *x = sys_calloc(1, sizeof(*x));
	int rc;

	d->state = x;
	if (x == NULL)
		return -ENOMEM;
	rc = inflater_open(&x->inflater);
	if (rc == 0)
		x->unpacker = ZSTD_createDCtx();
	return rc != 0 || x->unpacker != NULL ? rc : -ENOMEM;
}

static void
close_decoder(struct layer_decoder *d)
{
	struct span_decoder *x = d->state;

	if (x == NULL)
		return;
	inflater_close(x->inflater);
	ZSTD_freeDCtx(x->unpacker);
	sys_free(x);
}

static bool
has_digest(struct layer_decoder *d, const struct layer_range *r,
    const uint8_t expected[LAYER_DIGEST])
{
	uint8_t found[DIGEST_MAX];

	if (d->known)
		return true;
	return digest_once(d->digest, r->buf, r->length, found) == 0 &&
	    memcmp(found, expected, LAYER_DIGEST) == 0;
}

static int
decode_span(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	struct span_decoder *x = d->state;
	const struct ztoc *z = d->l->state;
	const struct ztoc_span *s = &z->spans[unit];
	size_t size = d->l->index.units[unit].content;
	struct gzip_point p = { .bits = s->bits, .window = s->window,
		.window_len = s->window_len };

	*why = "a span does not match its digest in the ztoc";
	if (!has_digest(d, r, s->digest))
		return -EBADMSG;
	if (z->plain) {
		memcpy(content, r->buf, size);
		return 0;
	}
	/* the window is in memory, unless it has been fetched with the span */
	if (z->packed && s->window_len > 0) {
		*why = "a span's window does not match its digest in the ztoc";
		if (!has_digest(d, r + 1, s->window_digest))
			return -EBADMSG;
		p.window = x->window;
		p.window_len = ZSTD_decompressDCtx(x->unpacker, x->window,
		    sizeof(x->window), r[1].buf, r[1].length);
		if (ZSTD_isError(p.window_len))
			return -EBADMSG;
	}
	*why = "a span does not decompress as stated in the ztoc";
	return gzip_resume(x->inflater, &p, r->buf, r->length, content, size);
}

const struct layer_format format_ztoc = {
	.kind = LAYER_ZTOC,
	.probe = probe, .open = open_ztoc, .close = close_ztoc,
	.ranges = ranges,
	.decoder_open = open_decoder,
	.decoder_close = close_decoder,
	.decode = decode_span,
};
