/*
 * list.h - code shared by the formats' listings
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions NAME_list implement codec.list.
 */
#ifndef COLDPRESS_LIST_H
#define COLDPRESS_LIST_H

#include "format/codec.h"

#include <sys/types.h>

int gzip_list(int fd, uint64_t len, struct codec_listing *l);
int zlib_list(int fd, uint64_t len, struct codec_listing *l);
int zip_list(int fd, uint64_t len, struct codec_listing *l);
int zstd_list(int fd, uint64_t len, struct codec_listing *l);
int lz4_list(int fd, uint64_t len, struct codec_listing *l);

/* Adds to the size, which becomes unknown if the sum exceeds 63 bits. */
static inline void
list_add(struct codec_listing *l, uint64_t size)
{
	if (size > (uint64_t)INT64_MAX - l->size)
		l->has_size = false;
	else
		l->size += size;
}

/*
 * Counts one more frame with this check; if checks differ, the listed one is
 * "mixed".
 */
static inline void
list_frame(struct codec_listing *l, const char *check)
{
	if (l->frames++ == 0)
		l->check = check;
	else if (l->check != check)
		l->check = "mixed";
}

/* Any part of a file, read through a buffer, in order to list its headers. */
enum { LOOK_MAX = 128 << 10, LOOK_STEP = 4 << 10 };

struct look {
	int fd;
	uint64_t len;		/* file size */
	uint64_t read_B;	/* bytes read so far */
	uint64_t at;		/* offset of the data in buf */
	size_t have;
	uint8_t buf[LOOK_MAX];
};

/*
 * Opens a window on fd, which is not closed.  Returns NULL, which look_close()
 * accepts, if out of memory.
 */
struct look *look_open(int fd, uint64_t len);
void look_close(struct look *l);

/*
 * Reads `want` bytes (at most LOOK_MAX) at offset, or fewer at the end of the
 * file.  *p points into l->buf and is valid until the next call.  Returns the
 * number of bytes, or -errno.
 */
ssize_t look_at(struct look *l, uint64_t offset, size_t want,
    const uint8_t **p);

/*
 * Like look_at(), but reads ahead only if offset is close behind what was read
 * last: the next offset may be far away.
 */
ssize_t look_little(struct look *l, uint64_t offset, size_t want,
    const uint8_t **p);

#endif
