/*
 * fsratio_options.c - the command line of fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"

#include <getopt.h>
#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { THREADS_MAX = 1024 };

enum { OPT_FS = 256, OPT_RECORD, OPT_ASHIFT, OPT_BY_SIZE, OPT_CSV, OPT_JSON,
    OPT_NO_ABORT, OPT_BLOCK, OPT_FORCE, OPT_METADATA };

static const struct option longs[] = {
	{ "algorithms", required_argument, NULL, 'a' },
	{ "ashift", required_argument, NULL, OPT_ASHIFT },
	{ "block", required_argument, NULL, OPT_BLOCK },
	{ "by-size", no_argument, NULL, OPT_BY_SIZE },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "fs", required_argument, NULL, OPT_FS },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "metadata", required_argument, NULL, OPT_METADATA },
	{ "no-early-abort", no_argument, NULL, OPT_NO_ABORT },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "recordsize", required_argument, NULL, OPT_RECORD },
	{ "threads", required_argument, NULL, 'p' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: fsratio [-hqV] [-a algorithm,...|all] [-p threads]\n"
"               [--fs zfs|zfs-fuse|btrfs|squashfs|sqpack]\n"
"               [--ashift bits] [--recordsize bytes] [--no-early-abort] [--force]\n"
"               [--metadata dup|single] [--block bytes] [--by-size]\n"
"               [--csv|--json] directory ...\n";

static const char help[] =
"\n"
"Predicts how much space directories would take on a compressing filesystem,\n"
"trying every algorithm in one pass, without needing that filesystem.\n"
"\n"
"  -a, --algorithms LIST  all; off; zfs: lzjb, zle, lz4, gzip-1..9,\n"
"                         zstd-1..19, zstd-fast-N; btrfs: zlib-1..9, lzo,\n"
"                         zstd-1..15; squashfs: gzip-1..9, lz4, lz4hc,\n"
"                         lzo-1..9, xz, zstd-1..22; sqpack: the same, with\n"
"                         gzip-1..12; default: a selection\n"
"  --ashift BITS          zfs: log2 of a sector: 9 (512 bytes) to 16;\n"
"                         default 12\n"
"  --block BYTES          squashfs: a power of two from 4K to 1M; default\n"
"                         128K\n"
"  --by-size              add rows for each file size class; not for\n"
"                         squashfs\n"
"  --csv, --json          write rows instead of the table\n"
"  --force                btrfs: assume mount option compress-force\n"
"  --fs KIND              zfs (default): OpenZFS; zfs-fuse: pool version\n"
"                         23; btrfs; squashfs: an image made by\n"
"                         mksquashfs; sqpack: one made by sqpack\n"
"  --metadata dup|single  btrfs: how metadata is stored, as with mkfs.btrfs -m;\n"
"                         default dup\n"
"  --no-early-abort       zfs: zstd-3 and above try every record\n"
"  -p, --threads N        number of threads (default: usable CPUs)\n"
"  --recordsize BYTES     zfs: a power of two from 512 to 16M; default 128K\n"
"  -q                     be quiet\n"
"  -h, -V                 this help; versions\n";

static int
show_version(struct fsratio *f)
{
	printf("fsratio (coldpress) %s\nzlib %s\nlz4 %s\nzstd %s\nxz %s%s\n",
	    COLDPRESS_VERSION, zlibVersion(), LZ4_versionString(),
	    ZSTD_versionString(), lzma_version_string(), packer_lzo_notice());
	return msg_finish(&f->msg);
}

static int
take_algorithm(struct fsratio *f, const char *text)
{
	struct packer_name *name = &f->o.algorithms[f->o.count];

	if (f->o.count == FS_ALGORITHMS) {
		msg_error(&f->msg, "more than %d algorithms",
		    (int)FS_ALGORITHMS);
		return MSG_ERROR;
	}
	if (packer_by_name(f->o.fs->kinds, text, name) != 0) {
		msg_error(&f->msg, "%s has no algorithm '%s'", f->o.fs->name,
		    text);
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
			msg_error(&f->msg, "%s has no algorithm '%s'",
			    f->o.fs->name, list);
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
	int status = take_algorithm(f, "off");

	for (const struct packer_kind *k = f->o.fs->kinds;
	    status < 0 && k->name != NULL; k++) {
		if (k->level_min == k->level_max)
			status = take_algorithm(f, k->name);
		else for (int i = k->level_min; status < 0 && i > 0 &&
		    i <= k->level_max; i++) {
			char text[16];

			snprintf(text, sizeof(text), "%s-%d", k->name, i);
			status = take_algorithm(f, text);
		}
	}
	return status;
}

/* Sets a power of two from least to most; `range` describes these limits. */
static int
set_power(struct fsratio *f, const char *what, uint64_t least, uint64_t most,
    const char *range, uint32_t *value)
{
	uint64_t bytes;

	if (args_size(optarg, &bytes) != 0 || bytes < least || bytes > most ||
	    (bytes & (bytes - 1)) != 0)
		return options_bad(&f->msg, what, range);
	*value = (uint32_t)bytes;
	return -1;
}

