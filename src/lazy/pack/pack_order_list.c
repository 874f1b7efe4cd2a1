/*
 * pack_order_list.c - listing an archive before it is reordered
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_order_impl.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/path.h"
#include "base/sys.h"
#include "format/codec.h"
#include "format/tar/tar_archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
spool(void *arg, const void *data, size_t len)
{
	const struct pack_order *o = arg;

	return fdio_write(o->fd, data, len);
}

/* Returns whether fd is a regular file with an uncompressed archive. */
static bool
is_plain(int fd)
{
	uint8_t head[CODEC_MAGIC_MAX];
	off_t at = sys_lseek(fd, 0, SEEK_CUR);
	struct stat st;
	ssize_t n;

	if (at < 0 || sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	n = fdio_pread(fd, head, sizeof(head), at);
	return n >= 0 && codec_by_magic(head, (size_t)n) == NULL;
}

static const char *
keep_path(struct pack_order *o, const char *text, bool *inside)
{
	char *copy = arena_copy(&o->arena, text, strlen(text));

	if (copy == NULL)
		return NULL;
	*inside = path_clean(copy) == 0;
	return copy;
}

static int
list_entry(struct pack_order *o, const struct tar_entry *e)
{
	struct order_entry new = { .start = e->header_offset,
		.type = e->type, .data = e->data_offset };
	void *items = o->entries;
	bool inside = true, link_inside = true;
	int rc = o->count >= LAYER_ENTRIES_MAX ? -EFBIG :
	    array_grow(&items, o->count, &o->cap, sizeof(*o->entries));

	o->entries = items;
	new.path = keep_path(o, e->path, &inside);
	new.link = keep_path(o, e->type == TAR_HARDLINK ? e->link : "",
	    &link_inside);
	if (rc != 0 || new.path == NULL || new.link == NULL)
		return rc != 0 ? rc : -ENOMEM;
	if (e->type == TAR_FILE && e->extents == NULL && e->size == e->stored)
		new.size = e->size;
	new.fixed = !inside || !link_inside;
	new.ours = new.type == TAR_FILE && layer_is_internal(new.path);
	/* global records apply to all entries after them */
	o->globals |= e->after_global && o->count > 0;
	o->entries[o->count++] = new;
	/* the entry ends with the padding after its data */
	o->tail = e->data_offset + e->stored;
	o->tail += -o->tail % TAR_BLOCK;
	return 0;
}

/* Stable sorting by path */

static int
by_entry_path(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct order_entry *entries = arg;
	int d = strcmp(entries[*x].path, entries[*y].path);

	return d != 0 ? d : *x < *y ? -1 : *x > *y;
}

static int
sort(struct pack_order *o)
{
	o->by_path = sys_malloc((o->count + 1) * sizeof(*o->by_path));
	if (o->by_path == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		o->by_path[i] = (uint32_t)i;
	if (o->count > 0)
		qsort_r(o->by_path, o->count, sizeof(*o->by_path), by_entry_path,
		    o->entries);
	for (size_t i = 1; i < o->count; i++) {
		struct order_entry *a = &o->entries[o->by_path[i - 1]];
		struct order_entry *b = &o->entries[o->by_path[i]];

		if (strcmp(a->path, b->path) == 0)
			a->fixed = b->fixed = true;
	}
	return 0;
}

static int
list_all(struct pack_order *o, struct tar_archive *a)
{
	struct tar_entry e;
	int rc;

	while ((rc = tar_next(a->tar, &e)) > 0) {
		rc = list_entry(o, &e);
		if (rc != 0)
			return rc;
	}
	/* the last entry was longer if more than a block of zeros follows */
	if (tar_offset(a->tar) > o->tail + TAR_BLOCK)
		o->tail = tar_offset(a->tar) - TAR_BLOCK;
	if (rc == 0)
		rc = tar_archive_end(a);
	o->stored = tar_offset(a->tar);
	o->end = o->stored < o->tail ? o->tail : o->stored;
	return rc;
}

int
order_list(struct pack_order *o, const struct pack_options *options, int in,
    char why[LAYER_WHY])
{
	struct tar_archive_options ao = { .threads = options->threads,
		.refuse_empty = options->refuse_empty };
	struct tar_archive a;
	int rc = 0;

	o->own_fd = !is_plain(in);
	if (o->own_fd) {
		o->fd = sys_openat(AT_FDCWD, options->tmpdir, O_TMPFILE |
		    O_RDWR | O_CLOEXEC, 0600);
		ao.raw = spool;
		ao.raw_arg = o;
		if (o->fd < 0) {
			snprintf(why, LAYER_WHY, "%s: %s", options->tmpdir,
			    strerror(-o->fd));
			return o->fd;
		}
	} else {
		o->fd = in;
		o->base = (uint64_t)sys_lseek(in, 0, SEEK_CUR);
	}
	rc = tar_archive_open(&a, in, &ao);
	if (rc == 0)
		rc = list_all(o, &a);
	if (rc != 0)
		snprintf(why, LAYER_WHY, "%s", tar_archive_why(&a, rc));
	tar_archive_close(&a);
	if (rc == 0 && o->globals) {
		snprintf(why, LAYER_WHY, "the archive cannot be reordered: "
		    "it has global extended headers between its entries");
		rc = -EINVAL;
	}
	return rc != 0 ? rc : sort(o);
}
