/*
 * cas_sign.c - the key and certificate that sign a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/crypto/signature.cc: RSA with PKCS #1 padding and SHA-1, with
 * the key of a self-signed certificate, the dates of which are not used.  Our
 * certificate depends only on the key and the name.
 */
#include "cas_impl.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "cas_key.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>

enum {
	KEY_BITS = 2048,
	NAME_MAX_B = 64			/* maximum length of a common name in
					 * X.520 */
};

struct cas_signer {
	EVP_PKEY *key;
	uint8_t key_digest[LAYER_DIGEST];
	struct strbuf certificate;
};

/* Keys */

/* Returns no passphrase, so an encrypted key is an error. */
static int
no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

static int
read_key(struct cas_signer *s, const char *text, char why[LAYER_WHY])
{
	BIO *b = BIO_new_mem_buf(text, -1);

	if (b == NULL)
		return -ENOMEM;
	s->key = PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL);
	BIO_free(b);
	if (s->key == NULL)
		return layer_refuse(why, -EINVAL, "the key is not a private "
		    "key in PEM format without a passphrase");
	if (EVP_PKEY_get_base_id(s->key) != EVP_PKEY_RSA)
		return layer_refuse(why, -EINVAL, "the key is not an RSA key");
	return 0;
}

/* The certificate */

static int
set_name(X509 *x, const char *name)
{
	X509_NAME *n = X509_get_subject_name(x);
	size_t len = strlen(name);
	int ok = X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, (int)(len < NAME_MAX_B ? len :
	    NAME_MAX_B), -1, 0);

	return ok == 1 && X509_set_issuer_name(x, n) == 1;
}

/*
 * The expiry date is the one that RFC 5280 defines for certificates that do not
 * expire.
 */
static int
set_rest(X509 *x, const struct cas_signer *s)
{
	uint64_t serial = load_be64(s->key_digest) >> 1 | 1;

	return X509_set_version(x, X509_VERSION_3) == 1 &&
	    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial) == 1 &&
	    ASN1_TIME_set_string_X509(X509_getm_notBefore(x),
	    "19700101000000Z") == 1 &&
	    ASN1_TIME_set_string_X509(X509_getm_notAfter(x),
	    "99991231235959Z") == 1;
}

static int
write_certificate(struct cas_signer *s, X509 *x)
{
	BIO *b = BIO_new(BIO_s_mem());
	const char *text;
	long len;

	if (b == NULL || PEM_write_bio_X509(b, x) != 1) {
		BIO_free(b);
		return -ENOMEM;
	}
	len = BIO_get_mem_data(b, &text);
	strbuf_add(&s->certificate, text, (size_t)len);
	BIO_free(b);
	return s->certificate.failed ? -ENOMEM : 0;
}

static int
certify(struct cas_signer *s, const char *name)
{
	X509 *x = X509_new();
	int rc = x != NULL && set_name(x, name) && set_rest(x, s) &&
	    X509_set_pubkey(x, s->key) == 1 &&
	    X509_sign(x, s->key, EVP_sha256()) > 0 ?
	    write_certificate(s, x) : -ENOMEM;

	X509_free(x);
	return rc;
}

int
cas_signer_open(struct cas_signer **out, const struct cas_options *o,
    char why[LAYER_WHY])
{
	struct cas_signer *s = sys_calloc(1, sizeof(*s));
	int rc = s == NULL ? -ENOMEM : 0;

	if (rc == 0 && o->key != NULL)
		rc = read_key(s, o->key, why);
	else if (rc == 0 && (s->key = EVP_RSA_gen(KEY_BITS)) == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = cas_key_sum(s->key, s->key_digest);
	if (rc == 0)
		rc = certify(s, o->name);
	if (rc != 0)
		cas_signer_close(s);
	else
		*out = s;
	return rc;
}

void
cas_signer_close(struct cas_signer *s)
{
	if (s == NULL)
		return;
	EVP_PKEY_free(s->key);
	strbuf_free(&s->certificate);
	sys_free(s);
}

const struct strbuf *
cas_certificate(const struct cas_signer *s)
{
	return &s->certificate;
}

void
cas_key_digest(const struct cas_signer *s, uint8_t sum[LAYER_DIGEST])
{
	memcpy(sum, s->key_digest, LAYER_DIGEST);
}

/* Signing */

int
cas_sign(const struct cas_signer *s, const void *data, size_t len,
    struct strbuf *signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t room = (size_t)EVP_PKEY_get_size(s->key);
	char *to = strbuf_room(signature, room);
	int rc = ctx == NULL || to == NULL ? -ENOMEM : -EIO;

	if (rc == -EIO && EVP_DigestSignInit(ctx, NULL, EVP_sha1(), NULL,
	    s->key) == 1 && EVP_DigestSign(ctx, (unsigned char *)to, &room,
	    data, len) == 1) {
		signature->len += room;
		rc = 0;
	}
	EVP_MD_CTX_free(ctx);
	return rc;
}
