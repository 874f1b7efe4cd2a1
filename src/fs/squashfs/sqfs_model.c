/*
 * sqfs_model.c - the size of files in a squashfs image, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/parallel.h"
#include "base/sys.h"
#include "fs/fs_model.h"
#include "image/squashfs/write/record.h"
#include "image/squashfs/format.h"
#include "sqfs.h"

#include <errno.h>
#include <stdatomic.h>

/* Each thread measures one image at a time. */
struct measurer {
	const struct fs_job *job;
	bool as_sqpack;
	struct sqfs_tree tree;
	struct sqfs_units units;
	struct fs_classes files;
	struct sqfs_space spaces[FS_ALGORITHMS];
	int errors[FS_ALGORITHMS];
	atomic_uint next;
};

static void
measure_images(void *arg, unsigned thread)
{
	struct measurer *m = arg;
	unsigned i;

	(void)thread;
	while ((i = atomic_fetch_add(&m->next, 1)) < m->job->count)
		m->errors[i] = sqfs_measure(&m->tree, &m->units, m->job, i,
		    m->as_sqpack, &m->spaces[i]);
}

static int
run_squashfs(const struct fs_job *job)
{
	bool as_sqpack = job->model == &fs_model_sqpack;
	struct measurer *m = sys_calloc(1, sizeof(*m));
	struct fs_row row = { .size_from_B = -1 };
	int rc;

	if (m == NULL)
		return -ENOMEM;
	m->job = job;
	m->as_sqpack = as_sqpack;
	rc = sqfs_tree_make(&m->tree, job->list);
	if (rc == 0)
		rc = sqfs_units_make(&m->units, &m->tree, job,
		    as_sqpack);
	if (rc != 0)
		goto out;
	parallel_run(job->threads < job->count ? job->threads : job->count,
	    measure_images, m);
	for (unsigned i = 0; rc == 0 && i < job->count; i++)
		rc = m->errors[i];
	if (rc != 0)
		goto out;
	fs_classes_count(&m->files, job->list);
	for (unsigned i = 0; i < FS_CLASSES; i++) {
		row.files += m->files.files[i];
		row.apparent_B += m->files.bytes[i];
	}
	for (unsigned i = 0; rc == 0 && i < job->count; i++) {
		const struct packer_name *a = &job->algorithms[i];
		const struct sqfs_space *s = &m->spaces[i];
		uint64_t used = s->data_B + s->tables_B;
		struct sqw_data_options o = { .level = a->level,
			.method = sqw_method_by_name(a->kind == NULL ? "none" :
			a->kind->name) };
		char record[SQW_RECORD_MAX];

		row.algorithm = a->text;
		row.logical_B = m->units.data.in_B;
		row.physical_B = s->data_B;
		row.metadata_B = s->tables_B;
		/*
		 * sqpack stores a record in the padding, because the format has
		 * no field for it
		 */
		row.whole_B = used + (as_sqpack ?
		    sqw_record_make(&o, record) : 0);
		row.whole_B += -row.whole_B % SQUASHFS_PAD_B;
		row.padding_B = row.whole_B - used;
		rc = job->row(job->arg, &row);
	}
out:
	sqfs_units_free(&m->units);
	sqfs_tree_free(&m->tree);
	sys_free(m);
	return rc;
}

#ifdef COLDPRESS_LZO
#define LZO "lzo,"
#else
#define LZO ""
#endif
#define SOME "off,lz4,lz4hc," LZO \
    "gzip-1,gzip-6,gzip-9,zstd-1,zstd-3,zstd-9,zstd-15,xz"

const struct fs_model fs_model_squashfs = {
	.name = "squashfs",
	.whole = "image_B",
	.some = SOME,
	.kinds = packers_squashfs,
	.options = FS_BLOCK,
	.run = run_squashfs
};

const struct fs_model fs_model_sqpack = {
	.name = "sqpack",
	.whole = "image_B",
	.some = SOME,
	.kinds = sqfs_packers_sqpack,
	.options = FS_BLOCK,
	.run = run_squashfs
};
