/*
 * layermount_options.c - the command line of layermount
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/array.h"
#include "base/options.h"
#include "lazy/cvmfs/cas.h"

#include <curl/curl.h>
#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALLOW_OTHER = 256, AUTHFILE, CACHE, CACHE_SIZE, CACERT, CONNECTIONS,
	CREDS, CREDS_FILE, IDLE, INDEX_DIGEST, KEY, LOG, PLAIN_HTTP, PREFETCH,
	PROBE, RATE, READAHEAD, REGISTRY, STATS, STORE, TIMEOUT, ZTOC
};

enum {
	TIMEOUT_S = 60, TIMEOUT_MAX = 3600, CONNECTIONS_MAX = 64,
	IDLE_S = 300, IDLE_MAX = 1 << 20
};

static const struct option longs[] = {
	{ "allow-other", no_argument, NULL, ALLOW_OTHER },
	{ "authfile", required_argument, NULL, AUTHFILE },
	{ "cacert", required_argument, NULL, CACERT },
	{ "cache", required_argument, NULL, CACHE },
	{ "cache-size", required_argument, NULL, CACHE_SIZE },
	{ "connections", required_argument, NULL, CONNECTIONS },
	{ "creds", required_argument, NULL, CREDS },
	{ "creds-file", required_argument, NULL, CREDS_FILE },
	{ "foreground", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, 'F' },
	{ "help", no_argument, NULL, 'h' },
	{ "idle", required_argument, NULL, IDLE },
	{ "index-digest", required_argument, NULL, INDEX_DIGEST },
#ifdef COLDPRESS_SQLITE
	{ "key", required_argument, NULL, KEY },
#endif
	{ "log", required_argument, NULL, LOG },
	{ "plain-http", no_argument, NULL, PLAIN_HTTP },
	{ "prefetch", required_argument, NULL, PREFETCH },
	{ "probe", no_argument, NULL, PROBE },
	{ "quiet", no_argument, NULL, 'q' },
	{ "rate", required_argument, NULL, RATE },
	{ "readahead", required_argument, NULL, READAHEAD },
	{ "registry", required_argument, NULL, REGISTRY },
	{ "stats", optional_argument, NULL, STATS },
	{ "store", no_argument, NULL, STORE },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "version", no_argument, NULL, 'V' },
	{ "ztoc", required_argument, NULL, ZTOC },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: layermount [-fqV] [-F format] [--cache dir] [--cache-size size]\n"
"                  [--prefetch auto|none|all] [--rate size] [--stats[=file]]\n"
"                  [--timeout s] [--creds-file file] [...]\n"
"                  layer ... directory\n"
"       layermount --store [option ...] directory\n"
"       layermount --probe layer\n";

static const char help[] =
"\n"
"Mounts layers of a container image, or a whole image, fetching from the\n"
"server only what is used.  A layer is a blob's URL or a file; an image is\n"
"docker://HOST/NAME:TAG or an OCI layout, DIRECTORY[:TAG].  The lowest layer\n"
"comes first.\n"
"\n"
"  --allow-other        let other users use the mount\n"
"  --authfile FILE      credentials, as docker or podman store them\n"
"  --cacert FILE        trust the certificates in FILE\n"
"  --cache DIR          store fetched data in DIR; default: a temporary file\n"
"  --cache-size SIZE    limit for each layer in the cache (default: 4G)\n"
"  --connections N      connections to one server (default: 6)\n"
"  --creds USER:PASSWORD   credentials for the layers' server\n"
"  --creds-file FILE    the same, from a file; -: from standard input\n"
"  -f, --foreground     stay in the foreground\n"
"  -F, --format FORMAT  estargz, zstd-chunked, ztoc or cas; default: detected,\n"
"                       except for a repository's URL (cas)\n"
"  --idle S             --store: unload a layer unused for S seconds\n"
"                       (default: 300)\n"
"  --index-digest D     refuse a layer whose index has a different digest\n"
#ifdef COLDPRESS_SQLITE
"  --key KEY            cas: refuse a repository not signed by this key:\n"
"                       a PEM file, or sha256: followed by the key's digest\n"
#endif
"  --log FILE           append messages to FILE once in the background;\n"
"                       default: the system log\n"
"  --plain-http         do not use TLS for docker://\n"
"  --prefetch WHAT      auto (default): what the layer's creator recorded;\n"
"                       none; all: everything, in the background\n"
"  --probe              print what the server can do, and mount nothing\n"
"  -q, --quiet          print no warnings\n"
"  --rate SIZE          bytes per second in the background (default: no\n"
"                       limit)\n"
"  --readahead SIZE     the kernel's readahead after a start (default: 128K)\n"
"  --registry HOST      --store: use only this registry; may be repeated\n"
"  --stats[=FILE]       write counters as JSON at the end and on SIGUSR1\n"
"  --store              serve podman and CRI-O as an additional layer store\n"
"  --timeout S          give up on a read after S seconds without progress\n"
"                       (default: 60)\n"
"  --ztoc FILE          the index, if the layer contains none\n"
"  -h, -V               this help; versions\n";

static int
show_version(struct layermount *m)
{
	printf("layermount (coldpress) %s\nlibfuse %s\n%s\n",
	    COLDPRESS_VERSION, fuse_pkgversion(), curl_version());
	return msg_finish(&m->msg);
}

static int
set_prefetch(struct layermount *m)
{
	static const char *const names[] = { [VFS_PREFETCH_AUTO] = "auto",
		[VFS_PREFETCH_NONE] = "none", [VFS_PREFETCH_ALL] = "all" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(optarg, names[i]) == 0) {
			m->o.prefetch = (enum vfs_prefetch)i;
			return -1;
		}
	return options_bad(&m->msg, "prefetch", "auto, none or all");
}

static int
set_number(struct layermount *m, const char *what, int most, unsigned *to)
{
	int64_t n;
	int status = options_int(&m->msg, what, 1, most, &n);

	if (status < 0)
		*to = (unsigned)n;
	return status;
}

#ifdef COLDPRESS_SQLITE
/* Reads the key, before the process confines itself. */
static int
set_key(struct layermount *m)
{
	char why[LAYER_WHY] = "";
	int rc = cas_key_find(optarg, m->o.key, why);

	m->o.has_key = rc == 0;
	if (rc == 0)
		return -1;
	msg_error(&m->msg, "%s: %s", optarg, why);
	return MSG_ERROR;
}
#endif

