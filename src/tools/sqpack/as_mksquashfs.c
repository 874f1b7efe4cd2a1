/*
 * as_mksquashfs.c - the command line of mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of mksquashfs 4.5.1.
 */
#include "as_mksquashfs.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_MAX = 22 };

enum { ALGORITHM, ALL_ROOT, ALL_TIME, AS_DIRECTORY, BCJ, BLOCK, COMP, DICTIONARY,
    EXCLUDE, EXCLUDE_FILE, EXPORTS, FORCE_GID, FORCE_UID, HC, HELP, IGNORED,
    IGNORED_VALUE, INFO, LACKS, LEVEL, MKFS_TIME, NO_APPEND, NO_DUPLICATES,
    NO_EXPORTS, NO_FRAGMENTS, NO_LINKS, NO_PAD, NO_PROGRESS, NO_XATTRS,
    OFFSET, ONE_FILE_SYSTEM, PROCESSORS, PROGRESS, PSEUDO, PSEUDO_FILE, QUIET,
    RAW_DATA, RAW_FRAGMENTS, RAW_IDS, RAW_INODES, RAW_XATTRS, REGEX, ROOT_GID, ROOT_MODE,
    ROOT_TIME, ROOT_UID, SORT, TAR, VERSION, WILDCARDS, WINDOW, XATTRS };

static const struct as_option options[] = {
	{ "-Xalgorithm", NULL, true, ALGORITHM },
	{ "-Xbcj", NULL, true, BCJ },
	{ "-Xcompression-level", NULL, true, LEVEL },
	{ "-Xdict-size", NULL, true, DICTIONARY },
	{ "-Xhc", NULL, false, HC },
	{ "-Xhelp", NULL, false, HELP },
	{ "-Xstrategy", NULL, false, LACKS },
	{ "-Xwindow-size", NULL, true, WINDOW },
	{ "-action", "-a", false, LACKS },
	{ "-action-file", "-af", false, LACKS },
	{ "-all-root", "-root-owned", false, ALL_ROOT },
	{ "-all-time", NULL, true, ALL_TIME },
	{ "-always-use-fragments", "-tailends", false, LACKS },
	{ "-b", NULL, true, BLOCK },
	{ "-comp", NULL, true, COMP },
	{ "-cpiostyle", "-cpiostyle0", false, LACKS },
	{ "-e", NULL, false, EXCLUDE },
	{ "-ef", NULL, true, EXCLUDE_FILE },
	{ "-exit-on-error", NULL, false, IGNORED },
	{ "-exports", NULL, false, EXPORTS },
	{ "-false-action", "-fa", false, LACKS },
	{ "-false-action-file", "-faf", false, LACKS },
	{ "-force-gid", NULL, true, FORCE_GID },
	{ "-force-uid", NULL, true, FORCE_UID },
	{ "-fragment-queue", NULL, true, IGNORED_VALUE },
	{ "-help", "-h", false, HELP },
	{ "-info", NULL, false, INFO },
	{ "-keep-as-directory", NULL, false, AS_DIRECTORY },
	{ "-limit", NULL, false, LACKS },
	{ "-log", NULL, false, LACKS },
	{ "-log-action", "-va", false, LACKS },
	{ "-log-action-file", "-vaf", false, LACKS },
	{ "-mem", NULL, true, IGNORED_VALUE },
	{ "-mkfs-time", "-fstime", true, MKFS_TIME },
	{ "-no-duplicates", NULL, false, NO_DUPLICATES },
	{ "-no-exports", NULL, false, NO_EXPORTS },
	{ "-no-fragments", NULL, false, NO_FRAGMENTS },
	{ "-no-hardlinks", NULL, false, NO_LINKS },
	{ "-no-progress", NULL, false, NO_PROGRESS },
	{ "-no-recovery", NULL, false, IGNORED },
	{ "-no-sparse", NULL, false, LACKS },
	{ "-no-strip", "-tarstyle", false, LACKS },
	{ "-no-tailends", NULL, false, IGNORED },
	{ "-no-xattrs", NULL, false, NO_XATTRS },
	{ "-noD", "-noDataCompression", false, RAW_DATA },
	{ "-noF", "-noFragmentCompression", false, RAW_FRAGMENTS },
	{ "-noI", "-noInodeCompression", false, RAW_INODES },
	{ "-noId", "-noIdTableCompression", false, RAW_IDS },
	{ "-noX", "-noXattrCompression", false, RAW_XATTRS },
	{ "-noappend", NULL, false, NO_APPEND },
	{ "-nopad", NULL, false, NO_PAD },
	{ "-not-reproducible", "-reproducible", false, IGNORED },
	{ "-offset", "-o", true, OFFSET },
	{ "-one-file-system", NULL, false, ONE_FILE_SYSTEM },
	{ "-p", NULL, true, PSEUDO },
	{ "-pf", NULL, true, PSEUDO_FILE },
	{ "-processors", NULL, true, PROCESSORS },
	{ "-progress", NULL, false, PROGRESS },
	{ "-quiet", NULL, false, QUIET },
	{ "-read-queue", NULL, true, IGNORED_VALUE },
	{ "-recover", NULL, false, LACKS },
	{ "-recovery-path", NULL, true, IGNORED_VALUE },
	{ "-regex", NULL, false, REGEX },
	{ "-root-becomes", NULL, false, LACKS },
	{ "-root-gid", NULL, true, ROOT_GID },
	{ "-root-mode", NULL, true, ROOT_MODE },
	{ "-root-time", NULL, true, ROOT_TIME },
	{ "-root-uid", NULL, true, ROOT_UID },
	{ "-sort", NULL, true, SORT },
	{ "-tar", NULL, false, TAR },
	{ "-throttle", NULL, false, LACKS },
	{ "-true-action", "-ta", false, LACKS },
	{ "-true-action-file", "-taf", false, LACKS },
	{ "-version", NULL, false, VERSION },
	{ "-wildcards", NULL, false, WILDCARDS },
	{ "-write-queue", NULL, true, IGNORED_VALUE },
	{ "-xattrs", NULL, false, XATTRS },
	{ NULL, NULL, false, 0 }
};

