/*
 * layerpack_options.c - the command line of layerpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/cpus.h"
#include "base/hex.h"
#include "base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_version.h>
#include <zlib.h>
#include <zstd.h>

enum { THREADS_MAX = 1024 };

const char layerpack_usage[] =
"usage: layerpack -F format -o layer [-0fqv] [-c size] [-L level] [-p threads]\n"
"                 [-T dir] [--min-chunk size] [--order list] [--no-trace]\n"
"                 [--no-tar-split] [--no-compact-index] [--stargz]\n"
"                 [--windows raw|packed] [--min-layer size] [--stats[=file]]\n"
"                 archive\n"
#ifdef COLDPRESS_SQLITE
"       layerpack -F cas -o repository [-qv] [-c size] [-L level] [-p threads]\n"
"                 [--catalog names] [--key file] [--name name] archive ...\n"
#endif
#ifdef COLDPRESS_OCI
"       layerpack --image -F format [--platform os/arch] [options of -o]\n"
"                 layout[:tag] new-layout\n"
#endif
"       layerpack -t [-qv] [--csv | --json] [layer options] layer\n"
"       layerpack -x dir [-fqv] [-p threads] [--no-xattrs]\n"
"                 [--whiteouts keep|overlay] [layer options] layer\n"
"       layerpack --verify [-qv] [-p threads] [layer options] layer\n"
"layer options: [-F format] [--index-digest digest] [--ztoc file]\n";

static const char help[] =
"\n"
"Makes, lists, extracts and verifies container image layers whose index\n"
"allows files to be read without the rest of the layer.\n"
"\n"
"  -F, --format FORMAT    estargz, zstd-chunked or ztoc; default:\n"
"                         detected\n"
"  -f, --force            replace existing files\n"
"  -p, --threads N        number of threads (default: usable CPUs)\n"
"  -t, --list             list the entries; -v: like tar -tv\n"
"  -x, --extract DIR      extract all entries to DIR\n"
"      --verify           verify every unit's digest, and that the archive\n"
"                         matches the index\n"
"      --csv, --json      list the entries as rows\n"
"      --index-digest D   refuse a layer whose index has a different digest\n"
"      --no-xattrs        omit extended attributes\n"
"      --whiteouts FORM   keep: as files .wh.NAME (default); overlay: as\n"
"                         overlayfs stores them\n"
"      --ztoc FILE        the index, if LAYER contains none (LAYER.ztoc)\n"
"\n"
"Makes a layer from a tar archive, compressed or not (-: standard input):\n"
"  -o, --output FILE      the layer to write; requires -F\n"
"  -c, --chunk SIZE       file bytes per unit (4M; zstd-chunked 1M; ztoc with\n"
"                         packed windows 256K)\n"
"  -L, --level N          compression level (estargz 9; zstd-chunked 10)\n"
"      --min-chunk SIZE   combine small files in a unit up to this size\n"
"      --order LIST       files to put first, for example from touchlog\n"
"  -0, --null             paths in LIST end with NUL\n"
"      --no-trace         do not store the files in LIST twice\n"
"      --no-tar-split     zstd-chunked: omit the archive's headers\n"
"      --no-compact-index omit the compact index, which only coldpress reads\n"
"      --stargz           zstd-chunked: for the stargz snapshotter, which reads\n"
"                         no other layers of this format lazily\n"
"      --windows KIND     ztoc: raw, as in SOCI (default); packed:\n"
"                         compressed, and fetched when needed\n"
"      --min-layer SIZE   ztoc: skip a smaller layer, without an error\n"
"      --stats[=FILE]     write statistics as a line of JSON\n"
#ifdef COLDPRESS_SQLITE
"      --catalog NAMES    cas: give subdirectories their own catalogs beyond\n"
"                         this many names (10000)\n"
"      --key FILE         cas: the private key to sign with; default: a new one\n"
"      --name NAME        cas: repository name; default: its directory's\n"
#endif
"  -T, --tmpdir DIR       directory for temporary files (--order, --verify)\n"
#ifdef COLDPRESS_OCI
"      --image            convert all layers of an OCI image layout and write\n"
"                         a new one\n"
"      --platform OS/ARCH[/VARIANT]\n"
"                         convert only images for this platform; default: all\n"
#endif
"\n"
"  -q, -v                 print less; print more\n"
"  -h, -V                 this help; versions\n";

enum long_only {
	CSV = 256, IMAGE, INDEX_DIGEST, JSON, KEY, NO_XATTRS, PLATFORM,
	VERIFY, WHITEOUTS, ZTOC
};

static const struct option long_options[] = {
#ifdef COLDPRESS_SQLITE
	{ "catalog", required_argument, NULL, LAYERPACK_CATALOG },
	{ "key", required_argument, NULL, KEY },
	{ "name", required_argument, NULL, LAYERPACK_NAME },
#endif
	{ "chunk", required_argument, NULL, 'c' },
	{ "csv", no_argument, NULL, CSV },
	{ "extract", required_argument, NULL, 'x' },
	{ "force", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, 'F' },
	{ "help", no_argument, NULL, 'h' },
#ifdef COLDPRESS_OCI
	{ "image", no_argument, NULL, IMAGE },
	{ "platform", required_argument, NULL, PLATFORM },
#endif
	{ "index-digest", required_argument, NULL, INDEX_DIGEST },
	{ "json", no_argument, NULL, JSON },
	{ "level", required_argument, NULL, 'L' },
	{ "list", no_argument, NULL, 't' },
	{ "min-chunk", required_argument, NULL, LAYERPACK_MIN_CHUNK },
	{ "min-layer", required_argument, NULL, LAYERPACK_MIN_LAYER },
	{ "no-compact-index", no_argument, NULL, LAYERPACK_NO_COMPACT },
	{ "no-tar-split", no_argument, NULL, LAYERPACK_NO_TAR_SPLIT },
	{ "no-trace", no_argument, NULL, LAYERPACK_NO_TRACE },
	{ "no-xattrs", no_argument, NULL, NO_XATTRS },
	{ "null", no_argument, NULL, '0' },
	{ "order", required_argument, NULL, LAYERPACK_ORDER },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "stargz", no_argument, NULL, LAYERPACK_STARGZ },
	{ "stats", optional_argument, NULL, LAYERPACK_STATS },
	{ "threads", required_argument, NULL, 'p' },
	{ "tmpdir", required_argument, NULL, 'T' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ "whiteouts", required_argument, NULL, WHITEOUTS },
	{ "windows", required_argument, NULL, LAYERPACK_WINDOWS },
	{ "ztoc", required_argument, NULL, ZTOC },
	{ NULL, 0, NULL, 0 }
};

int
layerpack_help(struct layerpack *p)
{
	return options_help(&p->msg, layerpack_usage, help);
}

int
layerpack_version(struct layerpack *p)
{
	printf("layerpack (coldpress) %s\nzlib %s\nzstd %s\nyajl %d.%d.%d\n",
	    COLDPRESS_VERSION, zlibVersion(), ZSTD_versionString(),
	    YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO);
	return msg_finish(&p->msg);
}

static int
set_rows(struct layerpack *p, enum table_format format)
{
	p->o.rows = true;
	p->o.format = format;
	return -1;
}

static int
set_digest(struct layerpack *p)
{
	struct layer_expect *e = &p->o.expect;

	*e = (struct layer_expect){ .index_digest = p->o.digest };
	if (hex_read_sha256(p->o.digest, optarg) == 0)
		return -1;
	e->index_digest = NULL;
	return layer_expect_compact(e, p->o.digest, optarg) == 0 ? -1 :
	    options_bad(&p->msg, "digest", "sha256: followed by 64 "
	    "hexadecimal digits");
}

static int
set_whiteouts(struct layerpack *p)
{
	p->o.overlay = strcmp(optarg, "overlay") == 0;
	if (!p->o.overlay && strcmp(optarg, "keep") != 0)
		return options_bad(&p->msg, "form of whiteouts",
		    "keep or overlay");
	return -1;
}

int
layerpack_set_mode(struct layerpack *p, enum layerpack_mode mode)
{
	if (p->o.mode != LAYERPACK_NONE && p->o.mode != mode)
		return options_usage(layerpack_usage);
	p->o.mode = mode;
	if (mode == LAYERPACK_EXTRACT)
		p->o.directory = optarg;
	return -1;
}

/* Returns -1 to continue, or the exit status. */
static int
take_option(struct layerpack *p, int opt)
{
	switch (opt) {
	case 'F': p->o.kind = optarg; break;
	case 'f': p->o.force = true; break;
	case 'h': return layerpack_help(p);
	case 'p':
		return options_threads(&p->msg, THREADS_MAX, &p->o.threads);
	case 'q': p->msg.quiet = true; break;
	case 't': return layerpack_set_mode(p, LAYERPACK_LIST);
	case 'v': p->msg.verbose++; break;
	case 'V': return layerpack_version(p);
	case 'x': return layerpack_set_mode(p, LAYERPACK_EXTRACT);
	case CSV: return set_rows(p, TABLE_CSV);
	case IMAGE: return layerpack_set_mode(p, LAYERPACK_IMAGE);
	case INDEX_DIGEST: return set_digest(p);
	case JSON: return set_rows(p, TABLE_JSON);
	case KEY: p->o.key = optarg; break;
	case NO_XATTRS: p->o.no_xattrs = true; break;
	case PLATFORM: p->o.platform = optarg; break;
	case VERIFY: return layerpack_set_mode(p, LAYERPACK_VERIFY);
	case WHITEOUTS: return set_whiteouts(p);
	case ZTOC: p->o.side = optarg; break;
	case '?': return MSG_ERROR;
	default: return layerpack_make_option(p, opt);
	}
	return -1;
}

