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
struct walk_worker {
	struct walk *w;
	unsigned me;
	void *decoder;
	struct image_row_batch *batch;
	struct image_packed packed;
};

/*
 * Reads a job's block with image_unpack(); *took is how long it took.  Returns
 * NULL or, if this fails, the reason as a clause.
 */
static const char *
read_block(struct walk_worker *k, const struct image_job *j, size_t want,
    struct image_buffer *b, int64_t *took)
{
	const char *why;
	uint64_t t0 = sys_now_ns();
	int64_t made = image_unpack(&k->w->image, k->decoder, &k->packed,
	    j->at, j->word, want, b->data, &why);

	*took = (int64_t)(sys_now_ns() - t0);
	if (made == -ENOMEM)
		image_end(&k->w->ending, -ENOMEM);
	b->err = made < 0 ? (int)made : 0;
	b->len = made < 0 ? 0 : (size_t)made;
	return why;
}

/* Jobs */

static void
pass_fragment(struct walk_worker *k, const struct image_job *j,
    struct image_buffer *b)
{
	struct walk *w = k->w;
	const size_t *from = &w->plan.from[j->index];
	const uint32_t *files = &w->plan.tails[from[0]];
	size_t count = from[1] - from[0];
	int64_t took;
	const char *bad = read_block(k, j, 0, b, &took);

	/* report each file whose tail is incomplete */
	for (size_t i = 0; i < count; i++) {
		const struct image_file *f = &w->image.file[files[i]];
		const char *why = bad;

		if (bad == NULL && b->len < f->tail_at +
		    image_tail_len(&w->image, f))
			why = "the block ends before the end of the file's "
			    "data";
		if (why != NULL)
			image_rows_damage(&w->rows, files[i], j->at, why);
	}
	image_buffer_use(b, (unsigned)count - 1);
	image_streams_give_tails(&w->streams, k->me, files, count, b, took);
}

/* Threads */

static bool
hash_some(struct walk_worker *k, bool all)
{
	return !image_ended(&k->w->ending) && image_streams_hash(
	    &k->w->streams, k->me, all, image_rows_add, k->batch);
}

static void
walk_thread(void *arg, unsigned i)
{
	struct walk *w = arg;
	struct walk_worker k = { .w = w, .me = i };
	int rc = w->image.source->decoder_open(&w->image, &k.decoder);

	if (rc == 0) {
		k.packed.data = sys_malloc(w->image.block_B);
		k.batch = sys_malloc(sizeof(*k.batch));
		if (k.packed.data == NULL || k.batch == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0) {
		k.batch->rows = &w->rows;
		k.batch->count = 0;
	} else {
		image_end(&w->ending, rc);
	}
	while (rc == 0) {
		struct image_buffer *b = image_buffers_take(&w->buffers, i,
		    false);
		const struct image_job *j;
		const char *bad;
		int64_t took;
		bool alone;

		/* hash pieces to free a buffer, if necessary */
		while (b == NULL && !image_ended(&w->ending))
			b = image_buffers_take(&w->buffers, i,
			    !hash_some(&k, true));
		if (b == NULL)
			break;
		j = image_scheduler_take(&w->scheduler, i, &alone);
		if (j == NULL) {
			image_buffer_done(&w->buffers, b);
			break;
		}
		if (j->block == IMAGE_JOB_FRAGMENT) {
			pass_fragment(&k, j, b);
		} else if (j->block == IMAGE_JOB_HOLES) {
			image_buffer_done(&w->buffers, b);
			image_streams_give(&w->streams, i, j->index, 0, NULL,
			    -1);
		} else {
			bad = read_block(&k, j, image_block_len(&w->image,
			    &w->image.file[j->index], j->block), b, &took);
			if (bad != NULL)
				image_rows_damage(&w->rows, j->index, j->at,
				    bad);
			image_streams_give(&w->streams, i, j->index, j->block,
			    b, took);
		}
		while (hash_some(&k, alone || image_buffers_few(&w->buffers)))
			continue;
		if (image_ended(&w->ending))
			break;
	}
	while (hash_some(&k, true))
		continue;
	image_buffers_wake(&w->buffers);
	if (rc == 0)
		image_rows_flush(k.batch);
	image_rows_stored(&w->rows, k.packed.read_B);
	w->image.source->decoder_close(k.decoder);
	sys_free(k.batch);
	sys_free(k.packed.data);
}

int
image_walk(const struct image_source *source, int fd, uint64_t offset,
    const struct walk_options *o, struct walk_result *r, const char **why)
{
	struct walk w = { .o = *o, .memory.left = o->memory_left,
	    .ending.cancel = o->cancel };
	unsigned threads;
	int rc, opened;

	*r = (struct walk_result){ 0 };
	*why = NULL;
	rc = image_rows_open(&w.rows, &w.image, &w.o, &w.ending, r);
	if (rc != 0)
		goto close_rows;
	rc = image_open(&w.image, source, fd, offset,
	    w.memory.left == NULL ? NULL : &w.memory, o->verity_root,
	    o->threads,
	    image_rows_table, &w.rows, why);
	if (rc != 0)
		goto close_image;
	threads = image_buffers_threads(&w.image, w.o.threads);
	w.o.threads = threads;
	rc = image_rows_select(&w.rows);
	if (rc == 0)
		rc = image_plan_make(&w.plan, &w.image);
	if (rc == 0 && w.o.plan != NULL)
		w.o.plan(w.o.arg, w.plan.files, w.plan.bytes);
	if (rc == 0)
		rc = image_rows_rest(&w.rows);
	if (rc != 0)
		goto free_plan;
	rc = image_scheduler_open(&w.scheduler, &w.image, &w.plan, threads,
	    digest_lanes(w.o.digest));
	opened = image_streams_open(&w.streams, &w.image, &w.buffers,
	    &w.ending, &w.o);
	rc = rc != 0 ? rc : opened;
	opened = image_buffers_open(&w.buffers, w.image.block_B, threads,
	    &w.ending);
	rc = rc != 0 ? rc : opened;
	if (rc == 0) {
		parallel_run(threads, walk_thread, &w);
		rc = atomic_load(&w.ending.err);
	}
	image_streams_close(&w.streams);
	image_buffers_close(&w.buffers);
	image_scheduler_close(&w.scheduler);
free_plan:
	image_plan_free(&w.plan);
close_image:
	image_close(&w.image);
close_rows:
	image_rows_close(&w.rows);
	image_give(w.image.memory, w.memory.taken);
	if (rc == -EDQUOT)
		*why = "tables, names and rows need more memory than allowed";
	return rc;
}
