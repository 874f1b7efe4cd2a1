/*
 * record.h - settings of an image for which the format has no field
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A line of text after the bytes that the image counts as used, in the padding,
 * where no reader looks: "sqpack" and words for everything that differs from
 * the default.  All functions are thread-safe.
 */
#ifndef COLDPRESS_SQBUILD_RECORD_H
#define COLDPRESS_SQBUILD_RECORD_H

#include "image/sqbuild/data.h"

enum { SQB_RECORD_MAX = 128 };

/*
 * Writes the line, with its newline and a NUL: returns its length, 0 if there
 * is none.
 */
size_t sqb_record_make(const struct sqb_data_options *o,
    char text[SQB_RECORD_MAX]);

/*
 * Sets what the line at the beginning of len bytes of padding says; o->method
 * is known.  1; 0: there is none; -EINVAL: not one that this version writes.
 */
int sqb_record_read(const void *padding, size_t len,
    struct sqb_data_options *o);

#endif
