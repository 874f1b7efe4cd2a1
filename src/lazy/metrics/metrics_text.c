/*
 * metrics_text.c - requests, and metrics as text
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/metrics/metrics.h"

#include <inttypes.h>
#include <string.h>

/* Returns the length of the header, with the empty line that ends it, or 0. */
static size_t
header_length(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\n')
			continue;
		if (i + 1 < len && text[i + 1] == '\n')
			return i + 2;
		if (i + 2 < len && text[i + 1] == '\r' && text[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

static bool
is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(at, word, len) == 0;
}

enum metrics_page
metrics_parse(const char *text, size_t len, bool *head)
{
	const char *method = text, *path, *version, *end;
	size_t n;

	*head = false;
	if (header_length(text, len) == 0)
		return len >= METRICS_REQUEST ? METRICS_LARGE : METRICS_MORE;
	if (memchr(text, '\0', len) != NULL)
		return METRICS_BAD;
	end = memchr(text, '\n', len);
	if (end > text && end[-1] == '\r')
		end--;
	path = memchr(method, ' ', (size_t)(end - method));
	if (path == NULL || path == method)
		return METRICS_BAD;
	n = (size_t)(path++ - method);
	version = memchr(path, ' ', (size_t)(end - path));
	if (version == NULL || *path != '/' || end - version != 9 ||
	    memcmp(version, " HTTP/1.", 8) != 0 || version[8] < '0' ||
	    version[8] > '9')
		return METRICS_BAD;
	*head = is_word(method, n, "HEAD");
	if (!*head && !is_word(method, n, "GET"))
		return METRICS_NO_METHOD;
	end = memchr(path, '?', (size_t)(version - path));
	n = (size_t)((end == NULL ? version : end) - path);
	if (is_word(path, n, "/metrics"))
		return METRICS_TEXT;
	return is_word(path, n, "/healthz") ? METRICS_HEALTH :
	    METRICS_NO_PAGE;
}

/* Metrics */

void
metrics_describe(struct strbuf *b, const char *name, enum metrics_type type,
    const char *help)
{
	strbuf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
	    type == METRICS_COUNTER ? "counter" : "gauge");
}

void
metrics_sample(struct strbuf *b, const char *name, const char *label,
    const char *value, uint64_t number)
{
	strbuf_str(b, name);
	if (label != NULL) {
		strbuf_fmt(b, "{%s=\"", label);
		for (; *value != '\0'; value++) {
			if (*value == '\n') {
				strbuf_str(b, "\\n");
				continue;
			}
			if (*value == '"' || *value == '\\')
				strbuf_char(b, '\\');
			strbuf_char(b, *value);
		}
		strbuf_str(b, "\"}");
	}
	strbuf_fmt(b, " %" PRIu64 "\n", number);
}
