/*
 * fuzz_kind.c - any bytes as the beginning of a file of unknown kind
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte chooses the path.  The kind is one of the table, is the same
 * again, and is told without reading beyond the bytes.
 */
#include "advise/advise.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { "", "a", ".log", "x.log", "x.c",
	    "x.eml", "l/blobs/sha256/0", "x.tar" };
	const char *path;
	enum advise_kind kind;
	uint8_t *head;

	if (size == 0 || size - 1 > ADVISE_HEAD_B)
		return 0;
	path = paths[data[0] % (sizeof(paths) / sizeof(paths[0]))];
	/* of exactly this size, so that a sanitizer sees what is beyond */
	head = malloc(size - 1);
	if (size > 1)
		memcpy(head, data + 1, size - 1);
	kind = advise_kind_of(path, head, size - 1);
	if (kind >= ADVISE_KINDS || advise_kind_of(path, head, size - 1) !=
	    kind || advise_kind_by_name(advise_kind_name(kind)) != kind)
		abort();
	free(head);
	return 0;
}
