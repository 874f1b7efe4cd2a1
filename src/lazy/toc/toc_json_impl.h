/*
 * toc_json_impl.h - the state of the table of contents parser
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_JSON_IMPL_H
#define COLDPRESS_LAZY_TOC_TOC_JSON_IMPL_H

#include "lazy/toc/toc_json.h"

#include "base/strbuf.h"

#include <yajl/yajl_parse.h>

enum { TOC_ENTRY_MAX = TAR_EXTENSION_MAX };	/* maximum bytes in an entry's
						 * text */

/* The parser's position; entries are objects in an array in an object. */
enum place { OUTSIDE, DOCUMENT, ENTRIES, ENTRY, XATTRS };

struct xattr_at {
	size_t name, value, length;	/* offsets in words */
};

struct toc_json {
	yajl_handle yajl;
	int (*take)(void *arg, const struct toc_item *item,
	    char why[LAYER_WHY]);
	void *arg;
	enum place place;
	unsigned skipped;		/* depth in a skipped value */
	bool seen;			/* the array of entries was found */
	size_t silent;			/* bytes since the last event */
	/* the member whose value is next */
	bool list, attributes;
	enum toc_what member;
	int text, number;
	/* the current entry or position */
	enum toc_what what;
	struct strbuf words;		/* all text of the entry; the first
					 * string is "" */
	size_t at[TOC_TEXTS];
	int64_t value[TOC_NUMBERS];
	struct xattr_at *xattrs;
	size_t xattr_count, xattr_cap;
	struct tar_xattr *list_of;	/* attributes passed to take */
	size_t list_cap;
	int rc;
	char *why;
};

/* Rejects the document with the reason given by clause. Returns 0. */
int toc_fail(struct toc_json *j, int rc, const char *clause);

/*
 * Appends text to j->words and returns its offset there.  Sets j->rc if the
 * text is too long or contains a NUL, which would truncate a name.
 */
size_t toc_keep(struct toc_json *j, const unsigned char *s, size_t len);

/*
 * Adds the value, in base64, of the last extended attribute.  Returns 1, or 0
 * after an error.
 */
int toc_take_xattr(struct toc_json *j, const unsigned char *s, size_t len);

/*
 * These start an entry, and pass it to take.  toc_end_entry() returns whether
 * take succeeded.
 */
void toc_begin_entry(struct toc_json *j);
int toc_end_entry(struct toc_json *j);

#endif
