/*
 * table.c - rows: the one writer and the one reader of CSV and JSON lines
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/table.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct table {
	int fd;
	bool owns_fd;
	bool headed;			/* the header stands, or none is due */
	bool held;			/* rows wait for table_release() */
	enum table_format format;
	const char *const *columns;
	size_t count, value;		/* columns; values of the row so far */
	char *row;
	size_t len, cap;
	int err;			/* the first failure of the row */
};

static void
put(struct table *t, const char *s, size_t n)
{
	/* an empty value may be the first, when there is no row yet */
	if (n == 0)
		return;
	if (t->cap - t->len < n) {
		size_t cap = 2 * (t->cap + n);
		char *row = sys_realloc(t->row, cap);

		if (row == NULL) {
			t->err = -ENOMEM;
			return;
		}
		t->row = row;
		t->cap = cap;
	}
	memcpy(t->row + t->len, s, n);
	t->len += n;
}

/* Whether s is what put_bytes() writes for a byte of no character. */
static bool
is_escape(const unsigned char *s)
{
	return s[0] == '\\' && s[1] == 'x' && strchr("0123456789abcdef",
	    s[2] == '\0' ? 'x' : s[2]) != NULL &&
	    strchr("0123456789abcdef", s[3] == '\0' ? 'x' : s[3]) != NULL;
}

/* How much of s is ASCII that stands for itself. */
static size_t
plain_len(const unsigned char *s, char quote)
{
	size_t n = 0;

	while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '\\' &&
	    s[n] != (unsigned char)quote)
		n++;
	return n;
}

/*
 * Text that need not be UTF-8, as UTF-8: a byte of no character becomes \xHH,
 * and a backslash before an xHH of the text's own \x5c, so that what was
 * there can be had back.  quote is written twice.
 */
static void
put_bytes(struct table *t, const char *text, char quote)
{
	const unsigned char *s = (const unsigned char *)text;
	char esc[8];

	while (*s != '\0') {
		size_t n = plain_len(s, quote);

		if (n == 0)
			n = utf8_length((const char *)s);
		if (n == 0 || is_escape(s)) {
			snprintf(esc, sizeof(esc), "\\x%02x", *s);
			put(t, esc, 4);
			s++;
			continue;
		}
		if (*s == (unsigned char)quote)
			put(t, (const char *)s, 1);
		put(t, (const char *)s, n);
		s += n;
	}
}

static void
put_csv(struct table *t, const char *s)
{
	if (strpbrk(s, ",\"\r\n") == NULL && *s != '#') {
		put_bytes(t, s, '\0');
		return;
	}
	put(t, "\"", 1);
	put_bytes(t, s, '"');
	put(t, "\"", 1);
}

/*
 * JSON must be UTF-8 and a file's name need not be: a byte of no character
 * becomes U+DC00 + byte, the convention of Python's surrogateescape.
 */
static void
put_json(struct table *t, const char *text)
{
	const char *s = text;
	char esc[8];

	put(t, "\"", 1);
	while (*s != '\0') {
		size_t n = utf8_length(s);
		unsigned char c = (unsigned char)s[n == 2];

		if (n == 0)
			snprintf(esc, sizeof(esc), "\\udc%02x", c);
		else if (*s == '"' || *s == '\\')
			snprintf(esc, sizeof(esc), "\\%c", *s);
		else if (utf8_is_control(s))
			snprintf(esc, sizeof(esc), "\\u%04x", c);
		else
			*esc = '\0';
		*esc != '\0' ? put(t, esc, strlen(esc)) : put(t, s, n);
		s += n == 0 ? 1 : n;
	}
	put(t, "\"", 1);
}

/* What stands before a value: a comma, and in JSON its name. */
static void
next_value(struct table *t)
{
	bool json = t->format == TABLE_JSON;

	if (t->value >= t->count) {
		t->err = -EINVAL;
		return;
	}
	if (t->value > 0)
		put(t, ",", 1);
	else if (json)
		put(t, "{", 1);
	if (json) {
		put_json(t, t->columns[t->value]);
		put(t, ":", 1);
	}
	t->value++;
}

