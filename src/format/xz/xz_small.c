/*
 * xz_small.c - streams of one block that are in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "format/xz.h"

#include "base/bytes.h"
#include "xz_reader.h"

#include <errno.h>
#include <string.h>

/* An index of one block: marker, number, two sizes, padding and CRC-32. */
enum { INDEX_MAX = 1 + 1 + 2 * LZMA_VLI_BYTES_MAX + 3 + 4 };

uint32_t
xz_lzma2_dictionary(const lzma_filter *f)
{
	return ((const lzma_options_lzma *)f->options)->dict_size;
}

bool
xz_is_ours(const lzma_block *b)
{
	return b->filters[0].id == LZMA_FILTER_LZMA2 &&
	    b->filters[1].id == LZMA_VLI_UNKNOWN &&
	    (b->ignore_check || b->check == LZMA_CHECK_NONE ||
	    b->check == LZMA_CHECK_CRC32 || b->check == LZMA_CHECK_CRC64);
}

uint64_t
xz_check_add(const lzma_block *b, uint64_t check, const uint8_t *p, size_t n)
{
	if (b->ignore_check)
		return 0;
	if (b->check == LZMA_CHECK_CRC32)
		return lzma_crc32(p, n, (uint32_t)check);
	return b->check == LZMA_CHECK_CRC64 ? lzma_crc64(p, n, check) : 0;
}

bool
xz_check_is(const lzma_block *b, uint64_t check, const uint8_t *stored)
{
	if (b->ignore_check)
		return true;
	if (b->check == LZMA_CHECK_CRC32)
		return load_le32(stored) == check;
	return b->check != LZMA_CHECK_CRC64 || load_le64(stored) == check;
}

int64_t
xz_block_data(struct unlzma *u, lzma_block *b, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	size_t check = lzma_check_size(b->check), used;
	int64_t n = unlzma_whole(u, xz_lzma2_dictionary(b->filters), in, len,
	    &used, out, cap);

	if (n < 0)
		return n;
	if ((b->compressed_size != LZMA_VLI_UNKNOWN &&
	    b->compressed_size != used) ||
	    (b->uncompressed_size != LZMA_VLI_UNKNOWN &&
	    b->uncompressed_size != (uint64_t)n))
		return -EBADMSG;
	b->compressed_size = used;
	b->uncompressed_size = (uint64_t)n;
	for (; used % 4 != 0; used++)
		if (used == len || in[used] != 0)
			return -EBADMSG;
	if (len - used < check || !xz_check_is(b, xz_check_add(b, 0, out,
	    (size_t)n), in + used))
		return -EBADMSG;
	return n;
}

/* Writes the index that a stream with this block alone has. */
static size_t
index_of(const lzma_block *b, uint8_t p[INDEX_MAX])
{
	size_t n = 0;

	p[n++] = 0;
	p[n++] = 1;
	if (lzma_vli_encode(lzma_block_unpadded_size(b), NULL, p, &n,
	    INDEX_MAX) != LZMA_OK ||
	    lzma_vli_encode(b->uncompressed_size, NULL, p, &n,
	    INDEX_MAX) != LZMA_OK)
		return 0;
	while (n % 4 != 0)
		p[n++] = 0;
	store_le32(p + n, lzma_crc32(p, n, 0));
	return n + 4;
}

int64_t
xz_decode_small(struct unlzma *u, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap, uint32_t dictionary_max)
{
	const uint8_t *p = in + LZMA_STREAM_HEADER_SIZE, *end = in + len;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block b = { .version = 1, .filters = filters };
	lzma_stream_flags first, last;
	uint8_t index[INDEX_MAX];
	int64_t made = -EAGAIN;
	lzma_ret rc;
	size_t n;

	if (len <= LZMA_STREAM_HEADER_SIZE || *p == 0 ||
	    lzma_stream_header_decode(&first, in) != LZMA_OK)
		return -EAGAIN;
	b.check = first.check;
	b.header_size = lzma_block_header_size_decode(*p);
	if ((size_t)(end - p) < b.header_size)
		return -EAGAIN;
	rc = lzma_block_header_decode(&b, NULL, p);
	if (rc != LZMA_OK)
		return rc == LZMA_MEM_ERROR ? -ENOMEM : -EAGAIN;
	p += b.header_size;
	if (xz_is_ours(&b) && xz_lzma2_dictionary(filters) <= dictionary_max)
		made = xz_block_data(u, &b, p, (size_t)(end - p), out, cap);
	lzma_filters_free(filters, NULL);
	if (made < 0)
		return -EAGAIN;
	p += (lzma_block_unpadded_size(&b) - b.header_size + 3) / 4 * 4;
	n = index_of(&b, index);
	if (n == 0 || (size_t)(end - p) < n + LZMA_STREAM_HEADER_SIZE ||
	    memcmp(p, index, n) != 0 ||
	    lzma_stream_footer_decode(&last, p + n) != LZMA_OK ||
	    last.backward_size != n ||
	    lzma_stream_flags_compare(&first, &last) != LZMA_OK)
		return -EAGAIN;
	return made;
}

/* What a stream has after its compressed data: padding, check, index, footer. */
enum { TAIL_MAX = 3 + 4 + INDEX_MAX + LZMA_STREAM_HEADER_SIZE };

size_t
xz_small_bound(size_t len)
{
	return LZMA_STREAM_HEADER_SIZE + LZMA_BLOCK_HEADER_SIZE_MAX +
	    lzma2_bound(len) + TAIL_MAX;
}

size_t
xz_encode_small(struct lzma2_encoder *e, uint32_t dictionary,
    const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	lzma_options_lzma lzma = { .dict_size = dictionary };
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &lzma },
	    { LZMA_VLI_UNKNOWN, NULL } };
	/* the sizes are not in the block's header: the index has them */
	lzma_block b = { .version = 1, .check = LZMA_CHECK_CRC32,
	    .filters = filters, .compressed_size = LZMA_VLI_UNKNOWN,
	    .uncompressed_size = LZMA_VLI_UNKNOWN };
	lzma_stream_flags flags = { .check = LZMA_CHECK_CRC32 };
	uint8_t index[INDEX_MAX], *p = out + LZMA_STREAM_HEADER_SIZE;
	ssize_t packed;
	size_t n;

	if (lzma_block_header_size(&b) != LZMA_OK || cap <
	    LZMA_STREAM_HEADER_SIZE + b.header_size + TAIL_MAX ||
	    lzma_stream_header_encode(&flags, out) != LZMA_OK ||
	    lzma_block_header_encode(&b, p) != LZMA_OK)
		return 0;
	p += b.header_size;
	packed = lzma2_encode(e, in, len, p, cap - (size_t)(p - out) -
	    TAIL_MAX);
	if (packed < 0)
		return 0;
	b.compressed_size = (lzma_vli)packed;
	b.uncompressed_size = len;
	for (p += packed; packed % 4 != 0; packed++)
		*p++ = 0;
	store_le32(p, lzma_crc32(in, len, 0));
	p += 4;
	n = index_of(&b, index);
	flags.backward_size = n;
	if (n == 0 || lzma_stream_footer_encode(&flags, p + n) != LZMA_OK)
		return 0;
	memcpy(p, index, n);
	return (size_t)(p - out) + n + LZMA_STREAM_HEADER_SIZE;
}
