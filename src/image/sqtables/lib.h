/*
 * lib.h - the file and the compressor that libsquashfs calls
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQTABLES_LIB_H
#define COLDPRESS_SQTABLES_LIB_H

#include "image/sqtables/image.h"

#include <sqfs/compressor.h>
#include <sqfs/io.h>
#include <sqfs/xattr_writer.h>

/* The image as a libsquashfs file; the library only appends to it. */
struct lib_file {
	sqfs_file_t base;
	int fd;
	uint64_t end;
	int err;			/* the first error, as -errno */
};

void lib_file_init(struct lib_file *f, int fd, uint64_t end);

/* One of our codecs; if it is NULL, data is stored uncompressed. */
struct lib_codec {
	sqfs_compressor_t base;
	struct sqb_codec *codec;
};

void lib_codec_init(struct lib_codec *c, struct sqb_codec *codec);

/* Converts a libsquashfs error to -errno; an error in f takes precedence. */
int lib_error(int rc, const struct lib_file *f);

struct sqb_xattrs {
	sqfs_xattr_writer_t *writer;
};

#endif
