/*
 * seek.h - reading a range of compressed data without decoding from the start
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A map lists the units at which decoding can begin, each with its position in
 * the file and in the data.  The units that contain a range are assembled into
 * a stream of file parts with matching headers and trailers.  The ordinary
 * decoder decodes that stream on all cores, using bounded memory, and verifies
 * as much as the format allows.  A format therefore needs only two functions:
 * one that fills the map, and one that adds headers and trailers around some
 * units.
 *
 * A map and everything derived from it belong to one thread at a time.
 */
#ifndef COLDPRESS_SEEK_H
#define COLDPRESS_SEEK_H

#include "format/codec.h"
#include "format/convert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look;

/*
 * A position at which decoding can begin.  Units with the same frame depend on
 * its header.  The frame itself begins at the unit whose `at` equals `frame`.
 */
struct seek_unit {
	uint64_t plain;		/* bytes of data before the unit */
	uint64_t at;		/* byte offset in the file */
	uint64_t frame;		/* `at` of the frame that contains the unit */
};

enum {
	SEEK_UNITS_MAX = 1 << 19,
	SEEK_SPACING = 256 << 10,	/* minimum distance between units */
	/*
	 * maximum amount of data decompressed after a range to verify the range
	 */
	SEEK_BEYOND = 64 << 20
};

struct seek_map {
	int fd;			/* the caller's descriptor */
	uint64_t len;		/* file size */
	uint64_t from;		/* data before this offset is not needed, nor */
	uint64_t need;		/* from this one onward, */
	uint64_t tail;		/* but for so many bytes at the end */
	const struct codec *codec;
	const struct codec_seek *seek;
	struct seek_unit *units;	/* the last unit marks the end of the
					 * data */
	size_t count, cap;
	uint64_t spacing;
	const char *how;	/* description of the units, for display */
	const char *why;	/* why the file's units cannot be located, or
				 * NULL */
	bool checked;		/* each unit's data has its own check */
	int index_fd;		/* the caller's descriptor, for a side index */
	uint64_t read_B;	/* bytes read to fill the map, after
				 * seek_map_close() */
	struct look *look;
	struct seek_unit held;	/* start of a frame, not added yet */
	void *own;		/* the format's private state */
};

/* A stream assembled from pieces, and the read position in it. */
struct seek_stream {
	struct seek_piece {
		uint64_t at, len;
		bool memory;	/* read from mem, not from the file */
	} *pieces;
	size_t count, cap, piece;
	struct buf mem;
	int fd;
	uint64_t file_len, done, read_B;
	const struct coder *coder;	/* NULL: the codec's */
	uint64_t plain;		/* offset in the data of the first byte
				 * requested */
	uint64_t before;	/* bytes decoded before that byte */
	uint64_t size;		/* bytes requested from there; UINT64_MAX:
				 * all */
	uint64_t got;		/* bytes actually decoded */
};

struct codec_seek {
	/*
	 * Fills m using seek_add(), including the end.  Returns 0, -ENODATA
	 * (the file does not record the positions of units) or -errno.
	 */
	int (*map)(struct seek_map *m);
	/*
	 * Adds the units from..to of a frame, where `to` may be the unit after
	 * it.  Returns 0 or -errno.  NULL if units are whole frames.
	 */
	int (*part)(const struct seek_map *m, const struct seek_unit *from,
	    const struct seek_unit *to, struct seek_stream *s);
	void (*close)(struct seek_map *m);	/* frees m->own, or NULL */
};

/*
 * A range: len bytes of the data starting at byte `from` or, if from_end is
 * set, `from` bytes before the end.  A len of UINT64_MAX means everything up to
 * the end.
 */
struct seek_range {
	uint64_t from, len;
	bool from_end;
};

/*
 * Parses OFFSET:LENGTH, OFFSET:, :LENGTH, -N: or -N:LENGTH, with the suffixes
 * of args_size().  Returns 0, -EINVAL or -ERANGE.
 */
int seek_parse(const char *s, struct seek_range *r);

/*
 * The data for which a map is needed: from..to, and the last `tail` bytes.
 * SEEK_NEED_NONE is the empty set, SEEK_NEED_ALL everything.
 */
struct seek_need {
	uint64_t from, to, tail;
};

#define SEEK_NEED_NONE (struct seek_need){ UINT64_MAX, 0, 0 }
#define SEEK_NEED_ALL (struct seek_need){ 0, UINT64_MAX, 0 }

/* Adds a range.  Thread-safe, as is seek_parse(). */
void seek_need_range(struct seek_need *need, const struct seek_range *r);

/*
 * Builds a map of the file fd of len bytes; the map may leave out units that
 * are not needed, but never the start of the file.  If the file has no
 * information about units, or wrong information, the map is empty (count is 0).
 * Returns 0, or -errno; on failure there is nothing to close.
 */
int seek_map_open(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, const struct seek_need *need);

/*
 * Builds a map from a side index.  Returns 0, -ESTALE (the index was made for
 * another file, or for an earlier state of this one), -EBADMSG (not an index,
 * or damaged) or -errno.
 */
int seek_map_index(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, int index_fd);

/* Frees the map; m->read_B remains valid.  The descriptors are not closed. */
void seek_map_close(struct seek_map *m);

/* The cost of one range. */
struct seek_result {
	uint64_t read_B;	/* bytes read from the compressed file, not
				 * counting those read for the map */
	uint64_t made_B;	/* decompressed */
	uint64_t wrote_B;
	bool from_start;	/* no closer unit existed */
	bool unverified;	/* the data was not verified by any check */
	bool output_failed;	/* the error occurred while writing */
	const char *why;	/* reason for some errors, possibly in text;
				   or NULL */
	char text[sizeof(((struct convert_result *)0)->text)];
};

/*
 * Writes to out_fd the part of the range that lies within the data.  c contains
 * the decoder's limits and its number of threads.  If verify is set and the
 * check covers all data, decompresses to the end.  Returns 0 or -errno;
 * -EBADMSG if the data contradicts the map.
 */
int seek_read(const struct seek_map *m, const struct convert *c,
    const struct seek_range *r, bool verify, int out_fd,
    struct seek_result *result);

/*
 * Reads the gzip file fd of len bytes to its end and writes its side index to
 * out_fd, with a point at the first block that begins at least `spacing` bytes
 * after the last point.  c contains the decoder's limits and its number of
 * threads, which makes no difference to the index.  Returns 0, -ENOTSUP (a
 * method other than deflate), -EBADMSG, -ENODATA, -EFBIG (too many points, or
 * more memory than c allows), -ESTALE (the file changed meanwhile) or -errno.
 */
int seek_index_make(const struct convert *c, int fd, uint64_t len,
    uint64_t spacing, int out_fd);

#endif
