/*
 * toc_json.c - parsing a JSON table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * yajl, which keeps its stack on the heap, parses the document incrementally,
 * with only one entry in memory at a time.  Unknown members are skipped with
 * their contents.
 */
#include "toc_json_impl.h"

#include "base/array.h"
#include "base/sys.h"
#include "lazy/format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 64,
	PIECE = 64 << 10,
	NOTHING = -1
};

static const char *const texts[TOC_TEXTS] = {
	[TOC_NAME] = "name", [TOC_TYPE] = "type", [TOC_MODTIME] = "modtime",
	[TOC_LINK] = "linkName", [TOC_UNAME] = "userName",
	[TOC_GNAME] = "groupName", [TOC_DIGEST] = "digest",
	[TOC_CHUNK_DIGEST] = "chunkDigest", [TOC_CHUNK_TYPE] = "chunkType"
};

static const char *const numbers[TOC_NUMBERS] = {
	[TOC_SIZE] = "size", [TOC_MODE] = "mode", [TOC_UID] = "uid",
	[TOC_GID] = "gid", [TOC_OFFSET] = "offset",
	[TOC_INNER] = "innerOffset", [TOC_MAJOR] = "devMajor",
	[TOC_MINOR] = "devMinor", [TOC_CHUNK_OFFSET] = "chunkOffset",
	[TOC_CHUNK_SIZE] = "chunkSize", [TOC_LENGTH] = "length"
};

/* Events: 1 to continue, 0 to stop */

static struct toc_json *
event(void *arg)
{
	struct toc_json *j = arg;

	j->silent = 0;
	return j;
}

static int
on_text(void *arg, const unsigned char *s, size_t len)
{
	struct toc_json *j = event(arg);

	if (j->skipped > 0)
		return 1;
	if (j->place == XATTRS)
		return toc_take_xattr(j, s, len);
	if (j->place == ENTRY && j->number != NOTHING)
		return toc_fail(j, -EBADMSG, "the index has text where a "
		    "number is expected");
	if (j->place == ENTRY && j->text != NOTHING)
		j->at[j->text] = toc_keep(j, s, len);
	return j->rc == 0;
}

static int
on_integer(void *arg, long long value)
{
	struct toc_json *j = event(arg);

	if (j->skipped > 0 || j->place != ENTRY)
		return 1;
	if (j->text != NOTHING || (j->number != NOTHING && value < 0))
		return toc_fail(j, -EBADMSG, j->text != NOTHING ?
		    "the index has a number where text is expected" :
		    "the index has a negative number");
	if (j->number != NOTHING)
		j->value[j->number] = value;
	return 1;
}

/* Handles a number with a fraction, or a boolean. */
static int
on_other(struct toc_json *j)
{
	if (j->skipped > 0 || j->place != ENTRY ||
	    (j->text == NOTHING && j->number == NOTHING))
		return 1;
	return toc_fail(j, -EBADMSG, "the index has a value of the wrong type");
}

static int
on_double(void *arg, double value)
{
	(void)value;
	return on_other(event(arg));
}

static int
on_boolean(void *arg, int value)
{
	(void)value;
	return on_other(event(arg));
}

static int
on_null(void *arg)
{
	event(arg);
	return 1;
}

static bool
is_word(const char *word, const unsigned char *s, size_t len)
{
	return strlen(word) == len && memcmp(word, s, len) == 0;
}

static int
find(const char *const *words, int count, const unsigned char *s, size_t len)
{
	for (int i = 0; i < count; i++)
		if (is_word(words[i], s, len))
			return i;
	return NOTHING;
}

static int
begin_xattr(struct toc_json *j, const unsigned char *s, size_t len)
{
	void *xattrs = j->xattrs;
	int rc = array_grow(&xattrs, j->xattr_count, &j->xattr_cap,
	    sizeof(*j->xattrs));

	j->xattrs = xattrs;
	if (rc != 0)
		return toc_fail(j, rc, strerror(-rc));
	j->xattrs[j->xattr_count].name = toc_keep(j, s, len);
	return j->rc == 0;
}

static int
on_key(void *arg, const unsigned char *s, size_t len)
{
	struct toc_json *j = event(arg);

	j->list = j->attributes = false;
	j->member = TOC_ENTRY;
	j->text = j->number = NOTHING;
	if (j->skipped > 0)
		return 1;
	if (j->place == XATTRS)
		return begin_xattr(j, s, len);
	if (j->place == DOCUMENT) {
		j->list = is_word("entries", s, len);
		j->member = is_word("coldpressTrace", s, len) ? TOC_TRACE :
		    is_word("coldpressIndex", s, len) ? TOC_COMPACT :
		    TOC_ENTRY;
	} else if (j->place == ENTRY) {
		j->attributes = is_word("xattrs", s, len);
		j->text = find(texts, TOC_TEXTS, s, len);
		j->number = find(numbers, TOC_NUMBERS, s, len);
	}
	return 1;
}

