/*
 * mailgen_options.c - the command line of mailgen
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mailgen.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 1024, COUNT_MAX = 100000000, COUNT = 10000 };

static void
show_mailgen_parts(void)
{
	char openssl[64];

	digest_version(openssl, sizeof(openssl));
	puts(openssl);
}

static int
take_share(void *into)
{
	struct mailgen *g = into;
	double share;

	if (args_real(optarg, 0, 1, &share) != 0)
		return options_bad(&g->msg, "share of attachments", "in 0..1");
	/* exact on every machine: strtod(3) rounds correctly */
	g->o.like.attachments = (uint32_t)(share * PRNG_ONE + 0.5);
	return -1;
}

static int
take_profile(void *into)
{
	struct mailgen *g = into;
	unsigned line = 0;
	int rc = mailgen_like_load(&g->o.like, optarg, &line);

	if (rc == -EBADMSG)
		msg_error(&g->msg, "%s: line %u is invalid", optarg,
		    line);
	else if (rc != 0)
		msg_error(&g->msg, "%s: %s", optarg, strerror(-rc));
	return rc == 0 ? -1 : MSG_ERROR;
}

static const char mailgen_usage[] =
"usage: mailgen [-hqV] [-n count] [-s seed] [-p threads]\n"
"               [--mean bytes] [--median bytes] [--attachments share]\n"
"               [--from-profile file] [--files|--maildir|--mbox]\n"
"               [--stats[=file]] directory\n"
"       mailgen [-q] [-p threads] --profile directory\n";

static const char mailgen_about[] =
"Generates synthetic mail, byte-identical on every machine for the same\n"
"options, and prints its hash.\n";

#define OPTIONS_INTO struct mailgen

static const struct options_row mailgen_table[] = {
	{ 0, "attachments", "SHARE", "share of messages with attachments, 0 "
	    "to 1", OPTIONS_CALL(take_share) },
	{ 0, "files", NULL, "one message per file (default)",
	    OPTIONS_SET(o.form, STORE_FILES) },
	{ 0, "from-profile", "FILE", "use the profile in FILE; - is standard "
	    "input", OPTIONS_CALL(take_profile), .also = "like" },
	{ 0, "maildir", NULL, "", OPTIONS_SET(o.form, STORE_MAILDIR) },
	{ 0, "mbox", NULL, "a maildir or an mbox for each list and week",
	    OPTIONS_SET(o.form, STORE_MBOX) },
	{ 0, "mean", "BYTES", "mean message size; default 8000",
	    OPTIONS_SIZE_IN(o.mean_B, "mean", SIZE_LEAST, SIZE_MOST,
	    "in 400..64M") },
	{ 0, "median", "BYTES", "median message size; default 1720",
	    OPTIONS_SIZE_IN(o.median_B, "median", SIZE_LEAST, SIZE_MOST,
	    "in 400..64M") },
	{ 'n', "count", "N", "number of messages (the study's store had "
	    "273273); default 10000 (80 MB), in an existing directory",
	    OPTIONS_NUMBER(o.count, "number of messages", 1, COUNT_MAX) },
	{ 'p', "threads", "N", "number of threads (default: usable CPUs); "
	    "does not affect the output",
	    OPTIONS_THREADS(o.threads, THREADS_MAX), .also = "processes" },
	{ 0, "profile", "DIRECTORY", "measure the mail there and write a "
	    "profile for --from-profile: sizes and ratios, but none of the "
	    "text", OPTIONS_TEXT(o.profile) },
	{ 'q', "quiet", NULL, "show no progress", OPTIONS_FLAG(msg.quiet) },
	{ 's', "seed", "N", "seed of the corpus; default 1",
	    OPTIONS_NUMBER(o.seed, "seed", 0, INT64_MAX),
	    .range = "a number, 0 or more" },
	{ 0, "stats", "[=FILE]", "write statistics as JSON (default: "
	    "standard error)", OPTIONS_TEXT(o.stats_file),
	    OPTIONS_GIVEN(o.stats) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("mailgen", show_mailgen_parts) },
};

int
mailgen_parse(struct mailgen *g, int argc, char **argv)
{
	struct options options = { .msg = &g->msg, .into = g,
	    OPTIONS_TABLE(mailgen_table), .usage = mailgen_usage,
	    .about = mailgen_about };
	struct mailgen_options *o = &g->o;
	struct sizes *s = &o->like.sizes;
	int status;

	msg_init(&g->msg, argv[0]);
	*o = (struct mailgen_options){ .seed = 1, .like = mail_like_default };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	if (argc - optind != (o->profile == NULL))
		return options_usage(mailgen_usage);
	o->root = argv[optind];
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	if (o->mean_B != 0 || o->median_B != 0) {
		if (o->mean_B == 0)
			o->mean_B = sizes_mean(s);
		if (o->median_B == 0)
			o->median_B = s->at_B[SIZES_MEDIAN];
		if (sizes_fit(s, o->mean_B, o->median_B) != 0) {
			msg_error(&g->msg, "no size distribution has the mean "
			    "%llu and the median %llu",
			    (unsigned long long)o->mean_B,
			    (unsigned long long)o->median_B);
			return MSG_ERROR;
		}
	}
	if (o->count != 0 || o->profile != NULL)
		return -1;
	/* a mistyped name must not create 80 MB of mail */
	if (access(o->root, F_OK) != 0) {
		msg_error(&g->msg, "%s: %s (-n creates it)", o->root,
		    strerror(errno));
		return MSG_ERROR;
	}
	o->count = COUNT;
	return -1;
}
