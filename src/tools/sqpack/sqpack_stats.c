/*
 * sqpack_stats.c - reporting the statistics of an image in one row
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const columns[] = { "method", "level", "block_B",
    "threads", "files_B", "read_B", "duplicates", "duplicate_B", "units",
    "raw_units", "fragments", "raw_B", "data_B", "inodes_B", "listings_B",
    "tables_B", "used_B", "image_B", "size_pct", "wall_s", "user_s", "sys_s",
    "data_s", "read_busy_s", "read_stalled_s", "hash_busy_s", "compress_busy_s",
    "compress_stalled_s", "write_busy_s", "write_stalled_s",
    "utilisation_pct", "maxrss_KiB", "versions" };

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static double
cpu_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void
put_sizes(struct table *t, const struct sqpack *p)
{
	const struct sqw_data *d = &p->image.data;
	uint64_t all = d->in_B + d->duplicate_B;

	table_text(t, p->image.pack.method->name);
	table_known(t, p->image.pack.method->level_max == 0 ||
	    p->image.pack.method->filters ? -1 :
	    p->image.pack.level);
	table_int(t, p->image.pack.block);
	table_int(t, p->image.pack.threads);
	table_int(t, (int64_t)all);
	table_int(t, (int64_t)d->in_B);
	table_int(t, (int64_t)d->duplicates);
	table_int(t, (int64_t)d->duplicate_B);
	table_int(t, (int64_t)d->blocks);
	table_int(t, (int64_t)d->raw_blocks);
	table_int(t, d->fragments);
	table_int(t, (int64_t)d->raw_B);
	table_int(t, (int64_t)(p->image.space.used_B - p->image.space.inodes_B -
	    p->image.space.listings_B - p->image.space.tables_B));
	table_int(t, (int64_t)p->image.space.inodes_B);
	table_int(t, (int64_t)p->image.space.listings_B);
	table_int(t, (int64_t)p->image.space.tables_B);
	table_int(t, (int64_t)p->image.space.used_B);
	table_int(t, (int64_t)p->image.space.image_B);
	table_real(t, 100.0 * (double)p->image.space.image_B / (double)all, 2);
}

/*
 * Writes how long a stage was busy and how long it was stalled, out of its
 * total time.
 */
static void
put_stage(struct table *t, double all_s, double stalled_s)
{
	table_real(t, all_s > stalled_s ? all_s - stalled_s : 0, 3);
	table_real(t, stalled_s, 3);
}

/*
 * Writes the times of the stages.  The reader reads and hashes, and stalls
 * waiting for a free slot; threads compress, and stall waiting for data; the
 * writer is busy in write(2), and stalls waiting for blocks.
 */
static void
put_times(struct table *t, const struct sqpack *p)
{
	const struct pipeline_stats *s = &p->image.data.stats;
	double wall = (double)p->wall_ns / 1e9;
	double data = (double)p->image.data_ns / 1e9;
	double hash = (double)p->image.data.hash_ns / 1e9;
	double idle = (double)s->idle_ns / 1e9;
	double writes = (double)s->stall_out_ns / 1e9;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	table_real(t, wall, 3);
	table_real(t, cpu_seconds(u.ru_utime), 3);
	table_real(t, cpu_seconds(u.ru_stime), 3);
	table_real(t, data, 3);
	put_stage(t, data - hash, (double)s->stall_work_ns / 1e9);
	table_real(t, hash, 3);
	put_stage(t, data * p->image.pack.threads, idle);
	put_stage(t, data, data > writes ? data - writes : 0);
	table_real(t, 100.0 * (data - idle / p->image.pack.threads) / wall, 1);
	table_int(t, u.ru_maxrss);
}

/* Writes the versions of the libraries that determine the image's bytes. */
static void
put_versions(struct table *t)
{
	char text[SQPACK_VERSIONS_B];

	sqpack_versions(text);
	for (char *s = text; (s = strchr(s, '\n')) != NULL; s++)
		*s = ',';
	table_text(t, text);
}

int
sqpack_write_stats(struct sqpack *p)
{
	bool to_stderr = strcmp(p->o.stats, "-") == 0;
	struct table *t;
	int rc, e;

	rc = to_stderr ? table_to_fd(&t, STDERR_FILENO, TABLE_JSON, columns,
	    COLUMNS) : table_append(&t, p->o.stats, TABLE_JSON, columns,
	    COLUMNS);
	if (rc == 0) {
		put_sizes(t, p);
		put_times(t, p);
		put_versions(t);
		rc = table_end(t);
		e = table_close(t);
		rc = rc != 0 ? rc : e;
	}
	errno = -rc;
	return rc;
}
