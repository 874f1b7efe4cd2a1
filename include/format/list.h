/*
 * list.h - code shared by the formats' listings
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions implement codec.list.
 */
#ifndef COLDPRESS_LIST_H
#define COLDPRESS_LIST_H

#include "format/codec.h"

int gzip_list(int fd, uint64_t len, struct codec_listing *l);
int zlib_list(int fd, uint64_t len, struct codec_listing *l);
int zip_list(int fd, uint64_t len, struct codec_listing *l);
int zstd_list(int fd, uint64_t len, struct codec_listing *l);
int lz4_list(int fd, uint64_t len, struct codec_listing *l);
int xz_list(int fd, uint64_t len, struct codec_listing *l);
int lzma_list(int fd, uint64_t len, struct codec_listing *l);

/* Adds to the size, which becomes unknown if the sum exceeds 63 bits. */
static inline void
list_add(struct codec_listing *l, uint64_t size)
{
	if (size > (uint64_t)INT64_MAX - l->size)
		l->has_size = false;
	else
		l->size += size;
}

/*
 * Counts one more frame with this check; if checks differ, the listed one is
 * "mixed".
 */
static inline void
list_frame(struct codec_listing *l, const char *check)
{
	if (l->frames++ == 0)
		l->check = check;
	else if (l->check != check)
		l->check = "mixed";
}

#endif
