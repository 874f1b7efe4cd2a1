/*
 * sqpack_extract_data.c - the data of files, by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Work is runs of a file's blocks, and fragment blocks, in the order of the
 * image.  A thread takes the next, unpacks it once, and writes it to every
 * file that has it, each write at its place in the file: so no thread waits
 * for another.
 */
#include "sqpack_extract.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUN_B = 1 << 20, IS_FRAGMENT = 0 };

struct file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* with these blocks: this and those
					   behind it; 0: one behind another */
};

struct unit {
	uint64_t at;			/* in the image */
	uint32_t index;			/* of the file, or of the fragment */
	uint32_t block;			/* the first */
	uint32_t count;			/* of blocks, or IS_FRAGMENT */
};

struct plan {
	struct extract *x;
	struct file *files;
	size_t file_count, file_cap;
	struct unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;
};

struct worker {
	struct plan *plan;
	struct place place;
	struct sqr_decoder *decoder;
	uint8_t *data;
	/* of a run */
	bool *bad;
	bool draws;			/* the progress */
};

static uint32_t
run_blocks(const struct extract *x)
{
	return RUN_B / sqr_facts(x->i.m)->block;
}

bool
extract_at_once(const struct extract *x, const struct sqr_entry *e)
{
	uint32_t tail = sqr_tail_len(x->i.m, e);

	return e->blocks == 0 ? tail > 0 : tail == 0 &&
	    e->blocks <= run_blocks(x);
}

/* Planning */

static int
by_start(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static bool
has_data(const struct extract *x, size_t n, struct sqr_entry *e)
{
	if (x->i.wanted[n] != SQPACK_IN)
		return false;
	sqr_get(x->i.m, n, e);
	return S_ISREG(e->mode) && !e->lost && e->size > 0 &&
	    extract_is_first(x, n, e);
}

static int
list_files(struct plan *p)
{
	const struct sqr_image *m = p->x->i.m;
	size_t fragments = sqr_facts(m)->fragments;
	struct sqr_entry e;

	p->from = sys_calloc(fragments + 2, sizeof(*p->from));
	if (p->from == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sqr_count(m); n++) {
		void *items = p->files;

		if (!has_data(p->x, n, &e))
			continue;
		p->x->i.p->total_B += e.size;
		if (sqr_tail_len(m, &e) > 0)
			p->from[e.fragment + (size_t)2]++;
		if (e.blocks == 0)
			continue;
		if (array_grow(&items, p->file_count, &p->file_cap,
		    sizeof(*p->files)) != 0)
			return -ENOMEM;
		p->files = items;
		p->files[p->file_count++] = (struct file){ e.start,
			(uint32_t)n, 1 };
	}
	for (size_t k = 2; k < fragments + 2; k++)
		p->from[k] += p->from[k - 1];
	return 0;
}

static int
list_tails(struct plan *p)
{
	const struct sqr_image *m = p->x->i.m;
	size_t fragments = sqr_facts(m)->fragments;
	struct sqr_entry e;

	p->tails = sys_malloc((p->from[fragments + 1] + 1) *
	    sizeof(*p->tails));
	if (p->tails == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sqr_count(m); n++)
		if (has_data(p->x, n, &e) && sqr_tail_len(m, &e) > 0)
			p->tails[p->from[e.fragment + (size_t)1]++] =
			    (uint32_t)n;
	return 0;
}

static int
add_unit(struct plan *p, struct unit u)
{
	void *items = p->units;
	int rc = array_grow(&items, p->unit_count, &p->unit_cap,
	    sizeof(*p->units));

	p->units = items;
	if (rc == 0)
		p->units[p->unit_count++] = u;
	return rc;
}

/* A file of holes alone has a run, too, if it is to be made by that. */
static int
add_runs(struct plan *p, uint32_t index, const struct sqr_entry *e)
{
	uint32_t most = run_blocks(p->x);
	uint64_t at = e->start;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < e->blocks; k += most) {
		uint32_t n = e->blocks - k < most ? e->blocks - k : most;
		uint64_t stored = 0;

		for (uint32_t i = k; i < k + n; i++)
			stored += sqr_word_len(sqr_word(e, i));
		if (stored > 0 || extract_at_once(p->x, e))
			rc = add_unit(p, (struct unit){ at, index, k, n });
		at += stored;
	}
	return rc;
}

