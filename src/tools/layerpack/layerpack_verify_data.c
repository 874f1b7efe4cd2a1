/*
 * layerpack_verify_data.c - comparing a file's data with its units
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_verify.h"

#include <string.h>

const uint8_t verify_zeros[VERIFY_ZEROS];

/* Finds the part of [from, to) that a run covers, as positions in the file. */
static bool
overlap(const struct layer_run *run, uint64_t from, uint64_t to,
    uint64_t *begin, uint64_t *end)
{
	*begin = run->offset > from ? run->offset : from;
	*end = run->offset + run->length < to ? run->offset + run->length : to;
	return *begin < *end;
}

static bool
is_zero(const uint8_t *data, uint64_t len)
{
	while (len > 0) {
		size_t n = len < VERIFY_ZEROS ? (size_t)len : VERIFY_ZEROS;

		if (memcmp(data, verify_zeros, n) != 0)
			return false;
		data += n;
		len -= n;
	}
	return true;
}

bool
verify_data(struct verify *v, const struct layer_entry *e, size_t *first,
    uint64_t at, const uint8_t *data, uint64_t len)
{
	uint64_t from = at, to = at + len;

	for (; *first < e->run_count; ++*first) {
		const struct layer_run *run = &e->runs[*first];
		const uint8_t *content;
		uint64_t begin, end;

		if (!overlap(run, from, to, &begin, &end))
			break;
		content = verify_unit(v, run->unit);
		if (content == NULL)
			return true;	/* already reported */
		content += run->inner + (begin - run->offset);
		if (data != NULL ? !is_zero(data + (from - at), begin - from) ||
		    memcmp(data + (begin - at), content,
		    (size_t)(end - begin)) != 0 :
		    !is_zero(content, end - begin))
			return false;
		from = end;
		if (end < run->offset + run->length)
			break;
	}
	return data == NULL || is_zero(data + (from - at), to - from);
}
