/*
 * oci_edit.c - changing the documents of an OCI image, and writing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parser's tree is changed in place.  Its nodes belong to the C library's
 * malloc(), with which yajl_tree_free() frees them.
 */
#include "image/oci/oci_edit.h"

#include "base/sys.h"
#include "oci_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#define PREFIX "sha256:"

/* Descriptors */

static yajl_val
descriptor(const struct oci_document *d, const char *list, size_t n)
{
	yajl_val all;

	if (list == NULL)
		return json_member(d->root, "config", yajl_t_object);
	all = json_member(d->root, list, yajl_t_array);
	return all == NULL || n >= YAJL_GET_ARRAY(all)->len ? NULL :
	    YAJL_GET_ARRAY(all)->values[n];
}

size_t
oci_count(const struct oci_document *d, const char *list)
{
	yajl_val all = json_member(d->root, list, yajl_t_array);

	return all == NULL ? 0 : YAJL_GET_ARRAY(all)->len;
}

static const char *
text_or_empty(yajl_val v, const char *name)
{
	const char *text = json_text(v, name);

	return text == NULL ? "" : text;
}

int
oci_get(const struct oci_document *d, const char *list, size_t n,
    struct oci_descriptor *x, char why[OCI_WHY])
{
	yajl_val v = descriptor(d, list, n), platform;

	if (v == NULL || !YAJL_IS_OBJECT(v)) {
		snprintf(why, OCI_WHY, "a descriptor is missing in %s",
		    list == NULL ? "config" : list);
		return list == NULL ? -ENOENT : -EBADMSG;
	}
	platform = json_member(v, "platform", yajl_t_object);
	x->media_type = text_or_empty(v, "mediaType");
	x->os = text_or_empty(platform, "os");
	x->architecture = text_or_empty(platform, "architecture");
	x->variant = text_or_empty(platform, "variant");
	x->tag = text_or_empty(json_member(v, "annotations", yajl_t_object),
	    OCI_TAG);
	return oci_take_blob(v, &x->blob, why);
}

/* Changing a tree */

static yajl_val
new_value(yajl_type type)
{
	yajl_val v = calloc(1, sizeof(*v));

	if (v != NULL)
		v->type = type;
	return v;
}

static yajl_val
new_text(const char *text)
{
	yajl_val v = new_value(yajl_t_string);

	if (v != NULL && (v->u.string = strdup(text)) == NULL) {
		free(v);
		return NULL;
	}
	return v;
}

