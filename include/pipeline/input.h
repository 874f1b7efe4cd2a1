/*
 * input.h - the input stream of a job
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An input is a descriptor with a look-ahead buffer, a byte count, a clock for
 * the time spent waiting, and a way to end a wait from another thread.  One
 * thread reads; any thread may call input_cancel().
 */
#ifndef COLDPRESS_INPUT_H
#define COLDPRESS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { INPUT_PEEK = 512 };

struct input {
	int fd;
	int cancel;		/* an eventfd */
	bool waits;		/* a pipe, socket or terminal: poll first */
	bool ended;		/* read(2) has returned 0 */
	bool eof;		/* ended, and all peeked data taken */
	int flush_ms;		/* flush time, see input_read(); -1: never */
	uint64_t bytes;		/* taken by input_read() */
	uint64_t wait_ns;	/* spent reading */
	/*
	 * Called instead of read(2), but returns -errno; see input_open_from().
	 */
	ssize_t (*source)(void *arg, void *buf, size_t len);
	void *source_arg;
	size_t peeked, taken;	/* bytes in ahead */
	uint8_t ahead[INPUT_PEEK];
};

/* fd remains the caller's.  Returns 0 or -errno. */
int input_open(struct input *in, int fd);

/*
 * Opens an input that is read by calling source, which never has to wait;
 * source works like read(2), but returns -errno.  arg must outlive it.  Returns
 * 0 or -errno.
 */
int input_open_from(struct input *in,
    ssize_t (*source)(void *arg, void *buf, size_t len), void *arg);

/* Frees everything, even after a failed open; fd remains open. */
void input_close(struct input *in);

/*
 * Peeks at the next n bytes (at most INPUT_PEEK) without taking them; there are
 * fewer only at the end, or after flush_ms as in input_read().  *p belongs to
 * the input.  Returns the number, or -errno.
 */
ssize_t input_peek(struct input *in, size_t n, const uint8_t **p);

/*
 * Puts n bytes in front of the next data to be read, replacing the same number
 * of bytes that were taken.  Together with the bytes peeked but not taken,
 * there may be at most INPUT_PEEK.
 */
void input_unread(struct input *in, const void *p, size_t n);

/*
 * Takes len bytes, or fewer at the end (in->eof) or when nothing more has
 * arrived within flush_ms of the first of them.  Returns the number, -ECANCELED
 * after input_cancel(), or -errno.
 */
ssize_t input_read(struct input *in, void *buf, size_t len);

/* Cancels every current and future wait in input_read().  Thread-safe. */
void input_cancel(struct input *in);

#endif
