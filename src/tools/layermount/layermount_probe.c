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
ask(struct layermount *m, const char *url, const char *ranges,
    struct http_answer *a)
{
	char why[LAYER_WHY] = "";
	int rc = http_ask(m->http, url, ranges, BODY_MAX, a, why);

	if (rc != 0)
		msg_error(&m->msg, "%s: %s", url, why);
	return rc;
}

static void
tell(const char *what, const char *value)
{
	printf("%s\t%s\n", what, *value == '\0' ? "none" : value);
}

static void
tell_status(const char *what, const struct http_answer *a, const char *yes)
{
	printf("%s\t", what);
	if (a->status == 206)
		printf("%s\n", yes);
	else
		printf("no (%ld)\n", a->status);
}

static int
probe_ranges(struct layermount *m, const char *url)
{
	struct http_answer a;
	int rc = ask(m, url, "0-0", &a);

	if (rc != 0)
		return rc;
	tell("protocol", a.version);
	tell_status("range", &a, "yes");
	tell("redirect", strcmp(a.url, url) == 0 ? "" : a.url);
	tell("validator", a.validator);
	tell("cache-control", a.caching);
	tell("content-encoding", a.encoding);
	rc = ask(m, url, "0-0,9-9", &a);
	if (rc == 0)
		tell_status("ranges", &a, strncmp(a.type,
		    "multipart/byteranges", 20) == 0 ? "yes" :
		    "no (one part)");
	return rc;
}

/*
 * Queries the referrers of a blob's digest.  An empty list also counts as
 * support.
 */
static int
probe_referrers(struct layermount *m, const char *url)
{
	const char *blob = strstr(url, "/blobs/");
	char other[8192];
	struct http_answer a;
	int rc;

	if (blob == NULL)
		return 0;
	snprintf(other, sizeof(other), "%.*s/referrers/%s",
	    (int)(blob - url), url, blob + strlen("/blobs/"));
	rc = ask(m, other, NULL, &a);
	if (rc == 0 && a.status == 200)
		tell("referrers", "yes");
	else if (rc == 0)
		printf("referrers\tno (%ld)\n", a.status);
	return rc;
}

/* Returns the URL of an image's first layer, or the operand. */
static int
find_url(struct layermount *m, char url[8192])
{
	struct oci_document *d = NULL;
	struct oci_blob *layers = NULL;
	struct image_name n;
	char why[LAYER_WHY], hex[OCI_HEX + 1];
	size_t count;
	int rc;

	snprintf(url, 8192, "%s", m->o.operands[0]);
	if (!image_is_remote(url))
		return 0;
	rc = image_parse(m, url, &n, why);
	if (rc != 0)
		return layermount_refuse(m, m->o.operands[0], rc, why);
	rc = image_manifest(m, &n, &d, hex);
	if (rc == 0) {
		rc = oci_layers(d, &layers, &count, why);
		if (rc != 0 || count == 0)
			msg_error(&m->msg, "%s: %s", m->o.operands[0],
			    rc != 0 ? why : "the image has no layers");
		else
			snprintf(url, 8192, "%s/blobs/sha256:%s", n.base,
			    layers[0].hex);
	}
	sys_free(layers);
	oci_free(d);
	return rc;
}

int
layermount_probe(struct layermount *m)
{
	const struct http_options o = { .credentials = m->o.credentials,
		.credentials_for = m->o.credentials_for,
		.auth_file = m->o.auth_file, .ca_file = m->o.ca_file,
		.timeout_s = m->o.timeout_s, .connections = 1 };
	char url[8192], why[LAYER_WHY];
	int rc = http_open(&m->http, &o, why);

	if (rc != 0) {
		msg_error(&m->msg, "%s", why);
		return msg_finish(&m->msg);
	}
	rc = find_url(m, url);
	if (rc == 0 && m->msg.status == MSG_OK)
		rc = probe_ranges(m, url);
	if (rc == 0 && m->msg.status == MSG_OK)
		(void)probe_referrers(m, url);
	http_close(m->http);
	return msg_finish(&m->msg);
}
