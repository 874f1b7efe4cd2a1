/*
 * fuzz_flatbuf.c - any bytes as a FlatBuffer: everything returned is within it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/ztoc/flatbuf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SLOTS = 20, DEPTH = 4, ITEMS = 16 };

static void
inside(const struct flatbuf *b, const struct flatbuf_bytes *v)
{
	if (v->len > 0 && (v->data < b->data ||
	    v->len > (size_t)(b->data + b->len - v->data)))
		abort();
}

static void
look_bytes(const struct flatbuf_table *t, unsigned slot)
{
	struct flatbuf_bytes v;
	uint64_t sum = 0;

	if (flatbuf_string(t, slot, &v) == 0) {
		inside(t->b, &v);
		if (v.data[v.len] != '\0')
			abort();
	}
	if (flatbuf_vector(t, slot, 1 + slot % 9, &v) == 0) {
		inside(t->b, &v);
		for (uint32_t i = 0; i < v.len; i++)
			sum += v.data[i];
		if (sum > UINT64_C(255) * v.len)
			abort();
	}
}

static void
look(const struct flatbuf_table *t, int depth)
{
	struct flatbuf_table child;
	struct flatbuf_refs refs;
	struct flatbuf_bytes s;
	uint64_t value;
	uint32_t word;
	uint8_t byte;

	for (unsigned slot = 0; slot < SLOTS; slot++) {
		flatbuf_u8(t, slot, &byte);
		flatbuf_u32(t, slot, &word);
		flatbuf_u64(t, slot, &value);
		look_bytes(t, slot);
		if (depth < DEPTH && flatbuf_table(t, slot, &child) == 0)
			look(&child, depth + 1);
		if (depth == DEPTH || flatbuf_refs(t, slot, &refs) != 0)
			continue;
		for (uint32_t i = 0; i < refs.count && i < ITEMS; i++) {
			if (flatbuf_ref_string(&refs, i, &s) == 0)
				inside(t->b, &s);
			if (depth == 0 &&
			    flatbuf_ref_table(&refs, i, &child) == 0)
				look(&child, DEPTH);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flatbuf b = { data, size };
	struct flatbuf_table root;

	if (flatbuf_root(&b, &root) == 0)
		look(&root, 2);
	return 0;
}
