/*
 * cas_manifest.c - reading a CVMFS repository's manifest and keys
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/manifest.cc, Manifest::Load(); crypto/signature.cc,
 * VerifyLetter().  Letters that are not needed are ignored.
 */
#include "cas_manifest.h"

#include "base/args.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "lazy/cvmfs/cas.h"
#include "lazy/format.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

enum { FILE_MAX_B = 64 << 10 };

int
cas_key_sum(const EVP_PKEY *key, uint8_t sum[LAYER_DIGEST])
{
	unsigned char *der = NULL;
	int len = i2d_PUBKEY(key, &der);
	int rc = len < 0 || EVP_Digest(der, (size_t)len, sum, NULL,
	    EVP_sha256(), NULL) != 1 ? -ENOMEM : 0;

	OPENSSL_free(der);
	return rc;
}

int
cas_key_find(const char *name, uint8_t digest[LAYER_DIGEST],
    char why[LAYER_WHY])
{
	char *text = NULL;
	size_t len;
	EVP_PKEY *key;
	X509 *x = NULL;
	BIO *b;
	int fd, rc;

	if (hex_read_sha256(digest, name) == 0)
		return 0;
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : fdio_read_all(fd, FILE_MAX_B, &text, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0)
		return layer_refuse(why, rc, "%s", strerror(-rc));
	/* a public key, or the key of a certificate */
	b = BIO_new_mem_buf(text, (int)len);
	key = b == NULL ? NULL : PEM_read_bio_PUBKEY(b, NULL, NULL, NULL);
	if (b != NULL && key == NULL && BIO_reset(b) == 1)
		x = PEM_read_bio_X509(b, NULL, NULL, NULL);
	if (x != NULL)
		key = X509_get_pubkey(x);
	X509_free(x);
	BIO_free(b);
	sys_free(text);
	if (key == NULL)
		return layer_refuse(why, -EINVAL, "contains no public key or "
		    "certificate in PEM format");
	rc = cas_key_sum(key, digest);
	EVP_PKEY_free(key);
	return rc;
}

enum { DIGITS = 2 * CAS_HASH, LINE_MAX_B = 1024 };

/* Parsing */

static int
parse_hash(uint8_t hash[CAS_HASH], const char *value, char why[LAYER_WHY])
{
	if (hex_read(hash, CAS_HASH, value) == 0)
		return 0;
	return strchr(value, '-') != NULL ?
	    layer_refuse(why, -ENOTSUP, "the manifest contains a hash other "
	    "than SHA-1: %.64s", value) :
	    layer_refuse(why, -EBADMSG, "the manifest contains %.64s instead "
	    "of a SHA-1 hash", value);
}

int
cas_manifest_parse(struct cas_manifest *m, const void *text, size_t len,
    char why[LAYER_WHY])
{
	static const uint8_t none[CAS_HASH];
	const char *begin = text, *end = begin + len, *mark = NULL;
	int64_t size;

	*m = (struct cas_manifest){ .lines = 0 };
	for (const char *at = begin, *newline; mark == NULL;
	    at = newline + 1) {
		char line[LINE_MAX_B];
		size_t n;
		int rc = 0;

		newline = memchr(at, '\n', (size_t)(end - at));
		n = newline == NULL ? 0 : (size_t)(newline - at);
		if (newline == NULL || n >= sizeof(line))
			break;
		memcpy(line, at, n);
		line[n] = '\0';
		if (strcmp(line, "--") == 0) {
			mark = at;
		} else if (*line == 'C') {
			rc = parse_hash(m->catalog, line + 1, why);
		} else if (*line == 'X') {
			rc = parse_hash(m->certificate, line + 1, why);
		} else if (*line == 'B') {
			if (args_int(line + 1, 1, LAYER_INDEX_MAX, &size) != 0)
				return layer_refuse(why, -EBADMSG, "the root "
				    "catalog's size, %.64s, is not in 1..%d",
				    line + 1, LAYER_INDEX_MAX);
			m->catalog_size = (uint64_t)size;
		}
		if (rc != 0)
			return rc;
	}
	/* "--", the digits, and at least one byte of the signature */
	if (mark == NULL || end - mark < 3 + DIGITS + 2 ||
	    mark[3 + DIGITS] != '\n')
		return layer_refuse(why, -EBADMSG, "the manifest is not "
		    "signed");
	if (memcmp(m->catalog, none, CAS_HASH) == 0 ||
	    memcmp(m->certificate, none, CAS_HASH) == 0 ||
	    m->catalog_size == 0)
		return layer_refuse(why, -EBADMSG, "the manifest must name a "
		    "catalog, its size and a certificate");
	m->lines = (size_t)(mark - begin);
	m->digits = mark + 3;
	m->signature = (const uint8_t *)mark + 3 + DIGITS + 1;
	m->signature_len = (size_t)((const uint8_t *)end - m->signature);
	return 0;
}

int
cas_manifest_verify(const struct cas_manifest *m, const void *text,
    const void *certificate, size_t len, const uint8_t *key_digest,
    char why[LAYER_WHY])
{
	BIO *b = BIO_new_mem_buf(certificate, (int)len);
	X509 *x = b == NULL ? NULL : PEM_read_bio_X509(b, NULL, NULL, NULL);
	EVP_PKEY *key = x == NULL ? NULL : X509_get0_pubkey(x);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char sum[CAS_HASH];
	uint8_t of_key[LAYER_DIGEST];
	char hex[DIGITS + 1];
	size_t size;
	int rc = -ENOMEM;

	if (EVP_Digest(text, m->lines, sum, NULL, EVP_sha1(), NULL) != 1)
		goto out;
	hex_write(hex, sum, CAS_HASH);
	rc = -EBADMSG;
	if (memcmp(hex, m->digits, DIGITS) != 0) {
		layer_refuse(why, rc, "the manifest is damaged: the digest of "
		    "its lines does not match");
		goto out;
	}
	if (key == NULL) {
		layer_refuse(why, rc, "the certificate is not in PEM format");
		goto out;
	}
	if (key_digest != NULL && (cas_key_sum(key, of_key) != 0 ||
	    memcmp(of_key, key_digest, sizeof(of_key)) != 0)) {
		layer_refuse(why, rc, "not signed by the expected key");
		goto out;
	}
	size = (size_t)EVP_PKEY_get_size(key);
	if (ctx == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA ||
	    size > m->signature_len ||
	    EVP_DigestVerifyInit(ctx, NULL, EVP_sha1(), NULL, key) != 1 ||
	    EVP_DigestVerify(ctx, m->signature, size,
	    (const unsigned char *)m->digits, DIGITS) != 1) {
		layer_refuse(why, rc, "the manifest's signature is wrong");
		goto out;
	}
	rc = 0;
out:
	EVP_MD_CTX_free(ctx);
	X509_free(x);
	BIO_free(b);
	return rc;
}
