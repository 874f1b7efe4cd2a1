/*
 * pzc_options.c - the command line of pzc, under all its names
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_WINDOW = 27, WINDOW_MAX_LOG = 27 };

/* name: of an option that means a format, or NULL for -F */
static int
set_format(void *into, const char *name)
{
	struct pzc *p = into;
	char known[128] = "";
	size_t n = 0;

	if (name == NULL)
		name = optarg;
	p->codec = codec_by_name(name);
	if (p->codec != NULL)
		return -1;
	for (size_t i = 0; codecs[i] != NULL && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
		    i == 0 ? "" : ", ", codecs[i]->name);
	msg_error(&p->msg, "unknown format '%s'; expected one of %s (-F is not "
	    "pigz's --first)", name, known);
	return MSG_ERROR;
}

/* Sets the mode.  -td and -dt test; -lt and -tl list exact sizes. */
static int
take_mode(void *into, int value)
{
	struct pzc *p = into;
	enum pzc_mode was = p->mode, mode = (enum pzc_mode)value;

	if (mode > was)
		p->mode = mode;
	p->verify |= p->mode == PZC_LIST &&
	    (was == PZC_TEST || mode == PZC_TEST);
	return -1;
}

/* Handles --level=N (usual: 0), --fast[=N] (1) and --best (9). */
static int
take_level(void *into, int usual)
{
	struct pzc *p = into;
	int64_t level = usual;
	int status = -1;

	if (optarg != NULL)
		status = options_int(&p->msg, "level", 0, PZC_LEVEL_MAX,
		    &level);
	p->level = (int)level;
	p->fast = optarg != NULL && usual == 1;
	return status;
}

int
pzc_take_threads(void *into)
{
	struct pzc *p = into;
	int64_t n = 0;
	int status = options_int(&p->msg, "number of threads", 0,
	    PZC_THREADS_MAX, &n);

	p->codec_options.threads = (unsigned)n;
	return status;
}

/* Sets the level range: MIN:MAX, or the format's own range. */
static int
take_adapt(void *into)
{
	struct pzc *p = into;
	char low[16] = "";
	const char *colon = optarg == NULL ? NULL : strchr(optarg, ':');
	int64_t min = -1, max = -1;

	p->adapt = true;
	if (colon != NULL && (size_t)(colon - optarg) < sizeof(low))
		memcpy(low, optarg, (size_t)(colon - optarg));
	if (optarg != NULL && (colon == NULL ||
	    args_int(low, 0, PZC_LEVEL_MAX, &min) != 0 ||
	    args_int(colon + 1, min, PZC_LEVEL_MAX, &max) != 0)) {
		msg_error(&p->msg, "'%s' is not a level range MIN:MAX",
		    optarg);
		return MSG_ERROR;
	}
	p->adapt_min = (int)min;
	p->adapt_max = (int)max;
	return -1;
}

/* Sets the slice: K/N. */
static int
take_slice(void *into)
{
	struct pzc *p = into;
	const char *slash = strchr(optarg, '/');
	char first[16] = "";
	int64_t slice = 0, slices = 0;

	if (slash != NULL && (size_t)(slash - optarg) < sizeof(first))
		memcpy(first, optarg, (size_t)(slash - optarg));
	if (slash == NULL || args_int(slash + 1, 1, 1000000, &slices) != 0 ||
	    args_int(first, 1, slices, &slice) != 0) {
		msg_error(&p->msg, "'%s' is not a slice K/N, from 1/N to N/N",
		    optarg);
		return MSG_ERROR;
	}
	p->slice = (unsigned)slice;
	p->slices = (unsigned)slices;
	return -1;
}

/* Sets an option that only some formats have; check_own() says which. */
static int
set_own(struct pzc *p, const char *key, uint64_t number, const char *text)
{
	int rc = codec_set(&p->codec_options, key, number, text);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s: %s", key, strerror(-rc));
	return MSG_ERROR;
}

static int
switch_on(void *into, const char *key)
{
	return set_own(into, key, 1, NULL);
}

static int
take_window(void *into)
{
	struct pzc *p = into;
	int64_t log = LONG_WINDOW;
	int status = -1;

	if (optarg != NULL)
		status = options_int(&p->msg, "window", 10, 30, &log);
	p->codec_options.window_max = (uint64_t)1 << log;
	return status >= 0 ? status :
	    set_own(p, "window-log", (uint64_t)log, NULL);
}

static int
take_blocksize(void *into)
{
	struct pzc *p = into;
	int64_t KiB = 0;
	int status = options_int(&p->msg, "block size", 1, 1 << 20, &KiB);

	p->codec_options.block = (size_t)KiB << 10;
	return status;
}

