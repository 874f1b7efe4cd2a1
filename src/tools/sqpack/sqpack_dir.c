/*
 * sqpack_dir.c - a directory as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The names are listed first.  It is an error if a file changes before its last
 * byte has been read, because the image would contain data that never existed
 * in that form.
 */
#include "sqpack_dir.h"
#include "sqpack_order.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the key for finding possible duplicates; see data.h. */
static uint64_t
key_of(const struct dir *d, uint64_t size)
{
	uint32_t block = d->p->o.data.block;

	return d->p->o.data.exact ? (size - 1) / block : size;
}

static int
list_files(struct dir *d)
{
	const struct sqw_tree *t = &d->p->tree;

	d->sizes = sys_calloc(t->count, sizeof(*d->sizes));
	d->files = sys_calloc(t->count, sizeof(*d->files));
	if (d->sizes == NULL || d->files == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		if (!sqw_has_data(t, i))
			continue;
		d->files[d->file_count++] = i;
		if (t->nodes[i].attr.size >= d->p->o.data.block)
			d->sizes[d->size_count++] = key_of(d,
			    t->nodes[i].attr.size);
	}
	qsort(d->sizes, d->size_count, sizeof(*d->sizes), by_size);
	return d->p->order == NULL ? 0 : sqpack_order_sort(d->p, d->files,
	    d->file_count, &d->ends[0], &d->ends[1]);
}

static bool
is_alone(const struct dir *d, uint64_t size)
{
	const uint64_t *p = bsearch(&size, d->sizes, d->size_count,
	    sizeof(*d->sizes), by_size);

	return p == NULL || ((p == d->sizes || p[-1] != size) &&
	    (p + 1 == d->sizes + d->size_count || p[1] != size));
}

