/*
 * zfs_model.c - the size of files in a ZFS dataset, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "fs/fs_model.h"
#include "fs/fs_run.h"
#include "zfs.h"

#include <errno.h>
#include <stdatomic.h>

enum { UNIT_LEAST = 1 << 20 };

struct sums {
	struct zfs_space data[FS_ALGORITHMS];
};

struct zfs_job {
	const struct fs_job *job;
	struct zfs_pool pool;
	struct fs_classes files;
	struct sums classes[FS_CLASSES];
	/*
	 * For each item, the number of records that are not all zeros.  Updated
	 * by any thread.
	 */
	atomic_uint_least64_t *filled;
	struct zfs_space meta[2];	/* metadata for compressed and
					 * uncompressed files, otherwise
					 * identical */
};

struct worker {
	struct packer *packers[FS_ALGORITHMS];
	struct packer *probes[2];
	struct sums classes[FS_CLASSES];
};

static void
shut_worker(struct worker *w)
{
	for (unsigned i = 0; i < FS_ALGORITHMS; i++)
		packer_close(w->packers[i]);
	packer_close(w->probes[0]);
	packer_close(w->probes[1]);
	sys_free(w);
}

static int
open_worker(void *arg, void **out)
{
	const struct zfs_job *z = arg;
	struct worker *w = sys_calloc(1, sizeof(*w));
	struct packer_name probes[2];
	int rc = w == NULL ? -ENOMEM : 0;

	packer_by_name(packers_zfs, "lz4", &probes[0]);
	packer_by_name(packers_zfs, "zstd-1", &probes[1]);
	for (unsigned i = 0; rc == 0 && i < z->job->count; i++)
		rc = packer_open(&w->packers[i], &z->job->algorithms[i],
		    z->pool.recordsize);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		rc = packer_open(&w->probes[i], &probes[i],
		    z->pool.recordsize);
	if (rc != 0 && w != NULL) {
		shut_worker(w);
		w = NULL;
	}
	*out = w;
	return rc;
}

static void
close_worker(void *arg, void *worker)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;

	if (w == NULL)
		return;
	for (unsigned c = 0; c < FS_CLASSES; c++)
		for (unsigned i = 0; i < z->job->count; i++)
			zfs_add(&z->classes[c].data[i],
			    &w->classes[c].data[i]);
	shut_worker(w);
}

static void
zeros(const struct zfs_job *z, uint32_t record, uint64_t count,
    struct zfs_space *sums)
{
	for (unsigned i = 0; i < z->job->count; i++)
		zfs_zeros(&z->pool, &z->job->algorithms[i], record, count,
		    &sums[i]);
}

static void
pack_records(void *arg, void *worker, size_t item, uint64_t offset,
    uint8_t *data, size_t len)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;
	const struct fs_job *job = z->job;
	uint64_t size = (uint64_t)job->list->items[item].st.st_size;
	uint32_t record = zfs_record_size(&z->pool, size);
	struct zfs_space *sums = w->classes[fs_class_of(size)].data;

	(void)offset;
	for (size_t at = 0; at < len; at += record) {
		if (zfs_is_zero(data + at, record)) {
			zeros(z, record, 1, sums);
			continue;
		}
		atomic_fetch_add(&z->filled[item], 1);
		for (unsigned i = 0; i < job->count; i++)
			zfs_record(&z->pool, &job->algorithms[i],
			    w->packers[i], w->probes, data + at, record,
			    &sums[i]);
	}
}

static void
hole(void *arg, void *worker, size_t item, uint64_t offset, uint64_t len)
{
	struct zfs_job *z = arg;
	struct worker *w = worker;
	uint64_t size = (uint64_t)z->job->list->items[item].st.st_size;
	uint32_t record = zfs_record_size(&z->pool, size);

	(void)offset;
	zeros(z, record, len / record + (len % record != 0),
	    w->classes[fs_class_of(size)].data);
}

static void
on_error(void *arg, size_t item, int err)
{
	const struct fs_job *job = ((struct zfs_job *)arg)->job;

	job->on_error(job->arg, item, err);
}

static void
pass_progress(void *arg, uint64_t bytes)
{
	const struct fs_job *job = ((struct zfs_job *)arg)->job;

	job->on_progress(job->arg, bytes);
}

/*
 * Returns the number of directories above a path, including the root, or 0 for
 * "".
 */
static unsigned
depth_of(const char *path)
{
	unsigned n = *path != '\0';

	for (; *path != '\0'; path++)
		n += *path == '/';
	return n;
}

