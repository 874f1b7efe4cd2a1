/*
 * lz4_made.h - functions shared by the LZ4 tests: samples, and round trips
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Any error in these functions fails the test.  The caller owns the returned
 * bytes and frees p.
 */
#ifndef COLDPRESS_LZ4_MADE_H
#define COLDPRESS_LZ4_MADE_H

#include "format/codec.h"

#include <lz4frame.h>
#include <stdint.h>

extern const struct codec codec_lz4;

enum { KIB = 1 << 10, MIB = 1 << 20 };

struct bytes {
	uint8_t *p;
	size_t n;
};

struct bytes bytes_new(size_t n);
struct bytes bytes_of(const void *p, size_t n);
void append(struct bytes *b, const void *p, size_t n);
void append_le32(struct bytes *b, uint32_t v);

/* Makes words, with an occasional stretch of noise. */
struct bytes sample(size_t n, uint32_t seed);

struct bytes noise(size_t n);

/* Makes a frame in the legacy format, with a block for every step bytes. */
struct bytes legacy(struct bytes in, size_t step);

/* Makes a skippable frame of the kind 0 to 15, with n bytes of noise. */
struct bytes skippable(unsigned kind, size_t n);

/* Reads a whole file, from its beginning. */
struct bytes read_fd(int fd);

/* Runs a coder on a pipe or a file; returns its output, even after an error. */
int run(const struct coder *c, const struct codec_options *o, struct bytes in,
    bool by_pipe, struct bytes *out);

/*
 * Does the same with the codec's encoder and decoder; encoding must not fail.
 */
struct bytes pack(struct bytes in, int level, size_t block, unsigned threads,
    bool by_pipe);
int unpack(struct bytes in, unsigned threads, bool by_pipe, struct bytes *out);

void assert_same(struct bytes a, struct bytes b);

/*
 * Checks that packed decodes to want, with any number of threads, from a file
 * or a pipe.
 */
void assert_unpacks(struct bytes packed, struct bytes want);

/*
 * Checks that decoding packed fails with this error, with any number of
 * threads.
 */
void assert_refused(struct bytes packed, int want);

/* Compresses with liblz4, flushing every step bytes if step is not 0. */
struct bytes library_pack(struct bytes in, const LZ4F_preferences_t *prefs,
    size_t step);
struct bytes library_unpack(struct bytes in, size_t room,
    LZ4F_frameInfo_t *info);

#endif
