/*
 * layerpack_options.c - the command line of layerpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/cpus.h"
#include "base/hex.h"
#include "base/options.h"
#include "lazy/cvmfs/cas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_version.h>
#include <zlib.h>
#include <zstd.h>

enum {
	THREADS_MAX = 1024, CHUNK_MIN = 4096, TIMEOUT_S = 60,
	TIMEOUT_MAX = 3600, CONNECTIONS = 6, CONNECTIONS_MAX = 64
};

/* What an option applies to: making a layer in some formats, or --pull. */
enum { TAR = 1, ZTOC = 2, CAS = 4, CHUNKED = 8, PULL = 16 };

static const char layerpack_usage[] =
"usage: layerpack -F format -o layer [-0fqv] [-c size] [-L level] [-p threads]\n"
"                 [-T dir] [--min-chunk size] [--order list]... [--no-trace]\n"
"                 [--no-tar-split] [--no-compact-index] [--stargz]\n"
"                 [--windows raw|packed] [--min-layer size] [--stats[=file]]\n"
"                 archive\n"
#ifdef COLDPRESS_SQLITE
"       layerpack -F cas -o repository [-qv] [-c size] [-L level] [-p threads]\n"
"                 [--catalog names] [--key file] [--master-key file]\n"
"                 [--name name] [--update old] [--revision n] archive ...\n"
#endif
#ifdef COLDPRESS_PULL
"       layerpack --pull image -o destination [-qv] [-p threads]\n"
"                 [--platform os/arch] [--connections n] [...]\n"
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

static const char layerpack_about[] =
"Makes, lists, extracts and verifies container image layers whose index\n"
"allows files to be read without the rest of the layer.\n";

static void
show_layerpack_parts(void)
{
	printf("zlib %s\nzstd %s\nyajl %d.%d.%d\n", zlibVersion(),
	    ZSTD_versionString(), YAJL_MAJOR, YAJL_MINOR, YAJL_MICRO);
}

static int
take_digest(void *into)
{
	struct layerpack *p = into;
	struct layer_expect *e = &p->o.expect;

	*e = (struct layer_expect){ .index_digest = p->o.digest };
	if (hex_read_sha256(p->o.digest, optarg) == 0)
		return -1;
	e->index_digest = NULL;
	return layer_expect_compact(e, p->o.digest, optarg) == 0 ? -1 :
	    options_bad(&p->msg, "digest", "sha256: followed by 64 "
	    "hexadecimal digits");
}

/* Sets the mode.  Only one can be set; the value of some is a name. */
static int
take_mode(void *into, int value)
{
	struct layerpack *p = into;
	enum layerpack_mode mode = (enum layerpack_mode)value;

	if (p->o.mode != LAYERPACK_NONE && p->o.mode != mode)
		return options_usage(layerpack_usage);
	p->o.mode = mode;
	if (mode == LAYERPACK_EXTRACT)
		p->o.directory = optarg;
	if (mode == LAYERPACK_MAKE)
		p->o.make.output = optarg;
	return -1;
}

/* The formats of layers that can be made. */
static const enum layer_kind made[] = { LAYER_ESTARGZ, LAYER_ZSTD_CHUNKED,
    LAYER_ZTOC,
#ifdef COLDPRESS_SQLITE
    LAYER_CAS
#endif
};

enum { MADE = sizeof(made) / sizeof(made[0]) };

static void
list_formats(FILE *out)
{
	for (size_t i = 0; i < MADE; i++)
		fprintf(out, " %s", layer_kind_name(made[i]));
}

#define OPTIONS_INTO struct layerpack

