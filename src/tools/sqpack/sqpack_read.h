/*
 * sqpack_read.h - declarations shared by listing, extracting and the like
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_READ_H
#define COLDPRESS_SQPACK_READ_H

#include "sqpack.h"

#include "base/utf8.h"
#include "image/squashfs/reader.h"

#include <stdio.h>

/* An open image.  Its path buffer is for one thread. */
struct sqpack_image {
	struct sqpack *p;
	int fd;
	uint64_t offset;		/* of the image in the file */
	struct sqr_image *m;
	bool refused;			/* Linux would not mount it */
	uint8_t *wanted;		/* enum sqpack_want of each name */
	char *path;
	size_t path_cap;
};

enum sqpack_want {
	SQPACK_OUT,
	SQPACK_ABOVE,			/* a parent directory of a selected
					 * name */
	SQPACK_IN
};

/*
 * Opens the image p->o.source and selects the names that p->o.globs match; all
 * if there are none.  Reports errors.  0 or -errno; must be closed in any case.
 */
int sqpack_image_open(struct sqpack_image *i, struct sqpack *p);
void sqpack_image_close(struct sqpack_image *i);

/*
 * The path of a name, valid until the next call; NULL, after reporting it: out
 * of memory.
 */
const char *sqpack_image_path(struct sqpack_image *i, size_t number);

/*
 * The first bytes after those that the image counts as used: how many there
 * are, at most size, or -errno.
 */
int sqpack_image_padding(const struct sqpack_image *i, char *padding,
    size_t size);

/* As in ls(1). */
enum { SQPACK_MODE_B = 11 };
void sqpack_mode_text(char text[SQPACK_MODE_B], uint16_t mode);

/* What the options of compressors are called, by their bits or numbers. */
enum { SQPACK_STRATEGIES = 5, SQPACK_LZOS = 5 };
extern const char *const sqpack_strategies[SQPACK_STRATEGIES];
extern const char *const sqpack_lzos[SQPACK_LZOS];

const char *sqpack_compressor_name(const struct sqpack_image *i);

/*
 * Prints len bytes for a terminal or a list: control characters as \ooo, \ as
 * \\.
 */
void sqpack_print(FILE *f, const char *text, size_t len);

/* The lines before a long listing. */
void sqpack_print_facts(const struct sqpack_image *i);

/*
 * Whether a kernel can mount such an image: according to its configuration in a
 * file, its version, or (kernel NULL) the running one.  1, 0, or -1: unknown;
 * or -errno of reading the file.  A clause in why.
 */
int sqpack_can_mount(const struct sqpack_image *i, const char *kernel,
    char *why, size_t size);

#endif
