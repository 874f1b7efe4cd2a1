/*
 * fsratio_options.c - the command line of fsratio
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fsratio.h"

#include "base/cpus.h"
#include "base/options.h"

#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

enum { THREADS_MAX = 1024 };

static void
show_fsratio_parts(void)
{
	printf("zlib %s\nlz4 %s\nzstd %s\nxz %s%s\n", zlibVersion(),
	    LZ4_versionString(), ZSTD_versionString(), lzma_version_string(),
	    packer_lzo_notice());
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

/* An enumeration of the algorithms of a table. */
struct algorithm {
	const struct packer_kind *kind;
	int level;
	char text[32];
};

/*
 * Sets a->text to the next algorithm: each kind, or each of its levels.
 * Returns false at the end.
 */
static bool
next_algorithm(struct algorithm *a)
{
	for (; a->kind->name != NULL; a->kind++, a->level = 0) {
		const struct packer_kind *k = a->kind;

		if (k->level_min == k->level_max) {
			snprintf(a->text, sizeof(a->text), "%s", k->name);
			a->kind++;
			return true;
		}
		a->level = a->level == 0 ? k->level_min : a->level + 1;
		if (a->level > 0 && a->level <= k->level_max) {
			snprintf(a->text, sizeof(a->text), "%s-%d", k->name,
			    a->level);
			return true;
		}
	}
	return false;
}

static void
list_models(FILE *out)
{
	fputs(" zfs", out);
	for (size_t i = 0; fs_models[i] != NULL; i++)
		fprintf(out, " %s", fs_models[i]->name);
}

/* Prints the algorithms of all models, whichever --fs names, each once. */
static void
list_algorithms(FILE *out)
{
	struct packer_name name;

	fputs(" all off", out);
	for (size_t i = 0; fs_models[i] != NULL; i++) {
		struct algorithm a = { .kind = fs_models[i]->kinds };

		while (next_algorithm(&a)) {
			size_t j = 0;

			while (j < i && packer_by_name(fs_models[j]->kinds,
			    a.text, &name) != 0)
				j++;
			if (j == i)
				fprintf(out, " %s", a.text);
		}
	}
}

static const char fsratio_usage[] =
"usage: fsratio [-hqV] [-a algorithm,...|all] [-p threads]\n"
"               [--fs zfs|zfs-2.1|zfs-fuse|btrfs|squashfs|sqpack]\n"
"               [--ashift bits] [--recordsize bytes] [--no-early-abort]\n"
"               [--layout layout] [--copies n] [--redundant-metadata which]\n"
"               [--dnodesize size] [--special bytes] [--encryption] [--dedup]\n"
"               [--no-embedded-data] [--new-times] [--libzstd file] [--force]\n"
"               [--metadata dup|single] [--block bytes] [--by-size]\n"
"               [--csv|--json] [--provenance] directory ...\n";

static const char fsratio_about[] =
"Predicts how much space directories would take on a compressing filesystem,\n"
"trying every algorithm in one pass, without needing that filesystem.\n";

#define OPTIONS_INTO struct fsratio

