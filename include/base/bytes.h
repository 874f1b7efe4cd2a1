/*
 * bytes.h - unaligned loads and stores in a fixed byte order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * le: least significant byte first; be: most significant byte first.  The
 * address need not be aligned.  gcc and clang compile each function to one
 * instruction.  All functions are thread-safe.
 */
#ifndef COLDPRESS_BYTES_H
#define COLDPRESS_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_LE(bits, v) (v)
#define BYTES_BE(bits, v) __builtin_bswap##bits(v)
#else
#define BYTES_LE(bits, v) __builtin_bswap##bits(v)
#define BYTES_BE(bits, v) (v)
#endif

/* Defines load_le32(p), store_le32(p, v) and the like. */
#define BYTES_DEFINE(order, ORDER, bits)				\
static inline uint##bits##_t						\
load_##order##bits(const void *p)					\
{									\
	uint##bits##_t v;						\
									\
	memcpy(&v, p, sizeof(v));					\
	return BYTES_##ORDER(bits, v);					\
}									\
									\
static inline void							\
store_##order##bits(void *p, uint##bits##_t v)				\
{									\
	v = BYTES_##ORDER(bits, v);					\
	memcpy(p, &v, sizeof(v));					\
}

BYTES_DEFINE(le, LE, 16)
BYTES_DEFINE(le, LE, 32)
BYTES_DEFINE(le, LE, 64)
BYTES_DEFINE(be, BE, 16)
BYTES_DEFINE(be, BE, 32)
BYTES_DEFINE(be, BE, 64)

#undef BYTES_DEFINE

#endif
