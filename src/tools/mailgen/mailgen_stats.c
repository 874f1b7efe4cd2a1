/*
 * mailgen_stats.c - the statistics of a corpus in one line
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

#include "base/sys.h"
#include "base/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const columns[] = { "files", "mails", "bytes_B", "mean_B",
    "median_B", "densest_KiB", "wall_s", "sha256" };

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static int
by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * Returns the size class with the most messages, from k KiB up to (k + 1) KiB;
 * sizes are sorted.
 */
static int64_t
densest(const uint32_t *sizes, uint64_t count)
{
	uint64_t best = 0, run = 0;
	int64_t at = 0;

	for (uint64_t i = 0; i < count; i++) {
		run = i > 0 && sizes[i] >> 10 == sizes[i - 1] >> 10 ?
		    run + 1 : 1;
		if (run > best) {
			best = run;
			at = sizes[i] >> 10;
		}
	}
	return at;
}

int
mailgen_stats(struct mailgen *g)
{
	uint64_t n = g->o.count, bytes = 0;
	char hex[2 * DIGEST_MAX + 1];
	struct table *t;
	int rc, closed;

	rc = g->o.stats_file == NULL ?
	    table_to_fd(&t, STDERR_FILENO, TABLE_JSON, columns, COLUMNS) :
	    table_append(&t, g->o.stats_file, TABLE_JSON, columns, COLUMNS);
	if (rc != 0)
		return rc;
	qsort(g->sizes, n, sizeof(*g->sizes), by_size);
	for (uint64_t i = 0; i < n; i++)
		bytes += g->sizes[i];
	for (int i = 0; i < DIGEST_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", g->hash[i]);
	table_int(t, (int64_t)g->files);
	table_int(t, (int64_t)n);
	table_int(t, (int64_t)bytes);
	table_real(t, (double)bytes / (double)n, 1);
	table_int(t, g->sizes[n / 2]);
	table_int(t, densest(g->sizes, n));
	table_real(t, (double)(sys_now_ns() - g->start_ns) / 1e9, 3);
	table_text(t, hex);
	rc = table_end(t);
	closed = table_close(t);
	return rc != 0 ? rc : closed;
}
