/*
 * tar_header.h - writing the header of a file in a tar archive
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange
 * Format".
 */
#ifndef COLDPRESS_TAR_HEADER_H
#define COLDPRESS_TAR_HEADER_H

#include "base/strbuf.h"
#include "format/tar/tar.h"

/*
 * Appends the header of a regular file of e->size bytes, stored without holes:
 * a ustar header, preceded by an extended header for values that do not fit.
 * The caller appends the data, padded with zeros to a multiple of TAR_BLOCK.
 * Thread-safe.
 */
void tar_header_file(struct strbuf *b, const struct tar_entry *e);

#endif
