/*
 * sq_extract.c - extracting names of an image to a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The units of work are runs of a file's blocks, and fragment blocks, in image
 * order.  A thread claims the next unit, decompresses it once and writes it to
 * every file that contains it.  Each write has an explicit offset, so threads
 * never wait for each other.
 */
#include "image/squashfs/read/extract.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "base/sys.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/*
 * A run is as many blocks as fit in 1 MiB, the largest block size.  A thread
 * takes a few runs of a file in a row, because the kernel lets only one thread
 * at a time write to a file.
 */
enum { RUN_B = 1 << 20, RUNS = 8, FRAGMENT = 0 };

struct written {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* number of consecutive files with
					 * these blocks, including this one; 0
					 * if this is not the first of them */
};

struct unit {
	uint64_t at;			/* offset in the image */
	uint32_t index;			/* index of the file or fragment
					 * block */
	uint32_t block;			/* the first block */
	uint32_t count;			/* blocks, or FRAGMENT */
};

struct extraction {
	const struct sq_image *m;
	const struct sq_extract_options *o;
	uint32_t *as;			/* for the first name of an inode: the
					 * name under which the inode is
					 * extracted */
	struct written *files;		/* files with blocks */
	size_t file_count, file_cap;
	struct unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* the next unit to claim */
	struct extract *x;
	uint64_t total_B;		/* size of all files */
	struct progress progress;
	pthread_mutex_t lock;		/* protects reports, and path */
	char *path;			/* buffer */
	size_t path_cap;
};

/* Returns the maximum number of blocks in a run. */
static uint32_t
run_blocks(const struct extraction *t)
{
	return RUN_B / sq_facts(t->m)->block;
}

/* Names and attributes */

/* Reports damage of a name's data at byte `at` of the image; 0: unknown. */
static void
report_damaged(struct extraction *t, size_t number, uint64_t at,
    const char *why)
{
	int rc;

	pthread_mutex_lock(&t->lock);
	progress_erase(&t->progress);
	rc = sq_path(t->m, number, &t->path, &t->path_cap);
	t->o->damage(t->o->arg, rc == 0 ? t->path : "?", at, why);
	pthread_mutex_unlock(&t->lock);
}

static bool
get_name(void *arg, size_t n, struct extract_entry *out)
{
	const struct extraction *t = arg;
	struct sq_entry e;
	bool above = t->o->wanted[n] == SQ_ABOVE;

	if (t->o->wanted[n] == SQ_OUT)
		return false;
	sq_get(t->m, n, &e);
	/* what is wrong with the inode has been reported */
	if (!S_ISDIR(e.mode) && (e.mode == 0 || e.lost || above))
		return false;
	*out = (struct extract_entry){
		.mode = e.mode, .parent = e.parent, .above = above,
		.file = S_ISDIR(e.mode) ? n : t->as[e.first],
		.has_owner = e.has_owner, .uid = e.uid, .gid = e.gid,
		.mtime = { .tv_sec = t->o->has_mtime ? t->o->mtime : e.mtime },
		.device = S_ISBLK(e.mode) || S_ISCHR(e.mode) ?
		    makedev(squashfs_major(e.rdev), squashfs_minor(e.rdev)) : 0,
		.size = e.size, .target = e.target,
		.target_len = (size_t)e.size
	};
	return true;
}

static const char *
name_path(void *arg, size_t n, struct extract_text *text)
{
	const struct extraction *t = arg;

	return sq_path(t->m, n, &text->text, &text->cap) == 0 ? text->text :
	    NULL;
}

static const char *
name_name(void *arg, size_t n, size_t *len)
{
	const struct extraction *t = arg;
	struct sq_entry e;

	sq_get(t->m, n, &e);
	*len = e.name_len;
	return e.name;
}

/* The attributes that are wanted are passed on. */
struct attribute_filter {
	const struct sq_extract_options *o;
	extract_attribute_fn *set;
	void *to;
};

