/*
 * tls_made.h - creating good and bad certificates
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_TLS_MADE_H
#define COLDPRESS_TESTS_TLS_MADE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
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

/* A certificate to be made. */
struct tls_subject {
	const char *cn;			/* its name */
	const char *names;		/* such as "IP:127.0.0.1" */
	int from, to;			/* valid, in days from now */
	bool rsa;			/* its key is not P-256 */
	const char *signer;		/* the file with who signs it, and what
					 * follows that; NULL: itself */
};

/* Writes a key, its certificate, and the chain of who signs it. */
static inline void
tls_make_as(const char *pem, const struct tls_subject *s)
{
	FILE *f = fopen(pem, "w"), *from = s->signer == NULL ? NULL :
	    fopen(s->signer, "r");
	EVP_PKEY *key = s->rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
	EVP_PKEY *by = from == NULL ? NULL : PEM_read_PrivateKey(from, NULL,
	    NULL, NULL);
	X509 *x = X509_new(), *of = from == NULL ? NULL : PEM_read_X509(from,
	    NULL, NULL, NULL);
	X509_NAME *name;

	tls_check(key != NULL && x != NULL && f != NULL &&
	    (s->signer == NULL || (by != NULL && of != NULL)));
	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), (long)s->from * DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(x), (long)s->to * DAY_S);
	X509_set_pubkey(x, key);
	name = X509_get_subject_name(x);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)s->cn, -1, -1, 0);
	X509_set_issuer_name(x, of == NULL ? name : X509_get_subject_name(of));
	tls_extend(x, NID_subject_alt_name, s->names);
	tls_extend(x, NID_basic_constraints, "critical,CA:TRUE");
	tls_check(X509_sign(x, by == NULL ? key : by, EVP_sha256()) > 0 &&
	    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 &&
	    PEM_write_X509(f, x) == 1);
	for (; of != NULL; of = PEM_read_X509(from, NULL, NULL, NULL)) {
		tls_check(PEM_write_X509(f, of) == 1);
		X509_free(of);
	}
	if (from != NULL)
		fclose(from);
	tls_check(fclose(f) == 0);
	X509_free(x);
	EVP_PKEY_free(key);
	EVP_PKEY_free(by);
}

/* The same, with a self-signed certificate. */
static inline void
tls_make(const char *pem, const char *names, int from, int to)
{
	const struct tls_subject s = { .cn = "test", .names = names,
		.from = from, .to = to };

	tls_make_as(pem, &s);
}

#endif
