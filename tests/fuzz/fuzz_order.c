/*
 * fuzz_order.c - arbitrary bytes as a list of files in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether paths end with a NUL.  A path that is reported
 * as not looked up must be found when it is looked up, and must then no longer
 * be reported.
 */
#include "base/sys.h"
#include "walk/walk_order.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct walk_order *o;
	const char *path;
	size_t line, found = 0;
	char *text;

	if (size == 0)
		return 0;
	text = sys_malloc(size);
	if (text == NULL)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	if (walk_order_read(&o, text, size - 1, data[0] & 1, &line) != 0)
		return 0;
	while ((path = walk_order_missing(o)) != NULL) {
		walk_order_rank(o, path);
		if (walk_order_found(o) != ++found)
			abort();
	}
	if (found != walk_order_count(o))
		abort();
	walk_order_free(o);
	return 0;
}
