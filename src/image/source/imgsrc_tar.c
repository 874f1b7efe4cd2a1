/*
 * imgsrc_tar.c - a tar archive as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive is read once, using tar_archive.h.
 */
#include "imgsrc_tar.h"

#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
imgsrc_tar_fail(struct imgsrc_archive *a, int rc)
{
	return imgsrc_fail(a->to, rc, "%s: %s", a->name,
	    tar_archive_why(&a->stream, rc));
}

int
imgsrc_tar_open(struct imgsrc_archive *a, struct imgsrc_image *to,
    const char *name, int fd, bool refuse_empty)
{
	struct tar_archive_options o = { .threads = to->pack.threads,
		.refuse_empty = refuse_empty, .skip_ends = to->o.skip_ends };
	int rc = fd;

	*a = (struct imgsrc_archive){ .to = to, .name = name, .fd = fd,
		.stream = { .pipe = -1, .in = { .cancel = -1 } } };
	if (fd >= 0)
		rc = tar_archive_open(&a->stream, fd, &o);
	a->tar = a->stream.tar;
	return rc < 0 ? imgsrc_tar_fail(a, rc) : 0;
}

void
imgsrc_tar_close(struct imgsrc_archive *a)
{
	tar_archive_close(&a->stream);
	if (a->fd > STDIN_FILENO)
		sys_close(a->fd);
}

int
imgsrc_tar_end(struct imgsrc_archive *a)
{
	int rc = tar_archive_end(&a->stream);

	return rc != 0 ? imgsrc_tar_fail(a, rc) : 0;
}

void
imgsrc_tar_warn(struct imgsrc_archive *a)
{
	if (tar_flaw(a->tar) != NULL)
		imgsrc_tell(a->to, IMGSRC_WARNING, "%s: %s", a->name,
		    tar_flaw(a->tar));
}

/* Entries */

int
imgsrc_tar_xattrs(struct imgsrc_archive *a, uint32_t *index)
{
	const struct tar_entry *e = &a->entry;
	struct sqt_xattrs *to = a->to->xattrs;
	int rc;

	*index = SQUASHFS_NONE;
	if (to == NULL || e->xattr_count == 0)
		return 0;
	rc = sqt_xattrs_begin(to);
	for (size_t i = 0; rc == 0 && i < e->xattr_count; i++) {
		const struct tar_xattr *x = &e->xattrs[i];

		if (a->to->o.wants_xattr != NULL &&
		    !a->to->o.wants_xattr(a->to->o.arg, x->name))
			continue;
		rc = sqt_xattrs_add(to, x->name, x->value, x->length);
		if (rc == -ENOTSUP) {
			imgsrc_tell(a->to, IMGSRC_WARNING, "%s: attribute %s "
			    "omitted: squashfs supports only user, trusted and "
			    "security", e->path, x->name);
			rc = 0;
		}
	}
	return rc != 0 ? rc : sqt_xattrs_end(to, index);
}

/*
 * Normalizes the path of the entry or of its link target into *path, which must
 * be freed.
 */
static int
clean(const char *text, char **path)
{
	*path = strcopy(text);
	return *path == NULL ? -ENOMEM : path_clean(*path);
}

/*
 * Finds the node that a hard link refers to.  Returns 1 if the entry is a link
 * to itself, as when the same file was archived twice.
 */
static int
find_linked(struct imgsrc_archive *a, const char *path, uint32_t *first)
{
	const struct sqw_tree *t = &a->to->tree;
	char *target;
	int rc = clean(a->entry.link, &target);

	if (rc != 0)
		goto out;
	*first = sqw_tree_find(t, target);
	if (*first == SQW_NOWHERE || S_ISDIR(t->nodes[*first].attr.mode))
		rc = imgsrc_fail(a->to, -EBADMSG, "%s: %s is a link to %s, "
		    "which does not precede it in the archive", a->name,
		    a->entry.path, a->entry.link);
	else
		rc = strcmp(target, path) == 0;
out:
	sys_free(target);
	return rc;
}

int
imgsrc_tar_add(struct imgsrc_archive *a, uint32_t *id)
{
	const struct tar_entry *e = &a->entry;
	struct imgsrc_image *to = a->to;
	struct sqw_attr attr = {
		.mode = (uint16_t)(tar_type_mode(e->type) | e->mode),
		.uid = (uint32_t)e->uid, .gid = (uint32_t)e->gid,
		.rdev = squashfs_device(e->major, e->minor),
		.size = e->type == TAR_FILE ? e->size : 0,
		.xattr = SQUASHFS_NONE,
	};
	uint32_t first = SQW_NOWHERE;
	char *path;
	int rc = clean(e->path, &path);

	*id = SQW_NOWHERE;
	if (rc == -EINVAL) {
		imgsrc_fail(to, rc, "%s: the name %s contains '..'",
		    a->name, e->path);
		goto out;
	}
	if (rc != 0) {
		imgsrc_tar_fail(a, rc);
		goto out;
	}
	if (imgsrc_excluded(to, path) || (a->filter != NULL &&
	    a->filter(a->filter_arg, path)))
		goto out;
	rc = to->o.left_out == NULL ? 0 : to->o.left_out(to->o.arg, path,
	    NULL);
	if (rc < 0)
		imgsrc_tar_fail(a, rc);
	if (rc != 0) {
		rc = rc < 0 ? rc : 0;
		goto out;
	}
	if (e->type == TAR_HARDLINK) {
		rc = find_linked(a, path, &first);
		if (rc < 0)
			goto fail;
		if (rc == 1) {
			rc = 0;
			goto out;
		}
	}
	if (e->type == TAR_SYMLINK) {
		attr.mode = S_IFLNK | 0777;
		attr.target = e->link;
		attr.size = strlen(e->link);
	}
	if (e->uid > UINT32_MAX || e->gid > UINT32_MAX) {
		rc = -EOVERFLOW;
		goto fail;
	}
	imgsrc_adjust(to, &attr, e->mtime);
	if (a->filter == NULL)
		rc = imgsrc_tar_xattrs(a, &attr.xattr);
	if (rc == 0)
		rc = sqw_tree_add(&to->tree, path, &attr, id);
	if (rc != 0)
		goto fail;
	if (e->type == TAR_HARDLINK)
		sqw_tree_link(&to->tree, *id, first);
	rc = e->type == TAR_FILE && e->size > 0;
	goto out;
fail:
	if (!to->told)
		imgsrc_fail(to, rc, "%s: %s: %s", a->name, e->path,
		    strerror(-rc));
out:
	sys_free(path);
	return rc;
}