/* Ignores gzip's -b. */
static int
ignore_bits(void *into)
{
	struct pzc *p = into;

	return options_int(&p->msg, "number of bits", 0, INT32_MAX,
	    &(int64_t){ 0 });
}

/* Handles -C, which may be xz's check. */
static int
take_comment(void *into)
{
	struct pzc *p = into;

	int status = set_own(p, "comment", 0, optarg);

	p->no_check = false;
	return status >= 0 ? status : set_own(p, "check", 0, optarg);
}

/* Handles --check and --no-check. */
static int
take_check(void *into)
{
	struct pzc *p = into;

	p->no_check = optarg == NULL;
	return set_own(p, "check", 0, p->no_check ? "none" : optarg);
}

/* Handles --encoder. */
static int
take_encoder(void *into)
{
	struct pzc *p = into;

	if (strcmp(optarg, "own") != 0 && strcmp(optarg, "liblzma") != 0)
		return options_wrong(&p->msg, "the encoder is own or liblzma");
	return set_own(p, "encoder", 0, optarg);
}

static int
take_time(void *into, int keep)
{
	struct pzc *p = into;

	p->store_time = p->want_time = keep;
	if (p->style->restore_time_alone)
		p->restore_time = keep;
	return -1;
}

static int
take_name_and_time(void *into, int keep)
{
	struct pzc *p = into;

	p->store_name = p->store_time = keep;
	p->restore_name = p->restore_time = keep;
	p->want_time = false;
	return -1;
}

static int
take_quiet(void *into, int silent)
{
	struct pzc *p = into;

	p->msg.quiet = true;
	p->msg.silent |= silent != 0;
	p->msg.verbose = 0;
	return -1;
}

static int
take_verbose(void *into)
{
	struct pzc *p = into;

	p->msg.quiet = p->msg.silent = false;
	p->msg.verbose++;
	return -1;
}

static int
show_license(void *into)
{
	struct pzc *p = into;

	puts("BSD-2-Clause; see LICENSE");
	return msg_finish(&p->msg);
}

static int
show_pzc(void *into)
{
	struct pzc *p = into;

	return p->style->version(p);
}

static void
list_formats(FILE *out)
{
	for (size_t i = 0; codecs[i] != NULL; i++)
		if (codecs[i]->encode != NULL)
			fprintf(out, " %s", codecs[i]->name);
}

#define OPTIONS_INTO struct pzc

/* Which programs know an option; and what gzip takes from its environment. */
enum { PZC = PZC_AS_PZC, GZIP = PZC_AS_GZIP, PIGZ = PZC_AS_PIGZ,
    ALL = PZC | GZIP | PIGZ, IN_GZIP = 8 };

