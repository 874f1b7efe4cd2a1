/*
 * imgsrc_dir.c - a directory as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names are listed first.  It is an error if a file changes before its last
 * byte has been read, because the image would contain data that never existed
 * in that form.
 */
#include "imgsrc_dir.h"
#include "imgsrc_order.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int
by_twin_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the key for finding possible duplicates; see data.h. */
static uint64_t
key_of(const struct imgsrc_dir *d, uint64_t size)
{
	uint32_t block = d->to->pack.block;

	return d->to->pack.exact ? (size - 1) / block : size;
}

static int
list_data(struct imgsrc_dir *d)
{
	const struct sqw_tree *t = &d->to->tree;

	d->sizes = sys_calloc(t->count, sizeof(*d->sizes));
	d->files = sys_calloc(t->count, sizeof(*d->files));
	if (d->sizes == NULL || d->files == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		if (!sqw_has_data(t, i))
			continue;
		d->files[d->file_count++] = i;
		if (t->nodes[i].attr.size >= d->to->pack.block)
			d->sizes[d->size_count++] = key_of(d,
			    t->nodes[i].attr.size);
	}
	qsort(d->sizes, d->size_count, sizeof(*d->sizes), by_twin_key);
	return d->to->order == NULL ? 0 : imgsrc_order_sort(d->to, d->files,
	    d->file_count, &d->ends[0], &d->ends[1]);
}

static bool
is_alone(const struct imgsrc_dir *d, uint64_t size)
{
	const uint64_t *p = bsearch(&size, d->sizes, d->size_count,
	    sizeof(*d->sizes), by_twin_key);

	return p == NULL || ((p == d->sizes || p[-1] != size) &&
	    (p + 1 == d->sizes + d->size_count || p[1] != size));
}

/* Builds the absolute path of a file, if there are several sources. */
static int
prepend_real(const struct imgsrc_dir *d, char **text, size_t *room)
{
	const struct imgsrc_input *in = imgsrc_dir_input(d, *text);
	size_t skip = strlen(in->name), real = strlen(in->real);
	size_t rest = strlen(*text) - skip + 1;
	char *p = *text;

	if (real + rest > *room) {
		p = sys_realloc(*text, real + rest);
		if (p == NULL)
			return -ENOMEM;
		*text = p;
		*room = real + rest;
	}
	memmove(p + real, p + skip, rest);
	memcpy(p, in->real, real);
	return 0;
}

static int
dir_file_path(void *arg, size_t i, char **text, size_t *room, uint64_t *size)
{
	const struct imgsrc_dir *d = arg;
	int rc = sqw_tree_path(&d->to->tree, d->files[i], text, room);

	*size = d->to->tree.nodes[d->files[i]].attr.size;
	return rc != 0 || d->to->o.input_count == 0 ? rc :
	    prepend_real(d, text, room);
}

/*
 * Reports an error for the current file.  Returns -ECANCELED if it is to be
 * omitted.
 */
static int
file_trouble(struct imgsrc_dir *d, int rc)
{
	uint32_t node = d->files[d->next - 1];
	char *path = NULL;
	size_t room = 0;
	uint64_t size;

	if (dir_file_path(d, d->next - 1, &path, &room, &size) == 0)
		rc = imgsrc_dir_trouble(d, path, rc);
	else
		rc = imgsrc_dir_trouble(d, "", rc);
	sys_free(path);
	if (rc != 0)
		return rc;
	d->to->tree.nodes[node].attr.mode = 0;
	d->left_out = true;
	return -ECANCELED;
}

/* Opens the next file, which must be the one that was listed. */
static int
next_file(struct imgsrc_dir *d)
{
	const struct sqw_node *n;
	int rc;

	d->file = imgsrc_ahead_take(d->ahead);
	n = &d->to->tree.nodes[d->files[d->next++]];
	rc = d->file->rc;
	if (rc == 0 &&
	    imgsrc_dir_changed_ns(&d->file->st) != d->changed_ns[n->id])
		rc = -EAGAIN;
	return rc == 0 ? 0 : file_trouble(d, rc);
}

static bool
is_not_sparse(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size;
}

static int
dir_next(void *arg, struct sqw_file *f)
{
	struct imgsrc_dir *d = arg;
	const struct sqw_node *n;
	int rc;

	do {
		if (d->next == d->file_count)
			return 0;
		if (d->to->order != NULL && d->group < 2 &&
		    d->next == d->ends[d->group]) {
			d->group++;
			return 2;
		}
		rc = next_file(d);
	} while (rc == -ECANCELED);
	if (rc != 0)
		return rc;
	n = &d->to->tree.nodes[d->files[d->next - 1]];
	d->offset = 0;
	f->id = n->id;
	f->size = n->attr.size;
	f->alone = f->size >= d->to->pack.block &&
	    is_alone(d, key_of(d, f->size));
	f->dense = d->to->pack.exact && is_not_sparse(&d->file->st);
	return 1;
}

