/*
 * json.h - small JSON documents as trees, parsed by yajl, if that is installed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8259.  All functions are thread-safe.
 */
#ifndef COLDPRESS_JSON_H
#define COLDPRESS_JSON_H

#include <stddef.h>
#include <yajl/yajl_tree.h>

enum { JSON_WHY = 256 };

/*
 * Parses an object, len bytes of text followed by a NUL; *root must be freed
 * with yajl_tree_free().  Returns 0, -EBADMSG with the reason in why, or
 * -ENOMEM.
 */
int json_parse(yajl_val *root, const char *text, size_t len,
    char why[JSON_WHY]);

/*
 * Returns a member of the object `of`, or NULL if `of` is NULL or has no such
 * member.
 */
yajl_val json_member(yajl_val of, const char *name, yajl_type type);

/* Returns a string member, like json_member(). */
const char *json_text(yajl_val of, const char *name);

#endif
