/*
 * fs_model.c - the filesystem models, and code shared by them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Several threads read each file once.  A thread claims the next part of the
 * next file.  It opens the file again for each part, unless it also read the
 * previous one.  If the part is a hole, the thread also claims the parts that
 * follow in the hole, of which there may be millions.
 */
#include "fs/fs_model.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

const struct fs_model *const fs_models[] = { &fs_model_zfs, &fs_model_zfs_21,
    &fs_model_zfs_fuse, &fs_model_btrfs, &fs_model_squashfs, &fs_model_sqpack,
    NULL };

const struct fs_model *
fs_model_by_name(const char *name)
{
	if (strcmp(name, "zfs") == 0)
		return &fs_model_zfs;
	for (size_t i = 0; fs_models[i] != NULL; i++)
		if (strcmp(fs_models[i]->name, name) == 0)
			return fs_models[i];
	return NULL;
}

int
fs_packers_open(struct packer *packers[FS_ALGORITHMS],
    const struct fs_job *job, size_t most)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < job->count; i++) {
		struct packer_name name = job->algorithms[i];

		name.zstd = job->params->zstd;
		rc = packer_open(&packers[i], &name, most);
	}
	return rc;
}

void
fs_packers_close(struct packer *packers[FS_ALGORITHMS])
{
	for (unsigned i = 0; i < FS_ALGORITHMS; i++)
		packer_close(packers[i]);
}

unsigned
fs_class_of(uint64_t size)
{
	return size == 0 ? 0 : 63 - (unsigned)__builtin_clzll(size);
}

void
fs_classes_count(struct fs_classes *c, const struct fs_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct fs_item *it = &l->items[i];
		uint64_t size = it->size;

		if (it->err != 0 || it->again || !S_ISREG(it->mode))
			continue;
		c->files[fs_class_of(size)]++;
		c->bytes[fs_class_of(size)] += size;
	}
}

static void
add_space(struct fs_row *row, const struct fs_space *s)
{
	row->logical_B += s->logical_B;
	row->physical_B += s->physical_B;
	row->whole_B += s->whole_B;
	row->padding_B += s->padding_B;
}

int
fs_classes_rows(const struct fs_classes *c, const struct fs_job *job)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < job->count; i++) {
		struct fs_row all = { .algorithm = job->algorithms[i].text,
		    .size_from_B = -1, .metadata_B = c->meta[i].whole_B };

		for (unsigned k = 0; rc == 0 && k < FS_CLASSES; k++) {
			struct fs_row row = { .algorithm = all.algorithm,
			    .size_from_B = k == 0 ? 0 : (int64_t)1 << k,
			    .files = c->files[k], .apparent_B = c->bytes[k] };

			if (row.files == 0)
				continue;
			add_space(&row, &c->data[k][i]);
			add_space(&all, &c->data[k][i]);
			all.files += row.files;
			all.apparent_B += row.apparent_B;
			if (job->by_size)
				rc = job->row(job->arg, &row);
		}
		add_space(&all, &c->meta[i]);
		if (rc == 0)
			rc = job->row(job->arg, &all);
	}
	return rc;
}

struct reading {
	const struct fs_run *r;
	pthread_mutex_t lock;
	size_t item;			/* the item of the next part */
	uint64_t offset;
	int err;
};

struct reader {
	struct reading *run;
	void *worker;
	uint8_t *data;
	size_t used;			/* bytes of data that may not be 0 */
	size_t item;			/* the item that is open */
	int fd;
	bool bad;			/* already reported */
	struct stat st;			/* as in the list */
	struct fs_path path;
};

/* Returns the size of the part at offset. */
static size_t
part_size(const struct fs_run *r, size_t item, uint64_t offset)
{
	uint64_t left = r->job->list->items[item].size - offset;

	return left < r->unit ? (size_t)left : r->unit;
}

/* Claims the next part.  Returns false at the end. */
static bool
claim_part(struct reading *run, size_t *item, uint64_t *offset)
{
	const struct fs_list *l = run->r->job->list;
	bool found;

	pthread_mutex_lock(&run->lock);
	while (run->item < l->count &&
	    (!fs_item_has_data(&l->items[run->item]) ||
	    run->offset >= l->items[run->item].size)) {
		run->item++;
		run->offset = 0;
	}
	found = run->err == 0 && run->item < l->count;
	*item = run->item;
	*offset = run->offset;
	run->offset += run->r->unit;
	if (found)
		run->r->job->on_progress(run->r->job->arg,
		    part_size(run->r, *item, *offset));
	pthread_mutex_unlock(&run->lock);
	return found;
}

