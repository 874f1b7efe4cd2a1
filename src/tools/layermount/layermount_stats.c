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

/* The first two are not counters. */
static const char *const columns[] = {
	"event", "elapsed_s", "layers", "unloaded_layers", "files",
	"reads", "read_B",
	"first_reads", "trace_B", "pushed_B", "ahead_units", "failures",
	"requests", "retries", "wire_B", "useful_B", "whole_bodies",
	"index_requests", "index_wire_B", "read_requests", "read_wire_B",
	"prefetch_requests", "prefetch_wire_B", "background_requests",
	"background_wire_B", "units", "known_units", "wrong_units",
	"failed_units", "cache_used_B", "cache_hits", "cache_misses",
	"cache_failures", "maxrss_KiB"
};

enum { COLUMNS = sizeof(columns) / sizeof(*columns), TEXTS = 2 };

void
stats_gather(struct layermount *m, struct stats *s)
{
	struct rusage r;

	*s = (struct stats){ .elapsed_s = (double)(sys_now_ns() - m->start_ns)
		/ 1e9 };
	getrusage(RUSAGE_SELF, &r);
	s->maxrss_KiB = (uint64_t)r.ru_maxrss;
	if (m->http != NULL)
		http_counted(m->http, s->phases);
	for (int i = 0; i < HTTP_PHASES; i++) {
		s->http.requests += s->phases[i].requests;
		s->http.retries += s->phases[i].retries;
		s->http.wire += s->phases[i].wire;
		s->http.useful += s->phases[i].useful;
		s->http.whole += s->phases[i].whole;
	}
	vfs_counted(m->vfs, &s->vfs);
	if (m->cache != NULL)
		cache_store_counted(m->cache, &s->cache);
	s->pushed_bytes = push_counted(m->push);
}

/* Fills in the counters in the order of the columns. */
static void
list_counters(const struct stats *s, uint64_t counters[COLUMNS])
{
	const uint64_t all[COLUMNS - TEXTS] = { s->vfs.layers,
		s->vfs.unloaded, s->vfs.files, s->vfs.reads,
		s->vfs.read_bytes, s->vfs.first_reads, s->vfs.trace_bytes,
		s->pushed_bytes, s->vfs.ahead_units, s->vfs.failures,
		s->http.requests, s->http.retries, s->http.wire,
		s->http.useful, s->http.whole,
		s->phases[HTTP_INDEX].requests, s->phases[HTTP_INDEX].wire,
		s->phases[HTTP_READ].requests, s->phases[HTTP_READ].wire,
		s->phases[HTTP_PREFETCH].requests,
		s->phases[HTTP_PREFETCH].wire,
		s->phases[HTTP_BACKGROUND].requests,
		s->phases[HTTP_BACKGROUND].wire, s->vfs.units.decoded,
		s->vfs.units.recognized, s->vfs.units.wrong,
		s->vfs.units.failed, s->cache.used, s->cache.hits,
		s->cache.misses, s->cache.failures, s->maxrss_KiB };

	memcpy(counters, all, sizeof(all));
}

void
stats_json(const struct stats *s, struct strbuf *b)
{
	uint64_t counters[COLUMNS];

	list_counters(s, counters);
	for (int i = 0; i < COLUMNS - TEXTS; i++)
		strbuf_fmt(b, "%s\"%s\":%llu", i == 0 ? "" : ",",
		    columns[i + TEXTS], (unsigned long long)counters[i]);
}

void
stats_write(struct layermount *m, const char *event)
{
	uint64_t counters[COLUMNS];
	struct table *t;
	struct stats s;

	if (m->stats_fd < 0 || table_to_fd(&t, m->stats_fd, TABLE_JSON,
	    columns, COLUMNS) != 0)
		return;
	stats_gather(m, &s);
	list_counters(&s, counters);
	table_text(t, event);
	table_real(t, s.elapsed_s, 3);
	table_counts(t, counters, COLUMNS - TEXTS);
	(void)table_end(t);
	(void)table_close(t);
}
