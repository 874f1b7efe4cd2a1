/*
 * mac.h - recognizing previously seen bytes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A tag is the first half of an AES-128-GMAC (NIST SP 800-38D).  The key is
 * random and never leaves the process; without it, nobody can construct other
 * bytes with the same tag.  On processors with carry-less multiplication, a tag
 * takes a tenth of the time of a SHA-256.
 *
 * Every tag uses the same nonce, so tags must be as secret as the key.
 */
#ifndef COLDPRESS_MAC_H
#define COLDPRESS_MAC_H

#include <stddef.h>
#include <stdint.h>

enum { MAC_KEY = 16 };

/* Makes a key.  Returns 0 or -errno. */
int mac_key(uint8_t key[MAC_KEY]);

struct mac;

/*
 * Creates a context for computing tags with a key, in one thread at a time.
 * Returns 0, -ENOTSUP (OpenSSL lacks the algorithm) or -ENOMEM.
 */
int mac_open(struct mac **m, const uint8_t key[MAC_KEY]);
void mac_close(struct mac *m);			/* may be NULL */

/* Each of these returns 0, or -EIO if OpenSSL fails. */
int mac_start(struct mac *m);
int mac_add(struct mac *m, const void *data, size_t len);
int mac_end(struct mac *m, uint64_t *tag);

#endif
