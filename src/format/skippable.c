/*
 * skippable.c - the skippable frames of zstd and lz4
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/skippable.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "format/codec.h"

enum {
	HEADER = 8,
	STEP = 4 << 10,
	FRAMES_MAX = 1 << 16	/* limit for skippable_end() */
};

bool
skippable_pass(const uint8_t **p, size_t *len)
{
	while (*len >= 4 && skippable_magic(load_le32(*p))) {
		size_t n = *len < HEADER ? 0 : load_le32(*p + 4);

		if (*len < HEADER || n >= *len - HEADER)
			return true;
		*p += HEADER + n;
		*len -= HEADER + n;
	}
	return false;
}

/* Returns whether the first len bytes contain a frame that is not skippable. */
static bool
shows_end(const uint8_t *p, size_t len)
{
	return !skippable_pass(&p, &len) && len >= 4;
}

int
skippable_shorten(struct input *in)
{
	uint8_t head[HEADER], buf[STEP];
	uint32_t left = 0;
	const uint8_t *p;
	bool any = false;
	ssize_t n;

	while (left == 0 && (n = input_peek(in, CODEC_MAGIC_MAX, &p)) > 0 &&
	    n >= HEADER && skippable_magic(load_le32(p)) &&
	    (any || !shows_end(p, (size_t)n))) {
		n = input_read(in, head, HEADER);
		left = load_le32(head + 4);
		while (n > 0 && left > 0) {
			n = input_read(in, buf, left < STEP ? left : STEP);
			if (n > 0)
				left -= (uint32_t)n;
			if (in->ended && in->eof)
				break;
		}
		if (n < 0)
			return (int)n;
		any = true;
		store_le32(head + 4, left);	/* what is missing */
	}
	if (n >= 0 && any)
		input_unread(in, head, HEADER);
	return n < 0 ? (int)n : 0;
}

uint64_t
skippable_end(int fd, uint64_t at)
{
	uint64_t begin = at;
	uint8_t head[HEADER];

	for (int i = 0; i < FRAMES_MAX; i++) {
		if (fdio_pread(fd, head, HEADER, (off_t)at) != HEADER ||
		    !skippable_magic(load_le32(head)))
			return at;
		at += HEADER + (uint64_t)load_le32(head + 4);
	}
	return begin;
}
