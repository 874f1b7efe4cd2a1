/*
 * pzc_zstd.c - pzc under the names zstd, zstdmt, unzstd and zstdcat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and layouts are the same as in zstd 1.5.4.
 */
#define ZSTD_STATIC_LINKING_ONLY

#include "pzc_zstd.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	WINDOW_LEAST = 1024,
	LEVEL_TYPED_MAX = 100000000,
	LEVEL_PLAIN_MAX = 19		/* the highest without --ultra */
};

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "can't open ", " : ", " " },
	[ON_MISSING] = { SAY_ERROR, "can't stat ",
	    " : No such file or directory -- ignored ", NULL },
	[ON_DIRECTORY] = { SAY_ERROR, "", " is a directory -- ignored ", NULL },
	[ON_LINK] = { SAY_ERROR, "Warning : ",
	    " is a symbolic link, ignoring ", NULL },
	[ON_LINK_READ] = { SAY_ERROR, "Warning : ",
	    " is a symbolic link, ignoring ", NULL },
	[ON_SPECIAL] = { SAY_ERROR, "",
	    " is not a regular file -- ignored ", NULL },
	[ON_LINKS] = { .as = SAY_NOTHING },
	[ON_SET_ID] = { .as = SAY_NOTHING },
	[ON_PACKED] = { SAY_NOTE, "File is already compressed : ", " ", NULL },
	[ON_NO_SUFFIX] = { SAY_ERROR, "", ": unknown suffix (.zst/.tzst/.gz/"
	    ".tgz/.lzma/.xz/.txz/.lz4/.tlz4 expected). Can't derive the output "
	    "file name. Specify it with -o dstFileName. Ignoring.", NULL },
	[ON_EXISTS] = { SAY_ERROR, "",
	    " already exists; not overwritten  ", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "", ": unsupported format ", NULL },
	[ON_RESIZED] = { SAY_ERROR, "",
	    " : error 11 : Src size is incorrect ", NULL },
	[ON_EMPTY] = { SAY_ERROR, "", ": unexpected end of file ", NULL },
	[ON_CUT] = { SAY_BARE, "",
	    " : Read error (39) : premature end ", NULL },
	[ON_CORRUPT] = { SAY_BARE, "",
	    " : Decoding error (36) : Data corruption detected ", NULL },
	[ON_UNSUPPORTED] = { SAY_BARE, "",
	    " : Decoding error (36) : Dictionary mismatch ", NULL },
	[ON_MEMORY] = { SAY_BARE, "", " : Decoding error (36) : Frame "
	    "requires too much memory for decoding : ", " " },
	[ON_UNCHECKED] = { .as = SAY_NOTHING },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "", "stdout is a console, aborting ",
	    NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "", "stdin is a console, aborting ",
	    NULL },
	[ON_ERROR] = { SAY_BARE, "", " : Decoding error (36) : ", " " },
	[ON_WRITE] = { SAY_ERROR, "error 70 : Write error : cannot write ",
	    " : ", " " },
	[ON_TRAILING] = { SAY_ERROR, "", ": unsupported format ", NULL },
	[ON_TRAILING_OTHER] = { SAY_ERROR, "", ": unsupported format ", NULL },
	[ON_TRAILING_ZEROS] = { .as = SAY_NOTHING },
	[ON_TIME] = { .as = SAY_NOTHING },
};

static const uint8_t statuses[PZC_EVENTS] = {
	[ON_RESIZED] = ZSTD_BAD_PARAMETER, [ON_WRITE] = 70,
};

static const struct codec_suffix suffixes[] = {
	{ ".zst", "" }, { ".tzst", ".tar" }, { ".zstd", "" }, { ".gz", "" }, { ".tgz", ".tar" },
	{ ".lzma", "" }, { ".xz", "" }, { ".txz", ".tar" }, { ".lz4", "" },
	{ ".tlz4", ".tar" }, { NULL, NULL }
};

static const char *const formats[] = {
	"zstd", "gzip", "lzma", "xz", "lz4", NULL
};

static const char *const environment[] = { NULL };

/* Options */

static int
take_zstd_format(void *into, const char *name)
{
	struct pzc *p = into;
	const char *const *f = formats;

	if (name == NULL)
		name = optarg;
	while (*f != NULL && strcmp(*f, name) != 0)
		f++;
	if (*f == NULL)
		return options_bad(&p->msg, "format",
		    "zstd, gzip, xz, lzma or lz4");
	p->codec = codec_by_name(*f);
	return -1;
}