static const char usage[] =
"SYNTAX: mksquashfs source1 source2 ...  FILESYSTEM [OPTIONS] "
"[-e list of exclude dirs/files]\n";

static const char help[] =
"This is sqpack, standing in for mksquashfs 4.5.1.\n"
"\n"
"  -comp gzip|lz4|lzo|xz|zstd, -b BLOCK, -noappend, -nopad, -offset BYTES\n"
"  -Xcompression-level N (gzip, lzo, zstd), -Xhc (lz4), -Xbcj LIST (xz)\n"
"  -no-fragments, -no-duplicates, -no-exports, -no-xattrs, -xattrs\n"
"  -noI, -noId, -noD, -noF, -noX       do not compress these\n"
"  -all-root, -force-uid U, -force-gid G\n"
"  -root-mode M, -root-uid U, -root-gid G, -root-time T\n"
"  -mkfs-time T, -all-time T           seconds since 1970\n"
"  -p DEFINITION, -pf FILE             names to add\n"
"  -e LIST, -ef FILE, -wildcards, -regex    names to leave out\n"
"  -sort FILE                          order of the data\n"
"  -keep-as-directory, -no-hardlinks, -one-file-system\n"
"  -tar                                read an archive from standard input\n"
"  -processors N, -no-progress, -quiet, -info, -version, -help\n";

/*
 * As in the original, nothing is built if the version is asked for in the first
 * word; elsewhere the other words still count.
 */
static int
show_version(struct sqpack *p, const struct as_words *w)
{
	printf("mksquashfs version 4.5.1 (2022/03/17)\n"
	    "This is sqpack (coldpress) %s, standing in for it.\n",
	    COLDPRESS_VERSION);
	if (w->at == 2)
		return msg_finish(&p->msg);
	fflush(stdout);
	return -1;
}

/*
 * Handles options without a value.  Returns false if id is not such an option.
 */
