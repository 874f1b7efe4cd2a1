/*
 * sqpack_extract_data.c - extracting file data with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The units of work are runs of a file's blocks, and fragment blocks, in image
 * order.  A thread claims the next unit, decompresses it once and writes it to
 * every file that contains it.  Each write has an explicit offset, so threads
 * never wait for each other.
 */
#include "sqpack_extract_plan.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct worker {
	struct extract_plan *plan;
	struct place place;
	struct sq_decoder *decoder;
	uint8_t *data;
	/* one flag for each block of a run */
	bool *bad;
	bool draws;			/* this thread draws the progress
					 * line */
};

/* Creates the files that are written in several units. */
static void
make_files(struct extract_plan *p)
{
	struct place place;
	struct sq_entry e;

	place_open(&place, p->x);
	for (size_t i = 0; i < p->file_count &&
	    atomic_load(&p->x->err) == 0; i++) {
		uint32_t n = p->files[i].number;
		int fd;

		sq_get(p->x->i.m, n, &e);
		if (extract_at_once(p->x, &e) ||
		    atomic_load(&p->x->made[e.parent]) == NOT_MADE)
			continue;
		fd = place_file(&place, n, &e);
		if (fd < 0)
			extract_fail(&place, n, "", fd);
		else
			sys_close(fd);
	}
	place_close(&place);
}

/*
 * Opens the file for writing, and creates it if this is its only unit.  Returns
 * -1 if the file is to be skipped.
 */
static int
open_file(struct worker *w, uint32_t n, const struct sq_entry *e)
{
	struct extract *x = w->plan->x;
	bool once = extract_at_once(x, e);
	uint8_t made = atomic_load(&x->made[once ? e->parent : n]);
	int fd;

	if (made == NOT_MADE || made == BROKEN)
		return -1;
	fd = once ? place_file(&w->place, n, e) :
	    place_reopen(&w->place, n, e);
	if (fd < 0)
		extract_fail(&w->place, n, "", fd);
	return fd;
}

static void
close_file(struct worker *w, int fd, uint32_t n, const struct sq_entry *e,
    int rc)
{
	int closed;

	if (rc == 0 && extract_at_once(w->plan->x, e))
		place_finish(&w->place, fd, n, e);
	closed = sys_close(fd);
	rc = rc != 0 ? rc : closed;
	if (rc == 0)
		return;
	atomic_store(&w->plan->x->made[n], BROKEN);
	extract_fail(&w->place, n, "", rc);
}

/* Writes the run's data to a file. */
static void
write_run(struct worker *w, const struct extract_unit *u, uint32_t n)
{
	const struct sq_image *m = w->plan->x->i.m;
	uint32_t block = sq_facts(m)->block;
	struct sq_entry e;
	int fd, rc = 0;

	sq_get(m, n, &e);
	fd = open_file(w, n, &e);
	for (uint32_t k = 0; fd >= 0 && rc == 0 && k < u->count;) {
		uint32_t from = k;
		size_t len = 0;

		for (; k < u->count && !w->bad[k]; k++)
			len += sq_block_len(m, &e, u->block + k);
		rc = fdio_pwrite(fd, w->data + (size_t)from * block, len,
		    (off_t)(u->block + from) * block);
		k += k < u->count;
	}
	if (fd >= 0)
		close_file(w, fd, n, &e, rc);
}

/* Reports a damaged block for each file that contains it. */
static void
damage(struct worker *w, const struct extract_file *f, uint32_t k,
    uint64_t at, const char *why)
{
	const struct sq_image *m = w->plan->x->i.m;
	uint64_t block = sq_facts(m)->block;
	char text[256];

	snprintf(text, sizeof(text), "%s; replaced by zeros from byte %llu "
	    "of the file onward", why, (unsigned long long)(k * block));
	for (uint32_t i = 0; i < f->twins; i++)
		extract_damage(&w->place, f[i].number, at, text);
}

