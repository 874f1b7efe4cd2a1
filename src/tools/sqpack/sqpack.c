/*
 * sqpack.c - build a squashfs image from a tree or an archive
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"
#include "sqpack_order.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
sqpack_excluded(const struct sqpack *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;

	for (size_t i = 0; i < p->o.exclude_count; i++) {
		const char *glob = p->o.excludes[i];

		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 ||
		    (strchr(glob, '/') == NULL &&
		    fnmatch(glob, name, 0) == 0))
			return true;
	}
	return false;
}

/* mksquashfs truncates times that are out of range. */
static uint32_t
time_of(const struct sqpack_options *o, int64_t t)
{
	if (o->has_epoch && t > o->epoch)
		t = o->epoch;
	return o->data.exact ? (uint32_t)t : sqw_time(t);
}

void
sqpack_adjust(struct sqpack *p, struct sqw_attr *attr, int64_t mtime)
{
	const struct sqpack_options *o = &p->o;

	if (o->has_uid)
		attr->uid = o->uid;
	if (o->has_gid)
		attr->gid = o->gid;
	attr->mtime = time_of(o, o->has_mtime ? o->mtime : mtime);
	if (attr->mtime > p->newest)
		p->newest = attr->mtime;
}

uint32_t
sqpack_device(uint32_t major, uint32_t minor)
{
	return major << 8 | (minor & 0xff) | (minor & ~UINT32_C(0xff)) << 12;
}

static bool
is_image(const char *name)
{
	uint64_t offset;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	bool found = fd >= 0 && sqr_find(fd, &offset) > 0;

	if (fd >= 0)
		sys_close(fd);
	return found;
}

