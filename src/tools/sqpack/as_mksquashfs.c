/*
 * as_mksquashfs.c - the command line of mksquashfs, and its report
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of mksquashfs and sqfstar 4.7.5.
 */
#include "as.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LEVEL_MAX = 22, DICTIONARY_MIN = 8192 };

static const char usage[] =
"SYNTAX: mksquashfs source1 source2 ...  FILESYSTEM [OPTIONS] "
"[-e list of exclude dirs/files]\n"
"        sqfstar [OPTIONS] FILESYSTEM [list of exclude dirs/files]\n";

static const char help[] =
"This is sqpack, standing in for mksquashfs and sqfstar 4.7.5.\n"
"\n"
"  -comp gzip|lz4|lzo|xz|zstd, -b BLOCK, -noappend, -nopad, -offset BYTES\n"
"  -Xcompression-level N (gzip, lzo, zstd), -Xhc (lz4), -Xbcj LIST (xz),\n"
"  -Xdict-size BYTES|N% (xz), -Xstrategy LIST (gzip)\n"
"  -no-fragments, -tailends, -no-duplicates, -no-sparse, -no-exports\n"
"  -noI, -noId, -noD, -noF, -noX, -no-compression    do not compress these\n"
"  -no-xattrs, -xattrs, -xattrs-exclude REGEX, -xattrs-include REGEX,\n"
"  -xattrs-add NAME=VALUE\n"
"  -all-root, -force-uid U, -force-gid G, -uid-gid-offset N\n"
"  -force-file-mode M, -force-dir-mode M\n"
"  -root-mode M, -root-uid U, -root-gid G, -root-time T\n"
"  -mkfs-time T, -all-time T, -repro, -repro-time T    seconds since 1970,\n"
"                                      a date, or \"inode\": the latest\n"
"  -p DEFINITION, -pf FILE, -pseudo-override    names to add\n"
"  -action ACTION@EXPRESSION, -action-file FILE    change or leave out names\n"
"  -e LIST, -ef FILE, -wildcards, -regex, -max-depth N    names to leave out\n"
"  -sort FILE                          order of the data\n"
"  -keep-as-directory, -no-hardlinks, -one-file-system\n"
"  -tar                                read an archive from standard input\n"
"  -processors N, -no-progress, -percentage, -quiet, -info, -info-file FILE\n"
"  -version, -help\n";

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
take_algorithm(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	a->algorithm = true;
	return take_only(p, w, "lzo1x_999");
}

static int
take_window(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	a->window = true;
	return take_only(p, w, "15");
}

static int
take_strategy(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	for (const char *s = w->value; *s != '\0';) {
		size_t n = strcspn(s, ",");
		unsigned i = 0;

		while (i < SQPACK_STRATEGIES &&
		    (strncmp(sqpack_strategies[i], s, n) != 0 ||
		    sqpack_strategies[i][n] != '\0'))
			i++;
		if (i == SQPACK_STRATEGIES) {
			msg_error(&p->msg, "-Xstrategy: expected a list of "
			    "default, filtered, huffman_only, "
			    "run_length_encoded and fixed, found '%s'",
			    w->value);
			return MSG_ERROR;
		}
		a->strategies |= 1U << i;
		s += n + (s[n] == ',');
	}
	return -1;
}

static int
take_all_root(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.from.has_uid = p->o.from.has_gid = true;
	p->o.from.uid = p->o.from.gid = 0;
	return -1;
}

static int
take_bcj(struct sqpack *p, struct as_words *w)
{
	if (sqpack_take_filters(w->value, &p->o.filters))
		return -1;
	msg_error(&p->msg, "-Xbcj: expected a list of x86, arm, armthumb, "
	    "powerpc, sparc and ia64, found '%s'", w->value);
	return MSG_ERROR;
}

static int
take_block(struct sqpack *p, struct as_words *w)
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
take_comp(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	if (a->comp != NULL && strcmp(a->comp, w->value) != 0) {
		msg_error(&p->msg, "-comp: both %s and %s are given", a->comp,
		    w->value);
		return MSG_ERROR;
	}
	a->comp = w->value;
	return -1;
}

