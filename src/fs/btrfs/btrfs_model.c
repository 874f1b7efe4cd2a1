/*
 * btrfs_model.c - the size of a list of files on btrfs, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The chunks of a file arrive in any order, but whether a chunk is compressed
 * may depend on earlier chunks.  Therefore the result for each chunk is
 * recorded, and the results are added up in order at the end.
 *
 * A chunk that is a hole uses nothing, neither on btrfs nor here: a sparse file
 * may have millions of them.
 */
#include "base/array.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "btrfs.h"
#include "btrfs_leaves.h"
#include "fs/fs_model.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct btrfs_job {
	const struct fs_job *job;
	size_t *first;			/* first chunk of each item, without
					 * holes */
	uint64_t *numbers;		/* number of each chunk in its file */
	size_t count, room;		/* of numbers */
	struct btrfs_chunk *chunks;	/* results for each chunk and
					 * algorithm */
	bool *hopeless;			/* the sample of its first piece looks
					 * incompressible */
	atomic_bool *missed;		/* of each item: it has data where there
					 * was none when chunks were listed */
	struct fs_classes files;
	struct btrfs_names names;
	atomic_uint next;		/* next algorithm to add up */
	atomic_bool failed;		/* out of memory */
};

struct worker {
	struct packer *packers[FS_ALGORITHMS];
	/*
	 * The result for a whole chunk of zeros that is not the first of its
	 * file, once one has been measured.
	 */
	struct btrfs_chunk zeros[FS_ALGORITHMS];
	bool knows_zeros;
};

static int
open_worker(void *arg, void **out)
{
	struct worker *w = *out = sys_calloc(1, sizeof(*w));

	return w == NULL ? -ENOMEM : fs_packers_open(w->packers,
	    ((struct btrfs_job *)arg)->job, BTRFS_PIECE);
}

static void
close_worker(void *arg, void *worker)
{
	struct worker *w = worker;

	(void)arg;
	if (w != NULL)
		fs_packers_close(w->packers);
	sys_free(w);
}

/* Processes one chunk with all algorithms. */
static void
pack_chunk(struct btrfs_job *b, struct worker *w, size_t item, uint64_t offset,
    const uint8_t *data, struct btrfs_chunk *c)
{
	uint64_t size = b->job->list->items[item].size;
	uint32_t len = size - offset < BTRFS_CHUNK ?
	    (uint32_t)(size - offset) : BTRFS_CHUNK;
	bool good[BTRFS_PIECES];

	/* which pieces to try to compress */
	for (uint32_t at = 0; at < len; at += BTRFS_PIECE)
		good[at / BTRFS_PIECE] = b->job->params->force ||
		    btrfs_looks_good(data + at, len - at < BTRFS_PIECE ?
		    len - at : BTRFS_PIECE);
	if (offset / BTRFS_CHUNK == b->numbers[b->first[item]])
		b->hopeless[item] = !good[0];
	for (unsigned i = 0; i < b->job->count; i++) {
		if (w->packers[i] == NULL)
			btrfs_plain(offset == 0, len, &c[i]);
		else
			btrfs_pack(w->packers[i], data, offset, size, good,
			    &c[i]);
	}
}

/*
 * Processes the chunks of a part.  Zeros are compressed only once, because
 * there may be terabytes of them.
 */
static void
pack_part(void *arg, void *worker, size_t item, uint64_t offset,
    const uint8_t *data, size_t len)
{
	struct btrfs_job *b = arg;
	struct worker *w = worker;
	uint64_t size = b->job->list->items[item].size;
	uint64_t end = offset + len;

	for (; offset < end; offset += BTRFS_CHUNK, data += BTRFS_CHUNK) {
		size_t lo = b->first[item], hi = b->first[item + 1];
		uint64_t number = offset / BTRFS_CHUNK;
		struct btrfs_chunk *c;

		while (hi - lo > 1) {
			size_t mid = lo + (hi - lo) / 2;

			if (number < b->numbers[mid])
				hi = mid;
			else
				lo = mid;
		}
		/* it may have been a hole when the chunks were listed */
		if (lo == hi || b->numbers[lo] != number) {
			size_t n = size - offset < BTRFS_CHUNK ?
			    (size_t)(size - offset) : BTRFS_CHUNK;

			if (data[0] != 0 || memcmp(data, data + 1, n - 1) != 0)
				atomic_store(&b->missed[item], true);
			continue;
		}
		c = b->chunks + lo * b->job->count;
		if (offset == 0 || size - offset < BTRFS_CHUNK ||
		    data[0] != 0 ||
		    memcmp(data, data + 1, BTRFS_CHUNK - 1) != 0) {
			pack_chunk(b, w, item, offset, data, c);
			continue;
		}
		if (!w->knows_zeros)
			pack_chunk(b, w, item, offset, data, w->zeros);
		w->knows_zeros = true;
		memcpy(c, w->zeros, b->job->count * sizeof(*c));
	}
}

/*
 * Lists the chunks of a file that are not holes.  A sparse file that cannot be
 * opened has none; if it can be later, that is reported.
 */
