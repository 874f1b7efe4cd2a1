/*
 * fuzz_metrics.c - arbitrary bytes as a request for metrics
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whatever is said of a part of a request remains so when more arrives.
 */
#include "lazy/metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum metrics_page before = METRICS_MORE;
	char *copy;
	bool head;

	if (size > METRICS_REQUEST)
		size = METRICS_REQUEST;
	for (size_t len = 0; len <= size && before == METRICS_MORE; len++) {
		/* no bytes past its end may be read */
		copy = malloc(len + (len == 0));
		if (copy == NULL)
			return 0;
		memcpy(copy, data, len);
		before = metrics_parse(copy, len, &head);
		if (head && before != METRICS_TEXT &&
		    before != METRICS_HEALTH && before != METRICS_NO_PAGE)
			abort();
		free(copy);
	}
	if (size == METRICS_REQUEST && before == METRICS_MORE)
		abort();
	return 0;
}
