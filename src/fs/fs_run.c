/*
 * fs_run.c - reading the listed files' data once, with several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread claims the next part of the next file.  It opens the file again for
 * each part, unless it also read the previous one.  If the part is a hole, the
 * thread also claims the parts that follow in the hole, of which there may be
 * millions.
 */
#include "fs/fs_run.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "fs/fs_model.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

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
	size_t item;			/* the item that is open */
	int fd;
	bool bad;			/* already reported */
};

/* Returns the size of the part at offset. */
static size_t
part_size(const struct fs_run *r, size_t item, uint64_t offset)
{
	uint64_t left = (uint64_t)r->list->items[item].st.st_size - offset;

	return left < r->unit ? (size_t)left : r->unit;
}

/* Claims the next part.  Returns false at the end. */
static bool
claim_part(struct reading *run, size_t *item, uint64_t *offset)
{
	const struct fs_list *l = run->r->list;
	bool found;

	pthread_mutex_lock(&run->lock);
	while (run->item < l->count &&
	    (!fs_item_has_data(&l->items[run->item]) ||
	    run->offset >= (uint64_t)l->items[run->item].st.st_size)) {
		run->item++;
		run->offset = 0;
	}
	found = run->err == 0 && run->item < l->count;
	*item = run->item;
	*offset = run->offset;
	run->offset += run->r->unit;
	if (found)
		run->r->on_progress(run->r->arg,
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

	if (end < (uint64_t)r->list->items[item].st.st_size)
		end -= end % r->unit;
	pthread_mutex_lock(&run->lock);
	if (run->item == item && run->offset < end) {
		len = end - run->offset;
		*offset = run->offset;
		run->offset = end;
		r->on_progress(r->arg, len);
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
	run->r->on_error(run->r->arg, rd->item, err);
	pthread_mutex_unlock(&run->lock);
}

static void
open_item(struct reader *rd, size_t item)
{
	const struct fs_list *l = rd->run->r->list;
	const struct fs_item *it = &l->items[item];

	if (rd->item == item && rd->fd >= 0)
		return;
	if (rd->fd >= 0)
		sys_close(rd->fd);
	rd->bad = rd->bad && rd->item == item;
	rd->item = item;
	rd->fd = tree_open(l->roots[it->root], it->path, 0);
	if (rd->fd < 0)
		report_error(rd, rd->fd);
}

/* Fills data with the part at offset; unreadable bytes become zeros. */
static void
read_part(struct reader *rd, uint64_t offset, size_t len)
{
	const struct fs_run *r = rd->run->r;
	ssize_t n = fdio_pread(rd->fd, rd->data, len, (off_t)offset);

	if (n < 0)
		report_error(rd, (int)n);
	else if ((size_t)n < len)
		report_error(rd, -EAGAIN);
	n = n < 0 ? 0 : n;
	memset(rd->data + n, 0, r->unit - (size_t)n);
}

static void
read_item_parts(void *arg, unsigned i)
{
	struct reader *rd = (struct reader *)arg + i;
	const struct fs_run *r = rd->run->r;
	uint64_t offset, hole;
	size_t item;

	while (claim_part(rd->run, &item, &offset)) {
		const struct stat *st = &r->list->items[item].st;
		size_t len = part_size(r, item, offset);

		open_item(rd, item);
		hole = rd->fd < 0 ? (uint64_t)st->st_size - offset :
		    hole_at(rd->fd, st, offset);
		if (hole < len) {
			read_part(rd, offset, len);
			r->part(r->arg, rd->worker, item, offset, rd->data,
			    len);
			continue;
		}
		r->hole(r->arg, rd->worker, item, offset, len);
		hole = claim_hole(rd->run, item, offset + hole, &offset);
		if (hole > 0)
			r->hole(r->arg, rd->worker, item, offset, hole);
	}
	if (rd->fd >= 0)
		sys_close(rd->fd);
}

int
fs_run(const struct fs_run *r)
{
	struct reading run = { .r = r };
	struct reader *rd = sys_calloc(r->threads, sizeof(*rd));
	unsigned opened = 0;
	int rc = rd == NULL ? -ENOMEM : 0;

	pthread_mutex_init(&run.lock, NULL);
	while (rc == 0 && opened < r->threads) {
		struct reader *next = &rd[opened++];

		*next = (struct reader){ .run = &run, .fd = -1 };
		next->data = sys_malloc(r->unit);
		rc = next->data == NULL ? -ENOMEM :
		    r->open(r->arg, &next->worker);
	}
	if (rc == 0)
		rc = parallel_run_all(r->threads, read_item_parts, rd);
	while (opened > 0) {
		r->close(r->arg, rd[--opened].worker);
		sys_free(rd[opened].data);
	}
	pthread_mutex_destroy(&run.lock);
	sys_free(rd);
	return rc;
}
