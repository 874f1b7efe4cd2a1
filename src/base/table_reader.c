/*
 * table_reader.c - reading CSV rows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/table.h"

#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_B = 1 << 20, COLUMNS_MAX = 1024 };

/* The text of a row, unquoted in place, and the start of each value in it. */
struct row {
	char *text;
	size_t len, cap;
	size_t start[COLUMNS_MAX];
	int count;
};

struct table_reader {
	FILE *file;
	struct row header, row;
	uint64_t line, row_line;
};

static int
row_put(struct row *r, char c)
{
	if (r->len == r->cap) {
		size_t cap = r->cap == 0 ? 512 : 2 * r->cap;
		char *text = sys_realloc(r->text, cap);

		if (cap > LINE_MAX_B || text == NULL) {
			r->text = text != NULL ? text : r->text;
			return text == NULL ? -ENOMEM : -EINVAL;
		}
		r->text = text;
		r->cap = cap;
	}
	r->text[r->len++] = c;
	return 0;
}

static int
row_next_value(struct row *r)
{
	if (r->count == COLUMNS_MAX)
		return -EINVAL;
	r->start[r->count++] = r->len;
	return 0;
}

/* Skips comments and empty lines; returns the first character after them. */
static int
first_char(struct table_reader *t)
{
	int c;

	while ((c = getc(t->file)) == '#' || c == '\n') {
		while (c != '\n' && c != EOF)
			c = getc(t->file);
		t->line++;
		if (c == EOF)
			return EOF;
	}
	return c;
}

/* Reads one row.  Returns 1, 0 at the end, or -errno. */
static int
read_row(struct table_reader *t, struct row *r)
{
	bool quoted = false, at_start = true;
	int c = first_char(t), rc;

	r->len = 0;
	r->count = 0;
	if (c == EOF)
		return !ferror(t->file) ? 0 : errno == EISDIR ? -EISDIR : -EIO;
	t->row_line = t->line + 1;
	rc = row_next_value(r);
	for (; rc == 0; c = getc(t->file)) {
		if (c == EOF) {
			rc = quoted ? -EINVAL : 0;
			break;
		}
		t->line += c == '\n';
		if (c == '"' && (quoted || at_start)) {
			int d = quoted ? getc(t->file) : EOF;

			if (quoted && d == '"') {
				rc = row_put(r, '"');
				continue;
			}
			if (quoted && d != EOF)
				ungetc(d, t->file);
			quoted = !quoted;
			at_start = false;
		} else if (quoted) {
			rc = row_put(r, (char)c);
		} else if (c == '\n') {
			break;
		} else if (c == ',') {
			rc = row_put(r, '\0');
			if (rc == 0)
				rc = row_next_value(r);
			at_start = true;
		} else {
			at_start = false;
			if (c != '\r')
				rc = row_put(r, (char)c);
		}
	}
	if (rc == 0)
		rc = row_put(r, '\0');
	return rc == 0 ? 1 : rc;
}

/*
 * Skips a byte order mark, which spreadsheets write before CSV in UTF-8.
 * Returns 0, or -EINVAL if the first byte is that of a mark, but not the rest:
 * no name of a column begins like that.
 */
static int
skip_mark(FILE *file)
{
	int c = getc(file);

	if (c != 0xef) {
		ungetc(c, file);
		return 0;
	}
	return getc(file) == 0xbb && getc(file) == 0xbf ? 0 : -EINVAL;
}

int
table_open(struct table_reader **out, const char *path)
{
	struct table_reader *t = sys_calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		return -ENOMEM;
	t->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	if (t->file == NULL) {
		rc = -errno;
		sys_free(t);
		return rc;
	}
	rc = skip_mark(t->file);
	if (rc == 0)
		rc = read_row(t, &t->header);
	if (rc <= 0) {
		table_reader_free(t);
		return rc == 0 ? -ENODATA : rc;
	}
	*out = t;
	return 0;
}

static bool
same_row(const struct row *a, const struct row *b)
{
	return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

int
table_next(struct table_reader *t)
{
	int rc;

	do
		rc = read_row(t, &t->row);
	while (rc == 1 && same_row(&t->row, &t->header));
	if (rc == 1 && t->row.count != t->header.count)
		return -EINVAL;
	return rc;
}

uint64_t
table_line(const struct table_reader *t)
{
	return t->row_line;
}

int
table_columns(const struct table_reader *t)
{
	return t->header.count;
}

int
table_column(const struct table_reader *t, const char *name)
{
	for (int i = 0; i < t->header.count; i++)
		if (strcmp(t->header.text + t->header.start[i], name) == 0)
			return i;
	return -ENOENT;
}

const char *
table_name(const struct table_reader *t, int column)
{
	return t->header.text + t->header.start[column];
}

const char *
table_value(const struct table_reader *t, int column)
{
	return t->row.text + t->row.start[column];
}

void
table_reader_free(struct table_reader *t)
{
	if (t == NULL)
		return;
	if (t->file != stdin)
		fclose(t->file);
	sys_free(t->header.text);
	sys_free(t->row.text);
	sys_free(t);
}