static void
do_run(struct worker *w, const struct extract_unit *u)
{
	const struct sq_image *m = w->plan->x->i.m;
	const struct extract_file *f = &w->plan->files[u->index];
	uint32_t block = sq_facts(m)->block;
	uint64_t at = u->at, bytes = 0;
	struct sq_entry e;

	sq_get(m, f->number, &e);
	for (uint32_t k = 0; k < u->count; k++) {
		uint32_t word = sq_word(&e, u->block + k);
		uint32_t len = sq_block_len(m, &e, u->block + k);
		const char *why;

		w->bad[k] = word == 0 || sq_unpack(w->decoder, at, word,
		    len, w->data + (size_t)k * block, &why) < 0;
		if (w->bad[k] && word != 0)
			damage(w, f, u->block + k, at, why);
		at += sq_word_len(word);
		bytes += len;
	}
	for (uint32_t i = 0; i < f->twins; i++)
		write_run(w, u, f[i].number);
	progress_add(&w->plan->x->i.p->progress, bytes * f->twins);
}

static void
write_tail(struct worker *w, uint32_t n, uint64_t at, int64_t made,
    const char *why)
{
	const struct sq_image *m = w->plan->x->i.m;
	struct sq_entry e;
	uint32_t len;
	int fd, rc = 0;

	sq_get(m, n, &e);
	len = sq_tail_len(m, &e);
	if (made >= 0 && (uint64_t)made < (uint64_t)e.tail_at + len) {
		made = -1;
		why = "the fragment block ends before the file does";
	}
	if (made < 0) {
		extract_damage(&w->place, n, at, why);
		/* a small file has no other data */
		if (e.blocks == 0)
			return;
	}
	fd = open_file(w, n, &e);
	if (fd < 0)
		return;
	if (made >= 0)
		rc = fdio_pwrite(fd, w->data + e.tail_at, len,
		    (off_t)(e.size - len));
	close_file(w, fd, n, &e, rc);
	progress_add(&w->plan->x->i.p->progress, len);
}

static void
do_fragment(struct worker *w, const struct extract_unit *u)
{
	const size_t *from = &w->plan->from[u->index];
	const char *why = NULL;
	uint64_t at;
	uint32_t word;
	int64_t made;

	sq_fragment(w->plan->x->i.m, u->index, &at, &word);
	made = sq_unpack(w->decoder, at, word, 0, w->data, &why);
	for (size_t i = from[0]; i < from[1] &&
	    atomic_load(&w->plan->x->err) == 0; i++)
		write_tail(w, w->plan->tails[i], at, made, why);
}

static int
open_worker(struct worker *w, struct extract_plan *p)
{
	int rc = sq_decoder_open(&w->decoder, p->x->i.m);

	w->plan = p;
	place_open(&w->place, p->x);
	/* large enough for a run, and for any block */
	w->data = sys_malloc(EXTRACT_RUN_B);
	w->bad = sys_calloc(extract_run_blocks(p->x), sizeof(*w->bad));
	return rc != 0 ? rc : w->data == NULL || w->bad == NULL ? -ENOMEM : 0;
}

static void
work(void *arg, unsigned i)
{
	struct extract_plan *p = arg;
	struct worker w = { .draws = i == 0 };
	int rc = open_worker(&w, p);
	size_t k;

	if (rc != 0)
		extract_stop(p->x, rc);
	while (atomic_load(&p->x->err) == 0 &&
	    (k = atomic_fetch_add(&p->next, 1)) < p->unit_count) {
		if (p->units[k].count == EXTRACT_FRAGMENT)
			do_fragment(&w, &p->units[k]);
		else
			do_run(&w, &p->units[k]);
		if (w.draws) {
			pthread_mutex_lock(&p->x->lock);
			progress_draw(&p->x->i.p->progress);
			pthread_mutex_unlock(&p->x->lock);
		}
	}
	sq_decoder_close(w.decoder);
	place_close(&w.place);
	sys_free(w.data);
	sys_free(w.bad);
}

int
extract_data(struct extract *x, unsigned threads)
{
	struct extract_plan p = { .x = x };
	struct sqpack *s = x->i.p;
	int rc = extract_plan_make(&p);

	if (rc == 0) {
		make_files(&p);
		progress_start(&s->progress, STDERR_FILENO, s->total_B,
		    s->msg.quiet);
		parallel_run(threads, work, &p);
		progress_erase(&s->progress);
	}
	extract_plan_free(&p);
	return rc;
}
