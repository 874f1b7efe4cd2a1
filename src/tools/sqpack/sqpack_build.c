/*
 * sqpack_build.c - building an image from its source
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_order.h"

#include "base/sys.h"
#include "image/squashfs/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
sqpack_fail(struct sqpack *p, const char *what, int rc)
{
	progress_erase(&p->progress);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", what, strerror(-rc));
	return rc;
}

static bool
is_image(const char *name)
{
	uint64_t offset;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	bool found = fd >= 0 && sq_find(fd, &offset) > 0;

	if (fd >= 0)
		sys_close(fd);
	return found;
}

static const struct sqpack_source *
source_of(const struct sqpack *p)
{
	struct stat st;

	if (p->o.has_offset)
		return &sqpack_repack;
	if (p->o.input_count > 0 || ((p->o.as != NULL || p->o.data.exact) &&
	    strcmp(p->o.source, "-") != 0))
		return &sqpack_dir;
#ifdef COLDPRESS_OCI
	if (sqpack_is_oci(p->o.source))
		return &sqpack_oci;
#endif
	if (strcmp(p->o.source, "-") == 0 || sys_fstatat(AT_FDCWD,
	    p->o.source, &st, 0) != 0)
		return &sqpack_tar;
	if (S_ISDIR(st.st_mode))
		return &sqpack_dir;
	return (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) &&
	    is_image(p->o.source) ? &sqpack_repack : &sqpack_tar;
}

/*
 * Wraps a source to distinguish its errors, which it reports itself, from
 * output errors.
 */
struct watched {
	const struct sqw_source *files;
	bool failed;
};

static int
watch(struct watched *w, int rc)
{
	w->failed |= rc < 0;
	return rc;
}

static int
watched_next(void *arg, struct sqw_file *f)
{
	struct watched *w = arg;

	return watch(w, w->files->next(w->files->arg, f));
}

static int
watched_read(void *arg, void *buf, size_t len)
{
	struct watched *w = arg;
	int rc = w->files->read(w->files->arg, buf, len);

	return rc == -ECANCELED ? rc : watch(w, rc);
}

static int64_t
watched_skip(void *arg)
{
	struct watched *w = arg;
	int64_t n = w->files->skip(w->files->arg);

	return n == -ECANCELED ? n : n < 0 ? watch(w, (int)n) : n;
}

static int
watched_rewind(void *arg)
{
	struct watched *w = arg;

	return watch(w, w->files->rewind(w->files->arg));
}

static int
write_data(struct sqpack *p, const struct sqw_source *files, int fd,
    uint64_t at)
{
	struct watched w = { .files = files };
	struct sqw_source s = { .next = watched_next, .read = watched_read,
		.skip = files->skip != NULL ? watched_skip : NULL,
		.rewind = files->rewind != NULL ? watched_rewind : NULL,
		.arg = &w };
	int rc = p->order != NULL && files->rewind == NULL ?
	    sqpack_order_stream(p, &s, fd, at) : sqw_data_write(&p->data, &s,
	    &p->o.data, fd, at, &p->progress);

	if (rc == -EOVERFLOW && !w.failed) {
		msg_error(&p->msg, "%s: the block lists need more memory than "
		    "--memory allows", p->o.source);
		return rc;
	}
	return w.failed ? rc : sqpack_fail(p, p->o.output, rc);
}

