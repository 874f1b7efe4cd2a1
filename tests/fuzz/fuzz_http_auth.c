/*
 * fuzz_http_auth.c - any bytes as a file of credentials, and as URLs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first line is a host, the next is a URL, the rest is the file.
 * Credentials are found only for a host that the file names.
 */
#include "http_private.h"

#include "base/sys.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes the text before the next newline off the rest. */
static char *
line_of(const uint8_t **data, size_t *size)
{
	const uint8_t *end = memchr(*data, '\n', *size);
	size_t n = end == NULL ? *size : (size_t)(end - *data);
	char *line = strndup((const char *)*data, n);

	if (line == NULL)
		abort();
	n += end != NULL;
	*data += n;
	*size -= n;
	return line;
}

static void
look_up(const char *host, const uint8_t *text, size_t len)
{
	char *login = NULL, *bare = strdup(host);
	char *colon = strrchr(bare, ':');
	int rc = http_auth_lookup((const char *)text, len, host, &login);

	if (rc == 0 && login == NULL)
		abort();
	if (colon != NULL && (strcmp(colon, ":443") == 0 ||
	    strcmp(colon, ":80") == 0))
		*colon = '\0';
	/* a name that JSON wrote with escapes is not found in the text */
	if (rc == 0 && memchr(text, '\\', len) == NULL &&
	    memmem(text, len, bare, strlen(bare)) == NULL)
		abort();
	sys_free(login);
	free(bare);
}

static void
take_url(const char *url)
{
	char origin[HTTP_URL], realm[HTTP_URL];

	if (!http_origin(url, origin)) {
		if (http_realm_of(url, realm))
			abort();
		return;
	}
	if (strncmp(origin, "http", 4) != 0 || strstr(origin, "://") == NULL ||
	    !http_same_server(url, url))
		abort();
	/* credentials are for this origin, or for a part of it */
	if (!http_realm_of(url, realm) ||
	    strncmp(realm, origin, strlen(origin)) != 0)
		abort();
	if (http_is_secure(url) != (strncmp(origin, "https://", 8) == 0))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *host = line_of(&data, &size), *url = line_of(&data, &size);

	take_url(url);
	look_up(host, data, size);
	free(host);
	free(url);
	return 0;
}