static int
list_chunks(struct btrfs_job *b, size_t i, struct fs_path *p)
{
	const struct fs_list *l = b->job->list;
	const struct fs_item *it = &l->items[i];
	const struct stat st = fs_item_stat(it);
	uint64_t size = it->size, at = 0;
	const char *path;
	int fd = -1, rc = 0;

	if (it->sparse) {
		path = fs_list_path(l, i, p);
		if (path == NULL)
			return -ENOMEM;
		fd = tree_open(l->roots[it->root], path, 0);
		if (fd < 0)
			return 0;
	}
	while (rc == 0 && at < size) {
		uint64_t n = hole_at(fd, &st, at);

		n = at + n == size ? n : n / BTRFS_CHUNK * BTRFS_CHUNK;
		if (n == 0) {
			void *numbers = b->numbers;

			rc = array_grow(&numbers, b->count, &b->room,
			    sizeof(*b->numbers));
			b->numbers = numbers;
			if (rc == 0)
				b->numbers[b->count++] = at / BTRFS_CHUNK;
			n = BTRFS_CHUNK;
		}
		at += n;
	}
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

/*
 * Counts one file: its chunks in order, compressed up to the first that did not
 * shrink.  Later chunks become uncompressed.
 */
static void
count_file(struct btrfs_job *b, size_t item, unsigned algorithm)
{
	uint64_t size = b->job->list->items[item].size;
	struct fs_space *s = &b->files.data[fs_class_of(size)][algorithm];
	size_t first = b->first[item];
	bool plain = b->hopeless[item];

	for (size_t k = first; k < b->first[item + 1]; k++) {
		struct btrfs_chunk *c = b->chunks + k * b->job->count +
		    algorithm;
		uint64_t left = size - b->numbers[k] * BTRFS_CHUNK;

		if (plain)
			btrfs_plain(b->numbers[k] == 0, left < BTRFS_CHUNK ?
			    (uint32_t)left : BTRFS_CHUNK, c);
		plain = plain || (c->failed && !b->job->params->force);
		s->logical_B += c->logical_B;
		s->physical_B += c->physical_B;
		s->padding_B += c->physical_B - c->filled_B;
		/* inline data is counted with the trees */
		if (!c->in_leaf)
			s->whole_B += c->physical_B;
	}
}

/* Adds up the results, one algorithm after another. */
static void
add_files(void *arg, unsigned thread)
{
	struct btrfs_job *b = arg;
	const struct fs_job *job = b->job;
	unsigned a;

	(void)thread;
	while ((a = atomic_fetch_add(&b->next, 1)) < job->count) {
		const struct btrfs_data data = { .names = &b->names,
		    .first = b->first, .chunks = b->chunks + a,
		    .step = job->count,
		    .plain = job->algorithms[a].kind == NULL };
		uint64_t n;

		for (size_t i = 0; i < job->list->count; i++)
			if (job->list->items[i].err == 0)
				count_file(b, i, a);
		n = btrfs_trial_nodes(&data);
		if (n == 0)
			atomic_store(&b->failed, true);
		b->files.meta[a].whole_B = n * BTRFS_NODE *
		    (job->params->single ? 1 : 2);
	}
}

static int
run_btrfs(const struct fs_job *job)
{
	struct btrfs_job *b = sys_calloc(1, sizeof(*b));
	const struct fs_list *l = job->list;
	const struct fs_run run = { .job = job, .unit = 2 * BTRFS_CHUNK,
	    .open = open_worker, .close = close_worker, .part = pack_part,
	    .arg = b };
	struct fs_path path = { .s = NULL };
	int rc = -ENOMEM;

	if (b == NULL)
		return rc;
	b->job = job;
	fs_classes_count(&b->files, l);
	/* list and allocate the chunks of all files */
	b->first = sys_calloc(l->count + 1, sizeof(*b->first));
	b->hopeless = sys_calloc(l->count + 1, sizeof(*b->hopeless));
	b->missed = sys_calloc(l->count + 1, sizeof(*b->missed));
	if (b->first == NULL || b->hopeless == NULL || b->missed == NULL)
		goto out;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		b->first[i] = b->count;
		if (fs_item_has_data(&l->items[i]))
			rc = list_chunks(b, i, &path);
	}
	if (rc != 0)
		goto out;
	b->first[l->count] = b->count;
	b->chunks = sys_calloc(b->count * job->count + 1, sizeof(*b->chunks));
	if (b->chunks == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = fs_run(&run);
	for (size_t i = 0; rc == 0 && i < l->count; i++)
		if (atomic_load(&b->missed[i]))
			job->on_error(job->arg, i, -EAGAIN);
	if (rc == 0)
		rc = btrfs_names_read(&b->names, l);
	if (rc != 0)
		goto out;
	parallel_run(job->threads < job->count ? job->threads : job->count,
	    add_files, b);
	rc = atomic_load(&b->failed) ? -ENOMEM :
	    fs_classes_rows(&b->files, job);
out:
	sys_free(path.s);
	btrfs_names_free(&b->names);
	sys_free(b->first);
	sys_free(b->numbers);
	sys_free(b->hopeless);
	sys_free(b->missed);
	sys_free(b->chunks);
	sys_free(b);
	return rc;
}

const struct fs_model fs_model_btrfs = {
	.name = "btrfs",
	.whole = "allocated_B",
	.some = "off,"
#ifdef COLDPRESS_LZO
	    "lzo,"
#endif
	    "zlib-1,zlib-3,zlib-6,zlib-9,zstd-1,zstd-3,zstd-6,zstd-9,zstd-15",
	.kinds = packers_btrfs,
	.options = FS_FORCE | FS_BY_SIZE | FS_METADATA,
	.run = run_btrfs
};
