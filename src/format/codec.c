/*
 * codec.c - the table of formats
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/codec.h"

#include <errno.h>
#include <string.h>

extern const struct codec codec_gzip, codec_zlib, codec_zip, codec_zstd,
    codec_lz4, codec_xz, codec_lzma, codec_bzip2, codec_compress;

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
is_setting(const char *key)
{
	for (size_t i = 0; codecs[i] != NULL; i++) {
		const char *const *k = codecs[i]->settings;

		for (; k != NULL && *k != NULL; k++)
			if (strcmp(*k, key) == 0)
				return true;
	}
	return false;
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

	if (!is_setting(key))
		return -EINVAL;
	if (s == NULL)
		return -ENOSPC;
	o->settings[s - o->settings] = (struct codec_setting){ key, number,
	    text };
	return 0;
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
