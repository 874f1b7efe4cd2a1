/*
 * verity_sign.c - signing the root hash of dm-verity
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/verity_sign.h"

#include "base/sys.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <stdio.h>
#include <string.h>

/* Does not ask for a passphrase. */
static int
no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

/* Sets why to the library's last error, about a file or, if NULL, none. */
static int
say_why(const char *path, const char *what, char why[VERITY_SIGN_WHY])
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	snprintf(why, VERITY_SIGN_WHY, "%s%s%s (%s)", path == NULL ? "" : path,
	    path == NULL ? "" : ": ", what, reason == NULL ? "unknown" :
	    reason);
	ERR_clear_error();
	return -EINVAL;
}

/* Encodes the signature. */
static int
encode(PKCS7 *signed_hash, uint8_t **der, size_t *len)
{
	int n = i2d_PKCS7(signed_hash, NULL);
	uint8_t *end;

	*der = end = n <= 0 ? NULL : sys_malloc((size_t)n);
	if (end == NULL)
		return -ENOMEM;
	*len = (size_t)i2d_PKCS7(signed_hash, &end);
	return 0;
}

int
verity_sign(const char *root, const char *key, const char *certificate,
    uint8_t **der, size_t *len, char why[VERITY_SIGN_WHY])
{
	BIO *from = BIO_new_file(key, "r"), *text = NULL;
	EVP_PKEY *private = NULL;
	PKCS7 *signed_hash = NULL;
	X509 *cert = NULL;
	int rc;

	if (from != NULL)
		private = PEM_read_bio_PrivateKey(from, NULL, no_passphrase,
		    NULL);
	BIO_free(from);
	if (private == NULL)
		return say_why(key, "expected a private key in PEM, without a "
		    "passphrase", why);
	from = BIO_new_file(certificate, "r");
	if (from != NULL)
		cert = PEM_read_bio_X509(from, NULL, no_passphrase, NULL);
	BIO_free(from);
	text = BIO_new_mem_buf(root, (int)strlen(root));
	if (cert == NULL)
		rc = say_why(certificate, "expected a certificate in PEM", why);
	else if (text == NULL)
		rc = -ENOMEM;
	else
		rc = 0;
	if (rc == 0) {
		signed_hash = PKCS7_sign(cert, private, NULL, text,
		    PKCS7_BINARY | PKCS7_DETACHED | PKCS7_NOATTR |
		    PKCS7_NOCERTS);
		rc = signed_hash == NULL ? say_why(NULL, "the root hash cannot "
		    "be signed with this key and certificate", why) :
		    encode(signed_hash, der, len);
	}
	PKCS7_free(signed_hash);
	BIO_free(text);
	X509_free(cert);
	EVP_PKEY_free(private);
	return rc;
}
