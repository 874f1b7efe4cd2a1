/*
 * cas_key.h - the identity of a key
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_CVMFS_CAS_KEY_H
#define COLDPRESS_LAZY_CVMFS_CAS_KEY_H

#include "lazy/layer.h"

#include <openssl/types.h>

/* Computes the SHA-256 of the public key in DER.  Returns 0 or -ENOMEM. */
int cas_key_sum(const EVP_PKEY *key, uint8_t sum[LAYER_DIGEST]);

#endif
