/*
 * sqpack_options.c - the command line of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/args.h"
#include "base/array.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"
#include "engine/packer/packer.h"
#include "format/gzip/deflate_engine.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

enum { THREADS_MAX = 1024, GZIP_BEST = 10, ZLIB_LEVEL_MAX = 9 };

void
sqpack_versions(char text[SQPACK_VERSIONS_B])
{
	snprintf(text, SQPACK_VERSIONS_B,
	    "sqpack (coldpress) %s\n%s\nlz4 %s\nzstd %s\nxz %s%s",
	    COLDPRESS_VERSION, deflate_engine_versions(),
	    LZ4_versionString(), ZSTD_versionString(),
	    lzma_version_string(), packer_lzo_notice());
}

void
sqpack_library(const struct sqw_method *m, char text[SQPACK_LIBRARY_B])
{
	switch (m->compressor) {
	case SQUASHFS_XZ:
		snprintf(text, SQPACK_LIBRARY_B, "liblzma %s",
		    lzma_version_string());
		break;
	case SQUASHFS_ZSTD:
		snprintf(text, SQPACK_LIBRARY_B, "libzstd %s",
		    ZSTD_versionString());
		break;
	case SQUASHFS_LZ4:
		snprintf(text, SQPACK_LIBRARY_B, "liblz4 %s",
		    LZ4_versionString());
		break;
	default:
		snprintf(text, SQPACK_LIBRARY_B, m->compressor == SQUASHFS_LZO ?
		    "liblzo2" : "zlib");
	}
}

static int
show_sqpack(void *into)
{
	struct sqpack *p = into;
	char text[SQPACK_VERSIONS_B];

	sqpack_versions(text);
	printf("%s\n", text);
	return msg_finish(&p->msg);
}

static int
take_method(void *into)
{
	struct sqpack *p = into;

	p->o.data.method = sqw_method_by_name(optarg);
	if (p->o.data.method != NULL)
		return -1;
	msg_error(&p->msg, "unknown method '%s', expected one of: %s", optarg,
	    sqw_method_names());
	return MSG_ERROR;
}

static void
list_methods(FILE *out)
{
	fprintf(out, " %s", sqw_method_names());
}

static void
list_filters(FILE *out)
{
	for (int i = 0; i < SQW_FILTERS; i++)
		fprintf(out, " %s", sqw_filters[i]);
}

bool
sqpack_take_filters(const char *list, int *filters)
{
	for (const char *s = list; *s != '\0';) {
		size_t n = strcspn(s, ",");
		int i = 0;

		while (i < SQW_FILTERS && (strncmp(sqw_filters[i], s, n) != 0 ||
		    sqw_filters[i][n] != '\0'))
			i++;
		if (i == SQW_FILTERS)
			return false;
		*filters |= 1 << i;
		s += n + (s[n] == ',');
	}
	return true;
}

static int
take_bcj(void *into)
{
	struct sqpack *p = into;

	return sqpack_take_filters(optarg, &p->o.filters) ? -1 :
	    options_bad(&p->msg, "--bcj", "x86, powerpc, ia64, arm, armthumb "
	    "or sparc");
}

static const char raw_names[] = "data, fragments, inodes or xattrs";

static int
take_raw(void *into)
{
	struct sqpack *p = into;
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
			return options_bad(&p->msg, "--raw", raw_names);
		s += n + (s[n] == ',');
	}
	return -1;
}

static int
take_exclude(void *into)
{
	struct sqpack *p = into;
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
take_all_root(void *into)
{
	struct sqpack *p = into;

	p->o.from.has_uid = p->o.from.has_gid = true;
	p->o.from.uid = p->o.from.gid = 0;
	return -1;
}

static int
take_pseudo(void *into)
{
	struct sqpack *p = into;
	char why[IMGSRC_WHY] = "";
	int rc = p->o.pseudo != NULL ? 0 : imgsrc_pseudo_open(&p->o.pseudo);

	if (rc == 0)
		rc = imgsrc_pseudo_add_file(p->o.pseudo, optarg, why);
	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s", *why != '\0' ? why : strerror(-rc));
	return MSG_ERROR;
}

/*
 * The snap store unpacks a snap, runs mksquashfs with its own settings and
 * compares the results; it accepts only a byte-identical image.
 */
