/*
 * fsratio_rows.c - the output of fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "base/table.h"
#include "measure/provenance.h"

#include <inttypes.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define LIBRARIES "zlib " ZLIB_VERSION, "lz4 " LZ4_VERSION_STRING, \
    "zstd " ZSTD_VERSION_STRING

enum { COLUMNS = 13 };

/* Returns the ratio in hundredths, truncated instead of rounded, as in ZFS. */
static uint64_t
compressratio(const struct fs_row *r)
{
	uint64_t a = r->logical_B, b = r->physical_B;

	if (b == 0)
		return 100;
	return b > UINT64_MAX / 100 ? a / (b / 100) :
	    a / b * 100 + a % b * 100 / b;
}

/* Returns the ratio, or NAN for files that use no space of their own. */
static double
ratio(const struct fs_row *r)
{
	return r->whole_B == 0 ? NAN :
	    (double)r->apparent_B / (double)r->whole_B;
}

static int
write_result(struct fsratio *f, struct table *t, const char *series,
    const struct fs_row *r)
{
	table_text(t, series);
	table_text(t, f->o.fs->name);
	table_text(t, r->algorithm);
	table_known(t, r->size_from_B);
	table_int(t, (int64_t)r->files);
	table_int(t, (int64_t)r->apparent_B);
	table_int(t, (int64_t)r->logical_B);
	table_int(t, (int64_t)r->physical_B);
	table_int(t, (int64_t)r->whole_B);
	table_int(t, (int64_t)r->metadata_B);
	table_int(t, (int64_t)r->padding_B);
	table_real(t, (double)compressratio(r) / 100, 2);
	table_real(t, ratio(r), 4);
	return table_end(t);
}

static int
write_table(struct fsratio *f)
{
	static const char *const libs[] = { LIBRARIES };
	const char *const columns[COLUMNS] = { "series", "fs", "algorithm",
	    "size_from_B", "files", "apparent_B", "logical_B", "physical_B",
	    f->o.fs->whole, "metadata_B", "padding_B", "compressratio",
	    "ratio" };
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
	if (f->o.provenance)
		table_inline_comments(t);
	rc = provenance_write(t, &from);
	for (size_t i = 0; rc == 0 && i < f->row_count; i++)
		rc = write_result(f, t, series, &f->rows[i]);
	end = table_close(t);
	return rc != 0 ? rc : end;
}

static void
print_row(struct fsratio *f, const struct fs_row *r)
{
	uint64_t hundredths = compressratio(r);
	char real[16] = "-", class[32] = "all";

	if (r->whole_B > 0)
		snprintf(real, sizeof(real), "%.2f", ratio(r));
	printf("%-13s", r->algorithm);
	if (r->size_from_B >= 0)
		snprintf(class, sizeof(class), "%" PRId64 "+", r->size_from_B);
	if (f->o.by_size)
		printf(" %12s", class);
	printf(" %9" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64
	    " %12" PRIu64 " %2" PRIu64 ".%02" PRIu64 " %6s%s\n", r->files,
	    r->apparent_B, r->physical_B, r->whole_B, r->padding_B,
	    hundredths / 100, hundredths % 100, real,
	    r->whole_B > r->apparent_B ? " larger" : "");
}

static int
print_table(struct fsratio *f)
{
	/* omit the "_B" of the column name */
	int len = (int)strcspn(f->o.fs->whole, "_");

	if (f->row_count > 0 && f->rows[0].files == 0) {
		msg_note(&f->msg, "there are no files under %s", f->o.dirs[0]);
		return 0;
	}
	printf("%-13s", "algorithm");
	if (f->o.by_size)
		printf(" %12s", "size");
	printf(" %9s %13s %13s %13.*s %12s %5s %6s\n", "files", "apparent",
	    "physical", len, f->o.fs->whole, "padding", "ratio", "real");
	for (size_t i = 0; i < f->row_count; i++)
		print_row(f, &f->rows[i]);
	/* errors on standard output are reported at the end */
	return 0;
}

int
fsratio_write(struct fsratio *f)
{
	return f->o.csv || f->o.json ? write_table(f) : print_table(f);
}
