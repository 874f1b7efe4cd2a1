/*
 * sqfs_source.c - the listed files as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Unreadable data is reported and treated as zeros.
 */
#include "sqfs_source.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <string.h>

static void
report_error(struct sqfs_source *s, int err)
{
	if (!s->told)
		s->job->on_error(s->job->arg,
		    (size_t)(s->item - s->job->list->items), err);
	s->told = true;
}

static void
shut_file(struct sqfs_source *s)
{
	if (s->fd >= 0)
		sys_close(s->fd);
	s->fd = -1;
}

static int
next_file(void *arg, struct sqw_file *f)
{
	struct sqfs_source *s = arg;
	const struct sqw_tree *t = &s->tree->tree;
	const struct stat *st;

	while (s->next < t->count && !sqw_has_data(t, s->next))
		s->next++;
	if (s->next == t->count)
		return 0;
	shut_file(s);
	s->item = sqfs_item(s->tree, s->next);
	s->offset = s->ticked = 0;
	s->told = false;
	s->fd = tree_open(s->job->list->roots[s->item->root], s->item->path,
	    0);
	if (s->fd < 0)
		report_error(s, s->fd);
	st = &s->item->st;
	/* mksquashfs stores holes only in files that are sparse on disk */
	*f = (struct sqw_file){ .id = t->nodes[s->next].id,
		.size = (uint64_t)st->st_size, .dense = !s->as_sqpack &&
		(uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size };
	s->next++;
	return 1;
}

/* Counts bytes only once, even if they are read twice. */
static void
count_progress(struct sqfs_source *s)
{
	if (s->offset <= s->ticked)
		return;
	s->job->on_progress(s->job->arg, s->offset - s->ticked);
	s->ticked = s->offset;
}

static int
read_file(void *arg, void *buf, size_t len)
{
	struct sqfs_source *s = arg;
	uint8_t *data = buf;
	ssize_t n = 0;

	if (s->fd >= 0) {
		n = fdio_pread(s->fd, data, len, (off_t)s->offset);
		if (n < 0)
			report_error(s, (int)n);
		else if ((size_t)n < len)
			report_error(s, -EAGAIN);
		n = n < 0 ? 0 : n;
	}
	memset(data + n, 0, len - (size_t)n);
	s->offset += len;
	count_progress(s);
	return 0;
}

static int64_t
skip_hole(void *arg)
{
	struct sqfs_source *s = arg;
	const struct stat *st = &s->item->st;
	uint64_t n = s->fd < 0 ? 0 : sqw_hole_blocks(hole_at(s->fd, st,
	    s->offset), (uint64_t)st->st_size - s->offset,
	    s->job->params->block);

	s->offset += n;
	count_progress(s);
	return (int64_t)n;
}

static int
rewind_file(void *arg)
{
	struct sqfs_source *s = arg;

	s->offset = 0;
	return 0;
}

void
sqfs_source_open(struct sqfs_source *s, const struct sqfs_tree *t,
    const struct fs_job *job, bool as_sqpack)
{
	*s = (struct sqfs_source){ .job = job, .tree = t, .fd = -1,
		.as_sqpack = as_sqpack };
}

void
sqfs_source_close(struct sqfs_source *s)
{
	shut_file(s);
}

struct sqw_source
sqfs_source_files(struct sqfs_source *s)
{
	return (struct sqw_source){ .next = next_file, .read = read_file,
		.skip = skip_hole, .rewind = rewind_file, .arg = s };
}