/*
 * Claims the rest of the hole that ends at `end`, in whole parts.  Returns its
 * length, or 0 if there is none or others have claimed it.
 */
static uint64_t
claim_hole(struct reading *run, size_t item, uint64_t end, uint64_t *offset)
{
	const struct fs_run *r = run->r;
	uint64_t len = 0;

	if (end < r->job->list->items[item].size)
		end -= end % r->unit;
	pthread_mutex_lock(&run->lock);
	if (run->item == item && run->offset < end) {
		len = end - run->offset;
		*offset = run->offset;
		run->offset = end;
		r->job->on_progress(r->job->arg, len);
	}
	pthread_mutex_unlock(&run->lock);
	return len;
}

static void
report_error(struct reader *rd, int err)
{
	struct reading *run = rd->run;

	if (rd->bad)
		return;
	rd->bad = true;
	pthread_mutex_lock(&run->lock);
	run->r->job->on_error(run->r->job->arg, rd->item, err);
	pthread_mutex_unlock(&run->lock);
}

static void
read_item_parts(void *arg, unsigned i)
{
	struct reader *rd = (struct reader *)arg + i;
	const struct fs_run *r = rd->run->r;
	const struct fs_list *l = r->job->list;
	uint64_t offset, hole;
	const char *path;
	size_t item;

	while (claim_part(rd->run, &item, &offset)) {
		const struct fs_item *it = &l->items[item];
		size_t len = part_size(r, item, offset);
		ssize_t n;

		if (rd->item != item || rd->fd < 0) {
			if (rd->fd >= 0)
				sys_close(rd->fd);
			rd->bad = rd->bad && rd->item == item;
			rd->item = item;
			rd->st = fs_item_stat(it);
			path = fs_list_path(l, item, &rd->path);
			rd->fd = path == NULL ? -ENOMEM :
			    tree_open(l->roots[it->root], path, 0);
			if (rd->fd < 0)
				report_error(rd, rd->fd);
		}
		hole = rd->fd < 0 ? it->size - offset :
		    hole_at(rd->fd, &rd->st, offset);
		if (hole >= len) {
			if (r->hole != NULL)
				r->hole(r->arg, rd->worker, item, offset, len);
			hole = claim_hole(rd->run, item, offset + hole,
			    &offset);
			if (hole > 0 && r->hole != NULL)
				r->hole(r->arg, rd->worker, item, offset, hole);
			continue;
		}
		/* unreadable bytes become zeros, after them is nothing else */
		rd->used = rd->used < len ? len : rd->used;
		n = fdio_pread(rd->fd, rd->data, len, (off_t)offset);
		if (n < 0)
			report_error(rd, (int)n);
		else if ((size_t)n < len)
			report_error(rd, -EAGAIN);
		n = n < 0 ? 0 : n;
		memset(rd->data + n, 0, rd->used - (size_t)n);
		rd->used = (size_t)n;
		r->part(r->arg, rd->worker, item, offset, rd->data, len);
	}
	if (rd->fd >= 0)
		sys_close(rd->fd);
}

int
fs_run(const struct fs_run *r)
{
	struct reading run = { .r = r };
	struct reader *rd = sys_calloc(r->job->threads, sizeof(*rd));
	unsigned opened = 0;
	int rc = rd == NULL ? -ENOMEM : 0;

	pthread_mutex_init(&run.lock, NULL);
	while (rc == 0 && opened < r->job->threads) {
		struct reader *next = &rd[opened++];

		*next = (struct reader){ .run = &run, .fd = -1 };
		next->data = sys_calloc(1, r->unit);
		rc = next->data == NULL ? -ENOMEM :
		    r->open(r->arg, &next->worker);
	}
	if (rc == 0)
		rc = parallel_run_all(r->job->threads, read_item_parts, rd);
	while (opened > 0) {
		r->close(r->arg, rd[--opened].worker);
		sys_free(rd[opened].path.s);
		sys_free(rd[opened].data);
	}
	pthread_mutex_destroy(&run.lock);
	sys_free(rd);
	return rc;
}
