/*
 * imgsrc_build.c - building an image from its source
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_order.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Reports that the table of users and groups would be too long. */
static int
too_many_owners(struct imgsrc_image *to)
{
	size_t count = to->tree.count, owners = 0;
	uint32_t *ids = sys_malloc(2 * count * sizeof(*ids));

	if (ids == NULL)
		return imgsrc_fail(to, -ENOMEM, "%s: %s", to->o.path,
		    strerror(ENOMEM));
	for (size_t i = 0; i < count; i++) {
		ids[2 * i] = to->tree.nodes[i].attr.uid;
		ids[2 * i + 1] = to->tree.nodes[i].attr.gid;
	}
	qsort(ids, 2 * count, sizeof(*ids), by_number);
	for (size_t i = 0; i < 2 * count; i++)
		owners += i == 0 || ids[i] != ids[i - 1];
	sys_free(ids);
	return imgsrc_fail(to, -EUSERS, "%s: %zu different users and groups; "
	    "squashfs supports at most %d", to->o.path, owners,
	    SQUASHFS_IDS_MAX);
}

static uint32_t
image_time(const struct imgsrc_image *to)
{
	const struct imgsrc_options *o = &to->o;

	if (o->has_image_mtime)
		return o->image_mtime;
	if (o->has_mtime)
		return o->mtime;
	return o->has_epoch ? o->epoch : to->newest;
}

static int
write_data(struct imgsrc_image *to, const struct imgsrc_source *source,
    void *state, const struct sqw_source *files, int fd, uint64_t at)
{
	int rc;

	if (source->write != NULL)
		return source->write(state, fd, at);
	if (to->order != NULL && files->rewind == NULL)
		rc = imgsrc_order_stream(to, files, fd, at);
	else
		rc = sqw_data_write(&to->data, files, &to->pack, fd, at,
		    &to->progress);
	if (rc == -EOVERFLOW && !to->told)
		imgsrc_fail(to, rc, "%s: the block lists need more memory than "
		    "--memory allows", to->o.path);
	return rc;
}

/* Builds the image of an open source. */
static int
write_image(struct imgsrc_image *to, const struct imgsrc_source *source,
    void *state, const struct sqw_source *files, int fd)
{
	int64_t at = sqt_image_begin(fd, &to->tables);
	int rc;

	if (at < 0)
		return (int)at;
	to->data_ns = sys_now_ns();
	progress_start(&to->progress, STDERR_FILENO, to->total_B,
	    !to->o.show_progress);
	rc = write_data(to, source, state, files, fd, (uint64_t)at);
	to->data_ns = sys_now_ns() - to->data_ns;
	progress_erase(&to->progress);
	if (rc == 0 && source->finish != NULL)
		rc = source->finish(state);
	if (rc == 0 && to->order != NULL)
		rc = imgsrc_order_check(to);
	if (rc != 0)
		return rc;
	to->tables.mtime = image_time(to);
	rc = sqt_image_end(fd, &to->tables, &to->tree, &to->data, to->xattrs,
	    &to->space);
	return rc == -EUSERS ? too_many_owners(to) : rc;
}

int
imgsrc_build(struct imgsrc_image *to, const struct imgsrc_source *source,
    int fd, int tmpdir)
{
	struct sqw_source files;
	void *state = NULL;
	int rc;

	to->pack.tmpdir = tmpdir;
	to->tables.data = &to->pack;
	rc = sqw_tree_open(&to->tree);
	if (rc == 0 && !to->o.no_xattrs)
		rc = sqt_xattrs_open(&to->xattrs, to->pack.exact);
	if (rc != 0)
		return imgsrc_fail(to, rc, "%s: %s", to->o.path, strerror(-rc));
	if (to->o.order != NULL && source->write != NULL)
		return imgsrc_fail(to, -EINVAL, "%s: --order cannot be used "
		    "with an image, which keeps its order", to->o.path);
	if (to->o.order != NULL) {
		rc = imgsrc_order_open(to);
		if (rc != 0)
			return rc;
	}
	rc = source->open(to, &state, &files);
	if (rc == 0)
		rc = write_image(to, source, state, &files, fd);
	source->close(state);
	return rc;
}

void
imgsrc_free(struct imgsrc_image *to)
{
	sqw_data_free(&to->data);
	sqt_xattrs_close(to->xattrs);
	sqw_tree_close(&to->tree);
	imgsrc_order_close(to->order);
}
