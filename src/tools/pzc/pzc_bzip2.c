/*
 * pzc_bzip2.c - pzc under the names bzip2, bunzip2, bzcat, and those of lbzip2
 * and pbzip2
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and statuses are those of bzip2 1.0.8, under all of these
 * names; the number of threads can be given as lbzip2 and pbzip2 take it.
 */
#include "pzc.h"

#include "base/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 7 };		/* at least */

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "Can't open input file ", ": ", "." },
	[ON_MISSING] = { SAY_ERROR, "Can't open input file ",
	    ": No such file or directory.", NULL },
	[ON_DIRECTORY] = { SAY_ERROR, "Input file ", " is a directory.", NULL },
	[ON_LINK] = { SAY_ERROR, "Input file ", " is not a normal file.",
	    NULL },
	[ON_LINK_READ] = { SAY_ERROR, "Input file ", " is not a normal file.",
	    NULL },
	[ON_SPECIAL] = { SAY_ERROR, "Input file ", " is not a normal file.",
	    NULL },
	[ON_LINKS] = { SAY_ERROR, "Input file ", " has ", "." },
	[ON_SET_ID] = { .as = SAY_NOTHING },
	[ON_PACKED] = { SAY_ERROR, "Input file ", " already has ",
	    " suffix." },
	[ON_NO_SUFFIX] = { SAY_NOTE, "Can't guess original name for ",
	    " -- using ", "" },
	[ON_EXISTS] = { SAY_ERROR, "Output file ", " already exists.", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "", " is not a bzip2 file.", NULL },
	[ON_EMPTY] = { SAY_ERROR, "", ": file ends unexpectedly", NULL },
	[ON_CUT] = { SAY_ERROR, "", ": Compressed file ends unexpectedly;"
	    " perhaps it is corrupted?", NULL },
	[ON_CORRUPT] = { SAY_ERROR, "",
	    ": Data integrity error when decompressing.", NULL },
	[ON_UNCHECKED] = { .as = SAY_NOTHING },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "",
	    "I won't write compressed data to a terminal.", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "",
	    "I won't read compressed data from a terminal.", NULL },
	[ON_ERROR] = { SAY_ERROR, "", ": ", "" },
	[ON_WRITE] = { SAY_ERROR, "I/O or other error on ", ": ", "" },
	[ON_TRAILING] = { SAY_NOTE, "",
	    ": trailing garbage after EOF ignored", NULL },
	[ON_TRAILING_OTHER] = { SAY_NOTE, "",
	    ": trailing garbage after EOF ignored", NULL },
	[ON_TRAILING_ZEROS] = { .as = SAY_NOTHING },
	[ON_TIME] = { .as = SAY_NOTHING },
};

/* bad data is worse than a file that cannot be opened */
static const uint8_t statuses[PZC_EVENTS] = {
	[ON_NO_FORMAT] = 2, [ON_EMPTY] = 2, [ON_CUT] = 2, [ON_CORRUPT] = 2,
};

static const struct codec_suffix suffixes[] = {
	{ ".bz2", "" }, { ".bz", "" }, { ".tbz2", ".tar" }, { ".tbz", ".tar" },
	{ NULL, NULL }
};

static const char *const formats[] = { "bzip2", NULL };

static const char *const environment[] = { "BZIP2", "BZIP", NULL };

static int
bzip2_version(struct pzc *p)
{
	fprintf(stderr, "bzip2, a block-sorting file compressor.  Version "
	    "1.0.8, 13-Jul-2019.\nThis is pzc (coldpress) %s, standing in for "
	    "%s.\n", COLDPRESS_VERSION, p->msg.prog);
	return msg_finish(&p->msg);
}

static int
show_bzip2(void *into)
{
	return bzip2_version(into);
}

static int
be_louder(void *into)
{
	((struct pzc *)into)->msg.verbose++;
	return -1;
}

static int
be_quiet(void *into)
{
	((struct pzc *)into)->msg.quiet = true;
	return -1;
}

#define OPTIONS_INTO struct pzc

static const struct options_row bzip2_table[] = {
	{ 'd', "decompress", NULL, "decompress",
	    OPTIONS_SET(mode, PZC_DECOMPRESS) },
	{ 'z', "compress", NULL, "compress", OPTIONS_SET(mode, PZC_COMPRESS) },
	{ 't', "test", NULL, "test the integrity",
	    OPTIONS_SET(mode, PZC_TEST) },
	{ 'k', "keep", NULL, "keep the input", OPTIONS_FLAG(keep) },
	{ 'f', "force", NULL, "overwrite, and process links",
	    OPTIONS_FLAG(force) },
	{ 'c', "stdout", NULL, "write to standard output",
	    OPTIONS_FLAG(to_stdout) },
	{ 'q', "quiet", NULL, "suppress messages that are not errors",
	    OPTIONS_CALL(be_quiet) },
	{ 'v', "verbose", NULL, "say what is done", OPTIONS_CALL(be_louder) },
	{ 's', "small", NULL, "accepted: memory is small anyway",
	    OPTIONS_FLAG(ignored) },
	{ 0, NULL, "-1 .. -9", "block size, 100k to 900k; --fast, --best",
	    OPTIONS_NOTE },
	{ 0, "fast", NULL, NULL, OPTIONS_SET(level, 1) },
	{ 0, "best", NULL, NULL, OPTIONS_SET(level, 9) },
	{ 'p', NULL, "N", "", OPTIONS_CALL(pzc_take_threads) },
	{ 'n', NULL, "N", "number of threads (default: usable CPUs)",
	    OPTIONS_CALL(pzc_take_threads) },
	{ 'b', NULL, "N", NULL, OPTIONS_TEXT(unused) },
	{ 'm', NULL, "N", NULL, OPTIONS_TEXT(unused) },
	{ 'r', NULL, NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 'u', NULL, NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "sequential", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "repetitive-fast", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "repetitive-best", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 0, "exponential", NULL, NULL, OPTIONS_FLAG(ignored) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'L', "license", NULL, "", OPTIONS_CALL(show_bzip2) },
	{ 'V', "version", NULL, "show this help, or versions",
	    OPTIONS_CALL(show_bzip2) },
};

