/*
 * http_url.c - the parts of a URL that determine the credentials
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool
http_is_secure(const char *url)
{
	return strncasecmp(url, "https:", 6) == 0;
}

bool
http_origin(const char *url, char origin[HTTP_URL])
{
	char *scheme = NULL, *host = NULL, *port = NULL;
	CURLU *u = curl_url();
	bool ok;
	int n;

	*origin = '\0';
	if (u == NULL)
		return false;
	ok = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ==
	    CURLUE_OK && (strcmp(scheme, "http") == 0 ||
	    strcmp(scheme, "https") == 0);
	if (ok) {
		n = snprintf(origin, HTTP_URL, "%s://%s:%s", scheme, host,
		    port);
		ok = n > 0 && n < HTTP_URL;
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(u);
	return ok;
}

bool
http_same_server(const char *a, const char *b)
{
	char x[HTTP_URL], y[HTTP_URL];

	return http_origin(a, x) && http_origin(b, y) && strcmp(x, y) == 0;
}

bool
http_realm_of(const char *url, char prefix[HTTP_URL])
{
	static const char *const ends[] = { "/blobs/", "/manifests/",
		"/referrers/" };
	const char *path = strstr(url, "://"), *end = NULL;
	size_t used;

	if (!http_origin(url, prefix))
		return false;
	path = path == NULL ? NULL : strchr(path + 3, '/');
	if (path == NULL || strncmp(path, "/v2/", 4) != 0)
		return true;
	for (size_t i = 0; end == NULL && i < sizeof(ends) / sizeof(*ends); i++)
		end = strstr(path, ends[i]);
	used = strlen(prefix);
	if (end != NULL && used + (size_t)(end - path) < HTTP_URL)
		snprintf(prefix + used, HTTP_URL - used, "%.*s",
		    (int)(end - path), path);
	return true;
}
