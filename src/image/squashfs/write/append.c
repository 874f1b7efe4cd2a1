/*
 * append.c - appending units compressed out of order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/data.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static int
copy_waiting(const struct sqw_waiting *w, int fd)
{
	uint8_t *piece = sys_malloc(PIECE);
	int rc = piece == NULL ? -ENOMEM : 0;

	for (uint64_t at = 0; rc == 0 && at < w->length;) {
		uint64_t left = w->length - at;
		size_t want = left < PIECE ? (size_t)left : PIECE;
		ssize_t n = fdio_pread(w->fd, piece, want, (off_t)at);

		rc = n < 0 ? (int)n : (size_t)n < want ? -EIO :
		    fdio_write(fd, piece, want);
		at += want;
	}
	sys_free(piece);
	return rc;
}

/* Swaps the first `split` of count items of size bytes with the rest. */
static int
rotate(void *items, size_t count, size_t split, size_t size)
{
	uint8_t *all = items, *first = sys_malloc((split + 1) * size);

	if (first == NULL)
		return -ENOMEM;
	memcpy(first, all, split * size);
	memmove(all, all + split * size, (count - split) * size);
	memcpy(all + (count - split) * size, first, split * size);
	sys_free(first);
	return 0;
}

/* Numbers fragment blocks in the order of their units. */
static void
number_again(struct sqw_data *d, const struct sqw_waiting *w)
{
	uint32_t later = (uint32_t)(d->units - w->units);

	for (size_t i = 0; i < d->units; i++)
		if (d->fragment[i] != SQUASHFS_NONE)
			d->fragment[i] = d->fragment[i] < w->fragments ?
			    d->fragment[i] + d->fragments - w->fragments :
			    d->fragment[i] - w->fragments;
	for (size_t i = 0; i < d->ids; i++) {
		struct sqw_position *of = &d->of[i];

		if (of->blocks > 0 || of->tail)
			of->unit = of->unit < w->units ? of->unit + later :
			    of->unit - (uint32_t)w->units;
	}
}

int
sqw_data_append(struct sqw_data *d, const struct sqw_waiting *w, int fd)
{
	int rc = copy_waiting(w, fd);

	if (rc != 0 || w->units == 0)
		return rc;
	for (size_t i = 0; i < w->units; i++)
		d->starts[i] += d->end;
	d->end += w->length;
	rc = rotate(d->sizes, d->units, w->units, sizeof(*d->sizes));
	if (rc == 0)
		rc = rotate(d->starts, d->units, w->units,
		    sizeof(*d->starts));
	if (rc == 0)
		rc = rotate(d->fragment, d->units, w->units,
		    sizeof(*d->fragment));
	if (rc == 0)
		number_again(d, w);
	return rc;
}
