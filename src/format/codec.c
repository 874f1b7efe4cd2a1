/*
 * codec.c - the table of formats
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include "format/formats.h"

#include <string.h>

/* In the order in which magic numbers are tried, least specific last. */
const struct codec *const codecs[] = {
	&codec_gzip, &codec_zstd, &codec_lz4, &codec_xz, &codec_bzip2,
	&codec_zip, &codec_compress, &codec_zlib, &codec_lzma, NULL
};

const struct codec *
codec_by_name(const char *name)
{
	for (size_t i = 0; codecs[i] != NULL; i++)
		if (strcmp(codecs[i]->name, name) == 0 ||
		    (codecs[i]->short_name != NULL &&
		    strcmp(codecs[i]->short_name, name) == 0))
			return codecs[i];
	return NULL;
}

const struct codec *
codec_by_magic(const uint8_t *p, size_t len)
{
	for (size_t i = 0; codecs[i] != NULL; i++)
		if (codecs[i]->magic(p, len))
			return codecs[i];
	return NULL;
}

static bool
ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	/* ".gz" alone is a file name, not a suffix */
	return n > m && name[n - m - 1] != '/' &&
	    strcmp(name + n - m, suffix) == 0;
}

const struct codec *
codec_by_suffix(const char *name, const struct codec_suffix **suffix)
{
	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const struct codec_suffix *s = codecs[i]->suffixes;
		    s->packed != NULL; s++)
			if (ends_with(name, s->packed)) {
				*suffix = s;
				return codecs[i];
			}
	return NULL;
}
