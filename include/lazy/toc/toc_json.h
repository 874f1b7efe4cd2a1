/*
 * toc_json.h - a parsed entry of a table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_JSON_H
#define COLDPRESS_LAZY_TOC_TOC_JSON_H

#include "lazy/layer.h"

enum toc_text {
	TOC_NAME, TOC_TYPE, TOC_MODTIME, TOC_LINK, TOC_UNAME, TOC_GNAME,
	TOC_DIGEST, TOC_CHUNK_DIGEST, TOC_CHUNK_TYPE, TOC_TEXTS
};

enum toc_number {
	TOC_SIZE, TOC_MODE, TOC_UID, TOC_GID, TOC_OFFSET, TOC_INNER, TOC_MAJOR,
	TOC_MINOR, TOC_CHUNK_OFFSET, TOC_CHUNK_SIZE, TOC_LENGTH,
	TOC_NUMBERS
};

/* An entry, or the position and digest of the trace or of the compact index */
enum toc_what { TOC_ENTRY, TOC_TRACE, TOC_COMPACT };

/* Missing members are "" or 0. */
struct toc_item {
	const char *text[TOC_TEXTS];
	int64_t number[TOC_NUMBERS];	/* not negative */
	const struct tar_xattr *xattrs;
	size_t xattr_count;
	enum toc_what what;
};

struct toc_json;

/*
 * Opens a parser that calls take for every entry of the document, with pointers
 * that are valid until take returns.  Returns 0 or -ENOMEM.
 */
int toc_json_open(struct toc_json **j, int (*take)(void *arg,
    const struct toc_item *item, char why[LAYER_WHY]), void *arg);
void toc_json_close(struct toc_json *j);	/* may be NULL */

/*
 * Parses the next len bytes of the document.  Returns 0; -EBADMSG, -EFBIG or
 * -ENOMEM, with a clause in why; or another result of take.
 */
int toc_json_add(struct toc_json *j, const void *data, size_t len,
    char why[LAYER_WHY]);

/*
 * Checks that the document is complete; call this after its last byte.  Returns
 * 0 or as above.
 */
int toc_json_end(struct toc_json *j, char why[LAYER_WHY]);

#endif
