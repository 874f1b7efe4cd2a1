/*
 * fsratio_options.c - the command line of fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "args.h"
#include "cpus.h"

#include <errno.h>
#include <getopt.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { THREADS_MAX = 1024 };

enum { OPT_FS = 256, OPT_RECORD, OPT_ASHIFT, OPT_BY_SIZE, OPT_CSV, OPT_JSON,
    OPT_NO_ABORT };

static const struct option longs[] = {
	{ "algorithms", required_argument, NULL, 'a' },
	{ "ashift", required_argument, NULL, OPT_ASHIFT },
	{ "by-size", no_argument, NULL, OPT_BY_SIZE },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "fs", required_argument, NULL, OPT_FS },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "no-early-abort", no_argument, NULL, OPT_NO_ABORT },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "recordsize", required_argument, NULL, OPT_RECORD },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: fsratio [-hqV] [-a algorithm,...|all] [-p threads]\n"
"               [--fs zfs|zfs-fuse] [--ashift bits] [--recordsize bytes]\n"
"               [--no-early-abort] [--by-size] [--csv|--json] directory ...\n";

static const char help[] =
"\n"
"Says what directories would take on ZFS with each kind of compression,\n"
"without ZFS: all are tried in one pass.\n"
"\n"
"  -a, --algorithms LIST  off, lzjb, zle, lz4, gzip-1..9, zstd-1..19,\n"
"                         zstd-fast-N; all; default: some of each\n"
"  --ashift BITS          log2 of a sector: 9 (512 bytes) to 16; default 12\n"
"  --by-size              rows for each class of file sizes, too\n"
"  --csv, --json          rows in place of the table\n"
"  --fs KIND              zfs (default): pools of OpenZFS; zfs-fuse: of\n"
"                         version 23\n"
"  --no-early-abort       zstd-3 and above try every record\n"
"  -p, --processes N      threads (default: the CPUs)\n"
"  --recordsize BYTES     a power of two from 512 to 16M; default 128K\n"
"  -q                     say less\n"
"  -h, -V                 this help; versions\n";

static const char some[] = "off,zle,lzjb,lz4,gzip-1,gzip-2,gzip-3,gzip-4,"
    "gzip-5,gzip-6,gzip-7,gzip-8,gzip-9,zstd-1,zstd-3,zstd-6,zstd-9";
static const char some_old[] = "off,zle,lzjb,gzip-1,gzip-2,gzip-3,gzip-4,"
    "gzip-5,gzip-6,gzip-7,gzip-8,gzip-9";

static int
bad(struct fsratio *f, const char *what, const char *range)
{
	msg_error(&f->msg, "%s '%s' is not %s", what, optarg, range);
	return MSG_ERROR;
}

static int
show_help(struct fsratio *f)
{
	fputs(usage, stdout);
	fputs(help, stdout);
	return msg_finish(&f->msg);
}

static int
show_version(struct fsratio *f)
{
	printf("fsratio (coldpress) %s\nzlib %s\nlz4 %s\nzstd %s\n",
	    COLDPRESS_VERSION, zlibVersion(), LZ4_versionString(),
	    ZSTD_versionString());
	return msg_finish(&f->msg);
}

/* zfs-fuse has no others. */
static bool
known(const struct fsratio_options *o, const struct packer_name *name)
{
	return o->pool.features || name->kind == NULL ||
	    strcmp(name->kind->name, "gzip") == 0 ||
	    strcmp(name->kind->name, "lzjb") == 0 ||
	    strcmp(name->kind->name, "zle") == 0;
}

static int
take_algorithm(struct fsratio *f, const char *text)
{
	struct packer_name *name = &f->o.algorithms[f->o.count];

	if (f->o.count == FSRATIO_ALGORITHMS) {
		msg_error(&f->msg, "more than %d algorithms",
		    (int)FSRATIO_ALGORITHMS);
		return MSG_ERROR;
	}
	if (packer_by_name(text, name) != 0 || !known(&f->o, name)) {
		msg_error(&f->msg, "'%s' is no compression of %s", text,
		    f->o.fs);
		return MSG_ERROR;
	}
	f->o.count++;
	return -1;
}

