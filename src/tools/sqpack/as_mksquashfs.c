/*
 * as_mksquashfs.c - the command line of mksquashfs and sqfstar
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the options say is validated together, and becomes the options of an
 * image.
 */
#include "as.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/path.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DICTIONARY_MIN = 8192 };

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

/* Parses the size of xz's dictionary, by the rules of mksquashfs. */
static int
choose_dictionary(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	size_t len = strlen(a->dictionary);
	uint32_t block = p->o.data.block;
	char text[32];
	double share;
	uint64_t n = 0;

	if (len > 1 && len < sizeof(text) && a->dictionary[len - 1] == '%') {
		memcpy(text, a->dictionary, len - 1);
		text[len - 1] = '\0';
		if (args_real(text, 0, 100, &share) == 0)
			n = block * (uint64_t)share / 100;
	} else if (args_size(a->dictionary, &n) != 0) {
		n = 0;
	}
	/* 2^n or 3 * 2^n */
	if (n < DICTIONARY_MIN || n > block || (n / (n & -n) != 1 &&
	    n / (n & -n) != 3)) {
		msg_error(&p->msg, "-Xdict-size: expected 8K to the block "
		    "size, or a percentage of it, 2^n or 3*2^n bytes, found "
		    "'%s'", a->dictionary);
		return MSG_ERROR;
	}
	p->o.data.dictionary = n == block ? 0 : (uint32_t)n;
	return -1;
}

static int
choose_method(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
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
	p->o.data.level = a->level == 0 ? m->level_default : (int)a->level;
	if (a->level != 0 && (m->level_min == m->level_max || m->filters)) {
		msg_error(&p->msg, "-Xcompression-level cannot be used with %s",
		    comp);
		return MSG_ERROR;
	}
	if (a->level != 0 && (a->level < m->level_min ||
	    a->level > m->level_max)) {
		msg_error(&p->msg, "-Xcompression-level for %s must be in "
		    "%d..%d", comp, m->level_min, m->level_max);
		return MSG_ERROR;
	}
	if (a->dictionary != NULL && choose_dictionary(p) >= 0)
		return MSG_ERROR;
	if (!is_for(p, m, p->o.filters != 0, "-Xbcj", SQUASHFS_XZ, "xz") ||
	    !is_for(p, m, a->window, "-Xwindow-size", SQUASHFS_GZIP, "gzip") ||
	    !is_for(p, m, a->strategies != 0, "-Xstrategy", SQUASHFS_GZIP,
	    "gzip") || !is_for(p, m, a->dictionary != NULL, "-Xdict-size",
	    SQUASHFS_XZ, "xz") ||
	    !is_for(p, m, a->algorithm, "-Xalgorithm", SQUASHFS_LZO, "lzo"))
		return MSG_ERROR;
	if (p->o.filters != 0)
		p->o.data.level = p->o.filters;
	/* the default strategy is not recorded */
	p->o.tables.strategies = a->strategies == 1 ? 0 : a->strategies;
	/* our encoder of gzip is faster, and its bytes differ */
	p->o.data.exact = m->compressor != SQUASHFS_GZIP;
	return -1;
}

static bool
wants_xattr(void *arg, const char *name)
{
	const struct sqpack *p = arg;
	const struct as_mksquashfs *a = p->o.as;

	return as_wants_xattr(a->xattrs_in, a->xattrs_out, name);
}

/* Applies the times.  Returns -1, or the exit status. */
static int
choose_times(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;

	if (sqpack_take_epoch(p) >= 0)
		return MSG_ERROR;
	if (o->from.has_epoch && (a->mkfs_time.given || a->all_time.given)) {
		msg_error(&p->msg, "SOURCE_DATE_EPOCH and command line options "
		    "can't be used at the same time to set timestamp(s)");
		return MSG_ERROR;
	}
	if ((a->mkfs_time.given && a->mkfs_time.latest) ||
	    (a->all_time.given && a->all_time.latest) ||
	    (a->root_time.given && a->root_time.latest)) {
		msg_error(&p->msg, "expected either a time or inode, found "
		    "both");
		return MSG_ERROR;
	}
	o->from.pseudo_untimed = a->mkfs_time.latest || a->all_time.latest ||
	    a->root_time.latest;
	o->from.has_mtime = a->all_time.given;
	o->from.mtime = a->all_time.s;
	o->from.has_image_mtime = true;
	o->from.image_mtime = a->mkfs_time.given ? a->mkfs_time.s :
	    o->from.has_epoch ? o->from.epoch : (uint32_t)time(NULL);
	return -1;
}

/* Completes the attributes of directories that an archive only implies. */
static void
choose_implied(struct sqpack *p)
{
	struct imgsrc_options *o = &p->o.from;
	struct as_mksquashfs *a = p->o.as;
	struct sqw_attr *implied = &a->implied;
	uint32_t now = (uint32_t)time(NULL);

	if (a->default_mode != NULL)
		as_mode_apply(a->default_mode, &implied->mode);
	if (o->has_uid)
		implied->uid = o->uid;
	if (o->has_gid)
		implied->gid = o->gid;
	implied->mtime = o->has_mtime ? o->mtime : o->pseudo_untimed ?
	    UINT32_MAX : o->has_epoch && o->epoch < now ? o->epoch : now;
	o->implied = implied;
}

