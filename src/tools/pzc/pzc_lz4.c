/*
 * pzc_lz4.c - pzc under the names lz4, lz4c, unlz4 and lz4cat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and statuses are the same as in lz4 1.9.4.
 */
#include "pzc.h"

#include "base/args.h"
#include "base/options.h"
#include "base/path.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LZ4_LEVEL_MAX = 12, LZ4_NO_DICTIONARY = 27 };

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "", ": ", " " },
	[ON_MISSING] = { SAY_ERROR, "", ": No such file or directory ", NULL },
	[ON_DIRECTORY] = { SAY_ERROR, "Error 40 : Error reading ",
	    " : is a directory ", NULL },
	[ON_LINK] = { SAY_ERROR, "", " is a symbolic link, ignoring ", NULL },
	[ON_LINK_READ] = { SAY_ERROR, "", " is a symbolic link, ignoring ",
	    NULL },
	[ON_SPECIAL] = { SAY_ERROR, "", " is not a regular file ", NULL },
	[ON_LINKS] = { .as = SAY_NOTHING },
	[ON_SET_ID] = { .as = SAY_NOTHING },
	[ON_PACKED] = { .as = SAY_NOTHING },
	[ON_NO_SUFFIX] = { SAY_ERROR, "File extension doesn't match expected "
	    ".lz4 (4); will not process file: ", " ", NULL },
	[ON_EXISTS] = { SAY_ERROR, "",
	    " already exists; not overwritten  ", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "", ": Error 44 : Unrecognized header : "
	    "file cannot be decoded ", NULL },
	[ON_EMPTY] = { SAY_ERROR, "", ": nothing to decode ", NULL },
	[ON_CUT] = { SAY_ERROR, "", ": Error 68 : Unfinished stream ", NULL },
	[ON_CORRUPT] = { SAY_ERROR, "",
	    ": Error 66 : Decompression error ", NULL },
	[ON_UNCHECKED] = { .as = SAY_NOTHING },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "",
	    "refusing to write to a console ", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "", "refusing to read from a console ",
	    NULL },
	[ON_ERROR] = { SAY_ERROR, "", ": Error 66 : ", " " },
	[ON_WRITE] = { SAY_ERROR, "Error 70 : Write error : cannot write ",
	    " : ", " " },
	[ON_TRAILING] = { SAY_ERROR, "", ": Stream followed by undecodable "
	    "data ", NULL },
	[ON_TRAILING_OTHER] = { SAY_ERROR, "", ": Stream followed by "
	    "undecodable data ", NULL },
	[ON_TRAILING_ZEROS] = { .as = SAY_NOTHING },
	[ON_TIME] = { .as = SAY_NOTHING },
};

static const uint8_t statuses[PZC_EVENTS] = {
	[ON_DIRECTORY] = 40, [ON_NO_FORMAT] = 44, [ON_CUT] = 68,
	[ON_CORRUPT] = 66, [ON_ERROR] = 66, [ON_WRITE] = 70,
};

static const struct codec_suffix suffixes[] = {
	{ ".lz4", "" }, { NULL, NULL }
};

static const char *const formats[] = { "lz4", NULL };

static const char *const environment[] = { NULL };

static int
set_lz4(struct pzc *p, const char *key, uint64_t n)
{
	return codec_set(&p->codec_options, key, n, NULL) == 0 ? -1 : MSG_ERROR;
}

static int
lz4_switch(void *into, const char *key)
{
	return set_lz4(into, key, 1);
}

static int
keep_check(void *into)
{
	return set_lz4(into, "no-check", 0);
}

/* -B4 to -B7, -B32 and more, -BI, -BD, -BX; several in a word. */
static int
take_block(void *into)
{
	struct pzc *p = into;
	int status = -1;

	for (const char *s = optarg; *s != '\0' && status < 0; s++) {
		char *end;
		unsigned long n = strtoul(s, &end, 10);

		if (isdigit((unsigned char)*s) && n >= 4 && n <= 7) {
			p->codec_options.block = (size_t)1 << (2 * n + 8);
			s = end - 1;
		} else if (isdigit((unsigned char)*s) && n >= 32) {
			p->codec_options.block = n > 4 << 20 ? 4 << 20 : n;
			s = end - 1;
		} else if (*s == 'X') {
			status = set_lz4(p, "block-check", 1);
		} else if (*s != 'I' && *s != 'D') {
			status = options_bad(&p->msg, "-B", "4, 5, 6 or 7, a "
			    "size, I, D or X");
		}
	}
	return status;
}