/* Takes all words that remain. */
static int
take_excludes(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	if (w->at == w->argc) {
		msg_error(&p->msg, "-e requires names to exclude");
		return MSG_ERROR;
	}
	for (; w->at < w->argc; w->at++)
		if (as_texts_add(p, &a->excludes, w->argv[w->at],
		    strlen(w->argv[w->at])) != 0)
			return MSG_ERROR;
	return -1;
}

static int
take_exclude_file(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return as_lines(p, &a->excludes, w->value) == 0 ? -1 : MSG_ERROR;
}

static int
take_user(struct sqpack *p, const struct as_words *w, uint32_t *id, bool *has)
{
	*has = imgsrc_user(w->value, id) == 0;
	if (*has)
		return -1;
	msg_error(&p->msg, "user '%s' does not exist", w->value);
	return MSG_ERROR;
}

static int
take_group(struct sqpack *p, const struct as_words *w, uint32_t *id, bool *has)
{
	*has = imgsrc_group(w->value, id) == 0;
	if (*has)
		return -1;
	msg_error(&p->msg, "group '%s' does not exist", w->value);
	return MSG_ERROR;
}

static int
take_force_uid(struct sqpack *p, struct as_words *w)
{
	return take_user(p, w, &p->o.from.uid, &p->o.from.has_uid);
}

static int
take_force_gid(struct sqpack *p, struct as_words *w)
{
	return take_group(p, w, &p->o.from.gid, &p->o.from.has_gid);
}

static int
take_root_uid(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return take_user(p, w, &a->root_uid, &a->has_root_uid);
}

static int
take_root_gid(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return take_group(p, w, &a->root_gid, &a->has_root_gid);
}

static int
take_shift(struct sqpack *p, struct as_words *w)
{
	int64_t n;

	if (!as_number(&p->msg, w, -(int64_t)UINT32_MAX, UINT32_MAX, &n))
		return MSG_ERROR;
	p->o.from.owner_shift = n;
	return -1;
}

static int
take_mode(struct sqpack *p, const struct as_words *w, const char **mode)
{
	uint16_t any = S_IFREG;

	*mode = w->value;
	if (as_mode_apply(w->value, &any))
		return -1;
	msg_error(&p->msg, "%s: expected an octal number up to 7777 or a "
	    "symbolic mode, found '%s'", w->word, w->value);
	return MSG_ERROR;
}

static int
take_root_mode(struct sqpack *p, struct as_words *w)
{
	return take_mode(p, w, &((struct as_mksquashfs *)p->o.as)->root_mode);
}

static int
take_file_mode(struct sqpack *p, struct as_words *w)
{
	return take_mode(p, w, &((struct as_mksquashfs *)p->o.as)->file_mode);
}

static int
take_dir_mode(struct sqpack *p, struct as_words *w)
{
	return take_mode(p, w, &((struct as_mksquashfs *)p->o.as)->dir_mode);
}

/* Takes a time; "inode" is the latest time of all inodes, if that is allowed */
static int
take_time(struct sqpack *p, const struct as_words *w, struct as_time *t)
{
	if (strcmp(w->value, "inode") == 0) {
		t->latest = true;
		return -1;
	}
	t->given = imgsrc_date(w->value, &t->s);
	if (t->given)
		return -1;
	msg_error(&p->msg, "%s: expected seconds since 1970, a date or inode, "
	    "found '%s'", w->word, w->value);
	return MSG_ERROR;
}

static int
take_mkfs_time(struct sqpack *p, struct as_words *w)
{
	return take_time(p, w, &((struct as_mksquashfs *)p->o.as)->mkfs_time);
}

static int
take_all_time(struct sqpack *p, struct as_words *w)
{
	return take_time(p, w, &((struct as_mksquashfs *)p->o.as)->all_time);
}

static int
take_root_time(struct sqpack *p, struct as_words *w)
{
	return take_time(p, w, &((struct as_mksquashfs *)p->o.as)->root_time);
}

static int
take_repro_time(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	int status = take_time(p, w, &a->mkfs_time);

	a->all_time = a->mkfs_time;
	return status;
}

