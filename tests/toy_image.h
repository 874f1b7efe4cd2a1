/*
 * toy_image.h - images in a format invented for tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format, "toy", has blocks of 4 KiB, each stored raw or as a byte and a
 * repeat count, and no tables, because the source has all names.  Any error in
 * these functions fails the test.
 */
#ifndef COLDPRESS_TESTS_TOY_IMAGE_H
#define COLDPRESS_TESTS_TOY_IMAGE_H

#include "image/source.h"

enum {
	TOY_BLOCK_B = 4096, TOY_RUN_B = 4, TOY_FILES = 600, TOY_FRAGMENTS = 3
};

struct toy_file {
	char name[16];
	uint64_t start, size;
	image_word words[40];
	uint32_t blocks, fragment, tail_at;
	bool bad;
};

struct toy {
	struct toy_file file[TOY_FILES];
	uint32_t files, fragments;
	uint64_t fragment_at[TOY_FRAGMENTS];
	int err;			/* returned by open */
	int fd;				/* the image, in memory */
};

/*
 * Makes an intact image.  There is only one at a time; tests may damage it, or
 * change what the source says about it.
 */
struct toy *toy_make(void);
void toy_free(struct toy *t);

/* Reads the image made by toy_make. */
extern const struct image_source toy_source;

#endif