/* Reads a size such as 1M; zstd writes it with any of K, KB and KiB. */
static int
take_zstd_size(uint64_t *to)
{
	char number[32];
	size_t n = strspn(optarg, "0123456789");

	snprintf(number, sizeof(number), "%.*s", (int)n + (optarg[n] != '\0'),
	    optarg);
	if (n > 0 && n < 20 && args_size(number, to) == 0 &&
	    (optarg[n] == '\0' || optarg[n + 1] == '\0' ||
	    strcmp(optarg + n + 1, "B") == 0 ||
	    strcmp(optarg + n + 1, "iB") == 0))
		return -1;
	fputs("error: only numeric values with optional suffixes K, KB, KiB, "
	    "M, MB, MiB are allowed \n", stderr);
	return MSG_ERROR;
}

static int
take_window_limit(void *into)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = take_zstd_size(&n);

	p->limit.unpack = n;
	/* a power of two, as a window has; 1: too small to decompress */
	p->codec_options.window_max = 1;
	if (n < WINDOW_LEAST)
		return status;
	while (p->codec_options.window_max < n)
		p->codec_options.window_max *= 2;
	return status;
}

static int
take_job_size(void *into)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = take_zstd_size(&n);

	p->job_B = (size_t)n;
	return status;
}

static int
take_stream_size(void *into)
{
	struct pzc *p = into;

	return take_zstd_size(&p->stream_B);
}

/* A size that is a setting of the codec; 0 is none. */
static int
take_size_of(void *into, const char *key)
{
	struct pzc *p = into;
	uint64_t n = 0;
	int status = take_zstd_size(&n);

	if (status < 0 && codec_set(&p->codec_options, key, n < INT32_MAX ? n :
	    INT32_MAX, NULL) != 0)
		status = MSG_ERROR;
	return status;
}

static int
take_long(void *into)
{
	struct pzc *p = into;
	int64_t log = 27;

	if (optarg != NULL && args_int(optarg, 0, 1000, &log) != 0)
		return options_bad(&p->msg, "--long", "a number");
	if (log < 10 || log > 31) {
		msg_error(&p->msg, "error 11 : Parameter is out of bound ");
		return ZSTD_BAD_PARAMETER;
	}
	if (p->codec_options.window_max < (uint64_t)1 << log)
		p->codec_options.window_max = (uint64_t)1 << log;
	return codec_set(&p->codec_options, "window-log",
	    (uint64_t)(log > 30 ? 30 : log), NULL) == 0 ? -1 : MSG_ERROR;
}

static int
take_fast(void *into)
{
	struct pzc *p = into;
	int64_t n = 1;

	if (optarg != NULL && args_int(optarg, 1, UINT32_MAX, &n) != 0) {
		fputs(args_int(optarg, 0, 0, &n) == 0 ?
		    "Incorrect parameters\n" : "error: numeric value overflows "
		    "32-bit unsigned int \n", stderr);
		return MSG_ERROR;
	}
	if (n > -(int64_t)ZSTD_minCLevel())
		n = -(int64_t)ZSTD_minCLevel();
	p->level = 1;
	return codec_set(&p->codec_options, "fast", (uint64_t)n, NULL) == 0 ?
	    -1 : MSG_ERROR;
}

static int
add_parameter(void *into, const char *text)
{
	struct pzc *p = into;

	strbuf_fmt(&p->filters, "%s%s", p->filters.len > 0 ? "," : "",
	    text != NULL ? text : optarg);
	return p->filters.failed ? options_wrong(&p->msg, strerror(ENOMEM)) :
	    -1;
}

static int
take_zstd_adapt(void *into)
{
	struct pzc *p = into;
	const char *s = optarg == NULL ? "" : optarg;
	int64_t min = 1, max = 15;
	char *end = NULL;

	while (*s != '\0') {
		int64_t *to = strncmp(s, "min=", 4) == 0 ? &min :
		    strncmp(s, "max=", 4) == 0 ? &max : NULL;

		if (to == NULL)
			return options_bad(&p->msg, "--adapt",
			    "min=N,max=N");
		*to = strtol(s + 4, &end, 10);
		s = end + (*end == ',');
		if (end == NULL || (*end != '\0' && *end != ','))
			return options_bad(&p->msg, "--adapt",
			    "min=N,max=N");
	}
	if (min > max)
		return options_bad(&p->msg, "--adapt", "min=N,max=N");
	p->adapt = true;
	p->adapt_min = min < 1 ? 1 : (int)min;
	p->adapt_max = max < 1 ? 1 : max > 22 ? 22 : (int)max;
	return -1;
}

static int
take_zstd_switch(void *into, const char *key)
{
	return codec_set(&((struct pzc *)into)->codec_options, key, 1,
	    NULL) == 0 ? -1 : MSG_ERROR;
}