static int
take_like(void *into)
{
	struct sqpack *p = into;

	if (strcmp(optarg, "mksquashfs") != 0)
		return options_bad(&p->msg, "--like", "mksquashfs");
	p->o.data.exact = p->o.data.no_fragments = p->o.no_xattrs = true;
	return take_all_root(into);
}

static const char sqpack_usage[] =
"usage: sqpack [-fhkqvV] [-F method] [-L level | --best] [-b block]\n"
"              [-p threads] [--bcj list]\n"
"              [--all-root] [--uid N] [--gid N] [--mtime seconds]\n"
"              [--exclude glob]... [--no-duplicates] [--no-fragments]\n"
"              [--no-xattrs] [--order list [-0]]\n"
"              [--raw data,fragments,inodes,xattrs] [--like mksquashfs]\n"
"              [--memory size] [--offset bytes] [--pseudo file]\n"
"              [--shift-ids N] [--selinux file_contexts] [--base image]\n"
"              [--verity [--verity-key file --verity-cert file]]\n"
"              [--dry-run] [--stats[=file]] -o image directory|archive|image|-\n"
"       sqpack -l [-qv] [--can-mount[=kernel]] [--offset bytes] [glob]... image\n"
"       sqpack -x dir [-fqv] [-p threads] [--no-xattrs] [--offset bytes]\n"
"              [glob]... image\n"
"       sqpack --cat path [--offset bytes] image\n"
"       sqpack --can-mount[=kernel] [--offset bytes] image\n"
"       sqpack --diff old image\n"
"       sqpack --rebuild-check [-qv] [-L level] [--no-probe] [-p threads]\n"
"              [--offset bytes] [--stats[=file]] image\n";

static const char sqpack_about[] =
"Builds a squashfs image from a directory, a tar archive"
#ifdef COLDPRESS_OCI
", the layers of an\nOCI image (layout[:tag])"
#endif
" or another image, on all cores; lists and extracts\nimages.\n"
"The output depends neither on the number of threads nor on the current time.\n";

enum { LIST, EXTRACT, CAT, REBUILD_CHECK, CAN_MOUNT, DIFF };

static int
take_task(void *into, int which)
{
	static int (*const tasks[])(struct sqpack_image *i) = {
		[LIST] = sqpack_list, [EXTRACT] = sqpack_extract,
		[CAT] = sqpack_cat, [REBUILD_CHECK] = NULL,
		[CAN_MOUNT] = sqpack_mount, [DIFF] = sqpack_diff };
	struct sqpack *p = into;
	struct sqpack_options *o = &p->o;

	if (which == EXTRACT) {
		o->directory = optarg;
	} else if (which == CAT) {
		o->name = optarg;
		o->names = &o->name;
		o->name_count = 1;
	} else if (which == DIFF) {
		o->other = optarg;
	} else if (which == CAN_MOUNT) {
		o->kernel = optarg;
	}
	/*
	 * --can-mount does not conflict, because a long listing includes its
	 * result
	 */
	if (which == CAN_MOUNT && (o->task != NULL || o->rebuild_check))
		return -1;
	if (o->rebuild_check ? which != REBUILD_CHECK : o->task != NULL &&
	    o->task != sqpack_mount && o->task != tasks[which]) {
		msg_error(&p->msg, "-l, -x, --cat, --diff and --rebuild-check "
		    "cannot be combined");
		return options_usage(sqpack_usage);
	}
	o->task = tasks[which];
	o->rebuild_check = which == REBUILD_CHECK;
	return -1;
}

#define OPTIONS_INTO struct sqpack

