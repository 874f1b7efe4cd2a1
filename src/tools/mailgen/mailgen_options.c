/*
 * mailgen_options.c - the command line of mailgen
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, COUNT_MAX = 100000000, COUNT = 10000 };

enum { OPT_ATTACHMENTS = 256, OPT_FILES, OPT_LIKE, OPT_MAILDIR, OPT_MBOX,
    OPT_MEAN, OPT_MEDIAN, OPT_PROFILE, OPT_STATS };

static const struct option longs[] = {
	{ "attachments", required_argument, NULL, OPT_ATTACHMENTS },
	{ "count", required_argument, NULL, 'n' },
	{ "files", no_argument, NULL, OPT_FILES },
	{ "from-profile", required_argument, NULL, OPT_LIKE },
	{ "help", no_argument, NULL, 'h' },
	{ "like", required_argument, NULL, OPT_LIKE },
	{ "maildir", no_argument, NULL, OPT_MAILDIR },
	{ "mbox", no_argument, NULL, OPT_MBOX },
	{ "mean", required_argument, NULL, OPT_MEAN },
	{ "median", required_argument, NULL, OPT_MEDIAN },
	{ "processes", required_argument, NULL, 'p' },
	{ "profile", required_argument, NULL, OPT_PROFILE },
	{ "quiet", no_argument, NULL, 'q' },
	{ "seed", required_argument, NULL, 's' },
	{ "stats", optional_argument, NULL, OPT_STATS },
	{ "threads", required_argument, NULL, 'p' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: mailgen [-hqV] [-n count] [-s seed] [-p threads]\n"
"               [--mean bytes] [--median bytes] [--attachments share]\n"
"               [--from-profile file] [--files|--maildir|--mbox]\n"
"               [--stats[=file]] directory\n"
"       mailgen [-q] [-p threads] --profile directory\n";

static const char help[] =
"\n"
"Generates synthetic mail, byte-identical on every machine for the same\n"
"options, and prints its hash.\n"
"\n"
"  --attachments SHARE  share of messages with attachments, 0 to 1\n"
"  --files              one message per file (default)\n"
"  --from-profile FILE  use the profile in FILE; - is standard input\n"
"  --maildir, --mbox    a maildir or an mbox for each list and week\n"
"  --mean BYTES         mean message size; default 8000\n"
"  --median BYTES       median message size; default 1720\n"
"  -n, --count N        number of messages (the study's store had 273273);\n"
"                       default 10000 (80 MB), in an existing directory\n"
"  -p, --threads N      number of threads (default: usable CPUs); does not\n"
"                       affect the output\n"
"  --profile DIRECTORY  measure the mail there and write a profile for\n"
"                       --from-profile: sizes and ratios, but none of\n"
"                       the text\n"
"  -q                   show no progress\n"
"  -s, --seed N         seed of the corpus; default 1\n"
"  --stats[=FILE]       write statistics as JSON (default: standard error)\n"
"  -h, -V               this help; version\n";

static int
show_version(struct mailgen *g)
{
	char openssl[64];

	digest_version(openssl, sizeof(openssl));
	printf("mailgen (coldpress) %s\n%s\n", COLDPRESS_VERSION, openssl);
	return msg_finish(&g->msg);
}

static int
take_size(struct mailgen *g, const char *what, uint64_t *bytes)
{
	if (args_size(optarg, bytes) != 0 || *bytes < SIZE_LEAST ||
	    *bytes > SIZE_MOST)
		return options_bad(&g->msg, what, "in 400..64M");
	return -1;
}

static int
take_share(struct mailgen *g)
{
	double share;

	if (args_real(optarg, 0, 1, &share) != 0)
		return options_bad(&g->msg, "share of attachments", "in 0..1");
	/* exact on every machine: strtod(3) rounds correctly */
	g->o.like.attachments = (uint32_t)(share * PRNG_ONE + 0.5);
	return -1;
}

static int
take_like(struct mailgen *g)
{
	unsigned line = 0;
	int rc = mailgen_like_load(&g->o.like, optarg, &line);

	if (rc == -EBADMSG)
		msg_error(&g->msg, "%s: line %u is invalid", optarg,
		    line);
	else if (rc != 0)
		msg_error(&g->msg, "%s: %s", optarg, strerror(-rc));
	return rc == 0 ? -1 : MSG_ERROR;
}

static int
take_count(struct mailgen *g)
{
	int64_t n = 0;
	int status = options_int(&g->msg, "number of messages", 1, COUNT_MAX,
	    &n);

	g->o.count = (uint64_t)n;
	return status;
}

static int
take_seed(struct mailgen *g)
{
	int64_t n = 0;

	if (args_int(optarg, 0, INT64_MAX, &n) != 0)
		return options_bad(&g->msg, "seed", "a number, 0 or more");
	g->o.seed = (uint64_t)n;
	return -1;
}

static int
take(struct mailgen *g, int opt)
{
	struct mailgen_options *o = &g->o;

	switch (opt) {
	case 'h': return options_help(&g->msg, usage, help);
	case 'n': return take_count(g);
	case 'p': return options_threads(&g->msg, THREADS_MAX, &o->threads);
	case 'q': g->msg.quiet = true; break;
	case 's': return take_seed(g);
	case 'V': return show_version(g);
	case OPT_ATTACHMENTS: return take_share(g);
	case OPT_FILES: o->form = STORE_FILES; break;
	case OPT_LIKE: return take_like(g);
	case OPT_MAILDIR: o->form = STORE_MAILDIR; break;
	case OPT_MBOX: o->form = STORE_MBOX; break;
	case OPT_MEAN: return take_size(g, "mean", &o->mean_B);
	case OPT_MEDIAN: return take_size(g, "median", &o->median_B);
	case OPT_PROFILE: o->profile = optarg; break;
	case OPT_STATS: o->stats = true; o->stats_file = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
}

/*
 * Without -n, the directory must exist, so that a mistyped name does not create
 * 80 MB of mail.
 */
static int
check_root(struct mailgen *g)
{
	struct mailgen_options *o = &g->o;

	if (o->count != 0 || o->profile != NULL) {
		return -1;
	} else if (access(o->root, F_OK) != 0) {
		msg_error(&g->msg, "%s: %s (-n creates it)", o->root,
		    strerror(errno));
		return MSG_ERROR;
	}
	o->count = COUNT;
	return -1;
}

static int
check(struct mailgen *g, int count)
{
	struct mailgen_options *o = &g->o;
	struct sizes *s = &o->like.sizes;

	if (count != (o->profile == NULL))
		return options_usage(usage);
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	if (o->mean_B == 0 && o->median_B == 0)
		return check_root(g);
	if (o->mean_B == 0)
		o->mean_B = sizes_mean(s);
	if (o->median_B == 0)
		o->median_B = s->at_B[SIZES_MEDIAN];
	if (sizes_fit(s, o->mean_B, o->median_B) != 0) {
		msg_error(&g->msg, "no size distribution has the mean %llu and "
		    "the median %llu", (unsigned long long)o->mean_B,
		    (unsigned long long)o->median_B);
		return MSG_ERROR;
	}
	return check_root(g);
}

int
mailgen_parse(struct mailgen *g, int argc, char **argv)
{
	int ch, status = -1;

	msg_init(&g->msg, argv[0]);
	g->o = (struct mailgen_options){ .seed = 1,
	    .like = mail_like_default };
	while (status < 0 && (ch = options_next(&g->msg, argc, argv,
	    "hn:p:qs:V", longs)) != -1)
		status = take(g, ch);
	if (status >= 0)
		return status;
	g->o.root = argv[optind];
	return check(g, argc - optind);
}
