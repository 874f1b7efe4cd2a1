/*
 * together.c - how well many messages compress as one stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/together.h"

#include "base/sys.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <zstd.h>

enum { FAST = 3, SLOW = 12, LONG_LOG = 27, XZ = 1 };

static size_t
pack_zstd(void *out, size_t room, const char *data, size_t len, int level,
    bool far)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t n = 0;

	if (c == NULL)
		return 0;
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	if (far) {
		ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching,
		    1);
		ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, LONG_LOG);
	}
	n = ZSTD_compress2(c, out, room, data, len);
	ZSTD_freeCCtx(c);
	return ZSTD_isError(n) ? 0 : n;
}

static size_t
pack_xz(void *out, size_t room, const char *data, size_t len)
{
	size_t n = 0;
	lzma_ret rc = lzma_easy_buffer_encode(XZ, LZMA_CHECK_NONE, NULL,
	    (const uint8_t *)data, len, out, &n, room);

	return rc == LZMA_OK ? n : 0;
}

int
together_ratios(double ratio[TOGETHER], const char *data, size_t len)
{
	size_t packed[TOGETHER], room = ZSTD_compressBound(len);
	void *out;

	if (room < lzma_stream_buffer_bound(len))
		room = lzma_stream_buffer_bound(len);
	out = sys_malloc(room);
	if (out == NULL)
		return -ENOMEM;
	packed[0] = pack_zstd(out, room, data, len, FAST, false);
	packed[1] = pack_zstd(out, room, data, len, SLOW, true);
	packed[2] = pack_xz(out, room, data, len);
	sys_free(out);
	for (int i = 0; i < TOGETHER; i++) {
		if (packed[i] == 0)
			return -ENOMEM;
		ratio[i] = (double)len / (double)packed[i];
	}
	return 0;
}
