/*
 * layermount_stats.c - the counters, as a line of JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const columns[] = {
	"event", "elapsed_s", "layers", "unloaded_layers", "files",
	"reads", "read_B",
	"first_reads", "trace_B", "pushed_B", "ahead_units", "failures",
	"requests", "retries", "wire_B", "useful_B", "whole_bodies",
	"index_requests", "index_wire_B", "read_requests", "read_wire_B",
	"prefetch_requests", "prefetch_wire_B", "background_requests",
	"background_wire_B", "units", "known_units", "wrong_units",
	"failed_units", "maxrss_KiB"
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

void
stats_write(struct layermount *m, const char *event)
{
	struct http_counts c[HTTP_PHASES] = { { .requests = 0 } };
	struct http_counts sum = { .requests = 0 };
	struct vfs_counts v;
	struct table *t;
	struct rusage r;

	if (m->stats_fd < 0 || table_to_fd(&t, m->stats_fd, TABLE_JSON,
	    columns, COLUMNS) != 0)
		return;
	getrusage(RUSAGE_SELF, &r);
	if (m->http != NULL)
		http_counted(m->http, c);
	for (int i = 0; i < HTTP_PHASES; i++) {
		sum.requests += c[i].requests;
		sum.retries += c[i].retries;
		sum.wire += c[i].wire;
		sum.useful += c[i].useful;
		sum.whole += c[i].whole;
	}
	vfs_counted(m->vfs, &v);
	table_text(t, event);
	table_real(t, (double)(sys_now_ns() - m->start_ns) / 1e9, 3);
	table_int(t, (int64_t)v.layers);
	table_int(t, (int64_t)v.unloaded);
	table_int(t, (int64_t)v.files);
	table_int(t, (int64_t)v.reads);
	table_int(t, (int64_t)v.read_bytes);
	table_int(t, (int64_t)v.first_reads);
	table_int(t, (int64_t)v.trace_bytes);
	table_int(t, (int64_t)push_counted(m->push));
	table_int(t, (int64_t)v.ahead_units);
	table_int(t, (int64_t)v.failures);
	table_int(t, (int64_t)sum.requests);
	table_int(t, (int64_t)sum.retries);
	table_int(t, (int64_t)sum.wire);
	table_int(t, (int64_t)sum.useful);
	table_int(t, (int64_t)sum.whole);
	for (int i = 0; i < HTTP_PHASES; i++) {
		table_int(t, (int64_t)c[i].requests);
		table_int(t, (int64_t)c[i].wire);
	}
	table_int(t, (int64_t)v.units.decoded);
	table_int(t, (int64_t)v.units.recognized);
	table_int(t, (int64_t)v.units.wrong);
	table_int(t, (int64_t)v.units.failed);
	table_int(t, r.ru_maxrss);
	(void)table_end(t);
	(void)table_close(t);
}
