/*
 * table.c - writing rows as CSV and JSON lines, and reading CSV
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/table.h"

#include "base/fdio.h"
#include "base/quote.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct table {
	int fd;
	bool owns_fd;
	bool inlined;			/* comments go between the rows */
	const char *path;		/* of a regular file; NULL: none */
	int beside;			/* path.provenance; -1: not open */
	bool headed;			/* the header has been written, or none
					 * is needed */
	bool held;			/* rows are buffered until
					 * table_release() */
	enum table_format format;
	const char *const *columns;
	size_t count, value;		/* columns; values of the row so far */
	struct strbuf row;
	int err;			/* the row's first error */
};

/* Writes the text before a value: a comma and, in JSON, its name. */
static void
next_value(struct table *t)
{
	bool json = t->format == TABLE_JSON;

	if (t->value >= t->count) {
		t->err = -EINVAL;
		return;
	}
	if (t->value > 0)
		strbuf_char(&t->row, ',');
	else if (json)
		strbuf_char(&t->row, '{');
	if (json) {
		quote_json(&t->row, t->columns[t->value]);
		strbuf_char(&t->row, ':');
	}
	t->value++;
}

static void
put_word(struct table *t, const char *word)
{
	next_value(t);
	strbuf_str(&t->row, word);
}

void
table_text(struct table *t, const char *value)
{
	if (value == NULL) {
		table_none(t);
		return;
	}
	next_value(t);
	if (t->format == TABLE_JSON)
		quote_json(&t->row, value);
	else
		quote_csv(&t->row, value);
}

void
table_int(struct table *t, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_word(t, text);
}

void
table_counts(struct table *t, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		table_int(t, (int64_t)values[i]);
}

void
table_known(struct table *t, int64_t value)
{
	if (value < 0)
		table_none(t);
	else
		table_int(t, value);
}

