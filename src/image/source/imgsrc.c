/*
 * imgsrc.c - building an image from its source, and what all sources need
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/source/imgsrc.h"
#include "imgsrc_append.h"
#include "imgsrc_order.h"

#include "base/path.h"
#include "base/sys.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/base.h"
#include "image/squashfs/write/record.h"
#ifdef COLDPRESS_OCI
#include "image/oci/oci_layout.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef COLDPRESS_OCI
static bool
is_layout(const char *path)
{
	const char *tag;
	char *layout = oci_split(path, &tag);
	bool found = layout != NULL && oci_is_layout(layout);

	sys_free(layout);
	return found;
}
#endif

const struct imgsrc_source *
imgsrc_of(const char *path)
{
	uint64_t offset;
	struct stat st;
	bool found;
	int fd;

#ifdef COLDPRESS_OCI
	if (is_layout(path))
		return &imgsrc_oci;
#endif
	if (strcmp(path, "-") == 0 ||
	    sys_fstatat(AT_FDCWD, path, &st, 0) != 0)
		return &imgsrc_tar;
	if (S_ISDIR(st.st_mode))
		return &imgsrc_dir;
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return &imgsrc_tar;
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	found = fd >= 0 && sq_find(fd, &offset) > 0;
	if (fd >= 0)
		sys_close(fd);
	return found ? &imgsrc_repack : &imgsrc_tar;
}

static void __attribute__((format(printf, 3, 0)))
report(struct imgsrc_image *to, enum imgsrc_message kind, const char *fmt,
    va_list ap)
{
	char text[8192];

	if (to->o.report == NULL)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	progress_erase(&to->progress);
	to->o.report(to->o.arg, kind, text);
}

int
imgsrc_fail(struct imgsrc_image *to, int rc, const char *fmt, ...)
{
	va_list ap;

	to->told = true;
	va_start(ap, fmt);
	report(to, IMGSRC_ERROR, fmt, ap);
	va_end(ap);
	return rc;
}

int
imgsrc_no_memory(struct imgsrc_image *to)
{
	return imgsrc_fail(to, -ENOMEM, "%s", strerror(ENOMEM));
}

void
imgsrc_tell(struct imgsrc_image *to, enum imgsrc_message kind, const char *fmt,
    ...)
{
	va_list ap;

	va_start(ap, fmt);
	report(to, kind, fmt, ap);
	va_end(ap);
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Shifts all users and groups, and checks that their table is not too long.
 * Returns 0, or -errno after reporting the error.
 */
static int
settle_owners(struct imgsrc_image *to)
{
	size_t count = to->tree.count, owners = 0;
	struct sqw_node *nodes = to->tree.nodes;
	uint32_t *ids = sys_malloc(2 * count * sizeof(*ids));

	if (ids == NULL)
		return imgsrc_no_memory(to);
	for (size_t i = 0; i < count; i++) {
		int64_t shift = imgsrc_is_kept(to, (uint32_t)i) ? 0 :
		    to->o.owner_shift;
		int64_t uid = nodes[i].attr.uid + shift;
		int64_t gid = nodes[i].attr.gid + shift;

		if (uid < 0 || gid < 0 || uid > UINT32_MAX ||
		    gid > UINT32_MAX) {
			sys_free(ids);
			return imgsrc_fail(to, -ERANGE, "%s: owner %u:%u is "
			    "out of range after adding %lld", to->o.path,
			    nodes[i].attr.uid, nodes[i].attr.gid,
			    (long long)to->o.owner_shift);
		}
		nodes[i].attr.uid = ids[2 * i] = (uint32_t)uid;
		nodes[i].attr.gid = ids[2 * i + 1] = (uint32_t)gid;
	}
	qsort(ids, 2 * count, sizeof(*ids), by_number);
	for (size_t i = 0; i < 2 * count; i++)
		owners += i == 0 || ids[i] != ids[i - 1];
	sys_free(ids);
	return owners <= SQUASHFS_IDS_MAX ? 0 : imgsrc_fail(to, -EUSERS,
	    "%s: %zu different users and groups; squashfs supports at most %d",
	    to->o.path, owners, SQUASHFS_IDS_MAX);
}

int
imgsrc_complete(struct imgsrc_image *to)
{
	int rc = to->o.complete == NULL ? 0 : to->o.complete(to->o.arg);

	if (rc != 0) {
		to->told = true;
		return rc;
	}
	rc = settle_owners(to);
	if (rc != 0)
		return rc;
	rc = sqw_tree_finish(&to->tree);
	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", to->o.path,
	    strerror(-rc));
}

