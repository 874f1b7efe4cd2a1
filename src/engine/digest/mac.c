/*
 * mac.c - recognizing previously seen bytes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/digest/mac.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <openssl/evp.h>
#include <sys/random.h>

enum { TAG = 16, PIECE = 1 << 30 };

struct mac {
	EVP_CIPHER *cipher;
	EVP_CIPHER_CTX *ctx;
};

static const uint8_t nonce[12];

int
mac_key(uint8_t key[MAC_KEY])
{
	ssize_t n;

	do
		n = getrandom(key, MAC_KEY, 0);
	while (n == -1 && errno == EINTR);
	return n == MAC_KEY ? 0 : -EIO;
}

int
mac_open(struct mac **out, const uint8_t key[MAC_KEY])
{
	struct mac *m = sys_calloc(1, sizeof(*m));
	int rc = m == NULL ? -ENOMEM : 0;

	if (rc != 0)
		return rc;
	m->cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
	m->ctx = EVP_CIPHER_CTX_new();
	if (m->cipher == NULL)
		rc = -ENOTSUP;
	else if (m->ctx == NULL || EVP_EncryptInit_ex2(m->ctx, m->cipher, key,
	    nonce, NULL) != 1)
		rc = -ENOMEM;
	if (rc != 0)
		mac_close(m);
	else
		*out = m;
	return rc;
}

void
mac_close(struct mac *m)
{
	if (m == NULL)
		return;
	EVP_CIPHER_CTX_free(m->ctx);
	EVP_CIPHER_free(m->cipher);
	sys_free(m);
}

int
mac_start(struct mac *m)
{
	return EVP_EncryptInit_ex2(m->ctx, NULL, NULL, nonce, NULL) == 1 ? 0 :
	    -EIO;
}

int
mac_add(struct mac *m, const void *data, size_t len)
{
	const uint8_t *at = data;
	int n, done;

	for (; len > 0; len -= (size_t)n, at += n) {
		n = len < PIECE ? (int)len : PIECE;
		if (EVP_EncryptUpdate(m->ctx, NULL, &done, at, n) != 1)
			return -EIO;
	}
	return 0;
}

int
mac_end(struct mac *m, uint64_t *tag)
{
	uint8_t rest[TAG], full[TAG];
	int n;

	if (EVP_EncryptFinal_ex(m->ctx, rest, &n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, TAG, full) != 1)
		return -EIO;
	*tag = load_le64(full);
	return 0;
}
