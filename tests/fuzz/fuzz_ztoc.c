/*
 * fuzz_ztoc.c - any bytes as a layer and its ztoc: it opens or fails, and spans
 * decode or fail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first four bytes are the length of the layer, which follows them; the
 * rest is the ztoc.
 */
#include "lazy/layer.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { UNITS_MAX = 32, CONTENT_MAX = 1 << 20 };

struct input {
	const uint8_t *layer, *ztoc;
	size_t layer_len, ztoc_len;
};

static int
size_of(void *arg, const char *object, uint64_t *size)
{
	const struct input *in = arg;

	*size = object == NULL ? in->layer_len : in->ztoc_len;
	return 0;
}

static int
read_ranges(void *arg, const struct layer_range *r, size_t count)
{
	const struct input *in = arg;

	for (size_t i = 0; i < count; i++) {
		bool layer = r[i].object == NULL;
		size_t len = layer ? in->layer_len : in->ztoc_len;

		if (r[i].offset > len || r[i].length > len - r[i].offset)
			return -ENODATA;
		memcpy(r[i].buf, (layer ? in->layer : in->ztoc) +
		    r[i].offset, r[i].length);
	}
	return 0;
}

static void
decode(const struct layer *l, struct input *in, uint32_t unit, size_t content)
{
	struct layer_range r[LAYER_RANGES_MAX];
	size_t count = layer_ranges(l, unit, r);
	void *out = malloc(content + 1);
	struct layer_decoder *d;
	const char *why = NULL;

	if (out == NULL || layer_decoder_open(&d, l) != 0)
		abort();
	for (size_t i = 0; i < count; i++)
		if ((r[i].buf = malloc(r[i].length + 1)) == NULL)
			abort();
	if (read_ranges(in, r, count) != 0)
		abort();		/* a unit past the last one */
	if (layer_decode(d, unit, r, out, &why) != 0 && why == NULL)
		abort();
	for (size_t i = 0; i < count; i++)
		free(r[i].buf);
	layer_decoder_close(d);
	free(out);
}

static void
look(const struct layer *l, struct input *in)
{
	size_t entries, units;
	const struct layer_entry *e = layer_entries(l, &entries);
	const struct layer_unit *u = layer_units(l, &units);

	for (size_t i = 0; i < entries; i++)
		if (*e[i].path == '/')
			abort();
	for (uint32_t i = 0; i < units && i < UNITS_MAX; i++)
		if (u[i].content <= CONTENT_MAX)
			decode(l, in, i, u[i].content);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .layer = data + 4 };
	struct layer_blobs b = { read_ranges, size_of, &in };
	struct layer_expect e = { .kind = "ztoc" };
	char why[LAYER_WHY] = "";
	struct layer *l;
	int rc;

	if (size < 4 || load_le32(data) > size - 4)
		return 0;
	in.layer_len = load_le32(data);
	in.ztoc = in.layer + in.layer_len;
	in.ztoc_len = size - 4 - in.layer_len;
	rc = layer_open(&l, &b, &e, why);
	if (rc == 0) {
		look(l, &in);
		layer_close(l);
	} else if (*why == '\0') {
		abort();
	}
	return 0;
}