static const struct options_row sqpack_table[] = {
	{ 'b', "block", "BYTES", "a power of two from 4K to 1M; default 128K",
	    OPTIONS_POWER(o.data.block, "block size", SQUASHFS_BLOCK_MIN,
	    SQUASHFS_BLOCK_MAX, "a power of two from 4K to 1M"),
	    OPTIONS_GIVEN(o.from.has_block) },
	{ 'F', "format", "METHOD", "zstd (default), gzip, lz4, lz4hc, xz, lzo "
	    "or none", OPTIONS_CALL(take_method), .list = list_methods },
	{ 'f', "force", NULL, "replace an existing image",
	    OPTIONS_FLAG(o.force) },
	{ 'k', "keep-going", NULL, "leave out files that cannot be read",
	    OPTIONS_FLAG(o.from.keep_going) },
	{ 'L', "level", "N", "zstd 1 to 22 (15), gzip 1 to 12 (9), lzo 1 to 9 "
	    "(8)", OPTIONS_NUMBER(o.level, "level", 1, 22) },
	{ 'l', "list", NULL, "list the names in an image; -v: also describe "
	    "it", OPTIONS_CALL_WITH(take_task, LIST) },
	{ 'o', "output", "FILE", "the image to create",
	    OPTIONS_TEXT(o.output) },
	{ 'p', "threads", "N", "number of compression threads (default: usable "
	    "CPUs)", OPTIONS_THREADS(o.data.threads, THREADS_MAX) },
	{ 'q', "quiet", NULL, "", OPTIONS_FLAG(msg.quiet) },
	{ 'v', "verbose", NULL, "be quiet, or verbose",
	    OPTIONS_COUNT(msg.verbose) },
	{ 'x', "extract", "DIR", "extract an image, or names matching globs, "
	    "to DIR", OPTIONS_CALL_WITH(take_task, EXTRACT) },
	{ 0, "base", "IMAGE", "copy the compressed blocks of what is unchanged "
	    "since this image was made", OPTIONS_TEXT(o.from.base) },
	{ 0, "bcj", "LIST", "xz: also try these BCJ filters: x86, arm, ...",
	    OPTIONS_CALL(take_bcj), .list = list_filters },
	{ 0, "best", NULL, "the smallest image that the method allows; gzip: "
	    "level 10", OPTIONS_FLAG(o.best) },
	{ 0, "cat", "PATH", "write a file from an image to standard output",
	    OPTIONS_CALL_WITH(take_task, CAT) },
	{ 0, "all-root", NULL, "give everything to user and group 0",
	    OPTIONS_CALL(take_all_root) },
	{ 0, "uid", "N", "", OPTIONS_NUMBER(o.from.uid, "user", 0, UINT32_MAX),
	    OPTIONS_GIVEN(o.from.has_uid) },
	{ 0, "gid", "N", "give everything to this user or group",
	    OPTIONS_NUMBER(o.from.gid, "group", 0, UINT32_MAX),
	    OPTIONS_GIVEN(o.from.has_gid) },
	{ 0, "shift-ids", "N", "add this to all users and groups",
	    OPTIONS_NUMBER(o.from.owner_shift, "shift", -(int64_t)UINT32_MAX,
	    UINT32_MAX) },
	{ 0, "pseudo", "FILE", "add names, and change owners, modes and "
	    "attributes, as mksquashfs -pf does", OPTIONS_CALL(take_pseudo) },
	{ 0, "mtime", "SECONDS", "set all times in the image (since 1970)",
	    OPTIONS_NUMBER(o.from.mtime, "time", 0, UINT32_MAX),
	    OPTIONS_GIVEN(o.from.has_mtime) },
	{ 0, "can-mount", "[=KERNEL]", "report whether a kernel can mount the "
	    "image; KERNEL: configuration or version; default: the running one",
	    OPTIONS_CALL_WITH(take_task, CAN_MOUNT) },
	{ 0, "like", "mksquashfs", "produce the same bytes as mksquashfs 4.5.1 "
	    "with the snap store's settings; xz unless -F says otherwise",
	    OPTIONS_CALL(take_like), .names = "mksquashfs" },
	{ 0, "diff", "OLD", "say what differs between this image and another",
	    OPTIONS_CALL_WITH(take_task, DIFF) },
	{ 0, "exclude", "GLOB", "leave out paths or names that match",
	    OPTIONS_CALL(take_exclude) },
	{ 0, "no-duplicates", NULL, "store identical files separately",
	    OPTIONS_FLAG(o.data.no_duplicates) },
	{ 0, "no-export", NULL, "omit the inode lookup table for NFS",
	    OPTIONS_FLAG(o.tables.no_export) },
	{ 0, "no-fragments", NULL, "do not let small files share blocks",
	    OPTIONS_FLAG(o.data.no_fragments) },
	{ 0, "no-pad", NULL, "do not round the image up to 4 KiB",
	    OPTIONS_FLAG(o.tables.no_pad) },
	{ 0, "no-probe", NULL, "compress even blocks that look incompressible",
	    OPTIONS_FLAG(o.data.no_probe) },
	{ 0, "no-xattrs", NULL, "omit extended attributes",
	    OPTIONS_FLAG(o.no_xattrs) },
	{ 0, "offset", "BYTES", "offset of the image that is read in its file",
	    OPTIONS_SIZE(o.from.offset, "offset"),
	    OPTIONS_GIVEN(o.from.has_offset) },
	{ 0, "order", "LIST", "store the files in LIST first",
	    OPTIONS_TEXT(o.from.order) },
	{ '0', "null", NULL, "paths in LIST end with NUL",
	    OPTIONS_FLAG(o.from.null_ends) },
	{ 0, "raw", "LIST", "do not compress data, fragments, inodes, xattrs",
	    OPTIONS_CALL(take_raw), .names = raw_names },
	{ 0, "memory", "SIZE", "reject an image that needs more memory for its "
	    "tables, names and block lists (1G)",
	    OPTIONS_SIZE(o.memory, "memory") },
	{ 0, "verity", NULL, "append the hash tree of dm-verity, and print its "
	    "root hash", OPTIONS_FLAG(o.verity) },
	{ 0, "verity-key", "FILE", "", OPTIONS_TEXT(o.verity_key) },
	{ 0, "verity-cert", "FILE", "sign the root hash with this private key "
	    "and certificate (PEM): writes the image's name with .p7s",
	    OPTIONS_TEXT(o.verity_cert) },
	{ 0, "selinux", "FILE", "give all names the labels in this "
	    "file_contexts", OPTIONS_TEXT(o.from.labels) },
	{ 0, "dry-run", NULL, "write no image; with --stats, report its size",
	    OPTIONS_FLAG(o.dry_run) },
	{ 0, "rebuild-check", NULL, "rebuild an image from its own contents, "
	    "and report whether the bytes are the same",
	    OPTIONS_CALL_WITH(take_task, REBUILD_CHECK) },
	{ 0, "stats", "[=FILE]", "write statistics as a line of JSON",
	    OPTIONS_TEXT_OR(o.stats, "-") },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_CALL(show_sqpack) },
};

