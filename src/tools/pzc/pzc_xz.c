/*
 * pzc_xz.c - pzc under the names xz, unxz, xzcat, lzma, unlzma and lzcat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and layouts are the same as in xz 5.4; pzc_xz_list.c has
 * those of -l.
 */
#include "pzc.h"

#include "base/args.h"
#include "base/options.h"
#include "format/xz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What pzc needs beside liblzma, which xz's limits do not count. */
enum { BESIDE_LIBLZMA = 4 << 20 };

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "", ": ", "" },
	[ON_MISSING] = { SAY_ERROR, "", ": ", "" },
	[ON_DIRECTORY] = { SAY_WARNING, "",
	    ": Is a directory, skipping", NULL },
	[ON_LINK] = { SAY_WARNING, "",
	    ": Is a symbolic link, skipping", NULL },
	[ON_LINK_READ] = { SAY_WARNING, "",
	    ": Is a symbolic link, skipping", NULL },
	[ON_SPECIAL] = { SAY_WARNING, "",
	    ": Not a regular file, skipping", NULL },
	[ON_LINKS] = { SAY_WARNING, "",
	    ": Input file has more than one hard link, skipping", NULL },
	[ON_SET_ID] = { SAY_WARNING, "",
	    ": File has setuid, setgid or sticky bit set, skipping", NULL },
	[ON_PACKED] = { SAY_WARNING, "",
	    ": File already has `", "' suffix, skipping" },
	[ON_NO_SUFFIX] = { SAY_WARNING, "",
	    ": Filename has an unknown suffix, skipping", NULL },
	[ON_EXISTS] = { SAY_ERROR, "", ": File exists", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "",
	    ": File format not recognized", NULL },
	[ON_EMPTY] = { SAY_ERROR, "",
	    ": File format not recognized", NULL },
	[ON_CUT] = { SAY_ERROR, "", ": Unexpected end of input", NULL },
	[ON_CORRUPT] = { SAY_ERROR, "",
	    ": Compressed data is corrupt", NULL },
	[ON_UNSUPPORTED] = { SAY_ERROR, "",
	    ": Unsupported options", NULL },
	[ON_MEMORY] = { SAY_ERROR, "",
	    ": Memory usage limit reached (", ")" },
	[ON_UNCHECKED] = { SAY_WARNING, "",
	    ": Unsupported type of integrity check; not verifying file "
	    "integrity", NULL },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "",
	    "Compressed data cannot be written to a terminal", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "",
	    "Compressed data cannot be read from a terminal", NULL },
	[ON_ERROR] = { SAY_ERROR, "", ": ", "" },
	[ON_WRITE] = { SAY_ERROR, "", ": Write error: ", "" },
	[ON_TRAILING] = { .as = SAY_NOTHING },
	[ON_TRAILING_OTHER] = { .as = SAY_NOTHING },
	[ON_TRAILING_ZEROS] = { .as = SAY_NOTHING },
	[ON_TIME] = { .as = SAY_NOTHING },
};

static const struct codec_suffix suffixes[] = {
	{ ".xz", "" }, { ".txz", ".tar" }, { ".lzma", "" },
	{ ".tlz", ".tar" }, { ".lz", "" }, { NULL, NULL }
};

static const char *const formats[] = { "xz", "lzma", "lzip", NULL };

static const char *const environment[] = { "XZ_DEFAULTS", "XZ_OPT", NULL };

/* Options */

static const struct xz_format {
	const char *name;
	const struct codec *codec;
	const char *reads[2];
} xz_formats[] = {
	{ "xz", NULL, { "xz", NULL } }, { "lzma", NULL, { "lzma", NULL } },
	{ "alone", NULL, { "lzma", NULL } }, { "lzip", NULL, { "lzip", NULL } },
	{ "raw", &codec_xz_raw, { NULL } }
};

static int
take_xz_format(void *into)
{
	struct pzc *p = into;

	p->codec = NULL;
	p->formats = formats;
	if (strcmp(optarg, "auto") == 0)
		return -1;
	for (size_t i = 0; i < sizeof(xz_formats) / sizeof(*xz_formats); i++) {
		const struct xz_format *f = &xz_formats[i];

		if (strcmp(f->name, optarg) != 0)
			continue;
		p->codec = f->codec != NULL ? f->codec :
		    codec_by_name(f->reads[0]);
		p->formats = f->codec != NULL ? NULL : f->reads;
		return -1;
	}
	msg_error(&p->msg, "%s: Unknown file format type", optarg);
	return MSG_ERROR;
}

