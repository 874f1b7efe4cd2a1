/*
 * seek_formats.h - the formats' ways to read a range
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SEEK_FORMATS_H
#define COLDPRESS_SEEK_FORMATS_H

#include "format/look.h"
#include "format/seek.h"

extern const struct codec_seek gzip_seek, zstd_seek, lz4_seek, xz_seek,
    index_seek;

/* Whether a unit begins within a frame, not with one. */
static inline bool
seek_within(const struct seek_unit *u)
{
	return u->at != u->frame;
}

/*
 * One more unit behind the others, first of all the file's beginning.  Units
 * closer together than m->spacing are left out, and the spacing doubles
 * before there are SEEK_UNITS_MAX of them.  At last the end of the data.
 * 0, -EBADMSG (not behind the one before, or the file's end) or -ENOMEM.
 */
int seek_add(struct seek_map *m, struct seek_unit u);
int seek_end(struct seek_map *m, uint64_t plain, uint64_t at);

/* The same within a frame, behind all that is needed. */
int seek_end_within(struct seek_map *m, struct seek_unit u);

/*
 * Pieces of a stream.  Bytes are copied.  0 or -ENOMEM; -EBADMSG for a part
 * that is not within the file.
 */
int seek_bytes(struct seek_stream *s, const void *p, size_t len);
int seek_extent(struct seek_stream *s, uint64_t at, uint64_t len);

/*
 * The units from..to as a stream: whole frames as they are, parts by the
 * format's part().  0 or -errno; to be freed in any case.
 */
int seek_stream_make(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s);
void seek_stream_free(struct seek_stream *s);

/* Its bytes, as input_open_from() wants them; arg is a struct seek_stream. */
ssize_t seek_stream_read(void *arg, void *buf, size_t len);

#endif
