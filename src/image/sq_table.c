/*
 * sq_table.c - the tables of ids, fragments, inodes by number, and xattrs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each is an array of records in metadata blocks, and after these, where the
 * superblock points, an array of the places of the blocks.
 */
#include "sq.h"

#include "bytes.h"

#include <errno.h>
#include <string.h>

enum {
	ID_B = 4, FRAGMENT_B = 16, EXPORT_B = 8, XATTR_SET_B = 16,
	XATTR_HEAD_B = 16,		/* before the array of places */
	OUT_OF_LINE = 0x100,		/* in the type of an xattr */
};

static bool
is_there(const struct squashfs *q, uint64_t start)
{
	return start != UINT64_MAX && start < q->length;
}

/* The lower of two, if it is above the other table. */
static uint64_t
lower(uint64_t best, uint64_t candidate, uint64_t above)
{
	return candidate > above && candidate < best ? candidate : best;
}

uint64_t
sq_tables_start(struct squashfs *q, uint64_t above)
{
	const struct squashfs_super *s = &q->super;
	const uint64_t starts[] = {
		s->fragments > 0 ? s->fragment_start : UINT64_MAX,
		s->inodes > 0 ? s->export_start : UINT64_MAX,
		s->id_start,
	};
	uint64_t best = q->length;
	uint8_t p[8];

	best = lower(best, s->fragment_start, above);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		best = lower(best, starts[i], above);
		if (is_there(q, starts[i]) &&
		    sq_read(q, p, sizeof(p), starts[i]) == 0)
			best = lower(best, load_le64(p), above);
	}
	best = lower(best, s->xattr_start, above);
	if (is_there(q, s->xattr_start) &&
	    sq_read(q, p, sizeof(p), s->xattr_start) == 0)
		best = lower(best, load_le64(p), above);
	return best;
}

/* The keys and values lie before their sets, which tell where they begin. */
static int
read_xattrs(struct squashfs *q, const struct sq_report *r)
{
	uint64_t at = q->super.xattr_start, start, end, count;
	uint8_t p[XATTR_HEAD_B + 8];
	int rc;

	if (at == UINT64_MAX)
		return 0;
	if (sq_read(q, p, XATTR_HEAD_B, at) != 0) {
		sq_report(r, at, "the table of xattrs is beyond the end");
		return 0;
	}
	start = load_le64(p);
	count = load_le32(p + 8);
	if (count == 0)
		return 0;
	rc = sq_meta_indexed(q, &q->xattr_sets, at + XATTR_HEAD_B,
	    count * XATTR_SET_B, r);
	if (rc != 0 || q->xattr_sets.count == 0)
		return rc;
	end = q->xattr_sets.start;
	if (start >= end) {
		sq_report(r, at, "the table of xattrs begins after its end");
		return 0;
	}
	return sq_meta_chain(q, &q->xattrs, start, end, r);
}

int
sq_tables_read(struct squashfs *q, const struct sq_report *r)
{
	const struct squashfs_super *s = &q->super;
	int rc;

	rc = sq_meta_indexed(q, &q->ids, s->id_start,
	    (uint64_t)s->ids * ID_B, r);
	if (rc == 0)
		rc = sq_meta_indexed(q, &q->fragments, s->fragment_start,
		    (uint64_t)s->fragments * FRAGMENT_B, r);
	if (rc == 0 && s->export_start != UINT64_MAX)
		rc = sq_meta_indexed(q, &q->exports, s->export_start,
		    (uint64_t)s->inodes * EXPORT_B, r);
	return rc != 0 ? rc : read_xattrs(q, r);
}

int
squashfs_fragment(const struct squashfs *q, uint32_t index, uint64_t *start,
    uint32_t *size)
{
	const uint8_t *p = sq_meta_get(&q->fragments,
	    (uint64_t)index * FRAGMENT_B, FRAGMENT_B);

	if (p == NULL || index >= q->super.fragments)
		return -EBADMSG;
	*start = load_le64(p);
	*size = load_le32(p + 8);
	return 0;
}

int
squashfs_id(const struct squashfs *q, uint16_t index, uint32_t *id)
{
	const uint8_t *p = sq_meta_get(&q->ids, (uint64_t)index * ID_B, ID_B);

	if (p == NULL || index >= q->super.ids)
		return -EBADMSG;
	*id = load_le32(p);
	return 0;
}

int
squashfs_export(const struct squashfs *q, uint32_t number, uint64_t *ref)
{
	const uint8_t *p;

	if (number == 0 || number > q->super.inodes)
		return -EBADMSG;
	p = sq_meta_get(&q->exports, (uint64_t)(number - 1) * EXPORT_B,
	    EXPORT_B);
	if (p == NULL)
		return -EBADMSG;
	*ref = load_le64(p);
	return 0;
}

/* A value that another set has, too, is a reference to it. */
static const uint8_t *
value_at(const struct squashfs *q, uint64_t pos, uint32_t *len)
{
	const uint8_t *p = sq_meta_get(&q->xattrs, pos, 4);

	if (p == NULL)
		return NULL;
	*len = load_le32(p);
	return sq_meta_get(&q->xattrs, pos + 4, *len);
}

/* One attribute at *pos, which is moved behind it. */
static int
one_xattr(const struct squashfs *q, uint64_t *pos, squashfs_xattr_fn *fn,
    void *arg)
{
	static const char *const spaces[] = { "user.", "trusted.",
	    "security." };
	char name[UINT16_MAX + 16];
	const uint8_t *p = sq_meta_get(&q->xattrs, *pos, 4), *value;
	uint32_t type, len, value_len;

	if (p == NULL)
		return -EBADMSG;
	type = load_le16(p);
	len = load_le16(p + 2);
	p = sq_meta_get(&q->xattrs, *pos + 4, len);
	if (p == NULL || (type & 0xff) >= sizeof(spaces) / sizeof(spaces[0]) ||
	    memchr(p, '\0', len) != NULL)
		return -EBADMSG;
	strcpy(name, spaces[type & 0xff]);
	strncat(name, (const char *)p, len);
	*pos += 4 + len;
	value = value_at(q, *pos, &value_len);
	if (value == NULL)
		return -EBADMSG;
	*pos += 4 + (uint64_t)value_len;
	if ((type & OUT_OF_LINE) != 0) {
		uint64_t ref;

		if (value_len != 8)
			return -EBADMSG;
		ref = load_le64(value);
		ref = sq_meta_pos(&q->xattrs, ref >> 16, ref & 0xffff);
		value = ref == UINT64_MAX ? NULL : value_at(q, ref, &value_len);
		if (value == NULL)
			return -EBADMSG;
	}
	return fn(arg, name, value, value_len);
}

int
squashfs_xattrs(const struct squashfs *q, uint32_t index,
    squashfs_xattr_fn *fn, void *arg)
{
	const uint8_t *p = sq_meta_get(&q->xattr_sets,
	    (uint64_t)index * XATTR_SET_B, XATTR_SET_B);
	uint64_t pos;
	int rc = 0;

	if (p == NULL)
		return -EBADMSG;
	pos = sq_meta_pos(&q->xattrs, load_le64(p) >> 16,
	    load_le64(p) & 0xffff);
	for (uint32_t n = load_le32(p + 8); rc == 0 && n > 0; n--)
		rc = one_xattr(q, &pos, fn, arg);
	return rc;
}
