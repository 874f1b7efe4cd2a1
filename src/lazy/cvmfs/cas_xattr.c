/*
 * cas_xattr.c - extended attributes in CVMFS catalogs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/xattr.h: a version (1) and the number of attributes, one byte
 * each; then each attribute, sorted by name: the lengths of its name and value,
 * one byte each, the name and the value.
 */
#include "cas_catalog.h"
#include "cas_read.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static int
by_name(const void *a, const void *b)
{
	const struct tar_xattr *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static bool
is_representable(const struct tar_xattr *a)
{
	size_t len = strlen(a->name);

	return len > 0 && len <= CAS_XATTR_MAX && a->length <= CAS_XATTR_MAX;
}

static void
pack(struct strbuf *b, const struct tar_xattr *const *sorted, size_t count)
{
	strbuf_char(b, VERSION);
	strbuf_char(b, (char)count);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(sorted[i]->name);

		strbuf_char(b, (char)len);
		strbuf_char(b, (char)sorted[i]->length);
		strbuf_add(b, sorted[i]->name, len);
		strbuf_add(b, sorted[i]->value, sorted[i]->length);
	}
}

int
cas_pack_xattrs(const struct layer_entry *e, uint8_t **data, size_t *len)
{
	const struct tar_xattr *sorted[CAS_XATTR_MAX];
	struct strbuf b = { 0 };

	*data = NULL;
	*len = 0;
	if (e->xattr_count == 0)
		return 0;
	if (e->xattr_count > CAS_XATTR_MAX)
		return -EINVAL;
	for (size_t i = 0; i < e->xattr_count; i++) {
		sorted[i] = &e->xattrs[i];
		if (!is_representable(sorted[i]))
			return -EINVAL;
	}
	qsort(sorted, e->xattr_count, sizeof(*sorted), by_name);
	pack(&b, sorted, e->xattr_count);
	if (b.failed) {
		strbuf_free(&b);
		return -ENOMEM;
	}
	*data = (uint8_t *)b.data;
	*len = b.len;
	return 0;
}

int
cas_unpack_xattrs(struct arena *arena, const uint8_t *data, size_t len,
    struct tar_xattr **xattrs, size_t *count)
{
	const uint8_t *end = data + len;
	struct tar_xattr *all;

	*count = 0;
	if (len < 2 || data[0] != VERSION)
		return -EBADMSG;
	all = arena_take(arena, (data[1] + 1U) * sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	*xattrs = all;
	for (const uint8_t *p = data + 2; *count < data[1]; (*count)++) {
		size_t name, value;

		if (end - p < 2 || end - p - 2 < p[0] + p[1])
			return -EBADMSG;
		name = p[0];
		value = p[1];
		if (name == 0 || memchr(p + 2, '\0', name) != NULL)
			return -EBADMSG;
		all[*count] = (struct tar_xattr){ .length = value,
			.name = arena_copy(arena, p + 2, name),
			.value = arena_copy(arena, p + 2 + name, value) };
		if (all[*count].name == NULL || all[*count].value == NULL)
			return -ENOMEM;
		p += 2 + name + value;
	}
	return 0;
}
