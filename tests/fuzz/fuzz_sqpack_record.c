/*
 * fuzz_sqpack_record.c - arbitrary bytes as the padding of an image, and as its
 * compressor options
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects the compressor; the next is the length of its options.
 * Settings that can be read are written and read again.
 */
#include "image/squashfs/write/record.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sqw_data_options o = { .block = 131072 }, again;
	char text[SQW_RECORD_MAX];
	uint8_t settings[SQW_SETTINGS_MAX];
	size_t n;

	if (size < 2 || data[1] > size - 2)
		return 0;
	n = data[1];
	if (sqw_settings_read(data[0], data + 2, n, o.block, &o.method,
	    &o.level) != 0)
		o.method = sqw_method_by_name("gzip");
	else if (sqw_settings(o.method, o.level, o.block, settings) != n ||
	    (n > 0 && memcmp(settings, data + 2, n) != 0))
		abort();
	if (sqw_record_read(data + 2 + n, size - 2 - n, &o) != 1)
		return 0;
	again = (struct sqw_data_options){ .method = o.method,
		.level = o.level };
	if (sqw_record_make(&o, text) > 0 &&
	    sqw_record_read(text, strlen(text), &again) != 1)
		abort();
	if (again.level != o.level || again.no_probe != o.no_probe)
		abort();
	return 0;
}
