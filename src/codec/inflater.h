/*
 * inflater.h - raw inflate (RFC 1951) of a stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to src/codec.  ISA-L where the build has it, else zlib.
 */
#ifndef COLDPRESS_INFLATER_H
#define COLDPRESS_INFLATER_H

#include "stream.h"

#include <stddef.h>
#include <stdint.h>

enum { INFLATER_WINDOW = 32 << 10 };

struct inflater;

/* 0 or -ENOMEM. */
int inflater_open(struct inflater **f);
void inflater_close(struct inflater *f);

/*
 * Begins a stream in which dict (at most INFLATER_WINDOW bytes) has gone
 * before.  0 or -ENOMEM.
 */
int inflater_begin(struct inflater *f, const uint8_t *dict, size_t len);

/*
 * As stream_ops.run.  After STREAM_END, unused[0..*unused_len) are bytes that
 * had been taken in and belong to what follows, before io->in.
 */
int inflater_run(struct inflater *f, struct stream_io *io);
size_t inflater_unused(const struct inflater *f, uint8_t unused[8]);

/*
 * Whether all that was given is decoded and written out, up to a byte's
 * boundary between two blocks.
 */
bool inflater_at_boundary(const struct inflater *f);

#endif
