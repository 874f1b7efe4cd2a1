/*
 * as_mksquashfs_check.c - validating and applying mksquashfs's options
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as_mksquashfs.h"

#include "base/args.h"
#include "base/cpus.h"
#include "image/squashfs/format.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static bool
is_default_dictionary(const struct sqpack *p, const char *text)
{
	uint64_t n;

	return strcmp(text, "100%") == 0 || (args_size(text, &n) == 0 &&
	    n == p->o.data.block);
}

static bool
set_level(struct sqpack *p, const char *comp)
{
	const struct sqw_method *m = p->o.data.method;
	int64_t level = ((struct as_mksquashfs *)p->o.as)->level;

	p->o.data.level = level == 0 ? m->level_default : (int)level;
	if (level == 0 || (!m->filters && level >= m->level_min &&
	    level <= m->level_max))
		return true;
	if (m->level_min == m->level_max || m->filters)
		msg_error(&p->msg, "-Xcompression-level cannot be used with %s",
		    comp);
	else
		msg_error(&p->msg, "-Xcompression-level for %s must be in "
		    "%d..%d", comp, m->level_min, m->level_max);
	return false;
}

/* Checks that an option of one compressor, if given, is for this one. */
static bool
is_for(struct sqpack *p, const struct sqw_method *m, bool given,
    const char *option, int compressor, const char *name)
{
	if (!given || m->compressor == compressor)
		return true;
	msg_error(&p->msg, "%s is for %s; it cannot be used with %s", option,
	    name, m->name);
	return false;
}

static int
set_method(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	const char *comp = a->comp == NULL ? "gzip" : a->comp;
	const struct sqw_method *m;

	if (a->hc && strcmp(comp, "lz4") != 0) {
		msg_error(&p->msg, "-Xhc is for lz4; it cannot be used with %s",
		    comp);
		return MSG_ERROR;
	}
	m = strcmp(comp, "none") == 0 || strcmp(comp, "lz4hc") == 0 ? NULL :
	    sqw_method_by_name(a->hc ? "lz4hc" : comp);
	if (m == NULL) {
		msg_error(&p->msg, "Compressor \"%s\" is not supported; "
		    "expected gzip, lz4, lzo, xz or zstd", comp);
		return MSG_ERROR;
	}
	p->o.data.method = m;
	if (!set_level(p, comp))
		return MSG_ERROR;
	if (a->dictionary != NULL && (m->compressor != SQUASHFS_XZ ||
	    !is_default_dictionary(p, a->dictionary))) {
		msg_error(&p->msg, "-Xdict-size is for xz, and only the block "
		    "size or 100%% is supported");
		return MSG_ERROR;
	}
	if (!is_for(p, m, p->o.filters != 0, "-Xbcj", SQUASHFS_XZ, "xz") ||
	    !is_for(p, m, a->window, "-Xwindow-size", SQUASHFS_GZIP, "gzip") ||
	    !is_for(p, m, a->algorithm, "-Xalgorithm", SQUASHFS_LZO, "lzo"))
		return MSG_ERROR;
	if (p->o.filters != 0)
		p->o.data.level = p->o.filters;
	/* where speed is less important, match mksquashfs byte for byte */
	p->o.data.exact = m->compressor == SQUASHFS_XZ ||
	    m->compressor == SQUASHFS_LZO;
	return -1;
}

static int
set_times(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;

	if (sqpack_take_epoch(p) >= 0)
		return MSG_ERROR;
	if (o->from.has_epoch && (a->has_mkfs_time || o->from.has_mtime)) {
		msg_error(&p->msg, "SOURCE_DATE_EPOCH and command line options "
		    "can't be used at the same time to set timestamp(s)");
		return MSG_ERROR;
	}
	if (!a->has_mkfs_time)
		o->from.image_mtime = o->from.has_epoch ? o->from.epoch :
		    (uint32_t)time(NULL);
	o->from.has_image_mtime = true;
	return -1;
}

/* Sets the attributes of a root directory that is not one of the sources. */
static void
make_root(struct as_mksquashfs *a)
{
	a->root_mode = a->has_root_mode ? a->root_mode : 0777;
	a->root_uid = a->has_root_uid ? a->root_uid : getuid();
	a->root_gid = a->has_root_gid ? a->root_gid : getgid();
	a->root_time = a->has_root_time ? a->root_time :
	    (uint32_t)time(NULL);
	a->has_root_mode = a->has_root_uid = a->has_root_gid = true;
	a->has_root_time = true;
}

/*
 * Sets the sources: a single directory becomes the root; several sources become
 * names in the root.
 */
static int
set_sources(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;

	if (a->tar && (a->source_count != 1 ||
	    strcmp(a->sources[0], "-") != 0 || a->pseudo.count > 0 ||
	    a->excludes.count > 0)) {
		msg_error(&p->msg, "-tar requires the source -, and cannot be "
		    "combined with -p or -e");
		return MSG_ERROR;
	}
	if (as_sources(p) != 0 || as_excludes(p) != 0)
		return MSG_ERROR;
	if (a->tar)
		return -1;
	if (a->source_count > 1 || a->as_directory ||
	    !p->o.from.inputs[0].is_dir) {
		make_root(a);
		return -1;
	}
	p->o.from.input_count = 0;
	return -1;
}

/* Applies the options for the root; those for all inodes override them. */
static void
set_root(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_attr *root = &p->image.tree.nodes[0].attr;

	if (a->has_root_mode)
		root->mode = (uint16_t)(S_IFDIR | a->root_mode);
	if (a->has_root_uid)
		root->uid = a->root_uid;
	if (a->has_root_gid)
		root->gid = a->root_gid;
	imgsrc_adjust(&p->image, root, a->has_root_time ? a->root_time :
	    root->mtime);
}

static int
complete_tree(void *arg)
{
	struct sqpack *p = arg;
	const struct as_mksquashfs *a = p->o.as;
	int rc = 0;

	set_root(p);
	for (size_t i = 0; rc == 0 && i < a->pseudo.count; i++)
		rc = imgsrc_pseudo(&p->image, a->pseudo.items[i]);
	return rc;
}

int
as_mksquashfs_check(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;
	struct stat st;

	if (a->append && stat(p->o.output, &st) == 0) {
		msg_error(&p->msg, "%s exists, and sqpack does not "
		    "append to images: -noappend replaces it", p->o.output);
		return MSG_ERROR;
	}
	p->o.force = true;
	p->o.tables.raw_ids = p->o.tables.raw_ids && !p->o.tables.raw_inodes;
	p->o.from.complete = complete_tree;
	p->o.data.threads = cpus_choose(p->o.data.threads, AS_THREADS_MAX);
	if (set_method(p) >= 0 || set_times(p) >= 0 || set_sources(p) >= 0)
		return MSG_ERROR;
	as_announce(p);
	return -1;
}
