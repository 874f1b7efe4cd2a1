/*
 * sqpack_like.c - reproducible images: --like and SOURCE_DATE_EPOCH
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The snap store unpacks a snap, runs mksquashfs with its own settings and
 * compares the results; it accepts only a byte-identical image.
 */
#include "sqpack.h"

#include "base/args.h"
#include "base/options.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ZLIB_LEVEL_MAX = 9 };

int
sqpack_be_like(struct sqpack *p, const char *whom)
{
	struct sqpack_options *o = &p->o;

	if (strcmp(whom, "mksquashfs") != 0)
		return options_bad(&p->msg, "--like", "mksquashfs");
	o->data.exact = o->data.no_fragments = o->no_xattrs = true;
	o->from.has_uid = o->from.has_gid = true;
	o->from.uid = o->from.gid = 0;
	return -1;
}

int
sqpack_check_like(struct sqpack *p)
{
	const struct sqpack_options *o = &p->o;
	struct stat st;

	if (!o->data.exact)
		return 0;
	if (stat(o->source, &st) == 0 && !S_ISDIR(st.st_mode)) {
		msg_error(&p->msg, "--like requires a directory; %s is not one",
		    o->source);
		return -ENOTDIR;
	}
	if (o->data.method->compressor == SQUASHFS_GZIP &&
	    o->data.level > ZLIB_LEVEL_MAX) {
		msg_error(&p->msg, "gzip level %d is not supported by "
		    "mksquashfs, whose maximum is %d", o->data.level,
		    ZLIB_LEVEL_MAX);
		return -EINVAL;
	}
	return 0;
}

int
sqpack_take_epoch(struct sqpack *p)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	int64_t n;

	if (text == NULL || *text == '\0')
		return -1;
	if (args_int(text, 0, UINT32_MAX, &n) != 0) {
		msg_error(&p->msg, "SOURCE_DATE_EPOCH: expected seconds "
		    "since 1970, found '%s'", text);
		return MSG_ERROR;
	}
	p->o.from.has_epoch = true;
	p->o.from.epoch = (uint32_t)n;
	return -1;
}
