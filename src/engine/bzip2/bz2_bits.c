/*
 * bz2_bits.c - the bits between blocks: check values, joins, magic numbers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bz2_impl.h"

#include <errno.h>

void
bz2_crc_init(struct bz2_crc *t)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i << 24;

		for (int bit = 0; bit < 8; bit++)
			c = c << 1 ^ (c >> 31 != 0 ? 0x04c11db7 : 0);
		t->slice[0][i] = c;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = t->slice[k - 1][i];

			t->slice[k][i] = c << 8 ^ t->slice[0][c >> 24];
		}
}

uint32_t
bz2_crc_update(const struct bz2_crc *t, uint32_t crc, const uint8_t *p,
    size_t len)
{
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v = load_be64(p) ^ (uint64_t)crc << 32;

		crc = t->slice[7][v >> 56] ^ t->slice[6][v >> 48 & 255] ^
		    t->slice[5][v >> 40 & 255] ^ t->slice[4][v >> 32 & 255] ^
		    t->slice[3][v >> 24 & 255] ^ t->slice[2][v >> 16 & 255] ^
		    t->slice[1][v >> 8 & 255] ^ t->slice[0][v & 255];
	}
	for (; len > 0; len--, p++)
		crc = crc << 8 ^ t->slice[0][crc >> 24 ^ *p];
	return crc;
}

/*
 * Appends whole words, shifted by the pending bits.  The last byte of src is
 * padded with zeros; nothing beyond it is read.
 */
static size_t
append_bits(struct bz2_join *j, const uint8_t *src, uint64_t nbits,
    uint8_t *dst)
{
	unsigned shift = j->rest_bits;
	uint64_t carry = (uint64_t)j->rest << 56;
	uint8_t *start = dst;

	for (; nbits >= 64; nbits -= 64, src += 8, dst += 8) {
		uint64_t v = load_be64(src);

		store_be64(dst, carry | v >> shift);
		carry = shift == 0 ? 0 : v << (64 - shift);
	}
	for (; nbits > 0; src++) {
		unsigned n = nbits < 8 ? (unsigned)nbits : 8;

		carry |= (uint64_t)*src << 56 >> shift;
		shift += n;
		nbits -= n;
		if (shift >= 8) {
			*dst++ = (uint8_t)(carry >> 56);
			carry <<= 8;
			shift -= 8;
		}
	}
	j->rest = (uint8_t)(carry >> 56);
	j->rest_bits = shift;
	return (size_t)(dst - start);
}

size_t
bz2_join_header(struct bz2_join *j, int level, uint8_t *dst)
{
	j->rest = 0;
	j->rest_bits = 0;
	j->crc = 0;
	memcpy(dst, "BZh", 3);
	dst[3] = (uint8_t)('0' + level);
	return BZ2_HEADER_BYTES;
}

size_t
bz2_join_block(struct bz2_join *j, const uint8_t *src, uint64_t nbits,
    uint32_t crc, uint8_t *dst)
{
	j->crc = bz2_crc_combine(j->crc, crc);
	return append_bits(j, src, nbits, dst);
}

size_t
bz2_join_trailer(struct bz2_join *j, uint8_t *dst)
{
	uint8_t bits[16];
	size_t n;

	store_be64(bits, BZ2_MAGIC_END << 16 | j->crc >> 16);
	store_be64(bits + 8, (uint64_t)j->crc << 48);
	n = append_bits(j, bits, BZ2_TRAILER_BITS, dst);
	if (j->rest_bits > 0)
		dst[n++] = j->rest;
	j->rest = 0;
	j->rest_bits = 0;
	return n;
}

/* Returns count bits, up to 57, starting at `bit`; all of them must exist. */
static uint64_t
bits_at(const uint8_t *in, size_t len, uint64_t bit, unsigned count)
{
	size_t at = (size_t)(bit >> 3);
	uint64_t v;

	if (len - at >= 8) {
		v = load_be64(in + at);
	} else {
		uint8_t last[8] = { 0 };

		memcpy(last, in + at, len - at);
		v = load_be64(last);
	}
	return v << (bit & 7) >> (64 - count);
}

static bool
has_bits(size_t len, uint64_t bit, unsigned count)
{
	return bit <= (uint64_t)len * 8 && (uint64_t)len * 8 - bit >= count;
}

int
bz2_magic_at(const uint8_t *in, size_t len, uint64_t bit)
{
	uint64_t magic;

	if (!has_bits(len, bit, BZ2_MAGIC_BITS))
		return -ENODATA;
	magic = bits_at(in, len, bit, BZ2_MAGIC_BITS);
	if (magic == BZ2_MAGIC_BLOCK)
		return BZ2_AT_BLOCK;
	return magic == BZ2_MAGIC_END ? BZ2_AT_END : 0;
}

int
bz2_read_trailer(const uint8_t *in, size_t len, uint64_t *bit, uint32_t *crc)
{
	int at = bz2_magic_at(in, len, *bit);

	if (at < 0)
		return at;
	if (at != BZ2_AT_END)
		return -EBADMSG;
	if (!has_bits(len, *bit, BZ2_TRAILER_BITS))
		return -ENODATA;
	*crc = (uint32_t)bits_at(in, len, *bit + BZ2_MAGIC_BITS, 32);
	*bit = (*bit + BZ2_TRAILER_BITS + 7) & ~UINT64_C(7);
	return 0;
}

/*
 * For each number of leading bits, 0..7, that the preceding byte can hold, adds
 * the four pairs of adjacent bytes among the first five bytes that a magic
 * number fills completely.
 */
static void
add_pairs(struct bz2_scan *s, uint64_t magic)
{
	for (int before = 0; before < 8; before++)
		for (int at = 0; at < 4; at++) {
			uint64_t pair = magic >> (32 - before - 8 * at) &
			    0xffff;

			s->pairs[pair >> 6] |= UINT64_C(1) << (pair & 63);
		}
}

void
bz2_scan_init(struct bz2_scan *s)
{
	memset(s, 0, sizeof(*s));
	add_pairs(s, BZ2_MAGIC_BLOCK);
	add_pairs(s, BZ2_MAGIC_END);
}

/*
 * A magic number at any bit position fills at least five whole bytes, and one
 * of the first four of these has an offset divisible by four.  It is therefore
 * enough to examine two bytes at each such offset.
 */
int
bz2_scan_next(const struct bz2_scan *s, const uint8_t *in, size_t len,
    uint64_t bit, uint64_t *found)
{
	for (size_t i = (size_t)(bit >> 3) & ~(size_t)3; i + 2 <= len; i += 4) {
		unsigned pair = (unsigned)in[i] << 8 | in[i + 1];
		uint64_t from = i < 4 ? 0 : (uint64_t)(i - 4) * 8;

		if ((s->pairs[pair >> 6] >> (pair & 63) & 1) == 0)
			continue;
		/* the first whole byte is at i, or up to 3 bytes earlier */
		if (bit < from)
			bit = from;
		for (; bit < (uint64_t)(i + 1) * 8; bit++) {
			int at = bz2_magic_at(in, len, bit);

			if (at < 0)
				break;
			if (at > 0) {
				*found = bit;
				return at;
			}
		}
	}
	return 0;
}
