/*
 * as_mksquashfs_options.c - the options of mksquashfs and sqfstar 4.7.5
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each is taken by itself; as_mksquashfs.c validates what they say together.
 */
#include "as.h"

#include "base/args.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEVEL_MAX = 22 };

const char as_mksquashfs_usage[] =
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
"  -tarstyle, -cpiostyle, -cpiostyle0  keep the paths of sources; of those\n"
"                                      listed on standard input\n"
"  -tar                                read an archive from standard input\n"
"  -ignore-zeros, -default-mode M, -default-uid U, -default-gid G\n"
"  -pd DEFINITION                      missing directories of pseudo files\n"
"  -stream, -fix IMAGE                 write to standard output; mend that\n"
"  -log FILE, -log-action, -true-action, -false-action ACTION@EXPRESSION\n"
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
	p->o.inode = as_report_inode;
	if (w->value != NULL)
		a->info_file = w->value;
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

/* Returns when actions are logged that an option with this name adds. */
static unsigned
log_of(const char *option)
{
	switch (option[1]) {
	case 'l':
	case 'v': return AS_LOG_TRUE | AS_LOG_FALSE;
	case 't': return AS_LOG_TRUE;
	case 'f': return AS_LOG_FALSE;
	default: return 0;
	}
}

static int
add_action(struct sqpack *p, const struct as_words *w, const char *text)
{
	struct as_mksquashfs *a = p->o.as;
	char why[AS_ACTIONS_WHY] = "";
	int rc = as_actions_add(a->actions, text, log_of(w->word), why);

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
take_pseudo_dir(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	char why[IMGSRC_WHY] = "";
	int rc = imgsrc_pseudo_set_parent(a->pseudo, w->value, why);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s", *why != '\0' ? why : strerror(-rc));
	return MSG_ERROR;
}

/* Options for directories that an archive only implies, and for its root. */
static int
take_default_mode(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	return take_mode(p, w, &a->default_mode) >= 0 ? MSG_ERROR :
	    take_root_mode(p, w);
}

static int
take_default_uid(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	int status = take_root_uid(p, w);

	a->implied.uid = a->root_uid;
	return status;
}

static int
take_default_gid(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	int status = take_root_gid(p, w);

	a->implied.gid = a->root_gid;
	return status;
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
take_tar_style(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	(void)w;
	a->style = AS_TAR_STYLE;
	return -1;
}

static int
take_cpio_style(struct sqpack *p, struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;

	a->style = AS_CPIO_STYLE;
	a->list_end = strcmp(w->word, "-cpiostyle0") == 0 ? '\0' : '\n';
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
	return options_help(&p->msg, as_mksquashfs_usage, help);
}

static int
take_fix(struct sqpack *p, struct as_words *w)
{
	int rc = as_fix(w->value);

	if (rc != 0)
		msg_error(&p->msg, "%s: %s", w->value, rc == -EBADMSG ?
		    "not an image made with -stream" : strerror(-rc));
	return msg_finish(&p->msg);
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

const struct as_option as_mksquashfs_options[] = {
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
	{ "-cpiostyle", "-cpiostyle0", CALL(take_cpio_style) },
	{ "-default-gid", NULL, CALL_VALUE(take_default_gid) },
	{ "-default-mode", NULL, CALL_VALUE(take_default_mode) },
	{ "-default-uid", NULL, CALL_VALUE(take_default_uid) },
	{ "-e", NULL, CALL(take_excludes) },
	{ "-ef", NULL, CALL_VALUE(take_exclude_file) },
	{ "-exit-on-error", NULL, IGNORED },
	{ "-exports", NULL, CLEAR(o.tables.no_export) },
	{ "-false-action", "-fa", CALL_VALUE(take_action) },
	{ "-false-action-file", "-faf", CALL_VALUE(take_action_file) },
	{ "-fix", NULL, CALL_VALUE(take_fix) },
	{ "-force", NULL, OWN(replaces) },
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
	{ "-ignore-zeros", NULL, SET(o.from.skip_ends) },
	{ "-info", NULL, CALL(take_info) },
	{ "-info-file", NULL, CALL_VALUE(take_info) },
	{ "-keep-as-directory", NULL, OWN(as_directory) },
	{ "-limit", "-throttle", IGNORED_VALUE },
	{ "-log", NULL, AS_TEXT_OWN, offsetof(struct as_mksquashfs, log),
	    NULL },
	{ "-log-action", "-va", CALL_VALUE(take_action) },
	{ "-log-action-file", "-vaf", CALL_VALUE(take_action_file) },
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
	{ "-no-progress", NULL, OWN(no_progress) },
	{ "-no-recovery", NULL, IGNORED },
	{ "-no-sparse", NULL, SET(o.data.no_sparse) },
	{ "-no-strip", "-tarstyle", CALL(take_tar_style) },
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
	{ "-pd", "-pseudo-dir", CALL_VALUE(take_pseudo_dir) },
	{ "-percentage", NULL, OWN(bar.percent) },
	{ "-pf", NULL, CALL_VALUE(take_pseudo_file) },
	{ "-processors", NULL, CALL_VALUE(take_processors) },
	{ "-progress", NULL, OWN(progress) },
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
	{ "-stream", NULL, SET(o.tables.streamed) },
	{ "-tar", NULL, CALL(take_tar) },
	{ "-true-action", "-ta", CALL_VALUE(take_action) },
	{ "-true-action-file", "-taf", CALL_VALUE(take_action_file) },
	{ "-uid-gid-offset", NULL, CALL_VALUE(take_shift) },
	{ "-version", "--version", CALL(take_version) },
	{ "-wildcards", NULL, OWN(wildcards) },
	{ "-xattrs", NULL, CLEAR(o.no_xattrs) },
	{ "-xattrs-add", NULL, CALL_VALUE(take_xattrs_add) },
	{ "-xattrs-exclude", NULL, CALL_VALUE(take_xattrs_exclude) },
	{ "-xattrs-include", NULL, CALL_VALUE(take_xattrs_include) },
	{ NULL, NULL, IGNORED }
};