bool
imgsrc_excluded(const struct imgsrc_image *to, const char *path)
{
	const char *name = path_name(path);

	for (size_t i = 0; i < to->o.exclude_count; i++) {
		const char *glob = to->o.excludes[i];

		if (fnmatch(glob, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 ||
		    (strchr(glob, '/') == NULL &&
		    fnmatch(glob, name, 0) == 0))
			return true;
	}
	return false;
}

void
imgsrc_adjust(struct imgsrc_image *to, struct sqw_attr *attr, int64_t mtime)
{
	const struct imgsrc_options *o = &to->o;

	if (o->has_uid)
		attr->uid = o->uid;
	if (o->has_gid)
		attr->gid = o->gid;
	if (o->has_mtime)
		mtime = o->mtime;
	if (o->has_epoch && mtime > o->epoch)
		mtime = o->epoch;
	/* mksquashfs truncates times that are out of range */
	attr->mtime = to->pack.exact ? (uint32_t)mtime : sqw_time(mtime);
	if (attr->mtime > to->newest)
		to->newest = attr->mtime;
}

bool
imgsrc_has_settings(const struct sq_file *f, const struct sqw_data_options *o)
{
	const struct sq_facts *facts = sq_facts(f->image);
	struct sqw_data_options old = { .block = facts->block };
	char padding[SQW_RECORD_MAX];
	int n;

	if (facts->block != o->block || (facts->flags & (SQUASHFS_RAW_DATA |
	    SQUASHFS_RAW_FRAGMENTS)) != 0 || o->raw_data || o->raw_fragments ||
	    o->dictionary != 0 || sqw_settings_read(facts->compressor,
	    facts->settings, facts->settings_B, facts->block, &old.method,
	    &old.level) != 0)
		return false;
	n = sq_file_padding(f, padding, sizeof(padding));
	return n >= 0 && sqw_record_read(padding, (size_t)n, &old) >= 0 &&
	    old.method == o->method && old.level == o->level &&
	    old.no_probe == o->no_probe;
}

/* Opens the image whose blocks are copied. */
static int
open_base(struct imgsrc_image *to)
{
	const char *path = to->o.base;
	struct sq_file_options o = { .path = path, .threads = to->pack.threads,
		.memory = to->pack.memory };
	const char *why;
	int rc = sq_file_open(&to->base, &o, &why);

	to->has_base = true;
	if (rc != 0)
		return imgsrc_fail(to, rc, "%s: %s", path, why);
	if (to->base.refused)
		return imgsrc_fail(to, -EBADMSG, "%s: the image is damaged",
		    path);
	if (!imgsrc_has_settings(&to->base, &to->pack))
		return imgsrc_fail(to, -EINVAL, "%s: the image was made with "
		    "another method, level or block size, so its blocks cannot "
		    "be used", path);
	rc = sqw_base_open(&to->base_blocks, &to->base, to->pack.threads);
	if (rc != 0)
		return imgsrc_no_memory(to);
	to->known = sqw_base_known(to->base_blocks);
	to->pack.known = &to->known;
	return 0;
}

/* Building */

int
imgsrc_build(struct imgsrc_image *to, const struct imgsrc_source *source,
    int fd, int tmpdir)
{
	const struct imgsrc_options *o = &to->o;
	struct sqw_source files;
	void *state = NULL;
	int64_t at;
	int rc;

	to->pack.tmpdir = tmpdir;
	to->tables.data = &to->pack;
	rc = sqw_tree_open(&to->tree);
	if (rc == 0 && !o->no_xattrs)
		rc = sqt_xattrs_open(&to->xattrs, to->pack.exact ||
		    o->amends_xattrs);
	if (rc != 0)
		return imgsrc_fail(to, rc, "%s: %s", o->path, strerror(-rc));
	if (o->implied != NULL)
		to->tree.implied = *o->implied;
	if (o->order != NULL && source->write != NULL)
		return imgsrc_fail(to, -EINVAL, "%s: --order cannot be used "
		    "with an image, which keeps its order", o->path);
	if (o->order != NULL) {
		rc = imgsrc_order_open(to);
		if (rc != 0)
			return rc;
	}
	if (o->base != NULL) {
		rc = source->write != NULL ? imgsrc_fail(to, -EINVAL, "%s: an "
		    "image's blocks are copied without --base", o->path) :
		    open_base(to);
		if (rc != 0)
			return rc;
	}
	if (o->append != NULL) {
		rc = imgsrc_append_open(&to->append, to);
		if (rc != 0)
			return rc;
	}
	rc = source->open(to, &state, &files);
	if (rc == 0 && to->append != NULL)
		rc = imgsrc_append_head(to->append, fd);
	if (rc != 0)
		goto out;
	at = sqt_image_begin(fd, &to->tables);
	if (at < 0) {
		rc = (int)at;
		goto out;
	}
	if (to->append != NULL) {
		rc = imgsrc_append_data(to->append, fd, (uint64_t)at);
		if (rc != 0)
			goto out;
		at = (int64_t)to->data.end;
	}
	to->data_ns = sys_now_ns();
	if (o->progress != NULL)
		progress_start_form(&to->progress, to->total_B, o->progress);
	else
		progress_start(&to->progress, STDERR_FILENO, to->total_B,
		    !o->show_progress);
	if (source->write != NULL)
		rc = source->write(state, fd, (uint64_t)at);
	else if (to->order != NULL && files.rewind == NULL)
		rc = imgsrc_order_stream(to, &files, fd, (uint64_t)at);
	else
		rc = sqw_data_write(&to->data, &files, &to->pack, fd,
		    (uint64_t)at, &to->progress);
	if (source->write == NULL && rc == -EOVERFLOW && !to->told)
		imgsrc_fail(to, rc, "%s: the block lists need more memory than "
		    "--memory allows", o->path);
	to->data_ns = sys_now_ns() - to->data_ns;
	progress_end(&to->progress);
	if (rc == 0 && source->finish != NULL)
		rc = source->finish(state);
	if (rc == 0 && to->order != NULL)
		rc = imgsrc_order_check(to);
	if (rc != 0)
		goto out;
	to->tables.mtime = to->newest;
	if (o->has_image_mtime)
		to->tables.mtime = o->image_mtime;
	else if (o->has_mtime)
		to->tables.mtime = o->mtime;
	else if (o->has_epoch)
		to->tables.mtime = o->epoch;
	rc = sqt_image_end(fd, &to->tables, &to->tree, &to->data, to->xattrs,
	    &to->space);
out:
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
	imgsrc_append_close(to->append);
	sqw_base_close(to->base_blocks);
	if (to->has_base)
		sq_file_close(&to->base);
	for (size_t i = 0; i < to->content_count; i++)
		sys_free(to->contents[i].path);
	sys_free(to->contents);
}
