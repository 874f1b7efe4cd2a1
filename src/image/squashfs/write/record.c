/*
 * record.c - recording settings for which the format has no field
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/record.h"

#include "base/args.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MARK "sqpack"

/*
 * Returns whether the level exceeds 9, the highest gzip level that the format
 * can record.
 */
static bool
has_deep_level(const struct sqw_data_options *o)
{
	return o->method->compressor == SQUASHFS_GZIP && o->level > 9;
}

size_t
sqw_record_make(const struct sqw_data_options *o, char text[SQW_RECORD_MAX])
{
	char level[24] = "";
	int n;

	if (!has_deep_level(o) && !o->no_probe)
		return 0;
	if (has_deep_level(o))
		snprintf(level, sizeof(level), " level=%d", o->level);
	n = snprintf(text, SQW_RECORD_MAX, MARK "%s%s\n", level,
	    o->no_probe ? " no-probe" : "");
	return (size_t)n;
}

int
sqw_record_read(const void *padding, size_t len, struct sqw_data_options *o)
{
	char text[SQW_RECORD_MAX], *save, *word;
	const char *end = memchr(padding, '\n', len);
	size_t n = end == NULL ? 0 : (size_t)(end - (const char *)padding);
	int64_t level;

	if (len < sizeof(MARK) || memcmp(padding, MARK " ", sizeof(MARK)) != 0)
		return 0;
	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, padding, n);
	text[n] = '\0';
	word = strtok_r(text + sizeof(MARK), " ", &save);
	for (; word != NULL; word = strtok_r(NULL, " ", &save)) {
		if (strcmp(word, "no-probe") == 0) {
			o->no_probe = true;
			continue;
		}
		if (o->method->compressor != SQUASHFS_GZIP ||
		    strncmp(word, "level=", 6) != 0 ||
		    args_int(word + 6, 10, 12, &level) != 0)
			return -EINVAL;
		o->level = (int)level;
	}
	return 1;
}