static const struct options_row pzc_table[] = {
	{ 'F', "format", "F", "gzip (default), zlib, zip, zstd, lz4, xz, lzma, "
	    "bzip2; gz, zst and bz2 for short", OPTIONS_CALL_TEXT(set_format,
	    NULL), .list = list_formats, .mask = PZC },
	{ 'z', "zlib", NULL, "", OPTIONS_CALL_TEXT(set_format, "zlib"),
	    .mask = PZC },
	{ 'K', "zip", NULL, "same as -F zlib, -F zip",
	    OPTIONS_CALL_TEXT(set_format, "zip"), .mask = PZC },
	{ 'z', "zlib", NULL, "write the zlib format",
	    OPTIONS_CALL_TEXT(set_format, "zlib"), .mask = PIGZ },
	{ 'K', "zip", NULL, "write a zip archive of one entry",
	    OPTIONS_CALL_TEXT(set_format, "zip"), .mask = PIGZ },
	{ 0, NULL, "-0 .. -22", "level, within the format's range; --level N, "
	    "--fast[=N], --best", OPTIONS_NOTE, .mask = PZC },
	{ 0, NULL, "-1 .. -9", "level; --fast, --best: 1 and 9", OPTIONS_NOTE,
	    .mask = GZIP },
	{ 0, NULL, "-0 .. -9, -11", "level; --fast, --best: 1 and 9",
	    OPTIONS_NOTE, .mask = PIGZ },
	{ 0, "level", "N", NULL, OPTIONS_CALL_WITH(take_level, 0),
	    .mask = PZC },
	{ 0, "fast", "[=N]", NULL, OPTIONS_CALL_WITH(take_level, 1),
	    .mask = PZC },
	{ 0, "fast", NULL, NULL, OPTIONS_CALL_WITH(take_level, 1),
	    .mask = GZIP | PIGZ | IN_GZIP },
	{ 0, "best", NULL, NULL, OPTIONS_CALL_WITH(take_level, 9),
	    .mask = ALL | IN_GZIP },
	{ 'd', "decompress", NULL, "decompress (any of the formats, and .Z)",
	    OPTIONS_CALL_WITH(take_mode, PZC_DECOMPRESS),
	    .also = "uncompress", .mask = PZC },
	{ 'd', "decompress", NULL, "decompress",
	    OPTIONS_CALL_WITH(take_mode, PZC_DECOMPRESS),
	    .also = "uncompress", .mask = GZIP | PIGZ },
	{ 't', "test", NULL, "decompress, and write nothing",
	    OPTIONS_CALL_WITH(take_mode, PZC_TEST) },
	{ 'l', "list", NULL, "list sizes and ratio (-t: exact; --json: as "
	    "JSON)", OPTIONS_CALL_WITH(take_mode, PZC_LIST), .mask = PZC },
	{ 'l', "list", NULL, "list sizes",
	    OPTIONS_CALL_WITH(take_mode, PZC_LIST), .mask = GZIP | PIGZ },
	{ 0, "json", NULL, NULL, OPTIONS_FLAG(json), .mask = PZC },
	{ 'c', "stdout", NULL, "write to standard output, keep the input",
	    OPTIONS_FLAG(to_stdout), .also = "to-stdout" },
	{ 'o', "output", "FILE", "write to FILE", OPTIONS_TEXT(output),
	    .mask = PZC },
	{ 'k', "keep", NULL, "keep the input (--rm: do not)",
	    OPTIONS_FLAG(keep), .mask = PZC },
	{ 0, "rm", NULL, NULL, OPTIONS_CLEAR(keep), .mask = PZC },
	{ 'k', "keep", NULL, "keep the input", OPTIONS_FLAG(keep),
	    .mask = GZIP | PIGZ },
	{ 'f', "force", NULL, "overwrite, follow links, write to a terminal",
	    OPTIONS_FLAG(force) },
	{ 'r', "recursive", NULL, "process directories recursively",
	    OPTIONS_FLAG(recursive) },
	{ 'S', "suffix", ".SUF", "use this instead of the format's suffix",
	    OPTIONS_TEXT(suffix) },
	{ 'p', "threads", "N", "number of threads (default, and 0: usable "
	    "CPUs)", OPTIONS_CALL(pzc_take_threads),
	    .also = "processes", .mask = PZC },
	{ 'p', "processes", "N", "number of threads (default: usable CPUs)",
	    OPTIONS_THREADS(codec_options.threads, PZC_THREADS_MAX),
	    .mask = GZIP | PIGZ | IN_GZIP },
	{ 0, "memory", "SIZE", "use fewer threads rather than more memory",
	    OPTIONS_SIZE(memory, "size"), .also = "memlimit", .mask = PZC },
	{ 0, "memory", "SIZE", "use fewer threads rather than more memory",
	    OPTIONS_SIZE(memory, "size"), .mask = GZIP | PIGZ | IN_GZIP },
	{ 'b', "blocksize", "N", "block size in KiB",
	    OPTIONS_CALL(take_blocksize), .mask = PZC | PIGZ },
	{ 'b', "bits", "N", NULL, OPTIONS_CALL(ignore_bits), .mask = GZIP },
	{ 'i', "independent", NULL, "one member, frame or stream per block",
	    OPTIONS_FLAG(codec_options.independent), .mask = PZC },
	{ 0, "slice", "K/N", "compress only the Kth of N parts of a file; cat "
	    "joins the results", OPTIONS_CALL(take_slice), .mask = PZC },
	{ 'i', "independent", NULL, "write each block as a separate member",
	    OPTIONS_FLAG(codec_options.independent), .mask = PIGZ },
	{ 'R', "rsyncable", NULL, "choose block boundaries by content",
	    OPTIONS_FLAG(codec_options.rsyncable), .mask = PZC | PIGZ },
	{ 0, "rsyncable", NULL, "choose block boundaries by content",
	    OPTIONS_FLAG(codec_options.rsyncable), .mask = GZIP | IN_GZIP },
	{ 'H', "huffman", NULL, "", OPTIONS_CALL_TEXT(switch_on, "huffman"),
	    .mask = PZC | PIGZ },
	{ 'U', "rle", NULL, "Huffman coding or run lengths only (gzip, zlib, "
	    "zip)", OPTIONS_CALL_TEXT(switch_on, "rle"), .mask = PZC | PIGZ },
	{ 0, "adapt", "[=MIN:MAX]", "adjust the level to the pipe's speed "
	    "(gzip, zstd, lz4)", OPTIONS_CALL(take_adapt), .mask = PZC },
	{ 'e', "extreme", NULL, "xz, lzma: search longer for smaller output",
	    OPTIONS_CALL_TEXT(switch_on, "extreme"), .mask = PZC },
	{ 0, "long", "[=LOG]", "zstd: a window of 2^LOG bytes (27)",
	    OPTIONS_CALL(take_window), .mask = PZC },
	{ 0, "ultra", NULL, NULL, OPTIONS_FLAG(ultra), .mask = PZC },
	{ 0, "seekable", NULL, "zstd: write frames and a seek table",
	    OPTIONS_CALL_TEXT(switch_on, "seekable"), .mask = PZC },
	{ 0, "no-content-size", NULL, "zstd, lz4: do not store the size of a file",
	    OPTIONS_CLEAR(store_size), .mask = PZC },
	{ 0, "flush-ms", "N", "flush the output after N ms without input",
	    OPTIONS_NUMBER(codec_options.flush_ms, "time", 1, 3600000),
	    .mask = PZC },
	{ 'n', "no-name", NULL, "",
	    OPTIONS_CALL_WITH(take_name_and_time, false), .mask = PZC },
	{ 'N', "name", NULL, "omit, or store and restore, name and time",
	    OPTIONS_CALL_WITH(take_name_and_time, true), .mask = PZC },
	{ 'm', "no-time", NULL, "", OPTIONS_CALL_WITH(take_time, false),
	    .mask = PZC },
	{ 'M', "time", NULL, "", OPTIONS_CALL_WITH(take_time, true),
	    .mask = PZC },
	{ 'T', NULL, NULL, "omit the time; store it; same as -m",
	    OPTIONS_CALL_WITH(take_time, false), .mask = PZC },
	{ 'n', "no-name", NULL, "do not store or restore name and time",
	    OPTIONS_CALL_WITH(take_name_and_time, false),
	    .mask = GZIP | PIGZ | IN_GZIP },
	{ 'N', "name", NULL, "store or restore name and time",
	    OPTIONS_CALL_WITH(take_name_and_time, true),
	    .mask = GZIP | PIGZ | IN_GZIP },
	{ 'm', "no-time", NULL, "do not store or restore the time (or -T)",
	    OPTIONS_CALL_WITH(take_time, false), .mask = PIGZ },
	{ 'M', "time", NULL, "store or restore the time",
	    OPTIONS_CALL_WITH(take_time, true), .mask = PIGZ },
	{ 'T', NULL, NULL, NULL, OPTIONS_CALL_WITH(take_time, false),
	    .mask = PIGZ },
	{ 'm', NULL, NULL, NULL, OPTIONS_CALL_WITH(take_time, false),
	    .mask = GZIP },
	{ 'M', NULL, NULL, NULL, OPTIONS_CALL_WITH(take_time, true),
	    .mask = GZIP },
	{ 0, "check", "NAME", "xz: none, crc32, crc64 or sha256; also -C",
	    OPTIONS_CALL(take_check), .names = "none, crc32, crc64 or sha256",
	    .mask = PZC },
	{ 0, "no-check", NULL, NULL, OPTIONS_CALL(take_check), .mask = PZC },
	{ 0, "encoder", "NAME", "xz: own (default) or liblzma",
	    OPTIONS_CALL(take_encoder), .names = "own or liblzma",
	    .mask = PZC },
	{ 0, "block-checksum", NULL, "lz4: add a checksum of each block",
	    OPTIONS_CALL_TEXT(switch_on, "block-check"), .mask = PZC },
	{ 0, "legacy", NULL, "lz4: write the frame that the Linux kernel reads",
	    OPTIONS_CALL_TEXT(switch_on, "legacy"), .mask = PZC },
	{ 'A', "alias", "NAME", "", OPTIONS_TEXT(alias), .mask = PZC },
	{ 'C', "comment", "TEXT", "name (gzip, zip) and comment (gzip) to "
	    "store", OPTIONS_CALL(take_comment), .mask = PZC },
	{ 'A', "alias", "NAME", "name for standard input in a zip entry",
	    OPTIONS_TEXT(alias), .mask = PIGZ },
	{ 'C', "comment", "TEXT", "comment to store",
	    OPTIONS_CALL(take_comment), .mask = PIGZ },
	{ 'F', "first", NULL, "", OPTIONS_FLAG(zopfli), .mask = PIGZ },
	{ 'I', "iterations", "N", "", OPTIONS_FLAG(zopfli),
	    .mask = PZC | PIGZ },
	{ 'J', "maxsplits", "N", "", OPTIONS_FLAG(zopfli),
	    .mask = PZC | PIGZ },
	{ 'O', "oneblock", NULL, "Zopfli's options, ignored",
	    OPTIONS_FLAG(zopfli), .mask = PZC | PIGZ },
	{ 'Y', "synchronous", NULL, "sync the output before reporting success",
	    OPTIONS_FLAG(sync), .mask = PZC | PIGZ },
	{ 0, "synchronous", NULL, "sync the output before reporting success",
	    OPTIONS_FLAG(sync), .mask = GZIP },
	{ 0, "verify", NULL, "decompress the output and check it",
	    OPTIONS_FLAG(verify), .mask = PZC },
	{ 0, "stats", "[=FILE]", "write a line of JSON for each file",
	    OPTIONS_TEXT_OR(stats, "-"), .mask = PZC },
	{ 'a', "ascii", NULL, NULL, OPTIONS_FLAG(ascii), .mask = GZIP },
	{ 0, "-presume-input-tty", NULL, NULL, OPTIONS_FLAG(presume_tty),
	    .mask = GZIP },
	{ 'q', "quiet", NULL, "", OPTIONS_CALL_WITH(take_quiet, false),
	    .also = "silent", .mask = PZC },
	{ 'v', "verbose", NULL, "be quiet, or verbose",
	    OPTIONS_CALL(take_verbose), .mask = PZC },
	{ 'q', "quiet", NULL, "suppress warnings",
	    OPTIONS_CALL_WITH(take_quiet, false), .also = "silent",
	    .mask = GZIP | IN_GZIP },
	{ 'q', "quiet", NULL, "no messages, not even errors",
	    OPTIONS_CALL_WITH(take_quiet, true), .also = "silent",
	    .mask = PIGZ },
	{ 'v', "verbose", NULL, "report what is done",
	    OPTIONS_CALL(take_verbose), .mask = GZIP | PIGZ | IN_GZIP },
	{ 'H', NULL, NULL, NULL, OPTIONS_HELP, .mask = GZIP },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'L', "license", NULL, "", OPTIONS_CALL(show_license) },
	{ 'V', "version", NULL, "show this help, the licence, or versions",
	    OPTIONS_CALL(show_pzc) },
};

