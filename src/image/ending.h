/*
 * ending.h - ending a walk in all of its threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_ENDING_H
#define COLDPRESS_IMAGE_ENDING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct image_ending {
	atomic_int err;			/* the error that ends the walk */
	const atomic_bool *cancel;	/* the caller's, or NULL */
};

/*
 * Ends the walk; the first error is kept.  Thread-safe, as is the next
 * function.
 */
static inline void
image_end(struct image_ending *e, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&e->err, &none, err);
}

static inline bool
image_ended(struct image_ending *e)
{
	if (e->cancel != NULL && atomic_load(e->cancel))
		image_end(e, -ECANCELED);
	return atomic_load(&e->err) != 0;
}

#endif