/* Enters an object or array that is part of the format; skips any other. */
static int
enter(struct toc_json *j, bool known, enum place place)
{
	if (j->skipped == 0 && known) {
		j->place = place;
		return 1;
	}
	if (j->skipped == 0 && (j->place == OUTSIDE || j->place == XATTRS ||
	    (j->place == ENTRY && (j->text != NOTHING ||
	    j->number != NOTHING))))
		return toc_fail(j, -EBADMSG, "the index is not a table of "
		    "contents");
	if (++j->skipped > DEPTH_MAX)
		return toc_fail(j, -EBADMSG, "the index is nested too deeply");
	return 1;
}

static int
leave(struct toc_json *j, enum place to)
{
	if (j->skipped > 0) {
		j->skipped--;
		return 1;
	}
	if (j->place == ENTRY && toc_end_entry(j) == 0)
		return 0;
	j->place = to;
	return 1;
}

static int
on_map(void *arg)
{
	struct toc_json *j = event(arg);

	if (j->skipped == 0 && (j->place == ENTRIES ||
	    j->member != TOC_ENTRY)) {
		toc_begin_entry(j);
		j->what = j->member;
	}
	switch (j->place) {
	case OUTSIDE:
		return enter(j, true, DOCUMENT);
	case DOCUMENT:
		return enter(j, j->member != TOC_ENTRY, ENTRY);
	case ENTRIES:
		return enter(j, true, ENTRY);
	case ENTRY:
		return enter(j, j->attributes, XATTRS);
	default:
		return enter(j, false, OUTSIDE);
	}
}

static int
on_map_end(void *arg)
{
	struct toc_json *j = event(arg);

	return leave(j, (enum place)(j->place == DOCUMENT ? OUTSIDE :
	    j->place == XATTRS ? ENTRY : j->what != TOC_ENTRY ? DOCUMENT :
	    ENTRIES));
}

static int
on_array(void *arg)
{
	struct toc_json *j = event(arg);

	if (j->place == DOCUMENT && j->skipped == 0 && j->list)
		j->seen = true;
	return enter(j, j->place == DOCUMENT && j->list, ENTRIES);
}

static int
on_array_end(void *arg)
{
	return leave(event(arg), DOCUMENT);
}

/* The parser */

int
toc_json_open(struct toc_json **out, int (*take)(void *arg,
    const struct toc_item *item, char why[LAYER_WHY]), void *arg)
{
	static const yajl_callbacks events = { .yajl_null = on_null,
		.yajl_boolean = on_boolean, .yajl_integer = on_integer,
		.yajl_double = on_double, .yajl_string = on_text,
		.yajl_start_map = on_map, .yajl_map_key = on_key,
		.yajl_end_map = on_map_end, .yajl_start_array = on_array,
		.yajl_end_array = on_array_end };
	struct toc_json *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->take = take;
	j->arg = arg;
	j->text = j->number = NOTHING;
	j->yajl = yajl_alloc(&events, NULL, j);
	if (j->yajl == NULL) {
		toc_json_close(j);
		return -ENOMEM;
	}
	*out = j;
	return 0;
}

void
toc_json_close(struct toc_json *j)
{
	if (j == NULL)
		return;
	if (j->yajl != NULL)
		yajl_free(j->yajl);
	strbuf_free(&j->words);
	sys_free(j->xattrs);
	sys_free(j->list_of);
	sys_free(j);
}

/*
 * Returns the error of the event that stopped the parser, or an error for the
 * parser's status.
 */
static int
settle(struct toc_json *j, yajl_status status)
{
	unsigned char *text;

	if (j->rc != 0 || status == yajl_status_ok)
		return j->rc;
	text = yajl_get_error(j->yajl, 0, NULL, 0);
	if (text != NULL)
		text[strcspn((char *)text, "\n")] = '\0';
	layer_refuse(j->why, -EBADMSG, "the index is not JSON: %.150s",
	    text == NULL ? "" : (const char *)text);
	if (text != NULL)
		yajl_free_error(j->yajl, text);
	return -EBADMSG;
}

int
toc_json_add(struct toc_json *j, const void *data, size_t len,
    char why[LAYER_WHY])
{
	const unsigned char *p = data;

	j->why = why;
	while (len > 0) {
		size_t n = len < PIECE ? len : PIECE;
		int rc;

		j->silent += n;
		rc = settle(j, yajl_parse(j->yajl, p, n));
		if (rc != 0)
			return rc;
		if (j->silent > 2 * TOC_ENTRY_MAX)
			return layer_refuse(why, -EFBIG, "the index contains "
			    "more than 16 MiB of text in one piece");
		p += n;
		len -= n;
	}
	return 0;
}

int
toc_json_end(struct toc_json *j, char why[LAYER_WHY])
{
	int rc;

	j->why = why;
	rc = settle(j, yajl_complete_parse(j->yajl));
	if (rc == 0 && !j->seen)
		return layer_refuse(why, -EBADMSG, "the index has no entries");
	return rc;
}
