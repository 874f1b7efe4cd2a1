/*
 * walk_read.h - reading and hashing one open file, unless it changes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WALK_READ_H
#define COLDPRESS_WALK_READ_H

#include "engine/digest/digest.h"
#include "walk/walk.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* A limit on the number of threads that hash at a time. */
struct walk_places {
	pthread_mutex_t lock;
	pthread_cond_t free;
	unsigned count;			/* free places */
};

void walk_places_init(struct walk_places *p, unsigned count);
void walk_places_destroy(struct walk_places *p);

/* One thread's state. */
struct walk_reader {
	const struct walk_options *o;
	struct walk_places *places;
	struct digest *digest;
	uint8_t *buf;
	uint64_t mine;			/* for o->look */
	uint64_t read_B, stored_B;	/* as in walk_result, for this thread */
};

/* Returns 0 or -ENOMEM; rd must be closed in either case. */
int walk_reader_open(struct walk_reader *rd, const struct walk_options *o,
    struct walk_places *places);
void walk_reader_close(struct walk_reader *rd);

/* The current file. */
struct walk_job {
	int fd;
	struct stat st;
	struct walk_file file;
	uint64_t asked_ns;		/* time before the file was opened */
	const struct walk_range *ranges;	/* NULL: the whole file */
	size_t range_count;
};

/*
 * Reads the open regular file, or only calls look, and fills in the row.
 * Returns 0, -EAGAIN (the file has changed), -ECANCELED, or -errno from a read.
 */
int walk_read(struct walk_reader *rd, struct walk_job *j);

/* Returns whether the walk has been cancelled. */
bool walk_canceled(const struct walk_options *o);

#endif