static int
clear_no_check(void *into)
{
	return codec_set(&((struct pzc *)into)->codec_options, "no-check", 0,
	    NULL) == 0 ? -1 : MSG_ERROR;
}

/* After -c, -o wins; -c after it does. */
static int
take_output(void *into)
{
	struct pzc *p = into;

	p->output = optarg;
	p->to_stdout = false;
	return -1;
}

static int
take_out_dir(void *into, int mirror)
{
	struct pzc *p = into;

	p->out_dir = optarg;
	p->out_mirror = mirror != 0;
	if (*optarg == '\0')
		fputs("error: output dir cannot be empty string (did you mean "
		    "to pass '.' instead?)\n", stderr);
	return *optarg == '\0' ? MSG_ERROR : -1;
}

static int
take_zstd_list(void *into)
{
	struct pzc *p = into;

	p->names_end = '\n';
	return options_add(&p->msg, &p->names_files, optarg);
}

static int
refuse_bench(void *into)
{
	struct pzc *p = into;

	return options_wrong(&p->msg, "benchmarks are not built in; use lap, "
	    "for example: lap -- zstd -c FILE");
}

static int
zstd_version(struct pzc *p)
{
	if (p->msg.quiet || strcmp(p->called, "zstdcat") == 0)
		printf("%s\n", ZSTD_versionString());
	else
		printf("*** Zstandard CLI (%d-bit) v%s, by pzc (coldpress) %s "
		    "***\n", (int)(8 * sizeof(size_t)), ZSTD_versionString(),
		    COLDPRESS_VERSION);
	if (p->msg.verbose > 0)
		puts("*** supports: zstd, gzip, lz4, lzma, xz ");
	return msg_finish(&p->msg);
}

static int
show_zstd(void *into)
{
	return zstd_version(into);
}

#define OPTIONS_INTO struct pzc

/* An option that changes nothing here. */
#define ZSTD_IGNORED(name_) { 0, name_, NULL, NULL, OPTIONS_FLAG(ignored) }

