/*
 * oci.c - reading, changing and writing the documents of an OCI image layout
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Indices, manifests and configs are JSON.  The parser's tree is changed in
 * place.
 */
#include "image/oci/oci.h"
#include "image/oci/oci_edit.h"

#include "base/sys.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <yajl/yajl_gen.h>

#define PREFIX "sha256:"

/* The annotation that names a descriptor's tag. */
#define OCI_TAG "org.opencontainers.image.ref.name"

struct oci_document {
	yajl_val root;
};

int
oci_parse(struct oci_document **out, const char *text, size_t len,
    char why[OCI_WHY])
{
	struct oci_document *d = sys_calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return -ENOMEM;
	rc = json_parse(&d->root, text, len, why);
	if (rc != 0)
		oci_free(d);
	else
		*out = d;
	return rc;
}

void
oci_free(struct oci_document *d)
{
	if (d == NULL)
		return;
	yajl_tree_free(d->root);
	sys_free(d);
}

bool
oci_is_index(const struct oci_document *d)
{
	return json_member(d->root, "manifests", yajl_t_array) != NULL;
}

bool
oci_is_config(const char *media_type)
{
	return strcmp(media_type,
	    "application/vnd.oci.image.config.v1+json") == 0 ||
	    strcmp(media_type,
	    "application/vnd.docker.container.image.v1+json") == 0;
}

/* Descriptors */

/*
 * Reads the digest and size of a descriptor.  Returns 0, or -EBADMSG with a
 * clause in why.
 */
static int
take_blob(yajl_val v, struct oci_blob *b, char why[OCI_WHY])
{
	const char *digest = json_text(v, "digest");
	yajl_val size = json_member(v, "size", yajl_t_number);
	size_t prefix = strlen(PREFIX);

	if (digest == NULL || strncmp(digest, PREFIX, prefix) != 0 ||
	    strlen(digest) != prefix + OCI_HEX ||
	    strspn(digest + prefix, "0123456789abcdef") != OCI_HEX) {
		snprintf(why, OCI_WHY, "expected a SHA-256 digest, found "
		    "%.80s", digest == NULL ? "none" : digest);
		return -EBADMSG;
	}
	if (size == NULL || !YAJL_IS_INTEGER(size) ||
	    YAJL_GET_INTEGER(size) < 0) {
		snprintf(why, OCI_WHY, "the size of %.19s... is missing",
		    digest);
		return -EBADMSG;
	}
	strcpy(b->hex, digest + prefix);
	b->size = (uint64_t)YAJL_GET_INTEGER(size);
	return 0;
}