static int
take_lz4_fast(void *into)
{
	struct pzc *p = into;
	int64_t n = 1;

	if (optarg != NULL && args_int(optarg, 1, INT32_MAX, &n) != 0)
		return options_bad(&p->msg, "--fast", "a number above 0");
	p->level = 1;
	/* liblz4's acceleration of level -N */
	return set_lz4(p, "fast", (uint64_t)n + 1);
}

static int
refuse_lz4_bench(void *into)
{
	return options_wrong(&((struct pzc *)into)->msg, "benchmarks are not "
	    "built in; use lap, for example: lap -- lz4 -c FILE");
}

static void
put_version(FILE *to)
{
	fprintf(to, "*** LZ4 command line interface %d-bits v%s, by pzc (coldpress) "
	    "%s ***\n", (int)(8 * sizeof(size_t)), LZ4_versionString(),
	    COLDPRESS_VERSION);
}

static int
lz4_version(struct pzc *p)
{
	put_version(stdout);
	return msg_finish(&p->msg);
}

static int
show_lz4(void *into)
{
	return lz4_version(into);
}

#define OPTIONS_INTO struct pzc

static const struct options_row lz4_table[] = {
	{ 0, NULL, "-1 .. -12", "level (default: 1)", OPTIONS_NOTE },
	{ 0, "fast", "[=N]", "faster than level 1", OPTIONS_CALL(take_lz4_fast) },
	{ 0, "best", NULL, "level 12", OPTIONS_SET(level, LZ4_LEVEL_MAX) },
	{ 'z', "compress", NULL, "compress (default, but for names in .lz4)",
	    OPTIONS_SET(mode, PZC_COMPRESS), OPTIONS_GIVEN(mode_given) },
	{ 'd', "decompress", NULL, "decompress",
	    OPTIONS_SET(mode, PZC_DECOMPRESS), .also = "uncompress" },
	{ 't', "test", NULL, "test the integrity",
	    OPTIONS_SET(mode, PZC_TEST) },
	{ 0, "list", NULL, "list information about .lz4 files",
	    OPTIONS_SET(mode, PZC_LIST) },
	{ 'c', "stdout", NULL, "write to standard output",
	    OPTIONS_FLAG(to_stdout), .also = "to-stdout" },
	{ 'm', "multiple", NULL, "all operands are inputs",
	    OPTIONS_FLAG(several) },
	{ 'r', NULL, NULL, "process directories recursively; as -m",
	    OPTIONS_FLAG(recursive) },
	{ 'f', "force", NULL, "overwrite", OPTIONS_FLAG(force) },
	{ 0, "no-force", NULL, NULL, OPTIONS_CLEAR(force) },
	{ 'k', "keep", NULL, "keep the input (default)", OPTIONS_FLAG(keep) },
	{ 0, "rm", NULL, "remove the input", OPTIONS_CLEAR(keep) },
	{ 'l', NULL, NULL, "write the legacy format",
	    OPTIONS_CALL_TEXT(lz4_switch, "legacy") },
	{ 'B', NULL, "N", "block size 4 to 7 (64 KiB to 4 MiB); X: checksums "
	    "of blocks; D: ignored", OPTIONS_CALL(take_block) },
	{ 0, "content-size", NULL, "store the size",
	    OPTIONS_CALL_TEXT(lz4_switch, "content-size") },
	{ 0, "no-content-size", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "frame-crc", NULL, NULL, OPTIONS_CALL(keep_check) },
	{ 0, "no-frame-crc", NULL, "do not store a checksum",
	    OPTIONS_CALL_TEXT(lz4_switch, "no-check"), .also = "no-crc" },
	{ 0, "favor-decSpeed", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "sparse", NULL, "make holes, also in standard output",
	    OPTIONS_SET(sparse, 1) },
	{ 0, "no-sparse", NULL, "make none (default: in files)",
	    OPTIONS_SET(sparse, -1) },
	{ 'T', "threads", "N", "number of threads (default, and 0: the usable "
	    "CPUs)", OPTIONS_CALL(pzc_take_threads) },
	{ 'D', NULL, "FILE", "use FILE as a dictionary",
	    OPTIONS_TEXT(dictionary) },
	{ 'b', NULL, NULL, "benchmark: not here, use lap",
	    OPTIONS_CALL(refuse_lz4_bench) },
	{ 'q', "quiet", NULL, "", OPTIONS_CALL_WITH(pzc_take_loudness, -1) },
	{ 'v', "verbose", NULL, "less, or more, to be said",
	    OPTIONS_CALL_WITH(pzc_take_loudness, 1) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'H', NULL, NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "show this help, or versions",
	    OPTIONS_CALL(show_lz4) },
};