static const struct options_row zstd_table[] = {
	{ 0, NULL, "-1 .. -19", "level (default: 3); --ultra: up to -22",
	    OPTIONS_NOTE },
	{ 0, "fast", "[=N]", "a level below 1: faster", OPTIONS_CALL(take_fast) },
	{ 0, "ultra", NULL, "allow the levels above 19", OPTIONS_FLAG(ultra) },
	{ 'z', "compress", NULL, "compress", OPTIONS_SET(mode, PZC_COMPRESS) },
	{ 'd', "decompress", NULL, "decompress",
	    OPTIONS_SET(mode, PZC_DECOMPRESS), .also = "uncompress" },
	{ 't', "test", NULL, "test the integrity",
	    OPTIONS_SET(mode, PZC_TEST) },
	{ 'l', "list", NULL, "list information about .zst files",
	    OPTIONS_SET(mode, PZC_LIST) },
	{ 'o', "output", "FILE", "write to FILE", OPTIONS_CALL(take_output) },
	{ 'c', "stdout", NULL, "write to standard output",
	    OPTIONS_FLAG(to_stdout), .also = "to-stdout" },
	{ 'k', "keep", NULL, "keep the input (default)", OPTIONS_FLAG(keep) },
	{ 0, "rm", NULL, "remove the input", OPTIONS_CLEAR(keep) },
	{ 'f', "force", NULL, "overwrite, and process links",
	    OPTIONS_FLAG(force) },
	{ 'r', NULL, NULL, "process directories recursively",
	    OPTIONS_FLAG(recursive) },
	{ 0, "filelist", "FILE", "read names of files, one a line",
	    OPTIONS_CALL(take_zstd_list) },
	{ 0, "output-dir-flat", "DIR", "",
	    OPTIONS_CALL_WITH(take_out_dir, false) },
	{ 0, "output-dir-mirror", "DIR", "write into DIR, or to the same path "
	    "below it", OPTIONS_CALL_WITH(take_out_dir, true) },
	{ 0, "exclude-compressed", NULL, "skip files with such a suffix",
	    OPTIONS_FLAG(exclude) },
	{ 'T', "threads", "N", "number of threads (default, and 0: the usable "
	    "CPUs)", OPTIONS_NUMBER(codec_options.threads, "threads", 0,
	    PZC_THREADS_MAX) },
	{ 0, "single-thread", NULL, NULL,
	    OPTIONS_SET(codec_options.threads, 1) },
	{ 'B', "block-size", "SIZE", "size of a job",
	    OPTIONS_CALL(take_job_size) },
	{ 'D', NULL, "FILE", "use a dictionary", OPTIONS_TEXT(dictionary) },
	{ 0, "patch-from", "FILE", "refer to FILE",
	    OPTIONS_TEXT(patch) },
	{ 0, "long", "[=LOG]", "a window of 2^LOG bytes (27)",
	    OPTIONS_CALL(take_long) },
	{ 'M', "memory", "SIZE", "limit the window when decompressing",
	    OPTIONS_CALL(take_window_limit), .also = "memlimit" },
	{ 0, "memlimit-decompress", "SIZE", NULL,
	    OPTIONS_CALL(take_window_limit) },
	{ 0, "zstd", "LIST", "wlog=, clog=, hlog=, slog=, mml=, tlen=, "
	    "strat=, ovlog=, lhlog=, lmml=, lblog=, lhrlog=",
	    OPTIONS_CALL_TEXT(add_parameter, NULL) },
	{ 0, "adapt", "[=min=N,max=N]", "adjust the level to the pipe's speed",
	    OPTIONS_CALL(take_zstd_adapt) },
	{ 0, "rsyncable", NULL, "choose block boundaries by content",
	    OPTIONS_FLAG(codec_options.rsyncable) },
	{ 0, "stream-size", "SIZE", "the size of standard input, to be stored",
	    OPTIONS_CALL(take_stream_size) },
	{ 0, "size-hint", "SIZE", "what it may be, if it is not known",
	    OPTIONS_CALL_TEXT(take_size_of, "size-hint") },
	{ 0, "target-compressed-block-size", "SIZE", NULL,
	    OPTIONS_CALL_TEXT(take_size_of, "target-block") },
	{ 'C', "check", NULL, "store a checksum (default)",
	    OPTIONS_CALL(clear_no_check) },
	{ 0, "no-check", NULL, "do not",
	    OPTIONS_CALL_TEXT(take_zstd_switch, "no-check") },
	{ 0, "content-size", NULL, NULL, OPTIONS_FLAG(store_size) },
	{ 0, "no-content-size", NULL, "do not store the size",
	    OPTIONS_CLEAR(store_size) },
	{ 0, "no-dictID", NULL, "do not store the dictionary's ID",
	    OPTIONS_CALL_TEXT(add_parameter, "dictID=0") },
	{ 0, "format", "FORMAT", "zstd, gzip, xz, lzma or lz4",
	    OPTIONS_CALL_TEXT(take_zstd_format, NULL),
	    .names = "zstd, gzip, xz, lzma or lz4" },
	{ 0, "pass-through", NULL, "copy what is not compressed",
	    OPTIONS_SET(pass_through, 1) },
	{ 0, "no-pass-through", NULL, NULL, OPTIONS_SET(pass_through, -1) },
	{ 0, "train", NULL, "make a dictionary from files",
	    OPTIONS_CALL_TEXT(pzc_take_train, "") },
	{ 0, "train-cover", "[=LIST]", "k=, d=, steps=, split=, shrink[=]",
	    OPTIONS_CALL_TEXT(pzc_take_train, "-cover") },
	{ 0, "train-fastcover", "[=LIST]", "the same, f= and accel=",
	    OPTIONS_CALL_TEXT(pzc_take_train, "-fastcover") },
	{ 0, "train-legacy", "[=s=N]", "selectivity",
	    OPTIONS_CALL_TEXT(pzc_take_train, "-legacy") },
	{ 's', NULL, "N", NULL, OPTIONS_NUMBER(selectivity, "selectivity", 0,
	    INT32_MAX) },
	{ 0, "maxdict", "SIZE", "size of the dictionary (110 KiB)",
	    OPTIONS_CALL(take_stream_size) },
	{ 0, "dictID", "N", "its ID; by default, a random one",
	    OPTIONS_TEXT(dictionary_id) },
	{ 'b', NULL, NULL, "benchmark: not here, use lap",
	    OPTIONS_CALL(refuse_bench) },
	{ 0, "sparse", NULL, "make holes, also in standard output",
	    OPTIONS_SET(sparse, 1) },
	{ 0, "no-sparse", NULL, "make none (default: in files)",
	    OPTIONS_SET(sparse, -1) },
	{ 0, "progress", NULL, "report the result, even with -q",
	    OPTIONS_FLAG(progress) },
	{ 0, "no-progress", NULL, "never show progress",
	    OPTIONS_FLAG(no_progress) },
	{ 0, "fake-stdin-is-console", NULL, NULL,
	    OPTIONS_FLAG(consoles[STDIN_FILENO]) },
	{ 0, "fake-stdout-is-console", NULL, NULL,
	    OPTIONS_FLAG(consoles[STDOUT_FILENO]) },
	{ 0, "fake-stderr-is-console", NULL, NULL,
	    OPTIONS_FLAG(consoles[STDERR_FILENO]) },
	{ 0, "show-default-cparams", NULL, "show the level's parameters",
	    OPTIONS_FLAG(shows_parameters) },
	ZSTD_IGNORED("compress-literals"), ZSTD_IGNORED("no-compress-literals"),
	ZSTD_IGNORED("row-match-finder"), ZSTD_IGNORED("no-row-match-finder"),
	ZSTD_IGNORED("no-name"), ZSTD_IGNORED("asyncio"),
	ZSTD_IGNORED("no-asyncio"),
	{ 0, "auto-threads", "KIND", NULL, OPTIONS_TEXT(unused) },
	{ 0, "priority", "KIND", NULL, OPTIONS_TEXT(unused) },
	{ 'q', "quiet", NULL, "",
	    OPTIONS_CALL_WITH(pzc_take_loudness, -1) },
	{ 'v', "verbose", NULL, "less, or more, to be said",
	    OPTIONS_CALL_WITH(pzc_take_loudness, 1) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'H', NULL, NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "show this help, or versions",
	    OPTIONS_CALL(show_zstd) },
};