static uint32_t
image_time(const struct sqpack *p)
{
	const struct sqpack_options *o = &p->o;

	return o->has_image_mtime ? o->image_mtime : o->has_mtime ? o->mtime :
	    o->has_epoch ? o->epoch : p->newest;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Reports that the table of users and groups would be too long. */
static int
too_many_owners(struct sqpack *p)
{
	size_t count = p->tree.count, owners = 0;
	uint32_t *ids = sys_malloc(2 * count * sizeof(*ids));

	if (ids == NULL)
		return sqpack_fail(p, p->o.source, -ENOMEM);
	for (size_t i = 0; i < count; i++) {
		ids[2 * i] = p->tree.nodes[i].attr.uid;
		ids[2 * i + 1] = p->tree.nodes[i].attr.gid;
	}
	qsort(ids, 2 * count, sizeof(*ids), by_number);
	for (size_t i = 0; i < 2 * count; i++)
		owners += i == 0 || ids[i] != ids[i - 1];
	sys_free(ids);
	progress_erase(&p->progress);
	msg_error(&p->msg, "%s: %zu different users and groups; squashfs "
	    "supports at most %d",
	    p->o.source, owners, SQUASHFS_IDS_MAX);
	return -EUSERS;
}

/* Builds the image of an open source in fd, which is at offset 0. */
static int
write_image(struct sqpack *p, const struct sqpack_source *kind, void *source,
    const struct sqw_source *files, int fd)
{
	struct sqt_image_options o = { .data = &p->o.data,
		.raw_inodes = p->o.raw_inodes, .raw_xattrs = p->o.raw_xattrs,
		.raw_ids = p->o.raw_ids,
		.no_export = p->o.no_export, .no_pad = p->o.no_pad,
		.more_flags = p->o.more_flags, .offset = p->o.output_offset };
	int64_t at = sqt_image_begin(fd, &o);
	int rc;

	if (at < 0)
		return sqpack_fail(p, p->o.output, (int)at);
	p->data_ns = sys_now_ns();
	progress_start(&p->progress, STDERR_FILENO, p->total_B, p->msg.quiet);
	rc = kind->write != NULL ? kind->write(source, fd, (uint64_t)at) :
	    write_data(p, files, fd, (uint64_t)at);
	p->data_ns = sys_now_ns() - p->data_ns;
	progress_erase(&p->progress);
	if (rc == 0)
		rc = kind->finish(source);
	if (rc == 0 && p->order != NULL)
		rc = sqpack_order_check(p);
	if (rc != 0)
		return rc;
	o.mtime = image_time(p);
	rc = sqt_image_end(fd, &o, &p->tree, &p->data, p->xattrs, &p->space);
	return rc == -EUSERS ? too_many_owners(p) :
	    sqpack_fail(p, p->o.output, rc);
}

/*
 * Builds the image in fd.  Data that may be a duplicate is kept in an unlinked
 * file in dir, the directory of the output.
 */
static int
build_to(struct sqpack *p, const struct sqpack_source *kind, int fd, int dir)
{
	struct sqw_source files;
	void *source = NULL;
	int rc = sqw_tree_open(&p->tree);

	p->o.data.tmpdir = dir;
	p->o.data.memory = p->o.memory;
	if (rc == 0 && !p->o.no_xattrs)
		rc = sqt_xattrs_open(&p->xattrs, p->o.data.exact);
	if (rc != 0)
		return sqpack_fail(p, p->o.source, rc);
	if (p->o.order != NULL && kind == &sqpack_repack) {
		msg_error(&p->msg, "%s: --order cannot be used with an image, "
		    "which keeps its order",
		    p->o.source);
		return -EINVAL;
	}
	if (p->o.order != NULL)
		rc = sqpack_order_open(p);
	if (rc != 0)
		return rc;
	rc = kind->open(p, &source, &files);
	if (rc == 0)
		rc = write_image(p, kind, source, &files, fd);
	kind->close(source);
	return rc;
}

/* Opens the directory for unlinked files. */
static int
open_tmpdir(const char **name)
{
	const char *tmpdir = getenv("TMPDIR");

	*name = tmpdir == NULL || *tmpdir == '\0' ? "/tmp" : tmpdir;
	return sys_openat(AT_FDCWD, *name, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
}

int
sqpack_build_nowhere(struct sqpack *p, const struct sqpack_source *kind,
    int (*judge)(struct sqpack *p, int fd))
{
	const char *name;
	int dir = open_tmpdir(&name);
	int fd = dir < 0 ? dir : sys_openat(dir, ".", O_TMPFILE | O_RDWR |
	    O_CLOEXEC, 0600);
	int rc = fd < 0 ? sqpack_fail(p, name, fd) : build_to(p, kind, fd, dir);

	if (rc == 0 && judge != NULL)
		rc = judge(p, fd);
	if (fd >= 0)
		sys_close(fd);
	if (dir >= 0)
		sys_close(dir);
	return rc;
}

/* Returns the permissions of a new file. */
static mode_t
new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/*
 * Writes the image to a block device.  Unlinked files are not created in /dev,
 * the directory of the device.
 */
static int
build_on_device(struct sqpack *p, const struct output *out)
{
	const char *name;
	int rc, dir = open_tmpdir(&name);

	if (dir < 0)
		return sqpack_fail(p, name, dir);
	rc = build_to(p, source_of(p), out->fd, dir);
	sys_close(dir);
	return rc;
}

static int
build_in(struct sqpack *p, struct output *out)
{
	int rc;

	if (out->direct && S_ISBLK(out->there.st_mode))
		return build_on_device(p, out);
	if (out->direct) {
		msg_error(&p->msg, "%s: an image cannot be written "
		    "sequentially: -o needs a file or a block device", p->o.output);
		return -ESPIPE;
	}
	rc = build_to(p, source_of(p), out->fd, out->dirfd);
	if (rc == 0 && sys_chmod(out->fd, NULL, new_mode(), 0) != 0)
		msg_warn(&p->msg, "%s: cannot set permissions",
		    p->o.output);
	return rc;
}

int
sqpack_build(struct sqpack *p)
{
	struct output out;
	int rc;

	if (p->o.dry_run)
		return sqpack_build_nowhere(p, source_of(p), NULL);
	rc = output_create(&out, p->o.output, p->o.force);
	if (rc == -EEXIST) {
		msg_error(&p->msg, "%s exists (-f replaces it)",
		    p->o.output);
		return rc;
	}
	if (rc != 0)
		return sqpack_fail(p, p->o.output, rc);
	rc = build_in(p, &out);
	if (rc != 0) {
		output_abort(&out);
		return rc;
	}
	return sqpack_fail(p, p->o.output, output_commit(&out, true));
}

void
sqpack_free(struct sqpack *p)
{
	sqw_data_free(&p->data);
	sqt_xattrs_close(p->xattrs);
	sqw_tree_close(&p->tree);
	walk_order_free(p->order);
	sys_free(p->order_path);
	if (p->o.release != NULL)
		p->o.release(p);
	sys_free(p->o.excludes);
}
