/*
 * layerpack_verify_entry.c - comparing an archive entry with its index entry
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_verify.h"

#include <string.h>

/*
 * Compares times.  An index contains nanoseconds, or seconds that were rounded
 * or truncated.
 */
static bool
same_time(const struct tar_entry *t, const struct layer_entry *e)
{
	if (e->mtime_ns != 0)
		return t->mtime == e->mtime && t->mtime_ns == e->mtime_ns;
	return t->mtime == e->mtime ||
	    (t->mtime_ns > 0 && t->mtime == e->mtime - 1);
}

/*
 * Compares link targets as they are in the archive, except for trailing
 * slashes.
 */
static bool
same_link(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	while (n > 1 && a[n - 1] == '/')
		n--;
	while (m > 1 && b[m - 1] == '/')
		m--;
	return n == m && memcmp(a, b, n) == 0;
}

static bool
has_xattr(const struct tar_entry *t, const struct tar_xattr *x)
{
	for (size_t i = 0; i < t->xattr_count; i++)
		if (strcmp(t->xattrs[i].name, x->name) == 0)
			return t->xattrs[i].length == x->length &&
			    memcmp(t->xattrs[i].value, x->value,
			    x->length) == 0;
	return false;
}

static bool
same_xattrs(const struct tar_entry *t, const struct layer_entry *e)
{
	if (t->xattr_count != e->xattr_count)
		return false;
	for (size_t i = 0; i < e->xattr_count; i++)
		if (!has_xattr(t, &e->xattrs[i]))
			return false;
	return true;
}

/*
 * Compares owner names.  If the index has none, only the numeric IDs are
 * compared.
 */
static bool
same_name(const char *in_archive, const char *in_index)
{
	return *in_index == '\0' || strcmp(in_archive, in_index) == 0;
}

const char *
verify_entry(const struct tar_entry *t, const struct layer_entry *e)
{
	bool device = e->type == TAR_CHAR || e->type == TAR_BLOCK_DEVICE;

	if (t->type != e->type)
		return "type";
	if (e->type == TAR_FILE && t->size != e->size)
		return "size";
	if ((e->type == TAR_SYMLINK || e->type == TAR_HARDLINK) &&
	    !same_link(t->link, e->link))
		return "link target";
	if (t->mode != e->mode)
		return "mode";
	if (t->uid != e->uid || t->gid != e->gid ||
	    !same_name(t->uname, e->uname) || !same_name(t->gname, e->gname))
		return "owner";
	if (!same_time(t, e))
		return "time";
	if (device && (t->major != e->major || t->minor != e->minor))
		return "device number";
	return same_xattrs(t, e) ? NULL : "extended attributes";
}