static bool
take_flag(struct sqpack *p, int id)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;

	switch (id) {
	case ALL_ROOT:
		o->from.has_uid = o->from.has_gid = true;
		o->from.uid = o->from.gid = 0;
		break;
	case AS_DIRECTORY: a->as_directory = true; break;
	case EXPORTS: o->tables.no_export = false; break;
	case HC: a->hc = true; break;
	case INFO: a->info = p->msg.quiet = true; break;
	case NO_APPEND: a->append = false; break;
	case NO_DUPLICATES: o->data.no_duplicates = true; break;
	case NO_EXPORTS: o->tables.no_export = true; break;
	case NO_FRAGMENTS: o->data.no_fragments = true; break;
	case NO_LINKS: o->from.no_links = true; break;
	case NO_PAD: o->tables.no_pad = true; break;
	case NO_PROGRESS: p->msg.quiet = true; break;
	case NO_XATTRS: o->no_xattrs = true; break;
	case ONE_FILE_SYSTEM: a->one_file_system = true; break;
	case PROGRESS: p->msg.quiet = false; break;
	case QUIET: a->quiet = true; break;
	case RAW_DATA: o->data.raw_data = true; break;
	case RAW_FRAGMENTS: o->data.raw_fragments = true; break;
	case RAW_IDS: o->tables.raw_ids = true; break;
	case RAW_INODES: o->tables.raw_inodes = true; break;
	case RAW_XATTRS: o->tables.raw_xattrs = true; break;
	case REGEX: a->regex = true; break;
	case TAR: a->tar = o->tables.no_export = true; break;
	case WILDCARDS: a->wildcards = true; break;
	case XATTRS: o->no_xattrs = false; break;
	default: return false;
	}
	return true;
}

static int
take_uint(struct sqpack *p, const struct as_words *w, uint32_t *value,
    bool *has)
{
	int64_t n;

	if (!as_number(&p->msg, w, 0, UINT32_MAX, &n))
		return MSG_ERROR;
	*value = (uint32_t)n;
	*has = true;
	return -1;
}

static int
take_block_size(struct sqpack *p, const struct as_words *w)
{
	uint64_t n;

	if (args_size(w->value, &n) != 0 || n < SQUASHFS_BLOCK_MIN ||
	    n > SQUASHFS_BLOCK_MAX || (n & (n - 1)) != 0) {
		msg_error(&p->msg, "-b: expected a power of two from 4K to 1M, "
		    "found '%s'", w->value);
		return MSG_ERROR;
	}
	p->o.data.block = (uint32_t)n;
	return -1;
}

static int
take_filters(struct sqpack *p, const struct as_words *w)
{
	if (sqpack_take_filters(w->value, &p->o.filters))
		return -1;
	msg_error(&p->msg, "-Xbcj: expected a list of x86, arm, armthumb, "
	    "powerpc, sparc and ia64, found '%s'", w->value);
	return MSG_ERROR;
}

static int
take_root_mode(struct sqpack *p, const struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	char *end;
	unsigned long mode = strtoul(w->value, &end, 8);

	if (*w->value == '\0' || *end != '\0' || mode > 07777) {
		msg_error(&p->msg, "-root-mode: expected an octal number up to "
		    "7777, found '%s'", w->value);
		return MSG_ERROR;
	}
	a->root_mode = (uint32_t)mode;
	a->has_root_mode = true;
	return -1;
}

static int
take_owner(struct sqpack *p, const struct as_words *w, int id)
{
	struct sqpack_options *o = &p->o;

	if (id == FORCE_UID)
		o->from.has_uid = imgsrc_user(w->value, &o->from.uid) == 0;
	else
		o->from.has_gid = imgsrc_group(w->value, &o->from.gid) == 0;
	if (id == FORCE_UID ? o->from.has_uid : o->from.has_gid)
		return -1;
	msg_error(&p->msg, "%s '%s' does not exist", id == FORCE_UID ? "user" :
	    "group", w->value);
	return MSG_ERROR;
}

static int
take_exclude(struct sqpack *p, char *line)
{
	struct as_mksquashfs *a = p->o.as;

	return as_texts_add(p, &a->excludes, line, strlen(line));
}

static int
take_pseudo(struct sqpack *p, char *line)
{
	struct as_mksquashfs *a = p->o.as;

	return as_texts_add(p, &a->pseudo, line, strlen(line));
}

/* Treats all remaining words as names to be excluded. */
static int
take_excludes(struct sqpack *p, struct as_words *w)
{
	if (w->at == w->argc) {
		msg_error(&p->msg, "-e requires names to exclude");
		return MSG_ERROR;
	}
	while (w->at < w->argc)
		if (take_exclude(p, w->argv[w->at++]) != 0)
			return MSG_ERROR;
	return -1;
}

/* Handles compressor options for which only one value is supported. */
static int
take_only(struct sqpack *p, const struct as_words *w, const char *value)
{
	if (strcmp(w->value, value) == 0)
		return -1;
	msg_error(&p->msg, "%s: only %s is supported", w->word, value);
	return MSG_ERROR;
}

