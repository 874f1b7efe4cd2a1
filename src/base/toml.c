/*
 * toml.c - reading TOML as a sequence of items
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decoded strings and keys are put behind one another in a buffer, which is as
 * large as the text, since nothing grows when it is decoded; what is no longer
 * needed is dropped from its end.
 */
#include "base/toml.h"

#include "base/sys.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct toml {
	const char *at, *end;
	size_t line;
	char *pool;			/* 2 * the text's length */
	size_t used;
	const char *path[TOML_DEPTH];
	size_t depth, of_table;		/* keys, and those of the table */
	unsigned nested;		/* values */
	size_t arrays, index;		/* of them, and in the inner one */
	int (*item)(void *arg, const struct toml_item *i);
	void *arg;
	char *why;
};

static int read_value(struct toml *t);

static int
expected(const struct toml *t, const char *what)
{
	snprintf(t->why, TOML_WHY, "line %zu: expected %s", t->line, what);
	return -EBADMSG;
}

static int
peek(const struct toml *t)
{
	return t->at < t->end ? (unsigned char)*t->at : -1;
}

static bool
take(struct toml *t, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
		return false;
	t->at += n;
	return true;
}

/* Skips blanks and, on request, comments and ends of lines. */
static void
skip(struct toml *t, bool lines)
{
	for (int c; (c = peek(t)) != -1; t->at++) {
		if (c == '#' && lines) {
			while (t->at < t->end && *t->at != '\n')
				t->at++;
			c = peek(t);
			if (c == -1)
				return;
		}
		if (c == '\n' && lines)
			t->line++;
		else if (c != ' ' && c != '\t' && (c != '\r' || !lines))
			return;
	}
}

/* Skips what may follow on a line, and its end. */
static int
end_line(struct toml *t)
{
	skip(t, false);
	if (peek(t) == '#')
		while (t->at < t->end && *t->at != '\n')
			t->at++;
	take(t, "\r");
	if (t->at < t->end && *t->at != '\n')
		return expected(t, "the end of the line");
	return 0;
}

static int
report(struct toml *t, enum toml_type type, const char *text, bool truth)
{
	const struct toml_item i = { .type = type, .path = t->path,
		.depth = t->depth, .text = text, .truth = truth,
		.arrays = t->arrays, .index = t->index, .line = t->line };

	return t->item(t->arg, &i);
}

/* Strings */

static void
put(struct toml *t, char c)
{
	t->pool[t->used++] = c;
}

/* Appends a character in UTF-8, which is no longer than its escape. */
static bool
put_code(struct toml *t, uint32_t c)
{
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		put(t, (char)c);
	} else if (c < 0x800) {
		put(t, (char)(0xc0 | c >> 6));
		put(t, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		put(t, (char)(0xe0 | c >> 12));
		put(t, (char)(0x80 | (c >> 6 & 0x3f)));
		put(t, (char)(0x80 | (c & 0x3f)));
	} else {
		put(t, (char)(0xf0 | c >> 18));
		put(t, (char)(0x80 | (c >> 12 & 0x3f)));
		put(t, (char)(0x80 | (c >> 6 & 0x3f)));
		put(t, (char)(0x80 | (c & 0x3f)));
	}
	return true;
}

static int
read_escape(struct toml *t, bool lines)
{
	static const char names[] = "btnfr\"\\", codes[] = "\b\t\n\f\r\"\\";
	int c = peek(t), digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
	const char *name = c > 0 ? strchr(names, c) : NULL;
	uint32_t code = 0;

	if (name != NULL) {
		t->at++;
		put(t, codes[name - names]);
		return 0;
	}
	if (digits > 0) {
		t->at++;
		for (int i = 0; i < digits; i++, t->at++) {
			c = peek(t) | 0x20;
			if (c >= '0' && c <= '9')
				code = code << 4 | (uint32_t)(c - '0');
			else if (c >= 'a' && c <= 'f')
				code = code << 4 | (uint32_t)(c - 'a' + 10);
			else
				return expected(t, "hexadecimal digits");
		}
		return put_code(t, code) ? 0 : expected(t, "a character");
	}
	/* the end of a line, and the blanks around it */
	skip(t, false);
	if (!lines || (peek(t) != '\n' && peek(t) != '\r'))
		return expected(t, "an escape sequence");
	while ((c = peek(t)) == ' ' || c == '\t' || c == '\n' || c == '\r') {
		t->line += c == '\n';
		t->at++;
	}
	return 0;
}

