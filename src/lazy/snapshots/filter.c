/*
 * filter.c - containerd's filters, as far as they concern snapshots
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "filter.h"

#include "base/strbuf.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const char *at;
	struct arena *arena;
	const char *why;		/* or NULL */
};

static int
refuse(struct reader *r, const char *why)
{
	r->why = why;
	return -EINVAL;
}

static void
skip_space(struct reader *r)
{
	r->at += strspn(r->at, " \t\r\n");
}

static int
copy_text(struct reader *r, const char *from, size_t length, const char **to)
{
	*to = arena_copy(r->arena, from, length);
	return *to == NULL ? -ENOMEM : 0;
}

static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ?
	    c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static void
add_character(struct strbuf *b, uint32_t c)
{
	if (c < 0x80) {
		strbuf_char(b, (char)c);
		return;
	}
	if (c < 0x800) {
		strbuf_char(b, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			strbuf_char(b, (char)(0xe0 | c >> 12));
		} else {
			strbuf_char(b, (char)(0xf0 | c >> 18));
			strbuf_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		strbuf_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	strbuf_char(b, (char)(0x80 | (c & 0x3f)));
}

/* Decodes the escape sequence after a backslash. */
static int
read_escape(struct reader *r, struct strbuf *b)
{
	static const char letters[] = "abfnrtv\\\"";
	static const char meant[] = "\a\b\f\n\r\t\v\\\"";
	const char *letter = *r->at == '\0' ? NULL : strchr(letters, *r->at);
	int base = 16, count;
	uint32_t value = 0;
	bool byte = true;

	if (letter != NULL) {
		strbuf_char(b, meant[letter - letters]);
		r->at++;
		return 0;
	}
	switch (*r->at) {
	case 'x': count = 2; break;
	case 'u': count = 4; byte = false; break;
	case 'U': count = 8; byte = false; break;
	default: count = 3; base = 8; break;
	}
	if (base == 16)
		r->at++;
	for (int i = 0; i < count; i++, r->at++) {
		int digit = digit_of(*r->at);

		if (digit >= base || value >> 28 != 0)
			return refuse(r, "an invalid escape sequence");
		value = value * (uint32_t)base + (uint32_t)digit;
	}
	if (value == 0 || value > (byte ? 0xff : 0x10ffff) ||
	    (!byte && value >> 11 == 0x1b))
		return refuse(r, "an invalid escape sequence");
	if (byte)
		strbuf_char(b, (char)value);
	else
		add_character(b, value);
	return 0;
}

static int
read_quoted(struct reader *r, const char **text)
{
	struct strbuf b = { .len = 0 };
	int rc = 0;

	for (r->at++; rc == 0 && *r->at != '"';) {
		if (*r->at == '\0' || *r->at == '\n')
			rc = refuse(r, "a quotation mark is missing");
		else if (*r->at != '\\')
			strbuf_char(&b, *r->at++);
		else if (r->at++, true)
			rc = read_escape(r, &b);
	}
	if (rc == 0) {
		r->at++;
		rc = b.failed ? -ENOMEM : copy_text(r, b.len == 0 ? "" :
		    b.data, b.len, text);
	}
	strbuf_free(&b);
	return rc;
}

static int
read_field(struct reader *r, const char **text)
{
	size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (*r->at == '"')
		return read_quoted(r, text);
	if (length == 0)
		return refuse(r, "expected a field");
	r->at += length;
	return copy_text(r, r->at - length, length, text);
}

static int
read_value(struct reader *r, const char **text)
{
	size_t length = strcspn(r->at, ", \t\r\n");

	if (*r->at == '"')
		return read_quoted(r, text);
	if (length == 0 || *r->at == '/' || *r->at == '|')
		return refuse(r, "expected a value");
	r->at += length;
	return copy_text(r, r->at - length, length, text);
}

/* Reads FIELD.FIELD... */
static int
read_path(struct reader *r, struct filter *f)
{
	struct strbuf rest = { .len = 0 };
	const char *more;
	int rc = read_field(r, &f->field);

	for (skip_space(r); rc == 0 && *r->at == '.'; skip_space(r)) {
		r->at++;
		skip_space(r);
		rc = read_field(r, &more);
		if (rc != 0)
			break;
		if (rest.len > 0)
			strbuf_char(&rest, '.');
		strbuf_str(&rest, more);
	}
	if (rc == 0 && rest.failed)
		rc = -ENOMEM;
	if (rc == 0)
		rc = copy_text(r, rest.len == 0 ? "" : rest.data, rest.len,
		    &f->rest);
	strbuf_free(&rest);
	return rc;
}

static int
read_condition(struct reader *r, struct filter *f)
{
	int rc = read_path(r, f);

	if (rc != 0 || *r->at == ',' || *r->at == '\0')
		return rc;
	if (strncmp(r->at, "~=", 2) == 0)
		return refuse(r, "~= is not supported");
	if (strncmp(r->at, "==", 2) == 0)
		f->operator = FILTER_EQUAL;
	else if (strncmp(r->at, "!=", 2) == 0)
		f->operator = FILTER_DIFFERENT;
	else
		return refuse(r, "expected ==, != or a comma");
	r->at += 2;
	skip_space(r);
	rc = read_value(r, &f->value);
	skip_space(r);
	return rc;
}

int
filter_parse(struct filter **out, const char *text, struct arena *a,
    const char **why)
{
	struct reader r = { .at = text, .arena = a };
	struct filter **next = out;
	int rc = 0;

	*out = NULL;
	if (*text == '\0')
		return 0;
	do {
		struct filter *f = arena_take(a, sizeof(*f));

		if (f == NULL)
			return -ENOMEM;
		*f = (struct filter){ .operator = FILTER_PRESENT };
		*next = f;
		next = &f->next;
		skip_space(&r);
		rc = read_condition(&r, f);
		if (rc == 0 && *r.at != ',' && *r.at != '\0')
			rc = refuse(&r, "expected a comma");
	} while (rc == 0 && *r.at++ == ',');
	*why = r.why;
	return rc;
}

bool
filter_match(const struct filter *f,
    const char *(*value)(void *arg, const char *field, const char *rest),
    void *arg)
{
	for (; f != NULL; f = f->next) {
		const char *v = value(arg, f->field, f->rest);

		if (f->operator == FILTER_PRESENT ? v == NULL :
		    f->operator == FILTER_EQUAL ?
		    v == NULL || strcmp(v, f->value) != 0 :
		    strcmp(v == NULL ? "" : v, f->value) == 0)
			return false;
	}
	return true;
}
