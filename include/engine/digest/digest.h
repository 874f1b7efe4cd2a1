/*
 * digest.h - checksums of files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: FIPS 180-4 (SHA-256, SHA-1), RFC 1321 (MD5).  OpenSSL computes them.
 * Looking up an algorithm by name and allocating a digest's state each cost
 * more than hashing a small file, so the lookup is done once, and the state is
 * reused from file to file.
 *
 * On x86 processors with SHA instructions or AVX2, we use our own SHA-256,
 * which hashes two or eight files at a time, in half or a third of the time
 * needed to hash them one after the other (sha256.h).
 */
#ifndef COLDPRESS_DIGEST_H
#define COLDPRESS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_MAX = 32 };		/* longest digest, in bytes */

struct digest_algo;
struct digest;

/*
 * Looks up "sha256", "sha1", "md5" or "none".  The digests of "none" are empty
 * and cost nothing.  Returns 0, -EINVAL (no such name), -ENOTSUP (not supported
 * by this OpenSSL, as with MD5 in FIPS mode) or -ENOMEM.
 */
int digest_algo_open(struct digest_algo **a, const char *name);
void digest_algo_close(struct digest_algo *a);	/* call after freeing its
						 * digests; may be NULL */

/* Thread-safe. */
const char *digest_name(const struct digest_algo *a);
unsigned digest_len(const struct digest_algo *a);

/*
 * Returns how many digests a thread should compute at a time with algorithm a:
 * 8 if that takes little longer than 2; 2 if that takes little longer than 1;
 * otherwise 1.
 */
unsigned digest_lanes(const struct digest_algo *a);

/*
 * Writes OpenSSL's version, such as "openssl 3.0.19", truncated to size - 1.
 * Thread-safe.
 */
void digest_version(char *text, size_t size);

/*
 * Returns a static string naming the SHA-256 implementation in use here, for
 * example "SHA instructions, two files at a time".  Thread-safe.
 */
const char *digest_sha256_by(void);

/*
 * Creates a digest with algorithm a, which can be used for any number of files,
 * one at a time, by one thread at a time.  Threads may share a.  Returns 0 or
 * -ENOMEM.
 */
int digest_new(struct digest **d, const struct digest_algo *a);
int digest_new_sha256(struct digest **d);	/* or -ENOTSUP */
void digest_free(struct digest *d);		/* may be NULL */

/*
 * Starts a digest of all data added until digest_end(), which need not be
 * called if a file is abandoned.  Returns 0 or -EIO (OpenSSL failed).
 */
int digest_start(struct digest *d);
int digest_add(struct digest *d, const void *data, size_t len);
int digest_end(struct digest *d, uint8_t out[DIGEST_MAX]);

/*
 * Adds one piece to each of `count` distinct digests of one algorithm, and
 * advances data and len.  Unless all is set, part of the last piece may be left
 * over if there is no other piece to hash with it.  Returns 0 or -EIO.
 */
struct digest_piece {
	struct digest *d;
	const uint8_t *data;
	size_t len;
};
int digest_add_some(struct digest_piece *p, size_t count, bool all);

/* Starts a digest, adds the data and ends it.  Returns 0 or -EIO. */
int digest_once(struct digest *d, const void *data, size_t len,
    uint8_t out[DIGEST_MAX]);

/*
 * Computes the SHA-256 of one buffer with a digest created for it.  Returns 0,
 * -ENOMEM or -EIO.  Thread-safe.
 */
int digest_sha256(const void *data, size_t len, uint8_t out[DIGEST_MAX]);

#endif