static int
take_repro(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	(void)w;
	a->mkfs_time.latest = true;
	return -1;
}

static int
take_info(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	a->info = true;
	if (w->value != NULL)
		a->info_file = w->value;
	else
		p->msg.quiet = true;
	return -1;
}

static int
take_level(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return as_number(&p->msg, w, 1, LEVEL_MAX, &a->level) ? -1 : MSG_ERROR;
}

static int
take_depth(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return take_uint(p, w, &a->max_depth, &a->has_max_depth);
}

static int
take_offset(struct sqpack *p, struct as_words *w)
{
	return as_offset(p, w, &p->o.tables.offset);
}

static int
take_processors(struct sqpack *p, struct as_words *w)
{
	return as_threads(p, w);
}

static int
add_action(struct sqpack *p, const struct as_words *w, const char *text)
{
	struct as_mksquashfs *a = p->o.as;
	char why[AS_ACTIONS_WHY] = "";
	int rc = as_actions_add(a->actions, text, why);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s '%s': %s", w->word, text, *why != '\0' ? why :
	    strerror(-rc));
	return MSG_ERROR;
}

static int
take_action(struct sqpack *p, struct as_words *w)
{
	return add_action(p, w, w->value);
}

/* Takes a file of actions; a backslash at its end continues a line. */
static int
take_action_file(struct sqpack *p, struct as_words *w)
{
	struct as_texts lines = { .count = 0 };
	struct strbuf whole = { .len = 0 };
	int status = as_lines(p, &lines, w->value) == 0 ? -1 : MSG_ERROR;

	for (size_t i = 0; status < 0 && i < lines.count; i++) {
		size_t len = strlen(lines.items[i]);
		bool more = len > 0 && lines.items[i][len - 1] == '\\' &&
		    (len < 2 || lines.items[i][len - 2] != '\\');

		strbuf_add(&whole, lines.items[i], len - more);
		if (more && i + 1 < lines.count)
			continue;
		strbuf_char(&whole, '\0');
		if (whole.failed) {
			msg_error(&p->msg, "%s", strerror(ENOMEM));
			status = MSG_ERROR;
		} else {
			status = add_action(p, w, whole.data);
			strbuf_clear(&whole);
		}
	}
	strbuf_free(&whole);
	as_texts_free(&lines);
	return status;
}

static int
take_pseudo(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	char why[IMGSRC_WHY] = "";
	int rc = imgsrc_pseudo_add(a->pseudo, w->value, why);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s", *why != '\0' ? why : strerror(-rc));
	return MSG_ERROR;
}

static int
take_pseudo_file(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	char why[IMGSRC_WHY] = "";
	int rc = imgsrc_pseudo_add_file(a->pseudo, w->value, why);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s", *why != '\0' ? why : strerror(-rc));
	return MSG_ERROR;
}

static int
take_percentage(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	(void)w;
	a->percentage = p->msg.quiet = true;
	return -1;
}

static int
take_no_compression(struct sqpack *p, struct as_words *w)
{
	(void)w;
	p->o.data.raw_data = p->o.data.raw_fragments = true;
	p->o.tables.raw_inodes = p->o.tables.raw_xattrs = true;
	return -1;
}

static int
take_tar(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	(void)w;
	a->tar = p->o.data.tails = true;
	return -1;
}

static int
take_xattrs_exclude(struct sqpack *p, struct as_words *w)
{
	return as_xattr_regex(p, w,
	    &((struct as_mksquashfs *)p->o.as)->xattrs_out);
}

static int
take_xattrs_include(struct sqpack *p, struct as_words *w)
{
	return as_xattr_regex(p, w,
	    &((struct as_mksquashfs *)p->o.as)->xattrs_in);
}

static int
take_xattrs_add(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return as_texts_add(p, &a->xattrs, w->value, strlen(w->value)) == 0 ?
	    -1 : MSG_ERROR;
}

static int
take_help(struct sqpack *p, struct as_words *w)
{
	(void)w;
	return options_help(&p->msg, usage, help);
}

