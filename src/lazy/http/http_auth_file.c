/*
 * http_auth_file.c - credentials in a Docker or containers/image file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: containers-auth.json(5).  Helper programs are not run.
 */
#include "http_private.h"

#include "base/strcopy.h"
#include "base/sys.h"
#include "image/oci/json.h"

#include <errno.h>
#include <string.h>

/*
 * Returns whether a key in the file, with or without scheme and path, matches a
 * host, which includes the port; a default port may be omitted from the key.
 */
static bool
is_host(const char *key, const char *host)
{
	static const char *const ports[] = { ":443", ":80" };
	const char *scheme = strstr(key, "://");
	size_t n;

	if (scheme != NULL)
		key = scheme + 3;
	n = strcspn(key, "/");
	if (strncmp(host, key, n) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		if (strcmp(host + n, ports[i]) == 0)
			return true;
	return host[n] == '\0';
}

int
http_auth_lookup(const char *text, size_t len, const char *host,
    char **base64)
{
	char why[JSON_WHY];
	const char *found = NULL;
	yajl_val root, all;
	int rc = json_parse(&root, text, len, why);

	if (rc != 0)
		return rc;
	all = json_member(root, "auths", yajl_t_object);
	for (size_t i = 0; all != NULL && found == NULL &&
	    i < YAJL_GET_OBJECT(all)->len; i++)
		if (is_host(YAJL_GET_OBJECT(all)->keys[i], host))
			found = json_text(YAJL_GET_OBJECT(all)->values[i],
			    "auth");
	*base64 = found == NULL ? NULL : strcopy(found);
	rc = found == NULL ? -ENOENT : *base64 == NULL ? -ENOMEM : 0;
	yajl_tree_free(root);
	return rc;
}