/*
 * Returns whether a word looks like -T4, which sets the number of threads in xz
 * and zstd, whereas pigz's -T has no argument.
 */
static bool
is_threads_T(int argc, char **argv, int word)
{
	const char *t = strchr(argv[word], 'T');

	if (t != NULL && t[1] != '\0')
		return isdigit((unsigned char)t[1]) != 0;
	return optind < argc && argv[optind][0] != '\0' &&
	    argv[optind][strspn(argv[optind], "0123456789")] == '\0' &&
	    access(argv[optind], F_OK) != 0;
}

/*
 * Returns whether a word looks like -M100M or -M50%, which limits the memory in
 * xz and zstd, whereas pigz's -M has no argument.  -M9 stores the time.
 */
static bool
is_limit_M(const char *word)
{
	const char *m = strchr(word, 'M');
	size_t n = m == NULL ? 0 : strspn(m + 1, "0123456789");

	return n > 2 || (n > 0 && (m[1 + n] == 'M' || m[1 + n] == 'G' ||
	    m[1 + n] == '%'));
}

/*
 * Takes -T4 and -M100M or -M50%, words of xz and zstd that getopt would read as
 * bundles, and removes them from argv.  Returns a status.
 */
static int
take_spelled(struct pzc *p, int *argc, char **argv)
{
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) *
	    (uint64_t)sysconf(_SC_PAGE_SIZE);
	int kept = 1, i = 1, status = -1;

	for (; i < *argc && status < 0 && strcmp(argv[i], "--") != 0; i++) {
		const char *word = argv[i], *before = argv[i - 1];
		size_t last = strlen(before);
		bool value = i > 1 && *before == '-' && before[1] != '-' &&
		    strchr("oSFACpbIJ", before[last - 1]) != NULL;
		int64_t n = 0;

		if (!value && strncmp(word, "-T", 2) == 0 &&
		    args_int(word + 2, 0, PZC_THREADS_MAX, &n) == 0) {
			p->codec_options.threads = (unsigned)n;
		} else if (!value && strncmp(word, "-M", 2) == 0 &&
		    is_limit_M(word)) {
			last = strlen(word) - 1;
			n = strtol(word + 2, NULL, 10);
			optarg = argv[i] + 2;
			if (word[last] == '%' && n >= 1 && n <= 100)
				p->memory = ram / 100 * (uint64_t)n;
			else if (args_size(word + 2, &p->memory) != 0)
				status = options_bad(&p->msg, "memory limit",
				    "a number of bytes or a percentage");
		} else {
			argv[kept++] = argv[i];
		}
	}
	while (i < *argc)
		argv[kept++] = argv[i++];
	argv[kept] = NULL;
	*argc = kept;
	return status;
}