/* -vv and -vvv: a line for each block. */
static void
bzip2_report(void *arg, const struct codec_block *b)
{
	const struct pzc *p = arg;
	bool packs = p->mode == PZC_COMPRESS;

	if (packs && b->number > 0)
		fprintf(stderr, "    block %" PRIu64 ": crc = 0x%08" PRIx32
		    ", combined CRC = 0x%08" PRIx32 ", size = %zu\n",
		    b->number, b->crc, b->combined, b->size);
	else if (packs)
		fprintf(stderr, "    final combined CRC = 0x%08" PRIx32
		    "\n   ", b->combined);
	else if (b->number > 0 && p->msg.verbose > 2)
		fprintf(stderr, "\n    [%" PRIu64 ": huff+mtf rt+rld {0x%08"
		    PRIx32 ", 0x%08" PRIx32 "}]", b->number, b->crc, b->crc);
	else if (b->number > 0)
		fprintf(stderr, "\n    [%" PRIu64 ": huff+mtf rt+rld]",
		    b->number);
	else if (p->msg.verbose > 2)
		fprintf(stderr, "\n    combined CRCs: stored = 0x%08" PRIx32
		    ", computed = 0x%08" PRIx32, b->combined, b->combined);
}

/* Prints a name, and pads it to the length of the longest one. */
static void
put_padded(const struct pzc *p, const char *name)
{
	size_t longest = NAME_WIDTH, len = strlen(name);

	for (int i = 0; i < p->file_count; i++)
		if (strlen(p->files[i]) > longest)
			longest = strlen(p->files[i]);
	fprintf(stderr, "  %s: %*s", name, len < longest ?
	    (int)(longest - len) : 0, "");
}

static void
bzip2_begin(struct pzc *p, const struct pzc_run *run)
{
	if (p->msg.verbose < 2)
		return;
	put_padded(p, run->name);
	if (!run->decompress)
		fputc('\n', stderr);
}

static int
bzip2_prepare(struct pzc *p)
{
	if (p->msg.verbose > 1) {
		p->codec_options.report = bzip2_report;
		p->codec_options.report_arg = p;
	}
	/* bzcat copies what is not compressed only with -f */
	if (p->mode == PZC_TEST)
		p->to_stdout = false;
	return -1;
}

static void
bzip2_done(struct pzc *p, const struct pzc_run *run)
{
	const struct pipeline_stats *s = &run->result->stats;
	double in = (double)s->in_bytes, out = (double)s->out_bytes;

	if (p->msg.verbose == 1)
		put_padded(p, run->name);
	else if (run->decompress)
		fputs("\n    ", stderr);
	if (p->mode == PZC_TEST)
		fputs("ok\n", stderr);
	else if (run->decompress)
		fputs("done\n", stderr);
	else if (s->in_bytes == 0)
		fputs(" no data compressed.\n", stderr);
	else
		fprintf(stderr, "%6.3f:1, %6.3f bits/byte, %5.2f%% saved, "
		    "%.0f in, %.0f out.\n", in / out, 8 * out / in,
		    100 * (1 - out / in), in, out);
}

const struct pzc_style pzc_style_bzip2 = {
	.name = "bzip2",
	.stdin_name = "(stdin)", .stdout_name = "(stdout)",
	.sayings = sayings, .statuses = statuses,
	.environment = environment,
	.rows = bzip2_table,
	.row_count = sizeof(bzip2_table) / sizeof(*bzip2_table),
	.digits = "-123456789",
	.usage = "[flags and input files in any order]\n",
	.about = "Compresses or decompresses files in the bzip2 format.  This "
	    "is pzc, invoked as\nbzip2.\n",
	.digits_apart = true,
	.bad_usage = MSG_ERROR,
	.format = "bzip2", .prepare = bzip2_prepare,
	.suffixes = suffixes, .suffix_refused = true, .suffix_last = true,
	.suffix_other = ".out",
	.formats = formats, .formats_only = true, .never_asks = true,
	.regular_only = true,
	.begin = bzip2_begin, .done = bzip2_done,
	.version = bzip2_version,
};
