/*
 * advise_options.c - the command line of coldpress-advise
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include "base/args.h"
#include "base/cpus.h"
#include "engine/packer/packer.h"

#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { THREADS_MAX = 1024 };

static void
show_advise_parts(void)
{
	printf("zlib %s\nlz4 %s\nzstd %s\nxz %s%s\n", zlibVersion(),
	    LZ4_versionString(), ZSTD_versionString(), lzma_version_string(),
	    packer_lzo_notice());
}

static const char advise_usage[] =
"usage: coldpress advise [-hqV] [-o rows] [--budget seconds] [--cpu]\n"
"                        [--link rate] [--reads n] [--cores n]\n"
"                        [--objective name] [--for use] [--reader name,...]\n"
"                        [--since rows] [--hot minutes] [--least bytes]\n"
"                        [--seed n] [--touched percent] [--json] path ...\n";

static const char advise_about[] =
"Samples files and trees, compresses the sample in every sensible way, and\n"
"says which of them would pay, how certain that is, and what to type.  Changes\n"
"nothing.  Exits with 3 if there is advice, and with 0 if there is none.\n";

/* A rate: a number, and bit, kbit, Mbit, Gbit, or B, kB, MB, GB per second. */
static int
set_link(void *into)
{
	static const struct {
		const char *unit;
		double Bps;
	} units[] = { { "bit", 0.125 }, { "kbit", 125 }, { "Mbit", 125e3 },
	    { "Gbit", 125e6 }, { "B", 1 }, { "kB", 1e3 }, { "MB", 1e6 },
	    { "GB", 1e9 } };
	struct advise_tool *t = into;
	char *end;
	double v = strtod(optarg, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(end, units[i].unit) == 0 && end > optarg &&
		    v * units[i].Bps >= 1 && v < 1e15) {
			t->o.link_Bps = v * units[i].Bps;
			return -1;
		}
	return options_bad(&t->msg, "link", "a rate such as 100Mbit or 12MB");
}

#define OPTIONS_INTO struct advise_tool

static const struct options_row advise_table[] = {
	{ 0, "budget", "SECONDS", "time to spend (60); more of it narrows the "
	    "intervals", OPTIONS_SECONDS(o.budget_s, "budget") },
	{ 0, "cores", "N", "cores that will compress; default: those that may "
	    "be used here", OPTIONS_THREADS(o.cores, THREADS_MAX) },
	{ 0, "cpu", NULL, "the budget is CPU time, on a machine with other "
	    "work", OPTIONS_FLAG(o.cpu) },
	{ 0, "for", "USE", "tar, image, snap, layers, mail, fs, btrfs or zfs: "
	    "what the whole of each path becomes; default: what suits its "
	    "files", OPTIONS_WORD(o.what_for, "use",
	    "tar, image, snap, layers, mail, fs, btrfs or zfs") },
	{ 0, "hot", "MINUTES", "files changed within this time are left alone "
	    "(60)", OPTIONS_NUMBER(o.hot_min, "hot", 0, 52560000) },
	{ 0, "json", NULL, "write rows to standard output instead of the "
	    "table", OPTIONS_FLAG(o.json) },
	{ 0, "least", "BYTES", "do not propose what saves less (1M)",
	    OPTIONS_SIZE(o.least_B, "least saving") },
	{ 0, "link", "RATE", "what the result is sent through: 100Mbit, 12MB",
	    OPTIONS_CALL(set_link) },
	{ 0, "list", "KIND", "print the files of this kind, with NUL after "
	    "each, and measure nothing", OPTIONS_TEXT(o.list) },
	{ 0, "objective", "NAME", "size (default), total-time (writing and "
	    "--reads readings) or cold-read (one reading)",
	    OPTIONS_NAME(o.objective, "objective",
	    "size, total-time or cold-read") },
	{ 'o', "output", "ROWS", "also write every measurement to this file",
	    OPTIONS_TEXT(o.rows) },
	{ 'q', "quiet", NULL, "print nothing", OPTIONS_FLAG(msg.quiet) },
	{ 0, "reader", "NAME,...", "propose only what these programs read: "
	    "kernel-5.4,python,busybox", OPTIONS_TEXT(o.readers) },
	{ 0, "readers", "FILE", "what each program reads",
	    OPTIONS_TEXT(o.readers_file) },
	{ 0, "reads", "N", "how often the result will be read (1)",
	    OPTIONS_NUMBER(o.reads, "reads", 0, 1000000000) },
	{ 0, "seed", "N", "which sample is drawn (1)",
	    OPTIONS_NUMBER(o.seed, "seed", 0, INT64_MAX) },
	{ 0, "since", "ROWS", "also say what has changed since these rows",
	    OPTIONS_TEXT(o.since) },
	{ 0, "touched", "PERCENT", "how much of the result one reading takes, "
	    "where the format allows it (100)",
	    OPTIONS_NUMBER(o.touched, "touched", 1, 100) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("coldpress-advise", show_advise_parts) },
};

int
advise_parse(struct advise_tool *t, int argc, char **argv)
{
	struct options options = { .msg = &t->msg, .into = t,
	    OPTIONS_TABLE(advise_table), .usage = advise_usage,
	    .about = advise_about };
	struct advise_options *o = &t->o;
	int status;

	msg_init(&t->msg, argv[0]);
	*o = (struct advise_options){ .budget_s = 60, .reads = 1,
	    .touched = 100, .least_B = 1 << 20, .hot_min = 60, .seed = 1, .argc = argc,
	    .argv = argv };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	if (optind == argc)
		return options_usage(advise_usage);
	o->places = argv + optind;
	o->place_count = (size_t)(argc - optind);
	o->cores = cpus_choose(o->cores, THREADS_MAX);
	if (o->list != NULL && advise_kind_by_name(o->list) == ADVISE_KINDS) {
		msg_error(&t->msg, "no files are of the kind '%s'", o->list);
		return MSG_ERROR;
	}
	return -1;
}
