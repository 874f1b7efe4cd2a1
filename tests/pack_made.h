/*
 * pack_made.h - creating archives in files for tests that pack them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_PACK_MADE_H
#define COLDPRESS_TESTS_PACK_MADE_H

#include "format/tar/tar.h"

#include <stdint.h>

/* Creates an empty file without a name.  Returns its descriptor. */
int temporary(void);

/* Returns the byte at an offset of the file with this number. */
uint8_t byte_of(unsigned file, uint64_t at);

/* Appends an entry, with the content of the file with this number. */
void write_entry(int fd, const struct tar_entry *e, unsigned file);

/* Appends the end of the archive, and seeks to its beginning. */
void write_end(int fd);

#endif
