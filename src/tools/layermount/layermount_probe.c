/*
 * layermount_probe.c - probing a server's support for lazy reading
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each capability is a line with a name and a value, separated by a tab.
 */
#include "layermount.h"

#include "base/sys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { BODY_MAX = 64 << 10 };

static int
ask_server(struct layermount *m, const char *url, const char *ranges,
    struct http_answer *a)
{
	char why[LAYER_WHY] = "";
	int rc = http_ask(m->http, url, ranges, BODY_MAX, a, why);

	if (rc != 0)
		msg_error(&m->msg, "%s: %s", url, why);
	return rc;
}

static void
print_value(const char *what, const char *value)
{
	printf("%s\t%s\n", what, *value == '\0' ? "none" : value);
}

static void
print_status(const char *what, const struct http_answer *a, const char *yes)
{
	printf("%s\t", what);
	if (a->status == 206)
		printf("%s\n", yes);
	else
		printf("no (%ld)\n", a->status);
}

/* Returns the URL of an image's first layer, or the operand. */
static int
find_url(struct layermount *m, char url[8192])
{
	struct oci_document *d = NULL;
	struct oci_blob *layers = NULL;
	struct vfs_image_name n;
	const struct vfs_remote remote = { .http = m->http, .cache_dir = -1,
		.registries = m->registries,
		.report = layermount_report(m) };
	char why[LAYER_WHY], hex[OCI_HEX + 1];
	size_t count;
	int rc;

	snprintf(url, 8192, "%s", m->o.operands[0]);
	if (!vfs_image_is_remote(url))
		return 0;
	rc = vfs_image_parse(url, m->o.plain_http, &n, why);
	if (rc != 0)
		return vfs_refuse(&remote.report, m->o.operands[0], rc, why);
	rc = vfs_image_manifest(&remote, &n, &d, hex);
	if (rc == 0) {
		rc = oci_layers(d, &layers, &count, why);
		if (rc != 0 || count == 0)
			msg_error(&m->msg, "%s: %s", m->o.operands[0],
			    rc != 0 ? why : "the image has no layers");
		else
			snprintf(url, 8192, "%s/blobs/sha256:%s", n.from,
			    layers[0].hex);
	}
	sys_free(layers);
	oci_free(d);
	return rc;
}

int
layermount_probe(struct layermount *m)
{
	char url[8192], other[8192 + 32];
	const char *blob;
	struct http_answer a;

	if (layermount_read_registries(m) != 0 ||
	    layermount_open_http(m, 1) != 0)
		goto out;
	if (find_url(m, url) != 0 || m->msg.status != MSG_OK ||
	    ask_server(m, url, "0-0", &a) != 0)
		goto out;
	print_value("protocol", a.version);
	print_status("range", &a, "yes");
	print_value("redirect", strcmp(a.url, url) == 0 ? "" : a.url);
	print_value("validator", a.validator);
	print_value("cache-control", a.caching);
	print_value("content-encoding", a.encoding);
	if (ask_server(m, url, "0-0,9-9", &a) != 0)
		goto out;
	print_status("ranges", &a, strncmp(a.type, "multipart/byteranges",
	    20) == 0 ? "yes" : "no (one part)");
	/* the referrers of its digest: an empty list also counts as support */
	blob = strstr(url, "/blobs/");
	if (blob == NULL)
		goto out;
	snprintf(other, sizeof(other), "%.*s/referrers/%s",
	    (int)(blob - url), url, blob + strlen("/blobs/"));
	if (ask_server(m, other, NULL, &a) != 0)
		goto out;
	if (a.status == 200)
		print_value("referrers", "yes");
	else
		printf("referrers\tno (%ld)\n", a.status);
out:
	layermount_close_http(m);
	return msg_finish(&m->msg);
}
