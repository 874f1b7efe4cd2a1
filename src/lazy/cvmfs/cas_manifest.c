/*
 * cas_manifest.c - a CVMFS repository's key, certificate, manifest and whitelist
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/crypto/signature.cc: RSA with PKCS #1 padding and SHA-1, with
 * the key of a self-signed certificate, the dates of which are not used.  Our
 * certificate depends only on the key and the name.
 *
 * A manifest (cvmfs/manifest.cc) has lines of a letter and a value, "--", the
 * SHA-1 of the lines, and a signature of its digits.  Letters that are not
 * needed are ignored.
 *
 * A whitelist (cvmfs/whitelist.cc) names the certificates that a site's master
 * key vouches for.  It ends in the same way, except that the signature is of
 * the digits themselves, without the DER that names a hash (SignRsa).
 */
#include "cas_manifest.h"

#include "base/args.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/sys.h"
#include "cas_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <string.h>
#include <zlib.h>

enum {
	FILE_MAX_B = 64 << 10,
	KEY_BITS = 2048,
	NAME_MAX_B = 64,		/* maximum length of a common name in
					 * X.520 */
	DIGITS = 2 * CAS_HASH, LINE_MAX_B = 1024
};

struct cas_signer {
	EVP_PKEY *key, *master;		/* may be the same */
	uint8_t key_digest[LAYER_DIGEST];
	struct strbuf certificate;
	uint8_t fingerprint[CAS_HASH];	/* of the certificate */
};

/* Keys */

/* Computes the SHA-256 of the public key in DER.  Returns 0 or -ENOMEM. */
static int
sum_key(const EVP_PKEY *key, uint8_t sum[LAYER_DIGEST])
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
	rc = sum_key(key, digest);
	EVP_PKEY_free(key);
	return rc;
}

/* Reading */

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
		} else if (*line == 'S') {
			if (args_int(line + 1, 0, INT64_MAX, &size) == 0)
				m->revision = (uint64_t)size;
		} else if (*line == 'T') {
			if (args_int(line + 1, 0, INT64_MAX, &size) == 0)
				m->time = size;
		} else if (*line == 'N') {
			m->name = at + 1;
			m->name_len = n - 1;
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
	if (key_digest != NULL && (sum_key(key, of_key) != 0 ||
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

/* Writing */

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
	if (X509_digest(x, EVP_sha1(), s->fingerprint, NULL) != 1)
		goto out;
	len = (size_t)BIO_get_mem_data(b, &text);
	strbuf_add(&s->certificate, text, len);
	rc = s->certificate.failed ? -ENOMEM : 0;
out:
	BIO_free(b);
	X509_free(x);
	return rc;
}

/* Reads a private key.  Returns 0, -ENOMEM, or -EINVAL with a clause in why. */
static int
read_key(EVP_PKEY **key, const char *text, const char *which,
    char why[LAYER_WHY])
{
	BIO *b = BIO_new_mem_buf(text, -1);

	if (b == NULL)
		return -ENOMEM;
	*key = PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL);
	BIO_free(b);
	if (*key == NULL)
		return layer_refuse(why, -EINVAL, "the %skey is not a private "
		    "key in PEM format without a passphrase", which);
	return EVP_PKEY_get_base_id(*key) == EVP_PKEY_RSA ? 0 :
	    layer_refuse(why, -EINVAL, "the %skey is not an RSA key", which);
}

int
cas_signer_open(struct cas_signer **out, const struct cas_options *o,
    char why[LAYER_WHY])
{
	struct cas_signer *s = sys_calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	if (o->key == NULL) {
		s->key = EVP_RSA_gen(KEY_BITS);
		rc = s->key == NULL ? -ENOMEM : 0;
	} else {
		rc = read_key(&s->key, o->key, "", why);
	}
	if (rc == 0 && o->master_key != NULL)
		rc = read_key(&s->master, o->master_key, "master ", why);
	else if (rc == 0 && EVP_PKEY_up_ref(s->key) == 1)
		s->master = s->key;
	if (rc == 0 && s->master == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = sum_key(s->key, s->key_digest);
	if (rc == 0)
		rc = certify(s, o->name);
	if (rc == 0)
		*out = s;
	else
		cas_signer_close(s);
	return rc;
}

void
cas_signer_close(struct cas_signer *s)
{
	if (s == NULL)
		return;
	EVP_PKEY_free(s->key);
	EVP_PKEY_free(s->master);
	strbuf_free(&s->certificate);
	sys_free(s);
}

const uint8_t *
cas_signer_key(const struct cas_signer *s)
{
	return s->key_digest;
}

static void
put_hash(struct strbuf *b, char letter, const uint8_t *hash, size_t len)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, len);
	strbuf_fmt(b, "%c%s\n", letter, hex);
}

/* Signs the digits; sig has room for the key's size, *len.  Returns 0 or -EIO. */
static int
sign_digits(EVP_PKEY *key, bool names_hash, const char *digits, uint8_t *sig,
    size_t *len)
{
	const unsigned char *data = (const unsigned char *)digits;
	EVP_MD_CTX *md = names_hash ? EVP_MD_CTX_new() : NULL;
	EVP_PKEY_CTX *plain = names_hash ? NULL : EVP_PKEY_CTX_new(key, NULL);
	bool done = false;

	if (md != NULL)
		done = EVP_DigestSignInit(md, NULL, EVP_sha1(), NULL, key) == 1 &&
		    EVP_DigestSign(md, sig, len, data, DIGITS) == 1;
	if (plain != NULL)
		done = EVP_PKEY_sign_init(plain) == 1 &&
		    EVP_PKEY_CTX_set_rsa_padding(plain, RSA_PKCS1_PADDING) == 1 &&
		    EVP_PKEY_sign(plain, sig, len, data, DIGITS) == 1;
	EVP_MD_CTX_free(md);
	EVP_PKEY_CTX_free(plain);
	return done ? 0 : -EIO;
}