static int
take_algorithms(struct fsratio *f, const char *list)
{
	int status = -1;

	while (status < 0 && *list != '\0') {
		size_t n = strcspn(list, ",");
		char text[32];

		if (n >= sizeof(text)) {
			msg_error(&f->msg, "'%s' is no compression of %s",
			    list, f->o.fs);
			return MSG_ERROR;
		}
		memcpy(text, list, n);
		text[n] = '\0';
		status = take_algorithm(f, text);
		list += n + (list[n] == ',');
	}
	return status;
}

static int
take_all(struct fsratio *f)
{
	int status = take_algorithms(f, f->o.pool.features ?
	    "off,zle,lzjb,lz4" : "off,zle,lzjb");

	for (int i = 1; status < 0 && i <= 9; i++) {
		char text[16];

		snprintf(text, sizeof(text), "gzip-%d", i);
		status = take_algorithm(f, text);
	}
	for (int i = 1; f->o.pool.features && status < 0 && i <= 19; i++) {
		char text[16];

		snprintf(text, sizeof(text), "zstd-%d", i);
		status = take_algorithm(f, text);
	}
	return status;
}

static int
take_number(struct fsratio *f, int opt)
{
	struct fsratio_options *o = &f->o;
	uint64_t bytes;
	int64_t n;

	switch (opt) {
	case 'p':
		if (args_int(optarg, 1, THREADS_MAX, &n) != 0)
			return bad(f, "number of threads", "in 1..1024");
		o->threads = (unsigned)n;
		return -1;
	case OPT_ASHIFT:
		if (args_int(optarg, 9, 16, &n) != 0)
			return bad(f, "ashift", "in 9..16");
		o->pool.ashift = (unsigned)n;
		return -1;
	default:
		if (args_size(optarg, &bytes) != 0 || bytes < ZFS_SECTOR ||
		    bytes > ZFS_RECORD_MOST || (bytes & (bytes - 1)) != 0)
			return bad(f, "record size",
			    "a power of two from 512 to 16M");
		o->pool.recordsize = (uint32_t)bytes;
		return -1;
	}
}

static int
take(struct fsratio *f, int opt, const char **algorithms)
{
	struct fsratio_options *o = &f->o;

	switch (opt) {
	case 'a': *algorithms = optarg; break;
	case 'h': return show_help(f);
	case 'q': f->msg.quiet = true; break;
	case 'V': return show_version(f);
	case OPT_BY_SIZE: o->by_size = true; break;
	case OPT_CSV: o->csv = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_NO_ABORT: o->pool.early_abort = false; break;
	case OPT_FS: o->fs = optarg; break;
	case 'p': case OPT_ASHIFT: case OPT_RECORD:
		return take_number(f, opt);
	default:
		fputs(usage, stderr);
		return MSG_ERROR;
	}
	return -1;
}

static int
check(struct fsratio *f, const char *algorithms)
{
	struct fsratio_options *o = &f->o;

	o->pool.features = strcmp(o->fs, "zfs") == 0;
	if (!o->pool.features && strcmp(o->fs, "zfs-fuse") != 0) {
		msg_error(&f->msg, "filesystem '%s' is not zfs or zfs-fuse",
		    o->fs);
		return MSG_ERROR;
	}
	if (o->csv && o->json) {
		msg_error(&f->msg, "--csv and --json are one too many");
		return MSG_ERROR;
	}
	if (o->dir_count == 0) {
		fputs(usage, stderr);
		return MSG_ERROR;
	}
	if (o->threads == 0)
		o->threads = cpus_usable();
	if (o->threads > THREADS_MAX)
		o->threads = THREADS_MAX;
	if (strcmp(algorithms, "all") == 0)
		return take_all(f);
	if (*algorithms == '\0')
		algorithms = o->pool.features ? some : some_old;
	return take_algorithms(f, algorithms);
}

int
fsratio_parse(struct fsratio *f, int argc, char **argv)
{
	const char *algorithms = "";
	int ch, status = -1;

	msg_init(&f->msg, argv[0]);
	f->o = (struct fsratio_options){ .fs = "zfs", .argc = argc,
	    .argv = argv, .pool = { .early_abort = true, .ashift = 12,
	    .recordsize = 128 << 10 } };
	while (status < 0 && (ch = getopt_long(argc, argv, "a:hp:qV", longs,
	    NULL)) != -1)
		status = take(f, ch, &algorithms);
	if (status >= 0)
		return status;
	f->o.dirs = argv + optind;
	f->o.dir_count = argc - optind;
	return check(f, algorithms);
}
