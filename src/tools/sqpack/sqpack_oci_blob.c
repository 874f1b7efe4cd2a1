/*
 * sqpack_oci_blob.c - opening and verifying the blobs of an OCI layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_oci.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 20 };

int
oci_refuse(struct oci *o, const char *what, const char *why)
{
	progress_erase(&o->p->progress);
	msg_error(&o->p->msg, "%s: %s: %s", o->path, what, why);
	return -EBADMSG;
}

int
oci_open_blob(struct oci *o, const struct oci_blob *b)
{
	char name[OCI_HEX + 16];

	snprintf(name, sizeof(name), "blobs/sha256/%s", b->hex);
	return sys_openat(o->dir, name, O_RDONLY | O_CLOEXEC, 0);
}

static int
hash(int fd, struct digest *d, uint8_t *piece, char hex[OCI_HEX + 1],
    uint64_t *size)
{
	uint8_t sum[DIGEST_MAX];
	ssize_t n;
	int rc = digest_start(d);

	for (*size = 0; rc == 0; *size += (uint64_t)n) {
		n = fdio_pread(fd, piece, PIECE, (off_t)*size);
		if (n <= 0)
			break;
		rc = digest_add(d, piece, (size_t)n);
	}
	if (rc == 0)
		rc = n < 0 ? (int)n : digest_end(d, sum);
	for (size_t i = 0; rc == 0 && i < OCI_HEX / 2; i++)
		snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return rc;
}

int
oci_verify_blob(struct oci *o, int fd, const struct oci_blob *b)
{
	struct digest_algo *algo = NULL;
	struct digest *d = NULL;
	uint8_t *piece = sys_malloc(PIECE);
	char hex[OCI_HEX + 1] = "";
	uint64_t size = 0;
	int rc = piece == NULL ? -ENOMEM : digest_algo_open(&algo, "sha256");

	if (rc == 0)
		rc = digest_new(&d, algo);
	if (rc == 0)
		rc = hash(fd, d, piece, hex, &size);
	digest_free(d);
	digest_algo_close(algo);
	sys_free(piece);
	if (rc != 0)
		return oci_refuse(o, b->hex, strerror(-rc));
	if (size != b->size || strcmp(hex, b->hex) != 0)
		return oci_refuse(o, b->hex, "its content does not match that "
		    "digest");
	return 0;
}

int
oci_open_layer(struct oci *o)
{
	const struct oci_blob *b = &o->layers[o->layer];
	int fd, rc;

	snprintf(o->name, strlen(o->path) + OCI_NAME_MORE, "%s: layer %zu of %zu",
	    o->path, o->layer + 1, o->count);
	fd = oci_open_blob(o, b);
	rc = fd < 0 || o->verified ? 0 : oci_verify_blob(o, fd, b);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	o->open = true;
	return archive_open(&o->archive, o->p, o->name, fd);
}

int
oci_close_layer(struct oci *o)
{
	int rc = archive_end(&o->archive);

	archive_close(&o->archive);
	o->open = false;
	return rc;
}
