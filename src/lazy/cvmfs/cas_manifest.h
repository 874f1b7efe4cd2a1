/*
 * cas_manifest.h - reading the manifest of a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_MANIFEST_H
#define COLDPRESS_LAZY_CVMFS_CAS_MANIFEST_H

#include "cas_format.h"

enum {
	CAS_MANIFEST_MAX = 64 << 10,	/* maximum size of a manifest */
	CAS_CERTIFICATE_MAX = 64 << 10	/* maximum size of a PEM certificate */
};

/* The pointers point into the text. */
struct cas_manifest {
	uint8_t catalog[CAS_HASH], certificate[CAS_HASH];
	uint64_t catalog_size;		/* bytes, uncompressed */
	uint64_t revision;		/* 0: not stated, like the others: */
	int64_t time;			/* of publication; seconds since 1970 */
	const char *name;
	size_t name_len;
	size_t lines;			/* bytes before "--" */
	const char *digits;		/* the lines' SHA-1, 40 digits */
	const uint8_t *signature;
	size_t signature_len;		/* to the end of the text */
};

/*
 * Parses len bytes.  Returns 0, or -EBADMSG or -ENOTSUP (the hash is not SHA-1)
 * with a clause in why.  Thread-safe.
 */
int cas_manifest_parse(struct cas_manifest *m, const void *text, size_t len,
    char why[LAYER_WHY]);

/*
 * Verifies the digest of the lines and, using the certificate (len bytes of
 * PEM), the signature, which may be followed by zeros.  If key_digest is not
 * NULL, it must be the SHA-256 of the certificate's key.  text is the text from
 * which m was parsed.  Returns 0, -ENOMEM, or -EBADMSG with a clause in why.
 * Thread-safe.
 */
int cas_manifest_verify(const struct cas_manifest *m, const void *text,
    const void *certificate, size_t len, const uint8_t *key_digest,
    char why[LAYER_WHY]);

#endif
