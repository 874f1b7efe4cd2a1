/*
 * toc_json.c - parsing a JSON table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * yajl, which keeps its stack on the heap, parses the document incrementally,
 * with only one entry in memory at a time.  Unknown members are skipped with
 * their contents.
 */
#include "lazy/toc/toc_json.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/format.h"

#include <errno.h>
#include <string.h>
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

static int
refuse_toc(struct toc_json *j, int rc, const char *clause)
{
	j->rc = layer_refuse(j->why, rc, "%s", clause);
	return 0;
}

/*
 * Copies text to the entry's.  Bytes that are not UTF-8 are written as U+DC80
 * to U+DCFF, which the parser passes as three bytes each.
 */
static size_t
keep_text(struct toc_json *j, const unsigned char *s, size_t len)
{
	const unsigned char *end = s + len, *from = s, *at;
	struct strbuf *b = &j->words;
	size_t start = b->len;

	while ((at = memchr(from, 0xed, (size_t)(end - from))) != NULL) {
		bool byte = end - at >= 3 && (at[1] & 0xfe) == 0xb2 &&
		    (at[2] & 0xc0) == 0x80;

		strbuf_add(b, from, (size_t)(at - from));
		strbuf_char(b, (char)(!byte ? *at :
		    0x80 | (at[1] & 1) << 6 | (at[2] & 0x3f)));
		from = at + (byte ? 3 : 1);
	}
	strbuf_add(b, from, (size_t)(end - from));
	strbuf_char(b, '\0');
	if (b->failed)
		refuse_toc(j, -ENOMEM, strerror(ENOMEM));
	else if (memchr(s, '\0', len) != NULL)
		refuse_toc(j, -EBADMSG, "a string in the index contains a NUL");
	else if (b->len > TOC_ENTRY_MAX)
		refuse_toc(j, -EFBIG, "an entry in the index is larger than "
		    "8 MiB");
	return start;
}

/* Events: 1 to continue, 0 to stop */

static struct toc_json *
begin_event(void *arg)
{
	struct toc_json *j = arg;

	j->silent = 0;
	return j;
}

static int
on_null(void *arg)
{
	begin_event(arg);
	return 1;
}

static int
on_text(void *arg, const unsigned char *s, size_t len)
{
	struct toc_json *j = begin_event(arg);

	if (j->skipped > 0)
		return 1;
	if (j->place == XATTRS) {
		struct xattr_at *x = &j->xattrs[j->xattr_count];
		char *value;
		ssize_t n;

		x->value = keep_text(j, s, len);
		if (j->rc != 0)
			return 0;
		value = j->words.data + x->value;
		n = base64_read(value, value, strlen(value));
		if (n < 0)
			return refuse_toc(j, -EBADMSG, "an extended attribute "
			    "in the index is not base64");
		x->length = (size_t)n;
		j->xattr_count++;
		return 1;
	}
	if (j->place == ENTRY && j->number != NOTHING)
		return refuse_toc(j, -EBADMSG, "the index has text where a "
		    "number is expected");
	if (j->place == ENTRY && j->text != NOTHING)
		j->at[j->text] = keep_text(j, s, len);
	return j->rc == 0;
}

