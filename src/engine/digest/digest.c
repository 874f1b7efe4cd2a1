/*
 * digest.c - checksums of files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/digest/digest.h"

#include "base/sys.h"
#include "sha256.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

struct digest_algo {
	const char *name;
	EVP_MD *md;			/* NULL: none, or our own
					 * implementation */
	unsigned len;
	unsigned lanes;			/* lanes of our own implementation, or
					 * 0 */
};

struct digest {
	EVP_MD_CTX *ctx;		/* NULL: "none", or our own
					 * implementation */
	unsigned len;
	struct sha256 sha256;		/* our own implementation, if it has
					 * lanes */
};

/* OpenSSL's names for the algorithms. */
static const struct {
	const char *name, *openssl;
} names[] = {
	{ "sha256", "SHA256" },
	{ "sha1", "SHA1" },
	{ "md5", "MD5" },
	{ "none", NULL },
};

int
digest_algo_open(struct digest_algo **out, const char *name)
{
	const size_t count = sizeof(names) / sizeof(names[0]);
	struct digest_algo *a;
	size_t i = 0;

	while (i < count && strcmp(names[i].name, name) != 0)
		i++;
	if (i == count)
		return -EINVAL;
	a = sys_calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	a->name = names[i].name;
	a->lanes = strcmp(name, "sha256") == 0 ? sha256_lanes() : 0;
	a->len = a->lanes > 0 ? SHA256_B : 0;
	if (a->lanes == 0 && names[i].openssl != NULL) {
		a->md = EVP_MD_fetch(NULL, names[i].openssl, NULL);
		if (a->md == NULL) {
			sys_free(a);
			return -ENOTSUP;
		}
		a->len = (unsigned)EVP_MD_get_size(a->md);
	}
	*out = a;
	return 0;
}

void
digest_algo_close(struct digest_algo *a)
{
	if (a == NULL)
		return;
	EVP_MD_free(a->md);
	sys_free(a);
}

const char *
digest_name(const struct digest_algo *a)
{
	return a->name;
}

unsigned
digest_len(const struct digest_algo *a)
{
	return a->len;
}

unsigned
digest_lanes(const struct digest_algo *a)
{
	return a->lanes > 0 ? a->lanes : 1;
}

const char *
digest_sha256_by(void)
{
	switch (sha256_lanes()) {
	case 2:
		return "SHA instructions, two files at a time";
	case 8:
		return "AVX2, eight files at a time";
	default:
		return "openssl";
	}
}

void
digest_version(char *text, size_t size)
{
	snprintf(text, size, "openssl %s",
	    OpenSSL_version(OPENSSL_VERSION_STRING));
}

int
digest_new(struct digest **out, const struct digest_algo *a)
{
	struct digest *d = sys_calloc(1, sizeof(*d));

	if (d == NULL)
		return -ENOMEM;
	d->len = a->len;
	d->sha256.lanes = a->lanes;
	if (a->md != NULL) {
		d->ctx = EVP_MD_CTX_new();
		/* the algorithm is set here, and kept by later starts */
		if (d->ctx == NULL ||
		    EVP_DigestInit_ex2(d->ctx, a->md, NULL) != 1) {
			digest_free(d);
			return -ENOMEM;
		}
	}
	*out = d;
	return 0;
}

int
digest_new_sha256(struct digest **d)
{
	struct digest_algo *a;
	int rc = digest_algo_open(&a, "sha256");

	if (rc != 0)
		return rc;
	rc = digest_new(d, a);
	digest_algo_close(a);
	return rc;
}

void
digest_free(struct digest *d)
{
	if (d == NULL)
		return;
	EVP_MD_CTX_free(d->ctx);
	sys_free(d);
}

int
digest_start(struct digest *d)
{
	if (d->sha256.lanes > 0)
		sha256_start(&d->sha256);
	if (d->ctx == NULL)
		return 0;
	return EVP_DigestInit_ex2(d->ctx, NULL, NULL) == 1 ? 0 : -EIO;
}

int
digest_add(struct digest *d, const void *data, size_t len)
{
	if (d->sha256.lanes > 0 && len > 0)
		sha256_add(&d->sha256, data, len);
	if (d->ctx == NULL || len == 0)
		return 0;
	return EVP_DigestUpdate(d->ctx, data, len) == 1 ? 0 : -EIO;
}

static int
digest_add_all(struct digest_piece *p, const struct digest_piece *end)
{
	for (; p < end; p++) {
		int rc = digest_add(p->d, p->data, p->len);

		if (rc != 0)
			return rc;
		p->data += p->len;
		p->len = 0;
	}
	return 0;
}

int
digest_add_some(struct digest_piece *p, size_t count, bool all)
{
	struct digest_piece *lane[SHA256_LANES_MAX], *next = p;
	struct sha256_piece x[SHA256_LANES_MAX], *xs[SHA256_LANES_MAX];
	unsigned n = 0;

	if (count == 0)
		return 0;
	if (p->d->sha256.lanes == 0)
		return digest_add_all(p, p + count);
	for (;;) {
		unsigned kept = 0;

		/* replace finished pieces with the next non-empty ones */
		for (unsigned i = 0; i < n; i++)
			if (lane[i]->len > 0)
				lane[kept++] = lane[i];
		for (; kept < p->d->sha256.lanes && next < p + count; next++)
			if (next->len > 0)
				lane[kept++] = next;
		n = kept;
		if (n <= 1)
			break;
		/* hash them together until the end of at least one */
		for (unsigned i = 0; i < n; i++) {
			x[i] = (struct sha256_piece){ &lane[i]->d->sha256,
				lane[i]->data, lane[i]->len };
			xs[i] = &x[i];
		}
		sha256_add_many(xs, n);
		for (unsigned i = 0; i < n; i++) {
			lane[i]->data = x[i].data;
			lane[i]->len = x[i].len;
		}
	}
	return all ? digest_add_all(p, p + count) : 0;
}

int
digest_end(struct digest *d, uint8_t out[DIGEST_MAX])
{
	unsigned n = 0;

	if (d->sha256.lanes > 0)
		sha256_end(&d->sha256, out);
	if (d->ctx == NULL)
		return 0;
	if (EVP_DigestFinal_ex(d->ctx, out, &n) != 1 || n != d->len)
		return -EIO;
	return 0;
}

int
digest_once(struct digest *d, const void *data, size_t len,
    uint8_t out[DIGEST_MAX])
{
	int rc = digest_start(d);

	if (rc == 0)
		rc = digest_add(d, data, len);
	return rc != 0 ? rc : digest_end(d, out);
}

int
digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_MAX])
{
	struct digest *d = NULL;
	int rc = digest_new_sha256(&d);

	if (rc == 0)
		rc = digest_once(d, data, len, out);
	digest_free(d);
	return rc;
}
