/*
 * codec.c - the table of formats
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include <errno.h>
#include <string.h>

extern const struct codec codec_gzip, codec_zlib, codec_zip, codec_zstd,
    codec_lz4, codec_xz, codec_lzma, codec_bzip2, codec_compress,
    codec_lzip;

/* In the order in which magic numbers are tried, least specific last. */
const struct codec *const codecs[] = {
	&codec_gzip, &codec_zstd, &codec_lz4, &codec_xz, &codec_bzip2,
	&codec_lzip, &codec_zip, &codec_compress, &codec_zlib, &codec_lzma, NULL
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

/* Returns the setting, or the first unused one, or NULL if there is none. */
static const struct codec_setting *
setting_at(const struct codec_options *o, const char *key)
{
	const struct codec_setting *s = o->settings;

	for (; s < o->settings + CODEC_SETTINGS_MAX; s++)
		if (s->key == NULL || strcmp(s->key, key) == 0)
			return s;
	return NULL;
}

int
codec_set(struct codec_options *o, const char *key, uint64_t number,
    const char *text)
{
	const struct codec_setting *s = setting_at(o, key);

	for (size_t i = 0; codecs[i] != NULL; i++) {
		const char *const *k = codecs[i]->settings;

		while (k != NULL && *k != NULL && strcmp(*k, key) != 0)
			k++;
		if (k == NULL || *k == NULL)
			continue;
		if (s == NULL)
			return -ENOSPC;
		o->settings[s - o->settings] = (struct codec_setting){ key,
		    number, text };
		return 0;
	}
	return -EINVAL;
}

uint64_t
codec_number(const struct codec_options *o, const char *key)
{
	const struct codec_setting *s = setting_at(o, key);

	return s == NULL ? 0 : s->number;
}

const char *
codec_text(const struct codec_options *o, const char *key)
{
	const struct codec_setting *s = setting_at(o, key);

	return s == NULL ? NULL : s->text;
}

const struct codec *
codec_by_suffix(const char *name, const struct codec_suffix **suffix)
{
	size_t n = strlen(name);

	for (size_t i = 0; codecs[i] != NULL; i++)
		for (const struct codec_suffix *s = codecs[i]->suffixes;
		    s->packed != NULL; s++) {
			size_t m = strlen(s->packed);

			/* ".gz" alone is a file name, not a suffix */
			if (n > m && name[n - m - 1] != '/' &&
			    strcmp(name + n - m, s->packed) == 0) {
				*suffix = s;
				return codecs[i];
			}
		}
	return NULL;
}
