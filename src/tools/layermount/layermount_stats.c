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

	const uint64_t counts[] = { v.layers, v.unloaded, v.files, v.reads,
		v.read_bytes, v.first_reads, v.trace_bytes,
		push_counted(m->push), v.ahead_units, v.failures, sum.requests,
		sum.retries, sum.wire, sum.useful, sum.whole };
	const uint64_t units[] = { v.units.decoded, v.units.recognized,
		v.units.wrong, v.units.failed };

	table_text(t, event);
	table_real(t, (double)(sys_now_ns() - m->start_ns) / 1e9, 3);
	table_counts(t, counts, sizeof(counts) / sizeof(*counts));
	for (int i = 0; i < HTTP_PHASES; i++) {
		table_int(t, (int64_t)c[i].requests);
		table_int(t, (int64_t)c[i].wire);
	}
	table_counts(t, units, sizeof(units) / sizeof(*units));
	table_int(t, r.ru_maxrss);
	(void)table_end(t);
	(void)table_close(t);
}
