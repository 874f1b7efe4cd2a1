/*
 * seek.h - a range of what is in a compressed file, without all before it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A map says where decoding can begin: units, each with its place in the
 * file and in the data.  The units that hold a range are made a stream of
 * their own, of parts of the file and of headers and trailers that fit them;
 * the ordinary decoder reads it, on all cores and in bounded memory, and
 * verifies what the format lets it verify.  So a format adds two functions:
 * one that fills the map, one that puts the headers around some units.
 *
 * A map and what is made from it belong to one thread at a time.
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
 * Where decoding can begin.  The units that have the same frame need things
 * from its header; the frame itself begins at the unit whose at it is.
 */
struct seek_unit {
	uint64_t plain;		/* bytes of data before it */
	uint64_t at;		/* byte of the file */
	uint64_t frame;		/* at of the frame that it is in */
};

enum {
	SEEK_UNITS_MAX = 1 << 19,
	SEEK_SPACING = 256 << 10,	/* least between two units */
	/* more is not decompressed behind a range to verify it */
	SEEK_BEYOND = 64 << 20
};

struct seek_map {
	int fd;			/* the caller's */
	uint64_t len;		/* of the file */
	uint64_t need;		/* data behind it is not looked for */
	const struct codec *codec;
	const struct codec_seek *seek;
	struct seek_unit *units;	/* the last is where the data ends */
	size_t count, cap;
	uint64_t spacing;
	const char *how;	/* what the units are, for people */
	bool checked;		/* a unit's data has a check of its own */
	int index_fd;		/* the caller's, if by a side index */
	uint64_t read_B;	/* to fill it, after seek_map_close() */
	struct look *look;
	struct seek_unit held;	/* a frame's beginning, left out so far */
	void *own;		/* the format's */
};

/* A stream made of pieces, and how far it is read. */
struct seek_stream {
	struct seek_piece {
		uint64_t at, len;
		bool memory;	/* of mem, not of the file */
	} *pieces;
	size_t count, cap, piece;
	struct buf mem;
	int fd;
	uint64_t file_len, done, read_B;
	const struct coder *coder;	/* NULL: the codec's */
	uint64_t plain;		/* data before the first byte that is wanted */
	uint64_t before;	/* bytes that come out before that one */
	uint64_t size;		/* and those from it on; UINT64_MAX: any */
	uint64_t got;		/* bytes that did come out */
};

struct codec_seek {
	/*
	 * Fills m by seek_add(), the end included.  0, -ENODATA (the file
	 * says nothing of the kind) or -errno.
	 */
	int (*map)(struct seek_map *m);
	/*
	 * Some of a frame: from..to, where to may be the unit behind it.
	 * NULL where units are frames.  0 or -errno.
	 */
	int (*part)(const struct seek_map *m, const struct seek_unit *from,
	    const struct seek_unit *to, struct seek_stream *s);
	void (*close)(struct seek_map *m);	/* frees m->own, or NULL */
};

/*
 * A range: len bytes of the data from byte `from` on or, from_end, from so many
 * before its end; len is UINT64_MAX for all that there is.
 */
struct seek_range {
	uint64_t from, len;
	bool from_end;
};

/*
 * OFFSET:LENGTH, OFFSET:, :LENGTH, -N:, -N:LENGTH, with the units of
 * args_size().  0, -EINVAL or -ERANGE.
 */
int seek_parse(const char *s, struct seek_range *r);

/*
 * The byte of data up to which the range needs a map; UINT64_MAX: the end.
 * Thread-safe, as is seek_parse().
 */
uint64_t seek_range_end(const struct seek_range *r);

/*
 * The map of the file fd of len bytes, which may end behind the data that is
 * needed.  A file that says nothing of units, or where what it says is wrong,
 * has an empty one (count is 0).  0, or -errno and nothing to close.
 */
int seek_map_open(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, uint64_t need);

/*
 * The same by a side index.  0; -ESTALE: it was made for another file, or
 * another state of this one; -EBADMSG: it is no index, or wrong; -errno.
 */
int seek_map_index(struct seek_map *m, const struct codec *codec, int fd,
    uint64_t len, int index_fd);

/* Frees the map; m->read_B stays.  The descriptors are the caller's. */
void seek_map_close(struct seek_map *m);

/* What one range cost. */
struct seek_result {
	uint64_t read_B;	/* of the compressed file, without the map's */
	uint64_t made_B;	/* decompressed */
	uint64_t wrote_B;
	bool from_start;	/* there was no nearer unit */
	bool unverified;	/* by any check of the data itself */
	bool output_failed;	/* an error is about the output */
	const char *why;	/* a sentence, for some errors, which may be
				   in text; or NULL */
	char text[sizeof(((struct convert_result *)0)->text)];
};

/*
 * Writes the range to out_fd; of one that is not all within the data, what
 * is.  c: threads, memory and limits of the decoder.  verify: decompress to
 * the end where only there is a check.  0 or -errno, -EBADMSG if what is
 * found is not what the map says.
 */
int seek_read(const struct seek_map *m, const struct convert *c,
    const struct seek_range *r, bool verify, int out_fd,
    struct seek_result *result);

/*
 * Reads the gzip file fd of len bytes to its end and writes its side index
 * to out_fd, which is read back: a point every spacing bytes or more.
 * 0 or -errno; -ENOTSUP: not gzip.
 */
int seek_index_make(int fd, uint64_t len, uint64_t spacing, int out_fd);

#endif