/* Appends to the chain, which replaces a preset. */
static int
add_filter(void *into, const char *name)
{
	struct pzc *p = into;

	p->level = -1;
	strbuf_fmt(&p->filters, "%s%s%s%s", p->filters.len > 0 ? " " : "",
	    name, optarg != NULL ? ":" : "", optarg != NULL ? optarg : "");
	return p->filters.failed ? options_wrong(&p->msg, strerror(ENOMEM)) :
	    -1;
}

/* Reads a number with a suffix, "max" or, for a limit, a percentage. */
static int
parse_amount(struct pzc *p, const char *text, bool limit, uint64_t *to)
{
	char *end, number[32];
	size_t n = strspn(text, "0123456789");
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
	unsigned long percent;

	if (strcmp(text, "max") == 0) {
		*to = limit ? 0 : UINT64_MAX;
		return -1;
	}
	if (limit && n > 0 && strcmp(text + n, "%") == 0) {
		percent = strtoul(text, &end, 10);
		if (percent < 1 || percent > 100 || pages < 1 || page < 1) {
			msg_error(&p->msg, "Value of the option `memlimit%%' "
			    "must be in the range [1, 100]");
			return MSG_ERROR;
		}
		*to = (uint64_t)pages * (uint64_t)page / 100 * percent;
		return -1;
	}
	/* all suffixes are powers of 1024; xz also knows Ki, Mi and Gi */
	if (snprintf(number, sizeof(number), "%s", text) <
	    (int)sizeof(number) && args_size(number, to) == 0)
		return -1;
	if (n > 0 && (text[n + 1] == 'i' || text[n + 1] == 'B') &&
	    text[n + 2] == '\0' && n + 1 < sizeof(number)) {
		number[n + 1] = '\0';
		if (args_size(number, to) == 0)
			return -1;
	}
	msg_error(&p->msg, "%s: Value is not a non-negative decimal integer",
	    text);
	return MSG_ERROR;
}

enum { LIMIT_PACK = 1, LIMIT_UNPACK = 2 };

static int
take_limit(void *into, int which)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = parse_amount(p, optarg, true, &n);

	if (which & LIMIT_PACK)
		p->limit.pack = n;
	if (which & LIMIT_UNPACK)
		p->limit.unpack = n;
	return status;
}

static int
take_threads_memory(void *into)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = parse_amount(p, optarg, true, &n);

	return status < 0 && codec_set(&p->codec_options, "threads-memory", n,
	    NULL) != 0 ? MSG_ERROR : status;
}

static int
take_block_size(void *into)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = parse_amount(p, optarg, false, &n);

	p->codec_options.block = (size_t)n;
	return status;
}

/*
 * Turns a list such as 1MiB,,64KiB,0 into one of plain numbers; an empty entry
 * repeats the one before it.
 */
static int
take_block_list(void *into)
{
	struct pzc *p = into;
	const char *s = optarg;
	uint64_t n = 0;
	char one[32];
	int status = -1;

	strbuf_clear(&p->lengths);
	for (; status < 0; s++) {
		size_t len = strcspn(s, ",");

		if (len >= sizeof(one) || (len == 0 && s == optarg))
			return options_bad(&p->msg, "block list",
			    "a list of sizes");
		memcpy(one, s, len);
		one[len] = '\0';
		if (len > 0)
			status = parse_amount(p, one, false, &n);
		if (status < 0 && n == 0 && s[len] != '\0')
			return options_wrong(&p->msg, "0 can only be used as "
			    "the last element in --block-list");
		strbuf_fmt(&p->lengths, "%s%" PRIu64, p->lengths.len > 0 ?
		    "," : "", n);
		s += len;
		if (*s == '\0')
			break;
	}
	return p->lengths.failed ? options_wrong(&p->msg, strerror(ENOMEM)) :
	    status;
}

static int
take_xz_threads(void *into)
{
	struct pzc *p = into;
	int64_t n = 0;

	optarg += *optarg == '+';
	if (args_int(optarg, 0, 16384, &n) == 0) {
		p->codec_options.threads = n > PZC_THREADS_MAX ?
		    PZC_THREADS_MAX : (unsigned)n;
		return -1;
	}
	msg_error(&p->msg, "%s: Value is not a non-negative decimal integer",
	    optarg);
	return MSG_ERROR;
}