static int
take_number(struct fsratio *f, int opt)
{
	struct fsratio_options *o = &f->o;
	int64_t n = 0;
	int status;

	switch (opt) {
	case 'p': return options_threads(&f->msg, THREADS_MAX, &o->threads);
	case OPT_ASHIFT:
		status = options_int(&f->msg, "ashift", 9, 16, &n);
		o->params.ashift = (unsigned)n;
		return status;
	case OPT_BLOCK:
		return set_power(f, "block size", 4 << 10, 1 << 20,
		    "a power of two from 4K to 1M", &o->params.block);
	default:
		return set_power(f, "record size", 512, 16 << 20,
		    "a power of two from 512 to 16M", &o->params.recordsize);
	}
}

/* The options on the command line; no filesystem supports all of them. */
struct given {
	const char *fs, *algorithms;
	unsigned options;
};

static void
give(struct given *g, int opt)
{
	static const struct {
		int opt;
		unsigned bit;
	} bits[] = { { OPT_ASHIFT, FS_ASHIFT }, { OPT_RECORD, FS_RECORDSIZE },
	    { OPT_NO_ABORT, FS_EARLY_ABORT }, { OPT_FORCE, FS_FORCE },
	    { OPT_BLOCK, FS_BLOCK }, { OPT_BY_SIZE, FS_BY_SIZE },
	    { OPT_METADATA, FS_METADATA } };

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (bits[i].opt == opt)
			g->options |= bits[i].bit;
}

static int
set_metadata(struct fsratio *f)
{
	f->o.params.single = strcmp(optarg, "single") == 0;
	if (f->o.params.single || strcmp(optarg, "dup") == 0)
		return -1;
	return options_bad(&f->msg, "metadata profile", "dup or single");
}

static int
take(struct fsratio *f, int opt, struct given *g)
{
	struct fsratio_options *o = &f->o;

	give(g, opt);
	switch (opt) {
	case 'a': g->algorithms = optarg; break;
	case 'h': return options_help(&f->msg, usage, help);
	case 'q': f->msg.quiet = true; break;
	case 'V': return show_version(f);
	case OPT_BY_SIZE: o->by_size = true; break;
	case OPT_CSV: o->csv = true; break;
	case OPT_FORCE: o->params.force = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_METADATA: return set_metadata(f);
	case OPT_NO_ABORT: o->params.early_abort = false; break;
	case OPT_FS: g->fs = optarg; break;
	case 'p': case OPT_ASHIFT: case OPT_BLOCK: case OPT_RECORD:
		return take_number(f, opt);
	default: return MSG_ERROR;
	}
	return -1;
}

/* Reports options that the filesystem does not support. */
static int
check_options(struct fsratio *f, unsigned options)
{
	static const char *const names[] = { "ashift", "recordsize",
	    "no-early-abort", "force", "block", "by-size", "metadata" };

	options &= ~f->o.fs->options;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (options >> i & 1) {
			msg_error(&f->msg, "--%s does not apply to %s",
			    names[i], f->o.fs->name);
			return MSG_ERROR;
		}
	return -1;
}

static int
check(struct fsratio *f, const struct given *g)
{
	struct fsratio_options *o = &f->o;

	o->fs = fs_model_by_name(g->fs);
	if (o->fs == NULL) {
		msg_error(&f->msg, "unknown filesystem '%s'; expected zfs, "
		    "zfs-fuse, btrfs, squashfs or sqpack", g->fs);
		return MSG_ERROR;
	}
	if (check_options(f, g->options) >= 0)
		return MSG_ERROR;
	if (o->csv && o->json) {
		msg_error(&f->msg, "--csv and --json cannot be combined");
		return MSG_ERROR;
	}
	if (o->dir_count == 0)
		return options_usage(usage);
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	if (strcmp(g->algorithms, "all") == 0)
		return take_all(f);
	return take_algorithms(f, *g->algorithms == '\0' ? o->fs->some :
	    g->algorithms);
}

int
fsratio_parse(struct fsratio *f, int argc, char **argv)
{
	struct given g = { .fs = "zfs", .algorithms = "" };
	int ch, status = -1;

	msg_init(&f->msg, argv[0]);
	f->o = (struct fsratio_options){ .argc = argc, .argv = argv,
	    .params = { .early_abort = true, .ashift = 12,
	    .recordsize = 128 << 10, .block = 128 << 10 } };
	while (status < 0 && (ch = options_next(&f->msg, argc, argv,
	    "a:hp:qV", longs)) != -1)
		status = take(f, ch, &g);
	if (status >= 0)
		return status;
	f->o.dirs = argv + optind;
	f->o.dir_count = argc - optind;
	return check(f, &g);
}
