/*
 * http_tls.c - what libcurl leaves to OpenSSL
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server that speaks TLS 1.3 judges the client's certificate when the client
 * regards the handshake as complete.  Its alert is then lost on libcurl if it
 * sends the request first and finds the connection reset, but not on OpenSSL,
 * which reads it when libcurl closes the connection.
 *
 * libcurl loads one certificate of the client.  Of several, it is the server's
 * list of acceptable issuers that chooses, if it sends one.
 *
 * libcurl hands over the SSL_CTX of each new connection.  That may outlive the
 * transfer that has made the connection, so OpenSSL is told of the client only;
 * whose connection it is, is looked up among the transfers that run.  All of
 * this happens in the thread that runs them.
 */
#include "http_private.h"

#include "lazy/http/http_servers.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string.h>

/* Returns the transfer that has made the connection, if it still runs. */
static struct http_transfer *
find_transfer(const struct http *h, const void *context)
{
	struct http_transfer *t = h->running;

	while (t != NULL && t->tls != context)
		t = t->next;
	return t;
}

static void
on_message(int sent, int version, int type, const void *data, size_t len,
    SSL *ssl, void *arg)
{
	const unsigned char *alert = data;	/* its level, and what it is */
	struct http_transfer *t;

	(void)version;
	if (sent || type != SSL3_RT_ALERT || len != 2)
		return;
	t = find_transfer(arg, SSL_get_SSL_CTX(ssl));
	if (t != NULL)
		t->alert = alert[1];
}

/* Sets what a server that wants a certificate is shown.  Returns 1 or 0. */
static int
choose(SSL *ssl, void *arg)
{
	enum { ACCEPTABLE = CERT_PKEY_SIGN | CERT_PKEY_ISSUER_NAME };
	const struct http_transfer *t = find_transfer(arg,
	    SSL_get_SSL_CTX(ssl));
	const struct http_shown *c;

	/* if the server asks later, it is shown what it was, or the first */
	if (t == NULL)
		return 1;
	SSL_certs_clear(ssl);
	for (size_t i = 0; i < t->server->shown_count; i++) {
		c = &t->server->shown[i];
		if ((SSL_check_chain(ssl, c->leaf, c->key, c->chain) &
		    ACCEPTABLE) == ACCEPTABLE)
			return SSL_use_cert_and_key(ssl, c->leaf, c->key,
			    c->chain, 1);
	}
	return 1;
}

/*
 * Has one of several certificates chosen.  libcurl has loaded all, as if they
 * were a chain, so that it tells connections with others apart.
 */
static bool
offer(SSL_CTX *context, const struct http_transfer *t)
{
	const struct http_shown *c = t->server->shown;

	/* none is for the server's proxy */
	if (SSL_CTX_get0_certificate(context) == NULL)
		return true;
	SSL_CTX_set_cert_cb(context, choose, t->h);
	return SSL_CTX_use_cert_and_key(context, c->leaf, c->key, c->chain,
	    1) == 1;
}

static CURLcode
on_context(CURL *easy, void *context, void *arg)
{
	struct http_transfer *t = arg, *before;

	(void)easy;
	/* where one was that has been freed, there may be another */
	before = find_transfer(t->h, context);
	if (before != NULL)
		before->tls = NULL;
	t->tls = context;
	SSL_CTX_set_msg_callback(context, on_message);
	SSL_CTX_set_msg_callback_arg(context, t->h);
	return t->server == NULL || t->server->shown_count < 2 ||
	    offer(context, t) ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

/* Returns whether libcurl uses the same OpenSSL as this file. */
static bool
is_ours(void)
{
	static const char name[] = "OpenSSL/";
	const char *of = curl_version_info(CURLVERSION_NOW)->ssl_version;

	return of != NULL && strncmp(of, name, sizeof(name) - 1) == 0 &&
	    strcmp(of + sizeof(name) - 1,
	    OpenSSL_version(OPENSSL_VERSION_STRING)) == 0;
}

bool
http_tls_watch(struct http_transfer *t)
{
	t->tls = NULL;
	t->alert = 0;
	/*
	 * With this, libcurl closes the connection, and so reads the alert,
	 * while the transfer runs.  A reply unsets it.
	 */
	curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
	if (!is_ours())
		return false;
	curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
	curl_easy_setopt(t->easy, CURLOPT_SSL_CTX_DATA, t);
	return true;
}

const char *
http_tls_refusal(const struct http_transfer *t)
{
	static const struct { int alert; const char *name; } all[] = {
		{ SSL_AD_HANDSHAKE_FAILURE, "handshake failure" },
		{ SSL_AD_BAD_CERTIFICATE, "bad certificate" },
		{ SSL_AD_UNSUPPORTED_CERTIFICATE, "unsupported certificate" },
		{ SSL_AD_CERTIFICATE_REVOKED, "certificate revoked" },
		{ SSL_AD_CERTIFICATE_EXPIRED, "certificate expired" },
		{ SSL_AD_CERTIFICATE_UNKNOWN, "certificate unknown" },
		{ SSL_AD_UNKNOWN_CA, "unknown CA" },
		{ SSL_AD_ACCESS_DENIED, "access denied" },
		{ SSL_AD_CERTIFICATE_REQUIRED, "certificate required" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].alert == t->alert)
			return all[i].name;
	return NULL;
}