/* Data */

void
imgsrc_tar_give(struct imgsrc_archive *a, struct sqw_file *f)
{
	a->extent = 0;
	a->at = 0;
	f->size = a->entry.size;
	f->alone = false;
}

static int
archive_next(void *arg, struct sqw_file *f)
{
	struct imgsrc_archive *a = arg;
	int rc;

	do {
		rc = tar_next(a->tar, &a->entry);
		if (rc < 0)
			return imgsrc_tar_fail(a, rc);
		if (rc == 0)
			return 0;
		rc = imgsrc_tar_add(a, &f->id);
	} while (rc == 0);
	imgsrc_tar_give(a, f);
	return rc;
}

/*
 * Returns the length, up to len, of the next run that is either all hole or all
 * stored data.
 */
static size_t
next_run(const struct imgsrc_archive *a, size_t len, bool *is_hole)
{
	const struct tar_entry *e = &a->entry;
	const struct tar_extent *x;
	uint64_t until;

	*is_hole = false;
	if (e->extents == NULL)
		return len;
	x = &e->extents[a->extent];
	*is_hole = a->extent == e->extent_count || a->at < x->offset;
	if (a->extent == e->extent_count)
		until = e->size;
	else
		until = x->offset + (*is_hole ? 0 : x->length);
	return until - a->at < len ? (size_t)(until - a->at) : len;
}

int64_t
imgsrc_tar_skip(void *arg)
{
	struct imgsrc_archive *a = arg;
	uint64_t left = a->entry.size - a->at;
	bool is_hole;
	size_t n = next_run(a, left < SIZE_MAX ? (size_t)left : SIZE_MAX,
	    &is_hole);
	uint64_t whole = !is_hole ? 0 :
	    sqw_hole_blocks(n, left, a->to->pack.block);

	a->at += whole;
	return (int64_t)whole;
}

int
imgsrc_tar_read(void *arg, void *buf, size_t len)
{
	struct imgsrc_archive *a = arg;
	const struct tar_extent *x = a->entry.extents;
	uint8_t *p = buf;

	while (len > 0) {
		bool is_hole;
		size_t n = next_run(a, len, &is_hole);

		len -= n;
		if (is_hole) {
			memset(p, 0, n);
			a->at += n;
			p += n;
			continue;
		}
		while (n > 0) {
			ssize_t got = tar_read(a->tar, p, n);

			if (got <= 0)
				return imgsrc_tar_fail(a, got == 0 ? -ENODATA :
				    (int)got);
			a->at += (uint64_t)got;
			p += got;
			n -= (size_t)got;
		}
		if (x != NULL && a->at == x[a->extent].offset +
		    x[a->extent].length)
			a->extent++;
	}
	return 0;
}

static int
archive_finish(void *state)
{
	struct imgsrc_archive *a = state;
	int rc = imgsrc_tar_end(a);

	if (rc != 0)
		return rc;
	imgsrc_tar_warn(a);
	rc = imgsrc_complete(a->to);
	if (rc == 0 && a->to->content_count > 0)
		rc = imgsrc_fail(a->to, -ENOTSUP, "%s: files with content "
		    "cannot be added to an archive", a->name);
	return rc;
}

static void
archive_close(void *state)
{
	if (state != NULL)
		imgsrc_tar_close(state);
	sys_free(state);
}

static int
archive_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_archive *a = sys_calloc(1, sizeof(*a));
	int fd;

	*state = a;
	if (a == NULL)
		return imgsrc_no_memory(to);
	*files = (struct sqw_source){ .next = archive_next,
		.read = imgsrc_tar_read, .skip = imgsrc_tar_skip, .arg = a };
	fd = strcmp(to->o.path, "-") == 0 ? STDIN_FILENO :
	    sys_openat(AT_FDCWD, to->o.path, O_RDONLY | O_CLOEXEC, 0);
	return imgsrc_tar_open(a, to, to->o.path, fd, true);
}

const struct imgsrc_source imgsrc_tar = {
	.open = archive_open, .finish = archive_finish,
	.close = archive_close
};