static int
take_value(struct sqpack *p, const struct as_words *w, int id)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;

	switch (id) {
	case ALGORITHM:
		a->algorithm = true;
		return take_only(p, w, "lzo1x_999");
	case ALL_TIME: return take_uint(p, w, &o->from.mtime,
	    &o->from.has_mtime);
	case BCJ: return take_filters(p, w);
	case BLOCK: return take_block_size(p, w);
	case COMP: a->comp = w->value; return -1;
	case DICTIONARY: a->dictionary = w->value; return -1;
	case EXCLUDE_FILE: return as_lines(p, w->value, take_exclude) == 0 ?
	    -1 : MSG_ERROR;
	case FORCE_GID:
	case FORCE_UID: return take_owner(p, w, id);
	case LEVEL: return as_number(&p->msg, w, 1, LEVEL_MAX, &a->level) ?
	    -1 : MSG_ERROR;
	case MKFS_TIME: return take_uint(p, w, &o->from.image_mtime,
	    &a->has_mkfs_time);
	case OFFSET: return as_offset(p, w, &o->tables.offset);
	case PROCESSORS: return as_threads(p, w);
	case PSEUDO: return as_texts_add(p, &a->pseudo, w->value,
	    strlen(w->value)) == 0 ? -1 : MSG_ERROR;
	case PSEUDO_FILE: return as_lines(p, w->value, take_pseudo) == 0 ?
	    -1 : MSG_ERROR;
	case ROOT_GID: return take_uint(p, w, &a->root_gid, &a->has_root_gid);
	case ROOT_MODE: return take_root_mode(p, w);
	case ROOT_TIME: return take_uint(p, w, &a->root_time,
	    &a->has_root_time);
	case ROOT_UID: return take_uint(p, w, &a->root_uid, &a->has_root_uid);
	case SORT: o->from.order = w->value; return -1;
	case WINDOW:
		a->window = true;
		return take_only(p, w, "15");
	default: return -1;		/* accepted and ignored */
	}
}

static int
take(struct sqpack *p, struct as_words *w, int id)
{
	if (id == AS_WRONG)
		return options_usage(usage);
	if (take_flag(p, id))
		return -1;
	switch (id) {
	case EXCLUDE: return take_excludes(p, w);
	case HELP: return options_help(&p->msg, usage, help);
	case LACKS: return as_lacks(&p->msg, w->word, "mksquashfs");
	case VERSION: return show_version(p, w);
	default: return take_value(p, w, id);
	}
}

/* Parses the words before the options: the sources and, last, the image. */
static int
take_words(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	int first = w->at;

	while (w->at < w->argc && (w->argv[w->at][0] != '-' ||
	    w->argv[w->at][1] == '\0'))
		w->at++;
	if (w->at == first)
		return -1;		/* only -help or -version was given */
	a->sources = w->argv + first;
	a->source_count = (size_t)(w->at - first - 1);
	p->o.output = w->argv[w->at - 1];
	return -1;
}

static void
release(struct sqpack *p)
{
	struct as_mksquashfs *a = p->o.as;

	as_sources_free(p);
	as_texts_free(&a->excludes);
	as_texts_free(&a->paths);
	as_texts_free(&a->pseudo);
	sys_free(a);
}

int
as_mksquashfs_parse(struct sqpack *p, int argc, char **argv)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	struct as_mksquashfs *a = sys_calloc(1, sizeof(*a));
	int id, status;

	msg_init(&p->msg, argv[0]);
	if (a == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	a->append = true;
	p->o.as = a;
	p->o.release = release;
	p->o.done = as_report;
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
	status = take_words(p, &w);
	while (status < 0 && (id = as_next(&p->msg, &w, options)) != AS_END)
		status = take(p, &w, id);
	if (status < 0 && w.at < argc) {
		msg_error(&p->msg, "expected an option, found '%s'",
		    argv[w.at]);
		return options_usage(usage);
	}
	if (status < 0 && a->source_count == 0) {
		msg_error(&p->msg, p->o.output == NULL ?
		    "expected a source and an image" :
		    "expected a source and an image, "
		    "found one argument");
		return options_usage(usage);
	}
	return status >= 0 ? status : as_mksquashfs_check(p);
}