/*
 * Prepares to add to the image that exists.  The file that a link leads to is
 * replaced, not the link.  Returns -1, or the exit status.
 */
static int
prepare_append(struct sqpack *p, const struct stat *st)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;

	if (a->tar) {
		msg_error(&p->msg, "%s exists, and an archive cannot be "
		    "appended: %s replaces the image", o->output,
		    a->star ? "-force" : "-noappend");
		return MSG_ERROR;
	}
	if (!S_ISREG(st->st_mode)) {
		msg_error(&p->msg, "%s: expected a file: sqpack appends by "
		    "writing a new image beside it (-noappend replaces the "
		    "content)", o->output);
		return MSG_ERROR;
	}
	a->real_output = realpath(o->output, NULL);
	if (a->real_output == NULL) {
		msg_error(&p->msg, "%s: %s", o->output, strerror(errno));
		return MSG_ERROR;
	}
	o->output = o->from.append = a->real_output;
	o->from.append_under = a->root_name;
	/* the image decides */
	o->no_xattrs = false;
	if (a->root_name != NULL && (*a->root_name == '\0' ||
	    strchr(a->root_name, '/') != NULL ||
	    path_is_dots(a->root_name))) {
		msg_error(&p->msg, "-root-becomes: expected a name without "
		    "slashes, found '%s'", a->root_name);
		return MSG_ERROR;
	}
	return -1;
}

/* Decides whether there is a progress bar.  Returns -1, or the exit status. */
static int
choose_progress(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;

	if (a->no_progress && (a->bar.percent || a->progress)) {
		msg_error(&p->msg, "only one of -no-progress and %s can be "
		    "specified", a->bar.percent ? "-percentage" : "-progress");
		return MSG_ERROR;
	}
	/* names would be printed into it */
	if (a->info && a->info_file == NULL ? a->progress : !a->no_progress) {
		as_bar_open(&a->bar, AS_BAR_MKSQUASHFS, p->o.data.block);
		p->o.progress = &a->bar.form;
	}
	return -1;
}

/*
 * Checks that an image can be written to standard output: nothing else can, and
 * nothing can be read back.  Returns -1, or the exit status.
 */
static int
prepare_stream(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	const char *other = a->progress ? "-progress" : a->bar.percent ?
	    "-percentage" : o->tables.offset != 0 ? "-offset" :
	    a->info && a->info_file == NULL ? "-info" : NULL;

	if (other != NULL) {
		msg_error(&p->msg, "-stream cannot be used with %s", other);
		return MSG_ERROR;
	}
	if (isatty(STDOUT_FILENO)) {
		msg_error(&p->msg, "-stream: an image is not written to a "
		    "terminal");
		return MSG_ERROR;
	}
	o->data.no_duplicates = true;
	a->no_progress = a->quiet = a->replaces = true;
	return -1;
}

/* Validates the options and applies them. */
static int
apply_options(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	struct stat st;

	if (o->tables.streamed && prepare_stream(p) >= 0)
		return MSG_ERROR;
	if (!a->replaces && stat(o->output, &st) == 0 &&
	    prepare_append(p, &st) >= 0)
		return MSG_ERROR;
	o->force = true;
	o->tables.raw_ids = o->tables.raw_ids && !o->tables.raw_inodes;
	o->from.complete = as_tree_complete;
	if (a->xattrs_in != NULL || a->xattrs_out != NULL)
		o->from.wants_xattr = wants_xattr;
	o->from.amends_xattrs = true;
	o->from.order_backwards = o->from.order != NULL;
	o->data.threads = cpus_choose(o->data.threads, AS_THREADS_MAX);
	if (choose_method(p) >= 0 || choose_times(p) >= 0 ||
	    choose_progress(p) >= 0)
		return MSG_ERROR;
	if (o->no_xattrs && (a->xattrs_in != NULL || a->xattrs_out != NULL ||
	    a->xattrs.count > 0)) {
		msg_error(&p->msg, "-no-xattrs cannot be combined with "
		    "-xattrs-add, -xattrs-exclude and -xattrs-include");
		return MSG_ERROR;
	}
	if (a->tar && (a->source_count != 1 ||
	    strcmp(a->sources[0], "-") != 0)) {
		msg_error(&p->msg, "-tar requires the source -");
		return MSG_ERROR;
	}
	if (a->tar && (as_actions_has(a->actions, AS_EXCLUDE) ||
	    as_actions_has(a->actions, AS_CHANGE) ||
	    as_actions_has(a->actions, AS_PRUNE))) {
		msg_error(&p->msg, "sqpack does not support actions together "
		    "with -tar");
		return MSG_ERROR;
	}
	if (a->tar && a->excludes.count > 0 && !a->wildcards && !a->regex) {
		msg_error(&p->msg, "-wildcards must be specified with tar "
		    "files and -ef/-e");
		return MSG_ERROR;
	}
	if (a->tar && o->from.order != NULL) {
		msg_error(&p->msg, "-sort cannot be used with -tar");
		return MSG_ERROR;
	}
	if (as_sources(p) != 0)
		return MSG_ERROR;
	if (a->tar)
		choose_implied(p);
	if (a->quiet)
		return -1;
	printf("Parallel mksquashfs: Using %u processor%s\n",
	    o->data.threads, o->data.threads == 1 ? "" : "s");
	if (o->from.append != NULL)
		printf("Appending to existing 4.0 filesystem on %s\n"
		    "All -b, -noI, -noD, -noF, -noX, -noId, -no-duplicates, "
		    "-no-fragments,\n-always-use-fragments, -exportable and "
		    "-comp options ignored\n\n"
		    "If appending is not wanted, please re-run with -noappend "
		    "specified!\n\n", o->output);
	else
		printf("Creating 4.0 filesystem on %s, block size %u.\n",
		    o->output, o->data.block);
	fflush(stdout);
	return -1;
}