/* -q and -v are steps between silence, errors, warnings and talk. */
int
pzc_take_loudness(void *into, int step)
{
	struct msg *m = &((struct pzc *)into)->msg;
	int was = m->silent ? -2 : m->quiet ? -1 : m->verbose, is = was + step;

	m->silent = is <= -2;
	m->quiet = is < 0;
	m->verbose = is > 0 ? is : 0;
	return -1;
}

static int
take_names_file(void *into, int end)
{
	struct pzc *p = into;

	if (p->names_files.count > 0)
		return options_wrong(&p->msg, "Only one file can be specified "
		    "with `--files' or `--files0'.");
	p->names_end = (char)end;
	return options_add(&p->msg, &p->names_files,
	    optarg != NULL ? optarg : "-");
}

static int
switch_key(void *into, const char *key)
{
	return codec_set(&((struct pzc *)into)->codec_options, key, 1,
	    NULL) == 0 ? -1 : MSG_ERROR;
}

static int
take_xz_check(void *into)
{
	struct pzc *p = into;

	if (strcmp(optarg, "none") != 0 && strcmp(optarg, "crc32") != 0 &&
	    strcmp(optarg, "crc64") != 0 && strcmp(optarg, "sha256") != 0) {
		msg_error(&p->msg, "%s: Unsupported integrity check type",
		    optarg);
		return MSG_ERROR;
	}
	return codec_set(&p->codec_options, "check", 0, optarg) == 0 ? -1 :
	    MSG_ERROR;
}

static int
take_preset(void *into, int level)
{
	struct pzc *p = into;

	p->level = level;
	strbuf_clear(&p->filters);
	return -1;
}

static int
show_memory(void *into)
{
	struct pzc *p = into;
	uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) *
	    (uint64_t)sysconf(_SC_PAGE_SIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct {
		const char *head;
		uint64_t n;
	} limits[] = {
		{ "Compression:                      ", p->limit.pack },
		{ "Decompression:                    ", p->limit.unpack },
		{ "Multi-threaded decompression:     ", 0 },
		{ "Default for -T0:                  ", 0 },
	};

	if (p->robot) {
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t0\t0\t%ld\n",
		    ram, p->limit.pack, p->limit.unpack, cpus);
		return msg_finish(&p->msg);
	}
	printf("Hardware information:\n"
	    "  Amount of physical memory (RAM):  %" PRIu64 " MiB (%" PRIu64
	    " B)\n  Number of processor threads:      %ld\n"
	    "\nMemory usage limits:\n", (ram + (1 << 20) - 1) >> 20, ram, cpus);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].n == 0)
			printf("  %sDisabled\n", limits[i].head);
		else
			printf("  %s%" PRIu64 " MiB (%" PRIu64 " B)\n",
			    limits[i].head, (limits[i].n + (1 << 20) - 1) >> 20,
			    limits[i].n);
	return msg_finish(&p->msg);
}

