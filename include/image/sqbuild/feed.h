/*
 * feed.h - files cut into the units of an image, in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQBUILD_FEED_H
#define COLDPRESS_SQBUILD_FEED_H

#include "image/sqbuild/data.h"
#include "image/sqbuild/twins.h"

struct feed {
	const struct sqb_source *source;
	const struct sqb_data_options *o;
	struct sqb_data *d;
	struct twins twins;
	/* the large file in hand */
	bool open;
	struct sqb_file file;
	uint64_t left;			/* of it, to be given */
	XXH3_state_t *hash;
	bool hashing;			/* to be remembered at its end */
	int spool;			/* its data, when they cannot be read
					   from the source again; or -1 */
	uint64_t spool_at;
	/* the fragment block that is being filled */
	uint8_t *fragment;
	uint32_t filled, fragment_unit;
	bool ended;
};

/* One block, or one fragment block. */
struct feed_unit {
	uint8_t *data;			/* of feed_room() bytes */
	uint32_t len;
	uint32_t number;
	bool is_fragment;
};

/*
 * The bytes of every buffer that a unit travels in: a block fits, and whatever
 * an encoder makes of one.
 */
size_t feed_room(const struct sqb_data_options *o);

/* f is to be closed in any case.  0 or -ENOMEM. */
int feed_open(struct feed *f, const struct sqb_source *source,
    const struct sqb_data_options *o, struct sqb_data *d);
void feed_close(struct feed *f);

/*
 * The next unit: 1, 0 at the end, or -errno.  It may give u another buffer in
 * exchange for its own.
 */
int feed_next(struct feed *f, struct feed_unit *u);

#endif
