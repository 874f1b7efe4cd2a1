/*
 * coldwalk_summary.c - reporting the summary of a walk as a row or as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/sys.h"
#include "base/table.h"
#include "measure/kernel_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const columns[] = {
	"series", "files", "duplicates", "links", "others", "errors",
	"damaged", "bytes_B", "read_B", "stored_B", "device_B",
	"own_device_B", "wall_s", "user_s", "sys_s", "util", "threads", "hash",
	"cold", "why", "made_cold", "found_pages", "found_resident_pages",
	"before_pages", "before_resident_pages", "after_pages",
	"after_resident_pages", "image_pages", "image_resident_pages",
	"unseen_files", "maxrss_KiB", "kernel_squashfs"
};

static void
put_pages(struct table *t, const struct cold_count *n)
{
	/*
	 * a count would be misleading if the pages of some files are not
	 * visible
	 */
	if (n->files == 0) {
		table_none(t);
		table_none(t);
		return;
	}
	table_int(t, (int64_t)n->pages);
	if (n->unseen > 0)
		table_none(t);
	else
		table_int(t, (int64_t)n->resident);
}

void
coldwalk_ask_kernel(struct coldwalk *c)
{
	if ((c->o.summary || c->msg.verbose > 0) &&
	    kernel_config("CONFIG_SQUASHFS", c->kernel,
	    sizeof(c->kernel)) != 0)
		snprintf(c->kernel, sizeof(c->kernel), "unknown");
}

static double
util(const struct coldwalk *c)
{
	return (c->user_s + c->sys_s) / c->wall_s;
}

static long
maxrss_KiB(void)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	return ru.ru_maxrss;
}

/* Words */

static void
say_pages(int fd, const char *name, const struct cold_count *n)
{
	if (n->files == 0)
		return;
	if (n->unseen > 0)
		dprintf(fd, "%-18s unknown, of %" PRIu64 " pages; %" PRIu64
		    " files reveal theirs only to their owner\n", name,
		    n->pages, n->unseen);
	else
		dprintf(fd, "%-18s %" PRIu64 " of %" PRIu64 " pages\n", name,
		    n->resident, n->pages);
}

static int
write_text(const struct coldwalk *c, int fd)
{
	const struct walk_result *w = &c->total;
	const struct cold_report *r = &c->report;
	int n;

	dprintf(fd, "files:             %" PRIu64 ", %" PRIu64 " of them "
	    "duplicates; %" PRIu64 " links, %" PRIu64 " others\n", w->files,
	    w->duplicates, w->links, w->others);
	dprintf(fd, "errors:            %" PRIu64 " files, %" PRIu64 " damaged "
	    "parts of images\n", w->errors, w->damaged);
	dprintf(fd, "bytes:             %" PRIu64 ", %" PRIu64 " read, stored "
	    "in %" PRIu64 "\n", w->bytes, w->read_B, w->stored_B);
	dprintf(fd, "from devices:      %" PRIu64 " bytes by this process",
	    r->own_B);
	if (r->device_B >= 0)
		dprintf(fd, ", %" PRId64 " by all", r->device_B);
	dprintf(fd, "\nwall:              %.3f s\n", c->wall_s);
	dprintf(fd, "user, sys:         %.3f s, %.3f s\n", c->user_s,
	    c->sys_s);
	dprintf(fd, "utilisation:       %.2f CPUs of %u threads\n", util(c),
	    c->o.threads);
	dprintf(fd, "hash:              %s\n", c->o.hash);
	dprintf(fd, "cold:              %s%s%s\n", cold_word(r->state),
	    *r->why != '\0' ? ", " : "", r->why);
	dprintf(fd, "made cold by:      %s\n", r->made);
	say_pages(fd, "found in memory:", &r->found);
	say_pages(fd, "before reading:", &r->before);
	say_pages(fd, "after reading:", &r->after);
	say_pages(fd, "underlying images:", &r->images);
	n = dprintf(fd, "peak memory:       %ld KiB\n", maxrss_KiB());
	if (r->squashfs)
		n = dprintf(fd, "kernel's squashfs: %s\n", c->kernel);
	return n < 0 ? -EIO : 0;
}

int
coldwalk_write_summary(const struct coldwalk *c, int fd)
{
	const struct walk_result *w = &c->total;
	const uint64_t counts[] = { w->files, w->duplicates, w->links,
	    w->others, w->errors, w->damaged, w->bytes, w->read_B,
	    w->stored_B };
	const struct cold_report *r = &c->report;
	struct table *t = NULL;
	int closed, rc;

	if (!c->o.summary || (!c->o.csv && !c->o.json))
		return write_text(c, fd);
	rc = coldwalk_open_table(c, &t, fd, columns,
	    sizeof(columns) / sizeof(columns[0]));
	if (rc != 0)
		goto out;
	table_text(t, c->series);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		table_int(t, (int64_t)counts[i]);
	table_known(t, r->device_B);
	table_int(t, (int64_t)r->own_B);
	table_real(t, c->wall_s, 6);
	table_real(t, c->user_s, 6);
	table_real(t, c->sys_s, 6);
	table_real(t, util(c), 3);
	table_int(t, c->o.threads);
	table_text(t, c->o.hash);
	table_text(t, cold_word(r->state));
	table_text(t, *r->why != '\0' ? r->why : NULL);
	table_text(t, r->made);
	put_pages(t, &r->found);
	put_pages(t, &r->before);
	put_pages(t, &r->after);
	put_pages(t, &r->images);
	table_int(t, (int64_t)(r->before.unseen + r->images.unseen));
	table_int(t, maxrss_KiB());
	table_text(t, r->squashfs ? c->kernel : NULL);
	rc = table_end(t);
out:
	closed = table_close(t);
	return rc != 0 ? rc : closed;
}