static int
take_mem_default(struct sqpack *p, struct as_words *w)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	(void)w;
	printf("%lld\n", pages < 0 ? 64 : (long long)pages * size / 4 >> 20);
	return msg_finish(&p->msg);
}

/*
 * Prints the version.  As in the original, nothing is built if this is the
 * first word; elsewhere the other words still count.
 */
static int
take_version(struct sqpack *p, struct as_words *w)
{
	const struct as_mksquashfs *a = p->o.as;

	as_version(a->star ? "sqfstar" : "mksquashfs");
	return w->at == 2 ? msg_finish(&p->msg) : -1;
}

#define OWN(member) AS_SET_OWN, offsetof(struct as_mksquashfs, member), NULL
#define SET(member) AS_SET, offsetof(struct sqpack, member), NULL
#define CLEAR(member) AS_CLEAR, offsetof(struct sqpack, member), NULL
#define CALL(function) AS_CALL, 0, function
#define CALL_VALUE(function) AS_CALL_VALUE, 0, function
#define IGNORED AS_IGNORED, 0, NULL
#define IGNORED_VALUE AS_IGNORED_VALUE, 0, NULL
#define LACKS AS_LACKS, 0, NULL

static const struct as_option options[] = {
	{ "-Xalgorithm", NULL, CALL_VALUE(take_algorithm) },
	{ "-Xbcj", NULL, CALL_VALUE(take_bcj) },
	{ "-Xcompression-level", NULL, CALL_VALUE(take_level) },
	{ "-Xdict-size", NULL, AS_TEXT_OWN,
	    offsetof(struct as_mksquashfs, dictionary), NULL },
	{ "-Xhc", NULL, OWN(hc) },
	{ "-Xhelp", NULL, CALL(take_help) },
	{ "-Xstrategy", NULL, CALL_VALUE(take_strategy) },
	{ "-Xwindow-size", NULL, CALL_VALUE(take_window) },
	{ "-action", "-a", CALL_VALUE(take_action) },
	{ "-action-file", "-af", CALL_VALUE(take_action_file) },
	{ "-all-root", "-root-owned", CALL(take_all_root) },
	{ "-all-time", "-inode-time", CALL_VALUE(take_all_time) },
	{ "-always-use-fragments", "-tailends", SET(o.data.tails) },
	{ "-b", NULL, CALL_VALUE(take_block) },
	{ "-block-readers", "-small-readers", IGNORED_VALUE },
	{ "-cols", NULL, IGNORED_VALUE },
	{ "-comp", NULL, CALL_VALUE(take_comp) },
	{ "-cpiostyle", "-cpiostyle0", LACKS },
	{ "-default-gid", "-default-uid", LACKS },
	{ "-default-mode", NULL, LACKS },
	{ "-e", NULL, CALL(take_excludes) },
	{ "-ef", NULL, CALL_VALUE(take_exclude_file) },
	{ "-exit-on-error", NULL, IGNORED },
	{ "-exports", NULL, CLEAR(o.tables.no_export) },
	{ "-false-action", "-fa", LACKS },
	{ "-false-action-file", "-faf", LACKS },
	{ "-fix", NULL, LACKS },
	{ "-force-dir-mode", NULL, CALL_VALUE(take_dir_mode) },
	{ "-force-file-mode", NULL, CALL_VALUE(take_file_mode) },
	{ "-force-gid", NULL, CALL_VALUE(take_force_gid) },
	{ "-force-uid", NULL, CALL_VALUE(take_force_uid) },
	{ "-fragment-queue", NULL, IGNORED_VALUE },
	{ "-help", "-h", CALL(take_help) },
	{ "-help-all", "-ha", CALL(take_help) },
	{ "-help-comp", NULL, CALL_VALUE(take_help) },
	{ "-help-option", "-ho", CALL_VALUE(take_help) },
	{ "-help-section", "-hs", CALL_VALUE(take_help) },
	{ "-ignore-zeros", NULL, LACKS },
	{ "-info", NULL, CALL(take_info) },
	{ "-info-file", NULL, CALL_VALUE(take_info) },
	{ "-keep-as-directory", NULL, OWN(as_directory) },
	{ "-limit", "-throttle", IGNORED_VALUE },
	{ "-log", NULL, LACKS },
	{ "-log-action", "-va", LACKS },
	{ "-log-action-file", "-vaf", LACKS },
	{ "-max-depth", NULL, CALL_VALUE(take_depth) },
	{ "-mem", "-mem-percent", IGNORED_VALUE },
	{ "-mem-default", NULL, CALL(take_mem_default) },
	{ "-mkfs-time", "-fstime", CALL_VALUE(take_mkfs_time) },
	{ "-no-compression", NULL, CALL(take_no_compression) },
	{ "-no-duplicates", NULL, SET(o.data.no_duplicates) },
	{ "-no-exports", NULL, SET(o.tables.no_export) },
	{ "-no-fragments", NULL, SET(o.data.no_fragments) },
	{ "-no-hardlinks", NULL, SET(o.from.no_links) },
	{ "-no-pager", NULL, IGNORED },
	{ "-no-progress", NULL, SET(msg.quiet) },
	{ "-no-recovery", NULL, IGNORED },
	{ "-no-sparse", NULL, SET(o.data.no_sparse) },
	{ "-no-strip", "-tarstyle", LACKS },
	{ "-no-tailends", NULL, CLEAR(o.data.tails) },
	{ "-no-xattrs", NULL, SET(o.no_xattrs) },
	{ "-noD", "-noDataCompression", SET(o.data.raw_data) },
	{ "-noF", "-noFragmentCompression", SET(o.data.raw_fragments) },
	{ "-noI", "-noInodeCompression", SET(o.tables.raw_inodes) },
	{ "-noId", "-noIdTableCompression", SET(o.tables.raw_ids) },
	{ "-noX", "-noXattrCompression", SET(o.tables.raw_xattrs) },
	{ "-noappend", NULL, OWN(replaces) },
	{ "-nopad", NULL, SET(o.tables.no_pad) },
	{ "-not-reproducible", "-reproducible", IGNORED },
	{ "-numeric-owner", NULL, IGNORED },
	{ "-offset", "-o", CALL_VALUE(take_offset) },
	{ "-one-file-system", "-one-file-system-x", OWN(one_file_system) },
	{ "-overcommit", NULL, IGNORED_VALUE },
	{ "-p", NULL, CALL_VALUE(take_pseudo) },
	{ "-pd", "-pseudo-dir", LACKS },
	{ "-percentage", NULL, CALL(take_percentage) },
	{ "-pf", NULL, CALL_VALUE(take_pseudo_file) },
	{ "-processors", NULL, CALL_VALUE(take_processors) },
	{ "-progress", NULL, CLEAR(msg.quiet) },
	{ "-pseudo-override", NULL, SET(o.from.pseudo_first) },
	{ "-quiet", NULL, OWN(quiet) },
	{ "-read-queue", "-write-queue", IGNORED_VALUE },
	{ "-recover", NULL, LACKS },
	{ "-recovery-path", NULL, IGNORED_VALUE },
	{ "-regex", NULL, OWN(regex) },
	{ "-repro", NULL, CALL(take_repro) },
	{ "-repro-time", NULL, CALL_VALUE(take_repro_time) },
	{ "-root-becomes", NULL, AS_TEXT_OWN,
	    offsetof(struct as_mksquashfs, root_name), NULL },
	{ "-root-gid", NULL, CALL_VALUE(take_root_gid) },
	{ "-root-mode", NULL, CALL_VALUE(take_root_mode) },
	{ "-root-time", NULL, CALL_VALUE(take_root_time) },
	{ "-root-uid", NULL, CALL_VALUE(take_root_uid) },
	{ "-single-reader", NULL, IGNORED },
	{ "-sort", NULL, AS_TEXT, offsetof(struct sqpack, o.from.order), NULL },
	{ "-stream", NULL, LACKS },
	{ "-tar", NULL, CALL(take_tar) },
	{ "-true-action", "-ta", LACKS },
	{ "-true-action-file", "-taf", LACKS },
	{ "-uid-gid-offset", NULL, CALL_VALUE(take_shift) },
	{ "-version", "--version", CALL(take_version) },
	{ "-wildcards", NULL, OWN(wildcards) },
	{ "-xattrs", NULL, CLEAR(o.no_xattrs) },
	{ "-xattrs-add", NULL, CALL_VALUE(take_xattrs_add) },
	{ "-xattrs-exclude", NULL, CALL_VALUE(take_xattrs_exclude) },
	{ "-xattrs-include", NULL, CALL_VALUE(take_xattrs_include) },
	{ NULL, NULL, IGNORED }
};

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

