/*
 * input.h - the input stream of a job
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An input is a descriptor with a look-ahead buffer, a byte count and a counter
 * for the time spent waiting.  One thread reads; any thread may cancel its wait
 * with input_cancel().
 */
#ifndef COLDPRESS_INPUT_H
#define COLDPRESS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { INPUT_PEEK = 512 };

struct input {
	int fd;
	int cancel;		/* an eventfd */
	bool waits;		/* a pipe, socket or terminal: poll first */
	bool ended;		/* read(2) has returned 0 */
	bool limited;		/* only a part of a file is read, */
	uint64_t left;		/* which has this many bytes left */
	bool eof;		/* ended, and all peeked data has been
				 * consumed */
	int flush_ms;		/* flush time, see input_read(); -1: never */
	uint64_t bytes;		/* number returned by input_read() */
	uint64_t wait_ns;	/* spent reading */
	/*
	 * Called instead of read(2), but returns -errno; see input_open_from().
	 */
	ssize_t (*source)(void *arg, void *buf, size_t len);
	void *source_arg;
	bool holes;		/* a regular file with holes, */
	struct stat st;		/* its status, */
	uint64_t hole;		/* and bytes left of the current hole */
	size_t peeked, taken;	/* bytes in ahead */
	uint8_t ahead[INPUT_PEEK];
};

/*
 * Opens an input that reads from fd, which is not closed.  Returns 0 or -errno.
 */
int input_open(struct input *in, int fd);

/*
 * Opens an input that is read by calling source(arg, ...), which must not
 * block.  source works like read(2), but returns -errno.  arg must outlive the
 * input.  Returns 0 or -errno.
 */
int input_open_from(struct input *in,
    ssize_t (*source)(void *arg, void *buf, size_t len), void *arg);

/* Frees everything, even after a failed open; fd remains open. */
void input_close(struct input *in);

/*
 * Reads only the len bytes that begin at offset `from` of a regular file, if
 * nothing has been read yet.  A file that ends earlier is then an error,
 * -ESTALE.  Returns 0 or -errno.
 */
int input_limit(struct input *in, uint64_t from, uint64_t len);

/*
 * Peeks at the next n bytes (at most INPUT_PEEK) without consuming them, or at
 * fewer bytes at the end of the input or after flush_ms, as in input_read().
 * *p belongs to the input.  Returns the number of bytes, or -errno.
 */
ssize_t input_peek(struct input *in, size_t n, const uint8_t **p);

/*
 * Pushes n bytes back, to be read next, in place of the last n bytes consumed.
 * These and the bytes peeked but not consumed may not exceed INPUT_PEEK.
 */
void input_unread(struct input *in, const void *p, size_t n);

/*
 * Reads len bytes, or fewer at the end of the input (in->eof), or if nothing
 * more arrives within flush_ms of the first byte.  Returns the number of bytes,
 * -ECANCELED after input_cancel(), or -errno.
 */
ssize_t input_read(struct input *in, void *buf, size_t len);

/*
 * If the next len bytes are in a hole of a file, and therefore zero, skips them
 * and returns 1.  Otherwise returns 0, or -errno.
 */
int input_skip_hole(struct input *in, size_t len);

/* Cancels every current and future wait in input_read().  Thread-safe. */
void input_cancel(struct input *in);

#endif