/* Writes a file of the repository. */
static int
write_file(struct cas *c, const char *name, const void *data, size_t len)
{
	struct output o;
	int rc = output_create_at(&o, c->tree.dir, name, false);

	if (rc != 0)
		return rc;
	rc = sys_chmod(o.fd, NULL, 0644, 0);
	if (rc == 0)
		rc = fdio_write(o.fd, data, len);
	if (rc == 0)
		rc = output_commit(&o, false);
	else
		output_abort(&o);
	return rc;
}

/* Appends "--", the digest of the lines and its signature, and writes a file. */
static int
write_signed(struct cas *c, const char *name, struct strbuf *lines,
    EVP_PKEY *key, bool names_hash)
{
	char digits[DIGITS + 1];
	uint8_t sum[DIGEST_MAX];
	struct digest *sha1 = NULL;
	size_t room = (size_t)EVP_PKEY_get_size(key);
	char *to;
	int rc = lines->failed ? -ENOMEM : digest_new(&sha1, c->sha1);

	if (rc == 0)
		rc = digest_once(sha1, lines->data, lines->len, sum);
	digest_free(sha1);
	if (rc != 0)
		return rc;
	hex_write(digits, sum, CAS_HASH);
	strbuf_fmt(lines, "--\n%s\n", digits);
	to = strbuf_room(lines, room);
	if (lines->failed || to == NULL)
		return -ENOMEM;
	rc = sign_digits(key, names_hash, digits, (uint8_t *)to, &room);
	if (rc != 0)
		return rc;
	lines->len += room;
	return write_file(c, name, lines->data, lines->len);
}

/* Writes the whitelist.  A client looks at the expiry date only. */
static int
write_whitelist(struct cas *c)
{
	const struct cas_signer *s = c->signer;
	struct strbuf b = { 0 };
	int rc;

	strbuf_fmt(&b, "19700101000000\nE99991231235959\nN%s\n", c->o->name);
	for (int i = 0; i < CAS_HASH; i++)
		strbuf_fmt(&b, "%s%02X", i > 0 ? ":" : "", s->fingerprint[i]);
	strbuf_char(&b, '\n');
	rc = write_signed(c, CAS_WHITELIST, &b, s->master, false);
	strbuf_free(&b);
	return rc;
}

/*
 * Writes the certificate, compressed by zlib: a replica compresses it again, and
 * does not compare the result with the name (swissknife_pull.cc).
 */
static int
write_certificate(struct cas *c, struct cas_object *object)
{
	const struct strbuf *b = &c->signer->certificate;
	uLongf len = compressBound(b->len);
	uint8_t *packed = sys_malloc(len);
	int rc = packed == NULL || compress(packed, &len,
	    (const Bytef *)b->data, b->len) != Z_OK ? -ENOMEM : 0;

	if (rc == 0)
		rc = cas_store(c->writer, packed, len, object);
	sys_free(packed);
	return rc;
}

int
cas_publish(struct cas *c, const struct cas_nested *root)
{
	static const char replica[] = "may be replicated\n";
	const struct cas_signer *s = c->signer;
	struct cas_object object = { .suffix = CAS_CERTIFICATE_OBJECT };
	uint8_t sum[DIGEST_MAX];
	struct digest *md5 = NULL;
	struct strbuf b = { 0 };
	int rc = write_certificate(c, &object);

	memcpy(c->r->catalog, root->hash, CAS_HASH);
	memcpy(c->r->certificate, object.hash, CAS_HASH);
	memcpy(c->r->fingerprint, s->fingerprint, CAS_HASH);
	c->r->objects++;
	c->r->objects_B += object.stored;
	memcpy(c->r->key, s->key_digest, LAYER_DIGEST);
	if (rc == 0)
		rc = digest_new(&md5, c->md5);
	if (rc == 0)
		rc = digest_once(md5, "", 0, sum);
	if (rc != 0)
		goto out;
	put_hash(&b, 'C', root->hash, CAS_HASH);
	strbuf_fmt(&b, "B%" PRIu64 "\n", root->size);
	put_hash(&b, 'R', sum, CAS_MD5);
	strbuf_fmt(&b, "D%d\nS%" PRIu64 "\nGno\nAno\nN%s\n", CAS_TTL,
	    c->r->revision, c->o->name);
	put_hash(&b, 'X', c->r->certificate, CAS_HASH);
	if (c->published > 0)
		strbuf_fmt(&b, "T%" PRId64 "\n", c->published);
	rc = write_signed(c, CAS_MANIFEST, &b, s->key, true);
	if (rc == 0)
		rc = write_whitelist(c);
	/* its presence allows replication (swissknife_pull.cc) */
	if (rc == 0)
		rc = write_file(c, CAS_REPLICA, replica, sizeof(replica) - 1);
out:
	digest_free(md5);
	strbuf_free(&b);
	return rc;
}