/* Returns whether the current large file is unchanged since it was opened. */
static bool
is_unchanged(const struct imgsrc_dir *d)
{
	const struct stat *was = &d->file->st;
	struct stat st;

	return sys_fstat(d->file->fd, &st) == 0 && st.st_size == was->st_size &&
	    st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* Advances in the current large file, and checks it at its end. */
static int
advance_large(struct imgsrc_dir *d, uint64_t len)
{
	d->offset += len;
	return d->offset == (uint64_t)d->file->st.st_size &&
	    !is_unchanged(d) ? -EAGAIN : 0;
}

static int64_t
dir_skip(void *arg)
{
	struct imgsrc_dir *d = arg;
	const struct stat *st = &d->file->st;
	uint64_t n = d->file->data != NULL ? 0 : sqw_hole_blocks(
	    hole_at(d->file->fd, st, d->offset),
	    (uint64_t)st->st_size - d->offset, d->to->pack.block);
	int rc = n == 0 ? 0 : advance_large(d, n);

	return rc != 0 ? file_trouble(d, rc) : (int64_t)n;
}

static int
dir_read(void *arg, void *buf, size_t len)
{
	struct imgsrc_dir *d = arg;
	ssize_t n;
	int rc;

	if (d->file->data != NULL) {
		memcpy(buf, d->file->data + d->offset, len);
		d->offset += len;
		return 0;
	}
	n = fdio_pread(d->file->fd, buf, len, (off_t)d->offset);
	rc = n < 0 ? (int)n : (size_t)n < len ? -EAGAIN : advance_large(d, len);
	return rc != 0 ? file_trouble(d, rc) : 0;
}

static int
dir_rewind(void *arg)
{
	struct imgsrc_dir *d = arg;

	d->offset = 0;
	return 0;
}

/* Lists the names, and starts to read their files. */
static int
open_listed(struct imgsrc_dir *d)
{
	struct imgsrc_image *to = d->to;
	bool several = to->o.input_count > 0;
	struct imgsrc_ahead_options o = { .small = to->pack.block,
		.path = dir_file_path, .arg = d };
	struct fs_list list = { .count = 0 };
	int rc, fd;

	d->root = rc = sys_openat(AT_FDCWD, several ? "/" : to->o.path,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (rc < 0)
		return rc;
	if (several) {
		rc = imgsrc_dir_list_inputs(d, &list);
	} else {
		fd = sys_dup(d->root);
		rc = fd < 0 ? fd : fs_list_add(&list, fd, to->pack.threads);
	}
	if (rc == 0)
		rc = fs_list_end(&list);
	if (rc == 0)
		rc = imgsrc_dir_fill_tree(d, &list);
	fs_list_free(&list);
	if (rc != 0)
		return rc;
	rc = imgsrc_complete(to);
	if (rc != 0)
		return rc;
	rc = list_data(d);
	if (rc != 0)
		return rc;
	/* twice as many readers as compressors, because they mostly wait */
	o.threads = 2 * to->pack.threads;
	o.root = d->root;
	o.count = d->file_count;
	return imgsrc_ahead_open(&d->ahead, &o);
}

static void
dir_close(void *state)
{
	struct imgsrc_dir *d = state;

	if (d == NULL)
		return;
	imgsrc_ahead_close(d->ahead);
	if (d->root >= 0)
		sys_close(d->root);
	sys_free(d->changed_ns);
	sys_free(d->sizes);
	sys_free(d->files);
	sys_free(d);
}

static int
dir_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_dir *d = sys_calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	*state = d;
	if (d != NULL) {
		d->to = to;
		d->root = -1;
		*files = (struct sqw_source){ .next = dir_next,
			.read = dir_read, .skip = dir_skip,
			.rewind = dir_rewind, .arg = d };
		rc = open_listed(d);
	}
	if (rc != 0 && !to->told)
		imgsrc_fail(to, rc, "%s: %s", to->o.path, strerror(-rc));
	return rc;
}

static int
dir_finish(void *state)
{
	struct imgsrc_dir *d = state;
	struct imgsrc_image *to = d->to;
	int rc = d->left_out ? sqw_tree_prune(&to->tree) : 0;

	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", to->o.path,
	    strerror(-rc));
}

const struct imgsrc_source imgsrc_dir = {
	.open = dir_open, .finish = dir_finish, .close = dir_close
};
