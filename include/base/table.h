/*
 * table.h - writing rows as CSV or JSON lines, and reading CSV
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * CSV is RFC 4180 with LF line endings and one header line; JSON lines hold one
 * object per line keyed by the same names.  Numbers are formatted here, in the
 * C locale.  A missing value is empty in CSV and null in JSON.  Comments, which
 * record provenance, are lines "# key: value".  They are kept out of the rows,
 * since most readers of CSV take the first line for the header.
 *
 * A struct table or table_reader belongs to one thread at a time.
 */
#ifndef COLDPRESS_TABLE_H
#define COLDPRESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum table_format { TABLE_CSV, TABLE_JSON };

struct table;

/*
 * Writes rows to descriptor fd, which is not closed.  columns holds count
 * names, with units (wall_s, in_B), that must outlive the table.  Nothing is
 * written yet.  Returns 0 or -ENOMEM.
 */
int table_to_fd(struct table **t, int fd, enum table_format format,
    const char *const *columns, size_t count);

/*
 * Appends rows to the file path, which is created if necessary and must outlive
 * the table.  An incomplete last line, left by a writer that was killed, is
 * removed first.  Returns 0,
 * -EEXIST (the file has a different CSV header) or -errno.
 */
int table_append(struct table **t, const char *path, enum table_format format,
    const char *const *columns, size_t count);

/*
 * For --stats: appends lines of JSON to path, or writes them to standard error
 * for "-".  Returns as the above.
 */
int table_to_stats(struct table **t, const char *path,
    const char *const *columns, size_t count);

/*
 * Writes comments between the rows of CSV.  Otherwise they go to the file
 * PATH.provenance if table_append() opened the regular file PATH, or nowhere.
 */
void table_inline_comments(struct table *t);

/*
 * Opens the comments of the rows in path: those between the rows, or those in
 * path.provenance.  Returns NULL, with errno set, if it cannot be opened.
 */
FILE *table_open_comments(const char *path, bool inlined);

/* Writes a comment line, "# key: value", immediately.  Returns 0 or -errno. */
int table_comment(struct table *t, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * These functions add the next value to the current row.  Errors are reported
 * by table_end().  table_text copies value; NULL means missing.  table_known
 * writes a number, or a missing value if it is negative; table_counts writes
 * several, below 2^63.  table_real writes the
 * given number of decimals; a non-finite value is missing.
 */
void table_text(struct table *t, const char *value);
void table_int(struct table *t, int64_t value);
void table_known(struct table *t, int64_t value);
void table_counts(struct table *t, const uint64_t *values, size_t count);
void table_real(struct table *t, double value, int digits);
void table_bool(struct table *t, bool value);
void table_none(struct table *t);

/*
 * Ends the row, writing it with one write(2), after the header if that has not
 * been written.  Returns 0, -EINVAL (not one value for each column) or -errno.
 */
int table_end(struct table *t);

/*
 * table_hold() buffers all further rows until table_release() writes them with
 * one write(2); after that, rows are again written one by one.  Returns 0 or
 * -errno.
 */
void table_hold(struct table *t);
int table_release(struct table *t);

/*
 * Frees t, and closes the descriptor opened by table_append().  Returns 0 or
 * -errno.
 */
int table_close(struct table *t);

struct table_reader;

/*
 * Starts reading CSV from path, or from standard input for "-".  A byte order
 * mark is skipped.  Returns 0, -ENODATA (no header line) or -errno.
 */
int table_open(struct table_reader **r, const char *path);

/* The same for an open file, which the caller closes after the reader. */
int table_open_file(struct table_reader **r, FILE *f);

/*
 * Reads the next row.  Returns 1; 0 at the end; -EINVAL (a row with a different
 * number of values, an unclosed quote, a line over 1 MiB); or another -errno.
 * A repeated header line is skipped, so that files can be concatenated with
 * cat(1).
 */
int table_next(struct table_reader *r);

/* Returns the line number, counted from 1, at which the current row began. */
uint64_t table_line(const struct table_reader *r);

/* Return the number of columns and a column's name, after table_open(). */
int table_columns(const struct table_reader *r);
const char *table_name(const struct table_reader *r, int column);

/*
 * Returns the index of a column by its name, or -ENOENT; available after
 * table_open().
 */
int table_column(const struct table_reader *r, const char *name);

/*
 * Returns a value of the current row, "" if it is missing.  It belongs to the
 * reader and is valid until the next call to table_next().
 */
const char *table_value(const struct table_reader *r, int column);

/* Frees r, which may be NULL, and closes its file. */
void table_reader_free(struct table_reader *r);

#endif
