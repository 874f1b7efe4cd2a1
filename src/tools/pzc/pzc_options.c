/*
 * pzc_options.c - the command line of pzc, which is pigz's and more
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 4096, LEVEL_MAX = 22, LONG_WINDOW = 27,
    WINDOW_MAX_LOG = 27 };

enum long_only {
	LEVEL = 256, FAST, BEST, MEMORY, STATS, JSON, VERIFY, LONG_MODE,
	FLUSH_MS, SHOW_PROGRESS, ADAPT, ULTRA
};

/* The dash in front: operands come in their turn, see take_all(). */
static const char short_options[] =
    "-0123456789A:b:cC:defF:hHiI:J:kKlLmMnNo:Op:qrRS:tTUvVYz";

static const struct option long_options[] = {
	{ "adapt", optional_argument, NULL, ADAPT },
	{ "alias", required_argument, NULL, 'A' },
	{ "best", no_argument, NULL, BEST },
	{ "blocksize", required_argument, NULL, 'b' },
	{ "comment", required_argument, NULL, 'C' },
	{ "decompress", no_argument, NULL, 'd' },
	{ "extreme", no_argument, NULL, 'e' },
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
	{ "threads", required_argument, NULL, 'p' },
	{ "time", no_argument, NULL, 'M' },
	{ "to-stdout", no_argument, NULL, 'c' },
	{ "ultra", no_argument, NULL, ULTRA },
	{ "uncompress", no_argument, NULL, 'd' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ "zip", no_argument, NULL, 'K' },
	{ "zlib", no_argument, NULL, 'z' },
	{ NULL, 0, NULL, 0 }
};

static int
set_format(struct pzc *p, const char *name)
{
	char known[128] = "";
	size_t n = 0;

	p->codec = codec_by_name(name);
	if (p->codec != NULL)
		return -1;
	for (size_t i = 0; codecs[i] != NULL && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
		    i == 0 ? "" : ", ", codecs[i]->name);
	msg_error(&p->msg, "unknown format '%s', not one of %s (-F is not "
	    "pigz's --first)", name, known);
	return MSG_ERROR;
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
		return MSG_ERROR;
	}
	p->adapt_min = (int)min;
	p->adapt_max = (int)max;
	return -1;
}

static int
set_window(struct pzc *p)
{
	int64_t log = LONG_WINDOW;
	int status = -1;

	if (optarg != NULL)
		status = options_int(&p->msg, "window", 10, 30, &log);
	p->codec_options.window_log = (int)log;
	p->codec_options.window_max = (uint64_t)1 << log;
	return status;
}

/*
 * Each of these takes an option: -1 to go on, or the exit status when it has
 * been said what is wrong.
 */

static int
take_number(struct pzc *p, int opt)
{
	struct codec_options *o = &p->codec_options;
	int64_t v = 0;
	int status;

	switch (opt) {
	case 'b':
		status = options_int(&p->msg, "block size", 1, 1 << 20, &v);
		o->block = (size_t)v << 10;
		return status;
	case FLUSH_MS:
		status = options_int(&p->msg, "time", 1, 3600000, &v);
		o->flush_ms = (int)v;
		return status;
	default:
		status = options_int(&p->msg, "level", 0, LEVEL_MAX, &v);
		p->level = (int)v;
		return status;
	}
}

static int
take_value(struct pzc *p, int opt)
{
	switch (opt) {
	case 'A': p->alias = optarg; break;
	case 'C': p->codec_options.comment = optarg; break;
	case 'F': return set_format(p, optarg);
	case 'I': case 'J': break;	/* zopfli's, which is not used */
	case 'o': p->output = optarg; break;
	case 'p':
		return options_threads(&p->msg, THREADS_MAX,
		    &p->codec_options.threads);
	case 'S': p->suffix = optarg; break;
	case ADAPT: return set_adapt(p);
	case FAST:
		p->level = 1;
		return optarg == NULL ? -1 : take_number(p, opt);
	case LONG_MODE: return set_window(p);
	case MEMORY: return options_size(&p->msg, "size", &p->memory);
	case STATS: p->stats = optarg == NULL ? "-" : optarg; break;
	default: return take_number(p, opt);
	}
	return -1;
}