/* Adds the attributes of the options to all inodes. */
static int
add_xattrs(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;

	for (size_t k = 0; k < a->xattrs.count; k++) {
		const char *text = a->xattrs.items[k];
		bool is_user = strncmp(text, "user.", 5) == 0;
		uint8_t *value;
		size_t len;
		ssize_t n = imgsrc_xattr_parse(text, &value, &len);
		char *name = n < 0 ? NULL : strcopy_part(text, (size_t)n);
		int rc = n < 0 ? (int)n : name == NULL ? -ENOMEM : 0;

		for (size_t i = 0; rc == 0 && i < t->count; i++) {
			struct sqw_node *node = &t->nodes[i];

			/* only files and directories have user attributes */
			if (node->owner == i && node->parent != SQW_NOWHERE &&
			    !imgsrc_is_kept(&p->image, (uint32_t)i) &&
			    (!is_user || S_ISREG(node->attr.mode) ||
			    S_ISDIR(node->attr.mode)))
				rc = sqt_xattrs_amend(p->image.xattrs,
				    &node->attr.xattr, name, value, len);
		}
		sys_free(name);
		if (n >= 0)
			sys_free(value);
		if (rc != 0) {
			msg_error(&p->msg, "-xattrs-add: '%s': %s", text,
			    rc == -EINVAL ? "expected name=value" :
			    rc == -ENOTSUP ? "the name must begin with user., "
			    "trusted. or security." : strerror(-rc));
			return rc;
		}
	}
	return 0;
}

