/*
 * seek_formats.h - reading ranges in the various formats
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SEEK_FORMATS_H
#define COLDPRESS_SEEK_FORMATS_H

#include "format/list.h"
#include "format/seek.h"

extern const struct codec_seek gzip_seek, zstd_seek, lz4_seek, xz_seek,
    index_seek;

/* Returns whether a unit begins inside a frame, not at its start. */
static inline bool
seek_within(const struct seek_unit *u)
{
	return u->at != u->frame;
}

/* Returns the offset of the first byte needed in data of this size. */
static inline uint64_t
seek_need_from(const struct seek_map *m, uint64_t size)
{
	uint64_t from = m->from < size ? m->from : size;

	return m->tail == 0 || m->tail > size ? m->tail > 0 ? 0 : from :
	    size - m->tail < from ? size - m->tail : from;
}

/*
 * Adds the next unit; the first is the start of the file.  Units closer
 * together than m->spacing are omitted, and the spacing is doubled before the
 * number of units exceeds SEEK_UNITS_MAX.  The last call adds the end of the
 * data.  Returns 0, -EBADMSG (not after the previous one, or past the end of
 * the file) or -ENOMEM.
 */
int seek_add(struct seek_map *m, struct seek_unit u);
int seek_end(struct seek_map *m, uint64_t plain, uint64_t at);

/* Adds the end of the map inside a frame, after all the data needed. */
int seek_end_within(struct seek_map *m, struct seek_unit u);

/*
 * Adds pieces to a stream, which copies their bytes.  Returns 0, -ENOMEM, or
 * -EBADMSG if a part is outside the file.
 */
int seek_bytes(struct seek_stream *s, const void *p, size_t len);
int seek_extent(struct seek_stream *s, uint64_t at, uint64_t len);

/* Frees the pieces of a stream. */
void seek_stream_free(struct seek_stream *s);

#endif
