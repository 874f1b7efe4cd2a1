/*
 * layermount_options.c - the command line of layermount
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "lazy/cvmfs/cas.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TIMEOUT_S = 60, TIMEOUT_MAX = 3600, CONNECTIONS_MAX = 64,
	IDLE_S = 300, IDLE_MAX = 1 << 20, CREDS_MAX = 4096
};

static void
show_layermount_parts(void)
{
	printf("libfuse %s\n%s\n", fuse_pkgversion(), curl_version());
}

#ifdef COLDPRESS_SQLITE
/* Reads the key, before the process confines itself. */
static int
take_key(void *into)
{
	struct layermount *m = into;
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
add_registry(void *into)
{
	struct layermount *m = into;
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

/* Takes ownership of the text, which is not printed. */
static int
set_credentials(struct layermount *m, char *text, const char *from)
{
	if (text != NULL && strchr(text, ':') != NULL &&
	    strpbrk(text, "\r\n") == NULL) {
		sys_free(m->o.credentials);
		m->o.credentials = text;
		return -1;
	}
	msg_error(&m->msg, "%s: %s", from, text == NULL ? strerror(ENOMEM) :
	    "expected one line, USER:PASSWORD");
	sys_free(text);
	return MSG_ERROR;
}

/* Overwrites the argument, because all users can see arguments. */
static int
take_credentials(void *into)
{
	char *copy = strcopy(optarg);

	explicit_bzero(optarg, strlen(optarg));
	return set_credentials(into, copy, "--creds");
}

/* Reads credentials from a file, or from standard input if it is "-". */
static int
read_credentials(void *into)
{
	struct layermount *m = into;
	const char *file = optarg;
	bool input = strcmp(file, "-") == 0;
	int fd = input ? STDIN_FILENO : sys_openat(AT_FDCWD, file, O_RDONLY |
	    O_CLOEXEC, 0);
	char *text;
	size_t len;
	int rc = fd < 0 ? fd : fdio_read_all(fd, CREDS_MAX, &text, &len);

	if (fd >= 0 && !input)
		sys_close(fd);
	if (rc != 0) {
		msg_error(&m->msg, "%s: %s", file, strerror(-rc));
		return MSG_ERROR;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return set_credentials(m, text, file);
}

static const char layermount_usage[] =
"usage: layermount [-fqV] [-F format] [--cache dir] [--cache-size size]\n"
"                  [--prefetch auto|none|all] [--rate size] [--stats[=file]]\n"
"                  [--timeout s] [--creds-file file] [...]\n"
"                  layer ... directory\n"
"       layermount --store [option ...] directory\n"
#ifdef COLDPRESS_CONTAINERD
"       layermount --containerd socket [option ...] directory\n"
#endif
"       layermount --probe layer\n"
"       layermount --status [--json] [directory ...]\n";

static const char layermount_about[] =
"Mounts layers of a container image, or a whole image, fetching from the\n"
"server only what is used.  A layer is a blob's URL or a file; an image is\n"
"docker://HOST/NAME:TAG or an OCI layout, DIRECTORY[:TAG].  The lowest layer\n"
"comes first.\n";

#define OPTIONS_INTO struct layermount

static const struct options_row layermount_table[] = {
	{ 0, "allow-other", NULL, "let other users use the mount",
	    OPTIONS_FLAG(o.allow_other) },
	{ 0, "authfile", "FILE", "credentials, as docker or podman store them",
	    OPTIONS_TEXT(o.auth_file) },
	{ 0, "cacert", "FILE", "trust the certificates in FILE",
	    OPTIONS_TEXT(o.ca_file) },
	{ 0, "cache", "DIR", "store fetched data in DIR; default: a temporary "
	    "file", OPTIONS_TEXT(o.cache) },
	{ 0, "cache-size", "SIZE", "limit of the whole cache (default: 4G)",
	    OPTIONS_SIZE(o.cache_bytes, "cache size") },
	{ 0, "connections", "N", "connections to one server (default: 6)",
	    OPTIONS_NUMBER(o.connections, "number of connections", 1,
	    CONNECTIONS_MAX) },
#ifdef COLDPRESS_CONTAINERD
	{ 0, "containerd", "SOCKET", "serve containerd as a snapshotter, with "
	    "its files in DIRECTORY", OPTIONS_TEXT(o.containerd) },
#endif
	{ 0, "creds", "USER:PASSWORD", "credentials for the layers' server",
	    OPTIONS_CALL(take_credentials) },
	{ 0, "creds-file", "FILE", "the same, from a file; -: from standard "
	    "input", OPTIONS_CALL(read_credentials) },
	{ 'f', "foreground", NULL, "stay in the foreground",
	    OPTIONS_FLAG(o.foreground) },
	{ 'F', "format", "FORMAT", "estargz, zstd-chunked, ztoc or cas; "
	    "default: detected, except for a repository's URL (cas)",
	    OPTIONS_TEXT(o.kind),
	    .names = "estargz, zstd-chunked, ztoc or cas" },
	{ 0, "hosts-dir", "DIR", "mirrors, as containerd has them: "
	    "DIR/HOST/hosts.toml", OPTIONS_TEXT(o.hosts_dir) },
	{ 0, "idle", "S", "--store: unload a layer unused for S seconds "
	    "(default: 300)",
	    OPTIONS_NUMBER(o.idle_s, "idle time", 1, IDLE_MAX) },
	{ 0, "index-digest", "D", "refuse a layer whose index has a different "
	    "digest", OPTIONS_TEXT(o.index_digest) },
#ifdef COLDPRESS_SQLITE
	{ 0, "key", "KEY", "cas: refuse a repository not signed by this key: a "
	    "PEM file, or sha256: followed by the key's digest",
	    OPTIONS_CALL(take_key) },
#endif
	{ 0, "json", NULL, "--status: a JSON object for each mount",
	    OPTIONS_FLAG(o.json) },
	{ 0, "log", "FILE", "append messages to FILE once in the background; "
	    "default: the system log", OPTIONS_TEXT(o.log_file) },
	{ 0, "metrics", "SOCKET", "answer GET /metrics and /healthz at SOCKET",
	    OPTIONS_TEXT(o.metrics) },
	{ 0, "plain-http", NULL, "do not use TLS for docker://",
	    OPTIONS_FLAG(o.plain_http) },
	{ 0, "prefetch", "WHAT", "auto (default): what the layer's creator "
	    "recorded; none; all: everything, in the background",
	    OPTIONS_NAME(o.prefetch, "prefetch", "auto, none or all") },
	{ 0, "probe", NULL, "print what the server can do, and mount nothing",
	    OPTIONS_FLAG(o.probe) },
	{ 'q', "quiet", NULL, "print no warnings", OPTIONS_FLAG(msg.quiet) },
	{ 0, "rate", "SIZE", "bytes per second in the background (default: no "
	    "limit)", OPTIONS_SIZE(o.rate, "rate") },
	{ 0, "readahead", "SIZE", "the kernel's readahead after a start "
	    "(default: 128K)", OPTIONS_SIZE(o.readahead, "readahead") },
	{ 0, "registries-conf", "FILE", "mirrors, as podman has them (default: "
	    "/etc/containers/registries.conf)",
	    OPTIONS_TEXT(o.registries_conf) },
	{ 0, "registry", "HOST", "--store: use only this registry; may be "
	    "repeated", OPTIONS_CALL(add_registry) },
	{ 0, "stats", "[=FILE]", "write counters as JSON at the end and on "
	    "SIGUSR1", OPTIONS_TEXT(o.stats_file), OPTIONS_GIVEN(o.stats) },
	{ 0, "status", NULL, "print what mounts have fetched, and whether all "
	    "is well", OPTIONS_FLAG(o.status) },
	{ 0, "store", NULL, "serve podman and CRI-O as an additional layer "
	    "store", OPTIONS_FLAG(o.store) },
	{ 0, "timeout", "S", "give up on a read after S seconds without "
	    "progress (default: 60)",
	    OPTIONS_NUMBER(o.timeout_s, "timeout", 1, TIMEOUT_MAX) },
	{ 0, "ztoc", "FILE", "the index, if the layer contains none",
	    OPTIONS_TEXT(o.side) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_VERSION("layermount", show_layermount_parts) },
};

/*
 * Determines whom to send the credentials to: the only server that the operands
 * name.  A store has no such server: its users choose the hosts.
 */
static int
bind_credentials(struct layermount *m)
{
	struct layermount_options *o = &m->o;
	bool one = true;

	for (int i = 0; one && i < o->operand_count; i++) {
		const char *operand = o->operands[i];
		struct vfs_image_name n;
		char why[LAYER_WHY], *url = NULL;

		if (!vfs_image_is_remote(operand)) {
			if (strstr(operand, "://") != NULL)
				url = strcopy(operand);
		} else if (vfs_image_parse(operand, o->plain_http, &n,
		    why) == 0) {
			url = strcopy(n.base);
		}
		if (url == NULL)
			continue;
		if (o->credentials_for == NULL) {
			o->credentials_for = url;
			continue;
		}
		one = http_same_server(url, o->credentials_for);
		sys_free(url);
	}
	return one ? -1 : options_wrong(&m->msg, "the layers are on several "
	    "servers, but --creds and --creds-file are for one; use "
	    "--authfile");
}

static int
check_layermount(struct layermount *m)
{
	struct layermount_options *o = &m->o;
	bool one = o->index_digest != NULL || o->side != NULL;
	bool any = o->store || o->containerd != NULL;

	if (o->json && !o->status)
		return options_wrong(&m->msg, "--json is for --status");
	if (o->status)
		return any || o->probe || o->metrics != NULL ?
		    options_wrong(&m->msg, "--status mounts nothing") : -1;
	if (o->probe && o->metrics != NULL)
		return options_wrong(&m->msg, "--metrics is for mounts");
	if (o->store && o->containerd != NULL)
		return options_wrong(&m->msg, "--containerd and --store cannot "
		    "be used together");
	if (any && (o->probe || one))
		return options_wrong(&m->msg, o->store ? "--store cannot be "
		    "used with --probe, --index-digest or --ztoc" :
		    "--containerd cannot be used with --probe, --index-digest "
		    "or --ztoc");
	if (any ? o->operand_count != 1 :
	    o->operand_count < (o->probe ? 1 : 2))
		return options_usage(layermount_usage);
	if (!o->probe)
		o->mountpoint = o->operands[--o->operand_count];
	if (o->log_file != NULL && (o->foreground || o->probe))
		return options_wrong(&m->msg, "--log is for mounts in the "
		    "background");
	if (one && o->operand_count != 1)
		return options_wrong(&m->msg, "--index-digest and --ztoc are "
		    "for a single layer");
	if (any && o->credentials != NULL)
		return options_wrong(&m->msg, "--creds and --creds-file are "
		    "for one server, and a store or snapshotter uses any; use "
		    "--authfile");
	if (o->store && o->allow_other && o->registry_count == 0)
		return options_wrong(&m->msg, "with --store, --allow-other "
		    "needs --registry; otherwise any user could make "
		    "layermount contact any server");
	if (!any && o->registry_count > 0)
		return options_wrong(&m->msg, "--registry is for --store "
		    "and --containerd");
	return o->credentials == NULL ? -1 : bind_credentials(m);
}

int
layermount_parse(struct layermount *m, int argc, char **argv)
{
	struct options options = { .msg = &m->msg, .into = m,
	    OPTIONS_TABLE(layermount_table), .usage = layermount_usage,
	    .about = layermount_about };
	int status;

	m->o = (struct layermount_options){ .cache_bytes = UINT64_C(4) << 30,
		.timeout_s = TIMEOUT_S, .connections = 6,
		.readahead = 128 << 10, .idle_s = IDLE_S,
		.auth_file = getenv("REGISTRY_AUTH_FILE") };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	m->o.operands = argv + optind;
	m->o.operand_count = argc - optind;
	return check_layermount(m);
}