/* Loads the file for a setting.  Returns what pzc_parse() does. */
static int
load_blob(struct pzc *p, const char *path, const char *key)
{
	int rc = pzc_load_blob(p, path, key);

	if (rc == 0 && p->blob_B == 0)
		rc = -ENODATA;
	if (rc == 0)
		return -1;
	msg_error(&p->msg, "error 31 : Couldn't open dictionary %s: %s ", path,
	    strerror(-rc));
	return ZSTD_NO_DICTIONARY;
}

/* ZSTD_CLEVEL and ZSTD_NBTHREADS, which options override. */
static void
take_zstd_environment(struct pzc *p)
{
	const char *level = getenv("ZSTD_CLEVEL");
	const char *threads = getenv("ZSTD_NBTHREADS");
	int64_t n = 0;
	size_t sign = level != NULL && (*level == '-' || *level == '+');

	if (level != NULL && p->level < 0) {
		if (args_int(level + sign, 0, 131072, &n) != 0)
			fprintf(stderr, "Ignore environment variable setting "
			    "ZSTD_CLEVEL=%s: %s \n", level,
			    level[sign] != '\0' && level[sign + strspn(level +
			    sign, "0123456789")] == '\0' ? "numeric value too "
			    "large" : "not a valid integer value");
		else if (*level == '-' && n > 0)
			codec_set(&p->codec_options, "fast", (uint64_t)n, NULL);
		else
			p->level = n > 22 ? 22 : (int)n;
	}
	if (threads != NULL && p->codec_options.threads == 0) {
		if (args_int(threads, 0, PZC_THREADS_MAX, &n) != 0)
			fprintf(stderr, "Ignore environment variable setting "
			    "ZSTD_NBTHREADS=%s: not a valid unsigned value \n",
			    threads);
		else
			p->codec_options.threads = (unsigned)n;
	}
}

/* Called before the codec's own checks. */
static void
zstd_settle(struct pzc *p)
{
	bool zstd = p->codec == NULL || strcmp(p->codec->name, "zstd") == 0;
	int most = p->codec != NULL && !zstd ? p->codec->level_max :
	    p->ultra ? 22 : LEVEL_PLAIN_MAX;

	if (p->mode != PZC_COMPRESS && p->codec_options.threads > 1 &&
	    !p->msg.quiet)
		fputs("Warning : decompression does not support "
		    "multi-threading\n", stderr);
	/* there is room for every setting */
	if (p->filters.len > 0)
		codec_set(&p->codec_options, "parameters", 0, p->filters.data);
	take_zstd_environment(p);
	if (p->level == 0)
		p->level = -1;
	if (p->level > most) {
		if (!p->msg.quiet)
			fprintf(stderr, "Warning : compression level higher "
			    "than max, reduced to %d \n", most);
		p->level = most;
	}
	if (codec_number(&p->codec_options, "fast") != 0 && p->level < 0)
		p->level = 1;
	if (zstd && p->job_B > 0 && p->trains == NULL)
		p->codec_options.block = p->job_B;
	if (p->adapt && codec_number(&p->codec_options, "window-log") != 0)
		p->adapt = false;
}

