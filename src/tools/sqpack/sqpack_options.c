/*
 * sqpack_options.c - the command line of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/args.h"
#include "base/array.h"
#include "base/cpus.h"
#include "base/options.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 1024, GZIP_BEST = 10 };

enum { OPT_ALL_ROOT = 256, OPT_BCJ, OPT_BEST, OPT_CAN_MOUNT, OPT_CAT,
    OPT_DRY_RUN, OPT_EXCLUDE, OPT_GID, OPT_LIKE, OPT_MEMORY, OPT_MTIME,
    OPT_NO_DUPLICATES, OPT_NO_EXPORT, OPT_NO_FRAGMENTS, OPT_NO_PAD,
    OPT_NO_PROBE, OPT_NO_XATTRS, OPT_OFFSET, OPT_ORDER, OPT_RAW,
    OPT_REBUILD_CHECK, OPT_STATS, OPT_UID };

static const struct option longs[] = {
	{ "all-root", no_argument, NULL, OPT_ALL_ROOT },
	{ "bcj", required_argument, NULL, OPT_BCJ },
	{ "best", no_argument, NULL, OPT_BEST },
	{ "block", required_argument, NULL, 'b' },
	{ "can-mount", optional_argument, NULL, OPT_CAN_MOUNT },
	{ "cat", required_argument, NULL, OPT_CAT },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "exclude", required_argument, NULL, OPT_EXCLUDE },
	{ "extract", required_argument, NULL, 'x' },
	{ "force", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, 'F' },
	{ "gid", required_argument, NULL, OPT_GID },
	{ "help", no_argument, NULL, 'h' },
	{ "keep-going", no_argument, NULL, 'k' },
	{ "level", required_argument, NULL, 'L' },
	{ "like", required_argument, NULL, OPT_LIKE },
	{ "list", no_argument, NULL, 'l' },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "mtime", required_argument, NULL, OPT_MTIME },
	{ "no-duplicates", no_argument, NULL, OPT_NO_DUPLICATES },
	{ "no-export", no_argument, NULL, OPT_NO_EXPORT },
	{ "no-fragments", no_argument, NULL, OPT_NO_FRAGMENTS },
	{ "no-pad", no_argument, NULL, OPT_NO_PAD },
	{ "no-probe", no_argument, NULL, OPT_NO_PROBE },
	{ "no-xattrs", no_argument, NULL, OPT_NO_XATTRS },
	{ "null", no_argument, NULL, '0' },
	{ "offset", required_argument, NULL, OPT_OFFSET },
	{ "order", required_argument, NULL, OPT_ORDER },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "raw", required_argument, NULL, OPT_RAW },
	{ "rebuild-check", no_argument, NULL, OPT_REBUILD_CHECK },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "threads", required_argument, NULL, 'p' },
	{ "uid", required_argument, NULL, OPT_UID },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

/* Parses a 32-bit number. */
static int
take_u32(struct sqpack *p, const char *what, uint32_t *value, bool *has)
{
	int64_t n = 0;
	int status = options_int(&p->msg, what, 0, UINT32_MAX, &n);

	*value = (uint32_t)n;
	*has = true;
	return status;
}

static int
take_block(struct sqpack *p)
{
	uint64_t n;

	if (args_size(optarg, &n) != 0 || n < SQUASHFS_BLOCK_MIN ||
	    n > SQUASHFS_BLOCK_MAX || (n & (n - 1)) != 0)
		return options_bad(&p->msg, "block size",
		    "a power of two from 4K to 1M");
	p->o.data.block = (uint32_t)n;
	p->o.from.has_block = true;
	return -1;
}

static int
take_offset(struct sqpack *p)
{
	if (args_size(optarg, &p->o.from.offset) != 0 ||
	    p->o.from.offset > INT64_MAX)
		return options_bad(&p->msg, "offset", "a number of bytes");
	p->o.from.has_offset = true;
	return -1;
}

static int
take_method(struct sqpack *p)
{
	p->o.data.method = sqw_method_by_name(optarg);
	if (p->o.data.method != NULL)
		return -1;
	msg_error(&p->msg, "unknown method '%s', expected one of: %s", optarg,
	    sqw_method_names());
	return MSG_ERROR;
}

/* Returns the index of the filter named by the first n bytes of name, or -1. */
static int
filter_of(const char *name, size_t n)
{
	for (int i = 0; i < SQW_FILTERS; i++)
		if (strncmp(sqw_filters[i], name, n) == 0 &&
		    sqw_filters[i][n] == '\0')
			return i;
	return -1;
}

