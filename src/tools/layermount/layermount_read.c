/*
 * layermount_read.c - reading file data from units
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include <errno.h>
#include <string.h>

/* Maximum decoded size of the units that one read fetches at a time. */
enum { AT_ONCE_MAX = 8 << 20 };

/*
 * Copies the bytes of one run that belong in buf, which represents [offset,
 * end).
 */
static void
copy_run(const struct layer_run *r, const uint8_t *data, uint64_t offset,
    uint64_t end, uint8_t *buf)
{
	uint64_t from = r->offset > offset ? r->offset : offset;
	uint64_t to = r->offset + r->length < end ? r->offset + r->length :
	    end;

	if (from < to)
		memcpy(buf + (from - offset), data + r->inner +
		    (from - r->offset), (size_t)(to - from));
}

struct unit_id
read_unit(struct stack *s, const struct merge_node *n, uint32_t unit)
{
	return (struct unit_id){ .source = &s->sources[n->layer]->units,
		.unit = unit };
}

/*
 * Collects the units of the runs from first onward that begin before end, as
 * long as the units are few and small.  Returns their number.
 */
static size_t
collect(struct stack *s, const struct merge_node *n, size_t first,
    uint64_t end, struct unit_id ids[UNITS_MAX])
{
	const struct layer_entry *e = n->entry;
	uint64_t bytes = 0;
	size_t count = 0, all;
	const struct layer_unit *units = layer_units(
	    s->sources[n->layer]->layer, &all);

	while (count < UNITS_MAX && first + count < e->run_count &&
	    e->runs[first + count].offset < end) {
		uint32_t unit = e->runs[first + count].unit;

		bytes += units[unit].content;
		if (count > 0 && bytes > AT_ONCE_MAX)
			break;
		ids[count++] = read_unit(s, n, unit);
	}
	return count;
}

/* Copies some runs.  Returns their number, 0 at the end, or -errno. */
static ssize_t
copy_runs(struct stack *s, const struct merge_node *n, size_t first,
    uint64_t offset, uint64_t end, uint8_t *buf, enum http_phase phase)
{
	const struct layer_entry *e = n->entry;
	struct unit_id ids[UNITS_MAX];
	struct unit *got[UNITS_MAX];
	size_t count = collect(s, n, first, end, ids);
	struct units *u = s->m->units;
	int rc;

	if (count == 0)
		return 0;
	rc = units_get(u, ids, count, phase, got);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < count; i++) {
		copy_run(&e->runs[first + i], unit_data(got[i]), offset, end,
		    buf);
		units_release(u, got[i]);
	}
	return (ssize_t)count;
}

/* Returns the end of the read: the end of the file, or offset + size. */
static uint64_t
end_of(const struct layer_entry *e, uint64_t offset, size_t size)
{
	if (offset >= e->size)
		return offset;
	return size < e->size - offset ? offset + size : e->size;
}

ssize_t
read_file(struct stack *s, const struct merge_node *n, uint64_t offset,
    size_t size, uint8_t *buf, enum http_phase phase)
{
	uint64_t end = end_of(n->entry, offset, size);
	size_t run = layer_find_run(n->entry, offset);
	ssize_t copied;

	memset(buf, 0, (size_t)(end - offset));
	do {
		copied = copy_runs(s, n, run, offset, end, buf, phase);
		if (copied < 0)
			return copied;
		run += (size_t)copied;
	} while (copied > 0);
	return (ssize_t)(end - offset);
}

ssize_t
read_in_place(struct stack *s, const struct merge_node *n,
    uint64_t offset, size_t size, const uint8_t **data, struct unit **unit)
{
	const struct layer_entry *e = n->entry;
	uint64_t end = end_of(e, offset, size);
	size_t run = layer_find_run(e, offset);
	const struct layer_run *r = run < e->run_count ? &e->runs[run] : NULL;
	struct unit_id id;
	int rc;

	if (r == NULL || r->offset > offset || r->offset + r->length < end ||
	    offset == end)
		return 0;
	id = read_unit(s, n, r->unit);
	rc = units_get(s->m->units, &id, 1, HTTP_READ, unit);
	if (rc != 0)
		return rc;
	*data = unit_data(*unit) + r->inner + (offset - r->offset);
	return (ssize_t)(end - offset);
}