static int
pass_attribute(void *arg, const char *name, const void *value, size_t len)
{
	const struct attribute_filter *f = arg;

	if ((!f->o->user_xattrs || strncmp(name, "user.", 5) == 0) &&
	    (f->o->wants_xattr == NULL ||
	    f->o->wants_xattr(f->o->arg, name)))
		f->set(f->to, name, value, len);
	return 0;
}

static void
pass_attributes(void *arg, size_t n, extract_attribute_fn *set, void *to)
{
	struct extraction *t = arg;
	struct attribute_filter f = { t->o, set, to };
	struct sq_entry e;

	sq_get(t->m, n, &e);
	if (e.xattr == SQUASHFS_NONE || t->o->no_xattrs ||
	    (e.why != NULL && e.lost))
		return;
	/* what is wrong with the name has been reported */
	if (sq_xattrs(t->m, e.xattr, pass_attribute, &f) != 0 &&
	    e.why == NULL)
		report_damaged(t, n, 0,
		    "the extended attributes cannot be read");
}

static void
report_name(void *arg, enum extract_level level, const char *path,
    const char *text)
{
	struct extraction *t = arg;

	pthread_mutex_lock(&t->lock);
	progress_erase(&t->progress);
	t->o->report(t->o->arg, level, path, text);
	pthread_mutex_unlock(&t->lock);
}

/* Units */

