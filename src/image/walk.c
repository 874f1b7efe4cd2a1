/*
 * walk.c - reading every file of an image with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread takes a buffer, then the next job: a data block or a fragment block.
 * In the opposite order, there might be no buffer left for the thread whose
 * block all others need.  The thread reads and unpacks the block, passes it to
 * the files that have data in it, and hashes the pieces that are ready.
 */
#include "image/source.h"

#include "base/parallel.h"
#include "base/sys.h"
#include "buffers.h"
#include "ending.h"
#include "rows.h"
#include "schedule.h"
#include "stream.h"

#include <errno.h>

struct walk {
	struct image image;
	struct image_memory memory;
	struct walk_options o;		/* the caller's, with the number of
					 * threads limited by memory */
	struct image_ending ending;
	struct image_plan plan;
	struct image_scheduler scheduler;
	struct image_buffers buffers;
	struct image_streams streams;
	struct image_rows rows;
};

/* One thread's state. */
struct worker {
	struct walk *w;
	unsigned me;
	void *decoder;
	struct image_row_batch *batch;
	struct image_packed packed;
};

/*
 * Reads a job's block with image_unpack().  Returns NULL or, if this fails, the
 * reason as a clause.
 */
static const char *
read_block(struct worker *k, const struct image_job *j, size_t want,
    struct image_buffer *b)
{
	const char *why;
	int64_t made = image_unpack(&k->w->image, k->decoder, &k->packed,
	    j->at, j->word, want, b->data, &why);

	if (made == -ENOMEM)
		image_end(&k->w->ending, -ENOMEM);
	b->err = made < 0 ? (int)made : 0;
	b->len = made < 0 ? 0 : (size_t)made;
	return why;
}

/* Jobs */

static void
do_block(struct worker *k, const struct image_job *j, struct image_buffer *b)
{
	struct walk *w = k->w;
	size_t want = image_block_len(&w->image, &w->image.file[j->index],
	    j->block);
	uint64_t t0 = sys_now_ns();
	const char *bad = read_block(k, j, want, b);
	int64_t took = (int64_t)(sys_now_ns() - t0);

	if (bad != NULL)
		image_rows_damage(&w->rows, j->index, j->at, bad);
	image_streams_give(&w->streams, k->me, j->index, j->block, b, took);
}

/* Reports each file whose tail is incomplete. */
static void
check_tails(struct walk *w, const struct image_job *j,
    const struct image_buffer *b, const uint32_t *files, size_t count,
    const char *bad)
{
	for (size_t i = 0; i < count; i++) {
		const struct image_file *f = &w->image.file[files[i]];
		const char *why = bad == NULL && b->len < f->tail_at +
		    image_tail_len(&w->image, f) ?
		    "the block ends before the end of the file's data" : bad;

		if (why != NULL)
			image_rows_damage(&w->rows, files[i], j->at, why);
	}
}

static void
do_fragment(struct worker *k, const struct image_job *j,
    struct image_buffer *b)
{
	struct walk *w = k->w;
	const size_t *from = &w->plan.from[j->index];
	const uint32_t *files = &w->plan.tails[from[0]];
	size_t count = from[1] - from[0];
	uint64_t t0 = sys_now_ns();
	const char *bad = read_block(k, j, 0, b);
	int64_t took = (int64_t)(sys_now_ns() - t0);

	check_tails(w, j, b, files, count, bad);
	image_buffer_use(b, (unsigned)count - 1);
	image_streams_give_tails(&w->streams, k->me, files, count, b, took);
}

static void
do_job(struct worker *k, const struct image_job *j, struct image_buffer *b)
{
	if (j->block == IMAGE_JOB_FRAGMENT) {
		do_fragment(k, j, b);
	} else if (j->block == IMAGE_JOB_HOLES) {
		image_buffer_done(&k->w->buffers, b);
		image_streams_give_holes(&k->w->streams, k->me, j->index);
	} else {
		do_block(k, j, b);
	}
}

/* Threads */

static int
worker_open(struct worker *k, struct walk *w, unsigned me)
{
	int rc;

	*k = (struct worker){ .w = w, .me = me };
	rc = w->image.source->decoder_open(&w->image, &k->decoder);
	if (rc != 0)
		return rc;
	k->packed.data = sys_malloc(w->image.block_B);
	k->batch = sys_malloc(sizeof(*k->batch));
	if (k->packed.data == NULL || k->batch == NULL)
		return -ENOMEM;
	k->batch->rows = &w->rows;
	k->batch->count = 0;
	return 0;
}