/* -td tests, as -dt does; -lt and -tl list, exactly. */
static void
set_mode(struct pzc *p, enum pzc_mode mode)
{
	enum pzc_mode was = p->mode;

	if (mode > was)
		p->mode = mode;
	p->verify |= p->mode == PZC_LIST &&
	    (was == PZC_TEST || mode == PZC_TEST);
}

static int
take_flag(struct pzc *p, int opt)
{
	struct codec_options *o = &p->codec_options;

	switch (opt) {
	case 'c': p->to_stdout = true; break;
	case 'd': set_mode(p, PZC_DECOMPRESS); break;
	case 'e': o->extreme = true; break;
	case 'f': p->force = true; break;
	case 'h': return pzc_help(p);
	case 'H': o->huffman = true; break;
	case 'i': o->independent = true; break;
	case 'k': p->keep = true; break;
	case 'K': return set_format(p, "zip");
	case 'l': set_mode(p, PZC_LIST); break;
	case 'L': return pzc_license(p);
	case 'm': case 'T': p->store_time = false; break;
	case 'M': p->store_time = true; break;
	case 'n': case 'N':
		p->store_name = p->store_time = p->restore_name = opt == 'N';
		break;
	case 'O': break;		/* zopfli's, too */
	case 'q': p->msg.quiet = true; break;
	case 'r': p->recursive = true; break;
	case 'R': o->rsyncable = true; break;
	case 't': set_mode(p, PZC_TEST); break;
	case 'U': o->rle = true; break;
	case 'v': p->msg.verbose++; break;
	case 'V': return pzc_version(p);
	case 'Y': p->sync = true; break;
	case 'z': return set_format(p, "zlib");
	case '?': return pzc_usage();
	case BEST: p->level = 9; break;
	case ULTRA: break;		/* zstd -20 to -22 need no leave */
	case JSON: p->json = true; break;
	case VERIFY: p->verify = true; break;
	default: return take_value(p, opt);
	}
	return -1;
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

/* Digits of one word are one number: -11 is not -1 -1. */
static int
take_digit(struct pzc *p, int digit, bool more)
{
	p->level = more ? 10 * p->level + digit : digit;
	if (p->level <= LEVEL_MAX)
		return -1;
	msg_error(&p->msg, "there is no level %d", p->level);
	return MSG_ERROR;
}

static int
take_option(struct pzc *p, int opt, int argc, char **argv, int word)
{
	if (opt != 'T' || !is_threads_T(argc, argv, word))
		return take_flag(p, opt);
	msg_error(&p->msg, "-T is --no-time and takes no number; the number "
	    "of threads is -p");
	return MSG_ERROR;
}

/*
 * -1: all taken.  Operands are gathered at the front of argv.  getopt would
 * do so too, but then optind does not tell which word an option is in.
 */
static int
take_all(struct pzc *p, int argc, char **argv)
{
	int opt, status = -1, word = 1, digit_word = -1;

	p->files = argv + 1;
	p->file_count = 0;
	optind = 0;
	while (status < 0 && (opt = getopt_long(argc, argv, short_options,
	    long_options, NULL)) != -1) {
		if (opt == 1) {
			p->files[p->file_count++] = optarg;
		} else if (opt >= '0' && opt <= '9') {
			status = take_digit(p, opt - '0', word == digit_word);
			digit_word = word;
		} else {
			status = take_option(p, opt, argc, argv, word);
		}
		word = optind;
	}
	while (status < 0 && optind < argc)
		p->files[p->file_count++] = argv[optind++];
	return status;
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
		status = pzc_check(p);
	p->codec_options.threads = cpus_choose(p->codec_options.threads,
	    THREADS_MAX);
	return status;
}

void
pzc_release(struct pzc *p)
{
	for (size_t i = 0; i < sizeof(p->words) / sizeof(p->words[0]); i++)
		sys_free(p->words[i]);
}
