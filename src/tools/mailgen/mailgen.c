/*
 * mailgen.c - generate a deterministic corpus of mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each thread claims the next week; its output does not depend on the other
 * threads.  It stores the hashes of its files, which are sorted at the end.
 */
#include "mailgen.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct generator {
	struct mailgen *g;
	struct store_writer *writer;
	struct mail_maker maker;
};

/* Claims the next week.  Returns false if none is left, or after an error. */
static bool
claim_week(struct mailgen *g, uint64_t *week)
{
	bool found;

	pthread_mutex_lock(&g->lock);
	*week = g->next;
	found = g->err == 0 && *week * MAIL_WEEK < g->o.count;
	g->next += found;
	progress_draw(&g->progress);
	pthread_mutex_unlock(&g->lock);
	return found;
}

static int
make_week(struct generator *k, uint64_t week)
{
	struct mail_maker *m = &k->maker;
	uint64_t from = week * MAIL_WEEK, left = k->g->o.count - from;
	int rc = 0;

	mail_week(m, week);
	while (rc == 0 && m->count < left && m->count < MAIL_WEEK) {
		rc = mail_next(m);
		k->g->sizes[from + m->count - 1] = (uint32_t)m->out.len;
		if (rc == 0)
			rc = store_mail(k->writer, m);
		progress_add(&k->g->progress, m->out.len);
	}
	return rc != 0 ? rc : store_week(k->writer, m);
}

static void
generate(void *arg, unsigned i)
{
	struct generator *k = (struct generator *)arg + i;
	uint64_t week;
	int rc = 0;

	while (rc == 0 && claim_week(k->g, &week))
		rc = make_week(k, week);
	if (rc == 0)
		return;
	pthread_mutex_lock(&k->g->lock);
	if (k->g->err == 0) {
		const struct strbuf *path = &k->writer->path;

		k->g->err = rc;
		if (rc != -ENOMEM && path->data != NULL)
			k->g->err_path = strndup(path->data, path->len);
	}
	pthread_mutex_unlock(&k->g->lock);
}

static int
make_corpus(struct mailgen *g, unsigned threads)
{
	struct generator *k = sys_calloc(threads, sizeof(*k));
	int rc = 0;

	g->writers = sys_calloc(threads, sizeof(*g->writers));
	g->sizes = sys_calloc(g->o.count, sizeof(*g->sizes));
	if (k == NULL || g->writers == NULL || g->sizes == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		k[i].g = g;
		k[i].writer = &g->writers[i];
		k[i].maker.world = &g->world;
		k[i].maker.like = &g->o.like;
		k[i].maker.seed = g->o.seed;
		rc = store_writer_make(&g->writers[i], &g->store);
	}
	if (rc == 0)
		rc = parallel_run_all(threads, generate, k);
	if (rc == 0)
		rc = g->err;
	for (unsigned i = 0; i < threads; i++)
		mail_free(&k[i].maker);
	if (rc == 0)
		rc = store_hash(&g->store, g->writers, threads, g->hash);
out:
	for (unsigned i = 0; g->writers != NULL && i < threads; i++) {
		g->files += g->writers[i].line_count;
		store_writer_free(&g->writers[i]);
	}
	sys_free(g->writers);
	sys_free(k);
	return rc;
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

static int
write_stats(struct mailgen *g)
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

static void
make_mail(struct mailgen *g)
{
	uint64_t weeks = (g->o.count + MAIL_WEEK - 1) / MAIL_WEEK;
	unsigned threads = weeks < g->o.threads ? (unsigned)weeks :
	    g->o.threads;
	int rc = store_open(&g->store, g->o.root, g->o.form);

	if (rc != 0) {
		msg_error(&g->msg, "%s: %s", g->o.root, strerror(-rc));
		store_close(&g->store);
		return;
	}
	pthread_mutex_init(&g->lock, NULL);
	g->start_ns = sys_now_ns();
	progress_start(&g->progress, STDERR_FILENO,
	    g->o.count * sizes_mean(&g->o.like.sizes), g->msg.quiet);
	rc = world_make(&g->world, g->o.seed,
	    (uint32_t)((weeks + MAIL_WEEKS - 1) / MAIL_WEEKS));
	if (rc == 0)
		rc = make_corpus(g, threads);
	progress_erase(&g->progress);
	if (rc == 0) {
		for (int i = 0; i < DIGEST_MAX; i++)
			printf("%02x", g->hash[i]);
		printf("  %s\n", g->o.root);
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
	world_free(&g->world);
	store_close(&g->store);
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
		make_mail(&g);
	return msg_finish(&g.msg);
}
