/*
 * pull_fetch.h - fetching blobs in order, over several connections
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The blobs are cut into spans of PULL_SPAN bytes, which several threads fetch
 * in the order in which they will be used: those of the first blob, then those
 * of the second, and so on.  A span is held until it has been used, and the
 * number of spans held is bounded.  A span is not fetched before all spans
 * before it have their memory, so the blob that is needed next is never kept
 * waiting by later ones.
 *
 * A server that sends the whole blob whatever range is requested is asked once
 * for each blob, and what it sends is cut into the same spans.
 *
 * The bytes are not verified here.
 */
#ifndef COLDPRESS_PULL_FETCH_H
#define COLDPRESS_PULL_FETCH_H

#include "image/oci/oci.h"
#include "lazy/http/http.h"

#include <sys/types.h>

enum { PULL_SPAN = 2 << 20 };

struct pull_fetch;

struct pull_fetch_options {
	struct http *http;
	const char *base;		/* the URL of a blob is this and its
					 * digits */
	const struct oci_blob *blobs;	/* remain the caller's; no size is above
					 * 2^62 */
	size_t count;
	unsigned connections;		/* twice as many spans are held */
	/* Called with the bytes of each span fetched, by any thread. */
	void (*arrived)(void *arg, uint64_t bytes);
	void *arg;
};

/* Starts the threads.  Returns 0 or -errno. */
int pull_fetch_open(struct pull_fetch **f, const struct pull_fetch_options *o);

/*
 * Stops fetching: calls in progress and later ones return -ECANCELED unless
 * their span is there.  Thread-safe.
 */
void pull_fetch_stop(struct pull_fetch *f);

/* Stops, and joins the threads.  No call may be in progress.  f may be NULL. */
void pull_fetch_close(struct pull_fetch *f);

/*
 * Waits for the next bytes of a blob, which are valid until the next call for
 * it.  Returns their number, 0 at the end of the blob, or -errno.  Each blob is
 * read by one thread at a time.
 */
ssize_t pull_fetch_next(struct pull_fetch *f, size_t blob,
    const uint8_t **data);

/* Writes why fetching this blob failed, or "". */
void pull_fetch_why(struct pull_fetch *f, size_t blob, char why[LAYER_WHY]);

#endif