/* Builds the absolute path of a file, if there are several sources. */
static int
make_real(const struct dir *d, char **text, size_t *room)
{
	const struct sqpack_input *in = dir_input(d, *text);
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
file_path(void *arg, size_t i, char **text, size_t *room, uint64_t *size)
{
	const struct dir *d = arg;
	int rc = sqw_tree_path(&d->p->tree, d->files[i], text, room);

	*size = d->p->tree.nodes[d->files[i]].attr.size;
	return rc != 0 || d->p->o.input_count == 0 ? rc :
	    make_real(d, text, room);
}

/*
 * Reports an error for the current file.  Returns -ECANCELED if it is to be
 * omitted.
 */
static int
file_trouble(struct dir *d, int rc)
{
	uint32_t node = d->files[d->next - 1];
	char *path = NULL;
	size_t room = 0;
	uint64_t size;

	rc = dir_trouble(d, file_path(d, d->next - 1, &path, &room, &size) ==
	    0 ? path : "", rc);
	sys_free(path);
	if (rc != 0)
		return rc;
	d->p->tree.nodes[node].attr.mode = 0;
	d->left_out = true;
	return -ECANCELED;
}

/* Opens the next file, which must be the one that was listed. */
static int
take_file(struct dir *d)
{
	const struct sqw_node *n;
	int rc;

	d->file = ahead_take(d->ahead);
	n = &d->p->tree.nodes[d->files[d->next++]];
	rc = d->file->rc;
	if (rc == 0 && dir_changed_ns(&d->file->st) != d->changed_ns[n->id])
		rc = -EAGAIN;
	return rc == 0 ? 0 : file_trouble(d, rc);
}

static bool
is_dense(const struct stat *st)
{
	return (uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size;
}

static int
dir_next(void *arg, struct sqw_file *f)
{
	struct dir *d = arg;
	const struct sqw_node *n;
	int rc;

	do {
		if (d->next == d->file_count)
			return 0;
		if (d->p->order != NULL && d->group < 2 &&
		    d->next == d->ends[d->group]) {
			d->group++;
			return 2;
		}
		rc = take_file(d);
	} while (rc == -ECANCELED);
	if (rc != 0)
		return rc;
	n = &d->p->tree.nodes[d->files[d->next - 1]];
	d->offset = 0;
	f->id = n->id;
	f->size = n->attr.size;
	f->alone = f->size >= d->p->o.data.block &&
	    is_alone(d, key_of(d, f->size));
	f->dense = d->p->o.data.exact && is_dense(&d->file->st);
	return 1;
}

/* Returns whether the current large file is unchanged since it was opened. */
static bool
is_unchanged(const struct dir *d)
{
	const struct stat *was = &d->file->st;
	struct stat st;

	return sys_fstat(d->file->fd, &st) == 0 && st.st_size == was->st_size &&
	    st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* Advances in the current large file, and checks it at its end. */
static int
advance(struct dir *d, uint64_t len)
{
	d->offset += len;
	return d->offset == (uint64_t)d->file->st.st_size &&
	    !is_unchanged(d) ? -EAGAIN : 0;
}

static int64_t
dir_skip(void *arg)
{
	struct dir *d = arg;
	const struct stat *st = &d->file->st;
	uint64_t n = d->file->data != NULL ? 0 : sqw_hole_blocks(
	    hole_at(d->file->fd, st, d->offset),
	    (uint64_t)st->st_size - d->offset, d->p->o.data.block);
	int rc = n == 0 ? 0 : advance(d, n);

	return rc != 0 ? file_trouble(d, rc) : (int64_t)n;
}

static int
dir_read(void *arg, void *buf, size_t len)
{
	struct dir *d = arg;
	ssize_t n;
	int rc;

	if (d->file->data != NULL) {
		memcpy(buf, d->file->data + d->offset, len);
		d->offset += len;
		return 0;
	}
	n = fdio_pread(d->file->fd, buf, len, (off_t)d->offset);
	rc = n < 0 ? (int)n : (size_t)n < len ? -EAGAIN : advance(d, len);
	return rc != 0 ? file_trouble(d, rc) : 0;
}

static int
dir_rewind(void *arg)
{
	struct dir *d = arg;

	d->offset = 0;
	return 0;
}

/*
 * Starts twice as many readers as compressing threads, because readers mostly
 * wait.
 */
static int
start_ahead(struct dir *d)
{
	struct ahead_options o = { .root = d->root, .count = d->file_count,
		.threads = 2 * d->p->o.data.threads,
		.small = d->p->o.data.block, .path = file_path, .arg = d };

	return ahead_open(&d->ahead, &o);
}

static int
list_one(struct dir *d, struct fs_list *list)
{
	int fd = sys_dup(d->root);

	return fd < 0 ? fd : fs_list_add(list, fd, d->p->o.data.threads);
}

static int
list_dir(struct dir *d)
{
	struct fs_list list = { .count = 0 };
	int rc;

	d->root = sys_openat(AT_FDCWD, d->p->o.input_count > 0 ? "/" :
	    d->p->o.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	rc = d->root < 0 ? d->root : d->p->o.input_count > 0 ?
	    dir_list_inputs(d, &list) : list_one(d, &list);
	if (rc == 0)
		rc = fs_list_end(&list);
	if (rc == 0)
		rc = dir_fill_tree(d, &list);
	fs_list_free(&list);
	if (rc == 0 && d->p->o.complete != NULL)
		rc = d->p->o.complete(d->p);
	if (rc == 0)
		rc = sqw_tree_finish(&d->p->tree);
	if (rc == 0)
		rc = list_files(d);
	return rc != 0 ? rc : start_ahead(d);
}

static void
dir_close(void *state)
{
	struct dir *d = state;

	if (d == NULL)
		return;
	ahead_close(d->ahead);
	if (d->root >= 0)
		sys_close(d->root);
	sys_free(d->changed_ns);
	sys_free(d->sizes);
	sys_free(d->files);
	sys_free(d);
}

static int
dir_open(struct sqpack *p, void **state, struct sqw_source *files)
{
	struct dir *d = sys_calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	*state = d;
	if (d != NULL) {
		d->p = p;
		d->root = -1;
		*files = (struct sqw_source){ .next = dir_next,
			.read = dir_read, .skip = dir_skip,
			.rewind = dir_rewind, .arg = d };
		rc = list_dir(d);
	}
	if (rc != 0 && p->msg.status == MSG_OK)
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
	return rc;
}

static int
dir_finish(void *state)
{
	struct dir *d = state;
	int rc = d->left_out ? sqw_tree_prune(&d->p->tree) : 0;

	if (rc != 0)
		msg_error(&d->p->msg, "%s: %s", d->p->o.source, strerror(-rc));
	return rc;
}

const struct sqpack_source sqpack_dir = {
	.open = dir_open, .finish = dir_finish, .close = dir_close
};