bool
sqpack_take_filters(const char *list, int *filters)
{
	for (const char *s = list; *s != '\0';) {
		size_t n = strcspn(s, ",");
		int filter = filter_of(s, n);

		if (filter < 0)
			return false;
		*filters |= 1 << filter;
		s += n + (s[n] == ',');
	}
	return true;
}

static int
take_bcj(struct sqpack *p)
{
	return sqpack_take_filters(optarg, &p->o.filters) ? -1 :
	    options_bad(&p->msg, "--bcj", "x86, powerpc, ia64, arm, armthumb "
	    "or sparc");
}

static int
take_raw(struct sqpack *p)
{
	static const char names[] = "data, fragments, inodes or xattrs";
	struct sqpack_options *o = &p->o;

	for (const char *s = optarg; *s != '\0';) {
		size_t n = strcspn(s, ",");

		if (n == 4 && strncmp(s, "data", n) == 0)
			o->data.raw_data = true;
		else if (n == 9 && strncmp(s, "fragments", n) == 0)
			o->data.raw_fragments = true;
		else if (n == 6 && strncmp(s, "inodes", n) == 0)
			o->tables.raw_inodes = true;
		else if (n == 6 && strncmp(s, "xattrs", n) == 0)
			o->tables.raw_xattrs = true;
		else
			return options_bad(&p->msg, "--raw", names);
		s += n + (s[n] == ',');
	}
	return -1;
}

static int
take_exclude(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	void *items = o->from.excludes;
	const char *glob = optarg;

	if (array_grow(&items, o->from.exclude_count, &o->exclude_cap,
	    sizeof(*o->from.excludes)) != 0) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	o->from.excludes = items;
	glob += *glob == '/';
	o->from.excludes[o->from.exclude_count++] = glob;
	return -1;
}

static int
set_task(struct sqpack *p, int (*task)(struct sqpack *p))
{
	struct sqpack_options *o = &p->o;

	/*
	 * --can-mount does not conflict, because a long listing includes its
	 * result
	 */
	if (o->task != NULL && o->task != task && o->task != sqpack_mount) {
		msg_error(&p->msg, "-l, -x, --cat and --rebuild-check cannot "
		    "be combined");
		return options_usage(sqpack_usage);
	}
	o->task = task;
	return -1;
}

static int
take_kernel(struct sqpack *p)
{
	p->o.kernel = optarg;
	return p->o.task != NULL ? -1 : set_task(p, sqpack_mount);
}

/* Handles options without a value. */
static bool
take_flag(struct sqpack *p, int opt)
{
	struct sqpack_options *o = &p->o;

	switch (opt) {
	case '0': o->from.null_ends = true; break;
	case 'f': o->force = true; break;
	case 'k': o->from.keep_going = true; break;
	case 'q': p->msg.quiet = true; break;
	case 'v': p->msg.verbose++; break;
	case OPT_ALL_ROOT:
		o->from.has_uid = o->from.has_gid = true;
		o->from.uid = o->from.gid = 0;
		break;
	case OPT_BEST: o->best = true; break;
	case OPT_DRY_RUN: o->dry_run = true; break;
	case OPT_NO_DUPLICATES: o->data.no_duplicates = true; break;
	case OPT_NO_EXPORT: o->tables.no_export = true; break;
	case OPT_NO_FRAGMENTS: o->data.no_fragments = true; break;
	case OPT_NO_PAD: o->tables.no_pad = true; break;
	case OPT_NO_PROBE: o->data.no_probe = true; break;
	case OPT_NO_XATTRS: o->no_xattrs = true; break;
	default: return false;
	}
	return true;
}

static int
take(struct sqpack *p, int opt, int64_t *level)
{
	struct sqpack_options *o = &p->o;

	if (take_flag(p, opt))
		return -1;
	switch (opt) {
	case 'b': return take_block(p);
	case 'F': return take_method(p);
	case 'h': return sqpack_help(p);
	case 'l': return set_task(p, sqpack_list);
	case 'L': return options_int(&p->msg, "level", 1, 22, level);
	case 'o': o->output = optarg; break;
	case 'p': return options_threads(&p->msg, THREADS_MAX,
	    &o->data.threads);
	case 'V': return sqpack_version(p);
	case 'x':
		o->directory = optarg;
		return set_task(p, sqpack_extract);
	case OPT_BCJ: return take_bcj(p);
	case OPT_CAT:
		o->name = optarg;
		return set_task(p, sqpack_cat);
	case OPT_CAN_MOUNT: return take_kernel(p);
	case OPT_EXCLUDE: return take_exclude(p);
	case OPT_GID: return take_u32(p, "group", &o->from.gid,
	    &o->from.has_gid);
	case OPT_LIKE: return sqpack_be_like(p, optarg);
	case OPT_MEMORY: return options_size(&p->msg, "memory", &o->memory);
	case OPT_MTIME: return take_u32(p, "time", &o->from.mtime,
	    &o->from.has_mtime);
	case OPT_OFFSET: return take_offset(p);
	case OPT_ORDER: o->from.order = optarg; break;
	case OPT_RAW: return take_raw(p);
	case OPT_REBUILD_CHECK: return set_task(p, sqpack_rebuild_check);
	case OPT_STATS: o->stats = optarg == NULL ? "-" : optarg; break;
	case OPT_UID: return take_u32(p, "user", &o->from.uid,
	    &o->from.has_uid);
	default: return MSG_ERROR;
	}
	return -1;
}

