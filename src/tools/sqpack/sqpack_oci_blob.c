/*
 * sqpack_oci_blob.c - opening and verifying the layers of an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_oci.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int
oci_refuse(struct oci *o, const char *what, const char *why)
{
	progress_erase(&o->p->progress);
	msg_error(&o->p->msg, "%s: %s: %s", o->path, what, why);
	return -EBADMSG;
}

static int
verify_blob(struct oci *o, int fd, const struct oci_blob *b)
{
	int rc = oci_blob_verify(fd, b);

	return rc == 0 ? 0 : oci_refuse(o, b->hex, rc == -EBADMSG ?
	    OCI_NOT_ITS : strerror(-rc));
}

int
oci_open_layer(struct oci *o)
{
	const struct oci_blob *b = &o->layers[o->layer];
	int fd, rc;

	snprintf(o->name, strlen(o->path) + OCI_NAME_MORE, "%s: layer %zu of %zu",
	    o->path, o->layer + 1, o->count);
	fd = oci_blob_open(o->dir, b);
	rc = fd < 0 || o->verified ? 0 : verify_blob(o, fd, b);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	o->open = true;
	return archive_open(&o->archive, o->p, o->name, fd, false);
}

int
oci_close_layer(struct oci *o)
{
	int rc = archive_end(&o->archive);

	archive_close(&o->archive);
	o->open = false;
	return rc;
}
