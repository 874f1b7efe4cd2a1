/*
 * sqpack_tar.c - a tar archive as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive is read once; its bytes come from sqpack_archive.c.
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

static const uint16_t modes[] = {
	[TAR_FILE] = S_IFREG, [TAR_HARDLINK] = S_IFREG,
	[TAR_SYMLINK] = S_IFLNK, [TAR_CHAR] = S_IFCHR,
	[TAR_BLOCK_DEVICE] = S_IFBLK, [TAR_DIR] = S_IFDIR,
	[TAR_FIFO] = S_IFIFO
};

static int
take_xattrs(struct archive *a, uint32_t *index)
{
	const struct tar_entry *e = &a->entry;
	int rc;

	*index = SQUASHFS_NONE;
	if (a->p->xattrs == NULL || e->xattr_count == 0)
		return 0;
	rc = sqb_xattrs_begin(a->p->xattrs);
	for (size_t i = 0; rc == 0 && i < e->xattr_count; i++) {
		const struct tar_xattr *x = &e->xattrs[i];

		rc = sqb_xattrs_add(a->p->xattrs, x->name, x->value,
		    x->length);
		if (rc == -ENOTSUP) {
			msg_warn(&a->p->msg, "%s: attribute %s is left out: "
			    "squashfs has user, trusted and security",
			    e->path, x->name);
			rc = 0;
		}
	}
	return rc != 0 ? rc : sqb_xattrs_end(a->p->xattrs, index);
}

/* The path of the entry, or of its link target; to be freed. */
static int
clean(const char *text, char **path)
{
	*path = sys_malloc(strlen(text) + 1);
	if (*path == NULL)
		return -ENOMEM;
	strcpy(*path, text);
	return tar_clean_path(*path);
}

/*
 * The node that the entry is a hard link to.  1: it is its own name, as in an
 * archive that was given a file twice.
 */
static int
find_linked(struct archive *a, const char *path, uint32_t *first)
{
	char *target;
	int rc = clean(a->entry.link, &target);

	*first = rc == 0 ? sqw_tree_find(&a->p->tree, target) : SQW_NOWHERE;
	if (rc == 0 && (*first == SQW_NOWHERE ||
	    S_ISDIR(a->p->tree.nodes[*first].attr.mode))) {
		progress_erase(&a->p->progress);
		msg_error(&a->p->msg, "%s: %s is a link to %s, which is not "
		    "in the archive before it", a->p->o.source,
		    a->entry.path, a->entry.link);
		rc = -EBADMSG;
	}
	if (rc == 0)
		rc = strcmp(target, path) == 0;
	sys_free(target);
	return rc;
}

static int
add_entry(struct archive *a, const char *path, uint32_t *id)
{
	const struct tar_entry *e = &a->entry;
	struct sqw_attr attr = {
		.mode = (uint16_t)(modes[e->type] | e->mode),
		.uid = (uint32_t)e->uid, .gid = (uint32_t)e->gid,
		.rdev = sqpack_device(e->major, e->minor),
		.size = e->type == TAR_FILE ? e->size : 0,
	};
	uint32_t first = SQW_NOWHERE;
	int rc = e->type == TAR_HARDLINK ? find_linked(a, path, &first) : 0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (e->type == TAR_SYMLINK) {
		attr.mode = S_IFLNK | 0777;
		attr.target = e->link;
		attr.size = strlen(e->link);
	}
	if (e->uid > UINT32_MAX || e->gid > UINT32_MAX)
		return -EOVERFLOW;
	sqpack_adjust(a->p, &attr, e->mtime);
	rc = take_xattrs(a, &attr.xattr);
	if (rc == 0)
		rc = sqw_tree_add(&a->p->tree, path, &attr, id);
	if (rc == 0 && e->type == TAR_HARDLINK)
		sqw_tree_link(&a->p->tree, *id, first);
	return rc;
}