/* Only a repository can be built from several archives. */
static bool
has_operands(const struct layerpack *p)
{
	bool several = p->o.mode == LAYERPACK_MAKE && p->o.kind != NULL &&
	    strcmp(p->o.kind, "cas") == 0;

	if (p->o.mode == LAYERPACK_IMAGE)
		return p->o.operand_count == 2;
	return several ? p->o.operand_count >= 1 : p->o.operand_count == 1;
}

int
layerpack_parse(struct layerpack *p, int argc, char **argv)
{
	int opt, status = -1;
	bool image;

	while (status < 0 && (opt = options_next(&p->msg, argc, argv,
	    "0c:fF:hL:o:p:qtT:vVx:", long_options)) != -1)
		status = take_option(p, opt);
	if (status >= 0)
		return status;
	image = p->o.mode == LAYERPACK_IMAGE;
	p->o.operands = argv + optind;
	p->o.operand_count = argc - optind;
	if (p->o.mode == LAYERPACK_NONE || !has_operands(p))
		return options_usage(layerpack_usage);
	p->o.threads = cpus_choose(p->o.threads, THREADS_MAX);
	p->o.source = argv[optind];
	p->o.image = argv[optind + image];
	return image || p->o.mode == LAYERPACK_MAKE ?
	    layerpack_make_check(p) : -1;
}
