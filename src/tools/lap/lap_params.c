/*
 * lap_params.c - replacing placeholders in commands with values from -L and -P
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A variant is a number, from 0, that encodes the values of all parameters; the
 * last parameter changes fastest.
 */
#include "lap.h"

#include "base/args.h"
#include "base/array.h"
#include "base/sys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 10000, NAME_MAX_B = 64 };

static const char NAME[] = "abcdefghijklmnopqrstuvwxyz"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

bool
lap_is_value(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s == ';' || (unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

size_t
lap_name_length(const char *s)
{
	return strspn(s, NAME);
}

static void
no_memory(struct lap *l, const char *text)
{
	msg_error(&l->msg, "out of memory for parameter '%s'", text);
}

/*
 * Adds a parameter with the name before the "=" in text, and returns it.
 * Returns NULL after reporting an error.
 */
static struct lap_param *
add_param(struct lap *l, const char *text, const char **rest)
{
	size_t n = lap_name_length(text);
	struct lap_param *p;

	if (n == 0 || n > NAME_MAX_B || text[n] != '=' ||
	    !lap_is_value(text)) {
		msg_error(&l->msg, "parameter '%s': expected NAME=VALUES",
		    text);
		return NULL;
	}
	for (size_t i = 0; i < l->param_count; i++)
		if (strncmp(l->params[i].name, text, n) == 0 &&
		    l->params[i].name[n] == '\0') {
			msg_error(&l->msg, "parameter '%.*s' is given twice",
			    (int)n, text);
			return NULL;
		}
	if (array_grow((void **)&l->params, l->param_count, &l->param_room,
	    sizeof(*l->params)) != 0) {
		no_memory(l, text);
		return NULL;
	}
	p = &l->params[l->param_count++];
	*p = (struct lap_param){ .name = arena_copy(&l->arena, text, n) };
	if (p->name == NULL) {
		no_memory(l, text);
		return NULL;
	}
	*rest = text + n + 1;
	return p;
}

static int
add_value(struct lap *l, struct lap_param *p, const char *s, size_t n)
{
	char *copy = arena_copy(&l->arena, s, n);

	if (copy == NULL || array_grow((void **)&p->values, p->count, &p->room,
	    sizeof(*p->values)) != 0) {
		no_memory(l, p->name);
		return MSG_ERROR;
	}
	p->values[p->count++] = copy;
	return -1;
}

int
lap_param_list(void *into)
{
	struct lap *l = into;
	const char *s = NULL;
	struct lap_param *p = add_param(l, optarg, &s);
	int status = -1;

	while (p != NULL && status < 0) {
		size_t n = strcspn(s, ",");

		status = add_value(l, p, s, n);
		if (s[n] == '\0')
			return status;
		s += n + 1;
	}
	return MSG_ERROR;
}

/* Returns the number of decimal places in a number: 2 for "0.25". */
static int
decimals(const char *s)
{
	const char *point = strchr(s, '.');

	return point == NULL ? 0 : (int)strlen(point + 1);
}

int
lap_param_range(void *into)
{
	struct lap *l = into;
	const char *range = NULL;
	struct lap_param *p = add_param(l, optarg, &range);
	char part[3][32] = { "", "", "1" }, value[64];
	int n = 0, digits = 0, status = -1, steps;
	double v[3] = { 0, 0, 1 };

	if (p == NULL)
		return MSG_ERROR;
	/* MIN:MAX[:STEP] */
	for (;; n++) {
		size_t len = strcspn(range, ":");

		if (n == 3 || len >= sizeof(part[0]))
			goto wrong;
		memcpy(part[n], range, len);
		part[n][len] = '\0';
		if (args_real(part[n], -1e15, 1e15, &v[n]) != 0)
			goto wrong;
		if (range[len] == '\0')
			break;
		range += len + 1;
	}
	if (n == 0 || !(v[2] > 0 && v[1] >= v[0] &&
	    (v[1] - v[0]) / v[2] < VALUES_MAX))
		goto wrong;
	for (int i = 0; i < 3; i++)
		if (decimals(part[i]) > digits)
			digits = decimals(part[i]);
	steps = (int)floor((v[1] - v[0]) / v[2] * (1 + 1e-12));
	for (int i = 0; i <= steps && status < 0; i++)
		status = add_value(l, p, value, (size_t)snprintf(value,
		    sizeof(value), "%.*f", digits, v[0] + i * v[2]));
	return status;
wrong:
	msg_error(&l->msg, "parameter '%s': expected NAME=MIN:MAX or "
	    "NAME=MIN:MAX:STEP, of at most %d values", optarg, VALUES_MAX);
	return MSG_ERROR;
}

uint64_t
lap_variants(const struct lap *l)
{
	uint64_t n = 1;

	for (size_t i = 0; i < l->param_count && n <= LAP_CELLS_MAX; i++)
		n *= l->params[i].count;
	return n;
}

/* Returns the value of a parameter in a variant. */
static const char *
value_of(const struct lap *l, size_t param, uint64_t variant)
{
	for (size_t i = l->param_count; i-- > param + 1;)
		variant /= l->params[i].count;
	return l->params[param].values[variant % l->params[param].count];
}

/*
 * Replaces the placeholders in text and writes the result to out, unless out is
 * NULL.  Returns the length.
 */
static size_t
replace_placeholders(const struct lap *l, uint64_t variant, const char *text,
    char *out)
{
	size_t length = 0;

	while (*text != '\0') {
		const char *value = text;
		size_t n = 1, skip = 1;

		for (size_t i = 0; *text == '{' && i < l->param_count; i++) {
			size_t k = strlen(l->params[i].name);

			if (strncmp(text + 1, l->params[i].name, k) != 0 ||
			    text[k + 1] != '}')
				continue;
			value = value_of(l, i, variant);
			n = strlen(value);
			skip = k + 2;
			break;
		}
		if (out != NULL)
			memcpy(out + length, value, n);
		length += n;
		text += skip;
	}
	return length;
}

char *
lap_fill(struct lap *l, uint64_t variant, const char *text)
{
	size_t n = replace_placeholders(l, variant, text, NULL);
	char *out = arena_take(&l->arena, n + 1);

	if (out != NULL) {
		replace_placeholders(l, variant, text, out);
		out[n] = '\0';
	}
	return out;
}

char *
lap_variant_keys(struct lap *l, uint64_t variant)
{
	const char *common = l->o.keys != NULL ? l->o.keys : "";
	size_t size = strlen(common) + 1;
	char *keys, *s;

	for (size_t i = 0; i < l->param_count; i++)
		size += strlen(l->params[i].name) +
		    strlen(value_of(l, i, variant)) + 2;
	keys = arena_take(&l->arena, size);
	if (keys == NULL)
		return NULL;
	s = stpcpy(keys, common);
	for (size_t i = 0; i < l->param_count; i++)
		s += sprintf(s, "%s%s=%s", s > keys ? ";" : "",
		    l->params[i].name, value_of(l, i, variant));
	return keys;
}

void
lap_params_free(struct lap *l)
{
	for (size_t i = 0; i < l->param_count; i++)
		sys_free(l->params[i].values);
	sys_free(l->params);
}
