/*
 * args.c - parsing numbers and lists from a command line
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/args.h"

#include "base/sys.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
args_int(const char *s, int64_t lo, int64_t hi, int64_t *value)
{
	char *end;
	long long v;

	if (!isdigit((unsigned char)*s) && *s != '-')
		return -EINVAL;
	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || *end != '\0')
		return -EINVAL;
	if (errno != 0 || v < lo || v > hi)
		return -ERANGE;
	*value = v;
	return 0;
}

int
args_size(const char *s, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *unit;
	unsigned shift = 0;
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	v = strtoull(s, &end, 10);	/* too large: ULLONG_MAX */
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL)
			return -EINVAL;
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (strcmp(end, "iB") != 0 && strcmp(end, "B") != 0 &&
		    *end != '\0')
			return -EINVAL;
	}
	if (v > (uint64_t)INT64_MAX >> shift)
		return -ERANGE;
	*bytes = (uint64_t)v << shift;
	return 0;
}

int
args_real(const char *s, double lo, double hi, double *value)
{
	char *end;
	double v;

	/* strtod() also takes blanks, hexadecimal, "inf" and "nan". */
	if (s[strspn(s, "0123456789.eE+-")] != '\0')
		return -EINVAL;
	v = strtod(s, &end);
	if (end == s || *end != '\0' || !isfinite(v))
		return -EINVAL;
	if (v < lo || v > hi)
		return -ERANGE;
	*value = v;
	return 0;
}

int
args_splice(const char *text, int *argc, char *const *argv, char ***out)
{
	/* n characters contain at most n / 2 + 1 words */
	size_t len = strlen(text), most = len / 2 + 1, n = 0;
	size_t slots = (size_t)*argc + most + 1;
	char **v = sys_malloc(slots * sizeof(*v) + len + 1);
	char *copy, *save = NULL;

	if (v == NULL)
		return -ENOMEM;
	copy = memcpy(v + slots, text, len + 1);
	if (*argc > 0)
		v[n++] = argv[0];
	for (char *w = strtok_r(copy, " \t\n", &save); w != NULL;
	    w = strtok_r(NULL, " \t\n", &save))
		v[n++] = w;
	for (int i = 1; i < *argc; i++)
		v[n++] = argv[i];
	v[n] = NULL;
	*argc = (int)n;
	*out = v;
	return 0;
}