/* A mask tells which filesystems an option applies to. */
static const struct options_row fsratio_table[] = {
	{ 'a', "algorithms", "LIST", "all; off; zfs: lzjb, zle, lz4, "
	    "gzip-1..9, zstd-1..19, zstd-fast-N; btrfs: zlib-1..9, lzo, "
	    "zstd-1..15; squashfs: gzip-1..9, lz4, lz4hc, lzo-1..9, xz, "
	    "zstd-1..22; sqpack: the same, with gzip-1..12; default: a "
	    "selection", OPTIONS_TEXT(o.algorithm_list),
	    .list = list_algorithms },
	{ 0, "ashift", "BITS", "zfs: log2 of a sector: 9 (512 bytes) to 16; "
	    "default 12", OPTIONS_NUMBER(o.params.ashift, "ashift", 9, 16),
	    .mask = FS_ASHIFT },
	{ 0, "block", "BYTES", "squashfs: a power of two from 4K to 1M; "
	    "default 128K", OPTIONS_POWER(o.params.block, "block size",
	    4 << 10, 1 << 20, "a power of two from 4K to 1M"),
	    .mask = FS_BLOCK },
	{ 0, "by-size", NULL, "add rows for each file size class; not for "
	    "squashfs", OPTIONS_FLAG(o.by_size), .mask = FS_BY_SIZE },
	{ 0, "csv", NULL, "", OPTIONS_FLAG(o.csv) },
	{ 0, "json", NULL, "write rows instead of the table",
	    OPTIONS_FLAG(o.json) },
	{ 0, "provenance", NULL, "precede the rows of CSV with comments that "
	    "describe their origin", OPTIONS_FLAG(o.provenance) },
	{ 0, "copies", "N", "zfs: 1 to 3 copies of data, and one more of "
	    "metadata", OPTIONS_NUMBER(o.params.copies, "number of copies", 1,
	    3), .mask = FS_OPENZFS },
	{ 0, "dedup", NULL, "zfs: checksums as for deduplication",
	    OPTIONS_FLAG(o.params.dedup), .mask = FS_OPENZFS },
	{ 0, "dnodesize", "SIZE", "zfs: legacy (default), auto, or a power of "
	    "two from 1K to 16K", OPTIONS_TEXT(o.dnodesize),
	    .mask = FS_OPENZFS },
	{ 0, "encryption", NULL, "zfs: an encrypted dataset",
	    OPTIONS_FLAG(o.params.encrypted), .mask = FS_OPENZFS },
	{ 0, "force", NULL, "btrfs: assume mount option compress-force",
	    OPTIONS_FLAG(o.params.force), .mask = FS_FORCE },
	{ 0, "fs", "KIND", "zfs (default): OpenZFS 2.3; zfs-2.1: OpenZFS "
	    "2.1; zfs-fuse: pool version 23; btrfs; squashfs: an image made "
	    "by mksquashfs; sqpack: one made by sqpack",
	    OPTIONS_TEXT(o.fs_name), .list = list_models },
	{ 0, "layout", "LAYOUT", "zfs: disk (default), mirror, raidz1:WIDTH to "
	    "raidz3:WIDTH, draid1:DATAd to draid3:DATAd",
	    OPTIONS_TEXT(o.layout), .mask = FS_OPENZFS },
	{ 0, "libzstd", "FILE", "zfs: compress with this shared libzstd; "
	    "OpenZFS contains version 1.4.5", OPTIONS_TEXT(o.libzstd),
	    .mask = FS_OPENZFS },
	{ 0, "metadata", "dup|single", "btrfs: how metadata is stored, as "
	    "with mkfs.btrfs -m; default dup",
	    OPTIONS_NAME(o.params.single, "metadata profile",
	    "dup or single"), .mask = FS_METADATA },
	{ 0, "new-times", NULL, "zfs: a copy that does not keep times",
	    OPTIONS_FLAG(o.params.new_times), .mask = FS_OPENZFS },
	{ 0, "no-embedded-data", NULL, "zfs: a pool without the feature "
	    "embedded_data", OPTIONS_FLAG(o.params.not_embedded),
	    .mask = FS_OPENZFS },
	{ 0, "no-early-abort", NULL, "zfs: zstd-3 and above try every record",
	    OPTIONS_CLEAR(o.params.early_abort), .mask = FS_EARLY_ABORT },
	{ 'p', "threads", "N", "number of threads (default: usable CPUs)",
	    OPTIONS_THREADS(o.threads, THREADS_MAX), .also = "processes" },
	{ 0, "recordsize", "BYTES", "zfs: a power of two from 512 to 16M; "
	    "default 128K", OPTIONS_POWER(o.params.recordsize, "record size",
	    512, 16 << 20, "a power of two from 512 to 16M"),
	    .mask = FS_RECORDSIZE },
	{ 0, "redundant-metadata", "WHICH", "zfs: all (default), most, some or "
	    "none", OPTIONS_NAME(o.params.redundant, "redundant metadata",
	    "all, most, some or none"), .mask = FS_OPENZFS },
	{ 0, "special", "BYTES", "zfs: metadata, and records of up to so many "
	    "bytes, are on a special vdev", OPTIONS_SIZE(o.params.special,
	    "special block size"), .mask = FS_OPENZFS },
	{ 'q', "quiet", NULL, "be quiet", OPTIONS_FLAG(msg.quiet) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_VERSION("fsratio", show_fsratio_parts) },
};

