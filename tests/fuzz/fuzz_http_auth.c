/*
 * fuzz_http_auth.c - any bytes as a file of credentials, as what a credential
 * helper writes, and as URLs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first line is a host, the next is a URL, the rest is the file.
 * Credentials are found only for a host that the file names.
 */
#include "http_private.h"

#include "base/sys.h"
#include "lazy/http/helpers.h"

#include <errno.h>
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
	char *login, *token, *bare = strdup(host);
	char *colon = strrchr(bare, ':');
	int rc = http_auth_lookup((const char *)text, len, host, &login,
	    &token);

	if (rc == 0 ? login == NULL && token == NULL :
	    login != NULL || token != NULL)
		abort();
	if (colon != NULL && (strcmp(colon, ":443") == 0 ||
	    strcmp(colon, ":80") == 0))
		*colon = '\0';
	/* a name that JSON wrote with escapes is not found in the text */
	if (rc == 0 && memchr(text, '\\', len) == NULL &&
	    memmem(text, len, bare, strlen(bare)) == NULL)
		abort();
	sys_free(login);
	sys_free(token);
	free(bare);
}

/* The name of a program has no path. */
static void
look_for_helper(const char *host, const uint8_t *text, size_t len)
{
	char *name, why[LAYER_WHY];

	for (int i = 0; i < 2; i++) {
		int rc = helpers_find((const char *)text, len,
		    i == 0 ? HELPERS_OF_HOST : HELPERS_OF_REST, host, &name,
		    why);

		if ((rc == 0) != (name != NULL) || (rc == -EINVAL && *why ==
		    '\0') || (rc == 0 && strpbrk(name, "/ \n$;|&") != NULL))
			abort();
		sys_free(name);
	}
}

static void
take_answer(const uint8_t *text, size_t len)
{
	char *user, *secret, why[LAYER_WHY] = "";
	int rc = helpers_parse((const char *)text, len, &user, &secret, why);

	if ((rc == 0) != (user != NULL && secret != NULL) ||
	    (rc == -EBADMSG && *why == '\0'))
		abort();
	if (rc == 0 && strlen(user) + strlen(secret) > len)
		abort();
	helpers_forget(user);
	helpers_forget(secret);
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
	uint8_t *text;

	take_url(url);
	/* parsers expect a NUL after the text */
	text = malloc(size + 1);
	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	look_up(host, text, size);
	look_for_helper(host, text, size);
	take_answer(text, size);
	free(text);
	free(host);
	free(url);
	return 0;
}
