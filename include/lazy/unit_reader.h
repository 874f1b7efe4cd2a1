/*
 * unit_reader.h - decoding the units of a layer with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_UNIT_READER_H
#define COLDPRESS_LAZY_UNIT_READER_H

#include "lazy/layer.h"

/* A run, and the entry that contains it. */
struct unit_run {
	const struct layer_run *run;
	uint32_t entry;
};

/* The runs of all entries, by unit. */
struct unit_map {
	struct unit_run *runs;
	size_t *first;		/* first run of each unit, and the total number
				 * of runs */
	size_t units;
};

/* Returns 0 or -ENOMEM; must be closed even after an error. */
int unit_map_open(struct unit_map *m, const struct layer *l);
void unit_map_close(struct unit_map *m);

/* One thread's decoder and buffers. */
struct unit_reader {
	const struct layer *l;
	const struct layer_blobs *blobs;
	struct layer_decoder *decoder;
	uint8_t *stored, *content;
	size_t stored_cap, content_cap;
	const char *why;	/* reason why the last read failed */
};

/* Returns 0 or -ENOMEM; must be closed even after an error. */
int unit_reader_open(struct unit_reader *r, const struct layer *l,
    const struct layer_blobs *blobs);
void unit_reader_close(struct unit_reader *r);

/*
 * Fetches and decodes a unit into r->content, which is valid until the next
 * call.  Returns 0, -EBADMSG with the reason in r->why, or -errno from reading.
 */
int unit_read(struct unit_reader *r, uint32_t unit);

/*
 * Returns the number of threads, at most `threads` and at least 1, whose
 * buffers fit in 40 MiB in total.
 */
unsigned unit_threads(const struct layer *l, unsigned threads);

#endif