/* Loads the libzstd that was asked for.  Returns -1, or the exit status. */
static int
load_libzstd(struct fsratio *f)
{
	char why[PACKER_ZSTD_WHY_B];

	if (f->o.libzstd == NULL)
		return -1;
	if (packer_zstd_load(&f->zstd, f->o.libzstd, why) != 0) {
		msg_error(&f->msg, "%s: %s", f->o.libzstd, why);
		return MSG_ERROR;
	}
	f->o.params.zstd = f->zstd;
	return -1;
}

/* Parses the property dnodesize; auto is 1k. */
static bool
parse_dnodesize(const char *text, uint32_t *size)
{
	static const char *const names[] = { "legacy", "1k", "2k", "4k", "8k",
	    "16k" };

	if (strcmp(text, "auto") == 0)
		text = "1k";
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*size = 512U << i;
		if (strcasecmp(text, names[i]) == 0)
			return true;
	}
	return false;
}

int
fsratio_parse(struct fsratio *f, int argc, char **argv)
{
	struct options options = { .msg = &f->msg, .into = f,
	    OPTIONS_TABLE(fsratio_table), .usage = fsratio_usage,
	    .about = fsratio_about };
	struct fsratio_options *o = &f->o;
	const struct options_row *foreign;
	int status;

	msg_init(&f->msg, argv[0]);
	*o = (struct fsratio_options){ .argc = argc, .argv = argv,
	    .fs_name = "zfs", .algorithm_list = "",
	    .params = { .early_abort = true, .ashift = 12,
	    .recordsize = 128 << 10, .block = 128 << 10, .copies = 1,
	    .special = UINT64_MAX }, .layout = "disk",
	    .dnodesize = "legacy" };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	o->dirs = argv + optind;
	o->dir_count = argc - optind;
	o->fs = fs_model_by_name(o->fs_name);
	if (o->fs == NULL) {
		msg_error(&f->msg, "unknown filesystem '%s'; expected zfs, "
		    "zfs-2.1, zfs-fuse, btrfs, squashfs or sqpack", o->fs_name);
		return MSG_ERROR;
	}
	foreign = options_foreign(&options, o->fs->options);
	if (foreign != NULL) {
		msg_error(&f->msg, "--%s does not apply to %s", foreign->name,
		    o->fs->name);
		return MSG_ERROR;
	}
	if (fs_layout_by_name(o->layout, &o->params.layout) != 0) {
		msg_error(&f->msg, "unknown layout '%s'; expected disk, "
		    "mirror, raidz1:WIDTH or draid1:DATAd, with 1 to 3 disks "
		    "for parity and up to 255 in all", o->layout);
		return MSG_ERROR;
	}
	if (!parse_dnodesize(o->dnodesize, &o->params.dnodesize)) {
		msg_error(&f->msg, "unknown dnode size '%s'; expected legacy, "
		    "auto, 1k, 2k, 4k, 8k or 16k", o->dnodesize);
		return MSG_ERROR;
	}
	if (o->csv && o->json)
		return options_wrong(&f->msg, "--csv and --json cannot be "
		    "combined");
	if (o->dir_count == 0)
		return options_usage(fsratio_usage);
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	status = load_libzstd(f);
	if (status >= 0)
		return status;
	if (strcmp(o->algorithm_list, "all") == 0) {
		struct algorithm a = { .kind = o->fs->kinds };

		status = take_algorithm(f, "off");
		while (status < 0 && next_algorithm(&a))
			status = take_algorithm(f, a.text);
		return status;
	}
	return take_algorithms(f, *o->algorithm_list == '\0' ? o->fs->some :
	    o->algorithm_list);
}
