/*
 * verify.c - verifying every unit of a layer, and comparing data with units
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "verify_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const uint8_t verify_zeros[VERIFY_ZEROS];

void
verify_fault(struct verify *v, const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	v->result->faults++;
	v->o->report(v->o->arg, text);
}

/* Units */

/*
 * Returns a unit's content, loading it if necessary.  Returns NULL, after
 * reporting the reason, if the unit is invalid.
 */
static const uint8_t *
verify_unit(struct verify *v, uint32_t unit)
{
	int rc;

	if (v->state[unit] == UNIT_GOOD && v->unit == unit)
		return v->reader.content;
	if (v->state[unit] == UNIT_BAD)
		return NULL;
	rc = unit_read(&v->reader, unit);
	v->unit = unit;
	v->state[unit] = rc == 0 ? UNIT_GOOD : UNIT_BAD;
	if (rc == 0)
		return v->reader.content;
	verify_fault(v, "unit %" PRIu32 ": %s", unit, rc == -EBADMSG ?
	    v->reader.why : strerror(-rc));
	return NULL;
}

/* A file's data */

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

/* The whole layer */

int
verify_layer(const struct layer *l, const struct layer_blobs *blobs,
    const struct verify_options *o, struct verify_result *r)
{
	struct verify v = { .l = l, .blobs = blobs, .o = o, .result = r };
	char why[LAYER_WHY] = "";
	uint64_t size;
	int rc = -ENOMEM;

	*r = (struct verify_result){ .entries = 0 };
	v.entries = layer_entries(l, &r->entries);
	layer_units(l, &r->units);
	v.state = sys_calloc(r->units + 1, 1);
	if (v.state == NULL)
		return rc;
	rc = unit_reader_open(&v.reader, l, blobs);
	if (rc == 0)
		rc = digest_algo_open(&v.sha256, "sha256");
	if (rc == 0)
		rc = digest_new(&v.digest, v.sha256);
	if (rc != 0)
		goto out;
	if (blobs->size(blobs->arg, NULL, &size) == 0)
		rc = verify_archive(&v);
	if (rc != 0)
		goto out;
	/* units that no entry of the archive uses */
	for (size_t u = 0; u < r->units; u++)
		if (v.state[u] == UNIT_UNREAD)
			verify_unit(&v, (uint32_t)u);
	rc = layer_check_compact(l, why);
	if (rc == -ENOMEM)
		goto out;
	if (rc != 0)
		verify_fault(&v, "%s", why);
	rc = verify_trace(&v);
out:
	digest_free(v.digest);
	digest_algo_close(v.sha256);
	unit_reader_close(&v.reader);
	sys_free(v.state);
	return rc;
}
