/*
 * fsratio_zfs.c - a list of files as a ZFS dataset, with each algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "fs/fs_run.h"
#include "sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum {
	CLASSES = 64,			/* of sizes, by their log2 */
	UNIT_LEAST = 1 << 20
};

struct sums {
	struct zfs_space data[FSRATIO_ALGORITHMS];
};

struct job {
	struct fsratio *f;
	struct sums classes[CLASSES];
	uint64_t files[CLASSES], bytes[CLASSES];
};

struct worker {
	struct packer *packers[FSRATIO_ALGORITHMS];
	struct packer *probes[2];
	struct sums classes[CLASSES];
};

static unsigned
class_of(uint64_t size)
{
	return size == 0 ? 0 : 63 - (unsigned)__builtin_clzll(size);
}

static void
shut_worker(struct worker *w)
{
	for (unsigned i = 0; i < FSRATIO_ALGORITHMS; i++)
		packer_close(w->packers[i]);
	packer_close(w->probes[0]);
	packer_close(w->probes[1]);
	sys_free(w);
}

static int
open_worker(void *arg, void **out)
{
	const struct fsratio_options *o = &((struct job *)arg)->f->o;
	struct worker *w = sys_calloc(1, sizeof(*w));
	struct packer_name probes[2];
	int rc = w == NULL ? -ENOMEM : 0;

	packer_by_name("lz4", &probes[0]);
	packer_by_name("zstd-1", &probes[1]);
	for (unsigned i = 0; rc == 0 && i < o->count; i++)
		rc = packer_open(&w->packers[i], &o->algorithms[i],
		    o->pool.recordsize);
	for (unsigned i = 0; rc == 0 && i < 2; i++)
		rc = packer_open(&w->probes[i], &probes[i],
		    o->pool.recordsize);
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
	struct job *j = arg;
	struct worker *w = worker;

	if (w == NULL)
		return;
	for (unsigned c = 0; c < CLASSES; c++)
		for (unsigned i = 0; i < j->f->o.count; i++)
			zfs_add(&j->classes[c].data[i],
			    &w->classes[c].data[i]);
	shut_worker(w);
}

static void
part(void *arg, void *worker, size_t item, uint64_t offset, uint8_t *data,
    size_t len)
{
	struct job *j = arg;
	struct worker *w = worker;
	const struct fsratio_options *o = &j->f->o;
	uint64_t size = (uint64_t)j->f->list.items[item].st.st_size;
	uint32_t record = zfs_record_size(&o->pool, size);
	struct zfs_space *sums = w->classes[class_of(size)].data;

	(void)offset;
	for (size_t at = 0; at < len; at += record)
		for (unsigned i = 0; i < o->count; i++)
			zfs_record(&o->pool, &o->algorithms[i], w->packers[i],
			    w->probes, data + at, record, &sums[i]);
}

static void
trouble(void *arg, size_t item, int err)
{
	struct job *j = arg;

	progress_erase(&j->f->progress);
	msg_error(&j->f->msg, "%s: %s", j->f->list.items[item].path,
	    err == -EAGAIN ? "became shorter while it was read" :
	    strerror(-err));
}

static void
tick(void *arg, uint64_t bytes)
{
	struct job *j = arg;

	progress_add(&j->f->progress, bytes);
	progress_draw(&j->f->progress);
}

/* Metadata, which is the same whatever compresses the data. */
static int
add_meta(struct job *j, struct zfs_space *sum)
{
	const struct fsratio *f = j->f;
	struct zfs_meta *m;
	int rc = zfs_meta_open(&m, &f->o.pool);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < f->list.count; i++) {
		const struct fs_item *it = &f->list.items[i];
		uint64_t size = (uint64_t)it->st.st_size;

		if (it->err != 0 || it->again)
			continue;
		if (S_ISDIR(it->st.st_mode)) {
			zfs_meta_dir(m, it->st.st_mode, it->names,
			    it->name_count);
		} else if (S_ISREG(it->st.st_mode)) {
			uint32_t record = zfs_record_size(&f->o.pool, size);

			zfs_meta_file(m, it->st.st_mode, size,
			    (size + record - 1) / record);
			j->files[class_of(size)]++;
			j->bytes[class_of(size)] += size;
		} else {
			zfs_meta_other(m, it->st.st_mode);
		}
	}
	zfs_meta_end(m, sum);
	zfs_meta_close(m);
	return 0;
}

static int
add_rows(struct job *j, const struct zfs_space *meta)
{
	struct fsratio *f = j->f;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < f->o.count; i++) {
		struct fsratio_row all = { .algorithm =
		    f->o.algorithms[i].text, .size_from_B = -1, .meta = *meta };

		for (unsigned c = 0; rc == 0 && c < CLASSES; c++) {
			struct fsratio_row row = { .algorithm = all.algorithm,
			    .size_from_B = c == 0 ? 0 : (int64_t)1 << c,
			    .files = j->files[c], .apparent_B = j->bytes[c],
			    .data = j->classes[c].data[i] };

			all.files += row.files;
			all.apparent_B += row.apparent_B;
			zfs_add(&all.data, &row.data);
			if (f->o.by_size && row.files > 0)
				rc = fsratio_add(f, &row);
		}
		if (rc == 0)
			rc = fsratio_add(f, &all);
	}
	return rc;
}

int
fsratio_zfs(struct fsratio *f)
{
	struct job *j = sys_calloc(1, sizeof(*j));
	struct zfs_space meta = { 0 };
	struct fs_run run = { .list = &f->list, .threads = f->o.threads,
	    .open = open_worker, .close = close_worker, .part = part,
	    .trouble = trouble, .tick = tick, .arg = j };
	int rc = j == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		j->f = f;
		run.unit = f->o.pool.recordsize > UNIT_LEAST ?
		    f->o.pool.recordsize : UNIT_LEAST;
		rc = fs_run(&run);
	}
	if (rc == 0)
		rc = add_meta(j, &meta);
	if (rc == 0)
		rc = add_rows(j, &meta);
	sys_free(j);
	return rc;
}