/* The second operand, if any, is the output; "null" means none is wanted. */
static void
lz4_settle(struct pzc *p)
{
	static char dash[] = "-";
	bool several = p->several || p->recursive;

	if (!p->mode_given && p->mode == PZC_COMPRESS && p->file_count > 0 &&
	    pzc_is_packed(p, p->files[0]))
		p->mode = PZC_DECOMPRESS;
	if (p->level == 0)
		p->level = -1;
	if (p->level > LZ4_LEVEL_MAX)
		p->level = LZ4_LEVEL_MAX;
	p->presume_tty = !p->msg.quiet;
	if (strcmp(p->msg.prog, "lz4cat") == 0) {
		p->force = true;
		p->several = several = true;
	}
	/* only -cdf copies what is not compressed */
	if (p->mode == PZC_DECOMPRESS)
		p->pass_through = p->force && p->to_stdout ? 1 : -1;
	for (int i = 0; i < p->file_count; i++)
		if (strcmp(p->files[i], "stdin") == 0)
			p->files[i] = dash;
	if (!several && p->file_count > 1 && p->mode <= PZC_DECOMPRESS) {
		if (p->file_count > 2 && !p->force)
			msg_error(&p->msg, "Error : %s won't be used ! Do you "
			    "want multiple input files (-m) ? ", p->files[2]);
		else if (p->file_count > 2)
			msg_note(&p->msg, "Warning : %s won't be used ! Do you "
			    "want multiple input files (-m) ? ", p->files[2]);
		p->file_count = 1;
		if (strcmp(p->files[1], "-") == 0 ||
		    strcmp(p->files[1], "stdout") == 0)
			p->to_stdout = true;
		else
			p->output = p->files[1];
		if (p->output != NULL && strcmp(p->output, "null") == 0) {
			p->output = "/dev/null";
			p->force = true;
		}
	}
	if (p->msg.status == MSG_ERROR)
		p->file_count = 0;
	if (!several && p->file_count == 1 && p->output == NULL &&
	    !p->to_stdout && p->mode <= PZC_DECOMPRESS &&
	    strcmp(p->files[0], "-") != 0 && !isatty(STDOUT_FILENO)) {
		if (!p->msg.silent && !p->msg.quiet)
			fputs("Warning : using stdout as default output. Do "
			    "not rely on this behavior: use explicit `-c` "
			    "instead ! \n", stderr);
		p->to_stdout = true;
	}
}

/* Three operands were an error. */
static int
lz4_prepare(struct pzc *p)
{
	int rc;

	if (p->msg.status == MSG_ERROR)
		return MSG_ERROR;
	if (p->msg.verbose > 0)
		put_version(stderr);
	/* frames of the older format cannot have one */
	rc = p->dictionary == NULL || codec_number(&p->codec_options,
	    "legacy") != 0 ? 0 : pzc_load_blob(p, p->dictionary,
	    "dictionary");
	if (rc == 0)
		return -1;
	msg_error(&p->msg, "Dictionary error : could not open dictionary file "
	    "%s : %s ", p->dictionary, strerror(-rc));
	return LZ4_NO_DICTIONARY;
}

static void
lz4_done(struct pzc *p, const struct pzc_run *run)
{
	const struct pipeline_stats *s = &run->result->stats;

	if ((p->to_stdout || (run->is_stdin && p->output == NULL)) &&
	    p->mode != PZC_TEST && p->msg.verbose == 0)
		return;
	if (run->decompress)
		fprintf(stderr, "%-20s : decoded %" PRIu64 " bytes \n",
		    run->name, s->out_bytes);
	else
		fprintf(stderr, "Compressed %" PRIu64 " bytes into %" PRIu64
		    " bytes ==> %.2f%%\n", s->in_bytes, s->out_bytes,
		    100 * (double)s->out_bytes /
		    (double)(s->in_bytes + !s->in_bytes));
}