static const struct sqpack_source *
source_of(const struct sqpack *p)
{
	struct stat st;

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

int
sqpack_fail(struct sqpack *p, const char *what, int rc)
{
	progress_erase(&p->progress);
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", what, strerror(-rc));
	return rc;
}

/*
 * Wraps a source to tell its errors, which it reports itself, from errors of
 * the output.
 */
struct watched {
	const struct sqb_source *files;
	bool failed;
};

static int
watch(struct watched *w, int rc)
{
	w->failed |= rc < 0;
	return rc;
}

static int
watched_next(void *arg, struct sqb_file *f)
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

static int
watched_rewind(void *arg)
{
	struct watched *w = arg;

	return watch(w, w->files->rewind(w->files->arg));
}

static int
write_data(struct sqpack *p, const struct sqb_source *files, int fd,
    uint64_t at)
{
	struct watched w = { .files = files };
	struct sqb_source s = { .next = watched_next, .read = watched_read,
		.rewind = files->rewind != NULL ? watched_rewind : NULL,
		.arg = &w };
	int rc = p->order != NULL && files->rewind == NULL ?
	    sqpack_order_stream(p, &s, fd, at) : sqb_data_write(&p->data, &s,
	    &p->o.data, fd, at, &p->progress);

	return w.failed ? rc : sqpack_fail(p, p->o.output, rc);
}

static uint32_t
image_time(const struct sqpack *p)
{
	const struct sqpack_options *o = &p->o;

	return o->has_image_mtime ? o->image_mtime : o->has_mtime ? o->mtime :
	    o->has_epoch ? o->epoch : p->newest;
}

/* Builds the image of an open source in fd, which is at offset 0. */
static int
write_image(struct sqpack *p, const struct sqpack_source *kind, void *source,
    const struct sqb_source *files, int fd)
{
	struct sqb_image_options o = { .data = &p->o.data,
		.raw_inodes = p->o.raw_inodes, .raw_xattrs = p->o.raw_xattrs,
		.raw_ids = p->o.raw_ids,
		.no_export = p->o.no_export, .no_pad = p->o.no_pad };
	int64_t at = sqb_image_begin(fd, &o);
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
	rc = sqb_image_end(fd, &o, &p->tree, &p->data, p->xattrs, &p->space);
	return sqpack_fail(p, p->o.output, rc);
}

/*
 * Builds the image in fd.  Data that may prove to be a duplicate is kept in an
 * unlinked file in dir, the output's directory.
 */
static int
build_to(struct sqpack *p, const struct sqpack_source *kind, int fd, int dir)
{
	struct sqb_source files;
	void *source = NULL;
	int rc = sqw_tree_open(&p->tree);

	p->o.data.tmpdir = dir;
	if (rc == 0 && !p->o.no_xattrs)
		rc = sqb_xattrs_open(&p->xattrs);
	if (rc != 0)
		return sqpack_fail(p, p->o.source, rc);
	if (p->o.order != NULL && kind == &sqpack_repack) {
		msg_error(&p->msg, "%s: an image keeps its order: no --order",
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

int
sqpack_build_nowhere(struct sqpack *p, const struct sqpack_source *kind,
    int (*judge)(struct sqpack *p, int fd))
{
	const char *tmpdir = getenv("TMPDIR");
	const char *name = tmpdir == NULL || *tmpdir == '\0' ? "/tmp" : tmpdir;
	int dir = sys_openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
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

static int
build(struct sqpack *p)
{
	struct output out;
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	if (p->o.dry_run)
		return sqpack_build_nowhere(p, source_of(p), NULL);
	rc = output_create(&out, p->o.output, p->o.force);
	if (rc == 0 && out.direct) {
		output_abort(&out);
		rc = -EINVAL;
	}
	if (rc == -EEXIST) {
		msg_error(&p->msg, "%s is there already (-f replaces it)",
		    p->o.output);
		return rc;
	}
	if (rc != 0)
		return sqpack_fail(p, p->o.output, rc);
	rc = build_to(p, source_of(p), out.fd, out.dirfd);
	if (rc != 0) {
		output_abort(&out);
		return rc;
	}
	rc = sys_chmod(out.fd, NULL, 0666 & ~mask, 0);
	if (rc != 0)
		msg_warn(&p->msg, "%s: %s", p->o.output, strerror(-rc));
	return sqpack_fail(p, p->o.output, output_commit(&out, true));
}

/* Parses the options of the program under whose name sqpack was called. */
static int
parse(struct sqpack *p, int argc, char **argv)
{
	const char *slash = argc == 0 ? NULL : strrchr(argv[0], '/');
	const char *name = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "";

	if (strcmp(name, "mksquashfs") == 0)
		return as_mksquashfs_parse(p, argc, argv);
	if (strcmp(name, "unsquashfs") == 0)
		return as_unsquashfs_parse(p, argc, argv);
	return sqpack_parse(p, argc, argv);
}

static int
exit_status(const struct sqpack *p, int rc, int status)
{
	if (status == MSG_ERROR && p->o.status_of != NULL)
		return p->o.status_of(p, rc);
	return status == MSG_WARNING ? MSG_OK : status;
}

int
main(int argc, char **argv)
{
	struct sqpack p = { .o.memory = SQPACK_MEMORY_B };
	uint64_t t0 = sys_now_ns();
	int status, rc = 0;

	fdio_hold_standard();
	/* exceeding the file size limit is an ordinary error */
	signal(SIGXFSZ, SIG_IGN);
	output_on_signals();
	status = parse(&p, argc, argv);
	if (status < 0) {
		rc = p.o.task != NULL ? p.o.task(&p) : build(&p);
		if (rc != 0)
			p.msg.status = MSG_ERROR;
		p.wall_ns = sys_now_ns() - t0;
		if (rc == 0 && p.o.done != NULL)
			p.o.done(&p);
		if (p.msg.status != MSG_ERROR && p.o.stats != NULL &&
		    sqpack_write_stats(&p) != 0)
			msg_error(&p.msg, "%s: %s", p.o.stats,
			    strerror(errno));
		sqb_data_free(&p.data);
		sqb_xattrs_close(p.xattrs);
		sqw_tree_close(&p.tree);
		walk_order_free(p.order);
		sys_free(p.order_path);
		status = exit_status(&p, rc, msg_finish(&p.msg));
	}
	if (p.o.release != NULL)
		p.o.release(&p);
	sys_free(p.o.excludes);
	return status;
}