static bool
wants_xattr(void *arg, const char *name)
{
	const struct sqpack *p = arg;
	const struct as_mksquashfs *a = p->o.as;

	return as_wants_xattr(a->xattrs_in, a->xattrs_out, name);
}

static void
force_modes(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;

	for (size_t i = 0; i < t->count; i++) {
		struct sqw_attr *attr = &t->nodes[i].attr;
		const char *mode = S_ISDIR(attr->mode) ? a->dir_mode :
		    a->file_mode;

		if (mode != NULL && !imgsrc_is_kept(&p->image, (uint32_t)i))
			as_mode_apply(mode, &attr->mode);
	}
}

/* Actions */

struct action_target {
	struct sqpack *p;
	struct sqw_attr *attr;
};

/* Adds an attribute, given as NAME=VALUE, which has been checked. */
static int
add_action_xattr(void *arg, const char *text)
{
	struct action_target *to = arg;
	uint8_t *value;
	size_t len;
	ssize_t n;
	char *name;
	int rc;

	if (to->p->image.xattrs == NULL)
		return 0;
	n = imgsrc_xattr_parse(text, &value, &len);
	if (n < 0)
		return (int)n;
	name = strcopy_part(text, (size_t)n);
	rc = name == NULL ? -ENOMEM : sqt_xattrs_amend(to->p->image.xattrs,
	    &to->attr->xattr, name, value, len);
	sys_free(name);
	sys_free(value);
	return rc;
}

/* Runs the actions of a stage on a node with this path. */
static int
act_on(struct sqpack *p, enum as_stage stage, uint32_t id, const char *path)
{
	const struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;
	uint32_t owner = id;
	struct as_effect e = { .out = false };
	struct action_target to = { .p = p };
	struct as_subject s;
	int rc;

	/* the attributes are those of the inode */
	while (t->nodes[owner].owner != owner)
		owner = t->nodes[owner].owner;
	to.attr = &t->nodes[owner].attr;
	s = (struct as_subject){ .path = path, .mode = to.attr->mode,
		.uid = to.attr->uid, .gid = to.attr->gid,
		.size = to.attr->size, .target = to.attr->target,
		.block = p->image.pack.block };
	rc = as_actions_run(a->actions, stage, &s, &e, add_action_xattr, &to);
	if (rc != 0)
		return rc;
	to.attr->mode = s.mode;
	to.attr->uid = s.uid;
	to.attr->gid = s.gid;
	if (e.has_raw)
		to.attr->raw = e.raw;
	if (e.out && id != 0)
		sqw_tree_remove(t, id);
	return 0;
}

