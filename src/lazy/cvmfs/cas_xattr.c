/*
 * cas_xattr.c - extended attributes in CVMFS catalogs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/xattr.h: a version (1) and the number of attributes, one byte
 * each; then each attribute, sorted by name: the lengths of its name and value,
 * one byte each, the name and the value.
 */
#include "cas_format.h"

#include "base/arena.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static int
by_xattr_name(const void *a, const void *b)
{
	const struct tar_xattr *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

int
cas_pack_xattrs(const struct layer_entry *e, uint8_t **data, size_t *len,
    size_t *lost)
{
	const struct tar_xattr *sorted[CAS_XATTR_MAX];
	struct strbuf b = { 0 };
	size_t count = 0;

	*data = NULL;
	*len = 0;
	for (size_t i = 0; i < e->xattr_count && count < CAS_XATTR_MAX; i++) {
		size_t n = strlen(e->xattrs[i].name);

		if (n > 0 && n <= CAS_XATTR_MAX &&
		    e->xattrs[i].length <= CAS_XATTR_MAX)
			sorted[count++] = &e->xattrs[i];
	}
	*lost = e->xattr_count - count;
	if (count == 0)
		return 0;
	qsort(sorted, count, sizeof(*sorted), by_xattr_name);
	strbuf_char(&b, VERSION);
	strbuf_char(&b, (char)count);
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(sorted[i]->name);

		strbuf_char(&b, (char)n);
		strbuf_char(&b, (char)sorted[i]->length);
		strbuf_add(&b, sorted[i]->name, n);
		strbuf_add(&b, sorted[i]->value, sorted[i]->length);
	}
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
