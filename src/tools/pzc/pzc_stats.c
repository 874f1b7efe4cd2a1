/*
 * pzc_stats.c - reporting the cost of a conversion, as text and as JSON
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/table.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const columns[] = {
	"name", "format", "decompress", "level", "threads", "in_B", "out_B",
	"ratio", "wall_s", "user_s", "sys_s", "util", "stall_in_s",
	"stall_out_s", "stall_work_s", "idle_s", "fill_cpu_s", "work_cpu_s",
	"finish_cpu_s", "join_cpu_s", "check_cpu_s", "write_cpu_s",
	"maxrss_KiB", "levels"
};

static double
ns_to_s(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* Returns the uncompressed size divided by the compressed size. */
static double
ratio_of(const struct pzc_run *r)
{
	double in = (double)r->result->stats.in_bytes;
	double out = (double)r->result->stats.out_bytes;

	return r->decompress ? out / in : in / out;
}

static double
cpu_s(const struct pzc_run *r)
{
	return (double)(r->user_us + r->sys_us) / 1e6;
}

void
pzc_write_stats(struct pzc *p, const char *path, const struct pzc_run *r)
{
	const size_t n = sizeof(columns) / sizeof(columns[0]);
	const struct pipeline_stats *s = &r->result->stats;
	struct table *t = NULL;
	char levels[512];
	struct rusage ru;
	int closed, rc = table_to_stats(&t, path, columns, n);

	if (rc != 0)
		goto out;
	getrusage(RUSAGE_SELF, &ru);
	table_text(t, r->name);
	table_text(t, r->codec == NULL ? "copy" : r->codec->name);
	table_bool(t, r->decompress);
	if (r->decompress || r->adapt != NULL)
		table_none(t);
	else
		table_int(t, r->level);
	table_int(t, r->result->threads);
	table_int(t, (int64_t)s->in_bytes);
	table_int(t, (int64_t)s->out_bytes);
	table_real(t, ratio_of(r), 4);
	table_real(t, ns_to_s(r->wall_ns), 6);
	table_real(t, (double)r->user_us / 1e6, 6);
	table_real(t, (double)r->sys_us / 1e6, 6);
	table_real(t, cpu_s(r) / ns_to_s(r->wall_ns), 3);
	table_real(t, ns_to_s(s->stall_in_ns), 6);
	table_real(t, ns_to_s(s->stall_out_ns), 6);
	table_real(t, ns_to_s(s->stall_work_ns), 6);
	table_real(t, ns_to_s(s->idle_ns), 6);
	table_real(t, ns_to_s(s->fill_cpu_ns), 6);
	table_real(t, ns_to_s(s->work_cpu_ns), 6);
	table_real(t, ns_to_s(s->finish_cpu_ns), 6);
	table_real(t, ns_to_s(s->join_cpu_ns), 6);
	table_real(t, ns_to_s(s->check_cpu_ns), 6);
	table_real(t, ns_to_s(s->write_cpu_ns), 6);
	table_int(t, ru.ru_maxrss);
	if (r->adapt != NULL) {
		adapt_text(r->adapt, levels, sizeof(levels));
		table_text(t, levels);
	} else {
		table_none(t);
	}
	rc = table_end(t);
out:
	closed = table_close(t);
	if (rc == 0)
		rc = closed;
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", path, strerror(-rc));
}

void
pzc_tell(struct pzc *p, const struct pzc_run *r)
{
	const struct pipeline_stats *s = &r->result->stats;
	double wall = ns_to_s(r->wall_ns);

	msg_note(&p->msg, "%s: %llu -> %llu bytes, ratio %.3f, %.3f s wall, "
	    "%.3f s user+sys (%.2f CPUs of %u threads)", r->name,
	    (unsigned long long)s->in_bytes,
	    (unsigned long long)s->out_bytes, ratio_of(r), wall, cpu_s(r),
	    cpu_s(r) / wall, r->result->threads);
	msg_note(&p->msg, "%s: blocked %.3f s on input, %.3f s on output, "
	    "%.3f s on workers; workers idle %.3f s", r->name,
	    ns_to_s(s->stall_in_ns), ns_to_s(s->stall_out_ns),
	    ns_to_s(s->stall_work_ns), ns_to_s(s->idle_ns));
	if (r->adapt != NULL) {
		char levels[512];

		adapt_text(r->adapt, levels, sizeof(levels));
		msg_note(&p->msg, "%s: blocks at each level: %s",
		    r->name, levels);
	}
}
