/*
 * sqpack_tar.c - a tar archive as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive is read once, using tar_archive.h.
 */
#include "sqpack_archive.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
archive_give(struct archive *a, struct sqw_file *f)
{
	a->extent = 0;
	a->at = 0;
	f->size = a->entry.size;
	f->alone = false;
}

static int
archive_next(void *arg, struct sqw_file *f)
{
	struct archive *a = arg;
	int rc = 0;

	while (rc == 0) {
		rc = tar_next(a->tar, &a->entry);
		if (rc < 0)
			return archive_fail(a, rc);
		if (rc == 0)
			return 0;
		rc = archive_take(a, &f->id);
	}
	archive_give(a, f);
	return rc;
}

static int
read_stored(struct archive *a, uint8_t *buf, size_t len)
{
	ssize_t n;

	for (; len > 0; buf += n, len -= (size_t)n) {
		n = tar_read(a->tar, buf, len);
		if (n <= 0)
			return archive_fail(a, n == 0 ? -ENODATA : (int)n);
		a->at += (uint64_t)n;
	}
	return 0;
}

/*
 * Returns the length, up to len, of the next run that is either all hole or all
 * stored data.
 */
static size_t
hole(const struct archive *a, size_t len, bool *is_hole)
{
	const struct tar_entry *e = &a->entry;
	const struct tar_extent *x;
	uint64_t until;

	*is_hole = false;
	if (e->extents == NULL)
		return len;
	x = &e->extents[a->extent];
	*is_hole = a->extent == e->extent_count || a->at < x->offset;
	until = a->extent == e->extent_count ? e->size : *is_hole ?
	    x->offset : x->offset + x->length;
	return until - a->at < len ? (size_t)(until - a->at) : len;
}

int64_t
archive_skip(void *arg)
{
	struct archive *a = arg;
	uint64_t left = a->entry.size - a->at;
	bool is_hole;
	size_t n = hole(a, left < SIZE_MAX ? (size_t)left : SIZE_MAX,
	    &is_hole);
	uint64_t whole = !is_hole ? 0 :
	    sqw_hole_blocks(n, left, a->p->o.data.block);

	a->at += whole;
	return (int64_t)whole;
}

int
archive_read(void *arg, void *buf, size_t len)
{
	struct archive *a = arg;
	const struct tar_entry *e = &a->entry;
	uint8_t *to = buf;
	int rc = 0;

	while (rc == 0 && len > 0) {
		bool is_hole;
		size_t n = hole(a, len, &is_hole);

		if (is_hole) {
			memset(to, 0, n);
			a->at += n;
		} else {
			rc = read_stored(a, to, n);
			if (e->extents != NULL && a->at ==
			    e->extents[a->extent].offset +
			    e->extents[a->extent].length)
				a->extent++;
		}
		to += n;
		len -= n;
	}
	return rc;
}

static int
archive_finish(void *state)
{
	struct archive *a = state;
	int rc = archive_end(a);

	if (rc == 0)
		archive_tell_flaw(a);
	if (rc == 0 && a->p->o.complete != NULL)
		rc = a->p->o.complete(a->p);
	if (rc == 0) {
		rc = sqw_tree_finish(&a->p->tree);
		if (rc != 0)
			archive_fail(a, rc);
	}
	return rc;
}

static void
archive_free(void *state)
{
	if (state != NULL)
		archive_close(state);
	sys_free(state);
}

static int
archive_open_file(struct sqpack *p, void **state, struct sqw_source *files)
{
	struct archive *a = sys_calloc(1, sizeof(*a));
	int fd;

	*state = a;
	if (a == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	*files = (struct sqw_source){ .next = archive_next,
		.read = archive_read, .skip = archive_skip, .arg = a };
	fd = strcmp(p->o.source, "-") == 0 ? STDIN_FILENO :
	    sys_openat(AT_FDCWD, p->o.source, O_RDONLY | O_CLOEXEC, 0);
	return archive_open(a, p, p->o.source, fd, true);
}

const struct sqpack_source sqpack_tar = {
	.open = archive_open_file, .finish = archive_finish,
	.close = archive_free
};