/* Runs the actions of a stage on all names but those of an old image. */
static int
act(struct sqpack *p, enum as_stage stage)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *t = &p->image.tree;
	char *path = NULL;
	size_t room = 0;
	int rc = 0;

	if (!as_actions_has(a->actions, stage))
		return 0;
	for (uint32_t i = 0; rc == 0 && i < t->count; i++) {
		if (!sqw_tree_holds(t, i) || imgsrc_is_kept(&p->image, i))
			continue;
		rc = sqw_tree_path(t, i, &path, &room);
		if (rc == 0)
			rc = act_on(p, stage, i, path);
	}
	sys_free(path);
	if (rc != 0)
		msg_error(&p->msg, "an action fails: %s", strerror(-rc));
	return rc;
}

/*
 * Applies the options for the root, which those for all inodes override, and
 * adds pseudo files.
 */
static int
complete_tree(void *arg)
{
	struct sqpack *p = arg;
	struct as_mksquashfs *a = p->o.as;
	struct sqw_tree *t = &p->image.tree;
	uint32_t latest = 0;
	struct sqw_attr *root;
	int rc;

	root = &t->nodes[0].attr;
	/* without a source, options prevail over the root's definition */
	if (a->pseudo_root) {
		rc = imgsrc_pseudo_apply(&p->image, a->pseudo);
		if (rc != 0)
			return rc;
		root = &t->nodes[0].attr;
	} else if (a->root_is_made) {
		root->mode = S_IFDIR | 0777;
		root->uid = getuid();
		root->gid = getgid();
		root->mtime = (uint32_t)time(NULL);
	}
	/* mksquashfs ignores it beside -force-dir-mode */
	if (a->root_mode != NULL && a->dir_mode == NULL)
		as_mode_apply(a->root_mode, &root->mode);
	if (a->has_root_uid)
		root->uid = a->root_uid;
	if (a->has_root_gid)
		root->gid = a->root_gid;
	imgsrc_adjust(&p->image, root, a->root_time.given ? a->root_time.s :
	    root->mtime);
	if (p->o.from.pseudo_first)
		force_modes(p);
	rc = a->pseudo_root ? 0 : imgsrc_pseudo_apply(&p->image, a->pseudo);
	if (rc != 0)
		return rc;
	if (!p->o.from.pseudo_first)
		force_modes(p);
	rc = act(p, AS_CHANGE);
	if (rc == 0)
		rc = act(p, AS_PRUNE);
	if (rc != 0)
		return rc;
	for (size_t i = a->root_is_made && !a->pseudo_root &&
	    !a->root_time.given; i < t->count; i++)
		if (sqw_tree_holds(t, (uint32_t)i) &&
		    !imgsrc_is_kept(&p->image, (uint32_t)i) &&
		    t->nodes[i].attr.mtime > latest &&
		    t->nodes[i].attr.mtime != UINT32_MAX)
			latest = t->nodes[i].attr.mtime;
	root = &t->nodes[0].attr;
	if (a->root_time.latest || (a->root_is_made && !a->root_time.given &&
	    (a->mkfs_time.latest || a->all_time.latest)))
		root->mtime = latest;
	for (size_t i = 0; i < t->count; i++)
		if (!imgsrc_is_kept(&p->image, (uint32_t)i) &&
		    (a->all_time.latest || (p->image.o.pseudo_untimed &&
		    t->nodes[i].attr.mtime == UINT32_MAX)))
			t->nodes[i].attr.mtime = latest;
	if (a->mkfs_time.latest && !p->o.from.has_epoch) {
		p->image.o.has_image_mtime = true;
		p->image.o.image_mtime = latest;
	}
	return p->image.xattrs == NULL ? 0 : add_xattrs(p);
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
		    "appended: -noappend replaces the image", o->output);
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