static void
put_word(struct table *t, const char *word)
{
	next_value(t);
	put(t, word, strlen(word));
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
		put_json(t, value);
	else
		put_csv(t, value);
}

void
table_int(struct table *t, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_word(t, text);
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
flush(struct table *t)
{
	int rc = t->err != 0 ? t->err : fdio_write(t->fd, t->row, t->len);

	t->len = 0;
	t->value = 0;
	t->err = 0;
	return rc;
}

static int
write_header(struct table *t)
{
	int rc;

	for (size_t i = 0; i < t->count; i++) {
		if (i > 0)
			put(t, ",", 1);
		put_csv(t, t->columns[i]);
	}
	put(t, "\n", 1);
	rc = flush(t);
	t->headed = rc == 0;
	return rc;
}

int
table_end(struct table *t)
{
	struct table row = *t;
	int rc = 0;

	if (t->value != t->count && t->err == 0)
		t->err = -EINVAL;
	if (!t->headed && t->err == 0) {
		/* the row waits while its header is written */
		t->row = NULL;
		t->len = t->cap = 0;
		rc = write_header(t);
		sys_free(t->row);
		t->row = row.row;
		t->len = row.len;
		t->cap = row.cap;
	}
	put(t, t->format == TABLE_JSON ? "}\n" : "\n",
	    t->format == TABLE_JSON ? 2 : 1);
	if (rc != 0)
		t->err = rc;
	if (!t->held || t->err != 0)
		return flush(t);
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
	return flush(t);
}

int
table_comment(struct table *t, const char *key, const char *fmt, ...)
{
	char text[16384];
	va_list ap;

	/* JSON has no comments; provenance there is columns of the row */
	if (t->format == TABLE_JSON)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s != '\0'; s++)
		if (*s == '\n' || *s == '\r')
			*s = ' ';
	/* like a row, which is not begun yet, or is ended */
	put(t, "# ", 2);
	put_bytes(t, key, '\0');
	put(t, ": ", 2);
	put_bytes(t, text, '\0');
	put(t, "\n", 1);
	return flush(t);
}

int
table_to_fd(struct table **out, int fd, enum table_format format,
    const char *const *columns, size_t count)
{
	struct table *t = sys_calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->fd = fd;
	t->format = format;
	t->columns = columns;
	t->count = count;
	t->headed = format == TABLE_JSON;
	*out = t;
	return 0;
}

/* Cuts off a last line without its newline. */
static int
cut_partial(int fd)
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

/* 1 if path has the header of these columns, 0 if it has none, or -EEXIST. */
static int
check_header(const char *path, const char *const *columns, size_t count)
{
	struct table_reader *r = NULL;
	int rc = table_open(&r, path);

	if (rc == -ENODATA)
		return 0;
	if (rc != 0)
		return rc;
	rc = table_columns(r) == (int)count ? 1 : -EEXIST;
	for (size_t i = 0; rc == 1 && i < count; i++)
		if (table_column(r, columns[i]) != (int)i)
			rc = -EEXIST;
	table_reader_free(r);
	return rc;
}

int
table_append(struct table **out, const char *path, enum table_format format,
    const char *const *columns, size_t count)
{
	int fd, rc;

	fd = sys_openat(AT_FDCWD, path,
	    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return fd;
	rc = cut_partial(fd);
	if (rc == 0 && format == TABLE_CSV)
		rc = check_header(path, columns, count);
	if (rc >= 0) {
		bool headed = rc == 1;

		rc = table_to_fd(out, fd, format, columns, count);
		if (rc == 0) {
			(*out)->owns_fd = true;
			(*out)->headed |= headed;
			return 0;
		}
	}
	sys_close(fd);
	return rc;
}

int
table_close(struct table *t)
{
	int rc = 0;

	if (t == NULL)
		return 0;
	if (t->owns_fd)
		rc = sys_close(t->fd);
	sys_free(t->row);
	sys_free(t);
	return rc;
}
