/*
 * fuzz_args.c - any text as a number, a size, a path or an encoding
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers are compared with a model, which stops at 2^64 - 1; what is decoded is
 * encoded again; a cleaned path is clean; and what is shown is safe to show.
 */
#include "base/args.h"
#include "base/hex.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(int condition)
{
	if (!condition)
		abort();
}

/* Reads digits; returns their number, and the value, at most UINT64_MAX. */
static size_t
digits(const char *s, uint64_t *value)
{
	size_t n;

	*value = 0;
	for (n = 0; s[n] >= '0' && s[n] <= '9'; n++) {
		uint64_t add = (uint64_t)(s[n] - '0');

		*value = *value > (UINT64_MAX - add) / 10 ? UINT64_MAX :
		    *value * 10 + add;
	}
	return n;
}

static void
try_int(const char *s)
{
	const int64_t most[] = { 0, 9, 4096, INT64_MAX };
	bool minus = *s == '-';
	uint64_t is;
	size_t n = digits(s + minus, &is);
	bool number = n > 0 && s[minus + n] == '\0';

	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		int64_t value, lo = i % 2 == 0 ? 1 : -most[i];
		int rc = args_int(s, lo, most[i], &value);
		bool fits = minus && is > 0 ? lo < 0 && is <= (uint64_t)most[i] :
		    is <= (uint64_t)most[i] && (lo < 0 || is >= 1);

		expect(rc == (!number ? -EINVAL : fits ? 0 : -ERANGE));
		if (rc == 0)
			expect(is == (uint64_t)(minus ? -value : value));
	}
}

static void
try_size(const char *s)
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	static const char *const ends[] = { "", "B", "iB" };
	uint64_t is, value;
	size_t n = digits(s, &is);
	int rc = args_size(s, &value), unit = -1;

	if (n > 0 && s[n] == '\0')
		unit = 0;
	for (int u = 1; n > 0 && u < 5; u++)
		for (int e = 0; e < 3; e++)
			if (strncasecmp(s + n, units[u], 1) == 0 &&
			    strcmp(s + n + 1, ends[e]) == 0)
				unit = u;
	expect((rc == -EINVAL) == (unit < 0));
	if (unit >= 0) {
		expect(rc == (is > (uint64_t)INT64_MAX >> 10 * unit ? -ERANGE : 0));
		expect(rc != 0 || value == is << 10 * unit);
	}
}

static void
try_real(const char *s)
{
	double value, same;
	char *end;

	if (args_real(s, -2.5, 1e9, &value) != 0)
		return;
	same = strtod(s, &end);
	expect(*end == '\0' && isfinite(value));
	expect(value >= -2.5 && value <= 1e9);
	expect(!(value < same) && !(value > same));
}

static void
try_words(const char *s)
{
	char first[] = "first", last[] = "last", *own[] = { first, last, NULL };
	char **v;
	int count = 2;

	expect(args_splice(s, &count, own, &v) == 0);
	expect(count >= 2 && v[0] == first && v[count - 1] == last &&
	    v[count] == NULL);
	for (int i = 1; i + 1 < count; i++) {
		size_t n = strlen(v[i]);

		s += strspn(s, " \t\n");
		expect(n > 0 && strcspn(s, " \t\n") == n &&
		    memcmp(s, v[i], n) == 0);
		s += n;
	}
	expect(s[strspn(s, " \t\n")] == '\0');
	sys_free(v);
}

static void
try_codes(const char *s)
{
	size_t len = strlen(s);
	uint8_t *raw = malloc(len + 1);
	char *text = malloc(2 * len + 8), sum[HEX_SHA256];
	ssize_t n = base64_read(raw, s, len);

	if (n >= 0) {
		expect(len % 4 == 0 && (size_t)n <= len / 4 * 3 &&
		    base64_len((size_t)n) == len);
		base64_write(text, raw, (size_t)n);
		/* spare bits before the padding are not compared */
		expect(strlen(text) == len);
		if (n % 3 == 0)
			expect(strcmp(text, s) == 0);
	}
	if (hex_read(raw, len / 2, s) == 0) {
		expect(len % 2 == 0);
		hex_write(text, raw, len / 2);
		expect(strcasecmp(text, s) == 0);
	} else {
		expect(len % 2 != 0 ||
		    strspn(s, "0123456789abcdefABCDEF") < len);
	}
	if (len < HEX_SHA256 && hex_read_sha256(raw, s) == 0) {
		hex_write_sha256(sum, raw);
		expect(strcasecmp(sum, s) == 0);
	}
	free(raw);
	free(text);
}

static void
try_path(const char *s)
{
	char *path = malloc(strlen(s) + 1);
	bool parent = path_has_parent(s);

	strcpy(path, s);
	expect((path_clean(path) != 0) == parent);
	if (!parent) {
		size_t len = strlen(path);

		expect(*path != '/' && strstr(path, "//") == NULL);
		expect(len == 0 || path[len - 1] != '/');
		expect(strstr(path, "/./") == NULL &&
		    strncmp(path, "./", 2) != 0 && strcmp(path, ".") != 0);
		expect(strchr(path_name(path), '/') == NULL);
	}
	free(path);
}

static void
try_shown(const char *s)
{
	const char *all = s + strlen(s);

	while (*s != '\0') {
		const char *from = s;
		char out[UTF8_SAFE + 1];
		size_t n = utf8_safe(&s, out);

		expect(s > from && s <= all && n > 0 && n <= UTF8_SAFE);
		out[n] = '\0';
		for (size_t i = 0; i < n; i++)
			expect((unsigned char)out[i] >= ' ' &&
			    out[i] != 0x7f);
		expect(utf8_length(out) == 0 || !utf8_is_control(out));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	try_int(text);
	try_size(text);
	try_real(text);
	try_words(text);
	try_codes(text);
	try_path(text);
	try_shown(text);
	free(text);
	return 0;
}