int
sqpack_take_epoch(struct sqpack *p)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	int64_t n;

	if (text == NULL || *text == '\0')
		return -1;
	if (args_int(text, 0, UINT32_MAX, &n) != 0) {
		msg_error(&p->msg, "SOURCE_DATE_EPOCH: expected seconds "
		    "since 1970, found '%s'", text);
		return MSG_ERROR;
	}
	p->o.from.has_epoch = true;
	p->o.from.epoch = (uint32_t)n;
	return -1;
}

static int
set_level(struct sqpack *p)
{
	int64_t level = p->o.level;
	const struct sqw_method *m = p->o.data.method;

	if (level != 0 && p->o.best) {
		msg_error(&p->msg, "-L and --best cannot be combined");
		return options_usage(sqpack_usage);
	}
	if (p->o.filters != 0 && !m->filters) {
		msg_error(&p->msg, "--bcj is for xz; it cannot be used with %s",
		    m->name);
		return MSG_ERROR;
	}
	if (p->o.filters != 0)
		p->o.data.level = p->o.filters;
	else if (p->o.best)		/* the manual describes its cost */
		p->o.data.level = m->compressor == SQUASHFS_GZIP ? GZIP_BEST :
		    m->level_max;
	else
		p->o.data.level = level == 0 ? m->level_default : (int)level;
	if (p->o.filters != 0 || level == 0 || (!m->filters &&
	    level >= m->level_min && level <= m->level_max))
		return -1;
	if (m->level_min == m->level_max || m->filters)
		msg_error(&p->msg, "%s has no levels", m->name);
	else
		msg_error(&p->msg, "%s level %d is not in %d..%d",
		    m->name, (int)level, m->level_min, m->level_max);
	return MSG_ERROR;
}

