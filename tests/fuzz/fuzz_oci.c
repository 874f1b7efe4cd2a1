/*
 * fuzz_oci.c - any bytes as a document of an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "image/oci/oci.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct oci_blob *b)
{
	if (strlen(b->hex) != OCI_HEX || strchr(b->hex, '/') != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[OCI_WHY] = "";
	struct oci_document *d;
	struct oci_blob *layers, b;
	size_t count;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (oci_parse(&d, text, size, why) == 0) {
		if (oci_choose(d, NULL, "x86_64", &b, why) == 0 ||
		    oci_choose(d, "latest", "arm64", &b, why) == 0)
			check(&b);
		if (oci_layers(d, &layers, &count, why) == 0) {
			for (size_t i = 0; i < count; i++)
				check(&layers[i]);
			sys_free(layers);
		}
		if (oci_is_index(d) && memchr(data, '[', size) == NULL)
			abort();
		oci_free(d);
	}
	free(text);
	return 0;
}