/*
 * Parses all options.  Returns -1, or the exit status.  Operands are moved to
 * the front of argv here, instead of by getopt, so that optind indicates which
 * word contains an option.
 */
static int
take_all(struct pzc *p, struct options *o, int argc, char **argv,
    bool restricted)
{
	bool itself = p->style == &pzc_style_pzc;
	int opt, status = -1, word = 1, digit_word = -1;

	p->files = argv + 1;
	p->file_count = 0;
	optind = 0;
	for (; status < 0 && (opt = options_letter(o, argc, argv)) != -1;
	    word = optind) {
		const struct options_row *row = options_find(o, opt);

		if (opt == 1) {
			p->files[p->file_count++] = optarg;
		} else if (restricted && row != NULL &&
		    (row->mask & IN_GZIP) == 0) {
			msg_error(&p->msg, "%s: option not allowed in the "
			    "environment", argv[word]);
			status = MSG_ERROR;
		} else if (opt >= '0' && opt <= '9') {
			/* -11 is not -1 -1: in one word, one number */
			p->level = word == digit_word &&
			    !p->style->digits_apart ?
			    10 * p->level + opt - '0' : opt - '0';
			p->fast = false;
			strbuf_clear(&p->filters);
			digit_word = word;
			if (p->level <= (p->style->level_typed > 0 ?
			    p->style->level_typed : PZC_LEVEL_MAX))
				continue;
			if (p->style->level_typed > 0)
				fputs("error: numeric value overflows 32-bit "
				    "unsigned int \n", stderr);
			else
				msg_error(&p->msg, "there is no level %d",
				    p->level);
			status = MSG_ERROR;
		} else if (itself && opt == 'T' &&
		    is_threads_T(argc, argv, word)) {
			status = options_wrong(&p->msg, "-T means --no-time "
			    "and takes no number; use -p for the number of "
			    "threads");
		} else if (itself && opt == 'M' && is_limit_M(argv[word])) {
			status = options_wrong(&p->msg, "-M means --time and "
			    "takes no number; use --memory to limit the "
			    "memory");
		} else {
			status = options_take(o, opt);
		}
	}
	/* "--" counts as a file if files are not allowed */
	if (restricted && word < optind)
		p->file_count++;
	while (status < 0 && optind < argc)
		p->files[p->file_count++] = argv[optind++];
	return status;
}

