/*
 * as_mksquashfs.c - the command line of mksquashfs, and its report
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of mksquashfs 4.5.1.
 */
#include "as.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEVEL_MAX = 22 };

enum { ALGORITHM, ALL_ROOT, ALL_TIME, AS_DIRECTORY, BCJ, BLOCK, COMP,
    DICTIONARY, EXCLUDE, EXCLUDE_FILE, EXPORTS, FORCE_GID, FORCE_UID, HC,
    HELP, IGNORED, IGNORED_VALUE, INFO, LACKS, LEVEL, MKFS_TIME, NO_APPEND,
    NO_DUPLICATES, NO_EXPORTS, NO_FRAGMENTS, NO_LINKS, NO_PAD, NO_PROGRESS,
    NO_XATTRS, OFFSET, ONE_FILE_SYSTEM, PROCESSORS, PROGRESS, PSEUDO,
    PSEUDO_FILE, QUIET, RAW_DATA, RAW_FRAGMENTS, RAW_IDS, RAW_INODES,
    RAW_XATTRS, REGEX, ROOT_GID, ROOT_MODE, ROOT_TIME, ROOT_UID, SORT, TAR,
    VERSION, WILDCARDS, WINDOW, XATTRS };

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
take_option(struct sqpack *p, struct as_words *w, int id)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	unsigned long mode;
	uint64_t n;
	char *end;

	switch (id) {
	case AS_WRONG: return options_usage(usage);
	case ALGORITHM:
		a->algorithm = true;
		return take_only(p, w, "lzo1x_999");
	case ALL_ROOT:
		o->from.has_uid = o->from.has_gid = true;
		o->from.uid = o->from.gid = 0;
		break;
	case ALL_TIME:
		return take_uint(p, w, &o->from.mtime, &o->from.has_mtime);
	case AS_DIRECTORY: a->as_directory = true; break;
	case BCJ:
		if (sqpack_take_filters(w->value, &o->filters))
			break;
		msg_error(&p->msg, "-Xbcj: expected a list of x86, arm, "
		    "armthumb, powerpc, sparc and ia64, found '%s'", w->value);
		return MSG_ERROR;
	case BLOCK:
		if (args_size(w->value, &n) != 0 || n < SQUASHFS_BLOCK_MIN ||
		    n > SQUASHFS_BLOCK_MAX || (n & (n - 1)) != 0) {
			msg_error(&p->msg, "-b: expected a power of two from "
			    "4K to 1M, found '%s'", w->value);
			return MSG_ERROR;
		}
		o->data.block = (uint32_t)n;
		break;
	case COMP: a->comp = w->value; break;
	case DICTIONARY: a->dictionary = w->value; break;
	case EXCLUDE:			/* all words that remain */
		if (w->at == w->argc) {
			msg_error(&p->msg, "-e requires names to exclude");
			return MSG_ERROR;
		}
		for (; w->at < w->argc; w->at++)
			if (as_texts_add(p, &a->excludes, w->argv[w->at],
			    strlen(w->argv[w->at])) != 0)
				return MSG_ERROR;
		break;
	case EXCLUDE_FILE:
		return as_lines(p, &a->excludes, w->value) == 0 ? -1 :
		    MSG_ERROR;
	case EXPORTS: o->tables.no_export = false; break;
	case FORCE_GID:
		o->from.has_gid = imgsrc_group(w->value, &o->from.gid) == 0;
		if (o->from.has_gid)
			break;
		msg_error(&p->msg, "group '%s' does not exist", w->value);
		return MSG_ERROR;
	case FORCE_UID:
		o->from.has_uid = imgsrc_user(w->value, &o->from.uid) == 0;
		if (o->from.has_uid)
			break;
		msg_error(&p->msg, "user '%s' does not exist", w->value);
		return MSG_ERROR;
	case HC: a->hc = true; break;
	case HELP: return options_help(&p->msg, usage, help);
	case INFO: a->info = p->msg.quiet = true; break;
	case LACKS: return as_lacks(&p->msg, w->word, "mksquashfs");
	case LEVEL:
		return as_number(&p->msg, w, 1, LEVEL_MAX, &a->level) ? -1 :
		    MSG_ERROR;
	case MKFS_TIME:
		return take_uint(p, w, &o->from.image_mtime, &a->has_mkfs_time);
	case NO_APPEND: a->append = false; break;
	case NO_DUPLICATES: o->data.no_duplicates = true; break;
	case NO_EXPORTS: o->tables.no_export = true; break;
	case NO_FRAGMENTS: o->data.no_fragments = true; break;
	case NO_LINKS: o->from.no_links = true; break;
	case NO_PAD: o->tables.no_pad = true; break;
	case NO_PROGRESS: p->msg.quiet = true; break;
	case NO_XATTRS: o->no_xattrs = true; break;
	case OFFSET: return as_offset(p, w, &o->tables.offset);
	case ONE_FILE_SYSTEM: a->one_file_system = true; break;
	case PROCESSORS: return as_threads(p, w);
	case PROGRESS: p->msg.quiet = false; break;
	case PSEUDO:
		return as_texts_add(p, &a->pseudo, w->value,
		    strlen(w->value)) == 0 ? -1 : MSG_ERROR;
	case PSEUDO_FILE:
		return as_lines(p, &a->pseudo, w->value) == 0 ? -1 : MSG_ERROR;
	case QUIET: a->quiet = true; break;
	case RAW_DATA: o->data.raw_data = true; break;
	case RAW_FRAGMENTS: o->data.raw_fragments = true; break;
	case RAW_IDS: o->tables.raw_ids = true; break;
	case RAW_INODES: o->tables.raw_inodes = true; break;
	case RAW_XATTRS: o->tables.raw_xattrs = true; break;
	case REGEX: a->regex = true; break;
	case ROOT_GID: return take_uint(p, w, &a->root_gid, &a->has_root_gid);
	case ROOT_MODE:
		mode = strtoul(w->value, &end, 8);
		if (*w->value == '\0' || *end != '\0' || mode > 07777) {
			msg_error(&p->msg, "-root-mode: expected an octal "
			    "number up to 7777, found '%s'", w->value);
			return MSG_ERROR;
		}
		a->root_mode = (uint32_t)mode;
		a->has_root_mode = true;
		break;
	case ROOT_TIME:
		return take_uint(p, w, &a->root_time, &a->has_root_time);
	case ROOT_UID: return take_uint(p, w, &a->root_uid, &a->has_root_uid);
	case SORT: o->from.order = w->value; break;
	case TAR: a->tar = o->tables.no_export = true; break;
	case VERSION:
		printf("mksquashfs version 4.5.1 (2022/03/17)\n"
		    "This is sqpack (coldpress) %s, standing in for it.\n",
		    COLDPRESS_VERSION);
		/*
		 * As in the original, nothing is built if this is the first
		 * word; elsewhere the other words still count.
		 */
		if (w->at == 2)
			return msg_finish(&p->msg);
		fflush(stdout);
		break;
	case WILDCARDS: a->wildcards = true; break;
	case WINDOW:
		a->window = true;
		return take_only(p, w, "15");
	case XATTRS: o->no_xattrs = false; break;
	default: break;			/* accepted and ignored */
	}
	return -1;
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
choose_method(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const char *comp = a->comp == NULL ? "gzip" : a->comp;
	const struct sqw_method *m;
	uint64_t n;

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
	if (a->dictionary != NULL && (m->compressor != SQUASHFS_XZ ||
	    (strcmp(a->dictionary, "100%") != 0 &&
	    (args_size(a->dictionary, &n) != 0 || n != p->o.data.block)))) {
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

/*
 * Applies the options for the root, which those for all inodes override, and
 * adds pseudo files.
 */
static int
complete_tree(void *arg)
{
	struct sqpack *p = arg;
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_attr *root = &p->image.tree.nodes[0].attr;
	int rc = 0;

	if (a->has_root_mode)
		root->mode = (uint16_t)(S_IFDIR | a->root_mode);
	if (a->has_root_uid)
		root->uid = a->root_uid;
	if (a->has_root_gid)
		root->gid = a->root_gid;
	imgsrc_adjust(&p->image, root, a->has_root_time ? a->root_time :
	    root->mtime);
	for (size_t i = 0; rc == 0 && i < a->pseudo.count; i++)
		rc = imgsrc_pseudo(&p->image, a->pseudo.items[i]);
	return rc;
}

/* Validates the options and applies them. */
static int
apply_options(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	struct stat st;

	if (a->append && stat(o->output, &st) == 0) {
		msg_error(&p->msg, "%s exists, and sqpack does not "
		    "append to images: -noappend replaces it", o->output);
		return MSG_ERROR;
	}
	o->force = true;
	o->tables.raw_ids = o->tables.raw_ids && !o->tables.raw_inodes;
	o->from.complete = complete_tree;
	o->data.threads = cpus_choose(o->data.threads, AS_THREADS_MAX);
	if (choose_method(p) >= 0 || sqpack_take_epoch(p) >= 0)
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
	if (a->tar && (a->source_count != 1 ||
	    strcmp(a->sources[0], "-") != 0 || a->pseudo.count > 0 ||
	    a->excludes.count > 0)) {
		msg_error(&p->msg, "-tar requires the source -, and cannot be "
		    "combined with -p or -e");
		return MSG_ERROR;
	}
	if (as_sources(p) != 0)
		return MSG_ERROR;
	if (a->quiet)
		return -1;
	printf("Parallel mksquashfs: Using %u processor%s\n",
	    o->data.threads, o->data.threads == 1 ? "" : "s");
	printf("Creating 4.0 filesystem on %s, block size %u.\n",
	    o->output, o->data.block);
	fflush(stdout);
	return -1;
}

static void
print_line(const char *what, uint64_t n)
{
	printf("Number of %s %llu\n", what, (unsigned long long)n);
}

static const char *
un(bool raw)
{
	return raw ? "uncompressed" : "compressed";
}

/* Prints the same report as mksquashfs about an image that was built. */
static void
print_all(const struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *tree = &p->image.tree;
	const struct sqt_image_options *t = &p->o.tables;
	const struct sqw_data_options *d = &p->o.data;
	const struct sqt_image_space *space = &p->image.space;
	uint64_t files = 0, links = 0, devices = 0, fifos = 0, sockets = 0;
	uint64_t dirs = 0, hard = 0;
	double size = (double)space->used_B;

	for (size_t i = 1; a->info && i < tree->count; i++) {
		const struct sqw_node *n = &tree->nodes[i];
		size_t up[256], depth = 0;

		for (size_t k = i; k != 0 && depth < 256; k =
		    tree->nodes[k].parent)
			up[depth++] = k;
		fputs(S_ISREG(n->attr.mode) ? "file " :
		    S_ISDIR(n->attr.mode) ? "directory " :
		    S_ISLNK(n->attr.mode) ? "symbolic link " : "node ",
		    stdout);
		while (depth > 0)
			printf("/%s", tree->nodes[up[--depth]].name);
		if (S_ISREG(n->attr.mode))
			printf(", uncompressed size %llu bytes%s",
			    (unsigned long long)n->attr.size,
			    n->owner != i ? " LINK" : "");
		putchar('\n');
	}
	if (a->quiet)
		return;
	for (size_t i = 0; i < tree->count; i++) {
		const struct sqw_node *n = &tree->nodes[i];

		if (n->owner != i) {
			hard++;
			continue;
		}
		switch (n->attr.mode & S_IFMT) {
		case S_IFREG: files++; break;
		case S_IFDIR: dirs++; break;
		case S_IFLNK: links++; break;
		case S_IFIFO: fifos++; break;
		case S_IFSOCK: sockets++; break;
		default: devices++; break;
		}
	}
	printf("\n%sSquashfs 4.0 filesystem, %s compressed, data block size "
	    "%u\n", t->no_export ? "" : "Exportable ",
	    strcmp(d->method->name, "lz4hc") == 0 ? "lz4" : d->method->name,
	    d->block);
	printf("\t%s data, %s metadata, %s fragments,\n\t%s xattrs, %s ids\n",
	    un(d->raw_data), un(t->raw_inodes), d->no_fragments ? "no" :
	    un(d->raw_fragments), p->o.no_xattrs ? "no" : un(t->raw_xattrs),
	    un(t->raw_inodes || t->raw_ids));
	printf("\tduplicates are %sremoved\n", d->no_duplicates ? "not " : "");
	printf("Filesystem size %.2f Kbytes (%.2f Mbytes)\n", size / 1024,
	    size / 1048576);
	printf("Inode table size %llu bytes (%.2f Kbytes)\n",
	    (unsigned long long)space->inodes_B,
	    (double)space->inodes_B / 1024);
	printf("Directory table size %llu bytes (%.2f Kbytes)\n",
	    (unsigned long long)space->listings_B,
	    (double)space->listings_B / 1024);
	if (d->no_duplicates)
		puts("No duplicate files removed");
	else
		print_line("duplicate files found", p->image.data.duplicates);
	print_line("inodes", tree->inodes);
	print_line("files", files);
	if (!d->no_fragments)
		print_line("fragments", p->image.data.fragments);
	print_line("symbolic links", links);
	print_line("device nodes", devices);
	print_line("fifo nodes", fifos);
	print_line("socket nodes", sockets);
	print_line("directories", dirs);
	print_line("hard-links", hard);
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
	int id, status = -1;

	msg_init(&p->msg, argv[0]);
	if (a == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	a->append = true;
	p->o.as = a;
	p->o.release = release;
	p->o.done = print_all;
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
	/* the words before the options: the sources and, last, the image */
	while (w.at < argc && (argv[w.at][0] != '-' || argv[w.at][1] == '\0'))
		w.at++;
	if (w.at > 1) {
		a->sources = argv + 1;
		a->source_count = (size_t)(w.at - 2);
		p->o.output = argv[w.at - 1];
	}
	while (status < 0 && (id = as_next(&p->msg, &w, options)) != AS_END)
		status = take_option(p, &w, id);
	if (status >= 0)
		return status;
	if (w.at < argc) {
		msg_error(&p->msg, "expected an option, found '%s'",
		    argv[w.at]);
		return options_usage(usage);
	}
	if (a->source_count == 0) {
		msg_error(&p->msg, p->o.output == NULL ?
		    "expected a source and an image" :
		    "expected a source and an image, "
		    "found one argument");
		return options_usage(usage);
	}
	return apply_options(p);
}
