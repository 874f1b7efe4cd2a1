/*
 * zstd_job.c - the independent jobs that make up a frame
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_job.h"

#include "base/bytes.h"
#include "zstd_block.h"
#include "zstd_scan.h"

/* The job sizes, in MiB, that are encoded by two or more marks. */
static const uint16_t told[] = { 4, 8, 16, 24, 32, 48, 128, 256, 512 };

enum { TOLD = sizeof(told) / sizeof(told[0]), TOLD_MARKS = 2 };

unsigned
zstd_job_marks(uint64_t len)
{
	for (unsigned i = 0; i < TOLD; i++)
		if ((uint64_t)told[i] << 20 == len)
			return i + TOLD_MARKS;
	return 1;
}

uint64_t
zstd_job_len(unsigned marks)
{
	return marks < TOLD_MARKS || marks - TOLD_MARKS >= TOLD ? 0 :
	    (uint64_t)told[marks - TOLD_MARKS] << 20;
}

void
zstd_job_head(uint8_t head[ZSTD_JOB_HEAD], uint8_t window)
{
	store_le32(head, ZSTD_FRAME_MAGIC);
	head[4] = 0;
	head[5] = window;
}

/* Returns the block after p if it is complete, or NULL at the end. */
static const uint8_t *
next_block(const uint8_t *p, const uint8_t *end, struct zstd_block_head *h)
{
	if (end - p < ZSTD_BLOCK_HEAD)
		return NULL;
	*h = zstd_block_head(p);
	return h->stored <= (size_t)(end - p) - ZSTD_BLOCK_HEAD ? p : NULL;
}

uint8_t *
zstd_last_block(uint8_t *p, size_t len)
{
	const uint8_t *q = p, *end = p + len;
	struct zstd_block_head h;

	while ((q = next_block(q, end, &h)) != NULL) {
		if (h.last)
			return p + (q - p);
		q += ZSTD_BLOCK_HEAD + h.stored;
	}
	return NULL;
}

/* Reads a block's sequences until all offsets are the job's own. */
static bool
own_offsets(struct zstd_offsets *o, const struct zstd_tables *t,
    const uint8_t *p, size_t len, const struct zstd_sections *s)
{
	struct zstd_reader r;

	if (zstd_offsets_known(o))
		return true;
	if (zstd_reader_open(&r, t, p, len, s) != 0)
		return false;
	while (r.left > 0 && !zstd_offsets_known(o)) {
		struct zstd_sequence q;

		if (zstd_reader_next(&r, &q) != 0 || zstd_offsets_use(o,
		    zstd_offset_value(&q), q.symbol[ZSTD_LL] != 0) == 0)
			return false;
	}
	return true;
}

bool
zstd_job_alone(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	struct zstd_offsets offsets = { { 0 } };
	struct zstd_tables t;
	struct zstd_block_head h;

	t.literals = t.set[0] = t.set[1] = t.set[2] = false;
	while ((p = next_block(p, end, &h)) != NULL) {
		struct zstd_sections s;

		p += ZSTD_BLOCK_HEAD;
		if (h.type == ZSTD_RESERVED)
			return false;
		if (h.type == ZSTD_COMPRESSED &&
		    (zstd_sections(&t, p, h.stored, &s) != 0 ||
		    (s.count > 0 && !own_offsets(&offsets, &t, p, h.stored,
		    &s))))
			return false;
		/* sequences always set all three tables */
		if (h.last || (t.literals && zstd_offsets_known(&offsets)))
			return true;
		p += h.stored;
	}
	return false;
}
