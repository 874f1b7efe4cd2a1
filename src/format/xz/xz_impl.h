/*
 * xz_impl.h - what the coders of the xz format share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_IMPL_H
#define COLDPRESS_XZ_IMPL_H

#include "format/xz.h"

/* Returns 0 or the -errno that a result of liblzma stands for. */
int xz_error(lzma_ret r);

/* Returns whether the check that was asked for is known, and sets it. */
bool xz_check_asked(const struct codec_options *o, lzma_check *check);

/* codec.list of xz, and of lzma. */
int xz_list(int fd, uint64_t len, struct codec_listing *l);
int lzma_list(int fd, uint64_t len, struct codec_listing *l);

/* Whether the encoder of our own makes blocks for these options. */
bool xz_blocks_can(const struct codec_options *o);
extern const struct coder xz_blocks_encoder;

#endif
