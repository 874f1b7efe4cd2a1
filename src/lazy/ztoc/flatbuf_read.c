/*
 * flatbuf_read.c - reading an untrusted FlatBuffer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/ztoc/flatbuf.h"

#include "base/bytes.h"

#include <errno.h>

enum { HEAD = 4 };		/* size of a length, a vtable's head or an
				 * offset */

/* Follows the offset at p, to a position with at least HEAD bytes. */
static const uint8_t *
follow(const struct flatbuf *b, const uint8_t *p)
{
	size_t from = (size_t)(p - b->data);
	uint32_t distance;

	if (b->len - from < HEAD)
		return NULL;
	distance = load_le32(p);
	return distance < HEAD || distance > b->len - from - HEAD ? NULL :
	    p + distance;
}

static int
table_at(const struct flatbuf *b, const uint8_t *p, struct flatbuf_table *t)
{
	int64_t at, vtable;
	size_t left;

	if (p == NULL)
		return -EBADMSG;
	at = p - b->data;
	left = b->len - (size_t)at;
	vtable = at - (int32_t)load_le32(p);
	if (vtable < 0 || vtable > (int64_t)b->len - HEAD)
		return -EBADMSG;
	*t = (struct flatbuf_table){ .b = b, .at = p,
		.vtable = b->data + vtable };
	t->vtable_len = load_le16(t->vtable);
	t->len = load_le16(t->vtable + 2);
	return t->vtable_len < HEAD || t->vtable_len % 2 != 0 ||
	    t->vtable_len > b->len - (size_t)vtable || t->len < HEAD ||
	    t->len > left ? -EBADMSG : 0;
}

int
flatbuf_root(const struct flatbuf *b, struct flatbuf_table *root)
{
	return b->len < HEAD ? -EBADMSG :
	    table_at(b, follow(b, b->data), root);
}

/*
 * Finds the field of `size` bytes in a slot.  Returns 1 and sets *p, 0 if the
 * field is absent, or -EBADMSG.
 */
static int
find_field(const struct flatbuf_table *t, unsigned slot, size_t size,
    const uint8_t **p)
{
	size_t entry = HEAD + 2 * (size_t)slot;
	uint16_t at;

	if (entry + 2 > t->vtable_len)
		return 0;
	at = load_le16(t->vtable + entry);
	if (at == 0)
		return 0;
	if (at < HEAD || size > t->len || at > t->len - size)
		return -EBADMSG;
	*p = t->at + at;
	return 1;
}

int
flatbuf_u8(const struct flatbuf_table *t, unsigned slot, uint8_t *value)
{
	const uint8_t *p;
	int rc = find_field(t, slot, sizeof(*value), &p);

	if (rc == 1)
		*value = *p;
	return rc < 0 ? rc : 0;
}

int
flatbuf_u32(const struct flatbuf_table *t, unsigned slot, uint32_t *value)
{
	const uint8_t *p;
	int rc = find_field(t, slot, sizeof(*value), &p);

	if (rc == 1)
		*value = load_le32(p);
	return rc < 0 ? rc : 0;
}

int
flatbuf_u64(const struct flatbuf_table *t, unsigned slot, uint64_t *value)
{
	const uint8_t *p;
	int rc = find_field(t, slot, sizeof(*value), &p);

	if (rc == 1)
		*value = load_le64(p);
	return rc < 0 ? rc : 0;
}

/*
 * Finds the vector to which the offset at p points: items of `size` bytes,
 * followed by `after` more bytes.
 */
static int
vector_at(const struct flatbuf *b, const uint8_t *p, size_t size,
    size_t after, struct flatbuf_bytes *v)
{
	const uint8_t *head = follow(b, p);
	uint64_t len;

	if (head == NULL)
		return -EBADMSG;
	len = load_le32(head) * (uint64_t)size;
	if (len > UINT32_MAX ||
	    len + after > b->len - (size_t)(head + HEAD - b->data))
		return -EBADMSG;
	*v = (struct flatbuf_bytes){ head + HEAD, (uint32_t)len };
	return 0;
}

static int
string_at(const struct flatbuf *b, const uint8_t *p, struct flatbuf_bytes *s)
{
	int rc = vector_at(b, p, 1, 1, s);

	return rc == 0 && s->data[s->len] != '\0' ? -EBADMSG : rc;
}

int
flatbuf_string(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_bytes *s)
{
	const uint8_t *p;
	int rc = find_field(t, slot, HEAD, &p);

	*s = (struct flatbuf_bytes){ (const uint8_t *)"", 0 };
	return rc == 1 ? string_at(t->b, p, s) : rc;
}

int
flatbuf_vector(const struct flatbuf_table *t, unsigned slot, size_t size,
    struct flatbuf_bytes *v)
{
	const uint8_t *p;
	int rc = find_field(t, slot, HEAD, &p);

	*v = (struct flatbuf_bytes){ (const uint8_t *)"", 0 };
	return rc == 1 ? vector_at(t->b, p, size, 0, v) : rc;
}

int
flatbuf_refs(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_refs *r)
{
	struct flatbuf_bytes v;
	int rc = flatbuf_vector(t, slot, HEAD, &v);

	if (rc == 0)
		*r = (struct flatbuf_refs){ t->b, v.data, v.len / HEAD };
	return rc;
}

int
flatbuf_table(const struct flatbuf_table *t, unsigned slot,
    struct flatbuf_table *child)
{
	const uint8_t *p;
	int rc = find_field(t, slot, HEAD, &p);

	return rc == 1 ? table_at(t->b, follow(t->b, p), child) : -EBADMSG;
}

int
flatbuf_ref_table(const struct flatbuf_refs *r, uint32_t i,
    struct flatbuf_table *t)
{
	return table_at(r->b, follow(r->b, r->items + (size_t)i * HEAD), t);
}

int
flatbuf_ref_string(const struct flatbuf_refs *r, uint32_t i,
    struct flatbuf_bytes *s)
{
	return string_at(r->b, r->items + (size_t)i * HEAD, s);
}