static int
zstd_prepare(struct pzc *p)
{
	bool cat = p->to_stdout && strcmp(p->called, "zstdcat") == 0;
	int status = -1;

	if (p->msg.verbose > 0)
		fprintf(stderr, "*** Zstandard CLI (%d-bit) v%s, by pzc "
		    "(coldpress) %s ***\n", (int)(8 * sizeof(size_t)),
		    ZSTD_versionString(), COLDPRESS_VERSION);
	/* the last of the two counts, and -qq is silent */
	p->progress = p->progress && !p->no_progress && !p->msg.silent;

	if (p->mode != PZC_COMPRESS &&
	    p->codec_options.window_max < WINDOW_LEAST) {
		msg_error(&p->msg, "error 11 : Parameter is out of bound ");
		return ZSTD_BAD_PARAMETER;
	}
	if (p->trains != NULL)
		return pzc_train_prepare(p);
	if (cat && p->pass_through == 0)
		p->pass_through = 1;
	if (cat && p->msg.verbose == 0)
		p->msg.quiet = true;
	if (p->shows_parameters && p->mode != PZC_COMPRESS)
		return options_wrong(&p->msg, "error : can't use "
		    "--show-default-cparams in decompression mode ");
	/* standard input cannot be both the input and the answer */
	p->presume_tty = !p->msg.quiet && p->file_count > 0;
	for (int i = 0; i < p->file_count; i++)
		p->presume_tty &= strcmp(p->files[i], "-") != 0;
	if (p->output != NULL && strcmp(p->output, "-") == 0) {
		p->to_stdout = true;
		p->output = NULL;
	}
	if (p->dictionary != NULL && p->patch != NULL)
		return options_wrong(&p->msg, "error : can't use -D and "
		    "--patch-from=# at the same time ");
	if (p->patch != NULL && (p->file_count > 1 || p->recursive ||
	    p->names_files.count > 0))
		return options_wrong(&p->msg, "error : can't use "
		    "--patch-from=# on multiple files ");
	if (p->dictionary != NULL)
		status = load_blob(p, p->dictionary, "dictionary");
	else if (p->patch != NULL)
		status = load_blob(p, p->patch, "patch-from");
	if (status < 0 && p->patch != NULL && p->mode == PZC_COMPRESS &&
	    p->stream_B == 0 && (p->file_count == 0 ||
	    strcmp(p->files[0], "-") == 0)) {
		msg_error(&p->msg, "error 42 : Using --patch-from with stdin "
		    "requires --stream-size ");
		return ZSTD_NO_STREAM_SIZE;
	}
	return status;
}

/* What is said about a file, and about all */

static void
zstd_amount(char to[16], uint64_t n, int width)
{
	static const char *const units[] = {
		" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"
	};
	double d = (double)n;
	int u = 0;

	for (; d >= 1024 && u < 6; u++)
		d /= 1024;
	snprintf(to, 16, "%6.*f%*s", d >= 100 || u == 0 ? 0 : d >= 10 ? 1 :
	    d > 1 ? 2 : 3, d, width, units[u]);
}

/*
 * Returns whether the file, or what it is a patch of, is longer than the chains
 * of the parameters reach.
 */
static bool
beyond_chains(const struct pzc *p, const struct pzc_run *run,
    const ZSTD_compressionParameters *c)
{
	uint64_t most = run->in_size > 0 ? (uint64_t)run->in_size : 0;
	unsigned log = 0, chain = c->chainLog - (c->strategy >= ZSTD_btlazy2);

	if (most < p->blob_B)
		most = p->blob_B;
	while (log < 63 && most >> log != 0)
		log++;
	return log > chain;
}

/* --show-default-cparams, and -vv: the parameters of libzstd for this size. */
static void
zstd_begin(struct pzc *p, const struct pzc_run *run)
{
	static const char *const strategies[] = { "", "ZSTD_fast",
	    "ZSTD_dfast", "ZSTD_greedy", "ZSTD_lazy", "ZSTD_lazy2",
	    "ZSTD_btlazy2", "ZSTD_btopt", "ZSTD_btultra", "ZSTD_btultra2" };
	uint64_t fast = codec_number(&p->codec_options, "fast");
	uint64_t log = codec_number(&p->codec_options, "window-log");
	ZSTD_compressionParameters c = ZSTD_getCParams(fast != 0 ?
	    -(int)fast : run->level, run->in_size < 0 ?
	    ZSTD_CONTENTSIZE_UNKNOWN : (unsigned long long)run->in_size,
	    codec_number(&p->codec_options, "dictionary"));

	if (run->decompress || strcmp(run->codec->name, "zstd") != 0)
		return;
	if (log != 0)
		c.windowLog = (unsigned)log;
	else if (p->patch != NULL && !p->msg.silent && beyond_chains(p, run, &c))
		fputs("long mode automatically triggered\n", stderr);
	if (p->shows_parameters && run->in_size >= 0)
		fprintf(stderr, "%s (%" PRId64 " bytes)\n", run->name,
		    run->in_size);
	else if (p->shows_parameters)
		fprintf(stderr, "%s (src size unknown)\n", run->name);
	if (p->shows_parameters)
		fprintf(stderr, " - windowLog     : %u\n"
		    " - chainLog      : %u\n - hashLog       : %u\n"
		    " - searchLog     : %u\n - minMatch      : %u\n"
		    " - targetLength  : %u\n - strategy      : %s (%u)\n",
		    c.windowLog, c.chainLog, c.hashLog, c.searchLog,
		    c.minMatch, c.targetLength, strategies[c.strategy],
		    (unsigned)c.strategy);
	if (p->msg.verbose > 1)
		fprintf(stderr, "--zstd=wlog=%u,clog=%u,hlog=%u,slog=%u,mml=%u,"
		    "tlen=%u,strat=%u\n", c.windowLog, c.chainLog, c.hashLog,
		    c.searchLog, c.minMatch, c.targetLength,
		    (unsigned)c.strategy);
}

