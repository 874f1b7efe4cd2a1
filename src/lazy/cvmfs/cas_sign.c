/*
 * cas_sign.c - the key, certificate and manifest of a CVMFS repository
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/crypto/signature.cc: RSA with PKCS #1 padding and SHA-1, with
 * the key of a self-signed certificate, the dates of which are not used.  Our
 * certificate depends only on the key and the name.
 *
 * A manifest (cvmfs/manifest.cc) has lines of a letter and a value, "--", the
 * SHA-1 of the lines, and a signature of its digits.
 */
#include "cas_impl.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/sys.h"

#include "cas_manifest.h"

#include <errno.h>
#include <inttypes.h>
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

/*
 * Issues the certificate.  Its expiry date is the one that RFC 5280 defines for
 * certificates that do not expire.
 */
static int
certify(struct cas_signer *s, const char *name)
{
	uint64_t serial = load_be64(s->key_digest) >> 1 | 1;
	size_t len = strlen(name);
	X509 *x = X509_new();
	BIO *b = BIO_new(BIO_s_mem());
	X509_NAME *n;
	const char *text;
	int rc = -ENOMEM;

	if (x == NULL || b == NULL)
		goto out;
	n = X509_get_subject_name(x);
	if (X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, (int)(len < NAME_MAX_B ? len :
	    NAME_MAX_B), -1, 0) != 1 ||
	    X509_set_issuer_name(x, n) != 1 ||
	    X509_set_version(x, X509_VERSION_3) != 1 ||
	    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial) != 1 ||
	    ASN1_TIME_set_string_X509(X509_getm_notBefore(x),
	    "19700101000000Z") != 1 ||
	    ASN1_TIME_set_string_X509(X509_getm_notAfter(x),
	    "99991231235959Z") != 1 ||
	    X509_set_pubkey(x, s->key) != 1 ||
	    X509_sign(x, s->key, EVP_sha256()) <= 0 ||
	    PEM_write_bio_X509(b, x) != 1)
		goto out;
	len = (size_t)BIO_get_mem_data(b, &text);
	strbuf_add(&s->certificate, text, len);
	rc = s->certificate.failed ? -ENOMEM : 0;
out:
	BIO_free(b);
	X509_free(x);
	return rc;
}

int
cas_signer_open(struct cas_signer **out, const struct cas_options *o,
    char why[LAYER_WHY])
{
	struct cas_signer *s = sys_calloc(1, sizeof(*s));
	BIO *b = NULL;
	int rc = -ENOMEM;

	if (s == NULL)
		return rc;
	if (o->key == NULL) {
		s->key = EVP_RSA_gen(KEY_BITS);
		if (s->key == NULL)
			goto fail;
	} else {
		b = BIO_new_mem_buf(o->key, -1);
		if (b == NULL)
			goto fail;
		s->key = PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL);
		BIO_free(b);
		rc = -EINVAL;
		if (s->key == NULL) {
			layer_refuse(why, rc, "the key is not a private key "
			    "in PEM format without a passphrase");
			goto fail;
		}
		if (EVP_PKEY_get_base_id(s->key) != EVP_PKEY_RSA) {
			layer_refuse(why, rc, "the key is not an RSA key");
			goto fail;
		}
	}
	rc = cas_key_sum(s->key, s->key_digest);
	if (rc == 0)
		rc = certify(s, o->name);
	if (rc == 0) {
		*out = s;
		return 0;
	}
fail:
	cas_signer_close(s);
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

/* The manifest */

static void
put_hash(struct strbuf *b, char letter, const uint8_t *hash, size_t len)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, len);
	strbuf_fmt(b, "%c%s\n", letter, hex);
}

int
cas_publish(struct cas *c, const struct cas_nested *root)
{
	const struct cas_signer *s = c->signer;
	struct cas_object object = { .suffix = CAS_CERTIFICATE_OBJECT };
	char hex[2 * CAS_HASH + 1], *to;
	uint8_t sum[DIGEST_MAX];
	struct digest *md5 = NULL, *sha1 = NULL;
	EVP_MD_CTX *ctx = NULL;
	struct strbuf b = { 0 };
	struct output o;
	size_t room;
	int rc = cas_write(c->writer, s->certificate.data, s->certificate.len,
	    &object);

	memcpy(c->r->catalog, root->hash, CAS_HASH);
	memcpy(c->r->certificate, object.hash, CAS_HASH);
	c->r->objects++;
	c->r->objects_B += object.stored;
	memcpy(c->r->key, s->key_digest, LAYER_DIGEST);
	/*
	 * the time in the lines is that of the newest entry, so the output does
	 * not depend on the current time
	 */
	if (rc == 0)
		rc = digest_new(&md5, c->md5);
	if (rc == 0)
		rc = digest_once(md5, "", 0, sum);
	if (rc != 0)
		goto out;
	put_hash(&b, 'C', root->hash, CAS_HASH);
	strbuf_fmt(&b, "B%" PRIu64 "\n", root->size);
	put_hash(&b, 'R', sum, CAS_MD5);
	strbuf_fmt(&b, "D%d\nS1\nGno\nAno\nN%s\n", CAS_TTL, c->o->name);
	put_hash(&b, 'X', c->r->certificate, CAS_HASH);
	if (c->newest > 0)
		strbuf_fmt(&b, "T%" PRId64 "\n", c->newest);
	rc = b.failed ? -ENOMEM : digest_new(&sha1, c->sha1);
	if (rc == 0)
		rc = digest_once(sha1, b.data, b.len, sum);
	if (rc != 0)
		goto out;
	hex_write(hex, sum, CAS_HASH);
	strbuf_fmt(&b, "--\n%s\n", hex);
	room = (size_t)EVP_PKEY_get_size(s->key);
	to = strbuf_room(&b, room);
	ctx = EVP_MD_CTX_new();
	rc = -ENOMEM;
	if (b.failed || to == NULL || ctx == NULL)
		goto out;
	rc = -EIO;
	if (EVP_DigestSignInit(ctx, NULL, EVP_sha1(), NULL, s->key) != 1 ||
	    EVP_DigestSign(ctx, (unsigned char *)to, &room,
	    (const unsigned char *)hex, strlen(hex)) != 1)
		goto out;
	b.len += room;
	rc = output_create_at(&o, c->tree.dir, CAS_MANIFEST, false);
	if (rc != 0)
		goto out;
	rc = sys_chmod(o.fd, NULL, 0644, 0);
	if (rc == 0)
		rc = fdio_write(o.fd, b.data, b.len);
	if (rc == 0)
		rc = output_commit(&o, false);
	else
		output_abort(&o);
out:
	EVP_MD_CTX_free(ctx);
	digest_free(md5);
	digest_free(sha1);
	strbuf_free(&b);
	return rc;
}
