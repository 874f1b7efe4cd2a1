/*
 * imgsrc.c - which source it is, and what all sources need
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source/imgsrc.h"

#include "base/path.h"
#include "base/sys.h"
#ifdef COLDPRESS_OCI
#include "image/oci/oci_layout.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef COLDPRESS_OCI
static bool
is_layout(const char *path)
{
	const char *tag;
	char *layout = oci_split(path, &tag);
	bool found = layout != NULL && oci_is_layout(layout);

	sys_free(layout);
	return found;
}
#endif

static bool
is_image(const char *path)
{
	uint64_t offset;
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	bool found = fd >= 0 && sq_find(fd, &offset) > 0;

	if (fd >= 0)
		sys_close(fd);
	return found;
}

const struct imgsrc_source *
imgsrc_of(const char *path)
{
	struct stat st;

#ifdef COLDPRESS_OCI
	if (is_layout(path))
		return &imgsrc_oci;
#endif
	if (strcmp(path, "-") == 0 ||
	    sys_fstatat(AT_FDCWD, path, &st, 0) != 0)
		return &imgsrc_tar;
	if (S_ISDIR(st.st_mode))
		return &imgsrc_dir;
	return (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) &&
	    is_image(path) ? &imgsrc_repack : &imgsrc_tar;
}

static void __attribute__((format(printf, 3, 0)))
report(struct imgsrc_image *to, enum imgsrc_message kind, const char *fmt,
    va_list ap)
{
	char text[8192];

	if (to->o.report == NULL)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	progress_erase(&to->progress);
	to->o.report(to->o.arg, kind, text);
}

int
imgsrc_fail(struct imgsrc_image *to, int rc, const char *fmt, ...)
{
	va_list ap;

	to->told = true;
	va_start(ap, fmt);
	report(to, IMGSRC_ERROR, fmt, ap);
	va_end(ap);
	return rc;
}

int
imgsrc_no_memory(struct imgsrc_image *to)
{
	return imgsrc_fail(to, -ENOMEM, "%s", strerror(ENOMEM));
}

void
imgsrc_tell(struct imgsrc_image *to, enum imgsrc_message kind, const char *fmt,
    ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(to, kind, fmt, ap);
	va_end(ap);
}

int
imgsrc_complete(struct imgsrc_image *to)
{
	int rc = to->o.complete == NULL ? 0 : to->o.complete(to->o.arg);

	if (rc != 0) {
		to->told = true;
		return rc;
	}
	rc = sqw_tree_finish(&to->tree);
	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", to->o.path,
	    strerror(-rc));
}

bool
imgsrc_excluded(const struct imgsrc_image *to, const char *path)
{
	const char *name = path_name(path);

	for (size_t i = 0; i < to->o.exclude_count; i++) {
		const char *glob = to->o.excludes[i];

		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 ||
		    (strchr(glob, '/') == NULL &&
		    fnmatch(glob, name, 0) == 0))
			return true;
	}
	return false;
}

void
imgsrc_adjust(struct imgsrc_image *to, struct sqw_attr *attr, int64_t mtime)
{
	const struct imgsrc_options *o = &to->o;

	if (o->has_uid)
		attr->uid = o->uid;
	if (o->has_gid)
		attr->gid = o->gid;
	if (o->has_mtime)
		mtime = o->mtime;
	if (o->has_epoch && mtime > o->epoch)
		mtime = o->epoch;
	/* mksquashfs truncates times that are out of range */
	attr->mtime = to->pack.exact ? (uint32_t)mtime : sqw_time(mtime);
	if (attr->mtime > to->newest)
		to->newest = attr->mtime;
}
