/*
 * zstd_scan.h - finding the ends of frames in a zstd stream without decoding
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878, section 3.1.  Only the headers of frames and blocks are
 * examined, as they arrive.
 */
#ifndef COLDPRESS_ZSTD_SCAN_H
#define COLDPRESS_ZSTD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZSTD_FRAME_MAGIC 0xfd2fb528U
/* The frame and the footer of the seekable format's table. */
#define ZSTD_SEEK_MAGIC 0x184d2a5eU
#define ZSTD_SEEK_FOOTER_MAGIC 0x8f92eab1U

enum {
	ZSTD_HEADER_MAX = 18,
	ZSTD_HAS_CHECKSUM = 4,		/* flag in the byte after the
					 * magic number */
	ZSTD_SIZE_SHIFT = 6,
	ZSTD_CHECKSUM = 4		/* checksum after the last block */
};

struct zstd_header {
	size_t len;		/* length of the frame's header */
	uint64_t content;	/* size, or UINT64_MAX */
	uint64_t window;
	bool checksum;
	bool dictionary;	/* a dictionary is specified */
	uint32_t dictionary_id;	/* 0: none */
	bool windowed;		/* the header has a window byte: */
	uint8_t window_byte;
	uint32_t skip;		/* in a skippable frame: bytes after the
				 * header */
	bool skippable;
};

/*
 * Parses a header, without side effects.  Returns 1, 0 (more bytes are needed),
 * or -EBADMSG.
 */
int zstd_header_parse(struct zstd_header *h, const uint8_t *p, size_t len);

struct zstd_scan {
	struct zstd_header header;	/* header of the current frame */
	int state;
	uint64_t skip;			/* bytes to skip */
	bool last;			/* the current block is the last one */
	bool jobs;			/* also stop at the ends of jobs */
	bool marked;			/* the frame begins with an empty
					 * block */
	bool at_job;			/* stopped after an empty block that
					 * follows other blocks */
	bool begun, busy;		/* in a block; in a non-empty block */
	uint64_t most;			/* maximum output of the skipped data */
	uint8_t held[ZSTD_HEADER_MAX];	/* an incomplete header */
	size_t held_len;
};

/*
 * Scans len bytes, at most to the end of the current frame.  Returns how many
 * of them belong to the frame; *ended is set to whether it ends there.  If
 * z->jobs is set, in a frame that begins with an empty raw block, scanning also
 * stops after the first empty block that follows other blocks, and z->at_job is
 * set; zstd_scan_job() continues.  Returns -EBADMSG if no frame begins here.
 */
int64_t zstd_scan(struct zstd_scan *z, const uint8_t *p, size_t len,
    bool *ended);

/* Continues after a job, and restarts counting there. */
void zstd_scan_job(struct zstd_scan *z);

#endif