static const struct options_row layerpack_table[] = {
	{ 'F', "format", "FORMAT", "estargz, zstd-chunked or ztoc; default: "
	    "detected", OPTIONS_TEXT(o.kind), .list = list_formats },
	{ 'f', "force", NULL, "replace existing files",
	    OPTIONS_FLAG(o.force) },
	{ 'p', "threads", "N", "number of threads (default: usable CPUs)",
	    OPTIONS_THREADS(o.threads, THREADS_MAX) },
	{ 't', "list", NULL, "list the entries; -v: like tar -tv",
	    OPTIONS_CALL_WITH(take_mode, LAYERPACK_LIST) },
	{ 'x', "extract", "DIR", "extract all entries to DIR",
	    OPTIONS_CALL_WITH(take_mode, LAYERPACK_EXTRACT) },
	{ 0, "verify", NULL, "verify every unit's digest, and that the archive "
	    "matches the index",
	    OPTIONS_CALL_WITH(take_mode, LAYERPACK_VERIFY) },
	{ 0, "csv", NULL, "", OPTIONS_SET(o.format, TABLE_CSV),
	    OPTIONS_GIVEN(o.rows) },
	{ 0, "json", NULL, "list the entries as rows",
	    OPTIONS_SET(o.format, TABLE_JSON), OPTIONS_GIVEN(o.rows) },
	{ 0, "index-digest", "D", "refuse a layer whose index has a different "
	    "digest", OPTIONS_CALL(take_digest) },
	{ 0, "no-xattrs", NULL, "omit extended attributes",
	    OPTIONS_FLAG(o.no_xattrs) },
	{ 0, "whiteouts", "FORM", "keep: as files .wh.NAME (default); overlay: "
	    "as overlayfs stores them", OPTIONS_NAME(o.overlay,
	    "form of whiteouts", "keep or overlay") },
	{ 0, "ztoc", "FILE", "the index, if LAYER contains none (LAYER.ztoc)",
	    OPTIONS_TEXT(o.side) },
	{ 0, NULL, NULL, "\nMakes a layer from a tar archive, compressed or not "
	    "(-: standard input):\n", OPTIONS_NOTE },
	{ 'o', "output", "FILE", "the layer to write; requires -F",
	    OPTIONS_CALL_WITH(take_mode, LAYERPACK_MAKE) },
	{ 'c', "chunk", "SIZE", "file bytes per unit (4M; zstd-chunked 1M; "
	    "ztoc with packed windows 256K)",
	    OPTIONS_SIZE(o.make.chunk, "chunk size") },
	{ 'L', "level", "N", "compression level (estargz 9; zstd-chunked 10)",
	    OPTIONS_NUMBER(o.make.level, "level", 0, 22) },
	{ 0, "min-chunk", "SIZE", "combine small files in a unit up to this "
	    "size", OPTIONS_SIZE(o.make.min_chunk, "size"), .mask = TAR },
	{ 0, "order", "LIST", "files to put first, for example from touchlog; "
	    "one list for each command", OPTIONS_LIST(o.make.lists),
	    .mask = TAR },
	{ '0', "null", NULL, "paths in LIST end with NUL",
	    OPTIONS_FLAG(o.make.null_ends) },
	{ 0, "no-trace", NULL, "do not store the files in LIST twice",
	    OPTIONS_FLAG(o.make.no_trace), .mask = TAR },
	{ 0, "no-tar-split", NULL, "zstd-chunked: omit the archive's headers",
	    OPTIONS_FLAG(o.make.no_tar_split), .mask = TAR },
	{ 0, "no-compact-index", NULL, "omit the compact index, which only "
	    "coldpress reads", OPTIONS_FLAG(o.make.no_compact), .mask = TAR },
	{ 0, "stargz", NULL, "zstd-chunked: for the stargz snapshotter, which "
	    "reads no other layers of this format lazily",
	    OPTIONS_FLAG(o.make.stargz), .mask = CHUNKED },
	{ 0, "windows", "KIND", "ztoc: raw, as in SOCI (default); packed: "
	    "compressed, and fetched when needed",
	    OPTIONS_WORD(o.make.windows, "type of windows", "raw or packed"),
	    .mask = ZTOC },
	{ 0, "min-layer", "SIZE", "ztoc: skip a smaller layer, without an "
	    "error", OPTIONS_SIZE(o.make.min_layer, "size"), .mask = ZTOC },
	{ 0, "stats", "[=FILE]", "write statistics as a line of JSON",
	    OPTIONS_TEXT_OR(o.make.stats, "-"), .mask = TAR | ZTOC },
#ifdef COLDPRESS_SQLITE
	{ 0, "catalog", "NAMES", "cas: give subdirectories their own catalogs "
	    "beyond this many names (10000)",
	    OPTIONS_NUMBER(o.make.catalog, "number of names", CAS_CATALOG_MIN,
	    LAYER_ENTRIES_MAX), .mask = CAS },
	{ 0, "key", "FILE", "cas: the private key to sign with; default: a new "
	    "one", OPTIONS_TEXT(o.key), .mask = CAS },
	{ 0, "master-key", "FILE", "cas: the private key to sign the whitelist "
	    "with; default: --key", OPTIONS_TEXT(o.make.master_key),
	    .mask = CAS },
	{ 0, "name", "NAME", "cas: repository name; default: its directory's",
	    OPTIONS_TEXT(o.make.name), .mask = CAS },
	{ 0, "update", "OLD", "cas: make the revision after the one in the "
	    "directory OLD, and keep its objects",
	    OPTIONS_TEXT(o.make.update), .mask = CAS },
	{ 0, "revision", "N", "cas: the number of the revision; default: the "
	    "one after OLD's, or 1", OPTIONS_NUMBER(o.make.revision,
	    "revision", 1, INT64_MAX), .mask = CAS },
#endif
	{ 'T', "tmpdir", "DIR", "directory for temporary files (--order, "
	    "--verify)", OPTIONS_TEXT(o.make.tmpdir) },
#ifdef COLDPRESS_OCI
	{ 0, "image", NULL, "convert all layers of an OCI image layout and "
	    "write a new one", OPTIONS_CALL_WITH(take_mode, LAYERPACK_IMAGE) },
	{ 0, "platform", "OS/ARCH[/VARIANT]", "convert only images for this "
	    "platform, or pull this one; default: all, or this machine's",
	    OPTIONS_TEXT(o.platform) },
#endif
#ifdef COLDPRESS_PULL
	{ 0, NULL, NULL, "\nFetches an image from a registry:\n", OPTIONS_NOTE },
	{ 0, "pull", "IMAGE", "fetch docker://HOST/NAME[:TAG][@DIGEST] to the "
	    "directory, or the layout oci:DIR[:TAG], given with -o",
	    OPTIONS_TEXT(o.pull), .mask = PULL },
	{ 0, "authfile", "FILE", "credentials, as docker or podman store them",
	    OPTIONS_TEXT(o.auth_file), .mask = PULL },
	{ 0, "cacert", "FILE", "trust the certificates in FILE",
	    OPTIONS_TEXT(o.ca_file), .mask = PULL },
	{ 0, "connections", "N", "connections to one server (default: 6)",
	    OPTIONS_NUMBER(o.connections, "number of connections", 1,
	    CONNECTIONS_MAX), .mask = PULL },
	{ 0, "hosts-dir", "DIR", "mirrors, as containerd has them: "
	    "DIR/HOST/hosts.toml", OPTIONS_TEXT(o.hosts_dir), .mask = PULL },
	{ 0, "max-size", "SIZE", "refuse an image whose layers are larger, "
	    "uncompressed (default: 64G)", OPTIONS_SIZE(o.max_size, "size"),
	    .mask = PULL },
	{ 0, "plain-http", NULL, "do not use TLS", OPTIONS_FLAG(o.plain_http),
	    .mask = PULL },
	{ 0, "registries-conf", "FILE", "mirrors, as podman has them (default: "
	    "/etc/containers/registries.conf)",
	    OPTIONS_TEXT(o.registries_conf), .mask = PULL },
	{ 0, "timeout", "S", "give up after S seconds without progress "
	    "(default: 60)", OPTIONS_NUMBER(o.timeout_s, "timeout", 1,
	    TIMEOUT_MAX), .mask = PULL },
#endif
	{ 0, NULL, NULL, "\n", OPTIONS_NOTE },
	{ 'q', "quiet", NULL, "", OPTIONS_FLAG(msg.quiet) },
	{ 'v', "verbose", NULL, "print less; print more",
	    OPTIONS_COUNT(msg.verbose) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_VERSION("layerpack", show_layerpack_parts) },
};

