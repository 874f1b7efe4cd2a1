/*
 * look.h - a look at any place of a file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What lists a file's headers reads it so.
 */
#ifndef COLDPRESS_LOOK_H
#define COLDPRESS_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LOOK_MAX = 128 << 10, LOOK_STEP = 4 << 10 };

struct look {
	int fd;
	uint64_t len;		/* of the file */
	uint64_t read_B;	/* so far */
	uint64_t at;		/* of what is in buf */
	size_t have;
	uint8_t buf[LOOK_MAX];
};

/* fd stays the caller's.  NULL: no memory.  look_close() takes NULL too. */
struct look *look_open(int fd, uint64_t len);
void look_close(struct look *l);

/*
 * The want bytes (at most LOOK_MAX) at offset: *p, which is the look's, until
 * the next call.  Fewer only at the end of the file.  Their number, or -errno.
 */
ssize_t look_at(struct look *l, uint64_t offset, size_t want,
    const uint8_t **p);

#endif