/*
 * Prints the last state of the progress of a file, and clears the line.
 * several: it is one of them.
 */
static void
zstd_progress(const struct pzc *p, const struct pzc_run *run, bool several)
{
	const struct pipeline_stats *s = &run->result->stats;
	char amount[16];
	int count = p->file_count;

	fprintf(stderr, "\r%79s\r", "");
	zstd_amount(amount, run->decompress ? s->out_bytes : s->in_bytes, 0);
	if (several)
		fprintf(stderr, "%s: %2" PRIu64 "/%2d files. Current: %s ",
		    run->decompress ? "Decompress" : "Compress",
		    p->totals.files, count, run->name);
	else if (run->decompress)
		fprintf(stderr, "%-20.20s : ", run->name);
	if (run->decompress)
		fprintf(stderr, "%s...    ", amount);
	else
		fprintf(stderr, "Read:%s ==> %2.f%%", amount, s->in_bytes == 0 ?
		    0 : 100 * (double)s->out_bytes / (double)s->in_bytes);
	fprintf(stderr, "\r%79s\r", "");
}

static void
zstd_done(struct pzc *p, const struct pzc_run *run)
{
	const struct pipeline_stats *s = &run->result->stats;
	bool to_stdout = p->to_stdout || (run->is_stdin && p->output == NULL);
	bool several = p->file_count > 1 || p->recursive ||
	    p->names_files.count > 0;
	char from[16], to[16];

	p->totals.files++;
	p->totals.packed += s->out_bytes;
	p->totals.size += s->in_bytes;
	to_stdout = to_stdout && p->mode != PZC_TEST && p->msg.verbose == 0;
	if (p->progress || (!p->no_progress && !p->msg.quiet && !to_stdout &&
	    pzc_is_console(p, STDERR_FILENO)))
		zstd_progress(p, run, several);
	/* nothing is said about what was copied */
	if ((several && p->msg.verbose == 0) || run->codec == NULL ||
	    (to_stdout && !p->progress))
		return;
	if (run->decompress) {
		fprintf(stderr, "%-20s: %" PRIu64 " bytes \n", run->name,
		    s->out_bytes);
		return;
	}
	zstd_amount(from, s->in_bytes, 0);
	zstd_amount(to, s->out_bytes, 0);
	if (s->in_bytes == 0)
		fprintf(stderr, "%-20s :  (%s => %s, %s) \n", run->name, from,
		    to, run->target);
	else
		fprintf(stderr, "%-20s :%6.2f%%   (%s => %s, %s) \n",
		    run->name, 100 * (double)s->out_bytes /
		    (double)s->in_bytes, from, to, run->target);
}

static void
zstd_end(struct pzc *p)
{
	const struct pzc_totals *t = &p->totals;
	char from[16], to[16];

	if (p->trains != NULL) {
		pzc_train(p);
		return;
	}
	if ((p->msg.quiet && !p->progress) || p->mode == PZC_LIST ||
	    t->files == 0 ||
	    (p->file_count <= 1 && !p->recursive && p->names_files.count == 0) ||
	    (p->to_stdout && p->msg.verbose == 0))
		return;
	zstd_amount(from, t->size, 0);
	zstd_amount(to, t->packed, 0);
	if (p->mode != PZC_COMPRESS)
		fprintf(stderr, "%" PRIu64 " files decompressed : %6" PRIu64
		    " bytes total \n", t->files, t->packed);
	else
		fprintf(stderr, "%3" PRIu64 " files compressed : %.2f%% (%s => "
		    "%s)\n", t->files, t->size == 0 ? 0 : 100 *
		    (double)t->packed / (double)t->size, from, to);
}

