/*
 * lzw.h - the .Z format of compress(1)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * There is no written standard for the format.  compress 4.0 (1985), ncompress
 * 4.2.4.6 and gzip 1.12 agree on it, and the tests compare this code with them.
 *
 * 	1f 9d		magic
 * 	flags		bits 0-4: the widest code, 9 to 16; bit 7: block mode
 * 			(code 256 is CLEAR); bits 5-6: reserved
 * 	codes		least significant bit first, 9 bits wide at first
 *
 * Codes become one bit wider as soon as the table is too large for their width.
 * Codes are written in groups of eight, so a group has as many bytes as a code
 * has bits.  The first code of a new width, and the code after a CLEAR, begin a
 * new group: the rest of the previous group is padding.  If the maximum width
 * is 9 bits, the width still grows to 10 when the table is full, as in compress
 * 4.0.
 *
 * There is no end marker.  A stream ends at the end of its file, and leftover
 * bits that are too few for a code are ignored.  A truncated file cannot be
 * distinguished from a complete one, unless it is shorter than three bytes.
 */
#ifndef COLDPRESS_LZW_H
#define COLDPRESS_LZW_H

#include "engine/stream.h"

/*
 * Returns STREAM_END only if io->eof is set.  Rejects reserved bits and codes
 * wider than 16 bits with -ENOTSUP; a wrong magic number, a width below 9 and
 * codes missing from the table with -EBADMSG.  Always needs 449 KiB of memory,
 * and ignores memlimit.
 */
extern const struct stream_ops lzw_stream;

#endif