/* Adds an item.  If zeros is set, records of zeros are also stored. */
static int
add_object(const struct zfs_job *z, struct zfs_meta *m, size_t item,
    bool zeros)
{
	const struct fs_item *it = &z->job->list->items[item];
	unsigned depth = depth_of(it->path);
	mode_t mode = it->st.st_mode;
	uint64_t size = (uint64_t)it->st.st_size;
	uint32_t record = zfs_record_size(&z->pool, size);

	if (S_ISDIR(mode))
		return zfs_meta_dir(m, depth, mode, it->names, it->name_count);
	if (S_ISREG(mode))
		zfs_meta_file(m, depth, mode, size, zeros ? size / record +
		    (size % record != 0) : atomic_load(&z->filled[item]));
	else
		zfs_meta_other(m, depth, mode, S_ISLNK(mode) ? size : 0);
	return 0;
}

static int
add_meta(struct zfs_job *z, bool packed)
{
	const struct fs_list *l = z->job->list;
	struct zfs_meta *m;
	int rc = zfs_meta_open(&m, &z->pool);

	if (rc != 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < l->count; i++)
		if (l->items[i].err == 0 && !l->items[i].again)
			rc = add_object(z, m, i, !packed);
	zfs_meta_end(m, &z->meta[packed]);
	zfs_meta_close(m);
	return rc;
}

static void
add_space(struct fs_row *row, const struct zfs_space *s)
{
	row->logical_B += s->logical_B;
	row->physical_B += s->physical_B;
	row->whole_B += s->allocated_B;
}

static void
row_data(void *arg, unsigned class, unsigned algorithm, struct fs_row *row)
{
	const struct zfs_job *z = arg;
	const struct zfs_space *s = &z->classes[class].data[algorithm];

	add_space(row, s);
	row->padding_B += s->padding_B;
}

static void
row_meta(void *arg, unsigned algorithm, struct fs_row *row)
{
	const struct zfs_job *z = arg;
	const struct zfs_space *meta =
	    &z->meta[z->job->algorithms[algorithm].kind != NULL];

	add_space(row, meta);
	row->metadata_B += meta->allocated_B;
}

static int
run_pool(const struct fs_job *job, bool features)
{
	struct zfs_job *z = sys_calloc(1, sizeof(*z));
	struct fs_run run = { .list = job->list, .threads = job->threads,
	    .open = open_worker, .close = close_worker, .part = pack_records,
	    .hole = hole, .on_error = on_error,
	    .on_progress = pass_progress, .arg = z };
	int rc;

	if (z == NULL)
		return -ENOMEM;
	z->job = job;
	z->pool = (struct zfs_pool){ .features = features,
	    .early_abort = job->params->early_abort,
	    .ashift = job->params->ashift,
	    .recordsize = job->params->recordsize };
	run.unit = z->pool.recordsize > UNIT_LEAST ? z->pool.recordsize :
	    UNIT_LEAST;
	fs_classes_count(&z->files, job->list);
	z->filled = sys_calloc(job->list->count + 1, sizeof(*z->filled));
	rc = z->filled == NULL ? -ENOMEM : fs_run(&run);
	for (int packed = 0; rc == 0 && packed < 2; packed++)
		rc = add_meta(z, packed);
	if (rc == 0)
		rc = fs_classes_rows(&z->files, job, row_data, row_meta, z);
	sys_free(z->filled);
	sys_free(z);
	return rc;
}

static int
run_zfs(const struct fs_job *job)
{
	return run_pool(job, true);
}

static int
run_zfs_fuse(const struct fs_job *job)
{
	return run_pool(job, false);
}

const struct fs_model fs_model_zfs = {
	.name = "zfs",
	.whole = "allocated_B",
	.some = "off,zle,lzjb,lz4,gzip-1,gzip-2,gzip-3,gzip-4,gzip-5,gzip-6,"
	    "gzip-7,gzip-8,gzip-9,zstd-1,zstd-3,zstd-6,zstd-9",
	.kinds = packers_zfs,
	.options = FS_ASHIFT | FS_RECORDSIZE | FS_EARLY_ABORT | FS_BY_SIZE,
	.run = run_zfs
};

const struct fs_model fs_model_zfs_fuse = {
	.name = "zfs-fuse",
	.whole = "allocated_B",
	.some = "off,zle,lzjb,gzip-1,gzip-2,gzip-3,gzip-4,gzip-5,gzip-6,"
	    "gzip-7,gzip-8,gzip-9",
	.kinds = packers_zfs_fuse,
	.options = FS_ASHIFT | FS_RECORDSIZE | FS_EARLY_ABORT | FS_BY_SIZE,
	.run = run_zfs_fuse
};
