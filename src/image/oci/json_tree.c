/*
 * json_tree.c - modifying the tree of a JSON document
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nodes are allocated with malloc(), because yajl_tree_free() frees them with
 * free().
 */
#include "oci_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

yajl_val
json_new_value(yajl_type type)
{
	yajl_val v = calloc(1, sizeof(*v));

	if (v != NULL)
		v->type = type;
	return v;
}

yajl_val
json_new_text(const char *text)
{
	yajl_val v = json_new_value(yajl_t_string);

	if (v != NULL && (v->u.string = strdup(text)) == NULL) {
		free(v);
		return NULL;
	}
	return v;
}

yajl_val
json_new_number(uint64_t number)
{
	yajl_val v = json_new_value(yajl_t_number);
	char text[24];

	if (v == NULL)
		return NULL;
	snprintf(text, sizeof(text), "%" PRIu64, number);
	v->u.number.r = strdup(text);
	if (v->u.number.r == NULL) {
		free(v);
		return NULL;
	}
	v->u.number.i = (long long)number;
	v->u.number.flags = YAJL_NUMBER_INT_VALID;
	return v;
}

/* Returns the index of a member, or the number of members if it is missing. */
static size_t
member_index(yajl_val of, const char *name)
{
	size_t i = 0;

	while (i < of->u.object.len && strcmp(of->u.object.keys[i], name) != 0)
		i++;
	return i;
}

/* Makes room for one more member at the end. */
static int
widen(yajl_val of)
{
	size_t n = of->u.object.len + 1;
	const char **keys = realloc(of->u.object.keys, n * sizeof(*keys));
	yajl_val *values;

	if (keys == NULL)
		return -ENOMEM;
	of->u.object.keys = keys;
	values = realloc(of->u.object.values, n * sizeof(*values));
	if (values == NULL)
		return -ENOMEM;
	of->u.object.values = values;
	return 0;
}

int
json_put(yajl_val of, const char *name, yajl_val value)
{
	size_t i = member_index(of, name);
	char *key;

	if (value == NULL)
		return -ENOMEM;
	if (i < of->u.object.len) {
		yajl_tree_free(of->u.object.values[i]);
		of->u.object.values[i] = value;
		return 0;
	}
	key = strdup(name);
	if (key == NULL || widen(of) != 0) {
		free(key);
		yajl_tree_free(value);
		return -ENOMEM;
	}
	of->u.object.keys[i] = key;
	of->u.object.values[i] = value;
	of->u.object.len++;
	return 0;
}

void
json_drop(yajl_val of, const char *name)
{
	size_t i = member_index(of, name), rest;

	if (i == of->u.object.len)
		return;
	free((void *)(uintptr_t)of->u.object.keys[i]);
	yajl_tree_free(of->u.object.values[i]);
	rest = --of->u.object.len - i;
	memmove(of->u.object.keys + i, of->u.object.keys + i + 1,
	    rest * sizeof(*of->u.object.keys));
	memmove(of->u.object.values + i, of->u.object.values + i + 1,
	    rest * sizeof(*of->u.object.values));
}

int
json_append(yajl_val to, yajl_val value)
{
	yajl_val *values = value == NULL ? NULL : realloc(to->u.array.values,
	    (to->u.array.len + 1) * sizeof(*values));

	if (values == NULL) {
		yajl_tree_free(value);
		return -ENOMEM;
	}
	to->u.array.values = values;
	values[to->u.array.len++] = value;
	return 0;
}
