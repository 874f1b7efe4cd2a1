/*
 * layermount_name.c - the names of images in registries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The host in a name decides where requests go, and whether they use TLS.
 *
 * Source: OCI distribution specification 1.1, "Pulling manifests".
 */
#include "layermount.h"

#include "base/hex.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"

static const char form[] =
    "expected docker://HOST/NAME[:TAG][@sha256:DIGEST]";

static bool
is_made_of(const char *s, const char *characters)
{
	return *s != '\0' && s[strspn(s, characters)] == '\0';
}

bool
image_host(const char *name, bool *loopback)
{
	char host[IMAGE_HOST];
	bool brackets = *name == '[';
	size_t len = strcspn(name + brackets, brackets ? "]" : ":");
	const char *port = name + brackets + len;
	struct in6_addr v6;
	struct in_addr v4;

	snprintf(host, sizeof(host), "%.*s", (int)len, name + brackets);
	if (brackets && *port++ != ']')
		return false;
	if (*port != '\0' && (*port != ':' || strlen(port) > 6 ||
	    !is_made_of(port + 1, "0123456789") ||
	    atoi(port + 1) > UINT16_MAX))
		return false;
	if (brackets) {
		if (inet_pton(AF_INET6, host, &v6) != 1)
			return false;
		*loopback = IN6_IS_ADDR_LOOPBACK(&v6);
		return true;
	}
	*loopback = strcasecmp(host, "localhost") == 0 ||
	    (inet_pton(AF_INET, host, &v4) == 1 &&
	    ntohl(v4.s_addr) >> 24 == 127);
	return is_made_of(host, ALPHANUMERIC ".-_");
}

static int
set_base(const struct layermount *m, struct image_name *n, const char *name,
    char why[LAYER_WHY])
{
	bool loopback;
	int len;

	if (strchr(n->host, '@') != NULL) {
		snprintf(why, LAYER_WHY, "the host contains '@'; credentials "
		    "are given with --authfile or --creds-file");
		return -EINVAL;
	}
	if (!image_host(n->host, &loopback)) {
		snprintf(why, LAYER_WHY, "'%.100s' is not HOST or HOST:PORT",
		    n->host);
		return -EINVAL;
	}
	if (!is_made_of(name, ALPHANUMERIC "._-/") || *name == '/' ||
	    strstr(name, "..") != NULL) {
		snprintf(why, LAYER_WHY, "%s", form);
		return -EINVAL;
	}
	len = snprintf(n->base, sizeof(n->base), "%s://%s/v2/%s",
	    m->o.plain_http || loopback ? "http" : "https", n->host, name);
	return (size_t)len < sizeof(n->base) ? 0 : -ENAMETOOLONG;
}

/* Sets the reference to the digest (NULL: none) or else the tag. */
static int
set_reference(struct image_name *n, const char *tag, const char *digest,
    char why[LAYER_WHY])
{
	uint8_t sum[LAYER_DIGEST];

	if (digest != NULL && hex_read_sha256(sum, digest) == 0) {
		hex_write_sha256(n->reference, sum);
		return 0;
	}
	if (digest != NULL) {
		snprintf(why, LAYER_WHY, "the digest is not sha256: followed "
		    "by 64 hexadecimal digits");
		return -EINVAL;
	}
	if (strlen(tag) >= sizeof(n->reference))
		return -ENAMETOOLONG;
	strcpy(n->reference, tag);
	if (is_made_of(tag, ALPHANUMERIC "._-"))
		return 0;
	snprintf(why, LAYER_WHY, "%s", form);
	return -EINVAL;
}

int
image_parse(const struct layermount *m, const char *text,
    struct image_name *n, char why[LAYER_WHY])
{
	const char *host = image_is_remote(text) ? text + strlen(IMAGE_SCHEME) :
	    text;
	const char *name = strchr(host, '/'), *digest;
	char *copy, *tag;
	int rc;

	*why = '\0';
	if (name == NULL) {
		snprintf(why, LAYER_WHY, "%s", form);
		return -EINVAL;
	}
	if ((size_t)(name - host) >= sizeof(n->host))
		return -ENAMETOOLONG;
	snprintf(n->host, sizeof(n->host), "%.*s", (int)(name - host), host);
	digest = strchr(name, '@');
	copy = strndup(name + 1, digest == NULL ? strlen(name) :
	    (size_t)(digest - name - 1));
	if (copy == NULL)
		return -ENOMEM;
	tag = strchr(copy, ':');
	if (tag != NULL)
		*tag++ = '\0';
	rc = set_base(m, n, copy, why);
	if (rc == 0)
		rc = set_reference(n, tag == NULL ? "latest" : tag,
		    digest == NULL ? NULL : digest + 1, why);
	free(copy);
	return rc;
}

bool
image_is_remote(const char *operand)
{
	return strncmp(operand, IMAGE_SCHEME, strlen(IMAGE_SCHEME)) == 0;
}
