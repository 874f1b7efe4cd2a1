/*
 * gzip_points.h - decompressing a gzip file and recording points to resume from
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decompression can be resumed at the end of any deflate block, given the
 * position of the next bit and the 32 KiB of data before it.  Such a position
 * is called a point.  The file is read once, sequentially, and all its members
 * are verified.
 *
 * A struct gzip_points belongs to one thread at a time.
 */
#ifndef COLDPRESS_GZIP_POINTS_H
#define COLDPRESS_GZIP_POINTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inflater;

enum { GZIP_WINDOW = 32 << 10 };

struct gzip_point {
	uint64_t in;		/* file offset of the first whole byte after the
				 * point */
	unsigned bits;		/* number of bits after the point, 0 to 7, at
				 * the top of the byte before `in` */
	uint64_t out;		/* bytes of data before the point */
	/*
	 * the data before the point within its member, at most GZIP_WINDOW
	 * bytes
	 */
	const uint8_t *window;
	size_t window_len;
};

struct gzip_points_source {
	/* As in struct tar_source. */
	ssize_t (*read)(void *arg, void *buf, size_t len);
	/*
	 * Called with every byte of the file once, in order: with the bytes
	 * before a point's `in` before point() is called for it, and with the
	 * others afterwards.  Returns 0, or -errno, which gzip_points_read()
	 * then returns.
	 */
	int (*taken)(void *arg, const uint8_t *data, size_t len);
	/*
	 * Called for the start of the first member's data, and then repeatedly
	 * for the next point more than `spacing` bytes of data after the
	 * previous one.  The window is valid during the call.  Returns 0 or
	 * -errno.
	 */
	int (*point)(void *arg, const struct gzip_point *p);
	/*
	 * If not NULL, called once for each point, before the next one or at
	 * the end, with the point's window.  Bytes not needed to decode up to
	 * the next point are zero.  Returns 0 or -errno.
	 */
	int (*sparse)(void *arg, const uint8_t *window, size_t len);
	void *arg;
	uint64_t spacing;
};

struct gzip_points;

/*
 * Starts at the first byte of source; *source is copied.  Returns 0 or -ENOMEM.
 */
int gzip_points_open(struct gzip_points **g,
    const struct gzip_points_source *source);
void gzip_points_close(struct gzip_points *g);	/* may be NULL */

/*
 * Reads up to len bytes of data.  Returns their number, 0 at the end of the
 * file, or -errno: -EBADMSG (not a gzip file, or damaged), -ENODATA
 * (truncated).  A member may be followed only by another member.
 */
ssize_t gzip_points_read(struct gzip_points *g, void *buf, size_t len);

/*
 * Decompresses exactly size bytes of data starting at a point, using its bits
 * and window.  `in` contains len bytes of the file, starting at p->in, or at
 * the byte before it if p->bits is not 0.  Members may end within this data;
 * their checks are not verified.  Returns 0 or -EBADMSG.
 */
int gzip_resume(struct inflater *f, const struct gzip_point *p,
    const uint8_t *in, size_t len, uint8_t *out, size_t size);

#endif
