/*
 * cas_manifest.c - reading a CVMFS repository's manifest
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/manifest.cc, Manifest::Load(); crypto/signature.cc,
 * VerifyLetter().  Letters that are not needed are ignored.
 */
#include "cas_manifest.h"

#include "base/args.h"
#include "base/hex.h"
#include "cas_key.h"
#include "lazy/format.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 2 * CAS_HASH, LINE_MAX_B = 1024 };

/* Parsing */

static int
take_hash(uint8_t hash[CAS_HASH], const char *value, char why[LAYER_WHY])
{
	if (hex_read(hash, CAS_HASH, value) == 0)
		return 0;
	return strchr(value, '-') != NULL ?
	    layer_refuse(why, -ENOTSUP, "the manifest contains a hash other "
	    "than SHA-1: %.64s", value) :
	    layer_refuse(why, -EBADMSG, "the manifest contains %.64s instead "
	    "of a SHA-1 hash", value);
}

static int
take_line(struct cas_manifest *m, const char *line, char why[LAYER_WHY])
{
	int64_t n;

	switch (*line) {
	case 'C': return take_hash(m->catalog, line + 1, why);
	case 'X': return take_hash(m->certificate, line + 1, why);
	case 'B':
		if (args_int(line + 1, 1, LAYER_INDEX_MAX, &n) != 0)
			return layer_refuse(why, -EBADMSG, "the root catalog's "
			    "size, %.64s, is not in 1..%d", line + 1,
			    LAYER_INDEX_MAX);
		m->catalog_size = (uint64_t)n;
		return 0;
	default: return 0;
	}
}

/* Parses the lines.  Returns the position of "--", or NULL. */
static const char *
take_lines(struct cas_manifest *m, const char *text, const char *end,
    int *rc, char why[LAYER_WHY])
{
	char line[LINE_MAX_B];
	const char *newline;

	for (*rc = 0; *rc == 0; text = newline + 1) {
		size_t n;

		newline = memchr(text, '\n', (size_t)(end - text));
		n = newline == NULL ? 0 : (size_t)(newline - text);
		if (newline == NULL || n >= sizeof(line))
			return NULL;
		memcpy(line, text, n);
		line[n] = '\0';
		if (strcmp(line, "--") == 0)
			return text;
		*rc = take_line(m, line, why);
	}
	return NULL;
}

int
cas_manifest_parse(struct cas_manifest *m, const void *text, size_t len,
    char why[LAYER_WHY])
{
	static const uint8_t none[CAS_HASH];
	const char *begin = text, *end = begin + len, *mark;
	int rc;

	*m = (struct cas_manifest){ .lines = 0 };
	mark = take_lines(m, begin, end, &rc, why);
	if (rc != 0)
		return rc;
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

/* Verifying */

static X509 *
read_certificate(const void *text, size_t len)
{
	BIO *b = BIO_new_mem_buf(text, (int)len);
	X509 *x = b == NULL ? NULL : PEM_read_bio_X509(b, NULL, NULL, NULL);

	BIO_free(b);
	return x;
}

static bool
has_digest(const EVP_PKEY *key, const uint8_t *want)
{
	uint8_t sum[LAYER_DIGEST];

	return cas_key_sum(key, sum) == 0 &&
	    memcmp(sum, want, sizeof(sum)) == 0;
}

static bool
is_signed(const struct cas_manifest *m, EVP_PKEY *key)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = (size_t)EVP_PKEY_get_size(key);
	bool good = ctx != NULL && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
	    len <= m->signature_len &&
	    EVP_DigestVerifyInit(ctx, NULL, EVP_sha1(), NULL, key) == 1 &&
	    EVP_DigestVerify(ctx, m->signature, len,
	    (const unsigned char *)m->digits, DIGITS) == 1;

	EVP_MD_CTX_free(ctx);
	return good;
}

int
cas_manifest_verify(const struct cas_manifest *m, const void *text,
    const void *certificate, size_t len, const uint8_t *key_digest,
    char why[LAYER_WHY])
{
	X509 *x = read_certificate(certificate, len);
	EVP_PKEY *key = x == NULL ? NULL : X509_get0_pubkey(x);
	unsigned char sum[CAS_HASH];
	char hex[DIGITS + 1];
	int rc = 0;

	if (EVP_Digest(text, m->lines, sum, NULL, EVP_sha1(), NULL) != 1)
		rc = -ENOMEM;
	hex_write(hex, sum, CAS_HASH);
	if (rc == 0 && memcmp(hex, m->digits, DIGITS) != 0)
		rc = layer_refuse(why, -EBADMSG, "the manifest is damaged: the "
		    "digest of its lines does not match");
	else if (rc == 0 && key == NULL)
		rc = layer_refuse(why, -EBADMSG, "the certificate is not in "
		    "PEM format");
	else if (rc == 0 && key_digest != NULL &&
	    !has_digest(key, key_digest))
		rc = layer_refuse(why, -EBADMSG, "not signed by the expected "
		    "key");
	else if (rc == 0 && !is_signed(m, key))
		rc = layer_refuse(why, -EBADMSG, "the manifest's signature is "
		    "wrong");
	X509_free(x);
	return rc;
}