static void
release(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;

	as_sources_free(p);
	sys_free(a->refs);
	sys_free(a->order);
	free(a->real_output);
	as_texts_free(&a->excludes);
	as_texts_free(&a->paths);
	as_texts_free(&a->xattrs);
	as_texts_free(&a->out_dirs);
	as_actions_close(a->actions);
	imgsrc_pseudo_close(a->pseudo);
	path_regex_close(a->xattrs_in);
	path_regex_close(a->xattrs_out);
	sys_free(a);
}

/* Prepares the state.  Returns NULL after reporting that there is no memory. */
static struct as_mksquashfs *
begin(struct sqpack *p, const char *name)
{
	struct as_mksquashfs *a = sys_calloc(1, sizeof(*a));

	msg_init(&p->msg, name);
	if (a == NULL || imgsrc_pseudo_open(&a->pseudo) != 0 ||
	    as_actions_open(&a->actions) != 0) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		if (a != NULL)
			imgsrc_pseudo_close(a->pseudo);
		sys_free(a);
		return NULL;
	}
	p->o.as = a;
	p->o.release = release;
	p->o.done = as_report;
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
	a->implied = (struct sqw_attr){ .mode = S_IFDIR | 0755,
		.uid = getuid(), .gid = getgid(), .xattr = SQUASHFS_NONE };
	return a;
}

/*
 * The words before the options are the sources and, last, the image.
 */
int
as_mksquashfs_parse(struct sqpack *p, int argc, char **argv)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	struct as_mksquashfs *a = begin(p, argv[0]);
	int status;

	if (a == NULL)
		return MSG_ERROR;
	while (w.at < argc && (argv[w.at][0] != '-' || argv[w.at][1] == '\0'))
		w.at++;
	if (w.at > 1) {
		a->sources = argv + 1;
		a->source_count = (size_t)(w.at - 2);
		p->o.output = argv[w.at - 1];
	}
	status = as_parse(p, &w, as_mksquashfs_options,
	    as_mksquashfs_usage, "mksquashfs");
	if (status >= 0)
		return status;
	if (w.at < argc) {
		msg_error(&p->msg, "expected an option, found '%s'",
		    argv[w.at]);
		return options_usage(as_mksquashfs_usage);
	}
	if (a->source_count == 0) {
		msg_error(&p->msg, p->o.output == NULL ?
		    "expected a source and an image" :
		    "expected a source and an image, "
		    "found one argument");
		return options_usage(as_mksquashfs_usage);
	}
	return apply_options(p);
}

/*
 * sqfstar reads an archive.  The words after the options are the image and
 * what is excluded.
 */
int
as_sqfstar_parse(struct sqpack *p, int argc, char **argv)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	struct as_mksquashfs *a = begin(p, argv[0]);
	static char input[] = "-";
	static char *sources[] = { input };
	int status;

	if (a == NULL)
		return MSG_ERROR;
	a->star = a->wildcards = true;
	p->o.tables.no_export = true;	/* -exports clears it */
	status = as_parse(p, &w, as_mksquashfs_options,
	    as_mksquashfs_usage, "sqfstar");
	if (status >= 0)
		return status;
	if (w.at == argc && !p->o.tables.streamed) {
		msg_error(&p->msg, "expected an image");
		return options_usage(as_mksquashfs_usage);
	}
	a->tar = p->o.data.tails = true;
	a->sources = sources;
	a->source_count = 1;
	p->o.output = p->o.tables.streamed ? "-" : argv[w.at++];
	for (; w.at < argc; w.at++)
		if (as_texts_add(p, &a->excludes, argv[w.at],
		    strlen(argv[w.at])) != 0)
			return MSG_ERROR;
	return apply_options(p);
}