/* Checks that what --like promises can be kept. */
static int
check_like(struct sqpack *p)
{
	const struct sqpack_options *o = &p->o;
	struct stat st;

	if (stat(o->source, &st) == 0 && !S_ISDIR(st.st_mode)) {
		msg_error(&p->msg, "--like requires a directory; %s is not one",
		    o->source);
		return MSG_ERROR;
	}
	if (o->data.method->compressor == SQUASHFS_GZIP &&
	    o->data.level > ZLIB_LEVEL_MAX) {
		msg_error(&p->msg, "gzip level %d is not supported by "
		    "mksquashfs, whose maximum is %d", o->data.level,
		    ZLIB_LEVEL_MAX);
		return MSG_ERROR;
	}
	return -1;
}

/* Parses the operands of a reading task: globs, if any, then the image. */
static int
check_reading(struct sqpack *p, int argc, char **argv)
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
	p->o.data.level = (int)p->o.level;
	p->o.source = argv[argc - 1];
	p->o.globs = argv + optind;
	p->o.glob_count = (size_t)words - 1;
	return -1;
}

/* The signature is written beside the image. */
static int
name_signature(struct sqpack *p)
{
	size_t room = strlen(p->o.output) + sizeof(".p7s");

	p->o.signature = sys_malloc(room);
	if (p->o.signature == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	snprintf(p->o.signature, room, "%s.p7s", p->o.output);
	return -1;
}

int
sqpack_parse(struct sqpack *p, int argc, char **argv)
{
	struct options options = { .msg = &p->msg, .into = p,
	    OPTIONS_TABLE(sqpack_table), .usage = sqpack_usage,
	    .about = sqpack_about };
	int status;

	msg_init(&p->msg, argv[0]);
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	p->o.data.threads = cpus_choose(p->o.data.threads, THREADS_MAX);
	if (p->o.task != NULL || p->o.rebuild_check)
		return check_reading(p, argc, argv);
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
	if (p->o.output != NULL && strcmp(p->o.output, "-") == 0)
		return options_wrong(&p->msg, "an image cannot be written "
		    "sequentially: -o needs a file or a block device");
	if (p->o.verity && (p->o.dry_run || p->o.tables.no_pad))
		return options_wrong(&p->msg, "--verity cannot be combined "
		    "with --dry-run or --no-pad");
	if ((p->o.verity_key == NULL) != (p->o.verity_cert == NULL) ||
	    (p->o.verity_key != NULL && !p->o.verity))
		return options_wrong(&p->msg, "--verity-key and --verity-cert "
		    "need each other, and --verity");
	if (p->o.verity_key != NULL && name_signature(p) >= 0)
		return MSG_ERROR;
	if (p->o.from.labels != NULL && p->o.no_xattrs)
		return options_wrong(&p->msg, "--selinux cannot be combined "
		    "with --no-xattrs or --like");
	if (p->o.from.base != NULL && p->o.data.exact)
		return options_wrong(&p->msg, "--base and --like cannot be "
		    "combined");
	if (p->o.output == NULL)
		p->o.output = "image";
	if (p->o.data.method == NULL)
		p->o.data.method = sqw_method_by_name(p->o.data.exact ? "xz" :
		    "zstd");
	if (set_level(p) >= 0 || (p->o.data.exact && check_like(p) >= 0))
		return MSG_ERROR;
	return sqpack_take_epoch(p);
}
