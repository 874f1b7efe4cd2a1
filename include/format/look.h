/*
 * look.h - reading any part of a file through a buffer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used to list a file's headers.
 */
#ifndef COLDPRESS_LOOK_H
#define COLDPRESS_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

#endif
