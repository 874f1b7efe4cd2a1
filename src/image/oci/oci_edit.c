/*
 * oci_edit.c - modifying and writing the documents of an OCI image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The parser's tree is changed in place.
 */
#include "image/oci/oci_edit.h"

#include "base/sys.h"
#include "oci_json.h"

#include <errno.h>
#include <stdio.h>
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
	if (strcmp(list, OCI_SELF) == 0)
		return d->root;
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

static void
take_platform(yajl_val of, struct oci_descriptor *x)
{
	x->os = text_or_empty(of, "os");
	x->architecture = text_or_empty(of, "architecture");
	x->variant = text_or_empty(of, "variant");
}

void
oci_config_platform(const struct oci_document *config,
    struct oci_descriptor *x)
{
	take_platform(config->root, x);
}

int
oci_get(const struct oci_document *d, const char *list, size_t n,
    struct oci_descriptor *x, char why[OCI_WHY])
{
	yajl_val v = descriptor(d, list, n);

	if (v == NULL || !YAJL_IS_OBJECT(v)) {
		snprintf(why, OCI_WHY, "a descriptor is missing from %s",
		    list == NULL ? "config" : list);
		return list == NULL ? -ENOENT : -EBADMSG;
	}
	x->media_type = text_or_empty(v, "mediaType");
	x->artifact_type = text_or_empty(v, "artifactType");
	take_platform(json_member(v, "platform", yajl_t_object), x);
	x->tag = text_or_empty(json_member(v, "annotations", yajl_t_object),
	    OCI_TAG);
	return oci_take_blob(v, &x->blob, why);
}

/* Changing them */

int
oci_set(struct oci_document *d, const char *list, size_t n,
    const struct oci_blob *b, const char *media_type)
{
	yajl_val v = descriptor(d, list, n);
	char text[sizeof(PREFIX) + OCI_HEX];
	int rc;

	snprintf(text, sizeof(text), PREFIX "%s", b->hex);
	rc = json_put(v, "digest", json_new_text(text));
	if (rc == 0)
		rc = json_put(v, "size", json_new_number(b->size));
	if (rc == 0 && media_type != NULL)
		rc = json_put(v, "mediaType", json_new_text(media_type));
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
			json_drop(all, name);
		if (all != NULL && all->u.object.len == 0)
			json_drop(v, "annotations");
		return 0;
	}
	if (all == NULL)
		rc = json_put(v, "annotations", json_new_value(yajl_t_object));
	all = json_member(v, "annotations", yajl_t_object);
	return rc != 0 ? rc : json_put(all, name, json_new_text(value));
}

int
oci_set_text(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *text)
{
	return json_put(descriptor(d, list, n), name, json_new_text(text));
}

int
oci_set_platform(struct oci_document *d, const char *list, size_t n,
    const struct oci_descriptor *x)
{
	yajl_val of = json_new_value(yajl_t_object);
	int rc = of == NULL ? -ENOMEM :
	    json_put(of, "architecture", json_new_text(x->architecture));

	if (rc == 0)
		rc = json_put(of, "os", json_new_text(x->os));
	if (rc == 0 && *x->variant != '\0')
		rc = json_put(of, "variant", json_new_text(x->variant));
	if (rc != 0) {
		yajl_tree_free(of);
		return rc;
	}
	return json_put(descriptor(d, list, n), "platform", of);
}

int
oci_add(struct oci_document *d, const char *list, const struct oci_blob *b,
    const char *media_type)
{
	yajl_val all = json_member(d->root, list, yajl_t_array);
	int rc = all == NULL ? -EBADMSG :
	    json_append(all, json_new_value(yajl_t_object));
	size_t n = rc != 0 ? 0 : YAJL_GET_ARRAY(all)->len - 1;

	/*
	 * use the same member order as other programs, because they compare
	 * the text
	 */
	if (rc == 0)
		rc = oci_set_text(d, list, n, "mediaType", media_type);
	return rc != 0 ? rc : oci_set(d, list, n, b, NULL);
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
	v = json_new_text(text);
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

/*
 * Recursion is bounded, because json_parse() rejects documents nested too
 * deeply.
 */
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