static int
on_integer(void *arg, long long value)
{
	struct toc_json *j = begin_event(arg);

	if (j->skipped > 0 || j->place != ENTRY)
		return 1;
	if (j->text != NOTHING || (j->number != NOTHING && value < 0))
		return refuse_toc(j, -EBADMSG, j->text != NOTHING ?
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
	return refuse_toc(j, -EBADMSG, "the index has a value of the wrong "
	    "type");
}

static int
on_double(void *arg, double value)
{
	(void)value;
	return on_other(begin_event(arg));
}

static int
on_boolean(void *arg, int value)
{
	(void)value;
	return on_other(begin_event(arg));
}

static bool
is_word(const char *word, const unsigned char *s, size_t len)
{
	return strlen(word) == len && memcmp(word, s, len) == 0;
}

static int
find_word(const char *const *words, int count, const unsigned char *s,
    size_t len)
{
	for (int i = 0; i < count; i++)
		if (is_word(words[i], s, len))
			return i;
	return NOTHING;
}

static int
on_key(void *arg, const unsigned char *s, size_t len)
{
	struct toc_json *j = begin_event(arg);
	void *xattrs = j->xattrs;
	int rc;

	j->list = j->attributes = false;
	j->member = TOC_ENTRY;
	j->text = j->number = NOTHING;
	if (j->skipped > 0)
		return 1;
	if (j->place == XATTRS) {
		rc = array_grow(&xattrs, j->xattr_count, &j->xattr_cap,
		    sizeof(*j->xattrs));
		j->xattrs = xattrs;
		if (rc != 0)
			return refuse_toc(j, rc, strerror(-rc));
		j->xattrs[j->xattr_count].name = keep_text(j, s, len);
		return j->rc == 0;
	}
	if (j->place == DOCUMENT) {
		j->list = is_word("entries", s, len);
		if (is_word("coldpressTrace", s, len))
			j->member = TOC_TRACE;
		else if (is_word("coldpressIndex", s, len))
			j->member = TOC_COMPACT;
	} else if (j->place == ENTRY) {
		j->attributes = is_word("xattrs", s, len);
		j->text = find_word(texts, TOC_TEXTS, s, len);
		j->number = find_word(numbers, TOC_NUMBERS, s, len);
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
		return refuse_toc(j, -EBADMSG, "the index is not a table of "
		    "contents");
	if (++j->skipped > DEPTH_MAX)
		return refuse_toc(j, -EBADMSG, "the index is nested too "
		    "deeply");
	return 1;
}

/* Leaves an object or array, and passes an entry on at its end. */
static int
leave(struct toc_json *j, enum place to)
{
	struct toc_item item = { .what = j->what };
	void *list = j->list_of;
	int rc = j->words.failed ? -ENOMEM : 0;

	if (j->skipped > 0) {
		j->skipped--;
		return 1;
	}
	if (j->place != ENTRY) {
		j->place = to;
		return 1;
	}
	for (size_t i = 0; rc == 0 && i < j->xattr_count; i++) {
		const struct xattr_at *x = &j->xattrs[i];

		rc = array_grow(&list, i, &j->list_cap, sizeof(*j->list_of));
		j->list_of = list;
		if (rc == 0)
			j->list_of[i] = (struct tar_xattr){
				.name = j->words.data + x->name,
				.value = j->words.data + x->value,
				.length = x->length };
	}
	if (rc != 0)
		return refuse_toc(j, rc, strerror(-rc));
	for (int i = 0; i < TOC_TEXTS; i++)
		item.text[i] = j->words.data + j->at[i];
	memcpy(item.number, j->value, sizeof(item.number));
	item.xattrs = j->list_of;
	item.xattr_count = j->xattr_count;
	j->rc = j->take(j->arg, &item, j->why);
	j->place = to;
	return j->rc == 0;
}

static int
on_map(void *arg)
{
	struct toc_json *j = begin_event(arg);

	if (j->skipped == 0 && (j->place == ENTRIES ||
	    j->member != TOC_ENTRY)) {
		strbuf_clear(&j->words);
		strbuf_char(&j->words, '\0');
		memset(j->at, 0, sizeof(j->at));
		memset(j->value, 0, sizeof(j->value));
		j->xattr_count = 0;
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
	struct toc_json *j = begin_event(arg);

	switch (j->place) {
	case DOCUMENT:
		return leave(j, OUTSIDE);
	case XATTRS:
		return leave(j, ENTRY);
	default:
		return leave(j, j->what != TOC_ENTRY ? DOCUMENT : ENTRIES);
	}
}

static int
on_array(void *arg)
{
	struct toc_json *j = begin_event(arg);

	if (j->place == DOCUMENT && j->skipped == 0 && j->list)
		j->seen = true;
	return enter(j, j->place == DOCUMENT && j->list, ENTRIES);
}

static int
on_array_end(void *arg)
{
	return leave(begin_event(arg), DOCUMENT);
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
parser_error(struct toc_json *j, yajl_status status)
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
		rc = parser_error(j, yajl_parse(j->yajl, p, n));
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
	rc = parser_error(j, yajl_complete_parse(j->yajl));
	if (rc == 0 && !j->seen)
		return layer_refuse(why, -EBADMSG, "the index has no entries");
	return rc;
}
