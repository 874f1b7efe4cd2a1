/*
 * zstd_made.h - functions shared by the zstd tests: samples, and round trips
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Any error in these functions fails the test.  The caller frees the data of
 * the buffers.
 */
#ifndef COLDPRESS_TESTS_ZSTD_MADE_H
#define COLDPRESS_TESTS_ZSTD_MADE_H

#include "format/codec.h"
#include "pipeline/slot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const struct codec codec_zstd;

enum { KIB = 1 << 10, MIB = 1 << 20, KINDS = 12 };

/* Returns an empty buffer with room for cap bytes. */
struct buf new_buf(size_t cap);

/* Appends n bytes. */
void add(struct buf *b, const void *p, size_t n);

uint32_t next_random(uint32_t *x);

/*
 * Makes n bytes of a kind, 0 to KINDS - 1: data that begins with, and often
 * repeats, matches at libzstd's initial offsets.
 */
struct buf sample(int kind, size_t n, uint32_t seed);

/* Runs the codec once; keeps its output even after an error. */
int run(bool decompress, const struct codec_options *o, struct buf in,
    struct buf *out);

void assert_same(struct buf a, struct buf b);

/* Checks that packed gives want, with one thread and several. */
void assert_unpacks(struct buf packed, struct buf want);

#endif
