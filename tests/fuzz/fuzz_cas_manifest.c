/*
 * fuzz_cas_manifest.c - arbitrary bytes as the manifest of a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The certificate is the data after the first NUL.
 */
#include "cas_manifest.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size == 0 ? NULL : memchr(data, 0, size);
	size_t len = nul == NULL ? size : (size_t)(nul - data);
	struct cas_manifest m;
	char why[LAYER_WHY] = "";
	int rc = cas_manifest_parse(&m, data, len, why);

	if (rc == 0) {
		if (m.lines + 3 + 41 + m.signature_len != len ||
		    m.catalog_size == 0 || m.catalog_size > LAYER_INDEX_MAX)
			abort();
		rc = cas_manifest_verify(&m, data, data + len, size - len,
		    NULL, why);
	}
	if (rc != 0 && *why == '\0')
		abort();
	return 0;
}
