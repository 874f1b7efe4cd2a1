/*
 * zstd_scan.h - where the frames of a zstd stream end, without decoding
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878, section 3.1.  Only the headers of
 * frames and blocks are looked at, as they come by.
 */
#ifndef COLDPRESS_ZSTD_SCAN_H
#define COLDPRESS_ZSTD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZSTD_FRAME_MAGIC 0xfd2fb528U
#define ZSTD_SKIP_MAGIC 0x184d2a50U

enum {
	ZSTD_HEADER_MAX = 18,
	ZSTD_HAS_CHECKSUM = 4,		/* of the byte behind the magic */
	ZSTD_SIZE_SHIFT = 6
};

struct zstd_header {
	size_t len;		/* of the frame's header */
	uint64_t content;	/* size, or UINT64_MAX */
	uint64_t window;
	bool checksum;
	bool dictionary;	/* is named */
	bool windowed;		/* the window has a byte of its own: */
	uint8_t window_byte;
	uint32_t skip;		/* a skippable frame: bytes after the header */
	bool skippable;
};

/* 1, 0 (len bytes are too few), or -EBADMSG.  Pure. */
int zstd_header_parse(struct zstd_header *h, const uint8_t *p, size_t len);

struct zstd_scan {
	struct zstd_header header;	/* of the frame in hand */
	int state;
	uint64_t skip;			/* bytes to pass over */
	bool last;			/* the block in hand is the last */
	bool jobs;			/* stop at their ends, too */
	bool marked;			/* the frame begins with an empty block */
	bool at_job;			/* stopped behind such, and others */
	bool begun, busy;		/* a block; one that is not empty */
	uint64_t most;			/* output of what is passed over */
	uint8_t held[ZSTD_HEADER_MAX];	/* a header that was cut */
	size_t held_len;
};

/*
 * Goes on over len bytes, at most to the end of the frame in hand: the
 * number that belong to it; *ended says whether it ends there.  With z->jobs
 * it stops too, with z->at_job, behind the first empty raw block after others
 * of a frame that begins with such; zstd_scan_job() goes on.  -EBADMSG: no
 * frame begins here.
 */
int64_t zstd_scan(struct zstd_scan *z, const uint8_t *p, size_t len,
    bool *ended);

/* Counts from here on, and goes on behind a job. */
void zstd_scan_job(struct zstd_scan *z);

#endif