/* Returns the level for --best; the manual describes its cost. */
static int
best_level(const struct sqw_method *m)
{
	return m->compressor == SQUASHFS_GZIP ? GZIP_BEST : m->level_max;
}

static int
set_filters(struct sqpack *p)
{
	if (!p->o.data.method->filters) {
		msg_error(&p->msg, "--bcj is for xz; it cannot be used with %s",
		    p->o.data.method->name);
		return MSG_ERROR;
	}
	p->o.data.level = p->o.filters;
	return -1;
}

static int
set_level(struct sqpack *p, int64_t level)
{
	const struct sqw_method *m = p->o.data.method;

	if (level != 0 && p->o.best) {
		msg_error(&p->msg, "-L and --best cannot be combined");
		return options_usage(sqpack_usage);
	}
	p->o.data.level = p->o.best ? best_level(m) :
	    level == 0 ? m->level_default : (int)level;
	if (p->o.filters != 0)
		return set_filters(p);
	if (level == 0 || (!m->filters && level >= m->level_min &&
	    level <= m->level_max))
		return -1;
	if (m->level_min == m->level_max || m->filters)
		msg_error(&p->msg, "%s has no levels", m->name);
	else
		msg_error(&p->msg, "%s level %d is not in %d..%d",
		    m->name, (int)level, m->level_min, m->level_max);
	return MSG_ERROR;
}

/* Parses the operands of a reading task: globs, if any, then the image. */
static int
check_reading(struct sqpack *p, int64_t level, int argc, char **argv)
{
	int words = argc - optind;

	if (words == 0 || (words > 1 && p->o.task != sqpack_list &&
	    p->o.task != sqpack_extract)) {
		msg_error(&p->msg, words == 0 ? "expected an image" :
		    "expected one image, found %d", words);
		return options_usage(sqpack_usage);
	}
	if (p->o.output != NULL) {
		msg_error(&p->msg, "-o can only be used to build an image");
		return options_usage(sqpack_usage);
	}
	p->o.data.level = (int)level;
	p->o.source = argv[argc - 1];
	p->o.globs = argv + optind;
	p->o.glob_count = (size_t)words - 1;
	p->o.data.threads = cpus_choose(p->o.data.threads, THREADS_MAX);
	return -1;
}

static int
check(struct sqpack *p, int64_t level, int argc, char **argv)
{
	if (p->o.task != NULL)
		return check_reading(p, level, argc, argv);
	if (argc - optind != 1) {
		msg_error(&p->msg, argc == optind ?
		    "expected a directory or an archive" :
		    "expected one directory or archive, found %d",
		    argc - optind);
		return options_usage(sqpack_usage);
	}
	p->o.source = argv[optind];
	if (p->o.output == NULL && !p->o.dry_run) {
		msg_error(&p->msg, "no output image given; use -o IMAGE");
		return options_usage(sqpack_usage);
	}
	if (p->o.output != NULL && strcmp(p->o.output, "-") == 0) {
		msg_error(&p->msg, "an image cannot be written sequentially: "
		    "-o needs a file or a block device");
		return MSG_ERROR;
	}
	if (p->o.output == NULL)
		p->o.output = "image";
	p->o.data.threads = cpus_choose(p->o.data.threads, THREADS_MAX);
	if (p->o.data.method == NULL)
		p->o.data.method = sqw_method_by_name(p->o.data.exact ? "xz" :
		    "zstd");
	if (set_level(p, level) >= 0 || sqpack_check_like(p) != 0)
		return MSG_ERROR;
	return sqpack_take_epoch(p);
}

int
sqpack_parse(struct sqpack *p, int argc, char **argv)
{
	int64_t level = 0;
	int ch, status = -1;

	msg_init(&p->msg, argv[0]);
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
	while (status < 0 && (ch = options_next(&p->msg, argc, argv,
	    "0b:F:fhklL:o:p:qvVx:", longs)) != -1)
		status = take(p, ch, &level);
	return status >= 0 ? status : check(p, level, argc, argv);
}
