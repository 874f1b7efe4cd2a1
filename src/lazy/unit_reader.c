/*
 * unit_reader.c - decoding the units of a layer with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/unit_reader.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { MEMORY = 40 << 20 };		/* maximum size of the buffers of all
					 * threads */

/* The runs of units */

int
unit_map_open(struct unit_map *m, const struct layer *l)
{
	size_t count, runs = 0;
	const struct layer_entry *e = layer_entries(l, &count);

	*m = (struct unit_map){ .units = 0 };
	layer_units(l, &m->units);
	m->first = sys_calloc(m->units + 2, sizeof(*m->first));
	if (m->first == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		runs += e[i].run_count;
		for (size_t k = 0; k < e[i].run_count; k++)
			m->first[e[i].runs[k].unit + 1]++;
	}
	m->runs = sys_malloc((runs + 1) * sizeof(*m->runs));
	if (m->runs == NULL)
		return -ENOMEM;
	/*
	 * a counting sort, which advances each element of `first` to the value
	 * of the next; moving them by one at the end restores the array
	 */
	for (size_t u = 0; u < m->units; u++)
		m->first[u + 1] += m->first[u];
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < e[i].run_count; k++) {
			const struct layer_run *run = &e[i].runs[k];

			m->runs[m->first[run->unit]++] = (struct unit_run){
				.run = run, .entry = (uint32_t)i };
		}
	memmove(m->first + 1, m->first, m->units * sizeof(*m->first));
	m->first[0] = 0;
	return 0;
}

void
unit_map_close(struct unit_map *m)
{
	sys_free(m->runs);
	sys_free(m->first);
}

/* Reading them */

int
unit_reader_open(struct unit_reader *r, const struct layer *l,
    const struct layer_blobs *blobs)
{
	*r = (struct unit_reader){ .l = l, .blobs = blobs };
	return layer_decoder_open(&r->decoder, l);
}

void
unit_reader_close(struct unit_reader *r)
{
	layer_decoder_close(r->decoder);
	sys_free(r->stored);
	sys_free(r->content);
}

static int
reserve_buffer(uint8_t **buf, size_t *cap, size_t size)
{
	if (size <= *cap)
		return 0;
	sys_free(*buf);
	*buf = sys_malloc(size);
	*cap = *buf == NULL ? 0 : size;
	return *buf == NULL ? -ENOMEM : 0;
}

int
unit_read(struct unit_reader *r, uint32_t unit)
{
	struct layer_range ranges[LAYER_RANGES_MAX];
	size_t units, size = 0, count = layer_ranges(r->l, unit, ranges);
	const struct layer_unit *u = layer_units(r->l, &units);
	int rc = reserve_buffer(&r->content, &r->content_cap,
	    (size_t)u[unit].content + 1);

	r->why = "";
	for (size_t i = 0; i < count; i++)
		size += (size_t)ranges[i].length;
	if (rc == 0)
		rc = reserve_buffer(&r->stored, &r->stored_cap, size + 1);
	if (rc != 0)
		return rc;
	size = 0;
	for (size_t i = 0; i < count; i++) {
		ranges[i].buf = r->stored + size;
		size += (size_t)ranges[i].length;
	}
	rc = r->blobs->read(r->blobs->arg, ranges, count);
	if (rc == -ENODATA) {
		r->why = "the layer ends inside the unit";
		return -EBADMSG;
	}
	return rc != 0 ? rc : layer_decode(r->decoder, unit, ranges,
	    r->content, &r->why);
}

unsigned
unit_threads(const struct layer *l, unsigned threads)
{
	uint64_t most = 1;
	size_t count;
	const struct layer_unit *u = layer_units(l, &count);

	for (size_t i = 0; i < count; i++)
		if (u[i].content + u[i].stored > most)
			most = u[i].content + u[i].stored;
	if (most * threads <= MEMORY)
		return threads;
	return most >= MEMORY ? 1 : (unsigned)(MEMORY / most);
}
