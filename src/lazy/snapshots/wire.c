/*
 * wire.c - messages in the encoding of Protocol Buffers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "wire.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

enum {
	VARINT_MAX = 10,		/* bytes of a 64-bit number */
	FIELD_MAX = (1 << 29) - 1
};

struct wire
wire_message(const void *data, size_t length)
{
	const uint8_t *at = data;

	return (struct wire){ .at = at, .end = length == 0 ? at : at + length };
}

static bool
read_varint(struct wire *w, uint64_t *value)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX && w->at < w->end; i++) {
		uint8_t byte = *w->at++;

		/* the tenth byte has room for one bit */
		if (i == VARINT_MAX - 1 && byte > 1)
			return false;
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*value = v;
			return true;
		}
	}
	return false;
}

static bool
read_fixed(struct wire *w, unsigned size, uint64_t *value)
{
	uint64_t v = 0;

	if ((size_t)(w->end - w->at) < size)
		return false;
	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)*w->at++ << (8 * i);
	*value = v;
	return true;
}

int
wire_next(struct wire *w, struct wire_field *f)
{
	uint64_t key, length;
	bool good;

	if (w->at == w->end)
		return 0;
	*f = (struct wire_field){ .number = 0 };
	if (!read_varint(w, &key) || key >> 3 == 0 || key >> 3 > FIELD_MAX)
		return -EBADMSG;
	f->number = (uint32_t)(key >> 3);
	switch (key & 7) {
	case WIRE_VARINT:
		f->type = WIRE_VARINT;
		good = read_varint(w, &f->value);
		break;
	case WIRE_FIXED64:
		f->type = WIRE_FIXED64;
		good = read_fixed(w, 8, &f->value);
		break;
	case WIRE_BYTES:
		f->type = WIRE_BYTES;
		good = read_varint(w, &length) &&
		    length <= (uint64_t)(w->end - w->at);
		if (good) {
			f->bytes = wire_message(w->at, (size_t)length);
			w->at += length;
		}
		break;
	case WIRE_FIXED32:
		f->type = WIRE_FIXED32;
		good = read_fixed(w, 4, &f->value);
		break;
	default:
		good = false;
		break;
	}
	return good ? 1 : -EBADMSG;
}

int
wire_text(const struct wire_field *f, struct arena *a, const char **text)
{
	size_t length = (size_t)(f->bytes.end - f->bytes.at), n;
	const char *copy;

	if (f->type != WIRE_BYTES ||
	    (length > 0 && memchr(f->bytes.at, '\0', length) != NULL))
		return -EBADMSG;
	copy = length == 0 ? "" : arena_copy(a, f->bytes.at, length);
	if (copy == NULL)
		return -ENOMEM;
	/* the NUL ends an incomplete character */
	for (const char *s = copy; *s != '\0'; s += n) {
		n = utf8_length(s);
		if (n == 0)
			return -EBADMSG;
	}
	*text = copy;
	return 0;
}

static size_t
make_varint(uint8_t out[VARINT_MAX], uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

static void
put_varint(struct strbuf *b, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];

	strbuf_add(b, bytes, make_varint(bytes, value));
}

void
wire_put_number(struct strbuf *b, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	put_varint(b, (uint64_t)field << 3 | WIRE_VARINT);
	put_varint(b, value);
}

void
wire_put_text(struct strbuf *b, uint32_t field, const char *text, bool always)
{
	size_t length = strlen(text);

	if (length == 0 && !always)
		return;
	put_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	put_varint(b, length);
	strbuf_add(b, text, length);
}

size_t
wire_begin(struct strbuf *b, uint32_t field)
{
	put_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	return b->len;
}

void
wire_end(struct strbuf *b, size_t begun)
{
	uint8_t bytes[VARINT_MAX];
	size_t length, n;

	if (b->failed)
		return;
	/* its length is known only now, and moves it */
	length = b->len - begun;
	n = make_varint(bytes, length);
	if (strbuf_room(b, n) == NULL)
		return;
	memmove(b->data + begun + n, b->data + begun, length);
	memcpy(b->data + begun, bytes, n);
	b->len += n;
}