void
table_real(struct table *t, double value, int digits)
{
	char text[400];

	if (!isfinite(value)) {
		table_none(t);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", digits, value);
	put_word(t, text);
}

void
table_bool(struct table *t, bool value)
{
	if (t->format == TABLE_JSON)
		put_word(t, value ? "true" : "false");
	else
		put_word(t, value ? "1" : "0");
}

void
table_none(struct table *t)
{
	put_word(t, t->format == TABLE_JSON ? "null" : "");
}

static int
send_row(struct table *t)
{
	int rc = t->err != 0 ? t->err : t->row.failed ? -ENOMEM :
	    fdio_write(t->fd, t->row.data, t->row.len);

	strbuf_clear(&t->row);
	t->value = 0;
	t->err = 0;
	return rc;
}

int
table_end(struct table *t)
{
	if (t->value != t->count && t->err == 0)
		t->err = -EINVAL;
	if (!t->headed && t->err == 0) {
		struct strbuf head = { .len = 0 };

		for (size_t i = 0; i < t->count; i++) {
			if (i > 0)
				strbuf_char(&head, ',');
			quote_csv(&head, t->columns[i]);
		}
		strbuf_char(&head, '\n');
		t->err = head.failed ? -ENOMEM :
		    fdio_write(t->fd, head.data, head.len);
		strbuf_free(&head);
		t->headed = t->err == 0;
	}
	strbuf_str(&t->row, t->format == TABLE_JSON ? "}\n" : "\n");
	if (!t->held || t->err != 0 || t->row.failed)
		return send_row(t);
	t->value = 0;
	return 0;
}

void
table_hold(struct table *t)
{
	t->held = true;
}

int
table_release(struct table *t)
{
	t->held = false;
	return send_row(t);
}

/* The caller frees the result; NULL if out of memory. */
static char *
comments_name(const char *path)
{
	static const char end[] = ".provenance";
	char *name = sys_malloc(strlen(path) + sizeof(end));

	if (name != NULL)
		strcpy(stpcpy(name, path), end);
	return name;
}

int
table_comment(struct table *t, const char *key, const char *fmt, ...)
{
	char text[16384];
	struct strbuf line = { .len = 0 };
	va_list ap;
	int rc;

	/* JSON has no comments */
	if (t->inlined ? t->format == TABLE_JSON : t->path == NULL)
		return 0;
	if (!t->inlined && t->beside < 0) {
		char *name = comments_name(t->path);

		if (name == NULL)
			return -ENOMEM;
		t->beside = sys_openat(AT_FDCWD, name,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		sys_free(name);
		if (t->beside < 0)
			return t->beside;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s != '\0'; s++)
		if (*s == '\n' || *s == '\r')
			*s = ' ';
	strbuf_str(&line, "# ");
	quote_bytes(&line, key, '\0');
	strbuf_str(&line, ": ");
	quote_bytes(&line, text, '\0');
	strbuf_char(&line, '\n');
	rc = line.failed ? -ENOMEM : fdio_write(t->inlined ? t->fd : t->beside,
	    line.data, line.len);
	strbuf_free(&line);
	return rc;
}

void
table_inline_comments(struct table *t)
{
	t->inlined = true;
}

FILE *
table_open_comments(const char *path, bool inlined)
{
	char *name = inlined ? NULL : comments_name(path);
	FILE *f = NULL;

	if (inlined || name != NULL)
		f = fopen(inlined ? path : name, "re");
	sys_free(name);
	return f;
}

int
table_to_fd(struct table **out, int fd, enum table_format format,
    const char *const *columns, size_t count)
{
	struct table *t = sys_calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->fd = fd;
	t->beside = -1;
	t->format = format;
	t->columns = columns;
	t->count = count;
	t->headed = format == TABLE_JSON;
	*out = t;
	return 0;
}

/* Removes an incomplete last line. */
static int
cut_partial_line(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END), keep = end;
	char buf[4096];

	while (keep > 0) {
		size_t n = keep < (off_t)sizeof(buf) ? (size_t)keep :
		    sizeof(buf);
		ssize_t got = fdio_pread(fd, buf, n, keep - (off_t)n);
		char *nl;

		if (got < 0)
			return (int)got;
		nl = memrchr(buf, '\n', n);
		if (nl != NULL) {
			keep -= (off_t)n - (nl + 1 - buf);
			break;
		}
		keep -= (off_t)n;
	}
	return keep < end && ftruncate(fd, keep) == -1 ? -errno : 0;
}

int
table_append(struct table **out, const char *path, enum table_format format,
    const char *const *columns, size_t count)
{
	struct table_reader *r = NULL;
	struct stat st;
	bool headed = false;
	int fd, rc;

	fd = sys_openat(AT_FDCWD, path,
	    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return fd;
	rc = fstat(fd, &st) == -1 ? -errno : cut_partial_line(fd);
	if (rc == 0 && format == TABLE_CSV) {
		/* a file with a header must have exactly these columns */
		rc = table_open(&r, path);
		headed = rc == 0;
		if (rc == -ENODATA)
			rc = 0;
		if (headed && table_columns(r) != (int)count)
			rc = -EEXIST;
		for (size_t i = 0; headed && rc == 0 && i < count; i++)
			if (table_column(r, columns[i]) != (int)i)
				rc = -EEXIST;
		table_reader_free(r);
	}
	if (rc == 0)
		rc = table_to_fd(out, fd, format, columns, count);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	(*out)->owns_fd = true;
	if (S_ISREG(st.st_mode))
		(*out)->path = path;
	(*out)->headed |= headed;
	return 0;
}

int
table_to_stats(struct table **t, const char *path, const char *const *columns,
    size_t count)
{
	return strcmp(path, "-") == 0 ?
	    table_to_fd(t, STDERR_FILENO, TABLE_JSON, columns, count) :
	    table_append(t, path, TABLE_JSON, columns, count);
}

int
table_close(struct table *t)
{
	int rc = 0;

	if (t == NULL)
		return 0;
	if (t->owns_fd)
		rc = sys_close(t->fd);
	if (t->beside >= 0) {
		int closed = sys_close(t->beside);

		rc = rc != 0 ? rc : closed;
	}
	strbuf_free(&t->row);
	sys_free(t);
	return rc;
}

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
	bool owned;			/* by the reader, which closes it */
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

/* Reads one row.  Returns 1, 0 at the end, or -errno. */
static int
read_row(struct table_reader *t, struct row *r)
{
	bool quoted = false, at_start = true;
	int c, rc;

	/* skip comments and empty lines */
	while ((c = getc(t->file)) == '#' || c == '\n') {
		while (c != '\n' && c != EOF)
			c = getc(t->file);
		t->line++;
		if (c == EOF)
			break;
	}
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

int
table_open(struct table_reader **out, const char *path)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int rc;

	if (f == NULL)
		return -errno;
	rc = table_open_file(out, f);
	if (rc == 0)
		(*out)->owned = f != stdin;
	else if (f != stdin)
		fclose(f);
	return rc;
}

int
table_open_file(struct table_reader **out, FILE *f)
{
	struct table_reader *t = sys_calloc(1, sizeof(*t));
	int rc = 0, c;

	if (t == NULL)
		return -ENOMEM;
	t->file = f;
	/*
	 * skip a byte order mark, which spreadsheets write before CSV in UTF-8;
	 * no name of a column begins with its first byte
	 */
	c = getc(t->file);
	if (c != 0xef)
		ungetc(c, t->file);
	else if (getc(t->file) != 0xbb || getc(t->file) != 0xbf)
		rc = -EINVAL;
	if (rc == 0)
		rc = read_row(t, &t->header);
	if (rc <= 0) {
		table_reader_free(t);
		return rc == 0 ? -ENODATA : rc;
	}
	*out = t;
	return 0;
}

int
table_next(struct table_reader *t)
{
	const struct row *row = &t->row, *header = &t->header;
	int rc;

	do
		rc = read_row(t, &t->row);
	while (rc == 1 && row->len == header->len &&
	    memcmp(row->text, header->text, row->len) == 0);
	if (rc == 1 && row->count != header->count)
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
	if (t->owned)
		fclose(t->file);
	sys_free(t->header.text);
	sys_free(t->row.text);
	sys_free(t);
}