static int
by_start(const void *a, const void *b)
{
	const struct written *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int
by_offset(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool
is_written(const struct extraction *t, size_t n, struct sq_entry *e)
{
	if (t->o->wanted[n] != SQ_IN)
		return false;
	sq_get(t->m, n, e);
	return S_ISREG(e->mode) && !e->lost && e->size > 0 &&
	    t->as[e->first] == n;
}

static int
add_unit(struct extraction *t, struct unit u)
{
	void *items = t->units;
	int rc = array_grow(&items, t->unit_count, &t->unit_cap,
	    sizeof(*t->units));

	t->units = items;
	if (rc == 0)
		t->units[t->unit_count++] = u;
	return rc;
}

/* Adds the runs of a file, except for those that consist only of holes. */
static int
add_runs(struct extraction *t, uint32_t index, const struct sq_entry *e)
{
	uint32_t most = run_blocks(t);
	uint64_t at = e->start;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < e->blocks; k += most) {
		uint32_t n = e->blocks - k < most ? e->blocks - k : most;
		uint64_t stored = 0;

		for (uint32_t i = k; i < k + n; i++)
			stored += sq_word_len(sq_word(e, i));
		if (stored > 0)
			rc = add_unit(t, (struct unit){ at, index, k, n });
		at += stored;
	}
	return rc;
}

/* Divides the data of the selected files into units.  Returns 0 or -ENOMEM. */
static int
plan_units(struct extraction *t)
{
	const struct sq_image *m = t->m;
	size_t fragments = sq_facts(m)->fragments, of = 0;
	struct sq_entry first = { .size = 0 }, e;
	uint32_t word;
	int rc;

	t->from = sys_calloc(fragments + 2, sizeof(*t->from));
	if (t->from == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sq_count(m); n++) {
		void *items = t->files;

		if (!is_written(t, n, &e))
			continue;
		t->total_B += e.size;
		if (sq_tail_len(m, &e) > 0)
			t->from[e.fragment + (size_t)2]++;
		if (e.blocks == 0)
			continue;
		rc = array_grow(&items, t->file_count, &t->file_cap,
		    sizeof(*t->files));
		t->files = items;
		if (rc != 0)
			return rc;
		t->files[t->file_count++] = (struct written){ e.start,
			(uint32_t)n, 1 };
	}
	for (size_t k = 2; k < fragments + 2; k++)
		t->from[k] += t->from[k - 1];
	t->tails = sys_malloc((t->from[fragments + 1] + 1) *
	    sizeof(*t->tails));
	if (t->tails == NULL)
		return -ENOMEM;
	for (size_t n = 1; n < sq_count(m); n++)
		if (is_written(t, n, &e) && sq_tail_len(m, &e) > 0)
			t->tails[t->from[e.fragment + (size_t)1]++] =
			    (uint32_t)n;

	/* files with the same blocks are adjacent, and written together */
	if (t->file_count > 0)
		qsort(t->files, t->file_count, sizeof(*t->files), by_start);
	for (size_t i = 0; i < t->file_count; i++) {
		sq_get(m, t->files[i].number, &e);
		if (i > 0 && e.start == first.start &&
		    e.size == first.size && e.blocks == first.blocks &&
		    memcmp(e.sizes, first.sizes, 4 * (size_t)e.blocks) == 0 &&
		    (e.fragment == SQUASHFS_NONE) ==
		    (first.fragment == SQUASHFS_NONE)) {
			t->files[of].twins++;
			t->files[i].twins = 0;
			continue;
		}
		of = i;
		first = e;
		rc = add_runs(t, (uint32_t)i, &e);
		if (rc != 0)
			return rc;
	}
	for (uint32_t k = 0; k < fragments; k++) {
		struct unit u = { .index = k, .count = FRAGMENT };

		if (t->from[k] == t->from[k + 1])
			continue;
		sq_fragment(m, k, &u.at, &word);
		rc = add_unit(t, u);
		if (rc != 0)
			return rc;
	}
	if (t->unit_count > 0)
		qsort(t->units, t->unit_count, sizeof(*t->units), by_offset);
	return 0;
}

/* Data */

/* A thread that writes data. */
struct data_writer {
	struct extraction *t;
	struct extract_place place;
	struct sq_decoder *decoder;
	uint8_t *data;
	/* one flag for each block of a run */
	bool *bad;
};

/* Writes the run's data to a file. */
static void
write_run(struct data_writer *w, const struct unit *u, uint32_t n)
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

static void
do_run(struct data_writer *w, const struct unit *u)
{
	const struct sq_image *m = w->t->m;
	const struct written *f = &w->t->files[u->index];
	uint32_t block = sq_facts(m)->block;
	uint64_t at = u->at, bytes = 0;
	struct sq_entry e;
	char text[256];

	sq_get(m, f->number, &e);
	for (uint32_t k = 0; k < u->count; k++) {
		uint32_t word = sq_word(&e, u->block + k);
		uint32_t len = sq_block_len(m, &e, u->block + k);
		const char *why;

		w->bad[k] = word == 0 || sq_unpack(w->decoder, at, word,
		    len, w->data + (size_t)k * block, &why) < 0;
		if (w->bad[k] && word != 0) {
			snprintf(text, sizeof(text), "%s; replaced by zeros "
			    "from byte %llu of the file onward", why,
			    (unsigned long long)(u->block + k) * block);
			for (uint32_t i = 0; i < f->twins; i++)
				report_damaged(w->t, f[i].number, at, text);
		}
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
		report_damaged(w->t, n, at, why);
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
do_fragment(struct data_writer *w, const struct unit *u)
{
	const size_t *from = &w->t->from[u->index];
	const char *why = NULL;
	uint64_t at;
	uint32_t word;
	int64_t unpacked;

	sq_fragment(w->t->m, u->index, &at, &word);
	unpacked = sq_unpack(w->decoder, at, word, 0, w->data, &why);
	for (size_t i = from[0]; i < from[1] && !extract_ended(w->t->x); i++)
		write_tail(w, w->t->tails[i], at, unpacked, why);
}

/* Claims units from[0]..from[1].  Returns false if there are no more. */
static bool
claim_units(struct extraction *t, size_t from[2])
{
	from[0] = atomic_load(&t->next);
	do {
		const struct unit *u = &t->units[from[0]];

		if (from[0] == t->unit_count)
			return false;
		for (from[1] = from[0] + 1; u->count != FRAGMENT &&
		    from[1] < t->unit_count && from[1] - from[0] < RUNS &&
		    t->units[from[1]].count != FRAGMENT &&
		    t->units[from[1]].index == u->index; from[1]++)
			;
	} while (!atomic_compare_exchange_weak(&t->next, &from[0], from[1]));
	return true;
}

static void
write_units(void *arg, unsigned thread)
{
	struct extraction *t = arg;
	struct data_writer w = { .t = t };
	int rc = sq_decoder_open(&w.decoder, t->m);
	size_t k[2];

	extract_place_open(&w.place, t->x);
	/* large enough for a run, and for any block */
	w.data = sys_malloc(RUN_B);
	w.bad = sys_calloc(run_blocks(t), sizeof(*w.bad));
	if (rc == 0 && (w.data == NULL || w.bad == NULL))
		rc = -ENOMEM;
	if (rc != 0)
		extract_end(t->x, rc);
	while (!extract_ended(t->x) && claim_units(t, k)) {
		for (; k[0] < k[1] && !extract_ended(t->x); k[0]++)
			if (t->units[k[0]].count == FRAGMENT)
				do_fragment(&w, &t->units[k[0]]);
			else
				do_run(&w, &t->units[k[0]]);
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

static void
write_data(void *arg, struct extract *x)
{
	struct extraction *t = arg;

	(void)x;
	if (t->o->progress != NULL)
		progress_start_form(&t->progress, t->total_B, t->o->progress);
	else
		progress_start(&t->progress, STDERR_FILENO, t->total_B,
		    !t->o->show_progress);
	parallel_run(t->o->to.threads, write_units, t);
	progress_end(&t->progress);
}

int
sq_extract(const struct sq_image *m, const struct sq_extract_options *o)
{
	struct extraction t = { .m = m, .o = o };
	const struct extract_source s = {
		.count = sq_count(m), .get = get_name, .path = name_path,
		.name = name_name, .attributes = pass_attributes,
		.data = write_data, .report = report_name, .arg = &t
	};
	struct sq_entry e;
	int rc = -ENOMEM;

	pthread_mutex_init(&t.lock, NULL);
	t.as = sys_malloc(s.count * sizeof(*t.as));
	if (t.as == NULL)
		goto fail;
	memset(t.as, 0xff, s.count * sizeof(*t.as));
	for (uint32_t n = 0; n < s.count; n++) {
		if (o->wanted[n] == SQ_OUT)
			continue;
		sq_get(m, n, &e);
		if (t.as[e.first] == UINT32_MAX)
			t.as[e.first] = n;
	}
	rc = plan_units(&t);
	if (rc == 0)
		rc = extract_open(&t.x, &s, &o->to);
	if (rc != 0)
		goto fail;
	/* announce every piece that will be written */
	for (size_t k = 0; k < t.unit_count; k++) {
		const struct unit *u = &t.units[k];
		const struct written *f;

		if (u->count == FRAGMENT) {
			for (size_t i = t.from[u->index];
			    i < t.from[u->index + (size_t)1]; i++)
				extract_expect(t.x, t.tails[i]);
			continue;
		}
		f = &t.files[u->index];
		for (uint32_t i = 0; i < f->twins; i++)
			extract_expect(t.x, f[i].number);
	}
	rc = extract_run(t.x);
	for (size_t n = 0; n < s.count; n++)
		if (o->wanted[n] == SQ_IN && !extract_made(t.x, n))
			o->wanted[n] = SQ_MISSED;
	extract_close(t.x);
	goto out;
fail:
	report_name(&t, EXTRACT_ERROR, NULL, strerror(-rc));
out:
	pthread_mutex_destroy(&t.lock);
	sys_free(t.files);
	sys_free(t.units);
	sys_free(t.tails);
	sys_free(t.from);
	sys_free(t.as);
	sys_free(t.path);
	return rc;
}
