/*
 * coldwalk_options.c - the command line of coldwalk
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "coldwalk.h"

#include "base/cpus.h"
#include "base/options.h"
#include "engine/packer/packer.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_MAX = 1024, MEMORY_B = 1 << 30 };

enum { OPT_CSV = 256, OPT_JSON, OPT_SUMMARY, OPT_HASH, OPT_COLD, OPT_FROM,
    OPT_MEMORY, OPT_OFFSET, OPT_PLAIN, OPT_PREFIX, OPT_RANGES,
    OPT_RESIDENT };

static const struct option longs[] = {
	{ "cold", required_argument, NULL, OPT_COLD },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "files-from", required_argument, NULL, OPT_FROM },
	{ "force", no_argument, NULL, 'f' },
	{ "hash", required_argument, NULL, OPT_HASH },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "null", no_argument, NULL, '0' },
	{ "offset", required_argument, NULL, OPT_OFFSET },
	{ "output", required_argument, NULL, 'o' },
	{ "plain", no_argument, NULL, OPT_PLAIN },
	{ "prefix", required_argument, NULL, OPT_PREFIX },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "ranges", no_argument, NULL, OPT_RANGES },
	{ "resident", no_argument, NULL, OPT_RESIDENT },
	{ "summary", no_argument, NULL, OPT_SUMMARY },
	{ "threads", required_argument, NULL, 'p' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: coldwalk [-0fhqvV] [-p threads] [--hash sha256|md5|none]\n"
"                [--cold auto|fadvise|drop|none]\n"
"                [--files-from list [--ranges]]\n"
"                [--csv|--json] [--summary] [-o manifest] [--offset bytes]\n"
"                [--prefix text] [--plain] [--memory size] path ...\n"
"       coldwalk --resident [-0qv] [-p threads] [--files-from list]\n"
"                [--cold auto|fadvise|drop|none] [--csv|--json] path ...\n";

static const char help[] =
"\n"
"Reads every file in directories, mounts and squashfs images, cold and in\n"
"parallel, and writes their checksums as sha256sum does.\n"
"\n"
"  -p, --threads N     number of hashing threads (default: usable CPUs)\n"
"  --hash KIND         sha256 (default), md5, or none (only read)\n"
"  --cold HOW          evict files first: auto (default), fadvise,\n"
"                      drop (all caches, as root), none\n"
"  --files-from LIST   only these files; - is standard input\n"
"  --ranges            LIST contains parts of files, as written by touchlog;\n"
"                      read only these, without a digest\n"
"  -0, --null          names in LIST end with NUL, not newline\n"
"  --csv, --json       a row for each file instead of the checksum lines\n"
"  --summary           print a summary, or one row with --csv or --json\n"
"  -o, --output FILE   write the checksum lines to FILE\n"
"  -f, --force         replace FILE\n"
"  --offset BYTES      offset of the image in its file\n"
"  --plain             read an image as a plain file\n"
"  --memory SIZE       memory limit for an image's tables, names and rows\n"
"                      (default: 1G)\n"
"  --prefix TEXT       prepend TEXT to every name\n"
"  --resident          read nothing; report how much of the files is in\n"
"                      memory (after --cold, if given)\n"
"  -q, -v              be quiet, or verbose\n"
"  -h, -V              this help; versions\n";

static int
show_version(struct coldwalk *c)
{
	char text[64];

	digest_version(text, sizeof(text));
	printf("coldwalk (coldpress) %s\n%s\nSHA-256 by %s%s\n",
	    COLDPRESS_VERSION, text, digest_sha256_by(),
	    packer_lzo_notice());
	return msg_finish(&c->msg);
}

static int
set_cold(struct coldwalk *c)
{
	struct coldwalk_options *o = &c->o;

	if (cold_method_by_name(optarg, &o->cold) != 0)
		return options_bad(&c->msg, "eviction method",
		    "auto, fadvise, drop or none");
	o->cold_asked = o->cold == COLD_FADVISE || o->cold == COLD_DROP;
	return -1;
}

static int
set_hash(struct coldwalk *c)
{
	if (strcmp(optarg, "sha256") != 0 && strcmp(optarg, "md5") != 0 &&
	    strcmp(optarg, "none") != 0)
		return options_bad(&c->msg, "digest", "sha256, md5 or none");
	c->o.hash = optarg;
	return -1;
}

/* Returns -1, or the exit status. */
static int
take(struct coldwalk *c, int opt)
{
	struct coldwalk_options *o = &c->o;

	switch (opt) {
	case '0': o->null_lines = true; break;
	case 'f': o->force = true; break;
	case 'h': return options_help(&c->msg, usage, help);
	case 'o': o->output = optarg; break;
	case 'p': return options_threads(&c->msg, THREADS_MAX, &o->threads);
	case 'q': c->msg.quiet = true; break;
	case 'v': c->msg.verbose++; break;
	case 'V': return show_version(c);
	case OPT_COLD: return set_cold(c);
	case OPT_CSV: o->csv = true; break;
	case OPT_FROM: o->files_from = optarg; break;
	case OPT_HASH: return set_hash(c);
	case OPT_JSON: o->json = true; break;
	case OPT_OFFSET: return options_size(&c->msg, "offset", &o->offset);
	case OPT_PLAIN: o->plain = true; break;
	case OPT_MEMORY: return options_size(&c->msg, "memory", &o->memory);
	case OPT_PREFIX: o->prefix = optarg; break;
	case OPT_RANGES: o->ranges = true; break;
	case OPT_RESIDENT: o->resident = true; break;
	case OPT_SUMMARY: o->summary = true; break;
	default: return MSG_ERROR;
	}
	return -1;
}

static int
check(struct coldwalk *c)
{
	struct coldwalk_options *o = &c->o;
	bool none;

	if (o->path_count == 0)
		return options_usage(usage);
	if (o->csv && o->json) {
		msg_error(&c->msg, "--csv and --json cannot be combined");
		return MSG_ERROR;
	}
	if (o->resident && (o->output != NULL || o->summary ||
	    o->offset != 0)) {
		msg_error(&c->msg, "--resident cannot be combined with -o, "
		    "--summary or --offset");
		return MSG_ERROR;
	}
	if (o->plain && o->offset != 0) {
		msg_error(&c->msg, "--offset cannot be combined with --plain");
		return MSG_ERROR;
	}
	if (o->ranges && (o->files_from == NULL || o->resident)) {
		msg_error(&c->msg, "--ranges requires --files-from, and cannot "
		    "be combined with --resident");
		return MSG_ERROR;
	}
	if (o->resident || o->ranges)
		o->hash = "none";
	none = strcmp(o->hash, "none") == 0;
	if (none && o->output != NULL) {
		msg_error(&c->msg, "-o needs a digest, so it cannot be "
		    "combined with --hash none");
		return MSG_ERROR;
	}
	/* without digests there are no checksum lines to write */
	if (none && !o->csv && !o->json)
		o->summary = true;
	o->threads = cpus_choose(o->threads, THREADS_MAX);
	return -1;
}

int
coldwalk_parse(struct coldwalk *c, int argc, char **argv)
{
	int ch, status = -1;

	msg_init(&c->msg, argv[0]);
	c->o = (struct coldwalk_options){ .hash = "sha256",
	    .cold = COLD_AUTO, .memory = MEMORY_B, .argc = argc, .argv = argv };
	while (status < 0 && (ch = options_next(&c->msg, argc, argv,
	    "0fho:p:qvV", longs)) != -1)
		status = take(c, ch);
	if (status >= 0)
		return status;
	c->o.paths = argv + optind;
	c->o.path_count = argc - optind;
	return check(c);
}
