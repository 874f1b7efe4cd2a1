/*
 * zfs_model.c - the size of files in a ZFS dataset, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/sys.h"
#include "fs/fs_model.h"
#include "zfs_meta.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { UNIT_LEAST = 1 << 20 };

struct zfs_job {
	const struct fs_job *job;
	struct zfs_pool pool;
	struct fs_classes files;
	/*
	 * For each item, the number of records that are not all zeros.  Updated
	 * by any thread.
	 */
	atomic_uint_least64_t *filled;
};

struct worker {
	struct packer *packers[FS_ALGORITHMS];
	struct packer *probes[2];
	struct zfs_space spaces[FS_CLASSES][FS_ALGORITHMS];
};

static int
open_worker(void *arg, void **out)
{
	const struct zfs_job *z = arg;
	struct worker *w = *out = sys_calloc(1, sizeof(*w));
	static const char *const names[2] = { "lz4", "zstd-1" };
	int rc = w == NULL ? -ENOMEM : fs_packers_open(w->packers, z->job,
	    z->pool.recordsize);

	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		struct packer_name probe;

		packer_by_name(packers_zfs, names[i], &probe);
		rc = packer_open(&w->probes[i], &probe, z->pool.recordsize);
	}
	return rc;
}

static void
add_spaces(struct fs_space *to, const struct zfs_space *from)
{
	to->logical_B += from->logical_B;
	to->physical_B += from->physical_B;
	to->whole_B += from->allocated_B;
	to->padding_B += from->padding_B;
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
			add_spaces(&z->files.data[c][i], &w->spaces[c][i]);
	fs_packers_close(w->packers);
	packer_close(w->probes[0]);
	packer_close(w->probes[1]);
	sys_free(w);
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
	struct zfs_space *sums = w->spaces[fs_class_of(size)];

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
	    w->spaces[fs_class_of(size)]);
}

/*
 * Computes the metadata of the files, compressed or not: then records of zeros
 * are also stored.
 */
static int
add_meta(struct zfs_job *z, bool packed)
{
	const struct fs_list *l = z->job->list;
	struct zfs_meta *m = sys_calloc(1, sizeof(*m));
	struct zfs_space sum;
	int rc = 0;

	if (m == NULL)
		return -ENOMEM;
	zfs_meta_init(m, &z->pool);
	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		const struct fs_item *it = &l->items[i];
		mode_t mode = it->st.st_mode;
		uint64_t size = (uint64_t)it->st.st_size;
		uint32_t record = zfs_record_size(&z->pool, size);
		/* the directories above it, including the root */
		unsigned depth = *it->path != '\0';

		if (it->err != 0 || it->again)
			continue;
		for (const char *c = it->path; *c != '\0'; c++)
			depth += *c == '/';
		if (S_ISDIR(mode))
			rc = zfs_dir_add(&m->dnodes, depth, mode,
			    it->names, it->name_count);
		else if (S_ISREG(mode))
			zfs_meta_file(m, depth, mode, size, packed ?
			    atomic_load(&z->filled[i]) : size / record +
			    (size % record != 0));
		else
			zfs_meta_other(m, depth, mode, S_ISLNK(mode) ? size :
			    0);
	}
	zfs_meta_end(m, &sum);
	sys_free(m);
	for (unsigned i = 0; i < z->job->count; i++)
		if ((z->job->algorithms[i].kind != NULL) == packed)
			add_spaces(&z->files.meta[i], &sum);
	return rc;
}

static int
run_zfs(const struct fs_job *job)
{
	struct zfs_job *z = sys_calloc(1, sizeof(*z));
	struct fs_run run = { .job = job, .open = open_worker,
	    .close = close_worker, .part = pack_records, .hole = hole,
	    .arg = z };
	int rc;

	if (z == NULL)
		return -ENOMEM;
	z->job = job;
	z->pool = (struct zfs_pool){
	    .features = job->model == &fs_model_zfs,
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
		rc = fs_classes_rows(&z->files, job);
	sys_free(z->filled);
	sys_free(z);
	return rc;
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
	.run = run_zfs
};
