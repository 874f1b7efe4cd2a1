/*
 * cas_key.c - the key with which a CVMFS repository must be signed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cas_key.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/sys.h"
#include "lazy/format.h"
#include "lazy/cvmfs/cas.h"

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

/*
 * Reads a public key or the key of a certificate.  Returns NULL if the text is
 * neither.
 */
static EVP_PKEY *
read_pem(const char *text, size_t len)
{
	BIO *b = BIO_new_mem_buf(text, (int)len);
	EVP_PKEY *key = b == NULL ? NULL :
	    PEM_read_bio_PUBKEY(b, NULL, NULL, NULL);
	X509 *x = NULL;

	if (b != NULL && key == NULL && BIO_reset(b) == 1)
		x = PEM_read_bio_X509(b, NULL, NULL, NULL);
	if (x != NULL)
		key = X509_get_pubkey(x);
	X509_free(x);
	BIO_free(b);
	return key;
}

static int
read_file(const char *name, uint8_t digest[LAYER_DIGEST], char why[LAYER_WHY])
{
	char *text = NULL;
	size_t len;
	EVP_PKEY *key;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, FILE_MAX_B, &text, &len);

	if (fd >= 0)
		sys_close(fd);
	if (rc != 0)
		return layer_refuse(why, rc, "%s", strerror(-rc));
	key = read_pem(text, len);
	sys_free(text);
	if (key == NULL)
		return layer_refuse(why, -EINVAL, "contains no public key or "
		    "certificate in PEM format");
	rc = cas_key_sum(key, digest);
	EVP_PKEY_free(key);
	return rc;
}

int
cas_key_find(const char *name, uint8_t digest[LAYER_DIGEST],
    char why[LAYER_WHY])
{
	return hex_read_sha256(digest, name) == 0 ? 0 :
	    read_file(name, digest, why);
}
