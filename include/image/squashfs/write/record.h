/*
 * record.h - recording settings for which the format has no field
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The record is a line of text in the padding, after the used bytes of the
 * image, where readers ignore it.  It consists of "sqpack" and a word for each
 * setting that differs from the default.  All functions are thread-safe.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_RECORD_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_RECORD_H

#include "image/squashfs/write/data.h"

enum { SQW_RECORD_MAX = 128 };

/*
 * Writes the line, including the newline and a terminating NUL.  Returns the
 * length of the line, or 0 if there is none.
 */
size_t sqw_record_make(const struct sqw_data_options *o,
    char text[SQW_RECORD_MAX]);

/*
 * Parses the line at the start of len bytes of padding, and sets the options
 * that it records; o->method must already be set.  Returns 1, 0 if there is no
 * line, or -EINVAL if this version does not write such a line.
 */
int sqw_record_read(const void *padding, size_t len,
    struct sqw_data_options *o);

#endif
