/*
 * oci_layout.c - the files of an OCI image layout
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/oci/oci_layout.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 20, NESTED_MAX = 4 };

bool
oci_is_layout(const char *path)
{
	int dir = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	int fd = dir < 0 ? dir : sys_openat(dir, "oci-layout", O_RDONLY |
	    O_CLOEXEC, 0);

	if (fd >= 0)
		sys_close(fd);
	if (dir >= 0)
		sys_close(dir);
	return fd >= 0;
}

char *
oci_split(const char *source, const char **tag)
{
	const char *colon = strrchr(source, ':');
	size_t len = strlen(source);

	*tag = NULL;
	if (!oci_is_layout(source) && colon != NULL) {
		len = (size_t)(colon - source);
		*tag = colon + 1;
	}
	return strcopy_part(source, len);
}

int
oci_blob_open(int dir, const struct oci_blob *b)
{
	char name[sizeof("blobs/sha256/") + OCI_HEX];

	snprintf(name, sizeof(name), "blobs/sha256/%s", b->hex);
	/* must not block on a FIFO */
	return sys_openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
}

int
oci_blob_verify(int fd, const struct oci_blob *b)
{
	struct digest *d = NULL;
	uint8_t *piece = sys_malloc(PIECE), sum[DIGEST_MAX];
	char hex[OCI_HEX + 1] = "";
	uint64_t size = 0;
	ssize_t n = 1;
	int rc = piece == NULL ? -ENOMEM : digest_new_sha256(&d);

	if (rc == 0)
		rc = digest_start(d);
	while (rc == 0 && n > 0) {
		n = fdio_pread(fd, piece, PIECE, (off_t)size);
		if (n > 0)
			rc = digest_add(d, piece, (size_t)n);
		size += n > 0 ? (uint64_t)n : 0;
	}
	if (rc == 0)
		rc = n < 0 ? (int)n : digest_end(d, sum);
	digest_free(d);
	sys_free(piece);
	if (rc != 0)
		return rc;
	hex_write(hex, sum, OCI_HEX / 2);
	return size == b->size && strcmp(hex, b->hex) == 0 ? 0 : -EBADMSG;
}

int
oci_document_open(int dir, const struct oci_blob *b, struct oci_document **d,
    char why[OCI_WHY])
{
	char *text = NULL;
	size_t len;
	int fd = b != NULL ? oci_blob_open(dir, b) : sys_openat(dir,
	    "index.json", O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, OCI_DOCUMENT_MAX, &text, &len);

	if (rc == 0 && b != NULL)
		rc = oci_blob_verify(fd, b);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0) {
		snprintf(why, OCI_WHY, "%s", rc == -EBADMSG ? OCI_NOT_ITS :
		    strerror(-rc));
		goto out;
	}
	rc = oci_parse(d, text, len, why);
	if (rc == -ENOMEM)
		snprintf(why, OCI_WHY, "%s", strerror(ENOMEM));
out:
	sys_free(text);
	return rc;
}

int
oci_manifest_open(int dir, const char *tag, struct oci_document **d,
    char at[OCI_HEX + 1], char why[OCI_WHY])
{
	struct oci_blob b;
	int rc = oci_document_open(dir, NULL, d, why);

	strcpy(at, "index.json");
	for (int depth = 0; rc == 0 && oci_is_index(*d); depth++) {
		if (depth == NESTED_MAX) {
			snprintf(why, OCI_WHY, "indices are nested too deeply");
			rc = -EBADMSG;
		} else {
			rc = oci_choose_here(*d, depth == 0 ? tag : NULL, &b,
			    why);
		}
		oci_free(*d);
		*d = NULL;
		if (rc == 0) {
			strcpy(at, b.hex);
			rc = oci_document_open(dir, &b, d, why);
		}
	}
	return rc;
}
