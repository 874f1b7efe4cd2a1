/*
 * fsratio.c - predict the size of a tree on a compressing filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "base/table.h"
#include "measure/provenance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static void
on_error(void *arg, size_t item, int err)
{
	struct fsratio *f = arg;
	struct fs_path p = { .s = NULL };
	const char *path = fs_list_path(&f->list, item, &p);

	progress_erase(&f->progress);
	msg_error(&f->msg, "%s/%s: %s",
	    f->o.dirs[f->list.items[item].root], path == NULL ?
	    f->list.items[item].name : path, err == -EAGAIN ?
	    "was truncated while it was being read" : strerror(-err));
	sys_free(p.s);
}

static void
on_model_progress(void *arg, uint64_t bytes)
{
	struct fsratio *f = arg;

	progress_add(&f->progress, bytes);
	progress_draw(&f->progress);
}

static int
add_fs_row(void *arg, const struct fs_row *row)
{
	struct fsratio *f = arg;
	void *rows = f->rows;
	int rc = array_grow(&rows, f->row_count, &f->row_cap,
	    sizeof(*f->rows));

	f->rows = rows;
	if (rc == 0)
		f->rows[f->row_count++] = *row;
	return rc;
}

enum { COLUMNS = 14, VERSION_B = 32 };

/* Writes the version of the libzstd that is used. */
static void
zstd_version(const struct fsratio *f, char text[VERSION_B])
{
	unsigned v = packer_zstd_version(f->zstd);

	snprintf(text, VERSION_B, "%u.%u.%u", v / 10000, v / 100 % 100,
	    v % 100);
}

static bool
uses_zstd(const struct fs_row *r)
{
	return strncmp(r->algorithm, "zstd", 4) == 0;
}

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

/* Writes the rows as CSV or JSON.  Returns 0 or -errno. */
static int
write_rows(struct fsratio *f)
{
	char version[VERSION_B], zstd[VERSION_B + 8];
	const char *const libs[] = { "zlib " ZLIB_VERSION,
	    "lz4 " LZ4_VERSION_STRING, zstd };
	const char *const columns[COLUMNS] = { "series", "fs", "algorithm",
	    "size_from_B", "files", "apparent_B", "logical_B", "physical_B",
	    f->o.fs->whole, "metadata_B", "padding_B", "compressratio",
	    "ratio", "libzstd" };
	char series[PROVENANCE_SERIES_B];
	const struct provenance from = { series, "fsratio", libs,
	    sizeof(libs) / sizeof(libs[0]), f->o.argc, f->o.argv };
	struct table *t;
	int rc, end;

	zstd_version(f, version);
	snprintf(zstd, sizeof(zstd), "zstd %s", version);
	provenance_series(series);
	rc = table_to_fd(&t, STDOUT_FILENO, f->o.json ? TABLE_JSON : TABLE_CSV,
	    columns, COLUMNS);
	if (rc != 0)
		return rc;
	if (f->o.provenance)
		table_inline_comments(t);
	rc = provenance_write(t, &from);
	for (size_t i = 0; rc == 0 && i < f->row_count; i++) {
		const struct fs_row *r = &f->rows[i];

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
		table_text(t, uses_zstd(r) ? version : "");
		rc = table_end(t);
	}
	end = table_close(t);
	return rc != 0 ? rc : end;
}

static void
print_ratios(struct fsratio *f)
{
	/* omit the "_B" of the column name */
	int len = (int)strcspn(f->o.fs->whole, "_");

	if (f->row_count > 0 && f->rows[0].files == 0) {
		msg_note(&f->msg, "there are no files under %s", f->o.dirs[0]);
		return;
	}
	printf("%-13s", "algorithm");
	if (f->o.by_size)
		printf(" %12s", "size");
	printf(" %9s %13s %13s %13.*s %12s %5s %6s\n", "files", "apparent",
	    "physical", len, f->o.fs->whole, "padding", "ratio", "real");
	for (size_t i = 0; i < f->row_count; i++) {
		const struct fs_row *r = &f->rows[i];
		uint64_t hundredths = compressratio(r);
		char real[16] = "-", class[32] = "all";

		if (r->whole_B > 0)
			snprintf(real, sizeof(real), "%.2f", ratio(r));
		printf("%-13s", r->algorithm);
		if (r->size_from_B >= 0)
			snprintf(class, sizeof(class), "%" PRId64 "+",
			    r->size_from_B);
		if (f->o.by_size)
			printf(" %12s", class);
		printf(" %9" PRIu64 " %13" PRIu64 " %13" PRIu64 " %13" PRIu64
		    " %12" PRIu64 " %2" PRIu64 ".%02" PRIu64 " %6s%s\n",
		    r->files, r->apparent_B, r->physical_B, r->whole_B,
		    r->padding_B, hundredths / 100, hundredths % 100, real,
		    r->whole_B > r->apparent_B ? " larger" : "");
	}
	if (f->zstd != NULL) {
		char version[VERSION_B];

		zstd_version(f, version);
		printf("zstd: libzstd %s%s\n", version,
		    packer_zstd_version(f->zstd) == PACKER_ZSTD_ZFS ?
		    ", as in OpenZFS" : "; OpenZFS contains 1.4.5");
	}
	/* errors on standard output are reported at the end */
}

static void
measure_tree(struct fsratio *f)
{
	const struct fs_job job = { .model = f->o.fs, .list = &f->list,
	    .params = &f->o.params,
	    .algorithms = f->o.algorithms, .count = f->o.count,
	    .threads = f->o.threads, .by_size = f->o.by_size,
	    .on_error = on_error, .on_progress = on_model_progress,
	    .row = add_fs_row, .arg = f };
	uint64_t bytes = 0;
	int rc;

	/* a partial result would be wrong */
	f->list.with_children = f->o.fs->children;
	for (int i = 0; i < f->o.dir_count; i++) {
		int fd = sys_openat(AT_FDCWD, f->o.dirs[i],
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

		rc = fd < 0 ? fd : fs_list_add(&f->list, fd, f->o.threads);
		if (rc != 0) {
			msg_error(&f->msg, "%s: %s", f->o.dirs[i],
			    rc == -EFBIG ? "too many files" : strerror(-rc));
			return;
		}
	}
	rc = fs_list_end(&f->list);
	if (rc != 0)
		msg_error(&f->msg, "%s", rc == -EFBIG ? "too many files" :
		    strerror(-rc));
	for (size_t i = 0; i < f->list.count; i++) {
		const struct fs_item *it = &f->list.items[i];

		if (it->err != 0)
			on_error(f, i, it->err);
		if (fs_item_has_data(it))
			bytes += it->size;
	}
	if (rc != 0)
		return;
	progress_start(&f->progress, STDERR_FILENO, bytes, f->msg.quiet);
	rc = f->o.fs->run(&job);
	progress_erase(&f->progress);
	if (rc != 0) {
		msg_error(&f->msg, "%s", strerror(-rc));
		return;
	}
	if (f->o.csv || f->o.json)
		rc = write_rows(f);
	else
		print_ratios(f);
	if (rc != 0)
		msg_error(&f->msg, "standard output: %s", strerror(-rc));
}

int
main(int argc, char **argv)
{
	struct fsratio f = { .row_count = 0 };
	int status;

	fdio_hold_standard();
	status = fsratio_parse(&f, argc, argv);
	if (status < 0) {
		measure_tree(&f);
		fs_list_free(&f.list);
		sys_free(f.rows);
		status = msg_finish(&f.msg);
	}
	packer_zstd_unload(f.zstd);
	return status;
}