/* Returns the architecture's name in OCI images. */
static const char *
architecture_of(const char *machine)
{
	static const char *const names[][2] = { { "x86_64", "amd64" },
		{ "aarch64", "arm64" }, { "armv7l", "arm" },
		{ "armv6l", "arm" }, { "i686", "386" }, { "i386", "386" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(machine, names[i][0]) == 0)
			return names[i][1];
	return machine;
}

static const char *
tag_of(yajl_val v)
{
	return json_text(json_member(v, "annotations", yajl_t_object),
	    OCI_TAG);
}

/*
 * Returns whether an entry of an index refers to an image.  Other artifacts,
 * such as SOCI indices, may be listed for the same platform; programs that
 * predate artifactType drop it.
 */
static bool
is_image(yajl_val v)
{
	const char *type = json_text(v, "artifactType");
	yajl_val notes = json_member(v, "annotations", yajl_t_object);

	if (type != NULL)
		return oci_is_config(type);
	return json_text(notes, "com.amazon.soci.image-manifest-digest") ==
	    NULL;
}

static void
tell_choice(yajl_val all, size_t found, size_t fitting, const char *tag,
    const char *architecture, char why[OCI_WHY])
{
	bool tags = false;
	size_t n;

	for (size_t i = 0; i < YAJL_GET_ARRAY(all)->len; i++)
		tags = tags ||
		    tag_of(YAJL_GET_ARRAY(all)->values[i]) != NULL;
	if (found > 0 && (tag != NULL || !tags)) {
		snprintf(why, OCI_WHY, "%s of its %zu images%s%.60s is for "
		    "%.40s", fitting == 0 ? "none" : "more than one", found,
		    tag == NULL ? "" : " with the tag ", tag == NULL ? "" :
		    tag, architecture);
		return;
	}
	n = (size_t)snprintf(why, OCI_WHY, found == 0 ? "no image%s%.60s" :
	    "several images%s%.60s; select one by tag, as in layout:TAG",
	    tag == NULL ? "" : " with the tag ", tag == NULL ? "" : tag);

	for (size_t i = 0; i < YAJL_GET_ARRAY(all)->len; i++) {
		const char *name = tag_of(YAJL_GET_ARRAY(all)->values[i]);

		if (name != NULL && n + strlen(name) + 4 < OCI_WHY)
			n += (size_t)snprintf(why + n, OCI_WHY - n, "%s%s",
			    strstr(why, ": ") == NULL ? ": " : ", ", name);
	}
}

int
oci_choose(const struct oci_document *d, const char *tag,
    const char *machine, struct oci_blob *b, char why[OCI_WHY])
{
	const char *architecture = architecture_of(machine);
	yajl_val all = json_member(d->root, "manifests", yajl_t_array);
	yajl_val any = NULL, ours = NULL;
	size_t found = 0, fitting = 0;

	if (all == NULL) {
		snprintf(why, OCI_WHY, "no manifests");
		return -EBADMSG;
	}
	for (size_t i = 0; i < YAJL_GET_ARRAY(all)->len; i++) {
		yajl_val v = YAJL_GET_ARRAY(all)->values[i];
		const char *name = tag_of(v);

		if (!is_image(v) || (tag != NULL && (name == NULL ||
		    strcmp(name, tag) != 0)))
			continue;
		any = v;
		found++;
		name = json_text(json_member(v, "platform", yajl_t_object),
		    "architecture");
		if (name != NULL && strcmp(name, architecture) == 0) {
			ours = v;
			fitting++;
		}
	}
	if (found == 1 || fitting == 1)
		return take_blob(found == 1 ? any : ours, b, why);
	tell_choice(all, found, fitting, tag, architecture, why);
	return -ENOENT;
}

int
oci_choose_here(const struct oci_document *d, const char *tag,
    struct oci_blob *b, char why[OCI_WHY])
{
	struct utsname u;

	if (uname(&u) == -1) {
		snprintf(why, OCI_WHY, "%s", strerror(errno));
		return -errno;
	}
	return oci_choose(d, tag, u.machine, b, why);
}

int
oci_layers(const struct oci_document *d, struct oci_blob **layers,
    size_t *count, char why[OCI_WHY])
{
	yajl_val all = json_member(d->root, "layers", yajl_t_array);
	int rc = 0;

	if (all == NULL || YAJL_GET_ARRAY(all)->len > OCI_LAYERS_MAX) {
		snprintf(why, OCI_WHY, all == NULL ? "no layers" :
		    "more than %d layers", OCI_LAYERS_MAX);
		return -EBADMSG;
	}
	*count = YAJL_GET_ARRAY(all)->len;
	*layers = sys_calloc(*count + 1, sizeof(**layers));
	if (*layers == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < *count; i++)
		rc = take_blob(YAJL_GET_ARRAY(all)->values[i],
		    &(*layers)[i], why);
	if (rc != 0) {
		sys_free(*layers);
		*layers = NULL;
	}
	return rc;
}

const char *
oci_annotation(const struct oci_document *d, size_t layer, const char *name)
{
	yajl_val all = json_member(d->root, "layers", yajl_t_array);

	if (all == NULL || layer >= YAJL_GET_ARRAY(all)->len)
		return NULL;
	return json_text(json_member(YAJL_GET_ARRAY(all)->values[layer],
	    "annotations", yajl_t_object), name);
}

const char *
oci_diff_id(const struct oci_document *config, size_t n)
{
	yajl_val all = json_member(json_member(config->root, "rootfs",
	    yajl_t_object), "diff_ids", yajl_t_array);

	if (all == NULL || n >= YAJL_GET_ARRAY(all)->len)
		return NULL;
	return YAJL_GET_STRING(YAJL_GET_ARRAY(all)->values[n]);
}

/*
 * Values.  They are allocated with malloc(), because yajl_tree_free() frees
 * them with free(); a new value is NULL if out of memory.
 */

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

/* Returns the index of a member, or the number of members if it is missing. */
static size_t
member_index(yajl_val of, const char *name)
{
	size_t i = 0;

	while (i < of->u.object.len && strcmp(of->u.object.keys[i], name) != 0)
		i++;
	return i;
}

/*
 * Replaces or adds a member of an object; consumes value even on failure.
 * Returns 0, or -ENOMEM, including when value is NULL.
 */
static int
put_member(yajl_val of, const char *name, yajl_val value)
{
	size_t i = member_index(of, name), n = of->u.object.len + 1;
	const char **keys;
	yajl_val *values;
	char *key;

	if (value == NULL)
		return -ENOMEM;
	if (i < of->u.object.len) {
		yajl_tree_free(of->u.object.values[i]);
		of->u.object.values[i] = value;
		return 0;
	}
	key = strdup(name);
	if (key == NULL)
		goto fail;
	keys = realloc(of->u.object.keys, n * sizeof(*keys));
	if (keys == NULL)
		goto fail;
	of->u.object.keys = keys;
	values = realloc(of->u.object.values, n * sizeof(*values));
	if (values == NULL)
		goto fail;
	of->u.object.values = values;
	keys[i] = key;
	values[i] = value;
	of->u.object.len++;
	return 0;
fail:
	free(key);
	yajl_tree_free(value);
	return -ENOMEM;
}

/* Removes a member, if there is one. */
static void
drop_member(yajl_val of, const char *name)
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

/* Their descriptors */

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
	return take_blob(v, &x->blob, why);
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
	rc = put_member(v, "digest", new_text(text));
	if (rc == 0)
		rc = put_member(v, "size", new_number(b->size));
	if (rc == 0 && media_type != NULL)
		rc = put_member(v, "mediaType", new_text(media_type));
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
			drop_member(all, name);
		if (all != NULL && all->u.object.len == 0)
			drop_member(v, "annotations");
		return 0;
	}
	if (all == NULL)
		rc = put_member(v, "annotations", new_value(yajl_t_object));
	all = json_member(v, "annotations", yajl_t_object);
	return rc != 0 ? rc : put_member(all, name, new_text(value));
}

