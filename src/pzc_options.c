/*
 * pzc_options.c - the command line of pzc, which is pigz's and more
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "args.h"
#include "cpus.h"
#include "sys.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 4096, LEVEL_MAX = 22, LONG_WINDOW = 27,
    WINDOW_MAX_LOG = 27 };

enum long_only {
	LEVEL = 256, FAST, BEST, MEMORY, STATS, JSON, VERIFY, LONG_MODE,
	FLUSH_MS, SHOW_PROGRESS, ADAPT
};

/* The dash in front: operands come in their turn, see take_all(). */
static const char short_options[] =
    "-0123456789A:b:cC:dfF:hHiI:J:kKlLmMnNo:Op:qrRS:tTUvVYz";

static const struct option long_options[] = {
	{ "adapt", optional_argument, NULL, ADAPT },
	{ "alias", required_argument, NULL, 'A' },
	{ "best", no_argument, NULL, BEST },
	{ "blocksize", required_argument, NULL, 'b' },
	{ "comment", required_argument, NULL, 'C' },
	{ "decompress", no_argument, NULL, 'd' },
	{ "fast", optional_argument, NULL, FAST },
	{ "flush-ms", required_argument, NULL, FLUSH_MS },
	{ "force", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, 'F' },
	{ "help", no_argument, NULL, 'h' },
	{ "huffman", no_argument, NULL, 'H' },
	{ "independent", no_argument, NULL, 'i' },
	{ "iterations", required_argument, NULL, 'I' },
	{ "json", no_argument, NULL, JSON },
	{ "keep", no_argument, NULL, 'k' },
	{ "level", required_argument, NULL, LEVEL },
	{ "license", no_argument, NULL, 'L' },
	{ "list", no_argument, NULL, 'l' },
	{ "long", optional_argument, NULL, LONG_MODE },
	{ "maxsplits", required_argument, NULL, 'J' },
	{ "memory", required_argument, NULL, MEMORY },
	{ "name", no_argument, NULL, 'N' },
	{ "no-name", no_argument, NULL, 'n' },
	{ "no-time", no_argument, NULL, 'm' },
	{ "oneblock", no_argument, NULL, 'O' },
	{ "output", required_argument, NULL, 'o' },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "recursive", no_argument, NULL, 'r' },
	{ "rle", no_argument, NULL, 'U' },
	{ "rsyncable", no_argument, NULL, 'R' },
	{ "silent", no_argument, NULL, 'q' },
	{ "stats", optional_argument, NULL, STATS },
	{ "stdout", no_argument, NULL, 'c' },
	{ "suffix", required_argument, NULL, 'S' },
	{ "synchronous", no_argument, NULL, 'Y' },
	{ "test", no_argument, NULL, 't' },
	{ "time", no_argument, NULL, 'M' },
	{ "to-stdout", no_argument, NULL, 'c' },
	{ "uncompress", no_argument, NULL, 'd' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ "zip", no_argument, NULL, 'K' },
	{ "zlib", no_argument, NULL, 'z' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: pzc [-0..-22] [-cdfhikKlLmMnNqrRtTUvVYz] [-A alias] [-b KiB]\n"
"           [-C comment] [-F format] [-o file] [-p threads] [-S suffix]\n"
"           [--long option ...] [file ...]\n";

static const char help[] =
"\n"
"Compresses files, or standard input, on all cores.\n"
"\n"
"  -F, --format F      gzip (default), zlib, zip, zstd, lz4, xz, lzma, bzip2\n"
"  -z, -K              as -F zlib, -F zip\n"
"  -0 .. -22           level, as far as the format has it; --level N,\n"
"                      --fast[=N], --best\n"
"  -d, --decompress    decompress (any of the formats, and .Z)\n"
"  -t, --test          decompress, and write nothing\n"
"  -l, --list          sizes and ratio; with -t exact; --json\n"
"  -c, --stdout        write to standard output, keep the input\n"
"  -o, --output FILE   write to FILE\n"
"  -k, --keep          keep the input\n"
"  -f, --force         overwrite, follow links, write to a terminal\n"
"  -r, --recursive     the files in directories\n"
"  -S, --suffix .SUF   in place of the format's\n"
"  -p, --processes N   threads (default: the CPUs that may be used)\n"
"  --memory SIZE       use fewer threads rather than more memory\n"
"  -b, --blocksize N   block size in KiB\n"
"  -i, --independent   gzip: a member a block\n"
"  -R, --rsyncable     cut blocks where the content says so\n"
"  -H, -U              Huffman coding or runs only (gzip, zlib, zip)\n"
"  --adapt[=MIN:MAX]   the level follows the pipe (gzip, zstd, lz4)\n"
"  --long[=LOG]        zstd: a window of 2^LOG bytes (27)\n"
"  --flush-ms N        compress what there is after N ms without input\n"
"  -n, -N              do not store, or restore, name and time; do so\n"
"  -m, -M, -T          do not store the time; do so; as -m\n"
"  -A NAME, -C TEXT    name (zip) and comment to store\n"
"  -Y, --synchronous   on disk before it is called done\n"
"  --verify            decompress what was compressed, and compare\n"
"  --stats[=FILE]      a JSON line about each file\n"
"  -q, -v              say less, or more\n"
"  -h, -L, -V          this help; the licence; versions\n";

static int
version(void)
{
	printf("pzc (coldpress) %s\n", COLDPRESS_VERSION);
	for (size_t i = 0; codecs[i] != NULL; i++)
		printf("%-8s %s\n", codecs[i]->name, codecs[i]->versions());
	return fflush(stdout) == 0 ? MSG_OK : MSG_ERROR;
}

static int
bad_number(struct pzc *p, int rc, const char *what, const char *arg,
    const char *range)
{
	if (rc == -ERANGE)
		msg_error(&p->msg, "%s '%s' is not in %s", what, arg, range);
	else
		msg_error(&p->msg, "%s '%s' is not a number", what, arg);
	return rc;
}

static int
set_int(struct pzc *p, const char *what, int64_t lo, int64_t hi,
    int64_t *value)
{
	char range[64];
	int rc = args_int(optarg, lo, hi, value);

	snprintf(range, sizeof(range), "%lld..%lld", (long long)lo,
	    (long long)hi);
	return rc == 0 ? 0 : bad_number(p, rc, what, optarg, range);
}

static int
set_format(struct pzc *p, const char *name)
{
	p->codec = codec_by_name(name);
	if (p->codec == NULL)
		msg_error(&p->msg, "unknown format '%s' (-F is the format "
		    "here, not pigz's --first)", name);
	return p->codec == NULL ? -EINVAL : 0;
}

/* Options with a value. */
static int
take_value(struct pzc *p, int opt)
{
	int64_t v = 0;
	int rc = 0;

	switch (opt) {
	case LEVEL:
		rc = set_int(p, "level", 0, LEVEL_MAX, &v);
		p->level = (int)v;
		return rc;
	case 'b':
		rc = set_int(p, "block size", 1, 1 << 20, &v);
		p->codec_options.block = (size_t)v << 10;
		return rc;
	case 'p':
		rc = set_int(p, "number of threads", 1, THREADS_MAX, &v);
		p->codec_options.threads = (unsigned)v;
		return rc;
	case FLUSH_MS:
		rc = set_int(p, "time", 1, 3600000, &v);
		p->codec_options.flush_ms = (int)v;
		return rc;
	case LONG_MODE:
		v = LONG_WINDOW;
		if (optarg != NULL)
			rc = set_int(p, "window", 10, 30, &v);
		p->codec_options.window_log = (int)v;
		p->codec_options.window_max = (uint64_t)1 << v;
		return rc;
	case MEMORY:
		rc = args_size(optarg, &p->memory);
		return rc == 0 ? 0 : bad_number(p, rc, "size", optarg,
		    "63 bits");
	case 'F':
		return set_format(p, optarg);
	case 'A':
		p->alias = optarg;
		return 0;
	case 'C':
		p->codec_options.comment = optarg;
		return 0;
	case 'S':
		p->suffix = optarg;
		return 0;
	case 'o':
		p->output = optarg;
		return 0;
	default:	/* -I, -J: zopfli's, which is not used */
		return 0;
	}
}

static void
take_flag(struct pzc *p, int opt)
{
	switch (opt) {
	case 'c':
		p->to_stdout = true;
		break;
	case 'd':
		/* -td tests, as -dt does */
		if (p->mode == PZC_COMPRESS)
			p->mode = PZC_DECOMPRESS;
		break;
	case 'f':
		p->force = true;
		break;
	case 'H':
		p->codec_options.huffman = true;
		break;
	case 'i':
		p->codec_options.independent = true;
		break;
	case 'k':
		p->keep = true;
		break;
	case 'l':
		p->verify |= p->mode == PZC_TEST;
		p->mode = PZC_LIST;
		break;
	case 'm':
	case 'T':
		p->store_time = false;
		break;
	case 'M':
		p->store_time = true;
		break;
	case 'n':
		p->store_name = p->store_time = p->restore_name = false;
		break;
	case 'N':
		p->store_name = p->store_time = p->restore_name = true;
		break;
	case 'q':
		p->msg.quiet = true;
		break;
	case 'r':
		p->recursive = true;
		break;
	case 'R':
		p->codec_options.rsyncable = true;
		break;
	case 'U':
		p->codec_options.rle = true;
		break;
	case 'v':
		p->msg.verbose++;
		break;
	case 'Y':
		p->sync = true;
		break;
	case BEST:
		p->level = 9;
		break;
	case JSON:
		p->json = true;
		break;
	case VERIFY:
		p->verify = true;
		break;
	default:
		break;
	}
}

/* -T4: users of xz and zstd mean threads, and pigz's -T takes no number. */
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

struct digits {
	int word;	/* of argv that the last digit was in */
};

/* Digits of one word are one number: -11 is not -1 -1. */
static int
take_digit(struct pzc *p, struct digits *d, int digit, int word)
{
	p->level = d->word == word ? 10 * p->level + digit : digit;
	d->word = word;
	if (p->level <= LEVEL_MAX)
		return 0;
	msg_error(&p->msg, "there is no level %d", p->level);
	return -ERANGE;
}

/* MIN:MAX, or what the format has. */
static int
set_adapt(struct pzc *p)
{
	char low[16] = "";
	const char *colon = optarg == NULL ? NULL : strchr(optarg, ':');
	int64_t min = -1, max = -1;

	p->adapt = true;
	if (colon != NULL && (size_t)(colon - optarg) < sizeof(low))
		memcpy(low, optarg, (size_t)(colon - optarg));
	if (optarg != NULL && (colon == NULL ||
	    args_int(low, 0, LEVEL_MAX, &min) != 0 ||
	    args_int(colon + 1, min, LEVEL_MAX, &max) != 0)) {
		msg_error(&p->msg, "'%s' is no range of levels (MIN:MAX)",
		    optarg);
		return -EINVAL;
	}
	p->adapt_min = (int)min;
	p->adapt_max = (int)max;
	return 0;
}

static int
take_option(struct pzc *p, int opt, int argc, char **argv, int word)
{
	switch (opt) {
	case 't':
		/* -lt lists, exactly */
		p->verify |= p->mode == PZC_LIST;
		if (p->mode != PZC_LIST)
			p->mode = PZC_TEST;
		return 0;
	case 'T':
		if (is_threads_T(argc, argv, word)) {
			msg_error(&p->msg, "-T is --no-time and takes no "
			    "number; the number of threads is -p");
			return -EINVAL;
		}
		take_flag(p, opt);
		return 0;
	case 'z':
		return set_format(p, "zlib");
	case 'K':
		return set_format(p, "zip");
	case FAST:
		if (optarg != NULL)
			return take_value(p, LEVEL);
		p->level = 1;
		return 0;
	case ADAPT:
		return set_adapt(p);
	case STATS:
		p->stats = optarg == NULL ? "-" : optarg;
		return 0;
	default:
		if (opt == LEVEL || opt == FLUSH_MS || opt == LONG_MODE ||
		    opt == MEMORY || (opt < 256 && optarg != NULL))
			return take_value(p, opt);
		take_flag(p, opt);
		return 0;
	}
}

/*
 * -1: all taken.  Operands are gathered at the front of argv.  getopt would
 * do so too, but then optind does not tell which word an option is in.
 */
static int
take_all(struct pzc *p, int argc, char **argv)
{
	struct digits digits = { -1 };
	int opt, word = 1;

	p->files = argv + 1;
	p->file_count = 0;
	optind = 0;
	while ((opt = getopt_long(argc, argv, short_options, long_options,
	    NULL)) != -1) {
		int rc = 0;

		if (opt == 'h') {
			printf("%s%s", usage, help);
			return fflush(stdout) == 0 ? MSG_OK : MSG_ERROR;
		} else if (opt == 'V') {
			return version();
		} else if (opt == 'L') {
			puts("BSD-2-Clause; see LICENSE");
			return fflush(stdout) == 0 ? MSG_OK : MSG_ERROR;
		} else if (opt == '?') {
			fputs(usage, stderr);
			return MSG_ERROR;
		} else if (opt == 1) {
			p->files[p->file_count++] = optarg;
		} else if (opt >= '0' && opt <= '9') {
			rc = take_digit(p, &digits, opt - '0', word);
		} else {
			rc = take_option(p, opt, argc, argv, word);
		}
		if (rc != 0)
			return MSG_ERROR;
		word = optind;
	}
	while (optind < argc)
		p->files[p->file_count++] = argv[optind++];
	return -1;
}

static bool
called(const char *prog, const char *name)
{
	return strcmp(prog, name) == 0;
}

static void
set_by_name(struct pzc *p)
{
	const char *n = p->msg.prog;

	if (called(n, "unpzc") || called(n, "gunzip") || called(n, "unpigz"))
		p->mode = PZC_DECOMPRESS;
	if (called(n, "pzcat") || called(n, "zcat") || called(n, "gzcat")) {
		p->mode = PZC_DECOMPRESS;
		p->to_stdout = true;
	}
}

/* The range of levels; the plan is made for the highest. */
static int
check_adapt(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_options *o = &p->codec_options;

	if (c->adapt_max == 0 || o->window_log != 0 || o->huffman || o->rle) {
		msg_error(&p->msg, "--adapt is for gzip, zlib, zip, zstd and "
		    "lz4, without --long, -H and -U");
		return MSG_ERROR;
	}
	if (p->adapt_min < 0) {
		p->adapt_min = 1;
		p->adapt_max = c->adapt_max;
	}
	if (p->adapt_min < c->level_min || p->adapt_max > c->level_max) {
		msg_error(&p->msg, "levels %d..%d of %s are not in %d..%d",
		    p->adapt_min, p->adapt_max, c->name, c->level_min,
		    c->level_max);
		return MSG_ERROR;
	}
	p->codec_options.level = p->adapt_max;
	return -1;
}

/* The level and format must fit each other. */
static int
check(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_suffix *unused;

	if (p->mode != PZC_COMPRESS)
		return -1;
	if (c == NULL && p->output != NULL)
		c = codec_by_suffix(p->output, &unused);
	if (c == NULL)
		c = codec_by_name("gzip");
	p->codec = c;
	if (c->encode == NULL) {
		msg_error(&p->msg, "%s is read only", c->name);
		return MSG_ERROR;
	}
	if (p->level < 0)
		p->level = c->level_default;
	if (p->level < c->level_min || p->level > c->level_max) {
		msg_error(&p->msg, "level %d of %s is not in %d..%d",
		    p->level, c->name, c->level_min, c->level_max);
		return MSG_ERROR;
	}
	p->codec_options.level = p->level;
	return p->adapt ? check_adapt(p) : -1;
}

static int
check_files(struct pzc *p)
{
	if (p->output != NULL && (p->file_count > 1 || p->recursive)) {
		msg_error(&p->msg, "-o takes one input");
		return MSG_ERROR;
	}
	if (p->output != NULL && strcmp(p->output, "-") == 0) {
		p->to_stdout = true;
		p->output = NULL;
	}
	if (p->suffix != NULL && (*p->suffix == '\0' ||
	    strchr(p->suffix, '/') != NULL)) {
		msg_error(&p->msg, "'%s' is no suffix", p->suffix);
		return MSG_ERROR;
	}
	return -1;
}

/* Before the command line, which so has the last word. */
static int
take_environment(struct pzc *p, char **argv)
{
	static const char *const names[] = { "GZIP", "PIGZ", "PZC" };
	int status = -1;

	for (size_t i = 0; status < 0 &&
	    i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = getenv(names[i]);
		int count = 1, rc;

		if (text == NULL)
			continue;
		rc = args_splice(text, &count, argv, &p->words[i]);
		if (rc != 0) {
			msg_error(&p->msg, "%s", strerror(-rc));
			return MSG_ERROR;
		}
		status = take_all(p, count, p->words[i]);
		if (status < 0 && p->file_count > 0) {
			msg_error(&p->msg, "%s may hold options only",
			    names[i]);
			status = MSG_ERROR;
		}
	}
	return status;
}

int
pzc_parse(struct pzc *p, int argc, char **argv)
{
	int status;

	*p = (struct pzc){ .level = -1, .store_name = true,
	    .store_time = true,
	    .codec_options = {
	    .window_max = (uint64_t)1 << WINDOW_MAX_LOG } };
	msg_init(&p->msg, argv[0]);
	set_by_name(p);
	status = take_environment(p, argv);
	if (status < 0)
		status = take_all(p, argc, argv);
	if (status < 0)
		status = check(p);
	if (status < 0)
		status = check_files(p);
	if (p->codec_options.threads == 0)
		p->codec_options.threads = cpus_usable();
	return status;
}

void
pzc_release(struct pzc *p)
{
	for (size_t i = 0; i < sizeof(p->words) / sizeof(p->words[0]); i++)
		sys_free(p->words[i]);
}