static int
take_variable(struct pzc *p, struct options *o, const char *name, char **argv,
    char ***words)
{
	const bool restricted = p->style->restricts_environment;
	const char *text = getenv(name);
	int count = 1, rc, status;

	if (text == NULL)
		return -1;
	rc = args_splice(text, &count, argv, words);
	if (rc != 0) {
		msg_error(&p->msg, "%s", strerror(-rc));
		return MSG_ERROR;
	}
	status = take_all(p, o, count, *words, restricted);
	if (status >= 0)
		return status;
	if (p->file_count > 0) {
		msg_error(&p->msg, "%s may contain only options", name);
		return MSG_ERROR;
	}
	if (restricted && count > 1 && !p->msg.quiet)
		msg_note(&p->msg, "warning: the environment variable %s is "
		    "deprecated; use an alias or script", name);
	return -1;
}

/*
 * Checks that the format supports the options that only some formats do, or
 * reports an error such as "-i cannot be used with zstd, only with gzip".
 */
static int
check_own(struct pzc *p)
{
	const struct codec_options *o = &p->codec_options;
	/* -C sets one or the other, depending on the format */
	const char *check = codec_text(o, "check");
	const char *comment = codec_text(o, "comment");
	const struct {
		bool given;
		const char *option;
		const char *formats[8];		/* ends with NULL */
	} all[] = {
		{ p->adapt, "--adapt", { "gzip", "zlib", "zip", "zstd",
		    "lz4" } },
		{ p->alias != NULL, "-A", { "gzip", "zip" } },
		{ o->block != 0, "-b", { "gzip", "zlib", "zip", "zstd", "lz4",
		    "xz" } },
		{ codec_number(o, "block-check"), "--block-checksum",
		    { "lz4" } },
		{ check != NULL && check != comment && !p->no_check, "--check",
		    { "xz" } },
		{ comment != NULL, "-C", { "gzip", "xz" } },
		{ codec_text(o, "encoder") != NULL, "--encoder", { "xz" } },
		{ codec_number(o, "extreme"), "-e", { "xz", "lzma" } },
		{ o->flush_ms > 0, "--flush-ms", { "gzip", "zlib", "zip",
		    "zstd", "lz4", "bzip2" } },
		{ codec_number(o, "huffman"), "-H", { "gzip", "zlib", "zip" } },
		{ o->independent || p->slices != 0, p->slices != 0 ? "--slice" : "-i",
		    { "gzip", "zstd", "lz4", "xz", "bzip2" } },
		{ codec_number(o, "legacy"), "--legacy", { "lz4" } },
		{ codec_number(o, "window-log"), "--long", { "zstd" } },
		{ p->restore_name, "-N", { "gzip", "zip" } },
		{ p->no_check, "--no-check", { "xz" } },
		{ codec_number(o, "rle"), "-U", { "gzip", "zlib", "zip" } },
		{ o->rsyncable, "-R", { "gzip", "zlib", "zip", "zstd", "lz4",
		    "bzip2" } },
		{ codec_number(o, "seekable"), "--seekable", { "zstd" } },
		{ p->want_time, "-M", { "gzip", "zip" } },
		{ p->ultra, "--ultra", { "zstd" } },
		{ p->zopfli, "-I, -J and -O", { "gzip", "zlib", "zip" } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *const *f = all[i].formats;
		char list[64] = "";
		size_t at = 0;

		if (!all[i].given)
			continue;
		for (; *f != NULL && strcmp(*f, p->codec->name) != 0; f++)
			at += (size_t)snprintf(list + at, sizeof(list) - at,
			    "%s%s", at == 0 ? "" : f[1] == NULL ? " and " :
			    ", ", *f);
		if (*f != NULL)
			continue;
		msg_error(&p->msg, "%s cannot be used with %s, only with %s",
		    all[i].option, p->codec->name, list);
		return MSG_ERROR;
	}
	return -1;
}

/*
 * A slice is made of independent blocks, with boundaries that are known in
 * advance.  The seek table, which lists all of them, comes from pzseek.
 */
static int
check_slice(struct pzc *p)
{
	struct codec_options *o = &p->codec_options;

	o->independent = true;
	if (o->rsyncable || p->adapt || o->flush_ms > 0) {
		msg_error(&p->msg, "--slice cannot be combined with %s",
		    o->rsyncable ? "-R" : p->adapt ? "--adapt" : "--flush-ms");
		return MSG_ERROR;
	}
	if (p->file_count > 1 || p->recursive) {
		msg_error(&p->msg, "--slice allows only one input");
		return MSG_ERROR;
	}
	if (p->file_count == 1 && strcmp(p->files[0], "-") != 0 &&
	    p->output == NULL && !p->to_stdout) {
		msg_error(&p->msg, "--slice needs the output's name (-o), or "
		    "-c");
		return MSG_ERROR;
	}
	return codec_set(o, "seekable", 0, NULL) != 0 ?
	    options_wrong(&p->msg, strerror(ENOSPC)) : -1;
}

/*
 * Chooses the format, and checks that it supports the level, or the range of
 * levels, and the options.  Resources are planned for the highest level.
 */
static int
check_codec(struct pzc *p)
{
	const struct codec *c = p->codec;
	struct codec_options *o = &p->codec_options;
	const struct codec_suffix *unused;
	struct convert convert;
	const char *why = NULL;
	struct memory_plan plan;
	uint64_t bytes;

	if (c == NULL && p->output != NULL)
		c = codec_by_suffix(p->output, &unused);
	if (c == NULL)
		c = codec_by_name(p->style->format != NULL ?
		    p->style->format : "gzip");
	p->codec = c;
	if (c->encode == NULL) {
		msg_error(&p->msg, "%s can only be decompressed", c->name);
		return MSG_ERROR;
	}
	if (p->level >= 0 && p->style->levels != 0 &&
	    !(p->style->levels >> p->level & 1)) {
		msg_error(&p->msg, "%s has no level %d", c->name,
		    p->level);
		return MSG_ERROR;
	}
	if (p->level < 0)
		p->level = c->level_default;
	/*
	 * For zstd(1) and lz4(1), a higher --fast=N is faster, and means a
	 * level below 1; level N would be slower than level 1.
	 */
	if (p->fast && p->level > 0 && (strcmp(c->name, "zstd") == 0 ||
	    strcmp(c->name, "lz4") == 0)) {
		if (codec_set(o, "fast", (uint64_t)p->level, NULL) != 0)
			return options_wrong(&p->msg, strerror(ENOSPC));
		p->level = 1;
	}
	if (p->level < c->level_min || p->level > c->level_max) {
		msg_error(&p->msg, "%s level %d is not in %d..%d",
		    c->name, p->level, c->level_min, c->level_max);
		return MSG_ERROR;
	}
	o->level = p->level;
	if (p->style->strict && check_own(p) >= 0)
		return MSG_ERROR;
	if (p->slices != 0 && check_slice(p) >= 0)
		return MSG_ERROR;
	/* lz4(1) stores it only if asked; pzseek needs it to skip blocks */
	if (p->style->strict && strcmp(c->name, "lz4") == 0 &&
	    codec_set(o, "content-size", 1, NULL) != 0)
		return options_wrong(&p->msg, strerror(ENOSPC));
	if (p->adapt && (codec_number(o, "window-log") ||
	    codec_number(o, "huffman") || codec_number(o, "rle"))) {
		msg_error(&p->msg, "--adapt cannot be combined with --long, -H "
		    "or -U");
		return MSG_ERROR;
	}
	if (p->adapt && p->adapt_min < 0) {
		p->adapt_min = 1;
		p->adapt_max = c->adapt_max;
	}
	if (p->adapt && (p->adapt_min < c->level_min ||
	    p->adapt_max > c->level_max)) {
		msg_error(&p->msg, "%s levels %d..%d are not in %d..%d",
		    c->name, p->adapt_min, p->adapt_max, c->level_min,
		    c->level_max);
		return MSG_ERROR;
	}
	if (p->adapt)
		o->level = p->adapt_max;
	/* does the codec support this combination of options? */
	convert = (struct convert){ .codec = c, .options = *o };
	convert.options.threads = 1;
	if (convert_plan(&convert, &plan, &bytes, &why) != -ENOTSUP ||
	    why == NULL)
		return -1;
	msg_error(&p->msg, "%s", why);
	return MSG_ERROR;
}

/* Checks that the options are compatible, and fills in the defaults. */
static int
check_options(struct pzc *p)
{
	int status;

	if (p->style->settle != NULL)
		p->style->settle(p);
	status = p->mode == PZC_COMPRESS ? check_codec(p) : -1;
	if (p->ascii && !p->msg.quiet)
		msg_note(&p->msg, "option --ascii ignored on this system");
	if (status < 0 && p->style->prepare != NULL)
		status = p->style->prepare(p);
	if (status >= 0)
		return status;
	if (p->output != NULL && !p->style->concatenates &&
	    (p->file_count > 1 || p->recursive)) {
		msg_error(&p->msg, "-o allows only one input");
		return MSG_ERROR;
	}
	if (p->output != NULL && strcmp(p->output, "-") == 0) {
		p->to_stdout = true;
		p->output = NULL;
	}
	if (p->suffix != NULL && (*p->suffix == '\0' ||
	    strchr(p->suffix, '/') != NULL || (p->style->suffix_max > 0 &&
	    strlen(p->suffix) > p->style->suffix_max))) {
		msg_error(&p->msg, "invalid suffix '%s'", p->suffix);
		return MSG_ERROR;
	}
	return -1;
}

int
pzc_parse(struct pzc *p, int argc, char **argv)
{
	struct options o = { .msg = &p->msg, .into = p,
	    OPTIONS_TABLE(pzc_table) };
	char usage[512];
	int status;

	*p = (struct pzc){ .level = -1, .selectivity = -1, .store_name = true,
	    .store_size = true,
	    .store_time = true,
	    .codec_options = {
	    .window_max = (uint64_t)1 << WINDOW_MAX_LOG } };
	msg_init(&p->msg, argv[0]);
	status = pzc_be_called(p);
	snprintf(usage, sizeof(usage), "%s: %s %s",
	    p->style == &pzc_style_pzc ? "usage" : "Usage", p->msg.prog,
	    p->style->usage);
	o.usage = usage;
	o.about = p->style->about;
	if (p->style->rows != NULL) {
		o.rows = p->style->rows;
		o.count = p->style->row_count;
	}
	o.scan = p->style->digits;
	o.mask = p->style->mask;
	o.help_to = p->style == &pzc_style_pigz ? stderr : stdout;
	/* the command line overrides the environment */
	for (size_t i = 0; status < 0 && p->style->environment[i] != NULL;
	    i++)
		status = take_variable(p, &o, p->style->environment[i], argv,
		    &p->words[i]);
	if (status < 0 && p->style == &pzc_style_pzc)
		status = take_spelled(p, &argc, argv);
	if (status < 0)
		status = take_all(p, &o, argc, argv, false);
	if (status < 0)
		status = check_options(p);
	p->codec_options.threads = cpus_choose(p->codec_options.threads,
	    PZC_THREADS_MAX);
	return status == MSG_ERROR ? p->style->bad_usage : status;
}

void
pzc_release(struct pzc *p)
{
	for (size_t i = 0; i < PZC_VARIABLES; i++)
		sys_free(p->words[i]);
	strbuf_free(&p->filters);
	strbuf_free(&p->lengths);
	sys_free(p->blob);
	sys_free(p->names_files.items);
}
