/*
 * layerpack_cas_image.c - merging the layers of an image into a repository
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_cas.h"

#include "base/sys.h"
#include "image/oci/oci_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* An open layout. */
struct layout {
	struct layerpack_cas *m;
	int dir;
	const char *tag;		/* or NULL */
};

static int
refuse_layout(const struct layout *l, const char *what, int rc, const char *why)
{
	msg_error(&l->m->p->msg, "%s: %s: %s", l->m->p->o.source, what, why);
	return rc;
}

static int
add_layer(const struct layout *l, const struct oci_blob *b)
{
	int fd = oci_blob_open(l->dir, b), rc;

	if (fd < 0)
		return refuse_layout(l, b->hex, fd, strerror(-fd));
	rc = oci_blob_verify(fd, b);
	if (rc == 0)
		rc = layerpack_cas_add(l->m, fd, b->hex);
	else
		refuse_layout(l, b->hex, rc, rc == -EBADMSG ? OCI_NOT_ITS :
		    strerror(-rc));
	sys_close(fd);
	return rc;
}

static int
add_layers(const struct layout *l)
{
	struct oci_document *d = NULL;
	struct oci_blob *layers = NULL;
	char at[OCI_HEX + 1], why[OCI_WHY] = "";
	size_t count = 0;
	int rc = oci_manifest_open(l->dir, l->tag, &d, at, why);

	if (rc != 0) {
		refuse_layout(l, at, rc, why);
	} else {
		rc = oci_layers(d, &layers, &count, why);
		if (rc != 0)
			refuse_layout(l, "manifest", rc, why);
	}
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_layer(l, &layers[i]);
	sys_free(layers);
	oci_free(d);
	return rc;
}

int
layerpack_cas_image(struct layerpack_cas *m, const char *layout)
{
	struct layout l = { .m = m };
	char *path = oci_split(layout, &l.tag);
	int rc;

	if (path == NULL)
		return refuse_layout(&l, "layout", -ENOMEM, strerror(ENOMEM));
	l.dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
	if (l.dir < 0) {
		msg_error(&m->p->msg, "%s: %s", path, strerror(-l.dir));
		rc = l.dir;
	} else {
		rc = add_layers(&l);
		sys_close(l.dir);
	}
	sys_free(path);
	return rc;
}
