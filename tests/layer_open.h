/*
 * layer_open.h - opening layers of layer_made.h
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_LAYER_OPEN_H
#define COLDPRESS_TESTS_LAYER_OPEN_H

#include "layer_made.h"

#include "base/hex.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char why[LAYER_WHY];

/* "sha256:..." of data */
static inline const char *
sum_of(const void *data, size_t len, char text[80])
{
	uint8_t sum[EVP_MAX_MD_SIZE];

	assert_int_equal(EVP_Digest(data, len, sum, NULL, EVP_sha256(), NULL),
	    1);
	strcpy(text, "sha256:");
	hex_write(text + 7, sum, 32);
	return text;
}

static inline int
open_made(struct layer **l, struct made *m, struct layer_blobs *b,
    const struct layer_expect *e)
{
	*l = NULL;
	*why = '\0';
	*b = made_blobs(m);
	return layer_open(l, b, e, why);
}

#endif