static int
check_making(struct layerpack *p, const struct options *options)
{
	struct layerpack_make_options *o = &p->o.make;
	const struct options_row *foreign;
	struct pack_levels levels;
	const char *name = p->o.kind;
	unsigned format = TAR;
	size_t i = 0;

	while (name != NULL && i < MADE &&
	    strcmp(name, layer_kind_name(made[i])) != 0)
		i++;
	if (name == NULL || i == MADE) {
		msg_error(&p->msg, "%s needs -F estargz, zstd-chunked, "
		    "ztoc%s%s%s", p->o.mode == LAYERPACK_IMAGE ? "--image" :
		    "-o", made[MADE - 1] == LAYER_CAS ? ", cas" : "",
		    name == NULL ? "" : ", not ", name == NULL ? "" : name);
		return MSG_ERROR;
	}
	o->kind = made[i];
	if (o->kind == LAYER_ZTOC)
		format = ZTOC;
	else if (o->kind == LAYER_CAS)
		format = CAS;
	else if (o->kind == LAYER_ZSTD_CHUNKED)
		format = TAR | CHUNKED;
	foreign = options_foreign(options, format);
	if (foreign != NULL) {
		msg_error(&p->msg, "--%s cannot be used with -F %s",
		    foreign->name, p->o.kind);
		return MSG_ERROR;
	}
	if (p->o.mode == LAYERPACK_IMAGE && o->windows != NULL &&
	    strcmp(o->windows, "packed") == 0)
		return options_wrong(&p->msg, "--windows packed cannot be used "
		    "with --image: SOCI does not read packed windows");
	if (o->lists.count > PACK_LISTS_MAX) {
		msg_error(&p->msg, "--order can be given at most %d times",
		    PACK_LISTS_MAX);
		return MSG_ERROR;
	}
	levels = pack_levels(o->kind);
	if (o->level >= 0 && (o->level < levels.least ||
	    o->level > levels.most)) {
		msg_error(&p->msg, "level %" PRId64 " is not in %d..%d, the "
		    "levels of %s", o->level, levels.least, levels.most,
		    p->o.kind);
		return MSG_ERROR;
	}
	if (o->chunk != 0 && (o->chunk < CHUNK_MIN ||
	    o->chunk > LAYER_UNIT_MAX)) {
		msg_error(&p->msg, "chunk size %" PRIu64 " is not in 4K..64M",
		    o->chunk);
		return MSG_ERROR;
	}
	return -1;
}

