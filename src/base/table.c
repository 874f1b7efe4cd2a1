/*
 * table.c - writing rows as CSV and JSON lines
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/table.h"

#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/quote.h"

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

static int
write_header(struct table *t)
{
	struct strbuf head = { .len = 0 };
	int rc;

	for (size_t i = 0; i < t->count; i++) {
		if (i > 0)
			strbuf_char(&head, ',');
		quote_csv(&head, t->columns[i]);
	}
	strbuf_char(&head, '\n');
	rc = head.failed ? -ENOMEM : fdio_write(t->fd, head.data, head.len);
	strbuf_free(&head);
	t->headed = rc == 0;
	return rc;
}

int
table_end(struct table *t)
{
	if (t->value != t->count && t->err == 0)
		t->err = -EINVAL;
	if (!t->headed && t->err == 0)
		t->err = write_header(t);
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

int
table_comment(struct table *t, const char *key, const char *fmt, ...)
{
	char text[16384];
	va_list ap;

	/* JSON has no comments, so provenance goes into columns instead */
	if (t->format == TABLE_JSON)
		return 0;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *s = text; *s != '\0'; s++)
		if (*s == '\n' || *s == '\r')
			*s = ' ';
	/* the row's buffer is free, because no row has been started */
	strbuf_str(&t->row, "# ");
	quote_bytes(&t->row, key, '\0');
	strbuf_str(&t->row, ": ");
	quote_bytes(&t->row, text, '\0');
	strbuf_char(&t->row, '\n');
	return send_row(t);
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

/* Removes an incomplete last line. */
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

/*
 * Returns 1 if path has a header with exactly these columns, 0 if it has no
 * header, or -EEXIST.
 */
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
	strbuf_free(&t->row);
	sys_free(t);
	return rc;
}
