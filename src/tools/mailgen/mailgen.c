/*
 * mailgen.c - generate a deterministic corpus of mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each thread claims the next week; its output does not depend on the other
 * threads.  It stores the hashes of its files, which are sorted at the end.
 */
#include "mailgen.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Generates week after week, until none is left or there was an error.  The
 * path of an error is the writer's.
 */
static void
generate(void *arg, unsigned i)
{
	struct mailgen *g = arg;
	struct mail_maker *m = &g->makers[i];
	struct store_writer *w = &g->writers[i];
	int rc = 0;

	while (rc == 0) {
		uint64_t week, from, left;
		bool found;

		pthread_mutex_lock(&g->lock);
		week = g->next;
		found = g->err == 0 && week * MAIL_WEEK < g->o.count;
		g->next += found;
		progress_draw(&g->progress);
		pthread_mutex_unlock(&g->lock);
		if (!found)
			return;
		from = week * MAIL_WEEK;
		left = g->o.count - from;
		mail_week(m, week);
		while (rc == 0 && m->count < left && m->count < MAIL_WEEK) {
			rc = mail_next(m);
			g->sizes[from + m->count - 1] = (uint32_t)m->out.len;
			if (rc == 0)
				rc = store_mail(w, m);
			progress_add(&g->progress, m->out.len);
		}
		if (rc == 0)
			rc = store_week(w, m);
	}
	pthread_mutex_lock(&g->lock);
	if (g->err == 0) {
		g->err = rc;
		if (rc != -ENOMEM && w->path.data != NULL)
			g->err_path = strndup(w->path.data, w->path.len);
	}
	pthread_mutex_unlock(&g->lock);
}

static const char *const columns[] = { "files", "mails", "bytes_B", "mean_B",
    "median_B", "densest_KiB", "wall_s", "sha256" };

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static int
by_size(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
write_stats(struct mailgen *g)
{
	uint64_t n = g->o.count, bytes = 0, run = 0, best = 0;
	char hex[2 * DIGEST_MAX + 1];
	int64_t densest = 0;
	struct table *t;
	int rc, closed;

	rc = table_to_stats(&t, g->o.stats_file == NULL ? "-" :
	    g->o.stats_file, columns, COLUMNS);
	if (rc != 0)
		return rc;
	qsort(g->sizes, n, sizeof(*g->sizes), by_size);
	for (uint64_t i = 0; i < n; i++) {
		bytes += g->sizes[i];
		/* the size class with the most messages, from k to k + 1 KiB */
		run = i > 0 && g->sizes[i] >> 10 == g->sizes[i - 1] >> 10 ?
		    run + 1 : 1;
		if (run > best) {
			best = run;
			densest = g->sizes[i] >> 10;
		}
	}
	hex_write(hex, g->hash, DIGEST_MAX);
	table_int(t, (int64_t)g->files);
	table_int(t, (int64_t)n);
	table_int(t, (int64_t)bytes);
	table_real(t, (double)bytes / (double)n, 1);
	table_int(t, g->sizes[n / 2]);
	table_int(t, densest);
	table_real(t, (double)(sys_now_ns() - g->start_ns) / 1e9, 3);
	table_text(t, hex);
	rc = table_end(t);
	closed = table_close(t);
	return rc != 0 ? rc : closed;
}

static void
make_corpus(struct mailgen *g)
{
	uint64_t weeks = (g->o.count + MAIL_WEEK - 1) / MAIL_WEEK;
	unsigned threads = weeks < g->o.threads ? (unsigned)weeks :
	    g->o.threads;
	char hex[2 * DIGEST_MAX + 1];
	int rc = store_open(&g->store, g->o.root, g->o.form);

	if (rc != 0) {
		msg_error(&g->msg, "%s: %s", g->o.root, strerror(-rc));
		return;
	}
	pthread_mutex_init(&g->lock, NULL);
	g->start_ns = sys_now_ns();
	progress_start(&g->progress, STDERR_FILENO,
	    g->o.count * sizes_mean(&g->o.like.sizes), g->msg.quiet);
	rc = world_make(&g->world, g->o.seed,
	    (uint32_t)((weeks + MAIL_WEEKS - 1) / MAIL_WEEKS));
	if (rc != 0)
		goto out;
	g->makers = sys_calloc(threads, sizeof(*g->makers));
	g->writers = sys_calloc(threads, sizeof(*g->writers));
	g->sizes = sys_calloc(g->o.count, sizeof(*g->sizes));
	if (g->makers == NULL || g->writers == NULL || g->sizes == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		g->makers[i].world = &g->world;
		g->makers[i].like = &g->o.like;
		g->makers[i].seed = g->o.seed;
		rc = store_writer_make(&g->writers[i], &g->store);
	}
	if (rc == 0)
		rc = parallel_run_all(threads, generate, g);
	if (rc == 0)
		rc = g->err;
	for (unsigned i = 0; i < threads; i++) {
		mail_free(&g->makers[i]);
		g->files += g->writers[i].line_count;
	}
	if (rc == 0)
		rc = store_hash(g->writers, threads, g->hash);
out:
	progress_erase(&g->progress);
	if (rc == 0) {
		hex_write(hex, g->hash, DIGEST_MAX);
		printf("%s  %s\n", hex, g->o.root);
	} else {
		if (rc == -ENOMEM)
			msg_error(&g->msg, "not enough memory");
		else
			msg_error(&g->msg, "%s: %s", g->err_path != NULL ?
			    g->err_path : g->o.root, strerror(-rc));
		msg_error(&g->msg, "%s contains only part of the corpus",
		    g->o.root);
	}
	if (rc == 0 && g->o.stats && (rc = write_stats(g)) != 0)
		msg_error(&g->msg, "%s: %s", g->o.stats_file == NULL ?
		    "standard error" : g->o.stats_file, strerror(-rc));
	for (unsigned i = 0; g->writers != NULL && i < threads; i++)
		store_writer_free(&g->writers[i]);
	sys_free(g->writers);
	sys_free(g->makers);
	world_free(&g->world);
	pthread_mutex_destroy(&g->lock);
	sys_free(g->sizes);
	free(g->err_path);
}

int
main(int argc, char **argv)
{
	struct mailgen g = { .next = 0 };
	int status;

	fdio_hold_standard();
	status = mailgen_parse(&g, argc, argv);
	if (status >= 0)
		return status;
	if (g.o.profile != NULL)
		mailgen_profile(&g);
	else
		make_corpus(&g);
	return msg_finish(&g.msg);
}
