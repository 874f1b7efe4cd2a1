/*
 * cas_publish.c - writing a CVMFS repository's manifest
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: cvmfs/manifest.cc, crypto/signature.cc: lines of a letter and a value,
 * "--", the SHA-1 of the lines, and a signature of its digits.
 */
#include "cas_impl.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void
put_hash(struct strbuf *b, char letter, const uint8_t *hash, size_t len)
{
	char hex[2 * CAS_HASH + 1];

	hex_write(hex, hash, len);
	strbuf_fmt(b, "%c%s\n", letter, hex);
}

/*
 * Writes the lines; the time in them is that of the newest entry, so the output
 * does not depend on the current time.
 */
static int
put_lines(struct strbuf *b, const struct cas *c, const struct cas_nested *root)
{
	uint8_t path[DIGEST_MAX];
	struct digest *md5 = NULL;
	int rc = digest_new(&md5, c->md5);

	if (rc == 0)
		rc = digest_once(md5, "", 0, path);
	digest_free(md5);
	if (rc != 0)
		return rc;
	put_hash(b, 'C', root->hash, CAS_HASH);
	strbuf_fmt(b, "B%" PRIu64 "\n", root->size);
	put_hash(b, 'R', path, CAS_MD5);
	strbuf_fmt(b, "D%d\nS1\nGno\nAno\nN%s\n", CAS_TTL, c->o->name);
	put_hash(b, 'X', c->r->certificate, CAS_HASH);
	if (c->newest > 0)
		strbuf_fmt(b, "T%" PRId64 "\n", c->newest);
	return b->failed ? -ENOMEM : 0;
}

/* Appends the digest of the lines and its signature. */
static int
put_signature(struct strbuf *b, const struct cas *c)
{
	char hex[2 * CAS_HASH + 1];
	uint8_t sum[DIGEST_MAX];
	struct digest *sha1 = NULL;
	int rc = digest_new(&sha1, c->sha1);

	if (rc == 0)
		rc = digest_once(sha1, b->data, b->len, sum);
	digest_free(sha1);
	if (rc != 0)
		return rc;
	hex_write(hex, sum, CAS_HASH);
	strbuf_fmt(b, "--\n%s\n", hex);
	return b->failed ? -ENOMEM : cas_sign(c->signer, hex, strlen(hex), b);
}

static int
write_manifest(const struct cas *c, const struct strbuf *b)
{
	struct output o;
	int rc = output_create_at(&o, c->tree.dir, CAS_MANIFEST, false);

	if (rc != 0)
		return rc;
	rc = sys_chmod(o.fd, NULL, 0644, 0);
	if (rc == 0)
		rc = fdio_write(o.fd, b->data, b->len);
	if (rc != 0) {
		output_abort(&o);
		return rc;
	}
	return output_commit(&o, false);
}

int
cas_publish(struct cas *c, const struct cas_nested *root)
{
	const struct strbuf *certificate = cas_certificate(c->signer);
	struct cas_object object = { .suffix = CAS_CERTIFICATE_OBJECT };
	struct strbuf b = { 0 };
	int rc = cas_write(c->writer, certificate->data, certificate->len,
	    &object);

	memcpy(c->r->catalog, root->hash, CAS_HASH);
	memcpy(c->r->certificate, object.hash, CAS_HASH);
	c->r->objects++;
	c->r->objects_B += object.stored;
	cas_key_digest(c->signer, c->r->key);
	if (rc == 0)
		rc = put_lines(&b, c, root);
	if (rc == 0)
		rc = put_signature(&b, c);
	if (rc == 0)
		rc = write_manifest(c, &b);
	strbuf_free(&b);
	return rc;
}
