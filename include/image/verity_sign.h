/*
 * verity_sign.h - signing the root hash of dm-verity
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The signature is what the kernel verifies with a key of its keyrings
 * (root_hash_sig_key_desc of dm-verity): PKCS #7, DER, detached, over the
 * digits of the root hash in lower case, without attributes or certificates.
 * Source: the kernel's Documentation/admin-guide/device-mapper/verity.rst and
 * drivers/md/dm-verity-verify-sig.c.
 */
#ifndef COLDPRESS_IMAGE_VERITY_SIGN_H
#define COLDPRESS_IMAGE_VERITY_SIGN_H

#include <stddef.h>
#include <stdint.h>

enum { VERITY_SIGN_WHY = 256 };

/*
 * Signs the digits of a root hash with the private key and the certificate in
 * these PEM files; *der must be freed with sys_free().  Returns 0; -EINVAL with
 * the reason in why; or -ENOMEM.
 */
int verity_sign(const char *root, const char *key, const char *certificate,
    uint8_t **der, size_t *len, char why[VERITY_SIGN_WHY]);

#endif