/* Enters the entry into the tree: 1 if it has data to store. */
static int
take_entry(struct archive *a, uint32_t *id)
{
	char *path;
	int rc = clean(a->entry.path, &path);

	if (rc == -EINVAL) {
		progress_erase(&a->p->progress);
		msg_error(&a->p->msg, "%s: the name %s has a component ..",
		    a->p->o.source, a->entry.path);
	} else if (rc != 0) {
		archive_fail(a, rc);
	}
	if (rc == 0 && sqpack_excluded(a->p, path)) {
		sys_free(path);
		return 0;
	}
	if (rc == 0) {
		rc = add_entry(a, path, id);
		if (rc != 0 && rc != -EBADMSG)
			msg_error(&a->p->msg, "%s: %s: %s", a->p->o.source,
			    a->entry.path, strerror(-rc));
	}
	sys_free(path);
	return rc != 0 ? rc : a->entry.type == TAR_FILE &&
	    a->entry.size > 0;
}

/* Empty input more likely means that the command before the pipe failed. */
static int
at_end(struct archive *a)
{
	if (tar_offset(a->tar) > 0)
		return 0;
	progress_erase(&a->p->progress);
	msg_error(&a->p->msg, "%s: the archive is empty: not even an end is "
	    "in it", a->p->o.source);
	return -ENODATA;
}

static int
archive_next(void *arg, struct sqb_file *f)
{
	struct archive *a = arg;
	int rc = 0;

	while (rc == 0) {
		rc = tar_next(a->tar, &a->entry);
		if (rc < 0)
			return archive_fail(a, rc);
		if (rc == 0)
			return at_end(a);
		rc = take_entry(a, &f->id);
	}
	a->extent = 0;
	a->at = 0;
	f->size = a->entry.size;
	f->alone = false;
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

/* How many of the next len bytes are zeros that are not stored. */
static size_t
hole(const struct archive *a, size_t len, bool *is_hole)
{
	const struct tar_entry *e = &a->entry;
	const struct tar_extent *x = &e->extents[a->extent];
	uint64_t until;

	*is_hole = e->extents != NULL && (a->extent == e->extent_count ||
	    a->at < x->offset);
	if (e->extents == NULL)
		return len;
	until = a->extent == e->extent_count ? e->size : *is_hole ?
	    x->offset : x->offset + x->length;
	return until - a->at < len ? (size_t)(until - a->at) : len;
}

static int
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

/* Data after the archive in a stream is read, so that the check is complete. */
static int
archive_finish(void *state)
{
	struct archive *a = state;
	int rc = tar_drain(a->tar);

	if (rc == 0 && a->unpack.running) {
		pthread_join(a->unpack.thread, NULL);
		rc = a->unpack.rc;
		if (rc != 0)
			archive_fail(a, rc);
		a->unpack.running = false;
	} else if (rc != 0) {
		archive_fail(a, rc);
	}
	if (rc == 0) {
		rc = sqw_tree_finish(&a->p->tree);
		if (rc != 0)
			archive_fail(a, rc);
	}
	return rc;
}

static void
archive_close(void *state)
{
	struct archive *a = state;

	if (a == NULL)
		return;
	if (a->data >= 0)
		sys_close(a->data);
	if (a->unpack.running) {	/* its pipe is broken now */
		input_cancel(&a->unpack.in);
		pthread_join(a->unpack.thread, NULL);
	}
	tar_close(a->tar);
	input_close(&a->unpack.in);
	if (a->fd > STDIN_FILENO)
		sys_close(a->fd);
	sys_free(a);
}

static int
archive_open(struct sqpack *p, void **state, struct sqb_source *files)
{
	struct archive *a = sys_calloc(1, sizeof(*a));
	struct tar_source source = { .read = archive_read_raw, .arg = a };
	int rc;

	*state = a;
	if (a == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	a->p = p;
	a->data = a->fd = -1;
	a->unpack.in.cancel = -1;
	*files = (struct sqb_source){ .next = archive_next,
		.read = archive_read, .arg = a };
	rc = archive_open_stream(a);
	if (rc == 0)
		rc = tar_open(&a->tar, &source);
	return rc != 0 ? archive_fail(a, rc) : 0;
}

const struct sqpack_source sqpack_tar = {
	.open = archive_open, .finish = archive_finish,
	.close = archive_close
};
