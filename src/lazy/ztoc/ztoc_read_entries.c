/*
 * ztoc_read_entries.c - reading and checking the entries of a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ztoc_state.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "base/utc.h"
#include "lazy/ztoc/ztoc.h"

#include <errno.h>
#include <string.h>

/* minimum total size of an entry's reference, table and strings */
enum { ENTRY_LEAST = 64 };

struct reader {
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
count_bytes(struct reader *k, uint64_t bytes)
{
	k->taken += bytes;
	return k->taken > k->z->len ? -EBADMSG : 0;
}

/* Reads a string, which must not contain a NUL. */
static int
read_string(struct reader *k, const struct flatbuf_table *t, unsigned slot,
    const char **text)
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
	/* SOCI leaves the time empty if RFC 3339 cannot represent it */
	return *mtime == '\0' ||
	    utc_parse(mtime, &k->e.mtime, &k->e.mtime_ns) == 0 ? 0 : -EBADMSG;
}

/* Adds an attribute if the record contains one. */
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
	rc = count_bytes(k, value.len);
	if (rc != 0)
		return rc;
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

	if (rc == 0)
		rc = count_bytes(k, refs.count * sizeof(uint32_t));
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_table(&refs, i, &record);
		if (rc == 0)
			rc = read_record(k, &record);
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
			return ztoc_damaged(k->why, "data is not in any span");
		content = k->l->index.units[k->unit].content;
		r.unit = (uint32_t)k->unit;
		r.inner = k->at - spans[k->unit].out;
		if (r.inner >= content)
			return ztoc_damaged(k->why, "data is not in any span");
		r.length = content - r.inner < length ? content - r.inner :
		    length;
		rc = index_run(&k->l->index, &r, k->why);
		k->at += r.length;
		offset += r.length;
		length -= r.length;
	}
	return rc;
}

/*
 * Adds an entry.  Entry data must not overlap, which limits the number of runs.
 */
static int
add_entry_data(struct reader *k, const struct flatbuf_bytes *extents)
{
	int rc = index_entry(&k->l->index, &k->e, k->why);

	if (rc != 0 || k->e.type != TAR_FILE)
		return rc;
	if (k->at < k->end || k->at > k->z->content ||
	    k->stored > k->z->content - k->at)
		return ztoc_damaged(k->why, "the data of two entries overlaps "
		    "or is outside the archive");
	k->end = k->at + k->stored;
	if (extents->len == 0)
		return add_runs(k, 0, k->stored);
	for (size_t i = 0; rc == 0 && i < extents->len; i += ZTOC_EXTENT) {
		uint64_t length = load_le64(extents->data + i + 8);

		if (length > k->stored)
			return ztoc_damaged(k->why,
			    "a sparse file's extents");
		k->stored -= length;
		rc = add_runs(k, load_le64(extents->data + i), length);
	}
	return rc == 0 && k->stored > 0 ?
	    ztoc_damaged(k->why, "a sparse file's extents") : rc;
}

static int
read_entry(struct reader *k, const struct flatbuf_table *t)
{
	uint64_t size = 0, mode = 0, major = 0, minor = 0;
	uint32_t uid = 0, gid = 0;
	struct flatbuf_bytes extents;
	const char *type;
	int rc;

	k->e = (struct layer_entry){ .mode = 0 };
	k->at = k->stored = 0;
	rc = read_string(k, t, ENTRY_TYPE, &type);
	if (rc == 0 && !layer_type_find(type, &k->e.type))
		rc = -EBADMSG;
	if (rc == 0)
		rc = read_strings(k, t);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_MODE, &mode);
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
	if (rc == 0 && (major > UINT32_MAX || minor > UINT32_MAX))
		rc = -EBADMSG;
	k->e.mode = (uint32_t)mode & 07777;
	k->e.uid = uid;
	k->e.gid = gid;
	k->e.major = (uint32_t)major;
	k->e.minor = (uint32_t)minor;
	if (rc == 0)
		rc = read_xattrs(k, t);
	if (rc == 0)
		rc = flatbuf_u64(t, ENTRY_SIZE, &size);
	if (rc == 0)
		rc = flatbuf_vector(t, ENTRY_EXTENTS, ZTOC_EXTENT, &extents);
	if (rc == 0)
		rc = count_bytes(k, extents.len);
	if (rc != 0)
		return rc == -EBADMSG ? ztoc_damaged(k->why, "an entry") : rc;
	if (k->e.type == TAR_FILE)
		k->e.size = size > 0 ? size : k->stored;
	return add_entry_data(k, &extents);
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
		return ztoc_damaged(why, "the entries");
	for (uint32_t i = 0; rc == 0 && i < refs.count; i++) {
		rc = flatbuf_ref_table(&refs, i, &t);
		if (rc != 0)
			ztoc_damaged(why, "an entry");
		else
			rc = read_entry(&k, &t);
	}
	sys_free(k.xattrs);
	return rc;
}