/* Files of the same blocks stand beside each other. */
static int
add_files(struct plan *p)
{
	struct sqr_entry first = { .size = 0 }, e;
	size_t of = 0;
	int rc = 0;

	if (p->file_count > 0)
		qsort(p->files, p->file_count, sizeof(*p->files), by_start);
	for (size_t i = 0; rc == 0 && i < p->file_count; i++) {
		sqr_get(p->x->i.m, p->files[i].number, &e);
		if (i > 0 && e.start == first.start &&
		    e.size == first.size && e.blocks == first.blocks &&
		    memcmp(e.sizes, first.sizes, 4 * (size_t)e.blocks) == 0 &&
		    (e.fragment == SQUASHFS_NONE) ==
		    (first.fragment == SQUASHFS_NONE)) {
			p->files[of].twins++;
			p->files[i].twins = 0;
			continue;
		}
		of = i;
		first = e;
		rc = add_runs(p, (uint32_t)i, &e);
	}
	return rc;
}

static int
by_place(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int
make_plan(struct plan *p)
{
	uint32_t fragments = sqr_facts(p->x->i.m)->fragments, word;
	int rc = list_files(p);

	if (rc == 0)
		rc = list_tails(p);
	if (rc == 0)
		rc = add_files(p);
	for (uint32_t k = 0; rc == 0 && k < fragments; k++) {
		struct unit u = { .index = k, .count = IS_FRAGMENT };

		sqr_fragment(p->x->i.m, k, &u.at, &word);
		if (p->from[k] < p->from[k + 1])
			rc = add_unit(p, u);
	}
	if (rc == 0 && p->unit_count > 0)
		qsort(p->units, p->unit_count, sizeof(*p->units), by_place);
	return rc;
}

/* Files that several units write to are there before. */
static void
make_files(struct plan *p)
{
	struct place place;
	struct sqr_entry e;

	place_open(&place, p->x);
	for (size_t i = 0; i < p->file_count &&
	    atomic_load(&p->x->err) == 0; i++) {
		uint32_t n = p->files[i].number;
		int fd;

		sqr_get(p->x->i.m, n, &e);
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

/* Writing */

static int
write_at(int fd, const uint8_t *data, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EIO : -errno;
		data += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

/* The file to be written, made if nobody else has to; -1: not to be. */
static int
open_file(struct worker *w, uint32_t n, const struct sqr_entry *e)
{
	struct extract *x = w->plan->x;
	bool once = extract_at_once(x, e);
	int fd;

	if (atomic_load(&x->made[once ? e->parent : n]) == NOT_MADE)
		return -1;
	fd = once ? place_file(&w->place, n, e) :
	    place_reopen(&w->place, n, e);
	if (fd < 0)
		extract_fail(&w->place, n, "", fd);
	return fd;
}

static void
close_file(struct worker *w, int fd, uint32_t n, const struct sqr_entry *e,
    int rc)
{
	if (rc == 0 && extract_at_once(w->plan->x, e))
		place_finish(&w->place, fd, n, e);
	if (sys_close(fd) != 0 && rc == 0)
		rc = -EIO;
	if (rc != 0)
		extract_fail(&w->place, n, "", rc);
}

/* What of the run is stored in the image, to a file. */
static void
write_run(struct worker *w, const struct unit *u, uint32_t n)
{
	const struct sqr_image *m = w->plan->x->i.m;
	uint32_t block = sqr_facts(m)->block;
	struct sqr_entry e;
	int fd, rc = 0;

	sqr_get(m, n, &e);
	fd = open_file(w, n, &e);
	for (uint32_t k = 0; fd >= 0 && rc == 0 && k < u->count;) {
		uint32_t from = k;
		size_t len = 0;

		for (; k < u->count && !w->bad[k]; k++)
			len += sqr_block_len(m, &e, u->block + k);
		rc = write_at(fd, w->data + (size_t)from * block, len,
		    (uint64_t)(u->block + from) * block);
		k += k < u->count;
	}
	if (fd >= 0)
		close_file(w, fd, n, &e, rc);
}

/* Says it of each file that has the block. */
static void
damage(struct worker *w, const struct file *f, uint32_t k, uint64_t at,
    const char *why)
{
	const struct sqr_image *m = w->plan->x->i.m;
	uint64_t block = sqr_facts(m)->block;
	char text[256];

	snprintf(text, sizeof(text), "%s; the file has zeros from byte %llu "
	    "on for it", why, (unsigned long long)(k * block));
	for (uint32_t i = 0; i < f->twins; i++)
		extract_damage(&w->place, f[i].number, at, text);
}

static void
do_run(struct worker *w, const struct unit *u)
{
	const struct sqr_image *m = w->plan->x->i.m;
	const struct file *f = &w->plan->files[u->index];
	uint32_t block = sqr_facts(m)->block;
	uint64_t at = u->at, bytes = 0;
	struct sqr_entry e;

	sqr_get(m, f->number, &e);
	for (uint32_t k = 0; k < u->count; k++) {
		uint32_t word = sqr_word(&e, u->block + k);
		uint32_t len = sqr_block_len(m, &e, u->block + k);
		const char *why;

		w->bad[k] = word == 0 || sqr_unpack(w->decoder, at, word,
		    len, w->data + (size_t)k * block, &why) < 0;
		if (w->bad[k] && word != 0)
			damage(w, f, u->block + k, at, why);
		at += sqr_word_len(word);
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
	const struct sqr_image *m = w->plan->x->i.m;
	struct sqr_entry e;
	uint32_t len;
	int fd, rc = 0;

	sqr_get(m, n, &e);
	len = sqr_tail_len(m, &e);
	if (made >= 0 && (uint64_t)made < (uint64_t)e.tail_at + len) {
		made = -1;
		why = "its fragment block ends before the file does";
	}
	if (made < 0) {
		extract_damage(&w->place, n, at, why);
		/* nothing of a small file is left */
		if (e.blocks == 0)
			return;
	}
	fd = open_file(w, n, &e);
	if (fd < 0)
		return;
	if (made >= 0)
		rc = write_at(fd, w->data + e.tail_at, len,
		    e.size - len);
	close_file(w, fd, n, &e, rc);
	progress_add(&w->plan->x->i.p->progress, len);
}

static void
do_fragment(struct worker *w, const struct unit *u)
{
	const size_t *from = &w->plan->from[u->index];
	const char *why = NULL;
	uint64_t at;
	uint32_t word;
	int64_t made;

	sqr_fragment(w->plan->x->i.m, u->index, &at, &word);
	made = sqr_unpack(w->decoder, at, word, 0, w->data, &why);
	for (size_t i = from[0]; i < from[1] &&
	    atomic_load(&w->plan->x->err) == 0; i++)
		write_tail(w, w->plan->tails[i], at, made, why);
}

static int
open_worker(struct worker *w, struct plan *p)
{
	int rc = sqr_decoder_open(&w->decoder, p->x->i.m);

	w->plan = p;
	place_open(&w->place, p->x);
	/* no block of 1 MiB is larger than a run */
	w->data = sys_malloc(RUN_B);
	w->bad = sys_calloc(run_blocks(p->x), sizeof(*w->bad));
	return rc != 0 ? rc : w->data == NULL || w->bad == NULL ? -ENOMEM : 0;
}

static void
work(void *arg, unsigned i)
{
	struct plan *p = arg;
	struct worker w = { .draws = i == 0 };
	int none = 0, rc = open_worker(&w, p);
	size_t k;

	if (rc != 0)
		atomic_compare_exchange_strong(&p->x->err, &none, rc);
	while (atomic_load(&p->x->err) == 0 &&
	    (k = atomic_fetch_add(&p->next, 1)) < p->unit_count) {
		if (p->units[k].count == IS_FRAGMENT)
			do_fragment(&w, &p->units[k]);
		else
			do_run(&w, &p->units[k]);
		if (w.draws) {
			pthread_mutex_lock(&p->x->lock);
			progress_draw(&p->x->i.p->progress);
			pthread_mutex_unlock(&p->x->lock);
		}
	}
	sqr_decoder_close(w.decoder);
	place_close(&w.place);
	sys_free(w.data);
	sys_free(w.bad);
}

int
extract_data(struct extract *x, unsigned threads)
{
	struct plan p = { .x = x };
	struct sqpack *s = x->i.p;
	int rc = make_plan(&p);

	if (rc == 0) {
		make_files(&p);
		progress_start(&s->progress, STDERR_FILENO, s->total_B,
		    s->msg.quiet);
		parallel_run(threads, work, &p);
		progress_erase(&s->progress);
	}
	sys_free(p.files);
	sys_free(p.units);
	sys_free(p.tails);
	sys_free(p.from);
	return rc;
}
