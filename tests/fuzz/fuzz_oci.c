/*
 * fuzz_oci.c - arbitrary bytes as a document in an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "image/oci/oci_edit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct oci_blob *b)
{
	if (strlen(b->hex) != OCI_HEX || strchr(b->hex, '/') != NULL)
		abort();
}

/* Makes every possible change; the result must still be a document. */
static void
edit(struct oci_document *d, const char *list)
{
	static const struct oci_blob blob = { .size = 7, .hex =
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" };
	struct oci_descriptor x;
	char why[OCI_WHY] = "";

	for (size_t n = list == NULL ? 1 : oci_count(d, list); n-- > 0;) {
		if (oci_get(d, list, n, &x, why) != 0)
			continue;
		check(&x.blob);
		if (oci_set(d, list, n, &blob, "text/x") != 0 ||
		    oci_annotate(d, list, n, "a", "b\n\"") != 0 ||
		    oci_annotate(d, list, n, "a", NULL) != 0 ||
		    oci_annotate(d, list, n, "c", "") != 0 ||
		    oci_get(d, list, n, &x, why) != 0 || x.blob.size != 7 ||
		    strcmp(x.media_type, "text/x") != 0)
			abort();
		if (list != NULL && n % 3 == 1)
			oci_remove(d, list, n);
	}
}

static void
edit_all(struct oci_document *d)
{
	struct oci_document *again;
	char why[OCI_WHY], *text;
	char hex[OCI_HEX + 1] = "";
	size_t len, layers;

	edit(d, NULL);
	edit(d, OCI_LAYERS);
	edit(d, OCI_MANIFESTS);
	memset(hex, '0', OCI_HEX);
	oci_set_diff_id(d, 0, hex);
	layers = oci_count(d, OCI_LAYERS);
	if (oci_write(d, &text, &len) != 0 ||
	    oci_parse(&again, text, len, why) != 0 ||
	    oci_count(again, OCI_LAYERS) != layers)
		abort();
	oci_free(again);
	sys_free(text);
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
		edit_all(d);
		oci_free(d);
	}
	free(text);
	return 0;
}