/* Reads a string, and sets *text. */
static int
read_string(struct toml *t, const char **text)
{
	char quote = *t->at, three[] = { quote, quote, quote, '\0' };
	bool lines = take(t, three);
	size_t begin = t->used;

	if (!lines)
		t->at++;
	else if (!take(t, "\r\n"))
		t->line += take(t, "\n");
	else
		t->line++;
	for (;;) {
		int c = peek(t), rc;

		if (c == quote && (!lines || (t->end - t->at >= 3 &&
		    memcmp(t->at, three, 3) == 0))) {
			t->at += lines ? 3 : 1;
			/* up to two quotes may precede the three at the end */
			for (int i = 0; lines && i < 2 && peek(t) == quote;
			    i++) {
				put(t, quote);
				t->at++;
			}
			break;
		}
		if (c == -1 || c == 0 || (c == '\n' && !lines))
			return expected(t, "the end of the string");
		t->at++;
		if (c == '\\' && quote == '"') {
			rc = read_escape(t, lines);
			if (rc != 0)
				return rc;
			continue;
		}
		t->line += c == '\n';
		put(t, (char)c);
	}
	put(t, '\0');
	*text = t->pool + begin;
	return 0;
}

/* Keys */

static bool
is_bare(int c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Reads keys with dots in between, and appends them to the path. */
static int
read_keys(struct toml *t)
{
	do {
		int rc = 0;

		skip(t, false);
		if (t->depth == TOML_DEPTH)
			return expected(t, "a path of at most 16 keys");
		if (peek(t) == '"' || peek(t) == '\'') {
			rc = read_string(t, &t->path[t->depth]);
		} else if (is_bare(peek(t))) {
			t->path[t->depth] = t->pool + t->used;
			while (is_bare(peek(t)))
				put(t, *t->at++);
			put(t, '\0');
		} else {
			return expected(t, "a key");
		}
		if (rc != 0)
			return rc;
		t->depth++;
		skip(t, false);
	} while (take(t, "."));
	return 0;
}

/* Reads KEYS = VALUE; the path and the pool are as before. */
static int
read_pair(struct toml *t)
{
	size_t depth = t->depth, used = t->used;
	int rc = read_keys(t);

	if (rc == 0 && !take(t, "="))
		rc = expected(t, "=");
	if (rc == 0) {
		skip(t, false);
		rc = read_value(t);
	}
	t->depth = depth;
	t->used = used;
	return rc;
}

/* Values */

static int
read_array(struct toml *t)
{
	size_t index = t->index;
	int rc = 0;

	t->arrays++;
	t->index = 0;
	for (skip(t, true); rc == 0 && !take(t, "]"); t->index++) {
		rc = read_value(t);
		skip(t, true);
		if (rc == 0 && !take(t, ",") && peek(t) != ']')
			rc = expected(t, ", or ]");
		skip(t, true);
	}
	t->arrays--;
	t->index = index;
	return rc;
}

static int
read_inline(struct toml *t)
{
	int rc = 0;

	skip(t, false);
	if (take(t, "}"))
		return 0;
	do {
		rc = read_pair(t);
		skip(t, false);
	} while (rc == 0 && take(t, ","));
	return rc != 0 ? rc : take(t, "}") ? 0 : expected(t, ", or }");
}

static int
read_value(struct toml *t)
{
	size_t used = t->used;
	const char *text;
	int c = peek(t), rc;

	if (t->nested == TOML_DEPTH)
		return expected(t, "at most 16 nested values");
	t->nested++;
	if (c == '"' || c == '\'') {
		rc = read_string(t, &text);
		if (rc == 0)
			rc = report(t, TOML_STRING, text, false);
	} else if (take(t, "[")) {
		rc = read_array(t);
	} else if (take(t, "{")) {
		rc = read_inline(t);
	} else if (take(t, "true") || take(t, "false")) {
		rc = is_bare(peek(t)) ? expected(t, "a value") :
		    report(t, TOML_BOOL, "", t->at[-2] == 'u');
	} else {
		text = t->pool + used;
		while (is_bare(c = peek(t)) || c == '+' || c == '.' || c == ':')
			put(t, *t->at++);
		put(t, '\0');
		rc = *text == '\0' ? expected(t, "a value") :
		    report(t, TOML_OTHER, text, false);
	}
	t->used = used;
	t->nested--;
	return rc;
}

static int
read_header(struct toml *t)
{
	bool element = take(t, "[");
	int rc;

	t->depth = t->used = 0;
	rc = read_keys(t);
	if (rc == 0 && !take(t, element ? "]]" : "]"))
		rc = expected(t, element ? "]]" : "]");
	t->of_table = t->depth;
	return rc != 0 ? rc : report(t, element ? TOML_ELEMENT : TOML_TABLE,
	    "", false);
}

int
toml_read(const char *text, size_t len,
    int (*item)(void *arg, const struct toml_item *i), void *arg,
    char why[TOML_WHY])
{
	struct toml t = { .at = text, .end = text + len, .line = 1,
		.item = item, .arg = arg, .why = why };
	int rc = 0;

	*why = '\0';
	/* a text of n bytes has at most n keys and values, each with a NUL */
	t.pool = sys_malloc(2 * len + 2);
	if (t.pool == NULL)
		return -ENOMEM;
	take(&t, "\xef\xbb\xbf");
	for (skip(&t, true); rc == 0 && t.at < t.end; skip(&t, true)) {
		rc = take(&t, "[") ? read_header(&t) : read_pair(&t);
		if (rc == 0)
			rc = end_line(&t);
	}
	sys_free(t.pool);
	return rc;
}
