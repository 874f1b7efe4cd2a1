/*
 * wire.h - messages in the encoding of Protocol Buffers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: protobuf.dev, "Encoding".  A message is a sequence of fields, in any
 * order; each has a number and a value.  Groups, which proto3 does not have, are
 * refused.  The reader copies nothing, allocates nothing and recurses nowhere,
 * so that whatever a message contains, it costs what its bytes cost.
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_WIRE_H
#define COLDPRESS_LAZY_SNAPSHOTS_WIRE_H

#include "base/arena.h"
#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum wire_type {
	WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5
};

/* The rest of a message that is being read. */
struct wire {
	const uint8_t *at, *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;			/* unless the type is WIRE_BYTES */
	struct wire bytes;		/* of WIRE_BYTES: also a message within
					 * the message */
};

struct wire wire_message(const void *data, size_t length);

/* Reads the next field.  Returns 1, 0 at the end, or -EBADMSG. */
int wire_next(struct wire *w, struct wire_field *f);

/*
 * Copies a string.  Returns 0, -EBADMSG (it is not WIRE_BYTES, not well-formed
 * UTF-8, or contains a NUL) or -ENOMEM.
 */
int wire_text(const struct wire_field *f, struct arena *a, const char **text);

/*
 * These functions append a field.  Values that are 0 or "" are left out, as
 * proto3 requires; in a list (always), they are not.
 */
void wire_put_number(struct strbuf *b, uint32_t field, uint64_t value);
void wire_put_text(struct strbuf *b, uint32_t field, const char *text,
    bool always);

/*
 * Begin and end a message within the message: what is appended meanwhile
 * belongs to it.  wire_begin() returns what wire_end() needs.
 */
size_t wire_begin(struct strbuf *b, uint32_t field);
void wire_end(struct strbuf *b, size_t begun);

#endif
