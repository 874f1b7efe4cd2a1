/*
 * sq_extract_data.c - extracting file data with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread claims the next unit, decompresses it once and writes it to every
 * file that contains it.  Each write has an explicit offset, so threads never
 * wait for each other.
 */
#include "sq_extract.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* A thread that writes data. */
struct data_writer {
	struct sq_extraction *t;
	struct extract_place place;
	struct sq_decoder *decoder;
	uint8_t *data;
	/* one flag for each block of a run */
	bool *bad;
};

/* Writes the run's data to a file. */
static void
write_run(struct data_writer *w, const struct sq_extract_unit *u, uint32_t n)
{
	const struct sq_image *m = w->t->m;
	uint32_t block = sq_facts(m)->block;
	struct sq_entry e;
	int fd = extract_file_open(&w->place, n), rc = 0;

	if (fd < 0)
		return;
	sq_get(m, n, &e);
	for (uint32_t k = 0; rc == 0 && k < u->count;) {
		uint32_t from = k;
		size_t len = 0;

		for (; k < u->count && !w->bad[k]; k++)
			len += sq_block_len(m, &e, u->block + k);
		rc = fdio_pwrite(fd, w->data + (size_t)from * block, len,
		    (off_t)(u->block + from) * block);
		k += k < u->count;
	}
	extract_file_close(&w->place, fd, n, rc);
}

/* Reports a damaged block for each file that contains it. */
static void
damage(struct data_writer *w, const struct sq_extract_file *f, uint32_t k,
    uint64_t at, const char *why)
{
	const struct sq_image *m = w->t->m;
	uint64_t block = sq_facts(m)->block;
	char text[256];

	snprintf(text, sizeof(text), "%s; replaced by zeros from byte %llu "
	    "of the file onward", why, (unsigned long long)(k * block));
	for (uint32_t i = 0; i < f->twins; i++)
		sq_extract_damage(w->t, f[i].number, at, text);
}

static void
do_run(struct data_writer *w, const struct sq_extract_unit *u)
{
	const struct sq_image *m = w->t->m;
	const struct sq_extract_file *f = &w->t->plan.files[u->index];
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
	progress_add(&w->t->progress, bytes * f->twins);
}

/*
 * Writes the tail of a file from a fragment block that unpacked to `unpacked`
 * bytes, or could not be unpacked, why.
 */
static void
write_tail(struct data_writer *w, uint32_t n, uint64_t at, int64_t unpacked,
    const char *why)
{
	const struct sq_image *m = w->t->m;
	struct sq_entry e;
	uint32_t len;
	int fd, rc = 0;

	sq_get(m, n, &e);
	len = sq_tail_len(m, &e);
	if (unpacked >= 0 &&
	    (uint64_t)unpacked < (uint64_t)e.tail_at + len) {
		unpacked = -1;
		why = "the fragment block ends before the file does";
	}
	if (unpacked < 0) {
		sq_extract_damage(w->t, n, at, why);
		/* a small file has no other data */
		if (e.blocks == 0) {
			extract_file_break(&w->place, n, "", 0);
			return;
		}
	}
	fd = extract_file_open(&w->place, n);
	if (fd < 0)
		return;
	if (unpacked >= 0)
		rc = fdio_pwrite(fd, w->data + e.tail_at, len,
		    (off_t)(e.size - len));
	extract_file_close(&w->place, fd, n, rc);
	progress_add(&w->t->progress, len);
}

static void
do_fragment(struct data_writer *w, const struct sq_extract_unit *u)
{
	const size_t *from = &w->t->plan.from[u->index];
	const char *why = NULL;
	uint64_t at;
	uint32_t word;
	int64_t unpacked;

	sq_fragment(w->t->m, u->index, &at, &word);
	unpacked = sq_unpack(w->decoder, at, word, 0, w->data, &why);
	for (size_t i = from[0]; i < from[1] && !extract_ended(w->t->x); i++)
		write_tail(w, w->t->plan.tails[i], at, unpacked, why);
}

static int
open_writer(struct data_writer *w, struct sq_extraction *t)
{
	int rc = sq_decoder_open(&w->decoder, t->m);

	w->t = t;
	extract_place_open(&w->place, t->x);
	/* large enough for a run, and for any block */
	w->data = sys_malloc(SQ_EXTRACT_RUN_B);
	w->bad = sys_calloc(sq_extract_run_blocks(t), sizeof(*w->bad));
	return rc != 0 ? rc : w->data == NULL || w->bad == NULL ? -ENOMEM : 0;
}

static void
write_units(void *arg, unsigned thread)
{
	struct sq_extraction *t = arg;
	struct sq_extract_plan *p = &t->plan;
	struct data_writer w = { .decoder = NULL };
	int rc = open_writer(&w, t);
	size_t k;

	if (rc != 0)
		extract_end(t->x, rc);
	while (!extract_ended(t->x) &&
	    (k = atomic_fetch_add(&p->next, 1)) < p->unit_count) {
		if (p->units[k].count == SQ_EXTRACT_FRAGMENT)
			do_fragment(&w, &p->units[k]);
		else
			do_run(&w, &p->units[k]);
		if (thread == 0) {
			pthread_mutex_lock(&t->lock);
			progress_draw(&t->progress);
			pthread_mutex_unlock(&t->lock);
		}
	}
	sq_decoder_close(w.decoder);
	extract_place_close(&w.place);
	sys_free(w.data);
	sys_free(w.bad);
}

void
sq_extract_data(void *arg, struct extract *x)
{
	struct sq_extraction *t = arg;

	(void)x;
	progress_start(&t->progress, STDERR_FILENO, t->total_B,
	    !t->o->show_progress);
	parallel_run(t->o->to.threads, write_units, t);
	progress_erase(&t->progress);
}