static yajl_val
new_number(uint64_t number)
{
	yajl_val v = new_value(yajl_t_number);
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

/* The index of a member, or the number of members. */
static size_t
find(yajl_val of, const char *name)
{
	size_t i = 0;

	while (i < of->u.object.len && strcmp(of->u.object.keys[i], name) != 0)
		i++;
	return i;
}

/* Adds room for one member at the end. */
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

/* Replaces or adds a member.  Always consumes value, even on failure. */
static int
put(yajl_val of, const char *name, yajl_val value)
{
	size_t i = find(of, name);
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

static void
drop(yajl_val of, const char *name)
{
	size_t i = find(of, name), rest;

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
oci_set(struct oci_document *d, const char *list, size_t n,
    const struct oci_blob *b, const char *media_type)
{
	yajl_val v = descriptor(d, list, n);
	char text[sizeof(PREFIX) + OCI_HEX];
	int rc;

	snprintf(text, sizeof(text), PREFIX "%s", b->hex);
	rc = put(v, "digest", new_text(text));
	if (rc == 0)
		rc = put(v, "size", new_number(b->size));
	if (rc == 0 && media_type != NULL)
		rc = put(v, "mediaType", new_text(media_type));
	return rc;
}

int
oci_annotate(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *value)
{
	yajl_val v = descriptor(d, list, n);
	yajl_val all = json_member(v, "annotations", yajl_t_object);
	int rc = 0;

	if (value == NULL) {
		if (all != NULL)
			drop(all, name);
		if (all != NULL && all->u.object.len == 0)
			drop(v, "annotations");
		return 0;
	}
	if (all == NULL)
		rc = put(v, "annotations", new_value(yajl_t_object));
	all = json_member(v, "annotations", yajl_t_object);
	return rc != 0 ? rc : put(all, name, new_text(value));
}

void
oci_remove(struct oci_document *d, const char *list, size_t n)
{
	yajl_val all = json_member(d->root, list, yajl_t_array);
	size_t rest;

	yajl_tree_free(all->u.array.values[n]);
	rest = --all->u.array.len - n;
	memmove(all->u.array.values + n, all->u.array.values + n + 1,
	    rest * sizeof(*all->u.array.values));
}

int
oci_set_diff_id(struct oci_document *config, size_t n,
    const char hex[OCI_HEX + 1])
{
	yajl_val all = json_member(json_member(config->root, "rootfs",
	    yajl_t_object), "diff_ids", yajl_t_array), v;
	char text[sizeof(PREFIX) + OCI_HEX];

	if (all == NULL || n >= YAJL_GET_ARRAY(all)->len)
		return -EBADMSG;
	snprintf(text, sizeof(text), PREFIX "%s", hex);
	v = new_text(text);
	if (v == NULL)
		return -ENOMEM;
	yajl_tree_free(all->u.array.values[n]);
	all->u.array.values[n] = v;
	return 0;
}

/* Writing */

static yajl_gen_status generate(yajl_gen g, yajl_val v);

static yajl_gen_status
generate_text(yajl_gen g, const char *s)
{
	return yajl_gen_string(g, (const unsigned char *)s, strlen(s));
}

static yajl_gen_status
generate_object(yajl_gen g, yajl_val v)
{
	yajl_gen_status status = yajl_gen_map_open(g);

	for (size_t i = 0; status == yajl_gen_status_ok &&
	    i < v->u.object.len; i++) {
		status = generate_text(g, v->u.object.keys[i]);
		if (status == yajl_gen_status_ok)
			status = generate(g, v->u.object.values[i]);
	}
	return status != yajl_gen_status_ok ? status : yajl_gen_map_close(g);
}

static yajl_gen_status
generate_array(yajl_gen g, yajl_val v)
{
	yajl_gen_status status = yajl_gen_array_open(g);

	for (size_t i = 0; status == yajl_gen_status_ok &&
	    i < v->u.array.len; i++)
		status = generate(g, v->u.array.values[i]);
	return status != yajl_gen_status_ok ? status :
	    yajl_gen_array_close(g);
}

/* Recursion is limited: json_parse() refuses documents that are too deep. */
static yajl_gen_status
generate(yajl_gen g, yajl_val v)
{
	switch (v->type) {
	case yajl_t_string:
		return generate_text(g, v->u.string);
	case yajl_t_number:
		return yajl_gen_number(g, v->u.number.r,
		    strlen(v->u.number.r));
	case yajl_t_object:
		return generate_object(g, v);
	case yajl_t_array:
		return generate_array(g, v);
	case yajl_t_true:
	case yajl_t_false:
		return yajl_gen_bool(g, v->type == yajl_t_true);
	default:
		return yajl_gen_null(g);
	}
}

int
oci_write(const struct oci_document *d, char **text, size_t *len)
{
	yajl_gen g = yajl_gen_alloc(NULL);
	const unsigned char *made = NULL;
	int rc = -ENOMEM;

	if (g == NULL)
		return -ENOMEM;
	if (generate(g, d->root) == yajl_gen_status_ok &&
	    yajl_gen_get_buf(g, &made, len) == yajl_gen_status_ok)
		*text = sys_malloc(*len + 1);
	else
		*text = NULL;
	if (*text != NULL) {
		memcpy(*text, made, *len);
		(*text)[*len] = '\0';
		rc = 0;
	}
	yajl_gen_free(g);
	return rc;
}