/* -l */

static void
zstd_head(const struct pzc *p)
{
	if (p->totals.files == 0 && p->msg.verbose == 0)
		puts("Frames  Skips  Compressed  Uncompressed  Ratio  Check  "
		    "Filename");
}

static void
zstd_list_line(struct pzc *p, const struct pzc_entry *e)
{
	const struct codec_listing *l = &e->l;
	const char *check = l->check == NULL || strcmp(l->check, "none") == 0 ?
	    "None" : l->check;
	double ratio = e->packed == 0 ? 0 : (double)l->size /
	    (double)e->packed;
	int width = p->msg.verbose > 0 ? 0 : 4;
	char packed[16], size[16], window[16];

	zstd_amount(packed, e->packed, width);
	zstd_amount(size, l->size, width);
	p->totals.unchecked |= strcmp(check, "XXH64") != 0;
	p->totals.xz.streams += l->frames + l->skipped;
	p->totals.xz.blocks += l->skipped;
	if (p->msg.verbose == 0) {
		zstd_head(p);
		printf("%6" PRIu64 "  %5" PRIu64 "  %s  ",
		    l->frames + l->skipped, l->skipped, packed);
		if (l->has_size)
			printf("  %s  %5.3f  ", size, ratio);
		else
			printf("%21s", "");
		printf("%5s  ", check);
		pzc_put_name(e->src->path);
		return;
	}
	zstd_amount(window, l->window, width);
	pzc_put_text(e->src->path);
	printf(" \n# Zstandard Frames: %" PRIu64 "\n", l->frames);
	if (l->skipped > 0)
		printf("# Skippable Frames: %" PRIu64 "\n", l->skipped);
	printf("DictID: %" PRIu32 "\nWindow Size: %s (%" PRIu64 " B)\n"
	    "Compressed Size: %s (%" PRIu64 " B)\n", l->dictionary,
	    window + strspn(window, " "), l->window,
	    packed + strspn(packed, " "), e->packed);
	if (l->has_size)
		printf("Decompressed Size: %s (%" PRIu64 " B)\nRatio: %.4f\n",
		    size + strspn(size, " "), l->size, ratio);
	printf("Check: %s", check);
	if (l->has_value)
		printf(" %08" PRIx32, l->value);
	puts("\n");
}

static void
zstd_list_sum(const struct pzc *p)
{
	const struct pzc_totals *t = &p->totals;
	char packed[16], size[16];

	if (t->files == 0)
		zstd_head(p);
	if (t->files < 2 || p->msg.verbose > 0)
		return;
	zstd_amount(packed, t->packed, 4);
	zstd_amount(size, t->size, 4);
	puts("----------------------------------------------------------------"
	    "- ");
	printf("%6" PRIu64 "  %5" PRIu64 "  %s  ", t->xz.streams,
	    t->xz.blocks, packed);
	if (t->size_less)
		printf("%21s", "");
	else
		printf("  %s  %5.3f  ", size, t->packed == 0 ? 0 :
		    (double)t->size / (double)t->packed);
	printf("%5s  %" PRIu64 " files\n", t->unchecked ? "" : "XXH64",
	    t->files);
}

const struct pzc_style pzc_style_zstd = {
	.name = "zstd", .one_name = true,
	.stdin_name = "/*stdin*\\", .stdout_name = "/*stdout*\\",
	.sayings = sayings, .statuses = statuses,
	.environment = environment,
	.rows = zstd_table,
	.row_count = sizeof(zstd_table) / sizeof(*zstd_table),
	.digits = "-0123456789",
	.usage = "[OPTIONS...] [INPUT... | -] [-o OUTPUT]\n",
	.about = "Compresses or decompresses the INPUT files, or standard "
	    "input.  This is pzc,\ninvoked as zstd.\n",
	.bad_usage = MSG_ERROR,
	.level_typed = LEVEL_TYPED_MAX,
	.format = "zstd", .keeps = true,
	.settle = zstd_settle, .prepare = zstd_prepare,
	.suffixes = suffixes, .suffix_again = true, .suffix_last = true,
	.lenient = true, .force_allows_set_id = true,
	.formats = formats, .formats_only = true, .rest_is_error = true,
	.stdin_copies = true, .says_done = true, .concatenates = true,
	.sparse = true, .blob_apart = true, .sample = pzc_train_sample, .begin = zstd_begin, .done = zstd_done, .end = zstd_end,
	.list = zstd_list_line, .list_sum = zstd_list_sum,
	.version = zstd_version,
};
