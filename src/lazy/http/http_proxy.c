/*
 * http_proxy.c - the proxy in messages about failed connections
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libcurl finds the proxy itself, in these variables and in this order; its
 * text says neither that an address is a proxy's nor, after a time-out, which
 * one did not reply.  Whether no_proxy exempts a host is for libcurl to
 * decide, so messages state it too.
 */
#include "http_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets *value to the first of these variables that is not empty. */
static const char *
first_set(const char *const *names, const char **value)
{
	for (; *names != NULL; names++) {
		*value = getenv(*names);
		if (*value != NULL && **value != '\0')
			return *names;
	}
	return NULL;
}

/* Returns the variable that contains the URL's proxy, or NULL. */
static const char *
variable_of(const char *url, const char **value)
{
	static const char *const secure[] = { "https_proxy", "HTTPS_PROXY",
		"all_proxy", "ALL_PROXY", NULL };
	/* HTTP_PROXY could be set by a CGI request */
	static const char *const plain[] = { "http_proxy", "all_proxy",
		"ALL_PROXY", NULL };

	return first_set(http_is_secure(url) ? secure : plain, value);
}

/* Returns the host and port in a proxy's URL, without credentials. */
static const char *
address_in(const char *proxy, size_t *len)
{
	const char *at = strrchr(proxy, '@'), *scheme = strstr(proxy, "://");

	if (at != NULL)
		proxy = at + 1;
	else if (scheme != NULL)
		proxy = scheme + 3;
	*len = strcspn(proxy, "/?#");
	return proxy;
}

void
http_proxy_note(const struct http_transfer *t, char why[LAYER_WHY])
{
	static const char *const exempting[] = { "no_proxy", "NO_PROXY", NULL };
	size_t used = strnlen(why, LAYER_WHY), len;
	const char *name, *value, *address, *exempt;
	char url[HTTP_URL];

	http_transfer_url(t, url);
	name = variable_of(url, &value);
	if (name == NULL)
		return;
	address = address_in(value, &len);
	if (first_set(exempting, &exempt) == NULL)
		exempt = NULL;
	snprintf(why + used, LAYER_WHY - used, "; %s is %.*s%s%.40s", name,
	    len < 60 ? (int)len : 60, address,
	    exempt == NULL ? "" : ", no_proxy is ",
	    exempt == NULL ? "" : exempt);
}

bool
http_proxy_quoted(const struct http_transfer *t)
{
	return strncmp(t->error, "Unsupported proxy", 17) == 0 ||
	    strchr(t->error, '@') != NULL;
}