/* Validates the options and applies them. */
static int
apply_options(struct sqpack *p)
{
	struct sqpack_options *o = &p->o;
	struct as_mksquashfs *a = o->as;
	struct stat st;

	if (!a->replaces && stat(o->output, &st) == 0 &&
	    prepare_append(p, &st) >= 0)
		return MSG_ERROR;
	o->force = true;
	o->tables.raw_ids = o->tables.raw_ids && !o->tables.raw_inodes;
	o->from.complete = complete_tree;
	if (a->xattrs_in != NULL || a->xattrs_out != NULL)
		o->from.wants_xattr = wants_xattr;
	o->from.amends_xattrs = true;
	o->from.order_backwards = o->from.order != NULL;
	o->data.threads = cpus_choose(o->data.threads, AS_THREADS_MAX);
	if (choose_method(p) >= 0 || choose_times(p) >= 0)
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
	if (as_sources(p) != 0)
		return MSG_ERROR;
	if (a->percentage)
		puts("0");
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
print_line(const char *what, uint64_t n)
{
	printf("Number of %s %llu\n", what, (unsigned long long)n);
}

static const char *
un(bool raw)
{
	return raw ? "uncompressed" : "compressed";
}

/* Prints the names in the image, for -info. */
static void
print_names(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *tree = &p->image.tree;
	FILE *to = a->info_file == NULL ? stdout : fopen(a->info_file, "we");
	char *path = NULL;
	size_t room = 0;
	int rc = to == NULL ? -errno : 0;

	for (size_t i = 1; rc == 0 && i < tree->count; i++) {
		const struct sqw_node *n = &tree->nodes[i];

		rc = sqw_tree_path(tree, i, &path, &room);
		if (rc != 0)
			break;
		fprintf(to, "%s /%s", S_ISREG(n->attr.mode) ? "file" :
		    S_ISDIR(n->attr.mode) ? "directory" :
		    S_ISLNK(n->attr.mode) ? "symbolic link" : "node", path);
		if (S_ISREG(n->attr.mode))
			fprintf(to, ", uncompressed size %llu bytes%s",
			    (unsigned long long)n->attr.size,
			    n->owner != i ? " LINK" : "");
		putc('\n', to);
	}
	if (to != NULL && to != stdout && fclose(to) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", a->info_file == NULL ?
		    "standard output" : a->info_file, strerror(-rc));
	sys_free(path);
}

/* Prints the same report as mksquashfs about an image that was built. */
static void
print_all(struct sqpack *p)
{
	const struct as_mksquashfs *a = p->o.as;
	const struct sqw_tree *tree = &p->image.tree;
	const struct sqt_image_options *t = &p->image.tables;
	const struct sqw_data_options *d = &p->image.pack;
	const struct sqt_image_space *space = &p->image.space;
	uint64_t files = 0, links = 0, devices = 0, fifos = 0, sockets = 0;
	uint64_t dirs = 0, hard = 0;
	double size = (double)space->used_B;

	if (a->percentage)
		puts("100");
	if (a->info)
		print_names(p);
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
	    un(d->raw_fragments), p->image.xattrs == NULL ? "no" :
	    un(t->raw_xattrs),
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
	p->o.done = print_all;
	p->o.data.block = SQUASHFS_BLOCK_DEFAULT;
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
	status = as_parse(p, &w, options, usage, "mksquashfs");
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
	a->star = a->wildcards = a->replaces = true;
	p->o.tables.no_export = true;	/* -exports clears it */
	status = as_parse(p, &w, options, usage, "sqfstar");
	if (status >= 0)
		return status;
	if (w.at == argc) {
		msg_error(&p->msg, "expected an image");
		return options_usage(usage);
	}
	take_tar(p, &w);
	a->sources = sources;
	a->source_count = 1;
	p->o.output = argv[w.at++];
	for (; w.at < argc; w.at++)
		if (as_texts_add(p, &a->excludes, argv[w.at],
		    strlen(argv[w.at])) != 0)
			return MSG_ERROR;
	return apply_options(p);
}
