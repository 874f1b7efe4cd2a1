/*
 * fsratio_rows.c - what fsratio says
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "array.h"
#include "provenance.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

static const char *const columns[] = {
	"series", "fs", "algorithm", "size_from_B", "files", "apparent_B",
	"logical_B", "physical_B", "allocated_B", "metadata_B", "padding_B",
	"compressratio", "ratio",
};

#define LIBRARIES "zlib " ZLIB_VERSION, "lz4 " LZ4_VERSION_STRING, \
    "zstd " ZSTD_VERSION_STRING

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

int
fsratio_add(struct fsratio *f, const struct fsratio_row *row)
{
	void *rows = f->rows;
	int rc = array_grow(&rows, f->row_count, &f->row_cap,
	    sizeof(*f->rows));

	f->rows = rows;
	if (rc != 0)
		return rc;
	f->rows[f->row_count++] = *row;
	return 0;
}

/* In hundredths, as ZFS prints it: cut off, not rounded. */
static uint64_t
compressratio(const struct zfs_space *s)
{
	return s->physical_B == 0 ? 100 : s->logical_B * 100 / s->physical_B;
}

static double
ratio(const struct fsratio_row *r, const struct zfs_space *s)
{
	return s->allocated_B == 0 ? 0 :
	    (double)r->apparent_B / (double)s->allocated_B;
}

static int
write_row(struct fsratio *f, struct table *t, const char *series,
    const struct fsratio_row *r)
{
	struct zfs_space all = r->data;

	zfs_add(&all, &r->meta);
	table_text(t, series);
	table_text(t, f->o.fs);
	table_text(t, r->algorithm);
	if (r->size_from_B < 0)
		table_none(t);
	else
		table_int(t, r->size_from_B);
	table_int(t, (int64_t)r->files);
	table_int(t, (int64_t)r->apparent_B);
	table_int(t, (int64_t)all.logical_B);
	table_int(t, (int64_t)all.physical_B);
	table_int(t, (int64_t)all.allocated_B);
	table_int(t, (int64_t)r->meta.allocated_B);
	table_int(t, (int64_t)r->data.allocated_B -
	    (int64_t)r->data.physical_B);
	table_real(t, (double)compressratio(&all) / 100, 2);
	if (all.allocated_B == 0)
		table_none(t);
	else
		table_real(t, ratio(r, &all), 4);
	return table_end(t);
}

static int
write_table(struct fsratio *f)
{
	static const char *const libs[] = { LIBRARIES };
	char series[PROVENANCE_SERIES_B];
	const struct provenance from = { series, "fsratio", libs,
	    sizeof(libs) / sizeof(libs[0]), f->o.argc, f->o.argv };
	struct table *t;
	int rc, end;

	provenance_series(series);
	rc = table_to_fd(&t, STDOUT_FILENO, f->o.json ? TABLE_JSON : TABLE_CSV,
	    columns, COLUMNS);
	if (rc != 0)
		return rc;
	rc = provenance_write(t, &from);
	for (size_t i = 0; rc == 0 && i < f->row_count; i++)
		rc = write_row(f, t, series, &f->rows[i]);
	end = table_close(t);
	return rc != 0 ? rc : end;
}

static void
print_class(const struct fsratio_row *r)
{
	char text[32] = "all";

	if (r->size_from_B >= 0)
		snprintf(text, sizeof(text), "%" PRId64 "+", r->size_from_B);
	printf(" %12s", text);
}

static int
print_table(struct fsratio *f)
{
	printf("%-13s", "algorithm");
	if (f->o.by_size)
		printf(" %12s", "size");
	printf(" %9s %13s %13s %13s %12s %5s %6s\n", "files", "apparent",
	    "physical", "allocated", "padding", "ratio", "saved");
	for (size_t i = 0; i < f->row_count; i++) {
		const struct fsratio_row *r = &f->rows[i];
		struct zfs_space s = r->data;
		uint64_t hundredths;

		zfs_add(&s, &r->meta);
		hundredths = compressratio(&s);
		printf("%-13s", r->algorithm);
		if (f->o.by_size)
			print_class(r);
		printf(" %9" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64
		    " %12" PRIu64 " %2" PRIu64 ".%02" PRIu64 " %5.2f\n",
		    r->files, r->apparent_B, s.physical_B, s.allocated_B,
		    r->data.allocated_B - r->data.physical_B,
		    hundredths / 100, hundredths % 100, ratio(r, &s));
	}
	return fflush(stdout) == EOF || ferror(stdout) ? -EIO : 0;
}

int
fsratio_write(struct fsratio *f)
{
	return f->o.csv || f->o.json ? write_table(f) : print_table(f);
}