/* --pull takes no operands, and its output is given with -o. */
static int
check_pull(struct layerpack *p, const struct options *options, int operands)
{
	const struct options_row *foreign = options_foreign(options, PULL);

	if (foreign != NULL || p->o.kind != NULL) {
		msg_error(&p->msg, "--%s cannot be used with --pull",
		    foreign != NULL ? foreign->name : "format");
		return MSG_ERROR;
	}
	if (p->o.mode != LAYERPACK_MAKE || operands != 0)
		return options_usage(layerpack_usage);
	p->o.mode = LAYERPACK_PULL;
	p->o.threads = cpus_choose(p->o.threads, THREADS_MAX);
	return -1;
}

int
layerpack_parse(struct layerpack *p, int argc, char **argv)
{
	struct options options = { .msg = &p->msg, .into = p,
	    OPTIONS_TABLE(layerpack_table), .usage = layerpack_usage,
	    .about = layerpack_about };
	bool image, several;
	int status, count;

	p->o.auth_file = getenv("REGISTRY_AUTH_FILE");
	p->o.connections = CONNECTIONS;
	p->o.timeout_s = TIMEOUT_S;
	p->o.max_size = UINT64_C(64) << 30;
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	count = argc - optind;
	if (p->o.pull != NULL)
		return check_pull(p, &options, count);
	image = p->o.mode == LAYERPACK_IMAGE;
	/* only a repository can be built from several archives */
	several = p->o.mode == LAYERPACK_MAKE && p->o.kind != NULL &&
	    strcmp(p->o.kind, "cas") == 0;
	if (p->o.mode == LAYERPACK_NONE || count < 1 + image ||
	    (count > 1 + image && !several))
		return options_usage(layerpack_usage);
	p->o.operands = argv + optind;
	p->o.operand_count = count;
	p->o.threads = cpus_choose(p->o.threads, THREADS_MAX);
	p->o.source = argv[optind];
	p->o.image = argv[optind + image];
	return image || p->o.mode == LAYERPACK_MAKE ?
	    check_making(p, &options) : -1;
}
