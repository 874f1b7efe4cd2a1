/*
 * toc_json_entry.c - collecting one entry of a table of contents
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "toc_json_impl.h"

#include "base/array.h"
#include "base/base64.h"
#include "lazy/format.h"

#include <errno.h>
#include <string.h>

int
toc_fail(struct toc_json *j, int rc, const char *clause)
{
	j->rc = layer_refuse(j->why, rc, "%s", clause);
	return 0;
}

/*
 * Copies text.  Bytes that are not UTF-8 are written as U+DC80 to U+DCFF, which
 * the parser passes as three bytes each.
 */
static void
add_bytes(struct strbuf *b, const unsigned char *s, size_t len)
{
	const unsigned char *end = s + len, *at;

	while ((at = memchr(s, 0xed, (size_t)(end - s))) != NULL) {
		bool byte = end - at >= 3 && (at[1] & 0xfe) == 0xb2 &&
		    (at[2] & 0xc0) == 0x80;

		strbuf_add(b, s, (size_t)(at - s));
		strbuf_char(b, (char)(!byte ? *at :
		    0x80 | (at[1] & 1) << 6 | (at[2] & 0x3f)));
		s = at + (byte ? 3 : 1);
	}
	strbuf_add(b, s, (size_t)(end - s));
}

size_t
toc_keep(struct toc_json *j, const unsigned char *s, size_t len)
{
	size_t at = j->words.len;

	add_bytes(&j->words, s, len);
	strbuf_char(&j->words, '\0');
	if (j->words.failed)
		toc_fail(j, -ENOMEM, strerror(ENOMEM));
	else if (memchr(s, '\0', len) != NULL)
		toc_fail(j, -EBADMSG, "a string in the index contains a NUL");
	else if (j->words.len > TOC_ENTRY_MAX)
		toc_fail(j, -EFBIG, "an entry in the index is larger than "
		    "8 MiB");
	return at;
}

void
toc_begin_entry(struct toc_json *j)
{
	strbuf_clear(&j->words);
	strbuf_char(&j->words, '\0');
	memset(j->at, 0, sizeof(j->at));
	memset(j->value, 0, sizeof(j->value));
	j->xattr_count = 0;
}

/* Builds the array of attributes for take. */
static int
present_xattrs(struct toc_json *j)
{
	void *list = j->list_of;
	int rc = 0;

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
	return rc;
}

int
toc_end_entry(struct toc_json *j)
{
	struct toc_item item = { .what = j->what };
	int rc = j->words.failed ? -ENOMEM : present_xattrs(j);

	if (rc != 0)
		return toc_fail(j, rc, strerror(-rc));
	for (int i = 0; i < TOC_TEXTS; i++)
		item.text[i] = j->words.data + j->at[i];
	memcpy(item.number, j->value, sizeof(item.number));
	item.xattrs = j->list_of;
	item.xattr_count = j->xattr_count;
	j->rc = j->take(j->arg, &item, j->why);
	return j->rc == 0;
}

int
toc_take_xattr(struct toc_json *j, const unsigned char *s, size_t len)
{
	struct xattr_at *x = &j->xattrs[j->xattr_count];
	ssize_t n;

	x->value = toc_keep(j, s, len);
	if (j->rc != 0)
		return 0;
	len = strlen(j->words.data + x->value);
	n = base64_read(j->words.data + x->value, j->words.data + x->value,
	    len);
	if (n < 0)
		return toc_fail(j, -EBADMSG, "an extended attribute in the "
		    "index is not base64");
	x->length = (size_t)n;
	j->xattr_count++;
	return 1;
}
