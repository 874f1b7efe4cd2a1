/*
 * codec_xz.c - xz with machine code filters
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * As in mksquashfs, each block is compressed without a filter and with each
 * selected filter, and the smallest result is kept.
 */
#include "codec_xz.h"

#include "base/sys.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

enum { DICTIONARY_MIN = 4096 };

/* Indexed by the bit in the compressor options. */
static const lzma_vli ids[] = { LZMA_FILTER_X86, LZMA_FILTER_POWERPC,
    LZMA_FILTER_IA64, LZMA_FILTER_ARM, LZMA_FILTER_ARMTHUMB,
    LZMA_FILTER_SPARC };

enum { FILTERS = sizeof(ids) / sizeof(*ids) };

struct sqw_xz {
	lzma_options_lzma options;
	uint32_t filters;
	uint8_t *other;			/* output of the filter being tried */
};

int
sqw_xz_open(struct sqw_xz **out, uint32_t filters, uint32_t block)
{
	struct sqw_xz *z = sys_calloc(1, sizeof(*z));

	if (z != NULL)
		z->other = sys_malloc(block);
	if (z == NULL || z->other == NULL ||
	    lzma_lzma_preset(&z->options, LZMA_PRESET_DEFAULT)) {
		sqw_xz_close(z);
		return -ENOMEM;
	}
	z->filters = filters;
	z->options.dict_size = block < DICTIONARY_MIN ? DICTIONARY_MIN : block;
	*out = z;
	return 0;
}

void
sqw_xz_close(struct sqw_xz *z)
{
	if (z == NULL)
		return;
	sys_free(z->other);
	sys_free(z);
}

/*
 * Compresses with one filter, or without a filter for LZMA_VLI_UNKNOWN.
 * Returns 0 if the output does not fit.
 */
static size_t
encode_filtered(struct sqw_xz *z, lzma_vli id, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	lzma_filter filters[] = { { id, NULL },
		{ LZMA_FILTER_LZMA2, &z->options },
		{ LZMA_VLI_UNKNOWN, NULL } };
	size_t n = 0;

	return lzma_stream_buffer_encode(filters + (id == LZMA_VLI_UNKNOWN),
	    LZMA_CHECK_CRC32, NULL, in, len, out, &n, cap) == LZMA_OK ? n : 0;
}

size_t
sqw_xz_pack(struct sqw_xz *z, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t most = cap < len ? cap : len - 1;
	size_t best = encode_filtered(z, LZMA_VLI_UNKNOWN, in, len, out, most);

	for (unsigned i = 0; i < FILTERS; i++) {
		size_t n = (z->filters & 1U << i) == 0 ? 0 :
		    encode_filtered(z, ids[i], in, len, z->other,
		    best == 0 ? most : best - 1);

		if (n > 0) {
			memcpy(out, z->other, n);
			best = n;
		}
	}
	return best;
}
