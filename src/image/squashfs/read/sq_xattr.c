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
 *
 * Each set is parsed once when the image is opened, so that all tools know
 * which are damaged.  In a valid image no byte of the values belongs to two
 * sets, so the total size of the sets that are parsed is limited to that of the
 * values.
 */
#include "squashfs.h"

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
take_bytes(struct span *s, size_t len)
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
take_xattr_value(struct span *s, size_t *len)
{
	const uint8_t *at = take_bytes(s, LENGTH_B);

	*len = at == NULL ? 0 : load_le32(at);
	return at == NULL || *len > VALUE_MAX ? NULL : take_bytes(s, *len);
}

int
sq_xattrs_parse(const struct sq_tables *q, uint32_t index, sq_xattr_fn *fn,
    void *arg, uint64_t *parsed)
{
	static const char *const prefixes[] = { "user.", "trusted.",
		"security." };
	const struct sq_meta *sets = &q->xattr_sets;
	const struct sq_meta *values = &q->xattr_values;
	uint64_t pos = (uint64_t)index * SET_B;
	size_t block = (size_t)(pos / SQUASHFS_META_B);
	size_t offset = (size_t)(pos % SQUASHFS_META_B), most;
	char name[16 + NAME_MAX_B];
	const uint8_t *set;
	struct span s;
	uint32_t count;
	int rc = 0;

	if (!q->xattrs_known || index >= q->super.xattr_count ||
	    block >= sets->count || offset + SET_B > sets->len[block])
		return -EBADMSG;
	set = sets->data + block * SQUASHFS_META_B + offset;
	count = load_le32(set + 8);
	/* writers give a name without attributes no set */
	if (count == 0)
		return -EBADMSG;
	s = span(values, load_le64(set), SET_MAX);
	if (s.left > SET_MAX)
		s.left = SET_MAX;
	most = s.left;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const uint8_t *at = take_bytes(&s, ENTRY_B), *value;
		unsigned type = at == NULL ? PREFIX : load_le16(at);
		size_t n = at == NULL ? 0 : load_le16(at + 2), len;

		at = take_bytes(&s, n);
		value = take_xattr_value(&s, &len);
		if (at == NULL || value == NULL || n == 0 || n > NAME_MAX_B ||
		    (type & PREFIX) >= sizeof(prefixes) / sizeof(*prefixes) ||
		    memchr(at, '\0', n) != NULL) {
			rc = -EBADMSG;
			break;
		}
		if ((type & OUT_OF_LINE) != 0) {
			struct span other = span(values, len == REFERENCE_B ?
			    load_le64(value) : UINT64_MAX,
			    LENGTH_B + VALUE_MAX);

			value = take_xattr_value(&other, &len);
			if (value == NULL) {
				rc = -EBADMSG;
				break;
			}
		}
		if (fn == NULL)
			continue;
		strcpy(name, prefixes[type & PREFIX]);
		strncat(name, (const char *)at, n);
		rc = fn(arg, name, value, len);
	}
	*parsed += most - s.left;
	return rc;
}

int
sq_xattrs_read(struct sq_tables *q, struct sq_codec *c, image_report_fn *report,
    void *arg)
{
	struct sq_super *s = &q->super;
	uint8_t p[HEADER_B + 8];
	uint64_t parsed = 0, sets;
	int rc;

	/* the header is valid only if sq_check() accepted it */
	if (s->xattr_count == 0)
		return 0;
	rc = sq_read(s, s->xattrs, p, sizeof(p));
	if (rc == 0) {
		sets = load_le64(p + HEADER_B);
		rc = sq_table_read(&q->xattr_values, s, c, load_le64(p), sets);
		if (rc == 0)
			rc = sq_table_read(&q->xattr_sets, s, c, sets,
			    s->xattrs);
		q->xattrs_known = rc == 0;
	}
	if (rc != 0)
		return image_no_memory(rc) ? rc :
		    report(arg, s->xattrs, "the xattr table cannot be read");
	for (uint32_t i = 0; i < s->xattr_count; i++) {
		if (sq_xattrs_parse(q, i, NULL, NULL, &parsed) != 0) {
			if (s->bad_sets == NULL) {
				rc = image_take(s->memory, s->xattr_count);
				if (rc != 0)
					return rc;
				s->bad_sets = sys_calloc(s->xattr_count,
				    sizeof(*s->bad_sets));
			}
			if (s->bad_sets == NULL)
				return -ENOMEM;
			s->bad_sets[i] = true;
		}
		if (parsed > q->xattr_values.count * (uint64_t)SQUASHFS_META_B)
			return report(arg, s->xattrs, "the sets of the xattr "
			    "table overlap");
	}
	return 0;
}