static int
add_registry(struct layermount *m)
{
	struct layermount_options *o = &m->o;
	void *all = o->registries;
	bool loopback;

	if (!vfs_image_host(optarg, &loopback))
		return options_bad(&m->msg, "registry", "HOST or HOST:PORT");
	if (array_grow(&all, o->registry_count, &o->registry_cap,
	    sizeof(*o->registries)) != 0) {
		msg_error(&m->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	o->registries = all;
	o->registries[o->registry_count++] = optarg;
	return -1;
}

static int
take_long(struct layermount *m, int opt)
{
	struct layermount_options *o = &m->o;

	switch (opt) {
	case CACHE_SIZE:
		return options_size(&m->msg, "cache size", &o->cache_bytes);
	case CONNECTIONS:
		return set_number(m, "number of connections", CONNECTIONS_MAX,
		    &o->connections);
	case IDLE: return set_number(m, "idle time", IDLE_MAX, &o->idle_s);
	case PREFETCH: return set_prefetch(m);
	case RATE: return options_size(&m->msg, "rate", &o->rate);
	case READAHEAD:
		return options_size(&m->msg, "readahead", &o->readahead);
	case TIMEOUT:
		return set_number(m, "timeout", TIMEOUT_MAX, &o->timeout_s);
	case ALLOW_OTHER: o->allow_other = true; break;
	case AUTHFILE: o->auth_file = optarg; break;
	case CACERT: o->ca_file = optarg; break;
	case CACHE: o->cache = optarg; break;
	case CREDS: return creds_take(m, optarg);
	case CREDS_FILE: return creds_read(m, optarg);
	case INDEX_DIGEST: o->index_digest = optarg; break;
#ifdef COLDPRESS_SQLITE
	case KEY: return set_key(m);
#endif
	case LOG: o->log_file = optarg; break;
	case PLAIN_HTTP: o->plain_http = true; break;
	case PROBE: o->probe = true; break;
	case REGISTRY: return add_registry(m);
	case STATS:
		o->stats = true;
		o->stats_file = optarg;
		break;
	case STORE: o->store = true; break;
	case ZTOC: o->side = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
}

static int
take(struct layermount *m, int opt)
{
	switch (opt) {
	case 'f': m->o.foreground = true; break;
	case 'F': m->o.kind = optarg; break;
	case 'h': return options_help(&m->msg, usage, help);
	case 'q': m->msg.quiet = true; break;
	case 'V': return show_version(m);
	default: return take_long(m, opt);
	}
	return -1;
}

/* Checks which servers a store may contact, and with what. */
static int
check_servers(struct layermount *m)
{
	const struct layermount_options *o = &m->o;
	const char *why = NULL;

	if (o->store && o->credentials != NULL)
		why = "--creds and --creds-file are for one server, and a "
		    "store uses any; use --authfile";
	else if (o->store && o->allow_other && o->registry_count == 0)
		why = "with --store, --allow-other needs --registry; otherwise "
		    "any user could make layermount contact any server";
	else if (!o->store && o->registry_count > 0)
		why = "--registry is for --store";
	if (why == NULL)
		return o->credentials == NULL ? -1 : creds_bind(m);
	msg_error(&m->msg, "%s", why);
	return MSG_ERROR;
}

static int
check(struct layermount *m)
{
	struct layermount_options *o = &m->o;
	bool one = o->index_digest != NULL || o->side != NULL;

	if (o->store && (o->probe || one)) {
		msg_error(&m->msg, "--store cannot be used with --probe, "
		    "--index-digest or --ztoc");
		return MSG_ERROR;
	}
	if (o->store ? o->operand_count != 1 :
	    o->operand_count < (o->probe ? 1 : 2))
		return options_usage(usage);
	if (!o->probe)
		o->mountpoint = o->operands[--o->operand_count];
	if (o->log_file != NULL && (o->foreground || o->probe)) {
		msg_error(&m->msg, "--log is for mounts in the background");
		return MSG_ERROR;
	}
	if (one && o->operand_count != 1) {
		msg_error(&m->msg, "--index-digest and --ztoc are for a "
		    "single layer");
		return MSG_ERROR;
	}
	return check_servers(m);
}

int
layermount_parse(struct layermount *m, int argc, char **argv)
{
	int ch, status = -1;

	m->o = (struct layermount_options){ .cache_bytes = UINT64_C(4) << 30,
		.timeout_s = TIMEOUT_S, .connections = 6,
		.readahead = 128 << 10, .idle_s = IDLE_S,
		.auth_file = getenv("REGISTRY_AUTH_FILE") };
	while (status < 0 && (ch = options_next(&m->msg, argc, argv,
	    "fF:hqV", longs)) != -1)
		status = take(m, ch);
	if (status >= 0)
		return status;
	m->o.operands = argv + optind;
	m->o.operand_count = argc - optind;
	return check(m);
}
