/*
 * fuzz_snapshots.c - arbitrary bytes as requests to a snapshotter, and as
 * filters
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rest is a filter if the first byte has the bit FILTER, otherwise a message.
 * Whatever the reader of messages returns must lie in the message.
 */
#include "filter.h"
#include "wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEPTH = 4, FILTER = 0x80 };

/* Reads a message, and each of its fields as a message and as text. */
static void
read_message(const uint8_t *data, size_t size, struct arena *a, int depth)
{
	struct wire w = wire_message(data, size);
	struct wire_field f;
	const char *text;
	int rc;

	while ((rc = wire_next(&w, &f)) == 1) {
		size_t length = (size_t)(f.bytes.end - f.bytes.at);

		if (w.at > w.end || w.end != data + size || f.number == 0)
			abort();
		if (f.type != WIRE_BYTES)
			continue;
		if (f.bytes.at < data || f.bytes.end > data + size)
			abort();
		if (wire_text(&f, a, &text) == 0 && strlen(text) != length)
			abort();
		if (depth < DEPTH)
			read_message(f.bytes.at, length, a, depth + 1);
	}
	if (rc == 0 && w.at != w.end)
		abort();
}

static const char *
value_of(void *arg, const char *field, const char *rest)
{
	(void)arg;
	return strlen(field) + strlen(rest) > 8 ? NULL : field;
}

static void
read_filter(const uint8_t *data, size_t size, struct arena *a)
{
	char *text = arena_copy(a, data, size);
	const char *why = NULL;
	struct filter *f;
	int rc;

	if (text == NULL)
		abort();
	rc = filter_parse(&f, text, a, &why);
	if (rc == 0)
		(void)filter_match(f, value_of, NULL);
	else if (why == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { .chunks = NULL };

	if (size == 0)
		return 0;
	if ((data[0] & FILTER) != 0)
		read_filter(data + 1, size - 1, &a);
	else
		read_message(data + 1, size - 1, &a, 0);
	arena_free(&a);
	return 0;
}