int
oci_set_text(struct oci_document *d, const char *list, size_t n,
    const char *name, const char *text)
{
	return put_member(descriptor(d, list, n), name, new_text(text));
}

int
oci_set_platform(struct oci_document *d, const char *list, size_t n,
    const struct oci_descriptor *x)
{
	yajl_val of = new_value(yajl_t_object);
	int rc = of == NULL ? -ENOMEM :
	    put_member(of, "architecture", new_text(x->architecture));

	if (rc == 0)
		rc = put_member(of, "os", new_text(x->os));
	if (rc == 0 && *x->variant != '\0')
		rc = put_member(of, "variant", new_text(x->variant));
	if (rc != 0) {
		yajl_tree_free(of);
		return rc;
	}
	return put_member(descriptor(d, list, n), "platform", of);
}

int
oci_add(struct oci_document *d, const char *list, const struct oci_blob *b,
    const char *media_type)
{
	yajl_val all = json_member(d->root, list, yajl_t_array), *values, v;
	size_t n;
	int rc;

	if (all == NULL)
		return -EBADMSG;
	v = new_value(yajl_t_object);
	if (v == NULL)
		return -ENOMEM;
	n = all->u.array.len;
	values = realloc(all->u.array.values, (n + 1) * sizeof(*values));
	if (values == NULL) {
		yajl_tree_free(v);
		return -ENOMEM;
	}
	values[n] = v;
	all->u.array.values = values;
	all->u.array.len++;
	/*
	 * use the same member order as other programs, because they compare
	 * the text
	 */
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
	v = new_text(text);
	if (v == NULL)
		return -ENOMEM;
	yajl_tree_free(all->u.array.values[n]);
	all->u.array.values[n] = v;
	return 0;
}

/* Writing */

static yajl_gen_status
generate_text(yajl_gen g, const char *s)
{
	return yajl_gen_string(g, (const unsigned char *)s, strlen(s));
}

/*
 * Recursion is bounded, because json_parse() rejects documents nested too
 * deeply.
 */
static yajl_gen_status
generate(yajl_gen g, yajl_val v)
{
	const yajl_gen_status ok = yajl_gen_status_ok;
	yajl_gen_status status;

	switch (v->type) {
	case yajl_t_string:
		return generate_text(g, v->u.string);
	case yajl_t_number:
		return yajl_gen_number(g, v->u.number.r,
		    strlen(v->u.number.r));
	case yajl_t_object:
		status = yajl_gen_map_open(g);
		for (size_t i = 0; status == ok && i < v->u.object.len; i++) {
			status = generate_text(g, v->u.object.keys[i]);
			if (status == ok)
				status = generate(g, v->u.object.values[i]);
		}
		return status != ok ? status : yajl_gen_map_close(g);
	case yajl_t_array:
		status = yajl_gen_array_open(g);
		for (size_t i = 0; status == ok && i < v->u.array.len; i++)
			status = generate(g, v->u.array.values[i]);
		return status != ok ? status : yajl_gen_array_close(g);
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
