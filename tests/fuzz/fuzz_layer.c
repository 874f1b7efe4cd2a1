/*
 * fuzz_layer.c - arbitrary bytes as a layer: it is read or rejected
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether the rest is a complete layer, or a payload
 * followed by a NUL and a table of contents, to which a footer is added.
 */
#include "../layer_made.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { UNITS_MAX = 32, CONTENT_MAX = 1 << 20, STORED_MAX = 1 << 20 };

static void
compose(struct made *m, const uint8_t *data, size_t size, unsigned how)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t payload = nul == NULL ? size : (size_t)(nul - data);

	strbuf_add(&m->b, data, payload);
	payload = nul == NULL ? size : payload + 1;
	made_end(m, (enum made_footer)(how % 4), (const char *)data + payload,
	    size - payload);
}

static void
look(const struct layer *l, struct made *m)
{
	size_t entries, units;
	const struct layer_entry *e = layer_entries(l, &entries);
	const struct layer_unit *u = layer_units(l, &units);
	struct layer_range r;

	for (size_t i = 0; i < entries; i++)
		if (*e[i].path == '/' || (layer_file_digest(l, i) != NULL &&
		    e[i].type != TAR_FILE))
			abort();
	for (uint32_t i = 0; i < units && i < UNITS_MAX; i++) {
		const char *why = NULL;

		if (u[i].content > CONTENT_MAX || u[i].stored > STORED_MAX)
			continue;
		free(made_decode(l, m, i, &why));
		if (why == NULL)
			abort();
	}
	if (layer_prefetch(l, &r) && r.length > m->b.len)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct made m = { .index = 0 };
	struct layer_blobs b = made_blobs(&m);
	char why[LAYER_WHY] = "";
	struct layer *l;
	int rc;

	if (size < 1 || strbuf_room(&m.b, 1) == NULL)
		return 0;
	if (data[0] >= 4)
		strbuf_add(&m.b, data + 1, size - 1);
	else
		compose(&m, data + 1, size - 1, data[0]);
	rc = layer_open(&l, &b, NULL, why);
	if (rc == 0) {
		look(l, &m);
		layer_close(l);
	} else if (*why == '\0') {
		abort();
	}
	strbuf_free(&m.b);
	return 0;
}