static void
worker_close(struct worker *k)
{
	k->w->image.source->decoder_close(k->decoder);
	sys_free(k->batch);
	sys_free(k->packed.data);
}

static void
finished(void *arg, const struct image_outcome *o)
{
	image_rows_add(arg, o);
}

static bool
hash_some(struct worker *k, bool all)
{
	return !image_ended(&k->w->ending) && image_streams_hash(
	    &k->w->streams, k->me, all, finished, k->batch);
}

/* Takes a buffer, after hashing pieces to free one if necessary. */
static struct image_buffer *
take_buffer(struct worker *k)
{
	struct image_buffers *all = &k->w->buffers;
	struct image_buffer *b = image_buffers_take(all, k->me);

	while (b == NULL && !image_ended(&k->w->ending))
		b = hash_some(k, true) ? image_buffers_take(all, k->me) :
		    image_buffers_wait(all, k->me);
	return b;
}

/*
 * Processes one job.  Returns false if there are no more jobs, or the walk has
 * ended.
 */
static bool
work_once(struct worker *k)
{
	struct walk *w = k->w;
	struct image_buffer *b = take_buffer(k);
	const struct image_job *j;
	bool alone;

	if (b == NULL)
		return false;
	j = image_scheduler_take(&w->scheduler, k->me, &alone);
	if (j == NULL) {
		image_buffer_done(&w->buffers, b);
		return false;
	}
	do_job(k, j, b);
	while (hash_some(k, alone || image_buffers_few(&w->buffers)))
		continue;
	return !image_ended(&w->ending);
}

static void
work(void *arg, unsigned i)
{
	struct walk *w = arg;
	struct worker k;
	int rc = worker_open(&k, w, i);

	if (rc != 0)
		image_end(&w->ending, rc);
	while (rc == 0 && work_once(&k))
		continue;
	while (hash_some(&k, true))
		continue;
	image_buffers_wake(&w->buffers);
	if (rc == 0)
		image_rows_flush(k.batch);
	image_rows_stored(&w->rows, k.packed.read_B);
	worker_close(&k);
}

/* The whole walk */

static int
report_table(void *arg, uint64_t at, const char *reason)
{
	struct walk *w = arg;

	image_rows_table(&w->rows, at, reason);
	return image_ended(&w->ending) ? atomic_load(&w->ending.err) : 0;
}

static int
read_files(struct walk *w)
{
	const struct walk_options *o = &w->o;
	int rc = image_scheduler_open(&w->scheduler, &w->image, &w->plan,
	    o->threads, digest_lanes(o->digest));
	int streams = image_streams_open(&w->streams, &w->image, &w->buffers,
	    &w->ending, o);
	int buffers = image_buffers_open(&w->buffers, w->image.block_B,
	    o->threads, &w->ending);

	if (rc == 0)
		rc = streams != 0 ? streams : buffers;
	if (rc == 0)
		parallel_run(o->threads, work, w);
	image_streams_close(&w->streams);
	image_buffers_close(&w->buffers);
	image_scheduler_close(&w->scheduler);
	return rc != 0 ? rc : atomic_load(&w->ending.err);
}

static int
walk_files(struct walk *w)
{
	int rc;

	w->o.threads = image_buffers_threads(&w->image, w->o.threads);
	rc = image_rows_select(&w->rows);
	if (rc == 0)
		rc = image_plan_make(&w->plan, &w->image);
	if (rc == 0 && w->o.plan != NULL)
		w->o.plan(w->o.arg, w->plan.files, w->plan.bytes);
	if (rc == 0)
		rc = image_rows_rest(&w->rows);
	if (rc == 0)
		rc = read_files(w);
	image_plan_free(&w->plan);
	return rc;
}

int
image_walk(const struct image_source *source, int fd, uint64_t offset,
    const struct walk_options *o, struct walk_result *r, const char **why)
{
	struct walk w = { .o = *o, .memory.left = o->memory_left,
	    .ending.cancel = o->cancel };
	int rc;

	*r = (struct walk_result){ 0 };
	*why = NULL;
	rc = image_rows_open(&w.rows, &w.image, &w.o, &w.ending, r);
	if (rc == 0) {
		rc = image_open(&w.image, source, fd, offset,
		    w.memory.left == NULL ? NULL : &w.memory, o->threads,
		    report_table, &w, why);
		if (rc == 0)
			rc = walk_files(&w);
		image_close(&w.image);
	}
	image_rows_close(&w.rows);
	image_give(w.image.memory, w.memory.taken);
	if (rc == -EDQUOT)
		*why = "tables, names and rows need more memory than allowed";
	return rc;
}
