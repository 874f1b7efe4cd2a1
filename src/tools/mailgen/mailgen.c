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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct week_writer {
	struct mailgen *g;
	struct store_writer *writer;
	struct mail_maker maker;
};

/*
 * Records an error.  w is the caller's writer, whose path failed, or NULL if no
 * path is involved.
 */
static void
record_failure(struct mailgen *g, int err, const struct store_writer *w)
{
	pthread_mutex_lock(&g->lock);
	if (g->err == 0) {
		g->err = err;
		if (err != -ENOMEM && w != NULL && w->path.data != NULL)
			g->err_path = strndup(w->path.data,
			    w->path.len);
	}
	pthread_mutex_unlock(&g->lock);
}

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
make_week(struct week_writer *k, uint64_t week)
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
write_weeks(void *arg, unsigned i)
{
	struct week_writer *k = (struct week_writer *)arg + i;
	uint64_t week;
	int rc = 0;

	while (rc == 0 && claim_week(k->g, &week))
		rc = make_week(k, week);
	if (rc != 0)
		record_failure(k->g, rc, k->writer);
}

/* Starts at least one thread.  Returns 0 or -errno. */
static int
work_all(struct mailgen *g, struct week_writer *k, unsigned threads)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		k[i].g = g;
		k[i].writer = &g->writers[i];
		k[i].maker.world = &g->world;
		k[i].maker.like = &g->o.like;
		k[i].maker.seed = g->o.seed;
		rc = store_writer_make(&g->writers[i], &g->store);
	}
	if (rc == 0)
		rc = parallel_run_all(threads, write_weeks, k);
	if (rc != 0)
		record_failure(g, rc, NULL);
	for (unsigned i = 0; i < threads; i++)
		mail_free(&k[i].maker);
	return g->err;
}

static int
make_corpus(struct mailgen *g, unsigned threads)
{
	struct week_writer *k = sys_calloc(threads, sizeof(*k));
	int rc = -ENOMEM;

	g->writers = sys_calloc(threads, sizeof(*g->writers));
	g->sizes = sys_calloc(g->o.count, sizeof(*g->sizes));
	if (k != NULL && g->writers != NULL && g->sizes != NULL)
		rc = work_all(g, k, threads);
	if (rc == 0)
		rc = store_hash(&g->store, g->writers, threads, g->hash);
	for (unsigned i = 0; g->writers != NULL && i < threads; i++) {
		g->files += g->writers[i].line_count;
		store_writer_free(&g->writers[i]);
	}
	sys_free(g->writers);
	sys_free(k);
	return rc;
}

static void
print_hash(const struct mailgen *g)
{
	for (int i = 0; i < DIGEST_MAX; i++)
		printf("%02x", g->hash[i]);
	printf("  %s\n", g->o.root);
}

static void
report_failure(struct mailgen *g, int rc)
{
	const char *path = g->err_path != NULL ? g->err_path : g->o.root;

	if (rc == -ENOMEM)
		msg_error(&g->msg, "not enough memory");
	else
		msg_error(&g->msg, "%s: %s", path, strerror(-rc));
	msg_error(&g->msg, "%s contains only part of the corpus", g->o.root);
}

/* Writes the corpus; reports errors. */
static void
write_corpus(struct mailgen *g)
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
	if (rc == 0)
		print_hash(g);
	else
		report_failure(g, rc);
	if (rc == 0 && g->o.stats && (rc = mailgen_stats(g)) != 0)
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
		write_corpus(&g);
	return msg_finish(&g.msg);
}
