/*
 * sqpack_attr.c - excluding names, and setting the attributes of the rest
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/args.h"
#include "base/path.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool
sqpack_excluded(const struct sqpack *p, const char *path)
{
	const char *name = path_name(path);

	for (size_t i = 0; i < p->o.exclude_count; i++) {
		const char *glob = p->o.excludes[i];

		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 ||
		    (strchr(glob, '/') == NULL &&
		    fnmatch(glob, name, 0) == 0))
			return true;
	}
	return false;
}

/* mksquashfs truncates times that are out of range. */
static uint32_t
time_of(const struct sqpack_options *o, int64_t t)
{
	if (o->has_epoch && t > o->epoch)
		t = o->epoch;
	return o->data.exact ? (uint32_t)t : sqw_time(t);
}

void
sqpack_adjust(struct sqpack *p, struct sqw_attr *attr, int64_t mtime)
{
	const struct sqpack_options *o = &p->o;

	if (o->has_uid)
		attr->uid = o->uid;
	if (o->has_gid)
		attr->gid = o->gid;
	attr->mtime = time_of(o, o->has_mtime ? o->mtime : mtime);
	if (attr->mtime > p->newest)
		p->newest = attr->mtime;
}

uint32_t
sqpack_device(uint32_t major, uint32_t minor)
{
	return major << 8 | (minor & 0xff) | (minor & ~UINT32_C(0xff)) << 12;
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
	p->o.has_epoch = true;
	p->o.epoch = (uint32_t)n;
	return -1;
}
