/*
 * pull_layer.h - decompressing a layer while it is fetched
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread takes the layer's spans, hashes them, and has the format's coder
 * decompress them into a pipe.  It runs ahead of its reader by what the coder's
 * buffers and the pipe hold.
 */
#ifndef COLDPRESS_PULL_LAYER_H
#define COLDPRESS_PULL_LAYER_H

#include "pull_fetch.h"

#include "engine/digest/digest.h"
#include "format/convert.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct pull_layer {
	struct pull_fetch *fetch;
	size_t n;			/* the layer's number, from 0 */
	const struct oci_blob *blob;
	int pipe, out;			/* its ends, or -1 */
	bool running;
	pthread_t thread;
	struct digest *digest;		/* of the compressed bytes */
	const uint8_t *data;		/* of the span in use, and the number */
	size_t left;			/* of bytes left in it */
	int failed;			/* -errno from fetching it */
	struct input in;
	struct convert convert;
	struct convert_result result;
	int rc;				/* valid when the thread has ended */
	const char *why;		/* a clause for it, or NULL */
};

/*
 * Begins with layer n of the blobs that f fetches.  Returns 0 or -errno; must be
 * closed even after an error.  l must not be moved.
 */
int pull_layer_open(struct pull_layer *l, struct pull_fetch *f, size_t n,
    const struct oci_blob *blob, unsigned threads);

/* Reads uncompressed bytes, as read(2) does, but returns -errno. */
ssize_t pull_layer_read(void *layer, void *buf, size_t len);

/*
 * After the last byte: waits for the thread, which has compared the digest.
 * Returns 0, or -errno, with the reason in why or "".
 */
int pull_layer_end(struct pull_layer *l, char why[LAYER_WHY]);

/*
 * If it was not read to its end, pull_fetch_stop() must have been called.
 */
void pull_layer_close(struct pull_layer *l);

#endif
