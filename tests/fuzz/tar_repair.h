/*
 * tar_repair.h - correcting the checksums of archive headers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_TAR_REPAIR_H
#define COLDPRESS_TESTS_TAR_REPAIR_H

#include "format/tar/tar.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns a copy of the archive, to be freed, with the checksum corrected
 * wherever there seems to be a header.
 */
static inline uint8_t *
tar_repair(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	if (copy == NULL)
		abort();
	memcpy(copy, data, size);
	for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK) {
		uint8_t *h = copy + at;
		unsigned sum = 0;

		if (memcmp(h + 257, "ustar", 5) != 0)
			continue;
		memset(h + 148, ' ', 8);
		for (int i = 0; i < TAR_BLOCK; i++)
			sum += h[i];
		snprintf((char *)h + 148, 8, "%06o", sum);
	}
	return copy;
}

#endif
