/*
 * sq_xattr.c - an image's extended attributes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * 	values		le16 type, name length; name; le32 value length; value
 * 	sets		le64 reference of the first value, le32 count, length
 * 	header		le64 position of the values; le32 sets; le32 unused
 * 	index		le64 position of each block of the sets
 *
 * The type specifies a prefix of the name.  With OUT_OF_LINE the value is a
 * le64 reference to the length and bytes of the actual value, which several
 * attributes can share.
 */
#include "sq_reader.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_B = 16, SET_B = 16, ENTRY_B = 4, LENGTH_B = 4, REFERENCE_B = 8,
	OUT_OF_LINE = 1 << 8, PREFIX = 0xff,
	VALUE_MAX = 64 << 10,		/* Linux's limit */
	SET_MAX = 16 << 20,		/* inline names and values */
	NAME_MAX_B = 255
};

int
sq_table_read(struct sq_meta *m, const struct sq_super *s, struct sq_codec *c,
    uint64_t start, uint64_t index)
{
	int rc = start > index ? -EBADMSG : sq_meta_read(m, s, start, index,
	    SIZE_MAX);

	for (size_t i = 0; rc == 0 && i < m->count; i++)
		sq_meta_unpack(m, i, c);
	if (rc == 0)
		sq_meta_free_raw(m, s);
	return rc;
}

int
sq_xattrs_read(struct sqr_image *m, struct sq_codec *c)
{
	const struct sq_super *s = &m->q->super;
	uint8_t p[HEADER_B + 8];
	uint64_t values, sets;
	int rc;

	/* the header is valid only if sq_check() accepted it */
	if (s->xattr_count == 0)
		return 0;
	rc = sq_read(s, s->xattrs, p, sizeof(p));
	if (rc != 0)
		return rc;
	values = load_le64(p);
	sets = load_le64(p + HEADER_B);
	rc = sq_table_read(&m->xattr_values, s, c, values, sets);
	if (rc == 0)
		rc = sq_table_read(&m->xattr_sets, s, c, sets, s->xattrs);
	m->xattrs_known = rc == 0;
	return rc;
}

/* The remaining bytes of the values. */
struct span {
	const uint8_t *p;
	size_t left;
};

static struct span
span(const struct sq_meta *m, uint64_t ref, size_t most)
{
	struct span s;

	s.p = sq_meta_span(m, ref >> 16, ref & 0xffff, most, &s.left);
	return s;
}

/* Returns the next len bytes, or NULL if they are incomplete. */
static const uint8_t *
take(struct span *s, size_t len)
{
	const uint8_t *from = s->p;

	if (s->p == NULL || len > s->left)
		return NULL;
	s->p += len;
	s->left -= len;
	return from;
}

/* Parses a value: its length, and its bytes. */
static const uint8_t *
take_value(struct span *s, size_t *len)
{
	const uint8_t *at = take(s, LENGTH_B);

	*len = at == NULL ? 0 : load_le32(at);
	return at == NULL || *len > VALUE_MAX ? NULL : take(s, *len);
}

static int
give_one(const struct sq_meta *m, struct span *s, sqr_xattr_fn *fn,
    void *arg)
{
	static const char *const prefixes[] = { "user.", "trusted.",
		"security." };
	char name[16 + NAME_MAX_B];
	const uint8_t *at = take(s, ENTRY_B), *value;
	unsigned type = at == NULL ? PREFIX : load_le16(at);
	size_t n = at == NULL ? 0 : load_le16(at + 2), len;

	at = take(s, n);
	value = take_value(s, &len);
	if (at == NULL || value == NULL || n == 0 || n > NAME_MAX_B ||
	    (type & PREFIX) >= sizeof(prefixes) / sizeof(*prefixes) ||
	    memchr(at, '\0', n) != NULL)
		return -EBADMSG;
	if ((type & OUT_OF_LINE) != 0) {
		struct span other = span(m, len == REFERENCE_B ?
		    load_le64(value) : UINT64_MAX, LENGTH_B + VALUE_MAX);

		value = take_value(&other, &len);
		if (value == NULL)
			return -EBADMSG;
	}
	strcpy(name, prefixes[type & PREFIX]);
	strncat(name, (const char *)at, n);
	return fn(arg, name, value, len);
}

/* Returns the set with the given index, or NULL if there is none. */
static const uint8_t *
find_set(const struct sqr_image *m, uint32_t index)
{
	const struct sq_meta *t = &m->xattr_sets;
	uint64_t pos = (uint64_t)index * SET_B;
	size_t block = (size_t)(pos / SQUASHFS_META_B);
	size_t offset = (size_t)(pos % SQUASHFS_META_B);

	if (!m->xattrs_known || index >= m->q->super.xattr_count ||
	    block >= t->count || offset + SET_B > t->len[block])
		return NULL;
	return t->data + block * SQUASHFS_META_B + offset;
}

int
sqr_xattrs(const struct sqr_image *m, uint32_t index, sqr_xattr_fn *fn,
    void *arg)
{
	const uint8_t *set = find_set(m, index);
	struct span s;
	int rc = 0;

	if (set == NULL)
		return -EBADMSG;
	s = span(&m->xattr_values, load_le64(set), SET_MAX);
	if (s.left > SET_MAX)
		s.left = SET_MAX;
	for (uint32_t i = 0; rc == 0 && i < load_le32(set + 8); i++)
		rc = give_one(&m->xattr_values, &s, fn, arg);
	return rc;
}
