/*
 * layerpack_options.c - the command line of layerpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/hex.h"
#include "base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <yajl/yajl_version.h>
#include <zlib.h>
#include <zstd.h>

const char layerpack_usage[] =
"usage: layerpack -t [-qv] [--csv | --json] [-F format] [--ztoc file]\n"
"                 [--index-digest sha256:hex] layer\n";

static const char help[] =
"\n"
"Lists the entries of a container image's layer whose index allows files to be\n"
"read without the rest of it.\n"
"\n"
"  -F, --format FORMAT    estargz or zstd-chunked; default: what it is in\n"
"  -t, --list             the entries; -v: as tar -tv\n"
"      --csv, --json      entries as rows\n"
"      --index-digest D   refuse a layer whose index has another digest\n"
"      --ztoc FILE        the index of a layer without one (layer.ztoc)\n"
"  -q, -v                 say less; say more\n"
"  -h, -V                 this help; versions\n";

enum long_only { CSV = 256, JSON, INDEX_DIGEST, ZTOC };

static const struct option long_options[] = {
	{ "csv", no_argument, NULL, CSV },
	{ "format", required_argument, NULL, 'F' },
	{ "help", no_argument, NULL, 'h' },
	{ "index-digest", required_argument, NULL, INDEX_DIGEST },
	{ "json", no_argument, NULL, JSON },
	{ "list", no_argument, NULL, 't' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
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
	if (hex_read_sha256(p->o.digest, optarg) != 0)
		return options_bad(&p->msg, "digest", "sha256: and 64 "
		    "hexadecimal digits");
	p->o.has_digest = true;
	return -1;
}

/* -1 to continue, or the status. */
static int
take_option(struct layerpack *p, int opt)
{
	switch (opt) {
	case 'F': p->o.kind = optarg; break;
	case 'h': return layerpack_help(p);
	case 'q': p->msg.quiet = true; break;
	case 't': p->o.mode = LAYERPACK_LIST; break;
	case 'v': p->msg.verbose++; break;
	case 'V': return layerpack_version(p);
	case CSV: return set_rows(p, TABLE_CSV);
	case JSON: return set_rows(p, TABLE_JSON);
	case INDEX_DIGEST: return set_digest(p);
	case ZTOC: p->o.side = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
}

int
layerpack_parse(struct layerpack *p, int argc, char **argv)
{
	int opt, status = -1;

	while (status < 0 && (opt = options_next(&p->msg, argc, argv,
	    "F:hqtvV", long_options)) != -1)
		status = take_option(p, opt);
	if (status >= 0)
		return status;
	if (p->o.mode == LAYERPACK_NONE || argc - optind != 1)
		return options_usage(layerpack_usage);
	p->o.source = argv[optind];
	return -1;
}
