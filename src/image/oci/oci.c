/*
 * oci.c - the documents of an OCI image layout: indices and manifests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/oci/oci.h"

#include "base/sys.h"
#include "oci_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define PREFIX "sha256:"

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

int
oci_take_blob(yajl_val v, struct oci_blob *b, char why[OCI_WHY])
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
		return oci_take_blob(found == 1 ? any : ours, b, why);
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
		rc = oci_take_blob(YAJL_GET_ARRAY(all)->values[i],
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
