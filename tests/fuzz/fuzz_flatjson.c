/*
 * fuzz_flatjson.c - any bytes as a JSON object: names and the end are inside it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/flatjson.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + (size == 0));
	const char *end = text + size, *last = text;
	struct flatjson j;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	if (flatjson_open(&j, text, size) == 0)
		while (flatjson_next(&j) == 1) {
			if (j.name < last || j.name > end ||
			    j.name_len > (size_t)(end - j.name) ||
			    j.at < j.name || j.at > end)
				abort();
			last = j.name;
		}
	free(text);
	return 0;
}
