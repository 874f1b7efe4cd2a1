/*
 * sqpack.c - build a squashfs image from a tree or an archive
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/fdio.h"
#include "base/output.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/utc.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const columns[] = { "method", "level", "block_B",
    "threads", "files_B", "read_B", "duplicates", "duplicate_B", "units",
    "raw_units", "copied_units", "fragments", "raw_B", "data_B", "inodes_B", "listings_B",
    "tables_B", "used_B", "image_B", "size_pct", "wall_s", "user_s", "sys_s",
    "data_s", "read_busy_s", "read_stalled_s", "hash_busy_s", "compress_busy_s",
    "compress_stalled_s", "write_busy_s", "write_stalled_s",
    "utilisation_pct", "maxrss_KiB", "versions" };

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

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
 * Writes the statistics, as a line of JSON.  Of the stages, the reader reads
 * and hashes, and stalls waiting for a free slot; threads compress, and stall
 * waiting for data; the writer is busy in write(2), and stalls waiting for
 * blocks.  The versions are those of the libraries that determine the image's
 * bytes.
 */
static int
write_stats(const struct sqpack *p)
{
	const struct sqw_data_options *pack = &p->image.pack;
	const struct sqt_image_space *space = &p->image.space;
	const struct sqw_data *d = &p->image.data;
	double wall = (double)p->wall_ns / 1e9;
	double data = (double)p->image.data_ns / 1e9;
	double hash = (double)d->hash_ns / 1e9;
	double idle = (double)d->stats.idle_ns / 1e9;
	double writes = (double)d->stats.stall_out_ns / 1e9;
	uint64_t all = d->in_B + d->duplicate_B;
	const uint64_t counts[] = { all, d->in_B, d->duplicates, d->duplicate_B,
		d->blocks, d->raw_blocks, d->copied, d->fragments, d->raw_B,
		space->used_B - space->inodes_B - space->listings_B -
		space->tables_B, space->inodes_B, space->listings_B,
		space->tables_B, space->used_B, space->image_B };
	char text[SQPACK_VERSIONS_B];
	struct rusage u;
	struct table *t;
	int e, rc = table_to_stats(&t, p->o.stats, columns, COLUMNS);

	if (rc != 0)
		return rc;
	table_text(t, pack->method->name);
	table_known(t, pack->method->level_max == 0 || pack->method->filters ?
	    -1 : pack->level);
	table_int(t, pack->block);
	table_int(t, pack->threads);
	table_counts(t, counts, sizeof(counts) / sizeof(*counts));
	table_real(t, 100.0 * (double)space->image_B / (double)all, 2);
	getrusage(RUSAGE_SELF, &u);
	table_real(t, wall, 3);
	table_real(t, (double)utc_span_us(u.ru_utime) / 1e6, 3);
	table_real(t, (double)utc_span_us(u.ru_stime) / 1e6, 3);
	table_real(t, data, 3);
	put_stage(t, data - hash, (double)d->stats.stall_work_ns / 1e9);
	table_real(t, hash, 3);
	put_stage(t, data * pack->threads, idle);
	put_stage(t, data, data > writes ? data - writes : 0);
	table_real(t, 100.0 * (data - idle / pack->threads) / wall, 1);
	table_int(t, u.ru_maxrss);
	sqpack_versions(text);
	for (char *s = text; (s = strchr(s, '\n')) != NULL; s++)
		*s = ',';
	table_text(t, text);
	rc = table_end(t);
	e = table_close(t);
	return rc != 0 ? rc : e;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*parse)(struct sqpack *p, int argc, char **argv);
	} names[] = { { "mksquashfs", as_mksquashfs_parse },
		{ "sqfstar", as_sqfstar_parse },
		{ "unsquashfs", as_unsquashfs_parse },
		{ "sqfscat", as_sqfscat_parse }, { "", sqpack_parse } };
	struct sqpack p = { .o.memory = SQPACK_MEMORY_B, .o.max_depth = -1 };
	size_t i = 0;
	uint64_t t0 = sys_now_ns();
	const char *name = argc == 0 ? "" : path_name(argv[0]);
	int status, rc = 0;

	fdio_hold_standard();
	/* treat exceeding the file size limit as an ordinary error */
	signal(SIGXFSZ, SIG_IGN);
	output_on_signals();
	/* the options of the program that it is invoked as */
	while (*names[i].name != '\0' && strcmp(name, names[i].name) != 0)
		i++;
	status = names[i].parse(&p, argc, argv);
	if (status < 0) {
		rc = p.o.task != NULL ? sqpack_read(&p) : sqpack_build(&p);
		if (rc != 0)
			p.msg.status = MSG_ERROR;
		p.wall_ns = sys_now_ns() - t0;
		if (rc == 0 && p.o.done != NULL)
			p.o.done(&p);
		if (p.msg.status != MSG_ERROR && p.o.stats != NULL) {
			rc = write_stats(&p);
			if (rc != 0)
				msg_error(&p.msg, "%s: %s", p.o.stats,
				    strerror(-rc));
		}
		status = msg_finish(&p.msg);
		if (status == MSG_ERROR && p.o.status_of != NULL)
			status = p.o.status_of(&p, rc);
		else if (status == MSG_WARNING)
			status = MSG_OK;
	}
	sqpack_free(&p);
	return status;
}
