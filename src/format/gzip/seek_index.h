/*
 * seek_index.h - the side index of a gzip file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The layout, all integers little-endian:
 *
 * 	0	8	magic, 89 50 5a 49 0d 0a 1a 0a
 * 	8	4	version, 1
 * 	12	4	number of points
 * 	16	8	bytes in the index
 * 	24	8	bytes in the gzip file
 * 	32	8	its modification time, seconds since 1970
 * 	40	4	and nanoseconds
 * 	44	4	0
 * 	48	8	XXH64 of its first, middle and last 64 KiB
 * 	56	8	minimum bytes of data between two points
 * 	64	8	XXH64 of bytes 0..63 and of the points
 * 	72	...	windows, then the points, to the end
 *
 * A point takes 40 bytes:
 *
 * 	0	8	bytes of data before it
 * 	8	8	bit in the gzip file, the least significant first
 * 	16	8	offset in the file at which its member begins
 * 	24	8	offset in the index at which its window begins
 * 	32	4	bytes in the window, which is a raw deflate stream of at
 * 			most 32 KiB; 0: the point is a member's beginning
 * 	36	4	CRC-32 of the data from here to the next point, if both
 * 			are in one member
 *
 * The last point marks the end of the data and of the last member.  A member
 * that contains a point also has one at its beginning and at its end.
 */
#ifndef COLDPRESS_SEEK_INDEX_H
#define COLDPRESS_SEEK_INDEX_H

#include <stdint.h>

enum {
	INDEX_VERSION = 1,
	INDEX_HEAD = 72,
	INDEX_POINT = 40,
	INDEX_WINDOW = 32 << 10,
	/* no reasonable compressor makes a window larger than this */
	INDEX_WINDOW_PACKED = INDEX_WINDOW + 256
};

#define INDEX_MAGIC UINT64_C(0x0a1a0a0d495a5089)

/* The identity of the file to which an index belongs. */
struct index_binding {
	uint64_t len;
	int64_t mtime;
	uint32_t mtime_ns;
	uint64_t hash;
};

/* Returns 0 or -errno. */
int index_bind(struct index_binding *b, int fd, uint64_t len);

#endif