/* -l */

static void
lz4_amount(char to[16], uint64_t n)
{
	static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };
	double d = (double)n;
	int u = 0;

	for (; d >= 1024 && u < 6; u++)
		d /= 1024;
	snprintf(to, 16, "%.2f%s", d, units[u]);
}

static const char *const frame_kinds[] = {
	[CODEC_FRAME] = "LZ4Frame", [CODEC_FRAME_LEGACY] = "LegacyFrame",
	[CODEC_FRAME_SKIPPABLE] = "SkippableFrame"
};

/* Writes "B4I", or "-" if the blocks have no size. */
static void
lz4_block_kind(char to[8], unsigned code, bool linked)
{
	snprintf(to, 8, code == 0 ? "-" : "B%u%c", code, linked ? 'D' : 'I');
}

/* -v: a line for each frame, on standard error. */
static void
lz4_list_frame(void *arg, const struct codec_frame *f)
{
	const struct pzc_entry *e = arg;
	char block[8];

	if (f->number == 1)
		fprintf(stderr, "%s(%" PRIu64 "/%d)\n    %6s %14s %5s %8s %20s "
		    "%20s %9s\n", path_name(e->src->path),
		    e->p->totals.files + 1, e->p->file_count, "Frame", "Type", "Block", "Checksum",
		    "Compressed", "Uncompressed", "Ratio");
	lz4_block_kind(block, f->kind == CODEC_FRAME ? f->block_code : 0,
	    f->linked);
	fprintf(stderr, "    %6" PRIu64 " %14s %5s %8s %20" PRIu64, f->number,
	    frame_kinds[f->kind], block, f->kind == CODEC_FRAME && f->check ?
	    "XXH32" : "-", f->packed);
	if (f->size > 0)
		fprintf(stderr, " %20" PRIu64 " %9.2f%%\n", f->size,
		    100 * (double)f->packed / (double)f->size);
	else
		fprintf(stderr, " %20s %9s%s\n", "-", "-",
		    f->kind == CODEC_FRAME ? " " : "");
}

static void
lz4_list_line(struct pzc *p, const struct pzc_entry *e)
{
	const struct codec_listing *l = &e->l;
	bool sized = l->has_size && l->skipped == 0;
	char packed[16], size[16] = "-", block[8];

	if (p->msg.verbose > 0) {
		fputc('\n', stderr);
		return;
	}
	if (p->totals.files == 0)
		printf("%10s %14s %5s %11s %13s %9s   %s\n", "Frames", "Type",
		    "Block", "Compressed", "Uncompressed", "Ratio", "Filename");
	lz4_amount(packed, e->packed);
	if (sized)
		lz4_amount(size, l->size);
	lz4_block_kind(block, l->skipped == 0 ? l->block_code : 0, l->linked);
	printf("%10" PRIu64 " %14s %5s %11s %13s ", l->frames + l->skipped,
	    l->kinds ? "-" : frame_kinds[l->kind], block, packed, size);
	if (sized)
		printf("%9.2f%%  ", 100 * (double)e->packed /
		    (double)(l->size + !l->size));
	else
		printf("%9s   ", "-");
	pzc_put_text(path_name(e->src->path));
	puts(sized ? " " : "");
}

const struct pzc_style pzc_style_lz4 = {
	.name = "lz4",
	.stdin_name = "stdin", .stdout_name = "stdout",
	.sayings = sayings, .statuses = statuses,
	.environment = environment,
	.rows = lz4_table,
	.row_count = sizeof(lz4_table) / sizeof(*lz4_table),
	.digits = "-0123456789",
	.usage = "[arg] [input] [output]\n",
	.about = "Compresses or decompresses the input, or standard input.  "
	    "This is pzc, invoked\nas lz4.\n",
	.bad_usage = MSG_ERROR,
	.level_typed = 10000,
	.format = "lz4", .keeps = true, .settle = lz4_settle,
	.prepare = lz4_prepare,
	.suffixes = suffixes, .suffix_again = true, .suffix_last = true,
	.lenient = true, .force_allows_set_id = true, .links_followed = true,
	.formats = formats, .formats_only = true, .empty_is_right = true,
	.says_done = true, .stdin_size = true, .rest_is_error = true,
	.sparse = true, .done = lz4_done, .list = lz4_list_line,
	.list_frame = lz4_list_frame,
	.version = lz4_version,
};
