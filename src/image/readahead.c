/*
 * readahead.c - asking the kernel to read ahead in large pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel's own read-ahead does not detect several threads reading several
 * files alternately.
 */
#include "readahead.h"

#include <fcntl.h>

enum {
	GAP_B = 64 << 10,		/* maximum gap read to merge two
					 * pieces */
	REQUEST_B = 512 << 10
};

/* A part of the image. */
struct part {
	uint64_t from, to;
};

/*
 * Requests a part in steps, because for a longer range the kernel reads only as
 * much as fits into one disk request.
 */
static void
request_part(const struct image *m, const struct part *p)
{
	for (uint64_t at = p->from; at < p->to && at < m->length;
	    at += REQUEST_B)
		posix_fadvise(m->fd, (off_t)(m->offset + at),
		    p->to - at < REQUEST_B ? (off_t)(p->to - at) : REQUEST_B,
		    POSIX_FADV_WILLNEED);
}

/* Extends p, or requests it and starts another. */
static void
add_jobs(const struct image_readahead *a, struct part *p, size_t from,
    size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct image_job *j = &a->plan->jobs[i];
		uint64_t end = j->at + image_stored_B(j->word);

		if (j->at >= p->to && j->at - p->to <= GAP_B) {
			p->to = end;
			continue;
		}
		request_part(a->image, p);
		*p = (struct part){ j->at, end };
	}
}

void
image_readahead_jobs(const struct image_readahead *a, size_t from, size_t to)
{
	struct part p = { 0, 0 };

	add_jobs(a, &p, from, to);
	request_part(a->image, &p);
}

void
image_readahead_extents(const struct image_readahead *a, size_t from,
    size_t to, size_t jobs)
{
	struct part p = { 0, 0 };

	for (size_t i = from; i < to; i++) {
		const struct image_extent *e = &a->plan->extents[i];

		add_jobs(a, &p, e->first, e->first +
		    (e->count < jobs ? e->count : jobs));
	}
	request_part(a->image, &p);
}
