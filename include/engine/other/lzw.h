/*
 * lzw.h - what compress(1) writes: .Z
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source of the format: there is no written standard; compress 4.0 of 1985,
 * ncompress 4.2.4.6 and gzip 1.12 agree, and are the judges in the tests.
 *
 *	1f 9d		magic
 *	flags		bits 0-4: the widest code, 9 to 16; bit 7: block mode
 *			(code 256 is CLEAR); bits 5-6: reserved
 *	codes		least significant bit first, 9 bits wide at first
 *
 * A code takes one bit more as soon as the table is too large for its width.
 * Codes are written in groups of eight, so a group has as many bytes as a
 * code has bits.  A wider code, and the code after a CLEAR, begins a group:
 * what is left of the group before it is padding.  With a widest code of 9
 * the width still grows to 10 when the table is full: so did compress 4.0.
 *
 * Nothing marks the end: a stream ends where its file does, bits of less than
 * a code are passed over, and a file that is cut short cannot be told from a
 * whole one, unless in its first three bytes.
 */
#ifndef COLDPRESS_LZW_H
#define COLDPRESS_LZW_H

#include "engine/stream.h"

/*
 * STREAM_END comes only with io->eof.  Refused are, with -ENOTSUP, reserved
 * bits and codes wider than 16 bits, and with -EBADMSG other flags than 9 to
 * 16, another magic and codes that are not in the table.  The memory needed is
 * 449 KiB, whatever the input says; memlimit is not looked at.
 */
extern const struct stream_ops lzw_stream;

#endif