static int
xz_version(struct pzc *p)
{
	if (p->robot)
		printf("XZ_VERSION=%u\nLIBLZMA_VERSION=%u\n",
		    LZMA_VERSION, lzma_version_number());
	else
		printf("xz (XZ Utils) " LZMA_VERSION_STRING "\nliblzma %s\n"
		    "This is pzc (coldpress) %s, standing in for xz.\n",
		    lzma_version_string(), COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

static int
show_xz(void *into)
{
	return xz_version(into);
}

#define OPTIONS_INTO struct pzc

#define XZ_FILTER(name_, value_, help_) \
	{ 0, name_, value_, help_, OPTIONS_CALL_TEXT(add_filter, name_) }

static const struct options_row xz_table[] = {
	{ 'z', "compress", NULL, "compress",
	    OPTIONS_SET(mode, PZC_COMPRESS) },
	{ 'd', "decompress", NULL, "decompress",
	    OPTIONS_SET(mode, PZC_DECOMPRESS), .also = "uncompress" },
	{ 't', "test", NULL, "test the integrity",
	    OPTIONS_SET(mode, PZC_TEST) },
	{ 'l', "list", NULL, "list information about .xz files",
	    OPTIONS_SET(mode, PZC_LIST) },
	{ 'k', "keep", NULL, "keep the input", OPTIONS_FLAG(keep) },
	{ 'f', "force", NULL, "overwrite, and (de)compress links",
	    OPTIONS_FLAG(force) },
	{ 'c', "stdout", NULL, "write to standard output, keep the input",
	    OPTIONS_FLAG(to_stdout), .also = "to-stdout" },
	{ 0, "single-stream", NULL, "decompress the first stream only",
	    OPTIONS_CALL_TEXT(switch_key, "single-stream") },
	{ 0, "no-sparse", NULL, "do not make holes",
	    OPTIONS_SET(sparse, -1) },
	{ 'S', "suffix", ".SUF", "use this suffix", OPTIONS_TEXT(suffix) },
	{ 0, "files", "[=FILE]", "read names of files, one a line",
	    OPTIONS_CALL_WITH(take_names_file, '\n') },
	{ 0, "files0", "[=FILE]", "the same, each ended by a NUL",
	    OPTIONS_CALL_WITH(take_names_file, '\0') },
	{ 'F', "format", "FMT", "auto, xz, lzma, lzip (reading) or raw",
	    OPTIONS_CALL(take_xz_format),
	    .names = "auto, xz, lzma, alone, lzip or raw" },
	{ 'C', "check", "CHECK", "none, crc32, crc64 (default) or sha256",
	    OPTIONS_CALL(take_xz_check),
	    .names = "none, crc32, crc64 or sha256" },
	{ 0, "ignore-check", NULL, "do not verify the check",
	    OPTIONS_CALL_TEXT(switch_key, "ignore-check") },
	{ 0, NULL, "-0 .. -9", "preset; --fast, --best: 0 and 9",
	    OPTIONS_NOTE },
	{ 0, "fast", NULL, NULL, OPTIONS_CALL_WITH(take_preset, 0) },
	{ 0, "best", NULL, NULL, OPTIONS_CALL_WITH(take_preset, 9) },
	{ 'e', "extreme", NULL, "search longer for smaller output",
	    OPTIONS_CALL_TEXT(switch_key, "extreme") },
	{ 'T', "threads", "N", "number of threads (default, and 0: the usable "
	    "CPUs)", OPTIONS_CALL(take_xz_threads) },
	{ 0, "block-size", "SIZE", "start a block after each SIZE bytes",
	    OPTIONS_CALL(take_block_size) },
	{ 0, "block-list", "SIZE,...", "start blocks after these lengths",
	    OPTIONS_CALL(take_block_list) },
	{ 0, "flush-timeout", "MS", "flush if there was no input for so long",
	    OPTIONS_NUMBER(codec_options.flush_ms, "flush-timeout", 0,
	    3600000) },
	{ 0, "memlimit-compress", "LIMIT", "",
	    OPTIONS_CALL_WITH(take_limit, LIMIT_PACK) },
	{ 0, "memlimit-decompress", "LIMIT", "",
	    OPTIONS_CALL_WITH(take_limit, LIMIT_UNPACK) },
	{ 0, "memlimit-mt-decompress", "LIMIT", "",
	    OPTIONS_CALL(take_threads_memory) },
	{ 'M', "memlimit", "LIMIT", "limit the memory: bytes, % of RAM, or 0",
	    OPTIONS_CALL_WITH(take_limit, LIMIT_PACK | LIMIT_UNPACK),
	    .also = "memory" },
	{ 0, "no-adjust", NULL, "fail instead of reducing the dictionary",
	    OPTIONS_FLAG(limit.fixed) },
	XZ_FILTER("lzma1", "[=OPTS]", ""),
	XZ_FILTER("lzma2", "[=OPTS]", "preset=, dict=, lc=, lp=, pb=, mode=, "
	    "nice=, mf=, depth="),
	XZ_FILTER("x86", "[=OPTS]", ""),
	XZ_FILTER("arm", "[=OPTS]", NULL),
	XZ_FILTER("armthumb", "[=OPTS]", NULL),
	XZ_FILTER("arm64", "[=OPTS]", ""),
	XZ_FILTER("powerpc", "[=OPTS]", NULL),
	XZ_FILTER("ia64", "[=OPTS]", NULL),
	XZ_FILTER("sparc", "[=OPTS]", "filters for machine code: start="),
	XZ_FILTER("delta", "[=OPTS]", "filter for samples: dist="),
	{ 'q', "quiet", NULL, "", OPTIONS_CALL_WITH(pzc_take_loudness, -1) },
	{ 'v', "verbose", NULL, "less, or more, to be said",
	    OPTIONS_CALL_WITH(pzc_take_loudness, 1) },
	{ 'Q', "no-warn", NULL, "a warning leaves the status 0",
	    OPTIONS_FLAG(no_warn) },
	{ 0, "robot", NULL, "-l and -V for programs", OPTIONS_FLAG(robot) },
	{ 0, "info-memory", NULL, "show the memory and its limits",
	    OPTIONS_CALL(show_memory) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'H', "long-help", NULL, NULL, OPTIONS_HELP },
	{ 'V', "version", NULL, "show this help, or versions",
	    OPTIONS_CALL(show_xz) },
};

/*
 * Reduces the dictionary until one thread fits in the limit.  Returns whether
 * it does.
 */
static bool
shrink_dictionary(struct pzc *p)
{
	struct convert c = { .codec = p->codec, .options = p->codec_options };
	uint32_t preset = (uint32_t)p->codec_options.level |
	    (codec_number(&c.options, "extreme") ? LZMA_PRESET_EXTREME : 0);
	struct memory_plan plan;
	const char *why = NULL;
	lzma_options_lzma lz;
	uint64_t bytes = 0;
	char chain[64];
	uint32_t was;

	c.options.threads = 1;
	if (convert_plan(&c, &plan, &bytes, &why) != 0 || bytes <= p->memory)
		return bytes <= p->memory;
	/* one block needs no buffer */
	if (codec_set(&c.options, "single-thread", 1, NULL) != 0 ||
	    codec_set(&p->codec_options, "single-thread", 1, NULL) != 0 ||
	    convert_plan(&c, &plan, &bytes, &why) != 0 || bytes <= p->memory ||
	    lzma_lzma_preset(&lz, preset))
		return bytes <= p->memory;
	was = lz.dict_size;
	for (lz.dict_size &= ~((UINT32_C(1) << 20) - 1); bytes > p->memory;) {
		if (p->limit.fixed || p->filters.len > 0 ||
		    lz.dict_size <= 1 << 20)
			return false;
		lz.dict_size -= 1 << 20;
		snprintf(chain, sizeof(chain), "%s:preset=%u%s,dict=%" PRIu32,
		    strcmp(p->codec->name, "xz") == 0 ? "lzma2" : "lzma1",
		    (unsigned)p->codec_options.level,
		    preset & LZMA_PRESET_EXTREME ? "e" : "", lz.dict_size);
		if (codec_set(&c.options, "filters", 0, chain) != 0 ||
		    convert_plan(&c, &plan, &bytes, &why) != 0)
			return false;
	}
	strbuf_str(&p->filters, chain);
	if (!p->msg.quiet)
		msg_note(&p->msg, "Adjusted LZMA%c dictionary size from %"
		    PRIu32 " MiB to %" PRIu32 " MiB to not exceed the memory "
		    "usage limit of %" PRIu64 " MiB",
		    strcmp(p->codec->name, "xz") == 0 ? '2' : '1', was >> 20,
		    lz.dict_size >> 20, (p->limit.pack + (1 << 20) - 1) >> 20);
	return true;
}

/* Checks the chain, and sets the limits. */
static int
xz_prepare(struct pzc *p)
{
	struct codec_options *o = &p->codec_options;
	bool packs = p->mode == PZC_COMPRESS, raw = p->codec == &codec_xz_raw;
	uint64_t limit = packs ? p->limit.pack : p->limit.unpack;
	lzma_filter chain[LZMA_FILTERS_MAX + 1];
	const char *why = NULL;
	int rc = 0;

	if (p->mode == PZC_LIST && p->codec != NULL &&
	    strcmp(p->codec->name, "xz") != 0)
		return options_wrong(&p->msg, "--list works only on .xz files "
		    "(--format=xz or --format=auto)");
	o->window_max = INT64_MAX;
	p->memory = limit == 0 ? 0 : limit + BESIDE_LIBLZMA;
	if (raw && p->level < 0)
		o->level = p->level = 6;
	if (p->filters.len > 0) {
		why = lzma_str_to_filters(p->filters.data, NULL, chain,
		    LZMA_STR_ALL_FILTERS, NULL);
		if (why != NULL)
			return options_wrong(&p->msg, why);
		lzma_filters_free(chain, NULL);
		rc = codec_set(o, "filters", 0, p->filters.data);
	}
	if (packs && o->threads == 1 && rc == 0)
		rc = codec_set(o, "single-thread", 1, NULL);
	if (packs && limit != 0 && rc == 0 && !shrink_dictionary(p)) {
		msg_error(&p->msg, "Memory usage limit is too low for the "
		    "given filter setup.");
		return MSG_ERROR;
	}
	if (rc == 0 && p->filters.failed)
		rc = -ENOMEM;
	if (packs && p->filters.len > 0 && rc == 0)
		rc = codec_set(o, "filters", 0, p->filters.data);
	if (packs && p->lengths.len > 0 && rc == 0)
		rc = codec_set(o, "block-list", 0, p->lengths.data);
	if (rc != 0)
		return options_wrong(&p->msg, strerror(-rc));
	if (raw && p->suffix == NULL && !p->to_stdout &&
	    p->mode != PZC_TEST && p->file_count > 0) {
		msg_error(&p->msg, "%s: With --format=raw, --suffix=.SUF is "
		    "required unless writing to stdout", p->files[0]);
		return MSG_ERROR;
	}
	return -1;
}

/* -v */

struct pzc_nice
pzc_nice_size(uint64_t n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct pzc_nice w;
	double d = (double)n;
	size_t unit = 0;

	while (unit == 0 ? n >= 10000 : d > 9999.9 && unit < 4) {
		d /= 1024;
		unit++;
		n = 0;
	}
	snprintf(w.s, sizeof(w.s), "%.*f %s", unit == 0 ? 0 : 1,
	    d, units[unit]);
	return w;
}

static void
xz_done(struct pzc *p, const struct pzc_run *run)
{
	static const char unit[] = "KMG";
	const struct pipeline_stats *s = &run->result->stats;
	uint64_t packed = run->decompress ? s->in_bytes : s->out_bytes;
	uint64_t plain = run->decompress ? s->out_bytes : s->in_bytes;
	double ratio = plain > 0 ? (double)packed / (double)plain : 16;
	uint64_t seconds = run->wall_ns / 1000000000;
	double speed = (double)plain / 1024 * 1e9 / (double)(run->wall_ns + 1);
	size_t u = 0;

	(void)p;
	fprintf(stderr, "%s: %s / %s %s %.3f", run->name,
	    pzc_nice_size(packed).s, pzc_nice_size(plain).s,
	    ratio > 9.999 ? ">" : "=", ratio > 9.999 ? 9.999 : ratio);
	for (; speed > 999 && u < 3; u++)
		speed /= 1024;
	if (seconds >= 3 && u < 3)
		fprintf(stderr, ", %.*f %ciB/s", speed > 9.9 ? 0 : 1, speed,
		    unit[u]);
	if (seconds >= 3600)
		fprintf(stderr, ", %" PRIu64 ":%02d:%02d", seconds / 3600,
		    (int)(seconds / 60 % 60), (int)(seconds % 60));
	else if (seconds > 0)
		fprintf(stderr, ", %d:%02d", (int)(seconds / 60),
		    (int)(seconds % 60));
	fputc('\n', stderr);
}

const struct pzc_style pzc_style_xz = {
	.name = "xz",
	.stdin_name = "(stdin)", .stdout_name = "(stdout)",
	.sayings = sayings,
	.environment = environment,
	.rows = xz_table, .row_count = sizeof(xz_table) / sizeof(*xz_table),
	.digits = "-0123456789",
	.usage = "[OPTION]... [FILE]...\n",
	.about = "Compresses or decompresses FILEs in the .xz format.  This is "
	    "pzc, invoked as\nxz.\n",
	.digits_apart = true,
	.bad_usage = MSG_ERROR,
	.format = "xz",
	.prepare = xz_prepare,
	.suffixes = suffixes, .suffix_by_format = true, .suffix_refused = true,
	.suffix_last = true, .suffix_any_case = true,
	.lenient = true, .keep_follows = true, .regular_only = true,
	.formats = formats, .formats_only = true, .never_asks = true,
	.sparse = true, .sparse_stdout = true,
	.done = xz_done,
	.list = pzc_xz_list, .list_sum = pzc_xz_list_sum, .lists_itself = true,
	.version = xz_version,
};
