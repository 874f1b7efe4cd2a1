/*
 * tls_made.h - creating good and bad certificates
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_TLS_MADE_H
#define COLDPRESS_TESTS_TLS_MADE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

enum { DAY_S = 86400 };

static inline void
tls_check(int right)
{
	if (!right)
		abort();
}

static inline void
tls_extend(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	tls_check(e != NULL && X509_add_ext(x, e, -1) == 1);
	X509_EXTENSION_free(e);
}

/*
 * Writes a key and a self-signed certificate for names, such as "IP:127.0.0.1",
 * valid from `from` to `to` days from now.
 */
static inline void
tls_make(const char *pem, const char *names, int from, int to)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name;
	FILE *f = fopen(pem, "w");

	tls_check(key != NULL && x != NULL && f != NULL);
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), (long)from * DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(x), (long)to * DAY_S);
	X509_set_pubkey(x, key);
	name = X509_get_subject_name(x);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(x, name);
	tls_extend(x, NID_subject_alt_name, names);
	tls_extend(x, NID_basic_constraints, "critical,CA:TRUE");
	tls_check(X509_sign(x, key, EVP_sha256()) > 0 &&
	    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 &&
	    PEM_write_X509(f, x) == 1 && fclose(f) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
}

#endif
