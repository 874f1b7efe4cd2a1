/*
 * coldwalk_options.c - the command line of coldwalk
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/cpus.h"
#include "base/hex.h"
#include "base/options.h"
#include "engine/packer/packer.h"

#include <stdio.h>
#include <string.h>

enum { THREADS_MAX = 1024, MEMORY_B = 1 << 30 };

static void
show_coldwalk_parts(void)
{
	char text[64];

	digest_version(text, sizeof(text));
	printf("%s\nSHA-256 by %s%s\n", text, digest_sha256_by(),
	    packer_lzo_notice());
}

static const char coldwalk_usage[] =
"usage: coldwalk [-0fhqvV] [-p threads] [--hash sha256|md5|none]\n"
"                [--cold auto|fadvise|drop|none]\n"
"                [--files-from list [--ranges]]\n"
"                [--csv|--json] [--provenance] [--summary] [-o manifest]\n"
"                [--offset bytes] [--prefix text] [--plain]\n"
"                [--memory size] path ...\n"
"       coldwalk --resident [-0qv] [-p threads] [--files-from list]\n"
"                [--cold auto|fadvise|drop|none] [--csv|--json] [--provenance]\n"
"                path ...\n";

static const char coldwalk_about[] =
"Reads every file in directories, mounts and squashfs images, cold and in\n"
"parallel, and writes their checksums as sha256sum does.\n";

/* the order in which --cold lists its methods */
_Static_assert(COLD_AUTO == 0 && COLD_FADVISE == 1 && COLD_DROP == 2 &&
    COLD_NONE == 3, "enum cold_method");

#define OPTIONS_INTO struct coldwalk

static const struct options_row coldwalk_table[] = {
	{ 'p', "threads", "N", "number of hashing threads (default: usable "
	    "CPUs)", OPTIONS_THREADS(o.threads, THREADS_MAX),
	    .also = "processes" },
	{ 0, "hash", "KIND", "sha256 (default), md5, or none (only read)",
	    OPTIONS_WORD(o.hash, "digest", "sha256, md5 or none") },
	{ 0, "cold", "HOW", "evict files first: auto (default), fadvise, "
	    "drop (all caches, as root), none",
	    OPTIONS_NAME(o.cold, "eviction method",
	    "auto, fadvise, drop or none") },
	{ 0, "files-from", "LIST", "only these files; - is standard input",
	    OPTIONS_TEXT(o.files_from) },
	{ 0, "ranges", NULL, "LIST contains parts of files, as written by "
	    "touchlog; read only these, without a digest",
	    OPTIONS_FLAG(o.ranges) },
	{ '0', "null", NULL, "names in LIST end with NUL, not newline",
	    OPTIONS_FLAG(o.null_lines) },
	{ 0, "csv", NULL, "", OPTIONS_FLAG(o.csv) },
	{ 0, "json", NULL, "a row for each file instead of the checksum "
	    "lines", OPTIONS_FLAG(o.json) },
	{ 0, "provenance", NULL, "precede the rows of CSV with comments that "
	    "describe their origin", OPTIONS_FLAG(o.provenance) },
	{ 0, "summary", NULL, "print a summary, or one row with --csv or "
	    "--json", OPTIONS_FLAG(o.summary) },
	{ 'o', "output", "FILE", "write the checksum lines to FILE",
	    OPTIONS_TEXT(o.output) },
	{ 'f', "force", NULL, "replace FILE", OPTIONS_FLAG(o.force) },
	{ 0, "offset", "BYTES", "offset of the image in its file",
	    OPTIONS_SIZE(o.offset, "offset") },
	{ 0, "plain", NULL, "read an image as a plain file",
	    OPTIONS_FLAG(o.plain) },
	{ 0, "verity", "HASH", "verify an image by the dm-verity tree behind "
	    "it, which has this root hash", OPTIONS_TEXT(o.verity) },
	{ 0, "memory", "SIZE", "memory limit for an image's tables, names and "
	    "rows (default: 1G)", OPTIONS_SIZE(o.memory, "memory") },
	{ 0, "prefix", "TEXT", "prepend TEXT to every name",
	    OPTIONS_TEXT(o.prefix) },
	{ 0, "resident", NULL, "read nothing; report how much of the files is "
	    "in memory (after --cold, if given)", OPTIONS_FLAG(o.resident) },
	{ 'q', "quiet", NULL, "", OPTIONS_FLAG(msg.quiet) },
	{ 'v', "verbose", NULL, "be quiet, or verbose",
	    OPTIONS_COUNT(msg.verbose) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_VERSION("coldwalk", show_coldwalk_parts) },
};

int
coldwalk_parse(struct coldwalk *c, int argc, char **argv)
{
	struct options options = { .msg = &c->msg, .into = c,
	    OPTIONS_TABLE(coldwalk_table), .usage = coldwalk_usage,
	    .about = coldwalk_about };
	struct coldwalk_options *o = &c->o;
	bool none;
	int status;

	msg_init(&c->msg, argv[0]);
	*o = (struct coldwalk_options){ .hash = "sha256",
	    .cold = COLD_AUTO, .memory = MEMORY_B, .argc = argc, .argv = argv };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	o->paths = argv + optind;
	o->path_count = argc - optind;
	o->cold_asked = o->cold == COLD_FADVISE || o->cold == COLD_DROP;
	if (o->path_count == 0)
		return options_usage(coldwalk_usage);
	if (o->csv && o->json)
		return options_wrong(&c->msg, "--csv and --json cannot be "
		    "combined");
	if (o->resident && (o->output != NULL || o->summary ||
	    o->offset != 0))
		return options_wrong(&c->msg, "--resident cannot be combined "
		    "with -o, --summary or --offset");
	if (o->plain && o->offset != 0)
		return options_wrong(&c->msg, "--offset cannot be combined "
		    "with --plain");
	if (o->verity != NULL && hex_read(o->verity_root, VERITY_HASH_B,
	    o->verity) != 0) {
		msg_error(&c->msg, "--verity '%s' is not a root hash of 64 "
		    "hexadecimal digits", o->verity);
		return MSG_ERROR;
	}
	if (o->verity != NULL && (o->plain || o->resident))
		return options_wrong(&c->msg, "--verity cannot be combined "
		    "with --plain or --resident");
	if (o->ranges && (o->files_from == NULL || o->resident))
		return options_wrong(&c->msg, "--ranges requires --files-from, "
		    "and cannot be combined with --resident");
	if (o->resident || o->ranges)
		o->hash = "none";
	none = strcmp(o->hash, "none") == 0;
	if (none && o->output != NULL)
		return options_wrong(&c->msg, "-o needs a digest, so it cannot "
		    "be combined with --hash none");
	/* without digests there are no checksum lines to write */
	if (none && !o->csv && !o->json)
		o->summary = true;
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	return -1;
}
